//! Frames of lines: what a punted one is, and how one to a subscriber is written.
//!
//! ```text
//!  | to | from | (outer tag) | (tag) | type | packet of IP, or of discovery      |
//!  | to | from | (outer tag) | (tag) | 0x8864 | PPPoE | protocol of PPP | ...    |
//! ```
//! A worker has checked headers and lengths of IP and PPPoE. What this file cannot read it leaves
//! alone all the same.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::config::{Line, OuterTag};
use protocol_pppoe::packet::{Packet, TYPE_DISCOVERY, TYPE_SESSION, code};
use wire::{MacAddr, ethernet, icmp, ipv4, ipv6, udp};

/// A frame that came from a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'a> {
    pub line: Line,
    pub from: MacAddr,
    pub to: MacAddr,
    /// The Session-ID of PPPoE.
    pub pppoe: Option<u16>,
    pub content: Content<'a>,
}

/// What a frame is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    /// What follows the EtherType of discovery.
    Discovery(&'a [u8]),
    /// A payload of PPP, from the Protocol field on.
    Ppp(&'a [u8]),
    /// A packet of IPv4.
    V4(&'a [u8]),
    /// A packet of IPv6.
    V6(&'a [u8]),
}

/// Where a subscriber is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: Line,
    pub mac: MacAddr,
    /// The Session-ID of PPPoE, whose packets of IP it gets.
    pub pppoe: Option<u16>,
}

/// What all frames to subscribers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub mac: MacAddr,
    pub outer_tag: OuterTag,
}

/// A datagram of UDP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    pub from: IpAddr,
    pub to: IpAddr,
    pub payload: &'a [u8],
}

/// Reads a frame.
pub(crate) fn read(frame: &[u8]) -> Option<Heard<'_>> {
    let view = ethernet::View::parse(frame).ok()?;
    let (mut ether_type, mut rest) = (view.ether_type(), view.payload());
    let mut tags = [0; 2];
    let mut count = 0;
    while matches!(ether_type, TAG | SERVICE_TAG) && count < tags.len() {
        let (tag, behind) = rest.split_first_chunk::<4>()?;
        let [high, low, kind @ ..] = *tag;
        tags[count] = u16::from_be_bytes([high, low]) & 0x0fff;
        (ether_type, rest) = (u16::from_be_bytes(kind), behind);
        count += 1;
    }
    let [outer, inner] = if count == 2 { tags } else { [0, tags[0]] };
    let (mut pppoe, content) = (
        None,
        match ether_type {
            IPV4 => Content::V4(rest),
            IPV6 => Content::V6(rest),
            TYPE_DISCOVERY => Content::Discovery(rest),
            TYPE_SESSION => Content::Ppp(rest),
            _ => return None,
        },
    );
    let content = match content {
        Content::Ppp(bytes) => {
            let packet = Packet::parse(bytes).ok()?;
            pppoe = Some(packet.session_id);
            match packet.payload.split_first_chunk()? {
                (&PPP_IPV4, packet) => Content::V4(packet),
                (&PPP_IPV6, packet) => Content::V6(packet),
                _ => Content::Ppp(packet.payload),
            }
        }
        other => other,
    };
    let line = Line { outer, inner };
    Some(Heard { line, from: view.source(), to: view.destination(), pppoe, content })
}

/// Reads a datagram of UDP, whose checksum has to be right.
pub(crate) fn datagram<'a>(content: &Content<'a>) -> Option<Datagram<'a>> {
    match content {
        Content::V4(packet) => {
            let ip = ipv4::View::parse(packet).ok()?;
            let datagram = udp::View::parse(ip.payload()).ok()?;
            datagram.verify_ipv4(ip.source(), ip.destination()).ok()?;
            let [from, to] = [ip.source(), ip.destination()].map(IpAddr::V4);
            Some(Datagram { from, to, payload: datagram.payload() })
        }
        Content::V6(packet) => {
            let ip = ipv6::View::parse(packet).ok()?;
            let datagram = udp::View::parse(ip.payload()).ok()?;
            datagram.verify_ipv6(ip.source(), ip.destination()).ok()?;
            let [from, to] = [ip.source(), ip.destination()].map(IpAddr::V6);
            Some(Datagram { from, to, payload: datagram.payload() })
        }
        Content::Discovery(_) | Content::Ppp(_) => None,
    }
}

/// Whether a packet of IPv6 is a router solicitation that may be answered (RFC 4861 section 6.1.1).
pub(crate) fn is_solicitation(packet: &[u8]) -> bool {
    let Ok(ip) = ipv6::View::parse(packet) else { return false };
    let message = ip.payload();
    ip.next_header() == ICMPV6
        && ip.hop_limit() == 255
        && message.starts_with(&[SOLICITATION, 0])
        && message.len() >= 8
        && icmp::verify_ipv6(ip.source(), ip.destination(), message)
}

