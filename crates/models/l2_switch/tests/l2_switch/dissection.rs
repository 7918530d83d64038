//! Remote mirrors read by tshark: it finds session, number, VLAN and the frame inside.

use std::path::Path;
use std::time::Duration;

use function_kit::{NetworkFunction, Shard};
use function_l2_switch::Update;
use function_l2_switch::config::Port;
use function_l2_switch::config::features::{Erspan, ErspanType};
use model_kit::check::Expected;
use model_l2_switch::L2Switch;
use packet::PortId;
use pcap_file::DataLink;
use testkit::pair::Pair;
use testkit::tshark;

use crate::frames::{usual, valid, watched};

#[test]
fn tshark_reads_remote_mirrors() {
    let Some(text) = dissect("l2-switch-erspan.pcap", ErspanType::Ii, &["gre.proto"]) else {
        return;
    };
    let inside = |number: u32, vlan: &str| {
        format!("|192.0.2.1|192.0.2.99|{number}|5|{vlan}|02:00:00:00:00:02,{TO}|1|0x88be")
    };
    let expected = [inside(0, "0"), inside(1, "77"), inside(2, "0")];
    assert_eq!(text, expected);
}

#[test]
fn tshark_reads_the_time_of_remote_mirrors() {
    let more = ["erspan.version", "erspan.timestamp", "erspan.hw", "erspan.direction"];
    let more = [&more[..], &["erspan.gra", "erspan.p", "erspan.ft", "erspan.o", "erspan.sgt"]];
    let Some(text) = dissect("l2-switch-erspan-iii.pcap", ErspanType::Iii, &more.concat()) else {
        return;
    };
    let inside = |number: u32, vlan: &str, time: u32| {
        let outer = format!("|192.0.2.1|192.0.2.99|{number}|5|{vlan}|02:00:00:00:00:02,{TO}|1");
        // Version 2 is type III; port 1, leaving; 100 ns; an Ethernet frame and nothing else.
        format!("{outer}|2|{time}|1|1|1|1|0|0|0")
    };
    // A millisecond and a half before each frame.
    let expected = [inside(0, "0", 15_000), inside(1, "77", 30_000), inside(2, "0", 45_000)];
    assert_eq!(text, expected);
}

/// What tshark reads of the copies in a file, a line each; none without tshark.
fn dissect(name: &str, kind: ErspanType, more: &[&str]) -> Option<Vec<String>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let fields = [&FIELDS[..], more].concat();
    let copies = copies(kind);
    let read = tshark::dissect(&file, (DataLink::ETHERNET, &copies), &[], &fields)?;
    Some(read.iter().map(tshark::Dissected::line).collect())
}

/// What the collector gets of three frames, one with a tag.
fn copies(kind: ErspanType) -> Vec<Vec<u8>> {
    let mut config = watched();
    for mirror in &mut config.mirrors {
        mirror.erspan = mirror.erspan.map(|to| Erspan { kind, ..to });
    }
    let (config, _) = valid(&usual(config), &Default::default());
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
        pair.elapsed += Duration::from_micros(1500);
        pair.frame(Port::DOWNLINK.id(), &frame).expect("they agree");
        let to_collector = pair.made.iter().filter_map(|made| match made {
            Expected::Forward { port, frame } if frame.len() > 90 => Some((*port, frame.clone())),
            _ => None,
        });
        for (port, frame) in to_collector {
            assert_eq!(
                port,
                PortId(function_l2_switch::L2Switch::ports(&config.config).len() as u8 - 1)
            );
            copies.push(frame);
        }
    }
    copies
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
