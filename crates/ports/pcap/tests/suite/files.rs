//! Files of all forms, whole and damaged; other programs read what the port wrote.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use engine::{Link, Opened, PortKind, Way};
use packet::{Batch, PortId, Room};
use port_conformance::{Found, Random, build, recognise, request};
use port_pcap::{CaptureFile, Format, Pcap, PcapConfig, Timing};

fn config() -> PcapConfig {
    PcapConfig { speed: 1.0, repeat: 1, ring_bytes: 1 << 20, ..PcapConfig::default() }
}

fn frame(number: u64) -> Vec<u8> {
    build(Found { flow: (number % 4) as u16, number }, 60 + (number * 37 % 1400) as usize)
}

/// Captures these frames by the port itself, a millisecond apart.
fn capture(path: &Path, format: Option<Format>, count: u64) {
    let config = PcapConfig { capture: Some(path.to_owned()), format, ..config() };
    let mut opened = Pcap::open(&config, &request(1, 1514)).expect("it opens");
    let start = machine::clock::now();
    let mut batch = Batch::new(1, Room::default()).expect("memory");
    for number in 0..count {
        let bytes = frame(number);
        batch.clear();
        batch.append(PortId(0), bytes.len()).expect("room").copy_from_slice(&bytes);
        let now = start + number * 1_000_000;
        while opened.queues[0].transmit(&mut batch, &[0], now) == 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(opened.monitor.counts().sent, count);
    assert_eq!(opened.monitor.link(), Link::Up);
}

/// Returns all frames that a port receives until the file has ended, at ticks from `now`.
fn replay(opened: &mut Opened, mut now: impl FnMut() -> u64) -> Vec<(u64, Vec<u8>)> {
    let mut batch = Batch::new(256, Room { headroom: 0, frame: 2000, long: 0 }).expect("memory");
    let (start, mut frames) = (Instant::now(), Vec::new());
    loop {
        // Looked at first: what the rings hold then is still to come.
        let ended = opened.monitor.link() != Link::Up;
        let at = now();
        let before = frames.len();
        for queue in &mut opened.queues {
            batch.clear();
            queue.receive(&mut batch, 256, at);
            frames.extend(batch.slots().map(|slot| (at, batch.frame(slot).to_vec())));
        }
        if ended && frames.len() == before {
            return frames;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", opened.monitor.counts());
        std::thread::yield_now();
    }
}

#[test]
fn what_was_captured_is_replayed_and_others_read_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, kind) in [("a.pcap", "pcap"), ("a.pcapng", "pcapng")] {
        let path = folder.path().join(name);
        capture(&path, None, 500);
        let config = PcapConfig { replay: Some(path.clone()), timing: Timing::Fast, ..config() };
        let mut opened = Pcap::open(&config, &request(1, 1514)).expect("it opens");
        let frames = replay(&mut opened, || u64::MAX);
        let expected: Vec<_> = (0..500).map(|number| (u64::MAX, frame(number))).collect();
        assert_eq!(frames, expected);
        let Link::Down(why) = opened.monitor.link() else { panic!("the file has ended") };
        assert!(why.ends_with("was replayed 1 times"), "{why}");
        if !netns::is_installed("capinfos") || !netns::is_installed("tshark") {
            eprintln!("skipped: tshark is not installed");
            continue;
        }
        let path = path.to_str().expect("plain");
        let said = output("capinfos", &["-t", "-c", "-E", "-T", "-m", "-r", path]);
        assert!(said.contains(&format!("{kind},")) || said.contains(kind), "{said}");
        assert!(said.contains("500") && said.contains("ether"), "{said}");
        let fields = ["-T", "fields", "-e", "frame.time_delta", "-e", "udp.srcport"];
        let said = output("tshark", &[&["-r", path], &fields[..]].concat());
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 500);
        for (number, line) in lines.iter().enumerate().skip(1) {
            let expected = format!("0.001000000\t{}", 1024 + number % 4);
            assert_eq!(*line, expected, "stamps in nanoseconds, frame {number}");
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn timing_is_kept_scaled_and_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pcapng");
    capture(&path, None, 10);
    let config = PcapConfig { replay: Some(path), speed: 2.0, repeat: 3, ..config() };
    let mut opened = Pcap::open(&config, &request(1, 1514)).expect("it opens");
    // A clock of a tick a nanosecond that goes 50 us further at each look.
    let mut now = 0;
    let frames = replay(&mut opened, || {
        now += 50_000;
        now
    });
    assert_eq!(frames.len(), 30);
    for (index, (at, bytes)) in frames.iter().enumerate() {
        assert_eq!(*bytes, frame(index as u64 % 10));
        // A frame each half millisecond, and the next pass with the last of the one before.
        let (pass, place) = (index / 10, index % 10);
        let due = (pass * 9 + place) as u64 * 500_000;
        assert!(*at >= due, "frame {index} came at {at}, before {due}");
    }
    let last = frames.last().expect("30").0;
    assert!(last >= 13_500_000, "{last}");
}

#[test]
fn flows_are_shared_among_queues_and_for_ever_has_no_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pcap");
    capture(&path, Some(Format::Pcapng), 200);
    let timing = Timing::Fast;
    let config = PcapConfig { replay: Some(path), timing, repeat: 0, ..config() };
    let mut opened = Pcap::open(&config, &request(2, 1514)).expect("it opens");
    let mut batch = Batch::new(256, Room { headroom: 0, frame: 2000, long: 0 }).expect("memory");
    let (mut count, start) = (0, Instant::now());
    let mut queue_of = std::collections::HashMap::new();
    while count < 5000 {
        assert!(start.elapsed() < Duration::from_secs(30), "{count}");
        for (index, queue) in opened.queues.iter_mut().enumerate() {
            batch.clear();
            count += queue.receive(&mut batch, 256, u64::MAX);
            for slot in batch.slots() {
                let found = recognise(batch.frame(slot)).expect("whole");
                assert_eq!(*queue_of.entry(found.flow).or_insert(index), index);
            }
        }
    }
    assert_eq!(opened.monitor.link(), Link::Up);
}

