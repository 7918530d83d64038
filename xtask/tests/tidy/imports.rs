//! Which crate of ours may import which; the drawing is in ARCHITECTURE.md, "Imports point one
//! way".

use std::collections::BTreeSet;

use serde_json::Value;

use crate::none;
use crate::tree::{file, members, text};

/// A crate and what it may import of ours. Leaving one out is fine; adding one is a decision that
/// changes ARCHITECTURE.md, too. A `*` in the name of a row stands for the crates of a group that
/// have no row of their own; a `*` in what they import stands for the same text, and in other rows
/// for any of such a group.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    // vocabulary
    ("units", &[]),
    ("files", &[]),
    ("keys", &[]),
    ("document", &["keys"]),
    ("rows", &[]),
    ("web", &[]),
    ("netns", &[]),
    ("machine", &[]),
    ("wire", &[]),
    ("offload", &["wire"]),
    ("packet", &["machine"]),
    ("tables", &["machine"]),
    // the engine knows no protocol and no function
    ("engine", &["keys", "machine", "offload", "packet", "tables"]),
    // the product's functions: a function knows vocabulary, engine and stages, never a port, a
    // device, or the bench
    ("stages", &["machine", "packet", "tables", "wire"]),
    ("subscribers", &["machine", "tables", "wire"]),
    ("function-kit", &["engine", "keys", "machine", "packet", "protocol-kit", "wire"]),
    ("export", &["function-kit", "keys", "machine", "packet", "tables", "units", "wire"]),
    (
        "function-*",
        &[
            "engine",
            "export",
            "function-kit",
            "keys",
            "machine",
            "packet",
            "protocol-bfd",
            "protocol-kit",
            "protocol-replication",
            "rows",
            "stages",
            "subscribers",
            "tables",
            "units",
            "wire",
        ],
    ),
    ("functions", &["function-*", "function-kit"]),
    // what a collector has kept of a function's logs
    ("logs", &["function-kit"]),
    // machines without I/O know tables and formats, never a clock or a socket
    ("protocol-kit", &[]),
    // files and feeds of BGP routes know how those are written
    ("protocol-bmp", &["protocol-bgp", "protocol-kit"]),
    ("protocol-mrt", &["protocol-bgp", "protocol-kit"]),
    ("protocol-*", &["protocol-kit", "protocol-netlink", "tables", "wire"]),
    ("protocols", &["protocol-*", "protocol-bmp", "protocol-kit", "protocol-mrt"]),
    // the control plane of a function joins both: those that some controller has
    ("controller-kit", &["engine", "function-kit", "keys", "protocol-kit"]),
    (
        "controller-*",
        &[
            "controller-kit",
            "controller-routing",
            "function-bng",
            "function-kit",
            "function-l3-router",
            "keys",
            "protocol-bfddp",
            "protocol-bgp",
            "protocol-bmp",
            "protocol-dhcp",
            "protocol-fpm",
            "protocol-kit",
            "protocol-mrt",
            "protocol-netlink",
            "protocol-ppp",
            "protocol-pppoe",
            "protocol-radius",
            "protocol-vrrp",
            "tables",
            "units",
            "wire",
        ],
    ),
    ("controllers", &["controller-*", "controller-kit"]),
    ("host", &["protocol-kit", "wire"]),
    // what the bench knows of them
    ("traffic", &["machine", "packet", "units", "wire"]),
    ("route-traffic", &["machine", "measure", "protocol-bgp", "protocol-mrt", "rows"]),
    (
        "model-kit",
        &[
            "engine",
            "function-kit",
            "keys",
            "machine",
            "packet",
            "port-pcap",
            "tables",
            "traffic",
            "wire",
        ],
    ),
    ("model-route-reflector", &["keys", "protocol-bgp", "route-traffic", "traffic"]),
    (
        "model-*",
        &[
            "engine",
            "export",
            "function-*",
            "function-kit",
            "machine",
            "model-kit",
            "packet",
            "protocol-bfd",
            "protocol-kit",
            "protocol-replication",
            "rows",
            "stages",
            "tables",
            "traffic",
            "units",
            "wire",
        ],
    ),
    ("models", &["functions", "model-*", "model-kit"]),
    // what joins the engine to the world
    ("port-*", &["engine", "keys", "machine", "offload", "packet"]),
    ("port-memory", &["engine", "machine", "packet"]),
    ("port-pcap", &["engine", "keys", "machine", "packet", "port-memory"]),
    ("ports", &["engine", "keys", "port-*", "port-pcap"]),
    // measuring knows no packets
    ("measure", &["units"]),
    ("methods", &["keys", "measure"]),
    ("report", &["files", "measure"]),
    // bringing both together
    (
        "devices",
        &[
            "controller-kit",
            "controllers",
            "daemon",
            "engine",
            "files",
            "function-kit",
            "host",
            "keys",
            "machine",
            "measure",
            "model-kit",
            "netns",
            "packet",
            "port-memory",
            "ports",
            "protocol-bgp",
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
            "function-kit",
            "keys",
            "machine",
            "measure",
            "methods",
            "model-kit",
            "model-route-reflector",
            "models",
            "ports",
            "protocol-bgp",
            "route-traffic",
            "traffic",
            "units",
        ],
    ),
    ("serve", &["lab", "measure", "report", "web"]),
    (
        "daemon",
        &[
            "controller-kit",
            "controllers",
            "document",
            "engine",
            "files",
            "function-kit",
            "functions",
            "host",
            "keys",
            "machine",
            "offload",
            "packet",
            "port-memory",
            "port-tap",
            "ports",
            "protocol-kit",
            "protocol-netlink",
            "web",
        ],
    ),
    (
        "plumbline",
        &[
            "daemon",
            "devices",
            "functions",
            "keys",
            "lab",
            "logs",
            "machine",
            "measure",
            "methods",
            "ports",
            "protocol-bgp",
            "protocol-mrt",
            "report",
            "rows",
            "serve",
        ],
    ),
    // for development
    (
        "testkit",
        &[
            "controller-route-reflector",
            "engine",
            "function-kit",
            "logs",
            "machine",
            "model-kit",
            "models",
            "offload",
            "packet",
            "protocol-bgp",
            "protocols",
            "rows",
            "wire",
        ],
    ),
    ("simulation", &["protocol-kit"]),
    ("packaging", &[]),
    ("port-conformance", &["engine", "machine", "packet"]),
    ("xtask", &["packaging"]),
];

