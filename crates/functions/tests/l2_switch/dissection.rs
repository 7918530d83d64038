//! Remote mirrors read by tshark: it finds session, number, VLAN and the frame inside.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use functions::check::Expected;
use functions::l2_switch::config::Port;
use functions::l2_switch::{L2Switch, Update};
use functions::{NetworkFunction, Shard};
use packet::PortId;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use testkit::check::Pair;

use crate::frames::{valid, watched};

#[test]
fn tshark_reads_remote_mirrors() {
    if Command::new("tshark").arg("-v").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("l2-switch-erspan.pcap");
    write(&path, &copies());
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "separator=|"]);
    command.args(["-E", "occurrence=a", "-o", "ip.check_checksum:TRUE"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    let inside = |number: u32, vlan: &str| {
        format!("|192.0.2.1|192.0.2.99|{number}|5|{vlan}|02:00:00:00:00:02,{TO}|1")
    };
    let expected = [inside(0, "0"), inside(1, "77"), inside(2, "0")];
    let read: Vec<&str> = text.lines().collect();
    assert_eq!(read, expected, "{complaint}");
}

/// What the collector gets of three frames, one with a tag.
fn copies() -> Vec<Vec<u8>> {
    let (config, _) = valid(&watched(), &Default::default());
    let mut pair = Pair::<L2Switch>::new(&config, Shard::WHOLE);
    let station = serde_saphyr::from_str::<Update>(&format!(
        "{{set-station: {{mac: '{TO}', port: uplink}}}}"
    ));
    pair.update(&station.expect("a change")).expect("they agree");
    let mut copies = Vec::new();
    for tag in [&[][..], &[0x81, 0, 0xa0, 77], &[]] {
        let macs = [0x0a, 0, 0, 0, 0, 9, 0x0a, 0, 0, 0, 0, 1];
        // A frame of an experimental type, which tshark takes for data.
        let frame = [&macs[..], tag, &[0x88, 0xb5], &[7; 46]].concat();
        pair.frame(Port::Downlink.id(), &frame).expect("they agree");
        let to_collector = pair.made.iter().filter_map(|made| match made {
            Expected::Forward { port, frame } if frame.len() > 90 => Some((*port, frame.clone())),
            _ => None,
        });
        for (port, frame) in to_collector {
            assert_eq!(port, PortId(L2Switch::ports(&config).len() as u8 - 1));
            copies.push(frame);
        }
    }
    copies
}

fn write(path: &PathBuf, frames: &[Vec<u8>]) {
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let file = BufWriter::new(File::create(path).expect("the folder for tests can be written"));
    let mut writer = PcapWriter::with_header(file, header).expect("a header is written");
    for frame in frames {
        let packet = PcapPacket::new(Duration::ZERO, frame.len() as u32, frame);
        writer.write_packet(&packet).expect("a packet is written");
    }
}

const TO: &str = "0a:00:00:00:00:09";

/// Malformed, addresses, number, session, VLANs, Ethernet destinations, state of the checksum.
const FIELDS: [&str; 8] = [
    "_ws.malformed",
    "ip.src",
    "ip.dst",
    "gre.sequence_number",
    "erspan.spanid",
    "erspan.vlan",
    "eth.dst",
    "ip.checksum.status",
];
