//! Captured packets of other implementations, some of them malformed on purpose.
//!
//! They are not part of the project: the variable `PLUMBLINE_DATA` names a folder that has them
//! below `pcap/`, and without it the test says that it was skipped.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "captures are files")]

use std::env;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use pcap_file::pcap::PcapReader;
use protocol_bfd::packet::{self, Packet};
use protocol_bfd::sockets::{CONTROL, MULTIHOP};
use protocol_bfd::{Bfd, State};
use protocol_kit::{Arrival, Input, Interface, Machine, Socket, Time};
use wire::{ethernet, ipv4, protocol, udp};

/// A captured datagram to a port of BFD.
struct Datagram {
    from: SocketAddr,
    to: IpAddr,
    ttl: u8,
    port: u16,
    bytes: Vec<u8>,
}

#[test]
fn captured_packets_are_read_and_written_as_they_are() {
    let folder = env::var_os("PLUMBLINE_DATA").map(|data| PathBuf::from(data).join("pcap"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: no data");
        return;
    };
    let mut all = Vec::new();
    below(&folder, &mut |file| all.extend(datagrams(file)));
    let mut bfd = Bfd::new(1, 1);
    let mut states = Vec::new();
    for (count, datagram) in (1..).zip(&all) {
        packet::law(&datagram.bytes);
        states.extend(Packet::parse(&datagram.bytes).map(|packet| packet.state));
        let arrival = Arrival::Datagram {
            socket: Socket(if datagram.port == CONTROL { 0 } else { 2 }),
            interface: Interface(1),
            from: datagram.from,
            to: datagram.to,
            ttl: datagram.ttl,
            bytes: &datagram.bytes,
        };
        bfd.input(Time(count), Input::Arrival(arrival));
        let counters = bfd.counters();
        assert_eq!(counters.malformed + counters.ttl + counters.no_session, count, "{counters:?}");
        assert!(bfd.poll(Time(count)).is_none(), "nobody asked for a session");
    }
    println!("{} packets, {} of them well-formed", all.len(), states.len());
    assert!(states.contains(&State::Up), "no capture has a session that is up");
}

fn below(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => below(&path, visit),
            false => visit(&path),
        }
    }
}

/// The datagrams to ports of BFD in a file; none if it is no capture.
fn datagrams(file: &Path) -> Vec<Datagram> {
    let reader = File::open(file).ok().and_then(|file| PcapReader::new(file).ok());
    let mut found = Vec::new();
    let Some(mut reader) = reader else { return found };
    while let Some(Ok(packet)) = reader.next_packet() {
        found.extend(datagram(&packet.data));
    }
    found
}

fn datagram(frame: &[u8]) -> Option<Datagram> {
    let frame = ethernet::View::parse(frame).ok()?;
    let packet = ipv4::View::parse_without_checksum(frame.payload()).ok()?;
    let is_udp = frame.ether_type() == ethernet::TYPE_IPV4 && packet.protocol() == protocol::UDP;
    let datagram = udp::View::parse(packet.payload()).ok().filter(|_| is_udp)?;
    let port = datagram.destination_port();
    [CONTROL, MULTIHOP, BUNDLE, SEAMLESS].contains(&port).then(|| Datagram {
        from: SocketAddr::from((packet.source(), datagram.source_port())),
        to: packet.destination().into(),
        ttl: packet.ttl(),
        port,
        bytes: datagram.payload().to_vec(),
    })
}

/// UDP port of sessions over links of a bundle (RFC 7130 section 2.2).
const BUNDLE: u16 = 6784;

/// UDP port of seamless BFD (RFC 7881 section 3).
const SEAMLESS: u16 = 7784;
