//! A server or relay behind frames of Ethernet: each interface is a line. A driver of packet
//! sockets, or a simulated network, then needs no owner for what lies around its messages.
//!
//! **Not supported:** tags of VLANs: a VLAN is an interface of its own. Of IPv6 no extension header
//! is walked, and fragments are not joined.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Takes, Time,
};
use wire::ethernet::{self, MacAddr};
use wire::{ipv4, ipv6, protocol, udp};

use crate::access::{Heard, Line, Said};
use crate::control::{Command, Report};
use crate::machines::Access;

/// A server or relay with the interfaces that are its lines.
#[derive(Debug)]
pub struct Framed<M> {
    machine: M,
    places: Vec<Place>,
    /// Places whose socket is open, and when those that have failed are opened again.
    open: Vec<Option<Time>>,
    dropped: u64,
}

/// A line that is an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The interface.
    pub interface: Interface,
    /// The line.
    pub line: Line,
    /// The MAC address from which frames leave.
    pub mac: MacAddr,
}

impl<M: Access> Framed<M> {
    /// Puts a machine behind interfaces.
    pub fn new(machine: M, places: Vec<Place>) -> Framed<M> {
        let open = vec![Some(Time::ZERO); places.len()];
        Framed { machine, places, open, dropped: 0 }
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Returns the machine, for what is no input of it.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Returns what was dropped: frames that were no datagrams to the port of servers, or had a
    /// wrong checksum; datagrams to a relay's socket that came from a line; and what was to be said
    /// to a line whose socket is closed.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The place of a socket of ours.
    fn place(&self, socket: Socket) -> Option<usize> {
        let place = socket.0.checked_sub(FIRST_SOCKET)? as usize;
        (place < self.places.len()).then_some(place)
    }

    fn frame(&self, said: &Said) -> Option<Departure> {
        let place = self.places.iter().position(|place| place.line == said.line)?;
        let bytes = emit(self.places[place].mac, said, M::PORT)?;
        let is_open = self.open[place].is_none();
        is_open.then_some(Departure::Frame { socket: Socket(FIRST_SOCKET + place as u32), bytes })
    }
}

impl<M: Access> Machine for Framed<M> {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Arrival(Arrival::Frame { socket, bytes, .. })
                if self.place(socket).is_some() =>
            {
                let line = self.place(socket).map(|place| self.places[place].line);
                match line.and_then(|line| parse(bytes, line, M::PORT)) {
                    Some(heard) => self.machine.input(now, Input::Command(Command::Heard(heard))),
                    None => self.dropped += 1,
                }
            }
            // Servers are not on lines: whoever is there would give whatever it likes.
            Input::Arrival(Arrival::Datagram { interface, .. })
                if self.places.iter().any(|place| place.interface == interface) =>
            {
                self.dropped += 1;
            }
            Input::Arrival(Arrival::Failed { socket }) if self.place(socket).is_some() => {
                if let Some(place) = self.place(socket) {
                    self.open[place] = Some(now.after(RETRY));
                }
            }
            input => self.machine.input(now, input),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        for place in 0..self.places.len() {
            if self.open[place].take_if(|at| *at <= now).is_some() {
                let opening = opening(self.places[place].interface, M::PORT);
                let socket = Socket(FIRST_SOCKET + place as u32);
                return Some(Output::Departure(Departure::Open { socket, opening }));
            }
        }
        while let Some(output) = self.machine.poll(now) {
            let Output::Report(Report::Said(said)) = output else { return Some(output) };
            match self.frame(&said) {
                Some(departure) => return Some(Output::Departure(departure)),
                None => self.dropped += 1,
            }
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        self.open.iter().flatten().copied().chain(self.machine.deadline()).min()
    }
}

/// Reads a frame with a datagram to a port of servers; `None` if it is none.
pub fn parse(frame: &[u8], line: Line, port: u16) -> Option<Heard> {
    let frame = ethernet::View::parse(frame).ok()?;
    let mac = frame.source();
    let (from, to, datagram): (IpAddr, IpAddr, _) = match frame.ether_type() {
        ethernet::TYPE_IPV4 => {
            let packet = ipv4::View::parse(frame.payload()).ok()?;
            if packet.protocol() != protocol::UDP || packet.is_fragment() {
                return None;
            }
            let datagram = udp::View::parse(packet.payload()).ok()?;
            let (from, to) = (packet.source(), packet.destination());
            datagram.verify_ipv4(from, to).ok()?;
            (from.into(), to.into(), datagram)
        }
        ethernet::TYPE_IPV6 => {
            let packet = ipv6::View::parse(frame.payload()).ok()?;
            if packet.next_header() != protocol::UDP {
                return None;
            }
            let datagram = udp::View::parse(packet.payload()).ok()?;
            let (from, to) = (packet.source(), packet.destination());
            datagram.verify_ipv6(from, to).ok()?;
            (from.into(), to.into(), datagram)
        }
        _ => return None,
    };
    let bytes = datagram.payload().to_vec();
    (datagram.destination_port() == port).then_some(Heard { line, mac, from, to, bytes })
}

/// Writes the frame of what is said to a line; `None` where addresses are of two families, or it is
/// too long for a datagram.
pub fn emit(source: MacAddr, said: &Said, port: u16) -> Option<Vec<u8>> {
    let length = u16::try_from(udp::HEADER_LEN + said.bytes.len()).ok()?;
    let fields = udp::Fields {
        source_port: port,
        destination_port: said.port,
        length,
        checksum: udp::CHECKSUM_NONE,
    };
    let mut header = [0; udp::HEADER_LEN];
    fields.emit(&mut header);
    let (ether_type, packet) = match (said.from, said.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let checksum = udp::checksum_ipv4(from, to, &header, &said.bytes);
            (ethernet::TYPE_IPV4, [ipv4_header(from, to, length)?, sealed(header, checksum)])
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let checksum = udp::checksum_ipv6(from, to, &header, &said.bytes);
            (ethernet::TYPE_IPV6, [ipv6_header(from, to, length), sealed(header, checksum)])
        }
        _ => return None,
    };
    let mut frame = [0; ethernet::HEADER_LEN];
    ethernet::Fields { destination: said.mac, source, ether_type }.emit(&mut frame);
    Some([&frame[..], &packet.concat(), &said.bytes].concat())
}

