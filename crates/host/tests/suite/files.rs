//! Files that machines write, on a real disk.

use std::fs;
use std::path::Path;

use host::Host;
use protocol_kit::{Bytes, Departure, FileOpening, Kept, Opening, STREAM_ROOM, Socket};
use simulation::{Probe, Seen};

use crate::frr::until;
use crate::probe::{turn, turn_until};

const FILE: Socket = Socket(7);

fn open(host: &mut Host<Probe>, folder: &Path, name: &str, appears_whole: bool) {
    let kept = Kept { begin: "rib.".into(), end: ".mrt".into(), files_max: 2 };
    let folder = folder.to_string_lossy().into_owned();
    let file = FileOpening { folder, name: name.to_owned(), appears_whole, kept: Some(kept) };
    host.command(Departure::Open { socket: FILE, opening: Opening::File(file) });
}

fn write(host: &mut Host<Probe>, bytes: &[u8]) {
    host.command(Departure::Bytes { socket: FILE, bytes: Bytes::copy_from_slice(bytes) });
}

fn connected(host: &mut Host<Probe>) {
    turn_until(host, "the file", |seen| matches!(seen, Seen::Connected { .. }).then_some(()));
}

fn taken(host: &mut Host<Probe>) -> usize {
    turn_until(host, "bytes in it", |seen| match seen {
        Seen::Taken { count, .. } => Some(*count),
        _ => None,
    })
}

fn failed(host: &mut Host<Probe>) {
    turn_until(host, "that it fails", |seen| {
        matches!(seen, Seen::Failed { socket: FILE }).then_some(())
    });
}

fn finish(host: &mut Host<Probe>) {
    host.command(Departure::Finish { socket: FILE });
    turn_until(host, "its end", |seen| {
        matches!(seen, Seen::Finished { socket: FILE }).then_some(())
    });
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    names.sort();
    names
}

#[test]
fn a_file_appears_when_it_is_whole_and_the_last_ones_are_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dumps = folder.path().join("dumps");
    let mut host = Host::new(Probe::default()).expect("a host");
    for number in 1..=4_u8 {
        let name = format!("rib.{number}.mrt");
        open(&mut host, &dumps, &name, true);
        connected(&mut host);
        write(&mut host, b"one");
        assert_eq!(taken(&mut host), 3);
        assert!(!dumps.join(&name).exists(), "it is not whole");
        write(&mut host, &[number]);
        finish(&mut host);
        let all = [&b"one"[..], &[number]].concat();
        assert_eq!(fs::read(dumps.join(&name)).expect("it is there"), all);
    }
    assert_eq!(names(&dumps), ["rib.3.mrt", "rib.4.mrt"]);
    // One that is closed was never there, and neither is one whose host ends.
    open(&mut host, &dumps, "rib.5.mrt", true);
    connected(&mut host);
    write(&mut host, b"half");
    host.command(Departure::Close { socket: FILE });
    turn(&mut host);
    open(&mut host, &dumps, "rib.6.mrt", true);
    connected(&mut host);
    drop(host);
    assert_eq!(names(&dumps), ["rib.3.mrt", "rib.4.mrt"]);
}

#[test]
fn a_file_that_appears_at_once_goes_on_behind_what_it_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("log");
    for (text, all) in [("one", "one"), ("two", "onetwo")] {
        let mut host = Host::new(Probe::default()).expect("a host");
        open(&mut host, folder.path(), "log", false);
        connected(&mut host);
        write(&mut host, text.as_bytes());
        turn(&mut host);
        // What has departed is written, even if the host ends.
        drop(host);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), all);
    }
}

#[test]
fn what_cannot_be_written_fails_and_says_why() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("file"), "").expect("it may be written");
    let mut host = Host::new(Probe::default()).expect("a host");
    open(&mut host, &folder.path().join("file"), "rib.1.mrt", true);
    failed(&mut host);
    let why = host.take_failures();
    assert!(why.iter().any(|why| why.to_string().contains("rib.1.mrt")), "{why:?}");
    // Its number is free. A full disk is the same to whoever writes.
    let full = Path::new("/dev/full");
    if full.exists() {
        open(&mut host, Path::new("/dev"), "full", false);
        connected(&mut host);
        write(&mut host, b"one");
        failed(&mut host);
        let why = host.take_failures();
        assert!(why.iter().any(|why| why.to_string().contains("No space")), "{why:?}");
    }
    open(&mut host, folder.path(), "rib.2.mrt", true);
    connected(&mut host);
    write(&mut host, &vec![0; STREAM_ROOM]);
    write(&mut host, b"one more");
    failed(&mut host);
    let counters = host.counters();
    assert_eq!((counters.overflows, counters.misdirected), (1, 0));
    // What is said of no file is counted.
    host.command(Departure::Finish { socket: FILE });
    turn(&mut host);
    assert_eq!(host.counters().misdirected, 1);
    // The thread that writes takes the rest away when it comes to that.
    until("only the first file", || (names(folder.path()) == ["file"]).then_some(()));
}
