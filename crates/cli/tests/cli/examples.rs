//! The examples of all documents that describe a daemon, or the function of one: each is a valid
//! file, with ports added where it has none.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::run;

/// A block of YAML in a document.
struct Example {
    document: PathBuf,
    line: usize,
    text: String,
}

/// The blocks of all documents that have a function, and are no scenarios of the bench.
fn examples() -> Vec<Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut examples = Vec::new();
    for document in documents(&root) {
        let text = fs::read_to_string(&document).expect("readable");
        let mut block: Option<Example> = None;
        for (number, line) in text.lines().enumerate() {
            match (&mut block, line) {
                (None, "```yaml") => {
                    let document = document.clone();
                    block = Some(Example { document, line: number + 1, text: String::new() });
                }
                (Some(_), "```") => examples.extend(block.take()),
                (Some(block), line) => block.text += &format!("{line}\n"),
                (None, _) => {}
            }
        }
    }
    let of_bench = ["device:", "traffic:", "methods:", "benchmark:"];
    examples.retain(|one| {
        let has = |key: &str| one.text.lines().any(|line| line.starts_with(key));
        has("function:") && !of_bench.iter().any(|key| has(key))
    });
    examples
}

/// `README.md`, those of `docs`, and the READMEs of crates and of their parts.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![(root.join("docs"), 0), (root.join("crates"), 4)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_read_me = path.file_name().is_some_and(|name| name == "README.md");
            if path.is_dir() && depth > 0 {
                folders.push((path, depth - 1));
            } else if is_read_me || depth == 0 && path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Its file as a daemon has it: with ports, if it names none.
fn whole(example: &str) -> Value {
    let mut file: Value = serde_saphyr::from_str(example).expect("YAML");
    if file.get("ports").is_none() {
        let function = &file["function"];
        let mut names: Vec<Value> = match (function["name"].as_str(), function["ports"].as_array())
        {
            (_, Some(ports)) => ports.iter().map(|port| port["name"].clone()).collect(),
            (Some("cgnat"), None) => vec!["inside".into(), "outside".into()],
            (Some("mobile-gateway" | "bng"), None) => vec!["access".into(), "core".into()],
            _ => vec!["downlink".into(), "uplink".into()],
        };
        let others = function["interfaces"].as_array().into_iter().flatten();
        names.extend(others.map(|one| one["port"].clone()));
        let port = |name: &Value| {
            let name = name.as_str().expect("a name").to_owned();
            (name.clone(), json!({"type": "af-packet", "interface": name}))
        };
        file["ports"] = names.iter().map(port).collect::<Map<_, _>>().into();
    }
    file
}

#[test]
fn every_example_of_a_daemon_is_a_valid_file_and_needs_no_fixed_ethernet_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = examples();
    assert!(examples.len() >= 12, "{} are found", examples.len());
    for Example { document, line, text } in examples {
        let whole = whole(&text);
        for hop in whole["function"]["next-hops"].as_array().into_iter().flatten() {
            assert!(hop.get("mac").is_none(), "{document:?}, line {line}: {hop}");
        }
        fs::write(folder.path().join("example.yaml"), whole.to_string()).expect("writable");
        let ended = run(folder.path(), &["run", "example.yaml", "--check"]);
        assert_eq!(ended.code, Some(0), "{document:?}, line {line}: {}", ended.stderr);
    }
}
