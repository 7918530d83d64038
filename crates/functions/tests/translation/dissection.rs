//! Translated packets, read by tshark: no checksum is bad, inside ICMP errors neither. (Payloads are
//! noise, in which tshark finds broken messages of many protocols; so that is not looked at.)

use std::env;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use functions::cgnat::translation::{Ends, Port, Rules};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use testkit::random::Random;
use wire::{ipv4, ipv6};

use crate::made::{Translator, down, ipv4_error, ipv4_packet, ipv6_error, ipv6_packet, port, up};

#[test]
fn tshark_finds_no_bad_checksum() {
    if env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return;
    }
    let packets = translated();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("translated.pcap");
    write_pcap(&file, &packets);
    let dissected = dissect(&file);
    assert_eq!(dissected.len(), packets.len());
    let mut right = [0; FIELDS.len()];
    for (number, line) in dissected.iter().enumerate() {
        let place = format!("packet {}: {:02x?}", number + 1, packets[number]);
        let fields: Vec<&str> = line.split('|').collect();
        for (index, right) in right.iter_mut().enumerate() {
            // An error has its own and that of what it quotes.
            for status in fields[index].split(';').filter(|status| !status.is_empty()) {
                assert_ne!(status, BAD, "{} of {place}", FIELDS[index]);
                *right += usize::from(status == GOOD);
            }
        }
    }
    assert!(right.iter().all(|&count| count > 100), "{right:?} of {FIELDS:?}");
}

/// Packets of both families after translation, those that tshark can judge.
fn translated() -> Vec<Vec<u8>> {
    let (mut random, mut translator) = (Random::new(4), Translator::new());
    let rules = Rules::default();
    let mut packets = Vec::new();
    while packets.len() < PACKETS {
        let is_error = random.below(3) == 0;
        let packet = if is_error { ipv4_error(&mut random) } else { ipv4_packet(&mut random) };
        let view = ipv4::View::parse(&packet).expect("made right");
        let ends = Ends {
            source: up(view.source()),
            destination: up(view.destination()),
            port: port(&mut random),
        };
        let done = translator.translate_up(&packet, &ends, &rules, |quote| {
            let (source, destination) = (up(quote.source), up(quote.destination));
            Some(Ends { source, destination, port: Port::Destination(4000) })
        });
        packets.extend(done.ok().filter(|packet| can_be_judged(packet, is_error)));

        let packet = if is_error { ipv6_error(&mut random) } else { ipv6_packet(&mut random) };
        let view = ipv6::View::parse(&packet).expect("made right");
        let ends = Ends {
            source: down(view.source()),
            destination: down(view.destination()),
            port: port(&mut random),
        };
        let done = translator.translate_down(&packet, &ends, 7, &rules, |quote| {
            let (source, destination) = (down(quote.source), down(quote.destination));
            Some(Ends { source, destination, port: Port::Source(4000) })
        });
        packets.extend(done.ok().filter(|packet| can_be_judged(packet, is_error)));
    }
    packets
}

/// Whether tshark can judge it: it takes what is quoted of a packet for all of it.
fn can_be_judged(packet: &[u8], is_error: bool) -> bool {
    if !is_error {
        return true;
    }
    let (start, field, unit) = if packet[0] >> 4 == 6 { (48, 4, 8) } else { (28, 5, 4) };
    let units = usize::from(packet[start - 8 + field]) * unit;
    let has_length = matches!((packet[0] >> 4, packet[start - 8]), (6, 1 | 3) | (4, 3 | 11 | 12));
    let quoted = match packet.get(start..start + units) {
        Some(quoted) if units > 0 && has_length => quoted,
        _ => &packet[start..],
    };
    let word = |at: usize| usize::from(u16::from_be_bytes([quoted[at], quoted[at + 1]]));
    let len = if start == 48 { 40 + word(4) } else { word(2) };
    len <= quoted.len()
}

/// Runs tshark with the checks on that it leaves out by itself.
fn dissect(file: &Path) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-n", "-T", "fields", "-E", "occurrence=a"]);
    command.args(["-E", "separator=|", "-E", "aggregator=;"]);
    for protocol in ["ip", "udp", "tcp"] {
        command.arg("-o").arg(format!("{protocol}.check_checksum:TRUE"));
    }
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "tshark cannot be run ({error}): install it by `cargo xtask setup`, or skip this test by \
             PLUMBLINE_SKIP_PEERS=1"
        )
    });
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {complaint}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// Packets without a link layer: each begins with its IP header.
fn write_pcap(file: &Path, packets: &[Vec<u8>]) {
    let header = PcapHeader { datalink: DataLink::RAW, snaplen: 65535, ..PcapHeader::default() };
    let to = BufWriter::new(File::create(file).expect("the folder for tests can be written"));
    let mut writer = PcapWriter::with_header(to, header).expect("a header is written");
    for (number, packet) in packets.iter().enumerate() {
        let time = Duration::from_micros(number as u64);
        let packet = PcapPacket::new(time, packet.len() as u32, packet);
        writer.write_packet(&packet).expect("a packet is written");
    }
}

/// What tshark is asked for.
const FIELDS: [&str; 5] = [
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
];
const PACKETS: usize = 4000;
/// PROTO_CHECKSUM_E_BAD and _GOOD in epan/proto.h.
const BAD: &str = "0";
const GOOD: &str = "1";
