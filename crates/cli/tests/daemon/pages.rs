//! Pages of the documentation as they stand: their commands run in namespaces, a folder and a
//! `/run` of their own, and their files are valid.

use std::fs;
use std::path::Path;
use std::process::Command;

use netns::Namespace;

use crate::kit::PLUMBLINE;

/// The blocks of a page in a language, in their order.
pub fn blocks(page: &str, language: &str) -> Vec<String> {
    let (mut all, mut is_in) = (Vec::new(), false);
    let begins = format!("```{language}");
    for line in page.lines() {
        match line {
            _ if line == begins => {
                is_in = true;
                all.push(String::new());
            }
            "```" => is_in = false,
            _ => {
                if let Some(block) = all.last_mut().filter(|_| is_in) {
                    block.push_str(line);
                    block.push('\n');
                }
            }
        }
    }
    all
}

/// Runs all shell commands of a page, and returns what they said.
pub fn run(page: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("set -e\n{}", blocks(page, "sh").concat());
    fs::write(folder.path().join("page.sh"), script).expect("writable");
    // Programs of a page may write below it as users of their own.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("a folder of ours");
    let programs = Path::new(PLUMBLINE).parent().expect("a folder");
    let paths = std::env::var("PATH").unwrap_or_default();
    let outer = Namespace::new().expect("it may be made");
    // Names of namespaces and sockets are of this page alone, and end with it.
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
    said
}