impl Access {
    /// A frame with a packet of discovery.
    pub fn discovery(self, place: Place, packet: &[u8]) -> Vec<u8> {
        self.frame(place, TYPE_DISCOVERY, packet)
    }

    /// A frame with a payload of PPP.
    pub fn ppp(self, place: Place, payload: &[u8]) -> Vec<u8> {
        let session_id = place.pppoe.unwrap_or(0);
        let packet = Packet { code: code::SESSION, session_id, payload };
        self.frame(place, TYPE_SESSION, &packet.emit())
    }

    /// A frame with a datagram of UDP; none if it would be too long, or its addresses are of two
    /// versions of IP.
    pub fn datagram(
        self,
        place: Place,
        [from, to]: [(IpAddr, u16); 2],
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let length = u16::try_from(udp::HEADER_LEN + payload.len()).ok()?;
        let (source_port, destination_port) = (from.1, to.1);
        let mut header = [0; udp::HEADER_LEN];
        let fields = |checksum| udp::Fields { source_port, destination_port, length, checksum };
        fields(0).emit(&mut header);
        let checksum = match (from.0, to.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => udp::checksum_ipv4(from, to, &header, payload),
            (IpAddr::V6(from), IpAddr::V6(to)) => udp::checksum_ipv6(from, to, &header, payload),
            _ => return None,
        };
        fields(checksum).emit(&mut header);
        let body = [&header[..], payload].concat();
        match (from.0, to.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let packet = v4_packet(from, to, &body)?;
                Some(self.packet(place, IPV4, &packet))
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let packet = v6_packet((from, to), (UDP, 64), &body)?;
                Some(self.packet(place, IPV6, &packet))
            }
            _ => None,
        }
    }

    /// A frame with a message of ICMPv6 whose checksum is filled in.
    pub fn icmpv6(
        self,
        place: Place,
        (from, to): (Ipv6Addr, Ipv6Addr),
        mut message: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let checksum = icmp::checksum_ipv6(from, to, &message);
        message.get_mut(2..4)?.copy_from_slice(&checksum.to_be_bytes());
        let packet = v6_packet((from, to), (ICMPV6, 255), &message)?;
        Some(self.packet(place, IPV6, &packet))
    }

    /// A frame with a packet of IP, within the session of PPPoE if there is one.
    fn packet(self, place: Place, ether_type: u16, packet: &[u8]) -> Vec<u8> {
        if place.pppoe.is_none() {
            return self.frame(place, ether_type, packet);
        }
        let protocol = if ether_type == IPV4 { PPP_IPV4 } else { PPP_IPV6 };
        self.ppp(place, &[&protocol[..], packet].concat())
    }

    fn frame(self, place: Place, ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let Place { line, mac, .. } = place;
        let mut frame = Vec::with_capacity(22 + payload.len());
        frame.extend(mac.0);
        frame.extend(self.mac.0);
        if line.outer != 0 {
            let service = match self.outer_tag {
                OuterTag::Service => SERVICE_TAG,
                OuterTag::Customer => TAG,
            };
            frame.extend(service.to_be_bytes());
            frame.extend(line.outer.to_be_bytes());
        }
        if line.inner != 0 {
            frame.extend(TAG.to_be_bytes());
            frame.extend(line.inner.to_be_bytes());
        }
        frame.extend(ether_type.to_be_bytes());
        frame.extend(payload);
        frame
    }
}

fn v4_packet(source: Ipv4Addr, destination: Ipv4Addr, body: &[u8]) -> Option<Vec<u8>> {
    let fields = ipv4::Fields {
        dscp: CONTROL,
        ecn: 0,
        total_len: u16::try_from(ipv4::HEADER_LEN + body.len()).ok()?,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: UDP,
        source,
        destination,
    };
    let mut header = [0; ipv4::HEADER_LEN];
    fields.emit(&mut header);
    Some([&header[..], body].concat())
}

fn v6_packet(
    (source, destination): (Ipv6Addr, Ipv6Addr),
    (next_header, hop_limit): (u8, u8),
    body: &[u8],
) -> Option<Vec<u8>> {
    let fields = ipv6::Fields {
        traffic_class: CONTROL << 2,
        flow_label: 0,
        payload_len: u16::try_from(body.len()).ok()?,
        next_header,
        hop_limit,
        source,
        destination,
    };
    let mut header = [0; ipv6::HEADER_LEN];
    fields.emit(&mut header);
    Some([&header[..], body].concat())
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAG: u16 = 0x8100;
const SERVICE_TAG: u16 = 0x88a8;
const PPP_IPV4: [u8; 2] = [0x00, 0x21];
const PPP_IPV6: [u8; 2] = [0x00, 0x57];
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 133;

/// The code point of control (CS6, RFC 4594).
const CONTROL: u8 = 48;