/// Returns a pcap file in little-endian order with microseconds.
fn pcap_le(records: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (seconds, fraction, frame, whole) in records {
        let head = [*seconds, *fraction, frame.len() as u32, *whole];
        bytes.extend(head.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(*frame);
    }
    bytes
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("there is room");
    path
}

#[test]
fn damaged_files_are_errors_or_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |name: &str, bytes: &[u8]| {
        let replay = Some(written(folder.path(), name, bytes));
        Pcap::open(&PcapConfig { replay, timing: Timing::Fast, ..config() }, &request(1, 100))
    };
    let what = |opened: Result<Opened, engine::PortError>| opened.map(drop).expect_err("bad").what;
    assert!(
        what(open("empty", b"")).ends_with("empty is not a capture, or is damaged: it is empty")
    );
    assert!(what(open("text", b"this is no capture at all")).contains("text is not a capture"));
    assert!(what(open("head", &pcap_le(&[])[..20])).ends_with("ends within a record"));
    let mut foreign = pcap_le(&[]);
    foreign[20] = 113;
    assert!(what(open("cooked", &foreign)).ends_with("contains no Ethernet frames"));
    let absent = PcapConfig { replay: Some("/absent/a.pcap".into()), ..config() };
    assert!(
        what(Pcap::open(&absent, &request(1, 100))).starts_with("/absent/a.pcap cannot be read")
    );

    let records: &[(u32, u32, &[u8], u32)] = &[
        (1, 999_999, &[1; 60], 60),
        (2, 0, &[2; 60], 90),
        (2, 1, &[3; 101], 101),
        (2, 2, &[4; 100], 100),
        (2, 3, &[5; 60], 60),
    ];
    let whole = pcap_le(records);
    let mut opened = open("cut", &whole[..whole.len() - 1]).expect("it begins well");
    let frames: Vec<_> = replay(&mut opened, || 0).into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(frames, [vec![1; 60], vec![4; 100]]);
    let counts = opened.monitor.counts();
    for why in ["cut-short", "too-long", "malformed"] {
        let count = counts.drops.iter().find(|(kind, _)| kind.why == why).map(|(_, count)| *count);
        assert_eq!(count, Some(1), "{why}: {counts:?}");
    }
    assert_eq!(counts.lost(Way::Receive), 3);
    let Link::Down(why) = opened.monitor.link() else { panic!("it has ended") };
    assert!(why.ends_with("cut ends within a record"), "{why}");
}

/// Returns a block of pcapng in big-endian order.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len()) as u32;
    [&kind.to_be_bytes()[..], &len.to_be_bytes(), body, &len.to_be_bytes()].concat()
}

