//! A newcomer's way to a comparison of an own scenario with the kernel and a switch: what the
//! document tells runs as it stands, and each mistake that is easily made is answered by what
//! helps.

use std::fs;

use crate::devices::can_run;
use crate::{data, run, temporary_folder, write};

/// The block of a document behind a comment that begins with a mark.
fn block(mark: &str) -> String {
    let text = fs::read_to_string(data("../../../docs/devices.md")).expect("it is there");
    let behind = text.split_once(&format!("<!-- {mark}: ")).expect(mark).1;
    let block = behind.split("```").nth(1).expect("a block");
    block.split_once('\n').expect("its language").1.to_owned()
}

/// The words of a command for a shell, with single quotes and continued lines.
fn words(command: &str) -> Vec<String> {
    let command = command.replace("\\\n", " ");
    let parts = command.trim().split('\'').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    });
    words.collect()
}

/// What is documented with all three devices, with those that can run here.
fn with_devices_here(text: &str) -> String {
    let is_there = |program: &str| netns::is_installed(program);
    let devices = match (can_run() && is_there("nft"), is_there("ovs-vswitchd")) {
        (true, true) => return text.to_owned(),
        (true, false) => "[embedded, linux]",
        (false, _) => "[embedded]",
    };
    println!("partly skipped: the devices are {devices}");
    text.replace("[embedded, linux, ovs]", devices)
}

/// Checks each device with these arguments, and returns how many there were.
fn passes(folder: &std::path::Path, arguments: &[&str]) -> usize {
    let ended = run(folder, &[&["check"], arguments, &["--json", "--quiet"]].concat());
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}\n{}", ended.stderr, ended.stdout);
    let record = ended.json();
    let cells = record["cells"].as_array().expect("cells");
    for cell in cells {
        assert_eq!(cell["check"]["passed"], true, "{}: {}", cell["device"], cell["check"]);
        assert_eq!(cell["configuration"]["function"]["upstream-l3-table-size"], 10_000);
        let covered = cell["check"]["coverage"].as_array().expect("a list");
        let denied = covered.iter().find(|one| one["name"] == "acl-ingress");
        assert!(denied.is_some_and(|one| one["frames"].as_u64() > Some(0)), "{covered:?}");
    }
    cells.len()
}

#[test]
fn the_documented_comparison_runs_as_it_stands() {
    let folder = temporary_folder();
    let command = words(&with_devices_here(&block("commands")));
    let [program, bench, arguments @ ..] = command.as_slice() else { panic!("{command:?}") };
    assert_eq!((&**program, &**bench), ("plumbline", "bench"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let of_command = passes(folder.path(), &arguments);
    write(folder.path(), "mine.yaml", &with_devices_here(&block("scenario")));
    assert_eq!(passes(folder.path(), &["mine.yaml"]), of_command);
}

/// The same list, in a file that the program has written.
#[test]
fn a_list_is_set_in_a_scenario_that_the_program_has_written() {
    let folder = temporary_folder();
    run(folder.path(), &["new", "l3-router"]).expect(0);
    let text = fs::read_to_string(folder.path().join("l3-router.yaml")).expect("it is there");
    assert!(text.contains("# Keys of each: action, source,"), "{text}");
    let list = "ingress-acl: [{action: deny, protocol: udp}, {action: permit}]\n";
    let edited = text
        .replace("#upstream-l3-table-size: 10\n", "upstream-l3-table-size: 10000\n")
        .replace("#ingress-acl: []\n", list);
    assert!(edited.contains(list), "{text}");
    write(folder.path(), "l3-router.yaml", &edited);
    assert_eq!(passes(folder.path(), &["l3-router.yaml"]), 1);
}

#[test]
fn mistakes_of_the_way_name_what_helps() {
    let folder = temporary_folder();
    let list = |rule: &str| format!("function.ingress-acl=[{rule}, {{action: permit}}]");
    let sizes = "`function.upstream-l3-table-size` or `function.downstream-l3-table-size`";
    for (setting, helps) in [
        ("traffic.routes=10000".to_owned(), sizes),
        ("function.routes=10000".to_owned(), "`routes` lists each; so many are made by `upstream"),
        ("function.acl=deny".to_owned(), "or `ingress-acl` or `egress-acl`"),
        ("function.pkt-size=64".to_owned(), "it is `traffic.pkt-size`"),
        (list("{action: deny, protocol: tpc}"), "`tpc` is none of icmp, "),
        (list("{action: deny, destination-port: 22}"), "did you mean `destination-ports`?"),
        (list("{action: drop}"), "expected `permit` or `deny`"),
        (list("{action: deny, source: 192.0.2.1}"), "`192.0.2.1/32` is itself"),
        ("function.ingress-acl=[{action: deny, protocol: tcp}]".to_owned(), "{action: permit} at"),
        ("device=linus".to_owned(), "did you mean `linux`?"),
    ] {
        answers(folder.path(), &["--set", &setting], helps);
    }
    // Refused before anything is started, also where nobody may start it.
    let policers = "function.policers=[{algorithm: rfc2698, committed-rate: 0, \
                    committed-burst: 0, excess-rate: 1000000000, excess-burst: 100000}]";
    let by_port = ["--set", policers, "--set", "function.police-by=port"];
    let on_linux = [&by_port[..], &["--set", "device=linux"]].concat();
    answers(folder.path(), &on_linux, "give its bucket 125000000 bytes or more");
}

/// The mistake is one of the command line, and its answer helps.
fn answers(folder: &std::path::Path, settings: &[&str], helps: &str) {
    let ended = run(folder, &[&["check", "--function", "l3-router"], settings].concat());
    assert_eq!(ended.code, Some(2), "{settings:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(helps), "{settings:?}: {}", ended.stderr);
}
