//! What the workload and the gateway write, read by tshark: nothing malformed, nothing to warn of,
//! and the addresses and identifiers that were meant.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use functions::check::Step;
use functions::mobile_gateway::config::{Config, Traffic, Tunnel};
use functions::mobile_gateway::sample::sample;
use functions::mobile_gateway::{MobileGateway, catalogue};
use functions::{NetworkFunction, Shard};
use packet::PortId;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use testkit::check::clock;
use testkit::device::{Device, Outcome};
use traffic::{Sizes, Workload};
use units::BytesPerSec;

use crate::frames::{ACCESS, CORE, both_ways, users, workload_frame};

/// One kind of frames in a file of its own.
struct Kind {
    name: &'static str,
    tunnel: Tunnel,
    ipv6: bool,
    direction: usize,
}

const KINDS: [Kind; 6] = [
    Kind { name: "gtp-u-uplink", tunnel: Tunnel::GtpU, ipv6: false, direction: 0 },
    Kind { name: "gtp-u-downlink", tunnel: Tunnel::GtpU, ipv6: false, direction: 1 },
    Kind { name: "vxlan-uplink", tunnel: Tunnel::Vxlan, ipv6: false, direction: 0 },
    Kind { name: "vxlan-downlink", tunnel: Tunnel::Vxlan, ipv6: false, direction: 1 },
    Kind { name: "ipv6-uplink", tunnel: Tunnel::GtpU, ipv6: true, direction: 0 },
    Kind { name: "ipv6-downlink", tunnel: Tunnel::GtpU, ipv6: true, direction: 1 },
];

#[test]
fn tshark_has_no_complaint() {
    if is_skipped() {
        return;
    }
    for kind in KINDS {
        let (sent, left) = frames(&kind);
        let file = folder().join(format!("{}.pcap", kind.name));
        write_pcap(&file, &sent);
        check(&kind, "sent", &dissect(&file), sent.len(), kind.direction == 0);
        write_pcap(&file, &left);
        check(&kind, "forwarded", &dissect(&file), left.len(), kind.direction == 1);
    }
}

#[test]
fn tshark_understands_the_answers() {
    if is_skipped() {
        return;
    }
    let config = Config::default();
    let function = MobileGateway::function(&config, Shard::WHOLE, clock(), 0).expect("memory");
    let mut device = Device::new(function, MobileGateway::PORTS.len());
    let mut answers = Vec::new();
    for step in sample(&config, &Traffic::default()) {
        let Step::Frame { port, frame, about } = step else { continue };
        if QUESTIONS.contains(&about) {
            match device.pass(port, &frame, 1) {
                Outcome::Left(_, frame) => answers.push(frame),
                other => panic!("{about}: {other:?}"),
            }
        }
    }
    let file = folder().join("answers.pcap");
    write_pcap(&file, &answers);
    let dissected = dissect(&file);
    assert!(answers.len() > QUESTIONS.len() && dissected.len() == answers.len());
    dissected.iter().for_each(|frame| check_complaints(frame, "an answer"));
}

/// Questions of the sample that the gateway answers.
const QUESTIONS: [&str; 4] = [
    "ARP: who has the gateway's address?",
    "ARP: the same to the gateway alone",
    "GTP: echo request",
    "GTP: echo request from another port",
];

fn is_skipped() -> bool {
    let is_skipped = env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1");
    if is_skipped {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
    }
    is_skipped
}

/// Frames of the workload, and what the gateway makes of them.
fn frames(kind: &Kind) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let config = Config {
        user: USERS,
        bst: BASE_STATIONS,
        server: 40,
        nhop: 4,
        tunnel: Some(kind.tunnel),
        ipv6: kind.ipv6,
        fakedrop: false,
        rate_limit: BytesPerSec(1e12),
        ..Config::default()
    };
    let traffic = Traffic {
        pkt_size: Sizes::mix(&traffic::sizes::IMIX).expect("a mix"),
        ipv6_share: if kind.ipv6 { 1.0 } else { 0.0 },
        ..both_ways()
    };
    let users = users(&config, &traffic);
    let sent: Vec<_> = (0..FRAMES).map(|n| workload_frame(&users, kind.direction, n)).collect();
    let function = MobileGateway::function(&config, Shard::WHOLE, clock(), 0).expect("memory");
    let mut device = Device::new(function, MobileGateway::PORTS.len());
    let from: PortId = users.directions()[kind.direction].from;
    assert_eq!(from, if kind.direction == 0 { ACCESS } else { CORE });
    let left = sent.iter().enumerate().map(|(number, frame)| {
        let now = clock().ticks(Duration::from_millis(1 + number as u64));
        match device.pass(from, frame, now) {
            Outcome::Left(_, frame) => frame,
            other => panic!("{}: frame {number} was not forwarded: {other:?}", kind.name),
        }
    });
    let left = left.collect();
    (sent, left)
}

