//! What goes with the program (`contrib/`): the script for pipelines runs it, and the Python
//! package reads what it has recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::temporary_folder;

fn contrib() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").canonicalize().expect("it is there")
}

/// The script of pipelines, with this program as that of the base and of the change.
fn compare(folder: &Path, conditions: &[&str]) -> Output {
    let scenario = folder.join("small.yaml");
    fs::write(&scenario, SCENARIO).expect("the scenario is written");
    let program = env!("CARGO_BIN_EXE_plumbline");
    let mut command = Command::new(contrib().join("ci/compare.sh"));
    command.arg(&scenario).args([program, program, "runs"]).args(conditions);
    command.current_dir(folder).output().expect("sh is everywhere")
}

const SCENARIO: &str = "\
name: small
function: {name: l2-switch}
methods: [{name: capacity, repetitions: 3, duration: 20 ms, warm-up: 20 ms}]
";

#[test]
fn the_script_of_pipelines_compares_two_programs_and_ends_as_the_comparison_does() {
    let folder = temporary_folder();
    let ended = compare(folder.path(), &["capacity.function < 0.0001", "capacity.total < 0.0001"]);
    let told = String::from_utf8_lossy(&ended.stdout).into_owned();
    let problem = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{told}{problem}");
    assert!(told.contains("B / A"), "both are of one host: {told}");
    assert!(folder.path().join("runs/comparison.html").is_file());
    // Conditions reach the program: one that nothing fits is told by it.
    let other = temporary_folder();
    let ended = compare(other.path(), &["capacity.function < 0.0001", "latency.nothing < 1"]);
    let problem = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{problem}");
    assert!(problem.contains("latency.nothing"), "{problem}");
}

#[test]
fn action_and_template_call_the_script_as_it_is_called_here() {
    for file in ["github/action.yml", "gitlab/plumbline.yml"] {
        let text = fs::read_to_string(contrib().join(file)).expect("it is there");
        let _: serde_json::Value =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let call = text.split("ci/compare.sh").nth(1).expect("it calls the script");
        let words: Vec<&str> =
            call.split_whitespace().filter(|word| !matches!(*word, "\\" | "\"")).collect();
        assert!(words[0].contains("$SCENARIO"), "{file}: {words:?}");
        assert!(
            words[1].ends_with("base/target/release/plumbline\"")
                || words[1].starts_with("../base")
        );
        assert_eq!(words[2], "target/release/plumbline", "{file}");
    }
}

#[test]
fn the_template_for_pages_publishes_what_the_command_writes() {
    let text = fs::read_to_string(contrib().join("gitlab/pages.yml")).expect("it is there");
    let job: serde_json::Value = serde_saphyr::from_str(&text).expect("it is YAML");
    assert_eq!(job["pages"]["script"][0], "cargo xtask site --output public");
    assert_eq!(job["pages"]["artifacts"]["paths"][0], "public");
}

#[test]
fn the_python_package_reads_the_records_and_has_the_types_of_the_schema() {
    if std::env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return;
    }
    let ended = Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "--start-directory", "tests"])
        .current_dir(contrib().join("python"))
        .output()
        .expect("python3 is installed (cargo xtask setup)");
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{told}");
    assert!(told.contains("Ran 8 tests"), "{told}");
}
