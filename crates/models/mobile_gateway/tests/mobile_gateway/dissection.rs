//! What the workload and the gateway write, read by tshark: nothing malformed, nothing to warn of,
//! and the addresses and identifiers that were meant.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use function_kit::Shard;
use function_mobile_gateway::config::Tunnel;
use model_kit::check::Step;
use model_mobile_gateway::Traffic;
use model_mobile_gateway::sample::sample;
use model_mobile_gateway::{MobileGateway, Section, catalogue};
use packet::PortId;
use pcap_file::DataLink;
use testkit::device::{Device, Outcome};
use testkit::pair::clock;
use testkit::tshark::{CHECKSUM_BAD, Dissected};
use traffic::{Frames, Sizes};
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
    for kind in KINDS {
        let (sent, left) = frames(&kind);
        let file = format!("{}.pcap", kind.name);
        let Some(dissected) = dissect(&file, &sent) else { return };
        check(&kind, "sent", &dissected, kind.direction == 0);
        let Some(dissected) = dissect(&file, &left) else { return };
        check(&kind, "forwarded", &dissected, kind.direction == 1);
    }
}

#[test]
fn tshark_understands_the_answers() {
    let config = Section::default();
    let function =
        model_kit::load::<MobileGateway>(&config, &config.config(), Shard::WHOLE, clock(), 0)
            .expect("memory");
    let mut device = Device::new(function, PORTS);
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
    let Some(dissected) = dissect("answers.pcap", &answers) else { return };
    assert!(answers.len() > QUESTIONS.len());
    dissected.iter().for_each(|frame| check_complaints(frame, "an answer"));
}

/// Questions of the sample that the gateway answers.
const QUESTIONS: [&str; 4] = [
    "ARP: who has the gateway's address?",
    "ARP: the same to the gateway alone",
    "GTP: echo request",
    "GTP: echo request from another port",
];

/// Frames of the workload, and what the gateway makes of them.
fn frames(kind: &Kind) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let config = Section {
        user: USERS,
        bst: BASE_STATIONS,
        server: 40,
        nhop: 4,
        tunnel: Some(kind.tunnel),
        ipv6: kind.ipv6,
        fakedrop: false,
        rate_limit: BytesPerSec(1e12),
        ..Section::default()
    };
    let traffic = Traffic {
        pkt_size: Sizes::mix(&traffic::sizes::IMIX).expect("a mix"),
        ipv6_share: if kind.ipv6 { 1.0 } else { 0.0 },
        ..both_ways()
    };
    let users = users(&config, &traffic);
    let sent: Vec<_> = (0..FRAMES).map(|n| workload_frame(&users, kind.direction, n)).collect();
    let function =
        model_kit::load::<MobileGateway>(&config, &config.config(), Shard::WHOLE, clock(), 0)
            .expect("memory");
    let mut device = Device::new(function, PORTS);
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

fn dissect(name: &str, frames: &[Vec<u8>]) -> Option<Vec<Dissected>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    testkit::tshark::dissect(&file, (DataLink::ETHERNET, frames), &[], &FIELDS)
}

fn check(kind: &Kind, what: &str, dissected: &[Dissected], is_tunnelled: bool) {
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
    let gateway = Section::default().gw_ip.to_string();
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

const USERS: u32 = 1000;
const BASE_STATIONS: u32 = 50;
const FRAMES: u64 = 2000;

/// PI_WARN in epan/proto.h; below it are notes, chats and comments.
const SEVERITY_WARNING: u32 = 0x0060_0000;

/// Ports of a gateway.
const PORTS: usize = 2;
