//! tshark dissects what servers and relays write, and has nothing to say against it.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "tshark is a program")]

use std::env;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapWriter};
use protocol_dhcp::framed::emit;
use protocol_dhcp::v4::Mode;
use protocol_dhcp::v6::relay::Addresses;
use protocol_dhcp::{Line, Said, v4, v6};
use wire::MacAddr;

use crate::client4::{DISCOVER, INFORM, Message4, REQUEST};
use crate::client6::{self, Message6, RELEASE, RENEW, SOLICIT, association};
use crate::lines::{
    ANYBODY, ANYBODY6, Lines, MAC, SERVER, SERVER_DUID, config4, config6, identity,
};

#[test]
fn tshark_has_nothing_to_say_against_it() {
    if env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return;
    }
    let frames = [of_version_4(), of_version_6(), of_relays()].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dhcp.pcap");
    let mut writer = PcapWriter::new(File::create(&path).expect("writable")).expect("a header");
    for frame in &frames {
        let packet = PcapPacket::new(Duration::ZERO, frame.len() as u32, frame);
        writer.write_packet(&packet).expect("written");
    }
    drop(writer);
    let fields = ["frame.protocols", "_ws.expert.severity", "_ws.expert.message", "_ws.malformed"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-n", "-T", "fields", "-E", "separator=|"]);
    command.args(["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.output().expect("tshark is there: `cargo xtask setup` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), frames.len());
    for line in lines {
        let [protocols, severity, message, malformed] =
            line.split('|').collect::<Vec<_>>().try_into().expect("four fields");
        assert!(protocols.ends_with(":dhcp") || protocols.contains(":dhcpv6"), "{line}");
        assert_eq!(malformed, "", "{line}");
        let number = |one: &str| match one.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => one.parse(),
        };
        let severities = severity.split(',').filter(|one| !one.is_empty());
        let severities = severities.map(|one| number(one).expect("a number"));
        assert!(severities.max().unwrap_or(0) < WARNING, "{message}: {line}");
    }
}

fn framed(said: impl IntoIterator<Item = Said>, port: u16) -> Vec<Vec<u8>> {
    said.into_iter().map(|said| emit(MacAddr(MAC), &said, port).expect("a frame")).collect()
}

fn of_version_4() -> Vec<Vec<u8>> {
    let mut config = config4();
    (config.trusts_access_nodes, config.stateless_class) = (true, Some(0));
    let mut lines = Lines::new(v4::Server::new(config, SERVER.into()).expect("a server"));
    let asked = [1, 3, 6, 108, 114];
    let discover = Message4::new(DISCOVER, 1, MAC).with(55, &asked).with(61, &[1, 2, 3]);
    lines.hear(1, MAC, ANYBODY, discover.with(82, &[1, 2, b'a', b'b', 2, 1, b'c']).bytes());
    let request =
        |address: &[u8]| Message4::new(REQUEST, 1, MAC).with(50, address).with(61, &[1, 2, 3]);
    for address in [[10, 0, 0, 8], [10, 0, 0, 9]] {
        let request = request(&address).with(54, &SERVER).with(55, &asked);
        lines.hear(1, MAC, ANYBODY, request.bytes());
    }
    let mut inform = Message4::new(INFORM, 1, MAC).with(55, &asked);
    inform.ciaddr = [10, 0, 0, 77];
    lines.hear(1, MAC, ANYBODY, inform.bytes());
    assert_eq!(lines.said.len(), 4, "offer, acknowledgement, refusal, options");
    framed(lines.said, 67)
}

fn of_version_6() -> Vec<Vec<u8>> {
    let mut lines = Lines::new(v6::Server::new(config6(), identity()).expect("a server"));
    let message = |kind| {
        let message = Message6::new(kind, 1, &[0, 3, 0, 1, 2, 0, 0, 0, 0, 9]);
        let message = message.with(6, &[0, 23, 0, 103]);
        message.with(3, &association(7, &[])).with(25, &association(8, &[]))
    };
    for message in [
        message(SOLICIT),
        message(RENEW).with(2, &SERVER_DUID),
        message(SOLICIT).with(14, &[]),
        message(client6::REQUEST).with(2, &SERVER_DUID),
        message(RENEW).with(2, &SERVER_DUID).with(25, &association(9, &[])),
        message(RELEASE).with(2, &SERVER_DUID),
    ] {
        lines.hear(1, MAC, ANYBODY6, message.bytes());
    }
    assert_eq!(lines.said.len(), 6);
    framed(lines.said, 547)
}

fn of_relays() -> Vec<Vec<u8>> {
    let far = Ipv4Addr::new(10, 9, 0, 1);
    let mut lines = Lines::new(
        v4::Relay::new(config4(), SERVER.into(), &[far], Mode::Override).expect("a relay"),
    );
    lines.hear(7, MAC, ANYBODY, Message4::new(DISCOVER, 5, MAC).with(55, &[1, 3]).bytes());
    let said = |from, to, port, bytes| {
        let mac = MacAddr(MAC);
        Said { line: Line(0), mac, from, to, port, bytes }
    };
    let mut frames = Vec::new();
    for (to, bytes) in lines.asked {
        frames.extend(framed([said(Ipv4Addr::from(SERVER).into(), to, 67, bytes)], 67));
    }
    let own = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    let addresses = Addresses { own, link: own, on_lines: own, servers: vec![own], enterprise: 9 };
    let mut lines = Lines::new(v6::Relay::new(config6(), addresses).expect("a relay"));
    lines.command(protocol_dhcp::Command::Name(Line(7), b"port 7".to_vec(), b"house".to_vec()));
    let solicit = Message6::new(SOLICIT, 1, &[0, 3, 0, 1, 2, 0, 0, 0, 0, 9]);
    lines.hear(7, MAC, ANYBODY6, solicit.with(3, &association(7, &[])).bytes());
    for (to, bytes) in lines.asked {
        frames.extend(framed([said(own.into(), to, 547, bytes)], 547));
    }
    assert_eq!(frames.len(), 2);
    frames
}

/// PI_WARN of epan/proto.h.
const WARNING: u32 = 0x0060_0000;
