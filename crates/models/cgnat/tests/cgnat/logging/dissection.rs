//! Messages read by tshark: it finds the fields by name, and nothing malformed.

use std::path::Path;
use std::time::Duration;

use export::{Format, Logging};
use function_cgnat::config::Config;
use function_cgnat::log::{Event, Kind};
use function_kit::{NetworkFunction, Shard};
use model_cgnat::log::trial::{Trial, event, over_ipv4};
use model_kit::check::{Expected, left};
use packet::PortId;
use pcap_file::DataLink;
use testkit::device::Device;
use testkit::mutate::repair;
use testkit::pair::clock;
use testkit::tshark;

#[test]
fn tshark_reads_every_template_and_record() {
    let config =
        Logging { sessions: true, mappings: true, destinations: true, ..over_ipv4(Format::Ipfix) };
    let frames = frames(&config, &Kind::ALL.map(|kind| event(kind, kind as u64 * 3)));
    let fields = ["_ws.malformed", "_ws.expert.message", "cflow.version", "cflow.nat_event"];
    let Some(lines) = dissect("cgnat-ipfix.pcap", &frames, &fields) else { return };
    assert_eq!(lines[0], "||10|", "templates");
    let events = "4,5,8,9,16,17,14,15,3,12,13,13,13,13,13,18,18,18,18,18";
    assert_eq!(lines[1..], [format!("||10|{events}")], "records");
}

#[test]
fn tshark_names_what_a_record_tells() {
    let session = Event {
        inside: std::net::Ipv4Addr::new(100, 64, 0, 1).to_ipv6_mapped().to_bits(),
        outside: [198, 51, 100, 7].into(),
        remote: [203, 0, 113, 9].into(),
        realm: 5,
        inside_port: 40_000,
        first_port: 1024,
        last_port: 1535,
        remote_port: 443,
        protocol: 6,
        ..Event::of(Kind::SessionCreate, 0)
    };
    let block = Event { kind: Kind::BlockAllocate, ..session };
    let config = Logging { sessions: true, destinations: true, ..over_ipv4(Format::Ipfix) };
    let fields = [
        "_ws.malformed",
        "udp.checksum.status",
        "cflow.sequence",
        "cflow.od_id",
        "cflow.timestamp",
        "cflow.srcaddr",
        "cflow.post_natsource_ipv4_address",
        "cflow.protocol",
        "cflow.srcport",
        "cflow.post_naptsource_transport_port",
        "cflow.dstaddr",
        "cflow.dstport",
        "cflow.ingress_vrfid",
        "cflow.port_range_start",
        "cflow.port_range_end",
    ];
    let frames = frames(&config, &[session, block]);
    let Some(lines) = dissect("cgnat-session.pcap", &frames, &fields) else { return };
    let last = lines.last().expect("a message");
    let mut fields: Vec<&str> = last.split('|').collect();
    let time = fields.remove(4);
    assert!(time.contains("2026"), "{time}");
    assert_eq!(
        fields,
        [
            "",
            "1",
            "0",
            "3",
            "100.64.0.1,100.64.0.1",
            "198.51.100.7,198.51.100.7",
            "6",
            "40000",
            "1024",
            "203.0.113.9",
            "443",
            "5,5",
            "1024",
            "1535"
        ]
    );
}

