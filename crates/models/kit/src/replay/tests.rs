//! Captures that the tests write themselves, byte by byte, are read as they stand.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::capture::{Captured, Unusable, hash, times};
use super::*;

/// A datagram of so many bytes of payload in an Ethernet frame.
fn frame(payload: usize) -> Vec<u8> {
    let total = (28 + payload) as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    frame.extend(total.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9]);
    frame.extend((total - 20).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(frame.len() + payload, 7);
    frame
}

/// A classic capture: the magic number, the link type, and frames with seconds, fraction and
/// original length.
fn pcap(magic: u32, link: u32, frames: &[(u32, u32, &[u8], usize)]) -> Vec<u8> {
    let mut file = magic.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0]);
    for word in [0, 0, 262_144, link] {
        file.extend(u32::to_le_bytes(word));
    }
    for (seconds, fraction, frame, whole) in frames {
        for word in [*seconds, *fraction, frame.len() as u32, *whole as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(*frame);
    }
    file
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
    let len = (12 + padded.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, &padded, &len].concat()
}

/// A capture of the newer format with stamps in nanoseconds.
fn pcapng(link: u16, frames: &[(u64, &[u8])]) -> Vec<u8> {
    let mut file = block(
        0x0a0d_0d0a,
        &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat(),
    );
    let resolution = [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0];
    file.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6], &resolution].concat()));
    for (at, frame) in frames {
        let mut body = 0u32.to_le_bytes().to_vec();
        for word in [(at >> 32) as u32, *at as u32, frame.len() as u32, frame.len() as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(*frame);
        file.extend(block(6, &body));
    }
    file
}

fn written(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("x.pcap");
    std::fs::write(&path, bytes).expect("a temporary folder can be written");
    path
}

fn read(path: &Path, limit: u64) -> Result<Captured, Unusable> {
    Captured::read(path, (limit, 1 << 20), None)
}

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;

#[test]
fn captures_of_all_formats_are_read_with_their_times() {
    let folder = TempDir::new().expect("a folder");
    let (long, short) = (frame(100), frame(3));
    let frames: [(u32, u32, &[u8], usize); 2] =
        [(7, 500, &long, long.len()), (7, 900, &short, short.len())];
    let newer = pcapng(1, &[(7_000_000_500, &long), (7_000_000_900, &short)]);
    for (bytes, at) in [
        (pcap(MICRO, 1, &frames), [7_000_500_000, 7_000_900_000]),
        (pcap(NANO, 1, &frames), [7_000_000_500, 7_000_000_900]),
        (newer, [7_000_000_500, 7_000_000_900]),
    ] {
        let captured = read(&written(&folder, &bytes), 0).expect("sound");
        assert_eq!(captured.recording.at_ns(), at);
        assert_eq!((captured.recording.len(), captured.recording.stamped()), (2, 1));
        assert_eq!(read(&written(&folder, &bytes), 1).expect("sound").recording.len(), 1);
    }
}

#[test]
fn what_cannot_be_sent_is_refused_and_says_why() {
    let folder = TempDir::new().expect("a folder");
    let (good, long) = (frame(60), vec![1; 9_100]);
    let with = |frame: &[u8], whole| pcap(MICRO, 1, &[(0, 0, &good, 102), (1, 0, frame, whole)]);
    let whole = pcap(MICRO, 1, &[(0, 0, &good, 102)]);
    for (bytes, what) in [
        (vec![], "is empty"),
        (b"#!/bin/sh\n".repeat(9), "not a capture"),
        (pcap(MICRO, 1, &[]), "has no frames"),
        (whole[..whole.len() - 1].to_vec(), "ends within a record"),
        (pcap(MICRO, 113, &[(0, 0, &good, 102)]), "frame 1 one of link type LINUX_SLL"),
        (pcapng(101, &[(0, &good)]), "link type RAW"),
        (with(&good[..96], 102), "frame 2 the first 96 bytes of 102 only"),
        (with(&good[..10], 10), "no Ethernet frame"),
        (with(&long, 9_100), "9100 bytes; at most 9018"),
    ] {
        let error = read(&written(&folder, &bytes), 0).err().expect(what);
        assert!(error.what.contains(what), "{what}: {}", error.what);
        assert!(error.what.contains("x.pcap") && !error.remedy.is_empty());
    }
    let absent = read(&folder.path().join("none"), 0).err().expect("there is none");
    assert!(absent.what.contains("cannot be read"), "{}", absent.what);
    let error = read(folder.path(), 0).err().expect("no file");
    assert!(error.what.contains("is a folder"), "{}", error.what);
    let many = vec![(0, 0, &good[..], 102); 9_000];
    let path = written(&folder, &pcap(MICRO, 1, &many));
    let error = read(&path, 0).err().expect("more than there is room for");
    assert!(error.what.contains("MiB of memory") && error.remedy.contains("pcap-frames"));
    assert_eq!(read(&path, 100).expect("the first ones have room").recording.len(), 100);
}

