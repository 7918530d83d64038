//! The page for a first router, as it stands: every command of it runs, in namespaces, a folder and
//! a `/run` of its own.

use std::fs;
use std::process::Command;

use netns::Namespace;

use crate::frr;
use crate::kit::PLUMBLINE;

const PAGE: &str = include_str!("../../../../docs/first-router.md");

/// The blocks of shell commands, in their order.
fn script() -> String {
    let mut script = String::from("set -e\n");
    let mut is_in = false;
    for line in PAGE.lines() {
        match line {
            "```sh" => is_in = true,
            "```" => is_in = false,
            _ if is_in => {
                script.push_str(line);
                script.push('\n');
            }
            _ => {}
        }
    }
    script
}

#[test]
fn the_page_for_a_first_router_works_as_it_stands() {
    if !frr::is_there() || !netns::is_installed("ping") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("page.sh"), script()).expect("writable");
    // FRR's daemons write below it as a user of their own.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("a folder of ours");
    let programs = std::path::Path::new(PLUMBLINE).parent().expect("a folder");
    let paths = std::env::var("PATH").unwrap_or_default();
    let outer = Namespace::new().expect("it may be made");
    // Names of namespaces and sockets are of this test alone, and end with it.
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"])
        .arg("mount -t tmpfs tmpfs /run && exec timeout 240 bash page.sh")
        .current_dir(folder.path())
        .env("PATH", format!("{}:{paths}", programs.display()))
        .env_remove("XDG_RUNTIME_DIR");
    let output = outer.run(|| command.output()).expect("the namespace").expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("10.2.0.0/24"), "r1 has the far network: {said}");
    assert!(said.contains("Full"), "the adjacency: {said}");
}
