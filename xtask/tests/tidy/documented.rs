//! What docs/devices.md tells of each device is what its own folder tells.

use devices::registry::devices;

use crate::tree::file;
use crate::written;

#[test]
fn the_documented_devices_are_those_of_the_registry() {
    let mut list = "| device | implementation | keys and limits |\n|---|---|---|\n".to_owned();
    for device in devices() {
        let readme = format!("../crates/devices/src/{}/README.md", device.folder());
        list += &format!("| `{}` | {} | [README]({readme}) |\n", device.name, device.summary);
    }
    written::hold("docs/devices.md", "list", &list);
}

/// A column for each device, from the section of that name in its README.
#[test]
fn the_documented_support_is_that_of_the_devices() {
    let columns: Vec<(&str, Vec<(&str, &str)>)> =
        devices().map(|device| (device.name, support(&device.folder()))).collect();
    let mut functions: Vec<&str> = Vec::new();
    for (function, _) in columns.iter().flat_map(|(_, rows)| rows) {
        if !functions.contains(function) {
            functions.push(function);
        }
    }
    let names = columns.iter().map(|(name, _)| format!(" {name} |")).collect::<String>();
    let mut table = format!("| |{names}\n|---|{}\n", "---|".repeat(columns.len()));
    for function in functions {
        let cell = |(_, rows): &(&str, Vec<(&str, &str)>)| {
            let row = rows.iter().find(|(of, _)| *of == function);
            format!(" {} |", row.map_or("no", |(_, support)| support))
        };
        table += &format!("| {function} |{}\n", columns.iter().map(cell).collect::<String>());
    }
    written::hold("docs/devices.md", "supported functions", &table);
}

/// The rows of a device's table: a function, and how far it is supported.
fn support(folder: &str) -> Vec<(&'static str, &'static str)> {
    let readme = file(&format!("crates/devices/src/{folder}/README.md"));
    let (_, section) = readme.split_once("\n## Supported functions\n").expect("it tells that");
    let section = section.split("\n## ").next().unwrap_or_default();
    let row = |line: &'static str| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ");
    section.lines().filter_map(row).filter(|(function, _)| *function != "function").collect()
}