/// What tests may import on top: the kit. `xtask`'s tests look at the registries.
const TESTS_MAY_IMPORT: &[(&str, &[&str])] = &[
    ("*", &["netns", "port-conformance", "testkit"]),
    ("function-*", &["model-kit"]),
    ("protocol-*", &["simulation"]),
    ("protocol-pppoe", &["protocol-ppp"]),
    (
        "host",
        &[
            "protocol-bfd",
            "protocol-bfddp",
            "protocol-dhcp",
            "protocol-fpm",
            "protocol-netlink",
            "protocol-pppoe",
            "protocol-radius",
            "protocol-vrrp",
            "simulation",
        ],
    ),
    ("controller-*", &["function-cgnat", "host", "simulation"]),
    ("model-kit", &["stages"]),
    ("stages", &["model-kit"]),
    ("model-cgnat", &["simulation"]),
    ("model-chain", &["functions", "models"]),
    ("devices", &["functions", "models"]),
    ("plumbline", &["packaging"]),
    ("port-fault", &["port-memory"]),
    ("port-tap", &["port-af-packet"]),
    (
        "xtask",
        &["controllers", "daemon", "devices", "lab", "measure", "methods", "ports", "report"],
    ),
];

/// Folders of the product, which works without the bench.
const PRODUCT: &[&str] = &[
    "crates/functions/",
    "crates/stages/",
    "crates/export/",
    "crates/protocols/",
    "crates/controllers/",
];

/// Crates of the bench: a name, or the beginning of one.
const BENCH: &[&str] = &[
    "model-*",
    "models",
    "traffic",
    "route-traffic",
    "testkit",
    "simulation",
    "measure",
    "methods",
];

#[test]
fn the_product_never_imports_the_bench() {
    let mut findings = Vec::new();
    for package in members() {
        let manifest = text(package, "manifest_path");
        if !PRODUCT.iter().any(|folder| manifest.contains(folder)) {
            continue;
        }
        let name = text(package, "name");
        let is_of_bench = |other: &&str| BENCH.iter().any(|row| fits(row, other).is_some());
        let of_bench = imports(package, false).filter(is_of_bench);
        findings.extend(of_bench.map(|other| format!("{name} imports {other}")));
    }
    none("crates of the product that import the bench", &findings);
}

#[test]
fn imports_point_one_way() {
    let ours: BTreeSet<&str> = members().map(|package| text(package, "name")).collect();
    let mut findings = Vec::new();
    for package in members() {
        let name = text(package, "name");
        if row(MAY_IMPORT, name).is_none() {
            findings.push(format!("{name} has no row in the table of this test"));
            continue;
        }
        for for_tests in [false, true] {
            for other in imports(package, for_tests).filter(|other| ours.contains(other)) {
                let fine = may_import(name, other)
                    || for_tests && tests_may_import(name, other)
                    || for_tests && !reaches(other, name, &ours) && reaches(name, other, &ours);
                if !fine {
                    findings.push(format!("{name} imports {other}"));
                }
            }
        }
    }
    none("imports that ARCHITECTURE.md does not allow", &findings);
}

