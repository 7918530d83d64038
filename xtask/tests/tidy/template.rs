//! A unit is one folder and two lines: a template of each kind is added to a copy of the tree, and
//! what it takes outside of its own files is counted.
//!
//! The copy lies in the target folder and is kept, so that only what changed is checked again. It
//! has to pass `cargo check` of the crates concerned with their tests, and all rules that read
//! text; what the program itself lists cannot be asked there without building it. A document that
//! `cargo xtask golden` writes counts for nothing: nobody edits it, and a test holds it fresh.
//!
//! A kind of unit more is a folder of templates and a row of [`KINDS`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::{TREE, paths, root};

/// A kind of unit: what a new one is made of.
struct Kind {
    name: &'static str,
    /// Its files: the folder of the template, and where they go.
    files: (&'static str, &'static str),
    /// Its lines in files of others.
    lines: &'static [Line],
    /// The crates that are checked with it.
    crates: &'static [&'static str],
}

/// A line that is added to a file behind another one.
struct Line {
    file: &'static str,
    behind: &'static str,
    line: &'static str,
}

/// Most lines outside of a unit's own files.
const LINES_MAX: usize = 2;

const KINDS: &[Kind] = &[
    Kind {
        name: "function",
        files: ("function", "crates/functions/template"),
        lines: &[
            Line {
                file: "crates/functions/registry/Cargo.toml",
                behind: "function-mobile-gateway.workspace = true",
                line: "function-template = { path = \"../template\" }",
            },
            Line {
                file: "crates/functions/registry/src/lib.rs",
                behind: "            &Unit::<cgnat::Cgnat>::new(),",
                line: "            &Unit::<function_template::Template>::new(),",
            },
        ],
        crates: &["function-template", "functions"],
    },
    Kind {
        name: "model",
        files: ("model", "crates/models/template"),
        lines: &[
            Line {
                file: "crates/models/registry/Cargo.toml",
                behind: "model-mobile-gateway.workspace = true",
                line: "model-template = { path = \"../template\" }",
            },
            Line {
                file: "crates/models/registry/src/lib.rs",
                behind: "    cgnat = model_cgnat::Cgnat,",
                line: "    template = model_template::Template,",
            },
        ],
        crates: &["model-template", "models", "testkit"],
    },
    Kind {
        name: "protocol",
        files: ("protocol", "crates/protocols/template"),
        lines: &[
            Line {
                file: "crates/protocols/registry/Cargo.toml",
                behind: "protocol-bfd = { path = \"../bfd\" }",
                line: "protocol-template = { path = \"../template\" }",
            },
            Line {
                file: "crates/protocols/registry/src/lib.rs",
                behind: "    protocol_bfd::PROTOCOL,",
                line: "    protocol_template::PROTOCOL,",
            },
        ],
        crates: &["protocol-template", "protocols"],
    },
    Kind {
        name: "controller",
        files: ("controller", "crates/controllers/template"),
        lines: &[
            Line {
                file: "crates/controllers/registry/Cargo.toml",
                behind: "controller-frr = { path = \"../frr\" }",
                line: "controller-template = { path = \"../template\" }",
            },
            Line {
                file: "crates/controllers/registry/src/lib.rs",
                behind: "    &Unit::<controller_frr::Frr>::new(),",
                line: "    &Unit::<controller_template::Template>::new(),",
            },
        ],
        crates: &["controller-template", "controllers"],
    },
    Kind {
        name: "port",
        files: ("port", "crates/ports/template"),
        lines: &[
            Line {
                file: "crates/ports/registry/Cargo.toml",
                behind: "port-tap = { path = \"../tap\" }",
                line: "port-template = { path = \"../template\" }",
            },
            Line {
                file: "crates/ports/registry/src/lib.rs",
                behind: "    &Entry::<port_tap::Tap>::new(),",
                line: "    &Entry::<port_template::Template>::new(),",
            },
        ],
        crates: &["port-template", "ports"],
    },
    Kind {
        name: "device",
        files: ("device", "crates/devices/src/template"),
        lines: &[
            Line {
                file: "crates/devices/src/lib.rs",
                behind: "mod sessions;",
                line: "pub mod template;",
            },
            Line {
                file: "crates/devices/src/registry.rs",
                behind: "    &crate::testpmd::Testpmd,",
                line: "    &crate::template::Template,",
            },
        ],
        crates: &["devices"],
    },
    Kind {
        name: "method",
        files: ("method", "crates/methods/src/template"),
        lines: &[
            Line {
                file: "crates/methods/src/lib.rs",
                behind: "pub mod teardown_rate;",
                line: "pub mod template;",
            },
            Line {
                file: "crates/methods/src/registry.rs",
                behind: "    crate::soak::ENTRY,",
                line: "    crate::template::ENTRY,",
            },
        ],
        crates: &["methods"],
    },
    Kind {
        name: "exporter",
        files: ("exporter", "crates/report/src"),
        lines: &[
            Line {
                file: "crates/report/src/lib.rs",
                behind: "mod summary;",
                line: "mod template;",
            },
            Line {
                file: "crates/report/src/lib.rs",
                behind: "    junit::EXPORTER,",
                line: "    template::EXPORTER,",
            },
        ],
        crates: &["report"],
    },
    Kind {
        name: "wire format",
        files: ("wire", "crates/wire/src"),
        lines: &[
            Line {
                file: "crates/wire/src/lib.rs",
                behind: "pub mod pcp;",
                line: "pub mod template;",
            },
            Line {
                file: "crates/wire/src/lib.rs",
                behind: "    pcp::LAW,",
                line: "    template::LAW,",
            },
        ],
        crates: &["wire"],
    },
];

