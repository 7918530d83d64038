//! The page for a first NAT, as it stands, and the files that it shows.

use std::process::Command;

use crate::kit::PLUMBLINE;
use crate::pages;

const PAGE: &str = include_str!("../../../../docs/first-nat.md");

#[test]
fn the_page_for_a_first_nat_works_as_it_stands() {
    if !netns::may_make_namespaces() || !netns::is_installed("ping") {
        println!("skipped: needs the right to make network namespaces, and ping");
        return;
    }
    let said = pages::run(PAGE);
    assert!(said.contains("10.8.0.2:"), "a session of the host: {said}");
    assert!(said.contains("203.0.113.2/32"), "the pool: {said}");
    assert!(said.contains("no alarms"), "{said}");
}

#[test]
fn files_of_the_page_for_a_first_nat_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = pages::blocks(PAGE, "yaml");
    assert!(files.len() >= 3, "rules, deterministic ones and VRFs");
    for text in files {
        let file = folder.path().join("nat.yaml");
        std::fs::write(&file, &text).expect("writable");
        let checked = Command::new(PLUMBLINE).arg("run").arg(&file).arg("--check").output();
        let checked = checked.expect("the program starts");
        let told = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{told}\n{text}");
    }
}