#[test]
fn the_table_names_the_crates_there_are_and_has_no_circle() {
    let ours: BTreeSet<&str> = members().map(|package| text(package, "name")).collect();
    let is_used =
        |pattern: &&str| ours.iter().any(|name| row_name(MAY_IMPORT, name) == Some(*pattern));
    let rows = MAY_IMPORT.iter().map(|(pattern, _)| *pattern);
    let empty: Vec<String> = rows.filter(|row| !is_used(row)).map(str::to_owned).collect();
    none("rows without a crate", &empty);
    for name in &ours {
        for other in ours.iter().filter(|other| may_import(name, other)) {
            assert!(!reaches(other, name, &ours), "{name} and {other} import each other");
        }
    }
}

#[test]
fn one_crate_reads_sections() {
    let reads = |package: &&'static Value| imports(package, false).any(|one| one == READER);
    let readers: Vec<&str> = members().filter(reads).map(|package| text(package, "name")).collect();
    assert_eq!(readers, ["keys"], "the others read by `keys::read`");
}

/// What tells the path of a key that does not fit its type.
const READER: &str = "serde_path_to_error";

#[test]
fn architecture_names_every_crate() {
    let architecture = file("ARCHITECTURE.md");
    let absent = |package| {
        let manifest = text(package, "manifest_path");
        let (above, folder) = manifest.strip_suffix("/Cargo.toml")?.rsplit_once('/')?;
        // Of a group it is enough to name the group.
        let of_group = row_name(MAY_IMPORT, text(package, "name")).is_some_and(|r| r.contains('*'));
        let folder = if of_group { above.rsplit('/').next()? } else { folder };
        let named = architecture.contains(&format!("{folder}/"));
        (!named).then(|| format!("{folder}/ is not in the layout of ARCHITECTURE.md"))
    };
    none("crates without a line", &members().filter_map(absent).collect::<Vec<_>>());
}

/// What a package imports, for its tests or for everything else.
fn imports(package: &'static Value, for_tests: bool) -> impl Iterator<Item = &'static str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let wanted = move |one: &&'static Value| (one["kind"] == "dev") == for_tests;
    all.filter(wanted).map(|dependency| text(dependency, "name"))
}

/// The text for which the `*` of a pattern stands in a name; none where it does not fit.
fn fits<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(""),
        Some((begin, end)) => name.strip_prefix(begin)?.strip_suffix(end),
    }
}

/// The row for a crate: its own, or that of its group.
fn row<'a>(table: &'a [(&str, &[&str])], name: &str) -> Option<&'a (&'a str, &'a [&'a str])> {
    let own = table.iter().find(|(pattern, _)| *pattern == name);
    own.or_else(|| table.iter().find(|(pattern, _)| fits(pattern, name).is_some()))
}

fn row_name<'a>(table: &'a [(&str, &[&str])], name: &str) -> Option<&'a str> {
    row(table, name).map(|(pattern, _)| *pattern)
}

/// Whether the table allows one crate to import another.
fn may_import(name: &str, other: &str) -> bool {
    let Some((pattern, imports)) = row(MAY_IMPORT, name) else { return false };
    allows((pattern, imports), name, other)
}

fn tests_may_import(name: &str, other: &str) -> bool {
    let rows = TESTS_MAY_IMPORT.iter().filter(|(pattern, _)| fits(pattern, name).is_some());
    rows.copied().any(|row| row.1.iter().any(|allowed| fits(allowed, other).is_some()))
}

/// Whether a row allows its crate to import another: a `*` on both sides stands for the same text,
/// one on the right alone for the crates of the group.
fn allows((pattern, imports): (&str, &[&str]), name: &str, other: &str) -> bool {
    let own = pattern.contains('*').then(|| fits(pattern, name)).flatten();
    let fine = |allowed: &&str| match (fits(allowed, other), own) {
        (Some(stands_for), Some(own)) if allowed.contains('*') => stands_for == own,
        (Some(_), None) if allowed.contains('*') => row_name(MAY_IMPORT, other) == Some(allowed),
        (found, _) => found.is_some(),
    };
    name != other && imports.iter().any(fine)
}

/// Whether a path of allowed imports leads from one crate to another.
fn reaches(from: &str, to: &str, ours: &BTreeSet<&str>) -> bool {
    let mut seen = BTreeSet::new();
    let mut ahead = vec![from];
    while let Some(at) = ahead.pop() {
        for next in ours.iter().copied().filter(|next| may_import(at, next)) {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                ahead.push(next);
            }
        }
    }
    false
}
