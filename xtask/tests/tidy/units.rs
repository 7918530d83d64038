//! The five extension points: what is registered is what has a folder, and every unit is described.

use std::collections::BTreeSet;

use controllers::CONTROLLERS;
use lab::registry::FUNCTIONS;
use lab::scenario::Scenario;
use measure::Subject;
use methods::METHODS;
use report::EXPORTERS;

use crate::none;
use crate::tree::{FILES, file, folders, members, root, text};

/// Folders of `functions`, `models`, `protocols` and `controllers` that are no such unit.
const NO_FUNCTIONS: &[&str] = &["kit", "registry"];

/// What of `controllers` is none: the table of routes that several of them have.
const NO_CONTROLLERS: &[&str] = &["routing"];

/// Folders of `devices/src` that are no device.
const NO_DEVICES: &[&str] = &["remote", "routing", "tester"];

/// Folders of `methods/src` that are no method.
const NO_METHODS: &[&str] = &["search", "simulated"];

/// Folders of `ports` that are no port.
const NO_PORTS: &[&str] = &["registry", "conformance"];

/// The sections of a unit's README, in this order; more may stand between them.
const SECTIONS: &[&str] = &[
    "Picture",
    "Ports",
    "Config keys",
    "Counters",
    "Limits",
    "Standards",
    "Performance",
    "Not supported",
];

/// A method has no ports, and yields figures where others count.
const METHOD_SECTIONS: &[&str] =
    &["Picture", "Config keys", "Figures", "Limits", "Standards", "Not supported"];

/// A protocol is told things instead of being configured, and has no ports of its own.
const PROTOCOL_SECTIONS: &[&str] =
    &["Picture", "Commands and reports", "Counters", "Limits", "Standards", "Not supported"];

/// A controller has no ports of its own.
const CONTROLLER_SECTIONS: &[&str] =
    &["Picture", "Config keys", "Counters", "Limits", "Standards", "Performance", "Not supported"];

/// Files that every function has under the same name.
const FUNCTION_FILES: &[&str] =
    &["README.md", "src/lib.rs", "src/config.rs", "src/pipeline.rs", "src/control.rs"];

/// Files that every model has under the same name.
const MODEL_FILES: &[&str] =
    &["src/lib.rs", "src/sections.rs", "src/workload.rs", "src/oracle.rs", "src/sample.rs"];

/// Files that every controller has under the same name.
const CONTROLLER_FILES: &[&str] = &["README.md", "src/lib.rs", "src/config.rs", "src/machine.rs"];

/// Files that every method has under the same name.
const METHOD_FILES: &[&str] = &["mod.rs", "config.rs", "tests.rs"];

#[test]
fn registered_functions_are_the_folders() {
    let of = |subject: Subject| -> BTreeSet<String> {
        let units = FUNCTIONS.iter().filter(|unit| unit.subject() == subject);
        units.map(|unit| unit.name().to_owned()).collect()
    };
    // A control plane has a model, which has no frames, and no function.
    let (names, others) = (of(Subject::Frames), of(Subject::Routes));
    for (kind, files) in [("crates/functions", FUNCTION_FILES), ("crates/models", MODEL_FILES)] {
        let mut found = folders(kind);
        found.retain(|name| !NO_FUNCTIONS.contains(&name.as_str()));
        if kind == "crates/models" {
            assert!(others.is_subset(&kebab(&found)), "{kind}: {others:?}");
            found.retain(|name| !others.contains(&name.replace('_', "-")));
        }
        assert_eq!(names, kebab(&found), "{kind}");
        has_files(kind, &found, files);
    }
}

#[test]
fn registered_controllers_are_the_folders() {
    let mut found = folders("crates/controllers");
    let others = [NO_FUNCTIONS, NO_CONTROLLERS].concat();
    found.retain(|name| !others.contains(&name.as_str()));
    let names: BTreeSet<String> = CONTROLLERS.iter().map(|unit| unit.name().to_owned()).collect();
    assert_eq!(names, kebab(&found));
    has_files("crates/controllers", &found, CONTROLLER_FILES);
}

#[test]
fn registered_methods_are_the_folders() {
    let mut found = folders("crates/methods/src");
    found.retain(|name| !NO_METHODS.contains(&name.as_str()));
    let names: BTreeSet<String> = METHODS.iter().map(|entry| entry.name.to_owned()).collect();
    assert_eq!(names, kebab(&found));
    has_files("crates/methods/src", &found, METHOD_FILES);
}

#[test]
fn registered_devices_are_the_folders() {
    let mut found = folders("crates/devices/src");
    found.retain(|name| !NO_DEVICES.contains(&name.as_str()));
    found.extend(folders("crates/devices/src/routing"));
    let devices = devices::registry::devices();
    let names: BTreeSet<String> = devices.map(|device| device.name.to_owned()).collect();
    assert_eq!(names, kebab(&found));
}

#[test]
fn ports_are_crates_named_after_their_folder() {
    let name = |package| text(package, "name").strip_prefix("port-").map(str::to_owned);
    let names: BTreeSet<String> =
        members().filter_map(name).filter(|name| !NO_PORTS.contains(&name.as_str())).collect();
    let mut found = folders("crates/ports");
    found.retain(|name| !NO_PORTS.contains(&name.as_str()));
    assert_eq!(names, kebab(&found));
}

