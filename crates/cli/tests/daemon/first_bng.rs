//! The page for a first broadband gateway, as it stands, and the file that it shows.

use std::process::Command;

use crate::kit::PLUMBLINE;
use crate::pages;

const PAGE: &str = include_str!("../../../../docs/first-bng.md");

#[test]
fn the_page_for_a_first_broadband_gateway_works_as_it_stands() {
    let programs = ["ping", "busybox"];
    if !netns::may_make_namespaces() || !programs.iter().all(|one| netns::is_installed(one)) {
        println!("skipped: needs the right to make network namespaces, ping and busybox");
        return;
    }
    let said = pages::run(PAGE);
    assert_eq!(said.matches("1 packets transmitted, 1 received").count(), 2, "{said}");
    assert!(said.contains("100.64.0."), "the address of the host: {said}");
    assert!(said.contains("2001:db8:1:"), "the prefix of its link: {said}");
    assert!(said.contains("no alarms"), "{said}");
}

#[test]
fn files_of_the_page_for_a_first_broadband_gateway_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    for text in pages::blocks(PAGE, "yaml") {
        let file = folder.path().join("bng.yaml");
        std::fs::write(&file, &text).expect("writable");
        let checked = Command::new(PLUMBLINE).arg("run").arg(&file).arg("--check").output();
        let checked = checked.expect("the program starts");
        let told = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{told}\n{text}");
    }
}
