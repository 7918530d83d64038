//! Which crate of ours may import which; the drawing is in ARCHITECTURE.md, "Imports point one way".

use std::collections::{BTreeMap, BTreeSet};

use crate::none;
use crate::tree::{file, members, text};

/// A crate and what it may import of ours. Leaving one out is fine; adding one is a decision that
/// changes ARCHITECTURE.md, too.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    // vocabulary
    ("units", &[]),
    ("files", &[]),
    ("document", &[]),
    ("web", &[]),
    ("netns", &[]),
    ("machine", &[]),
    ("wire", &[]),
    ("packet", &["machine"]),
    ("tables", &["machine"]),
    // the engine knows no protocol and no function
    ("engine", &["machine", "packet"]),
    // the units: a function knows vocabulary and engine, never a port or a device
    ("traffic", &["machine", "packet", "units", "wire"]),
    ("functions", &["engine", "machine", "packet", "tables", "traffic", "units", "wire"]),
    ("port-af-xdp", &["engine", "machine", "packet"]),
    ("port-af-packet", &["engine", "machine", "packet"]),
    ("port-memif", &["engine", "machine", "packet"]),
    ("port-pcap", &["engine", "machine", "packet", "port-memory"]),
    ("port-memory", &["engine", "machine", "packet"]),
    ("port-tap", &["engine", "machine", "packet"]),
    ("port-vhost-user", &["engine", "machine", "packet"]),
    ("port-fault", &["engine", "machine", "packet"]),
    (
        "ports",
        &[
            "engine",
            "port-af-packet",
            "port-af-xdp",
            "port-fault",
            "port-memif",
            "port-pcap",
            "port-tap",
            "port-vhost-user",
        ],
    ),
    // measuring knows no packets
    ("measure", &["units"]),
    ("methods", &["measure"]),
    ("report", &["files", "measure"]),
    // bringing both together
    (
        "devices",
        &[
            "daemon",
            "engine",
            "files",
            "functions",
            "machine",
            "measure",
            "netns",
            "packet",
            "port-memory",
            "ports",
            "traffic",
            "units",
            "wire",
        ],
    ),
    (
        "lab",
        &[
            "devices",
            "document",
            "files",
            "functions",
            "machine",
            "measure",
            "methods",
            "ports",
            "traffic",
            "units",
        ],
    ),
    ("serve", &["lab", "measure", "report", "web"]),
    (
        "daemon",
        &[
            "document",
            "engine",
            "files",
            "functions",
            "machine",
            "packet",
            "port-memory",
            "ports",
            "traffic",
            "web",
        ],
    ),
    (
        "plumbline",
        &[
            "daemon",
            "devices",
            "functions",
            "lab",
            "machine",
            "measure",
            "methods",
            "ports",
            "report",
            "serve",
        ],
    ),
    // for development
    ("testkit", &["engine", "functions", "machine", "packet", "traffic", "units", "wire"]),
    ("port-conformance", &["engine", "machine", "packet"]),
    ("xtask", &[]),
];

/// What tests may import on top: the kit. `xtask`'s tests look at the registries.
const TESTS_MAY_IMPORT: &[(&str, &[&str])] = &[
    ("*", &["netns", "port-conformance", "testkit"]),
    ("port-fault", &["port-memory"]),
    ("port-tap", &["port-af-packet"]),
    ("xtask", &["devices", "lab", "measure", "methods", "ports", "report"]),
];

#[test]
fn imports_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_IMPORT.iter().copied().collect();
    let ours: BTreeSet<&str> = members().map(|package| text(package, "name")).collect();
    let mut findings = Vec::new();
    for package in members() {
        let name = text(package, "name");
        let Some(allowed) = allowed.get(name) else {
            findings.push(format!("{name} has no row in the table of this test"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let other = text(dependency, "name");
            let for_tests = dependency["kind"] == "dev";
            let extra = |(who, what): &(&str, &[&str])| {
                (*who == "*" || *who == name) && what.contains(&other)
            };
            let fine = allowed.contains(&other)
                || for_tests && TESTS_MAY_IMPORT.iter().any(extra)
                || for_tests && reaches(other, name).is_none() && allowed_below(name, other);
            if ours.contains(other) && !fine {
                findings.push(format!("{name} imports {other}"));
            }
        }
    }
    none("imports that ARCHITECTURE.md does not allow", &findings);
}

#[test]
fn the_table_names_the_crates_there_are_and_has_no_circle() {
    let ours: BTreeSet<&str> = members().map(|package| text(package, "name")).collect();
    let table: BTreeSet<&str> = MAY_IMPORT.iter().map(|(name, _)| *name).collect();
    assert_eq!(table, ours);
    for (name, imports) in MAY_IMPORT {
        for other in *imports {
            assert!(reaches(other, name).is_none(), "{name} and {other} import each other");
        }
    }
}

#[test]
fn architecture_names_every_crate() {
    let architecture = file("ARCHITECTURE.md");
    let absent = |package| {
        let manifest = text(package, "manifest_path");
        let folder = manifest.strip_suffix("/Cargo.toml")?.rsplit('/').next()?;
        let named = architecture.contains(&format!("{folder}/"));
        (!named).then(|| format!("{folder}/ is not in the layout of ARCHITECTURE.md"))
    };
    none("crates without a line", &members().filter_map(absent).collect::<Vec<_>>());
}

/// Whether a path of allowed imports leads from one crate to another.
fn reaches(from: &str, to: &str) -> Option<()> {
    let (_, imports) = MAY_IMPORT.iter().find(|(name, _)| *name == from)?;
    imports.iter().any(|next| *next == to || reaches(next, to).is_some()).then_some(())
}

/// Whether a test of `name` may use `other` because code of `name` reaches it anyway.
fn allowed_below(name: &str, other: &str) -> bool {
    reaches(name, other).is_some()
}
