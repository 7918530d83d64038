//! Frames that left the NAT read by tshark: nothing is malformed, and no checksum is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use pcap_file::DataLink;
use testkit::pair::unhex;
use testkit::tshark::{CHECKSUM_BAD, CHECKSUM_GOOD, dissect};

#[test]
fn tshark_finds_no_bad_checksum_in_what_left() {
    let frames = frames();
    assert!(frames.len() > 40, "{} frames", frames.len());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cgnat.pcap");
    let fields = [&["_ws.malformed", "pptp.type", "gre.key.call_id"], &CHECKSUMS[..]].concat();
    let Some(read) = dissect(&file, (DataLink::ETHERNET, &frames), &[], &fields) else { return };
    for (read, frame) in read.iter().zip(&frames) {
        assert!(read.field("_ws.malformed").is_empty(), "malformed: {frame:02x?}");
        let bad = CHECKSUMS.iter().find(|name| read.field(name).contains(&CHECKSUM_BAD.into()));
        assert_eq!(bad, None, "{frame:02x?}");
    }
    // Calls of PPTP: control messages, and GRE whose key has an identifier.
    for (name, least) in [("pptp.type", 4), ("gre.key.call_id", 4)] {
        let read = read.iter().filter(|read| !read.field(name).is_empty());
        assert!(read.count() >= least, "{name}");
    }
    for name in CHECKSUMS {
        let good = read.iter().filter(|read| read.field(name).contains(&CHECKSUM_GOOD.into()));
        assert!(good.count() > 3, "{name}");
    }
}

/// Those that the golden cases say leave.
fn frames() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .expect("the golden folder can be read")
        .map(|case| case.expect("an entry").path().join("02-expected.txt"))
        .collect();
    cases.sort();
    let of_case = |case: &PathBuf| -> Vec<Vec<u8>> {
        let text = fs::read_to_string(case).expect("a golden file can be read");
        let mut frames = vec![String::new()];
        for line in text.lines() {
            match (line.starts_with(' '), frames.last_mut()) {
                (true, Some(frame)) => frame.push_str(line),
                _ => frames.push(String::new()),
            }
        }
        let frames = frames.iter().filter(|frame| !frame.is_empty());
        frames.map(|frame| unhex(frame).expect("hexadecimal digits")).collect()
    };
    cases.iter().flat_map(of_case).collect()
}

/// States of checksums.
const CHECKSUMS: [&str; 5] = [
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
];