/// What tshark says of a frame, a list for each field: outer headers come first.
struct Dissected {
    fields: Vec<Vec<String>>,
}

/// The fields asked for.
const FIELDS: [&str; 11] = [
    "_ws.malformed",
    "_ws.expert.severity",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "gtp.teid",
    "vxlan.vni",
    "ip.checksum.status",
    "udp.checksum.status",
    "_ws.expert.message",
];

impl Dissected {
    fn field(&self, name: &str) -> &[String] {
        let index = FIELDS.iter().position(|field| *field == name).expect("a field asked for");
        &self.fields[index]
    }
}

fn check(kind: &Kind, what: &str, dissected: &[Dissected], count: usize, is_tunnelled: bool) {
    assert_eq!(dissected.len(), count, "{} {what}: frames dissected", kind.name);
    let users: HashMap<String, u32> = (0..USERS).map(|user| (address(kind, user), user)).collect();
    let field = match (kind.ipv6, kind.direction) {
        (false, 0) => "ip.src",
        (false, _) => "ip.dst",
        (true, 0) => "ipv6.src",
        (true, _) => "ipv6.dst",
    };
    let mut seen = BTreeSet::new();
    for (number, frame) in dissected.iter().enumerate() {
        let place = format!("{} {what}, frame {}", kind.name, number + 1);
        check_complaints(frame, &place);
        let user = frame.field(field).last().and_then(|address| users.get(address));
        let user = *user.unwrap_or_else(|| panic!("{place}: {field} is no user's"));
        if is_tunnelled {
            check_tunnel(kind, frame, user, &place);
        }
        seen.insert(user);
    }
    assert!(seen.len() > 500, "{} {what}: only {} users", kind.name, seen.len());
}

/// Nothing malformed, nothing to warn of, checksums right or left out.
fn check_complaints(frame: &Dissected, place: &str) {
    assert!(frame.field("_ws.malformed").is_empty(), "{place}: malformed");
    let messages = frame.field("_ws.expert.message");
    let severities = frame.field("_ws.expert.severity").iter();
    let worst = severities.map(|text| text.parse().unwrap_or(u32::MAX)).max();
    assert!(worst.unwrap_or(0) < SEVERITY_WARNING, "{place}: {messages:?}");
    for field in ["ip.checksum.status", "udp.checksum.status"] {
        assert!(!frame.field(field).contains(&CHECKSUM_BAD.to_owned()), "{place}: {field}");
    }
}

/// The tunnel is the user's, between its base station and the gateway.
fn check_tunnel(kind: &Kind, frame: &Dissected, user: u32, place: &str) {
    let (name, identifier) = match kind.tunnel {
        Tunnel::GtpU => ("gtp.teid", format!("0x{:08x}", user + 1)),
        Tunnel::Vxlan => ("vxlan.vni", (user + 1).to_string()),
    };
    assert_eq!(frame.field(name), [identifier], "{place}");
    let station = catalogue::base_station_ipv4(user % BASE_STATIONS).to_string();
    let gateway = Config::default().gw_ip.to_string();
    let ends = [&frame.field("ip.src")[0], &frame.field("ip.dst")[0]];
    let expected = if kind.direction == 0 { [&station, &gateway] } else { [&gateway, &station] };
    assert_eq!(ends, expected, "{place}");
}

fn address(kind: &Kind, user: u32) -> String {
    match kind.ipv6 {
        true => catalogue::ipv6_host(catalogue::user(user, 1).ipv6_prefix, 1).to_string(),
        false => catalogue::user_ipv4(user).to_string(),
    }
}

/// Runs tshark with the checks on that it leaves out by itself.
fn dissect(file: &Path) -> Vec<Dissected> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-n", "-T", "fields", "-E", "occurrence=a"]);
    command.args(["-E", "separator=|", "-E", "aggregator=;"]);
    command.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
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
    let list =
        |text: &str| text.split(';').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    text.lines().map(|line| Dissected { fields: line.split('|').map(list).collect() }).collect()
}

fn write_pcap(file: &Path, frames: &[Vec<u8>]) {
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let to = BufWriter::new(File::create(file).expect("the folder for tests can be written"));
    let mut writer = PcapWriter::with_header(to, header).expect("a header is written");
    for (number, frame) in frames.iter().enumerate() {
        let time = Duration::from_micros(number as u64);
        let packet = PcapPacket::new(time, frame.len() as u32, frame);
        writer.write_packet(&packet).expect("a packet is written");
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

const USERS: u32 = 1000;
const BASE_STATIONS: u32 = 50;
const FRAMES: u64 = 2000;

/// PI_WARN in epan/proto.h; below it are notes, chats and comments.
const SEVERITY_WARNING: u32 = 0x0060_0000;

/// PROTO_CHECKSUM_E_BAD in epan/proto.h.
const CHECKSUM_BAD: &str = "0";