#[test]
fn pcapng_of_others_is_read() {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let section = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 0x0001_0000, u32::MAX, u32::MAX]));
    // Ethernet in microseconds by default; Ethernet in 2^-10 s; Linux cooked.
    let plain = block(1, &words(&[0x0001_0000, 0]));
    let binary = block(1, &words(&[0x0001_0000, 0, 0x0009_0001, 0x8a00_0000, 0]));
    let cooked = block(1, &words(&[0x0071_0000, 0]));
    let packet = |interface: u32, stamp: u64, frame: &[u8]| {
        let len = frame.len() as u32;
        let head = words(&[interface, (stamp >> 32) as u32, stamp as u32, len, len]);
        block(6, &[&head[..], frame].concat())
    };
    let simple = block(3, &[&words(&[60])[..], &[9; 60]].concat());
    let file = [
        section,
        plain,
        binary,
        cooked,
        packet(0, 5_000_000, &[1; 60]),
        packet(1, 6 << 10, &[2; 64]),
        block(0x0bad, &[0; 8]),
        packet(2, 7_000_000, &[3; 60]),
        simple,
    ]
    .concat();
    let mut reader = CaptureFile::new(&file[..]).expect("a section");
    let mut seen = Vec::new();
    while let Some(record) = reader.next_record().expect("whole") {
        seen.push((record.at_ns, record.frame[0], record.whole_len, record.is_ethernet));
    }
    let second = |number: u64| Some(number * 1_000_000_000);
    let expected = [
        (second(5), 1, 60, true),
        (second(6), 2, 64, true),
        (second(7), 3, 60, false),
        (None, 9, 60, true),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn rubbish_never_breaks_the_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random::new(1);
    for name in ["a.pcap", "a.pcapng"] {
        let path = folder.path().join(name);
        capture(&path, None, 20);
        let good = std::fs::read(path).expect("it was written");
        for round in 0..150 {
            let mut bytes = good.clone();
            for _ in 0..random.between(1, 8) {
                // Mostly in the heads of file and records.
                let range = if round % 2 == 0 { 200 } else { bytes.len() };
                let at = random.between(0, range - 1);
                bytes[at] = random.number() as u8;
            }
            bytes.truncate(random.between(0, bytes.len()));
            let Ok(mut reader) = CaptureFile::new(&bytes[..]) else { continue };
            let mut records = 0;
            while let Ok(Some(_)) = reader.next_record() {
                records += 1;
                assert!(records < 1000, "it ends");
            }
        }
    }
}

#[test]
fn a_full_disk_is_counted_told_and_left_behind() {
    if !netns::may_make_namespaces() {
        eprintln!("skipped: no right to mount a small file system; run as root");
        return;
    }
    std::thread::spawn(|| {
        use nix::mount::{MsFlags, mount};
        // For this thread and those that it starts.
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).expect("the right is there");
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("private");
        let folder = tempfile::tempdir().expect("a folder");
        let size = Some("size=64k");
        mount(Some("tmpfs"), folder.path(), Some("tmpfs"), MsFlags::empty(), size).expect("mounts");
        fill_the_disk(folder.path());
        // A program that another test starts in this moment may still hold its files.
        let detach = nix::mount::MntFlags::MNT_DETACH;
        nix::mount::umount2(folder.path(), detach).expect("it is mounted");
    })
    .join()
    .expect("as above");
}

fn fill_the_disk(folder: &Path) {
    let path = folder.join("a.pcap");
    let config = PcapConfig { capture: Some(path.clone()), ..config() };
    let mut opened = Pcap::open(&config, &request(1, 1514)).expect("it opens");
    let mut batch = Batch::new(1, Room::default()).expect("memory");
    let (start, mut sent) = (Instant::now(), 0);
    while opened.monitor.link() == Link::Up {
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", opened.monitor.counts());
        let bytes = frame(sent);
        batch.clear();
        batch.append(PortId(0), bytes.len()).expect("room").copy_from_slice(&bytes);
        sent += opened.queues[0].transmit(&mut batch, &[0], 1) as u64;
        std::thread::park_timeout(Duration::from_micros(100));
    }
    let Link::Down(why) = opened.monitor.link() else { panic!("it was down") };
    assert!(why.contains("a.pcap cannot be written: No space left"), "{why}");
    let monitor = opened.monitor.clone();
    drop(opened);
    let counts = monitor.counts();
    let lost = counts.drops.iter().find(|(kind, _)| kind.why == "not-written").expect("listed").1;
    let file = std::fs::File::open(&path).expect("it is there");
    let mut reader = CaptureFile::new(file).expect("its head is whole");
    let mut written = 0;
    while let Some(record) = reader.next_record().expect("and so is every record") {
        assert!(recognise(&record.frame).is_some());
        written += 1;
    }
    assert!(lost > 0 && written > 0);
    assert_eq!(written + lost, counts.sent, "to the frame");
}