fn sealed(mut header: [u8; udp::HEADER_LEN], checksum: u16) -> Vec<u8> {
    header[udp::offset::CHECKSUM..].copy_from_slice(&checksum.to_be_bytes());
    header.to_vec()
}

fn ipv4_header(source: Ipv4Addr, destination: Ipv4Addr, length: u16) -> Option<Vec<u8>> {
    let fields = ipv4::Fields {
        dscp: CS6,
        ecn: 0,
        total_len: length.checked_add(ipv4::HEADER_LEN as u16)?,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: protocol::UDP,
        source,
        destination,
    };
    let mut header = [0; ipv4::HEADER_LEN];
    fields.emit(&mut header);
    Some(header.to_vec())
}

fn ipv6_header(source: Ipv6Addr, destination: Ipv6Addr, length: u16) -> Vec<u8> {
    let fields = ipv6::Fields {
        traffic_class: CS6 << 2,
        flow_label: 0,
        payload_len: length,
        next_header: protocol::UDP,
        hop_limit: TTL,
        source,
        destination,
    };
    let mut header = [0; ipv6::HEADER_LEN];
    fields.emit(&mut header);
    header.to_vec()
}

/// The socket of an interface: datagrams of the family that the port belongs to.
fn opening(interface: Interface, port: u16) -> Opening {
    let (ether_type, groups) = match port {
        PORT_V6 => (ethernet::TYPE_IPV6, vec![ALL_SERVERS_MAC]),
        _ => (ethernet::TYPE_IPV4, vec![]),
    };
    let takes = vec![Takes { ether_type, protocol: Some(protocol::UDP) }];
    Opening::Frames { interface, takes, groups }
}

/// The MAC address of ff02::1:2, All_DHCP_Relay_Agents_and_Servers (RFC 8415 section 7.1).
const ALL_SERVERS_MAC: [u8; 6] = [0x33, 0x33, 0, 1, 0, 2];

/// The number of the first socket; those of the machine are below it.
const FIRST_SOCKET: u32 = 1 << 16;

/// After so long a socket that has failed is opened again.
const RETRY: Duration = Duration::from_secs(1);

const PORT_V6: u16 = 547;
const TTL: u8 = 64;

/// Network control (RFC 4594 section 3.1).
const CS6: u8 = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_again_and_damage_is_not() {
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        for (from, to, port) in [("10.0.0.1", "10.0.0.2", 67), ("fe80::1", "fe80::2", 547)] {
            let [from, to] = [from, to].map(|text| text.parse().expect("an address"));
            let bytes = vec![1, 2, 3];
            let said = Said { line: Line(7), mac, from, to, port, bytes: bytes.clone() };
            let source = MacAddr([2, 0, 0, 0, 0, 9]);
            let frame = emit(source, &said, port).expect("it can be written");
            let heard = Heard { line: Line(7), mac: source, from, to, bytes };
            assert_eq!(parse(&frame, Line(7), port), Some(heard));
            assert_eq!(parse(&frame, Line(7), port + 1), None);
            for at in 14..frame.len() {
                let mut damaged = frame.clone();
                damaged[at] ^= 0x41;
                let read = parse(&damaged, Line(7), port);
                // Traffic class and flow label, and the hop limit, are covered by nothing in IPv6.
                let is_covered = port == 67 || !matches!(at, 14..=17 | 21);
                assert!(read.is_none() || !is_covered, "{at}");
            }
        }
    }

    #[test]
    fn families_are_not_mixed() {
        let (from, to) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        let said =
            Said { line: Line(0), mac: MacAddr::BROADCAST, from, to, port: 68, bytes: vec![] };
        assert_eq!(emit(MacAddr::BROADCAST, &said, 67), None);
    }
}
