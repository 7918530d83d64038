//! Traces: what is written, and what is not overwritten.

use std::fs::{self, File};
use std::path::Path;

use pcap_file::TsResolution;
use pcap_file::pcap::PcapReader;

use crate::{run, scenario, temporary_folder, write};

fn small() -> String {
    scenario("mobile-gateway-small.yaml").to_str().expect("a plain path").to_owned()
}

/// Times in nanoseconds and lengths of the frames of a trace.
fn frames(path: &Path) -> Vec<(u128, usize)> {
    let mut reader = PcapReader::new(File::open(path).expect("written")).expect("a pcap");
    assert_eq!(reader.header().ts_resolution, TsResolution::NanoSecond);
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.expect("whole");
        assert_eq!(packet.orig_len as usize, packet.data.len(), "no frame is cut");
        frames.push((packet.timestamp.as_nanos(), packet.data.len()));
    }
    frames
}

#[test]
fn a_trace_has_the_frames_asked_for_in_order_and_is_the_same_each_time() {
    let folder = temporary_folder();
    let trace = |name: &str| {
        run(folder.path(), &["trace", &small(), "--output", name, "--count", "500"]).expect(0);
        fs::read(folder.path().join(name)).expect("written")
    };
    assert_eq!(trace("a.pcap"), trace("b.pcap"));
    let frames = frames(&folder.path().join("a.pcap"));
    assert_eq!(frames.len(), 500);
    assert!(frames.is_sorted_by_key(|&(time_ns, _)| time_ns), "{frames:?}");
    assert_eq!(frames[0].0, 0);
    // 64 bytes without their check sequence, and 36 more of GTP-U tunnel in one direction.
    assert!(frames.iter().all(|&(_, length)| matches!(length, 60 | 96)), "{frames:?}");
    let names: Vec<_> = fs::read_dir(folder.path()).expect("readable").collect();
    assert_eq!(names.len(), 2, "nothing else is left: {names:?}");
}

#[test]
fn standard_output_takes_a_trace() {
    let folder = temporary_folder();
    let file = ["trace", &small(), "--output", "a.pcap", "-n", "20"];
    run(folder.path(), &file).expect(0);
    let output = crate::plumbline(folder.path())
        .args(["trace", &small(), "--output", "-", "-n", "20"])
        .output()
        .expect("the program starts");
    assert_eq!(output.stdout, fs::read(folder.path().join("a.pcap")).expect("written"));
}

#[test]
fn a_file_is_only_overwritten_by_force() {
    let folder = temporary_folder();
    write(folder.path(), "mine.pcap", "precious");
    let arguments = ["trace", &small(), "--output", "mine.pcap", "-n", "5"];
    let ended = run(folder.path(), &arguments).expect(2);
    let expected = "error: the file exists\n  file: mine.pcap\n  help: name another, or add \
                    --force\n";
    assert_eq!(ended.stderr, expected);
    assert_eq!(fs::read(folder.path().join("mine.pcap")).expect("there"), b"precious");
    run(folder.path(), &[arguments.as_slice(), &["--force"]].concat()).expect(0);
    assert_eq!(frames(&folder.path().join("mine.pcap")).len(), 5);
}

#[test]
fn a_cell_is_chosen_by_its_name() {
    let folder = temporary_folder();
    let text = "function: mobile-gateway\ntraffic: {pkt-size: [64, 256], dir: downlink}\n";
    write(folder.path(), "two.yaml", text);
    let trace = |more: &[&str]| {
        let arguments = ["trace", "two.yaml", "--output", "x.pcap", "-n", "3", "--force", "--json"];
        run(folder.path(), &[arguments.as_slice(), more].concat())
    };
    let first = trace(&[]).expect(0);
    assert!(first.stderr.contains("of 2 cells the first is traced"), "{}", first.stderr);
    assert_eq!(first.json()["frames"], 3);
    trace(&["--cell", "pkt-size=256"]).expect(0);
    assert!(frames(&folder.path().join("x.pcap")).iter().all(|&(_, length)| length == 252));
    let ended = trace(&["--cell", "pkt-size=265"]).expect(2);
    assert!(ended.stderr.contains("did you mean `pkt-size=256`?"), "{}", ended.stderr);
}

#[test]
fn no_frames_are_a_trace_too() {
    let folder = temporary_folder();
    run(folder.path(), &["trace", &small(), "--output", "none.pcap", "-n", "0"]).expect(0);
    assert!(frames(&folder.path().join("none.pcap")).is_empty());
}

#[test]
fn json_and_a_trace_do_not_share_standard_output() {
    let folder = temporary_folder();
    let ended = run(folder.path(), &["trace", &small(), "--output", "-", "--json"]).expect(2);
    assert!(ended.stderr.contains("cannot take both"), "{}", ended.stderr);
}
