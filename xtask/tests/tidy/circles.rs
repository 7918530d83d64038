//! No files of a crate need each other in a circle, so a reader can begin with one that needs no
//! other.
//!
//! A file needs another one if it names an item that the other one defines: in a `use` or by a
//! path. A parent that uses its child therefore is in a circle with a child that uses what the
//! parent defines; the way out is a file of its own for what both use. `mod` lines do not count,
//! and a `pub use` does not count either: what goes through it leads to the file that defines the
//! item. Tests inside of a file are not looked at.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::modules::Modules;
use crate::none;
use crate::tree::{file_if_there, in_project, members, text};

#[test]
fn no_files_need_each_other_in_a_circle() {
    let mut findings = Vec::new();
    for package in members() {
        for target in package["targets"].as_array().into_iter().flatten() {
            let kinds = target["kind"].as_array().into_iter().flatten();
            if kinds.into_iter().any(|kind| kind == "lib" || kind == "bin") {
                let root = in_project(text(target, "src_path"));
                let modules = Modules::read(root, &|path| file_if_there(path));
                findings.extend(circles(&modules.needs()));
            }
        }
    }
    none("files that need each other; move what both use to a file of its own", &findings);
}

/// Crates whose folders are rooms: a reader can leave out each that the one at hand does not need.
const WITH_ROOMS: &[&str] = &["function-cgnat"];

#[test]
fn no_rooms_need_each_other_in_a_circle() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for package in members().filter(|one| WITH_ROOMS.contains(&text(one, "name"))) {
        for target in package["targets"].as_array().into_iter().flatten() {
            let root = in_project(text(target, "src_path"));
            let Some(folder) = root.strip_suffix("lib.rs") else { continue };
            let modules = Modules::read(root, &|path| file_if_there(path));
            let mut needs = BTreeMap::new();
            for ((from, to), path) in modules.needs() {
                if let (Some(from), Some(to)) = (room(folder, from), room(folder, to))
                    && from != to
                {
                    needs.insert((from, to), path);
                }
            }
            seen += needs.len();
            findings.extend(circles(&needs));
        }
    }
    assert!(seen > 20, "{seen} needs of rooms");
    none("rooms that need each other; move what both use to a third one", &findings);
}

/// The folder of a file below that of its crate; none of a file that stands in none.
fn room<'a>(folder: &str, file: &'a str) -> Option<&'a str> {
    Some(file.strip_prefix(folder)?.split_once('/')?.0)
}

/// Of each circle a shortest way through some of its files and back.
fn circles(needs: &BTreeMap<(&str, &str), String>) -> Vec<String> {
    let files: BTreeSet<&str> = needs.keys().map(|(from, _)| *from).collect();
    let ways: BTreeMap<&str, _> = files.iter().map(|from| (*from, ways(needs, from))).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (from, reached) in ways.iter().filter(|(from, reached)| reached.contains_key(*from)) {
        let back = |other: &&&str| ways.get(*other).is_some_and(|ways| ways.contains_key(from));
        let circle: Vec<&str> = reached.keys().filter(back).copied().collect();
        if circle.iter().all(|file| seen.insert(*file)) {
            let around = circle.iter().map(|file| around(needs, &ways[file], file));
            found.push(around.min_by_key(Vec::len).unwrap_or_default().join(" -> "));
        }
    }
    found
}

/// Every file that one needs, directly or not, with the one before it on a shortest way.
fn ways<'a>(needs: &BTreeMap<(&'a str, &'a str), String>, from: &'a str) -> Ways<'a> {
    let mut ways = Ways::new();
    let mut next = VecDeque::from([from]);
    while let Some(at) = next.pop_front() {
        for (_, to) in needs.keys().filter(|(from, _)| *from == at) {
            if !ways.contains_key(to) {
                ways.insert(to, at);
                next.push_back(to);
            }
        }
    }
    ways
}

/// The shortest way from a file to itself, with the path that each step is by.
fn around(needs: &BTreeMap<(&str, &str), String>, ways: &Ways, file: &str) -> Vec<String> {
    let mut steps = vec![file.to_owned()];
    let mut at = file;
    while let Some(before) = ways.get(at) {
        steps.push(format!("{before} ({})", needs[&(*before, at)]));
        at = before;
        if at == file {
            break;
        }
    }
    steps.reverse();
    steps
}

type Ways<'a> = BTreeMap<&'a str, &'a str>;

#[test]
fn a_circle_is_what_the_rule_says() {
    let check = |parent: &'static str, child: &'static str| {
        let text = |path: &str| match path {
            "src/lib.rs" => Some("mod parent;\npub use parent::Outer;"),
            "src/parent.rs" => Some(parent),
            "src/parent/child.rs" => Some(child),
            _ => None,
        };
        let needs = Modules::read("src/lib.rs", &text);
        circles(&needs.needs())
    };
    let both_ways =
        ["src/parent.rs (child::make) -> src/parent/child.rs (super::Outer) -> src/parent.rs"];
    assert_eq!(check("mod child; pub struct Outer; fn f() { child::make() }", USES), both_ways);
    // The way through the crate's root leads to the same file.
    let uses = "pub fn make() -> crate::Outer { crate::Outer }";
    let found = check("mod child; use child::make; pub struct Outer;", uses);
    assert!(found[0].contains("(crate::Outer)"), "{found:?}");
    // No circle: declared and exported again alone, used by tests alone, used by the child alone.
    for parent in [
        "mod child; pub use child::make; pub struct Outer;",
        "mod child; pub struct Outer; #[cfg(test)] mod tests { use super::child::make; }",
        "mod child; pub struct Outer; impl Outer { fn f(&self) { self.child.make(); } }",
    ] {
        assert!(check(parent, USES).is_empty(), "{parent}");
    }
    assert!(check("mod child; use child::make; pub struct Outer;", "pub fn make() {}").is_empty());
}

const USES: &str = "use super::Outer; pub fn make() -> Outer { \"super::x\"; Outer }";
