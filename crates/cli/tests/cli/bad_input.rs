//! Every kind of bad scenario: `bad-input/X.yaml` is answered with `bad-input/X.txt`, exit code 2.

use std::fs;

use crate::{assert_as_in, data, run, scenario, temporary_folder, write};

#[test]
fn every_bad_scenario_is_answered_as_reviewed() {
    let folder = data("bad-input");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let name = entry.expect("readable").file_name().into_string().expect("a plain name");
        let Some((stem, "yaml" | "json")) = name.rsplit_once('.') else { continue };
        let ended = run(&folder, &["check", &name]).expect(2);
        assert_as_in(&folder.join(format!("{stem}.txt")), &ended.stderr);
        let lines: Vec<&str> = ended.stderr.lines().collect();
        assert!(lines[0].starts_with("error: "), "{name}: {}", ended.stderr);
        assert!(lines[1].starts_with(&format!("  file: {name}")), "{name}: {}", ended.stderr);
        assert!(lines.last().is_some_and(|line| line.starts_with("  help: ")), "{}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{name} printed {}", ended.stdout);
        count += 1;
    }
    assert!(count > 30, "only {count} bad scenarios were found");
}

#[test]
fn every_command_refuses_a_bad_scenario_before_it_does_anything() {
    let folder = temporary_folder();
    write(folder.path(), "bad.yaml", "function: {name: mobile-gateway, usr: 1}\n");
    for arguments in [
        vec!["bench", "bad.yaml"],
        vec!["check", "bad.yaml", "--json"],
        vec!["trace", "bad.yaml", "--output", "x.pcap"],
    ] {
        let ended = run(folder.path(), &arguments).expect(2);
        assert!(ended.stderr.contains("did you mean `user`?"), "{}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("readable").collect();
    assert_eq!(left.len(), 1, "nothing was made: {left:?}");
}

#[test]
fn a_file_that_is_not_there_is_answered_with_the_one_that_is() {
    let folder = temporary_folder();
    write(folder.path(), "mobile.yaml", "function: mobile-gateway\n");
    let ended = run(folder.path(), &["bench", "mobil.yaml"]).expect(2);
    assert!(ended.stderr.contains("no such file"), "{}", ended.stderr);
    assert!(ended.stderr.contains("did you mean ./mobile.yaml?"), "{}", ended.stderr);
}

#[test]
fn a_folder_is_no_scenario() {
    let folder = temporary_folder();
    let ended = run(folder.path(), &["check", "."]).expect(2);
    assert!(ended.stderr.contains("directory"), "{}", ended.stderr);
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let ended = run(temporary_folder().path(), &["check", "/dev/zero"]).expect(2);
    assert!(ended.stderr.contains("larger than 16 MiB"), "{}", ended.stderr);
}

#[test]
fn no_prefix_of_a_good_scenario_ends_badly() {
    let folder = temporary_folder();
    let text = fs::read_to_string(scenario("tipsy-mgw-sample.json")).expect("it is there");
    for end in (0..text.len()).step_by(7) {
        write(folder.path(), "cut.json", &text[..end]);
        let ended = run(folder.path(), &["trace", "cut.json", "--output", "-", "-n", "1"]);
        assert!(matches!(ended.code, Some(0 | 2)), "{:?} at {end}: {}", ended.code, ended.stderr);
    }
}
