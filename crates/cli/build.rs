//! Tells the program which commit it is built from, for its records.
//!
//! Outside a git tree, or without git, the commit is called unknown; the build never fails for it.

use std::process::Command;

fn main() {
    // A changed source makes the commit a `-dirty` one, and a new commit makes it clean again.
    for changed in ["../../crates", "../../Cargo.lock", "../../.git/HEAD", "../../.git/logs/HEAD"] {
        if std::path::Path::new(changed).exists() {
            println!("cargo::rerun-if-changed={changed}");
        }
    }
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    let commit = described.as_deref().map_or("unknown", str::trim);
    println!("cargo::rustc-env=PLUMBLINE_COMMIT={commit}");
}