/// Rules that ask the program what it lists, which is not built of the copy; and this one.
const NOT_OF_THE_COPY: &[&str] = &["documented", "registered", "template::"];

#[test]
fn a_unit_of_each_kind_is_its_files_and_two_lines() {
    for kind in KINDS {
        assert!(kind.lines.len() <= LINES_MAX, "{}: {} lines", kind.name, kind.lines.len());
    }
    let copy = root().join("target/template");
    write_copy(&copy);
    let crates = KINDS.iter().flat_map(|kind| kind.crates).flat_map(|name| ["-p", name]);
    let mut check = Command::new(env!("CARGO"));
    check.args(["check", "--offline", "--quiet", "--tests"]).args(crates).current_dir(&copy);
    // Crates of others are compiled in the same way there and here.
    succeeds(check.env("CARGO_TARGET_DIR", root().join("target")));
    let mut rules = Command::new(std::env::current_exe().expect("this program has a path"));
    rules.env(TREE, &copy).env_remove("UPDATE_GOLDEN");
    succeeds(rules.args(NOT_OF_THE_COPY.iter().flat_map(|rule| ["--skip", rule])));
}

#[track_caller]
fn succeeds(command: &mut Command) {
    let output = command.output().expect("it can be started");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
}

/// Makes the copy of the tree with its templates; files that are as they should be stay untouched.
fn write_copy(copy: &Path) {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for path in paths(&root()) {
        let name = path.strip_prefix(root()).expect("it is of the tree").to_owned();
        files.push((name, fs::read(&path).expect("a file can be read")));
    }
    for kind in KINDS {
        let (from, to) = (root().join("xtask/templates").join(kind.files.0), kind.files.1);
        for path in paths(&from) {
            let name = path.strip_prefix(&from).expect("it is of the template");
            let name = Path::new(to).join(name);
            assert!(!root().join(&name).exists(), "{} is there already", name.display());
            files.push((name, fs::read(&path).expect("a file can be read")));
        }
        kind.lines.iter().for_each(|line| add(line, &mut files));
    }
    let wanted: BTreeSet<PathBuf> = files.iter().map(|(name, _)| copy.join(name)).collect();
    for path in paths(copy).into_iter().filter(|path| !wanted.contains(path)) {
        fs::remove_file(path).expect("a file that went can be removed");
    }
    for (name, content) in &files {
        let path = copy.join(name);
        // A file that is written anew counts as changed.
        if fs::read(&path).ok().as_ref() != Some(content) {
            let folder = path.parent().expect("a file lies in a folder");
            fs::create_dir_all(folder).expect("a folder can be made");
            fs::write(&path, content).expect("a file can be written");
        }
    }
}

fn add(line: &Line, files: &mut [(PathBuf, Vec<u8>)]) {
    let file = files.iter_mut().find(|(name, _)| name == Path::new(line.file));
    let (_, content) = file.unwrap_or_else(|| panic!("{} is absent", line.file));
    let text = String::from_utf8_lossy(content).into_owned();
    let behind = format!("{}\n", line.behind);
    let (head, tail) =
        text.split_once(&behind).unwrap_or_else(|| panic!("{}: no {}", line.file, line.behind));
    *content = format!("{head}{behind}{}\n{tail}", line.line).into_bytes();
}
