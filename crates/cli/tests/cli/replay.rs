//! A user's own traffic: the capture of the example is what this file makes, and goes through
//! commands; what cannot be replayed is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::tshark;

use crate::{run, scenario, temporary_folder, write};

/// A frame of a subscriber to a host on the Internet; checksums of transport headers are left to
/// whoever sends it.
fn frame(subscriber: u8, host: u8, protocol: u8, segment: &[u8]) -> Vec<u8> {
    let total = (20 + segment.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, subscriber, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, subscriber]);
    packet.extend([203, 0, 113, host]);
    let sum =
        packet.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    let sum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let ethernet = [2, 0, 0, 0, 0, 0x99, 2, 0, 0, 0, 1, subscriber, 8, 0];
    [&ethernet[..], &packet, segment].concat()
}

fn udp(from: u16, to: u16, payload: usize) -> Vec<u8> {
    let len = (8 + payload) as u16;
    let head = [from.to_be_bytes(), to.to_be_bytes(), len.to_be_bytes(), [0, 0]].concat();
    [head, vec![0x20; payload]].concat()
}

fn tcp(from: u16, number: u32, flags: u8, payload: usize) -> Vec<u8> {
    let mut segment = [from.to_be_bytes(), 443_u16.to_be_bytes()].concat();
    segment.extend(number.to_be_bytes());
    segment.extend([0, 0, 0, 0, 0x50, flags, 0x20, 0, 0, 0, 0, 0]);
    [segment, vec![0x41; payload]].concat()
}

fn ping(number: u8) -> Vec<u8> {
    let mut message = vec![8, 0, 0, 0, 0, 7, 0, number];
    let sum = !(0x0800_u16 + 7 + u16::from(number));
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// Six subscribers in 300 ms: a name, a connection with data, datagrams, a ping.
fn frames() -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    for subscriber in 1..=6_u8 {
        let begun = 20_000 * u32::from(subscriber);
        let port = 40_000 + 100 * u16::from(subscriber);
        let host = 10 + subscriber;
        all.push((begun, frame(subscriber, 53, 17, &udp(port, 53, 38))));
        all.push((begun + 9_000, frame(subscriber, host, 6, &tcp(port + 1, 1000, 0x02, 0))));
        all.push((begun + 21_000, frame(subscriber, host, 6, &tcp(port + 1, 1001, 0x18, 517))));
        all.push((begun + 21_050, frame(subscriber, host, 6, &tcp(port + 1, 1518, 0x18, 90))));
        for number in 0..4 {
            let at = begun + 60_000 + 20 * number;
            all.push((at, frame(subscriber, host, 17, &udp(port + 2, 443, 200))));
        }
        all.push((begun + 150_000, frame(subscriber, host, 1, &ping(subscriber))));
    }
    all.sort();
    all
}

/// A classic capture with stamps in microseconds, of frames with their times in microseconds.
fn pcap(link: u32, frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend(word.to_le_bytes());
    }
    for (at, frame) in frames {
        let len = frame.len() as u32;
        for word in [1_700_000_000, *at, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

#[test]
fn the_capture_of_the_example_is_what_is_made_here_and_what_others_read() {
    let (file, made) = (scenario("cgnat-replay.pcap"), pcap(1, &frames()));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &made).expect("the capture can be written");
    }
    assert!(fs::read(&file).expect("it is there") == made, "run `cargo xtask golden`");
    assert!(made.len() < 20_000, "{} bytes", made.len());
    let fields = ["frame.protocols"];
    let Some(read) = tshark::read(&file, &[], &fields) else { return };
    assert_eq!(read.len(), 54);
    let protocols: Vec<String> = read.iter().map(|one| format!("{one:?}")).collect();
    for (protocol, count) in [("icmp", 6), ("tcp", 18), ("udp", 30)] {
        let of = protocols.iter().filter(|text| text.contains(&format!(":{protocol}")));
        assert_eq!(of.count(), count, "{protocol}: {protocols:#?}");
    }
}

#[test]
fn a_capture_is_checked_and_measured_and_the_record_says_what_it_was() {
    let folder = temporary_folder();
    let file = scenario("cgnat-replay.yaml");
    let file = file.to_str().expect("a plain name");
    let ended = run(folder.path(), &["bench", file, "--smoke", "--quiet", "--json"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{:?}: {}", ended.code, ended.stderr);
    let record = ended.json();
    let cells = record["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let captures = &cell["configuration"]["captures"];
        assert_eq!((&captures["frames"], &captures["with-stamp"]), (&54.into(), &42.into()));
        assert!(captures["hash"].as_str().is_some_and(|hash| hash.starts_with("blake3:")));
        let check = &cell["check"];
        assert_eq!(check["passed"], true, "{check:#}");
        let captured = check["captured"].as_array().expect("verdicts on captured frames");
        assert_eq!(captured[0]["name"], "forward-outside");
        assert_eq!((captured.len(), &captured[0]["frames"]), (1, &54.into()), "{check:#}");
        assert!(cell.to_string().contains("12 of 54 captured frames have no room for a stamp"));
    }
    let trials = |cell: &Value| -> Vec<Value> {
        let outcomes = cell["outcomes"].as_array().expect("outcomes").iter();
        outcomes.flat_map(|one| one["trials"].as_array().cloned().unwrap_or_default()).collect()
    };
    let of = |cell: usize| trials(&cells[cell]);
    let sum = |trials: &[Value], key: &str| -> u64 {
        let directions = trials.iter().flat_map(|trial| trial["directions"].as_array());
        directions.flatten().filter_map(|one| one[key].as_u64()).sum()
    };
    // All that came back is counted, with a stamp or without, and nothing is a stranger.
    let all = [of(0), of(1)].concat();
    assert!(sum(&all, "received") > 0 && sum(&all, "misdelivered") == 0);
}

#[test]
fn what_cannot_be_replayed_is_refused_by_its_name() {
    let folder = temporary_folder();
    fs::write(folder.path().join("raw.pcap"), pcap(101, &frames()[..1])).expect("writable");
    let pings: Vec<_> = frames().into_iter().filter(|(_, frame)| frame[23] == 1).collect();
    fs::write(folder.path().join("pings.pcap"), pcap(1, &pings)).expect("writable");
    let good = scenario("cgnat-replay.pcap").display().to_string();
    for (traffic, method, what) in [
        ("pcap: none.pcap", "throughput", "cannot be read"),
        ("pcap: raw.pcap", "throughput", "link type RAW"),
        ("pcap: {middle: raw.pcap}", "throughput", "has no port `middle`"),
        (&format!("pcap: {good}, pkt-size: 64"), "throughput", "describes frames that are made"),
        (&format!("pcap: {good}"), "session-rate", "opens sessions"),
        (&format!("pcap: {good}, pcap-timing: captured"), "capacity", "keeps no intervals"),
        ("pcap: pings.pcap", "latency", "no captured frame has room for one"),
    ] {
        let text = format!(
            "function: {{name: cgnat, sessions: 1000}}\ntraffic: {{{traffic}}}\nmethods: [{{name: \
             {method}}}]\n"
        );
        write(folder.path(), "s.yaml", &text);
        let ended = run(folder.path(), &["bench", "s.yaml", "--quiet"]).expect(2);
        assert!(ended.stderr.contains(what), "{traffic}: {}", ended.stderr);
        assert!(ended.stderr.contains("s.yaml"), "{}", ended.stderr);
    }
    assert!(Path::new(&good).exists());
}
