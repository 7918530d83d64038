//! Messages read by tshark: it finds the fields by name, and nothing malformed.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use functions::cgnat::log::{Event, Format, Kind, Logging};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use testkit::logs::{Trial, event, over_ipv4};

#[test]
fn tshark_reads_every_template_and_record() {
    let config =
        Logging { sessions: true, mappings: true, destinations: true, ..over_ipv4(Format::Ipfix) };
    let frames = frames(&config, &Kind::ALL.map(|kind| event(kind, kind as u64 * 3)));
    let fields = ["_ws.malformed", "_ws.expert.message", "cflow.version", "cflow.nat_event"];
    let Some(text) = dissect("cgnat-ipfix.pcap", &frames, &fields) else { return };
    let lines: Vec<&str> = text.lines().collect();
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
    let Some(text) = dissect("cgnat-session.pcap", &frames, &fields) else { return };
    let last = text.lines().last().unwrap_or_default();
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
    let Some(text) = dissect("cgnat-syslog.pcap", &frames, &fields) else { return };
    let expected = [(6, "session-create"), (6, "block-allocate"), (3, "ports-exhausted")];
    assert_eq!(text.lines().count(), expected.len());
    for (line, (level, id)) in text.lines().zip(expected) {
        let fields: Vec<&str> = line.split('|').collect();
        let (time, rest) = (fields[5], [&fields[..5], &fields[6..9]].concat());
        let level = level.to_string();
        assert_eq!(rest, ["", "1", "16", &level, "1", "192.0.2.2", "cgnat", "3"]);
        // Releases of tshark write times in their own ways, and some take structured data for a part of
        // the identifier.
        assert!(time.contains("2026") && time.contains("08:15:30.123"), "{time}");
        assert!(fields[9].starts_with(id), "{line}");
    }
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

/// What tshark reads of frames; none without tshark.
fn dissect(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Option<String> {
    if Command::new("tshark").arg("-v").output().is_err() {
        println!("skipped: tshark is not installed");
        return None;
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let file = BufWriter::new(File::create(&path).expect("the folder for tests can be written"));
    let mut writer = PcapWriter::with_header(file, header).expect("a header is written");
    for frame in frames {
        let packet = PcapPacket::new(Duration::ZERO, frame.len() as u32, frame);
        writer.write_packet(&packet).expect("a packet is written");
    }
    drop(writer);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "separator=|"]);
    command.args(["-E", "occurrence=a", "-o", "udp.check_checksum:TRUE"]);
    command.args(["-d", "udp.port==4739,cflow"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    print!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "tshark knows these fields");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