#[test]
fn tshark_reads_syslog() {
    let config = Logging { sessions: true, destinations: true, ..over_ipv4(Format::Syslog) };
    let kinds = [Kind::SessionCreate, Kind::BlockAllocate, Kind::PortsExhausted];
    let frames = frames(&config, &kinds.map(|kind| event(kind, 3)));
    let fields = [
        "_ws.malformed",
        "udp.checksum.status",
        "syslog.facility",
        "syslog.level",
        "syslog.version",
        "syslog.timestamp",
        "syslog.hostname",
        "syslog.appname",
        "syslog.procid",
        "syslog.msgid",
    ];
    let Some(lines) = dissect("cgnat-syslog.pcap", &frames, &fields) else { return };
    let expected = [(6, "session-create"), (6, "block-allocate"), (3, "ports-exhausted")];
    assert_eq!(lines.len(), expected.len());
    for (line, (level, id)) in lines.iter().zip(expected) {
        let fields: Vec<&str> = line.split('|').collect();
        let (time, rest) = (fields[5], [&fields[..5], &fields[6..9]].concat());
        let level = level.to_string();
        assert_eq!(rest, ["", "1", "16", &level, "1", "192.0.2.2", "cgnat", "3"]);
        // Releases of tshark write times in their own ways, and some take structured data for a
        // part of the identifier.
        assert!(time.contains("2026") && time.contains("08:15:30.123"), "{time}");
        assert!(fields[9].starts_with(id), "{line}");
    }
}

#[test]
fn tshark_reads_what_a_pipeline_tells() {
    let logging = Logging { sessions: true, destinations: true, ..over_ipv4(Format::Ipfix) };
    let config = Config { secret: Some(1), logging: Some(logging), ..Config::default() };
    let begin = 1 << 40;
    let pipeline = function_cgnat::Cgnat::function(&config, Shard::WHOLE, clock(), begin)
        .expect("a small NAT");
    let mut device = Device::new(pipeline, 2);
    let mut datagram = vec![0; 60];
    datagram[..6].copy_from_slice(&config.inside_mac.0.0);
    datagram[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    datagram[26..40].copy_from_slice(&[100, 64, 0, 1, 9, 9, 9, 9, 0x75, 0x30, 0, 53, 0, 26]);
    repair(&mut datagram);
    let mut frames = Vec::new();
    let mut keep = |all: Vec<Expected>| {
        frames.extend(left(&all).into_iter().map(|(_, frame)| frame.to_vec()));
    };
    keep(device.exchange(PortId(0), &datagram, begin));
    // UDP lives for 300 seconds; the sweep comes around in two.
    for second in [1, 301, 302, 303, 304] {
        keep(device.rest(begin + clock().ticks(Duration::from_secs(second))));
    }
    let translated = frames[0].clone();
    let outside =
        format!("{}.{}.{}.{}", translated[26], translated[27], translated[28], translated[29]);
    let port = u16::from_be_bytes([translated[34], translated[35]]);
    let (first, last) = (port / 512 * 512, port / 512 * 512 + 511);
    let fields = [
        "_ws.malformed",
        "udp.checksum.status",
        "cflow.sequence",
        "cflow.nat_event",
        "cflow.srcaddr",
        "cflow.post_natsource_ipv4_address",
        "cflow.post_naptsource_transport_port",
        "cflow.port_range_start",
        "cflow.port_range_end",
    ];
    let Some(lines) = dissect("cgnat-pipeline.pcap", &frames[1..], &fields) else { return };
    let thrice = |text: &str| [text; 3].join(",");
    let [inside, outside] = [thrice("100.64.0.1"), thrice(&outside)];
    let told = |sequence, events| {
        format!("|1|{sequence}|{events}|{inside}|{outside}|{port}|{first}|{last}")
    };
    assert_eq!(lines[0], "|1|0||||||", "templates");
    // The first message bears the begin of the log, too, which has no event of a NAT.
    assert_eq!(lines[1..], [told(0, "14,16,4"), told(4, "5,17,15")]);
}

/// The frames of events at the beginning.
fn frames(config: &Logging, events: &[Event]) -> Vec<Vec<u8>> {
    let mut trial = Trial::new(config, 1514);
    for event in events {
        trial.note(event).expect("there is a place");
    }
    trial.flush(false).expect("they agree");
    trial.wait(1_000_000_000);
    trial.flush(false).expect("they agree");
    trial.frames()
}

/// What tshark reads of frames, a line each; none without tshark.
fn dissect(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<String>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let as_ipfix = ["-d", "udp.port==4739,cflow"];
    let read = tshark::dissect(&file, (DataLink::ETHERNET, frames), &as_ipfix, fields)?;
    Some(read.iter().map(tshark::Dissected::line).collect())
}