#[test]
fn registered_exporters_are_modules_of_their_name() {
    let findings: Vec<String> = EXPORTERS
        .iter()
        .map(|exporter| exporter.name)
        .filter(|name| {
            let file = root().join(format!("crates/report/src/{name}.rs"));
            let folder = root().join(format!("crates/report/src/{name}/mod.rs"));
            !file.is_file() && !folder.is_file()
        })
        .map(str::to_owned)
        .collect();
    none("exporters without a module of their name in crates/report/src", &findings);
}

#[test]
fn every_wire_format_that_is_read_has_its_law() {
    let list = file("crates/wire/src/lib.rs");
    let mut findings = Vec::new();
    for source in FILES.iter().filter(|source| source.path.starts_with("crates/wire/src/")) {
        let name = source.path.trim_start_matches("crates/wire/src/").trim_end_matches(".rs");
        let reads = source.text.contains("pub fn parse(") || source.text.contains("impl FromStr");
        if reads && !list.contains(&format!("\n    {name}::LAW,\n")) {
            findings.push(format!("{} has no law in LAWS", source.path));
        }
    }
    none("wire formats", &findings);
}

#[test]
fn every_unit_is_described_under_the_same_headings() {
    let mut findings = Vec::new();
    for (kind, sections) in [
        ("crates/functions", SECTIONS),
        ("crates/methods/src", METHOD_SECTIONS),
        ("crates/protocols", PROTOCOL_SECTIONS),
        ("crates/controllers", CONTROLLER_SECTIONS),
        ("crates/ports", SECTIONS),
        ("crates/devices/src", SECTIONS),
        ("crates/devices/src/routing", SECTIONS),
    ] {
        let others = [NO_FUNCTIONS, NO_CONTROLLERS, NO_METHODS, NO_PORTS, NO_DEVICES].concat();
        let is_unit = |name: &&String| !others.contains(&name.as_str());
        for name in folders(kind).iter().filter(is_unit) {
            let path = format!("{kind}/{name}/README.md");
            match FILES.iter().find(|file| file.path == path) {
                None => findings.push(format!("{path} is absent")),
                Some(readme) => findings.extend(wrong_sections(&path, &readme.text, sections)),
            }
        }
    }
    none("READMEs of units", &findings);
}

#[test]
fn every_drop_reason_has_its_row() {
    let mut findings = Vec::new();
    for source in FILES.iter().filter(|file| file.path.ends_with("/reasons.rs")) {
        let readme = source.path.replace("src/reasons.rs", "README.md");
        let names = source.text.lines().filter_map(|line| {
            line.strip_prefix("    ")?
                .strip_suffix("\",")?
                .split_once(" = \"")
                .map(|(_, name)| name)
        });
        let mut count = 0;
        for name in names {
            count += 1;
            if !file(&readme).contains(&format!("\n| `{name}` | ")) {
                findings.push(format!("{readme} has no row for the drop reason {name}"));
            }
        }
        assert!(count > 0, "{} declares reasons in another form", source.path);
    }
    none("drop reasons", &findings);
}

#[test]
fn every_scenario_loads_and_is_mentioned() {
    let docs = file("docs/scenarios.md");
    let mut findings = Vec::new();
    for source in FILES.iter().filter(|file| file.path.starts_with("scenarios/")) {
        match Scenario::read(&root().join(&source.path), FUNCTIONS) {
            Err(error) => findings.push(format!("{}: {error:?}", source.path)),
            Ok(scenario) => {
                let known = report::references::all();
                let begins =
                    |name: &&String| !known.iter().any(|r| r.id.starts_with(name.as_str()));
                let unknown = scenario.references.iter().filter(begins);
                findings.extend(unknown.map(|name| {
                    format!("{}: no published figure's name begins with {name}", source.path)
                }));
            }
        }
        if !docs.contains(&source.path) {
            findings.push(format!("{} is not mentioned in docs/scenarios.md", source.path));
        }
    }
    none("scenarios", &findings);
}

fn wrong_sections(path: &str, readme: &str, sections: &[&str]) -> Option<String> {
    let headings = readme.lines().filter_map(|line| line.strip_prefix("## ")).map(str::trim);
    let found: Vec<&str> = headings.filter(|heading| sections.contains(heading)).collect();
    let expected = sections.join(", ");
    (found != sections).then(|| format!("{path}: has {}, needs {expected}", found.join(", ")))
}

#[track_caller]
fn has_files(folder: &str, units: &[String], names: &[&str]) {
    let absent = units
        .iter()
        .flat_map(|unit| names.iter().map(move |name| format!("{folder}/{unit}/{name}")));
    let absent: Vec<String> = absent.filter(|path| !root().join(path).is_file()).collect();
    none("files that every unit of the kind has", &absent);
}

fn kebab(folders: &[String]) -> BTreeSet<String> {
    folders.iter().map(|name| name.replace('_', "-")).collect()
}