#[test]
fn captures_that_overlap_keep_their_times_to_each_other() {
    let folder = TempDir::new().expect("a folder");
    let data = frame(60);
    let at = |times: &[u32]| {
        let frames: Vec<_> = times.iter().map(|&at| (0, at, &data[..], data.len())).collect();
        read(&written(&folder, &pcap(NANO, 1, &frames)), 0).expect("sound")
    };
    let both = times(&[at(&[100, 200, 300, 500]), at(&[150, 400])]).expect("timed");
    assert_eq!(both[0].at_ns[..], [0, 100, 200, 400]);
    assert_eq!(both[1].at_ns[..], [50, 300]);
    assert_eq!((both[0].period_ns, both[1].period_ns), (500, 500));
    assert_eq!(both[0].most_per_s, 4.0 / 500e-9);
    let apart = times(&[at(&[100, 300]), at(&[900, 1_000])]).expect("timed");
    assert_eq!((&apart[0].at_ns[..], &apart[1].at_ns[..]), (&[0, 200][..], &[0, 100][..]));
    assert!(times(&[at(&[7, 7, 7])]).is_none(), "all at once");
    let [one, other] = [at(&[1, 2]), at(&[1, 3])].map(|captured| hash(&[captured]));
    assert!(one != other && one.starts_with("blake3:"));
}

#[test]
fn keys_of_made_frames_are_refused_beside_a_capture() {
    let schema = json!({"properties": {"dir": {}, "pkt-size": {}, "random-seed": {}}});
    let take = |keys: Value| {
        let mut traffic = keys.as_object().cloned().unwrap_or_default();
        let taken = ReplayKeys::take(&mut traffic, &schema).map_err(|error| error.to_string());
        (taken, Value::Object(traffic))
    };
    let (taken, rest) = take(json!({"pcap": "a.pcap", "random-seed": 7}));
    let files = taken.expect("sound").expect("there is one").pcap.expect("a file");
    assert_eq!(files.files(), [(None, Path::new("a.pcap"))]);
    assert_eq!(rest, json!({"random-seed": 7, "dir": "bidir"}), "to learn all directions");
    let (taken, rest) = take(json!({"pkt-size": 64}));
    assert_eq!((taken, rest), (Ok(None), json!({"pkt-size": 64})));
    let defaults = json!({"pcap": null, "pcap-timing": "even", "pcap-speed": 1});
    assert_eq!(take(defaults).0, Ok(None), "as a starter writes them");
    let (taken, _) = take(json!({"pcap": {"inside": "a", "outside": "b"}}));
    assert_eq!(taken.expect("sound").expect("two").pcap.expect("two").files().len(), 2);
    for (keys, what) in [
        (json!({"pcap": "a", "pkt-size": 64}), "describes frames that are made"),
        (json!({"pcap-speed": 2}), "there is none"),
        (json!({"pcap": null, "pcap-speed": 2}), "there is none"),
        (json!({"pcap": "a", "pcap-speed": 0}), "pcap-speed"),
        (json!({"pcap": "a", "pcap-timing": "kept"}), "pcap-timing"),
        (json!({"pcap": "a", "pcap-timings": "even"}), "pcap-timings"),
    ] {
        let error = take(keys).0.expect_err(what);
        assert!(error.contains(what), "{what}: {error}");
    }
}
