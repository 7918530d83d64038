//! Everything out of the ordinary: the full parser behind the pipeline's fast path.
//!
//! The fast path recognises a plain G-PDU and a plain IPv4 packet in a few comparisons and hands
//! every other frame here, where the checks stand one by one, each with its reason. The two agree:
//! a frame the fast path takes gets the same answer from this parser (a test compares them).

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::{PortId, Reason};
use stages::reassembly::Part;
use wire::gtpu::{self, GTPU_PORT};
use wire::vxlan::{self, VXLAN_PORT};
use wire::{Malformed, ethernet, ipv4, ipv6, protocol, udp};

use super::config::Tunnel;
use super::gateway::{ACCESS, CORE, Gateway};
use super::reasons;
use super::reassembly::part_of;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A user's packet out of a tunnel.
    Uplink {
        /// The bearer's identifier.
        teid: u32,
        /// The user's packet.
        inner: Inner,
    },
    /// A packet for a user.
    Downlink(Inner),
    /// A packet to or from a user that may not be forwarded further; with the bearer's identifier
    /// out of a tunnel.
    Spent {
        /// The identifier.
        teid: Option<u32>,
        /// The user's packet.
        inner: Inner,
    },
    /// A part of a packet for the gateway itself.
    Fragment(Part),
    /// ICMP for the gateway itself.
    Icmp,
    /// A message of GTP-U with an extension header that must be understood and is not; whether its
    /// sender is told.
    Unsupported {
        /// Of this and another such message nobody is told, or two ends could go on for ever.
        is_told: bool,
    },
    /// A question that the gateway itself answers.
    Answer(Question),
    /// Nothing to do with it.
    Drop(Reason),
}

impl Class {
    /// The port by which such a frame comes in; none of what may come in by any.
    pub fn comes_by(&self) -> Option<PortId> {
        match self {
            Class::Uplink { .. }
            | Class::Spent { teid: Some(_), .. }
            | Class::Unsupported { .. }
            | Class::Answer(Question::Echo { .. }) => Some(ACCESS),
            Class::Downlink(_) | Class::Spent { teid: None, .. } => Some(CORE),
            Class::Fragment(_) | Class::Icmp | Class::Answer(Question::Arp) | Class::Drop(_) => {
                None
            }
        }
    }
}

/// A user's IP packet within a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inner {
    /// Where its header begins, in bytes from the frame's start.
    pub offset: u16,
    /// Its length in bytes, without padding.
    pub len: u16,
    /// Its addresses.
    pub addresses: Addresses,
}

impl Inner {
    /// Takes one from the time to live or hop limit of a user's packet; the checks left none that
    /// may not go on.
    #[inline(always)]
    pub(super) fn make_hop(&self, packet: &mut [u8]) {
        match self.addresses {
            Addresses::V4 { .. } => {
                if let Some(header) = packet.first_chunk_mut::<{ ipv4::HEADER_LEN }>() {
                    let _ = ipv4::decrement_ttl(header);
                }
            }
            Addresses::V6 { .. } => {
                if let Some(header) = packet.first_chunk_mut::<{ ipv6::HEADER_LEN }>() {
                    let _ = ipv6::decrement_hop_limit(header);
                }
            }
        }
    }

    /// Whether the packet is in a tunnel, as it came in.
    #[inline(always)]
    pub fn is_tunnelled(&self) -> bool {
        usize::from(self.offset) > ethernet::HEADER_LEN
    }

    /// Of no packet.
    pub const NONE: Inner =
        Inner { offset: 0, len: 0, addresses: Addresses::V4 { source: 0, destination: 0 } };
}

/// Source and destination of a user's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addresses {
    /// IPv4.
    V4 {
        /// From.
        source: u32,
        /// To.
        destination: u32,
    },
    /// IPv6.
    V6 {
        /// From.
        source: u128,
        /// To.
        destination: u128,
    },
}

impl Addresses {
    /// Where an IPv4 packet goes; 0 for IPv6.
    #[inline(always)]
    pub fn ipv4_destination(&self) -> u32 {
        match *self {
            Addresses::V4 { destination, .. } => destination,
            Addresses::V6 { .. } => 0,
        }
    }

    /// Where an IPv6 packet goes; 0 for IPv4.
    #[inline(always)]
    pub fn ipv6_destination(&self) -> u128 {
        match *self {
            Addresses::V4 { .. } => 0,
            Addresses::V6 { destination, .. } => destination,
        }
    }

    /// The /64 to which an IPv6 packet goes.
    #[inline(always)]
    pub fn ipv6_prefix_to(&self) -> u64 {
        (self.ipv6_destination() >> 64) as u64
    }
}

/// What the gateway is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Who has the gateway's address (RFC 826).
    Arp,
    /// Is the path alive (TS 29.281 section 7.2.1); the offset and sequence number of the request.
    Echo {
        /// Who asks.
        from: Ipv4Addr,
        /// From which port.
        port: u16,
        /// The request's number.
        sequence: u16,
    },
}

/// What a frame is, by every check in the order of its headers.
pub(super) fn classify(frame: &[u8], gateway: &Gateway) -> Class {
    let Ok(ethernet) = ethernet::View::parse(frame) else {
        return match frame.len() < ethernet::HEADER_LEN {
            true => Class::Drop(reasons::TRUNCATED),
            false => station(frame, gateway).unwrap_or(Class::Drop(reasons::ETHERTYPE)),
        };
    };
    if ethernet.ether_type() == ethernet::TYPE_ARP && ethernet.destination().is_broadcast() {
        return classify_arp(ethernet.payload(), gateway);
    }
    if let Some(other) = station(frame, gateway) {
        return other;
    }
    match ethernet.ether_type() {
        ethernet::TYPE_IPV4 => classify_ipv4(ethernet.payload(), gateway),
        ethernet::TYPE_IPV6 => classify_ipv6(ethernet.payload(), gateway),
        ethernet::TYPE_ARP => classify_arp(ethernet.payload(), gateway),
        _ => Class::Drop(reasons::ETHERTYPE),
    }
}

fn station(frame: &[u8], gateway: &Gateway) -> Option<Class> {
    (!frame.starts_with(&gateway.mac.0)).then_some(Class::Drop(reasons::OTHER_STATION))
}

fn classify_arp(packet: &[u8], gateway: &Gateway) -> Class {
    match stages::arp::is_request_for(packet, gateway.ip) {
        true => Class::Answer(Question::Arp),
        false => Class::Drop(reasons::ARP_IGNORED),
    }
}

/// The same of a packet of IPv4 in a frame for the gateway.
pub(super) fn classify_ipv4(packet: &[u8], gateway: &Gateway) -> Class {
    let view = match ipv4::View::parse(packet) {
        Ok(view) => view,
        Err(Malformed::BadChecksum) => return Class::Drop(reasons::IP_CHECKSUM),
        Err(_) => return Class::Drop(reasons::IP_MALFORMED),
    };
    if view.has_options() {
        return Class::Drop(reasons::IP_OPTIONS);
    }
    if view.destination() == gateway.ip {
        return classify_tunnel(&view, gateway);
    }
    downlink(parse_ipv4(packet, ethernet::HEADER_LEN, &OUTER))
}

/// The same of a packet of IPv6, over which no tunnel goes.
fn classify_ipv6(packet: &[u8], gateway: &Gateway) -> Class {
    let parsed = parse_ipv6(packet, ethernet::HEADER_LEN, &OUTER);
    let to = parsed.as_ref().ok().map(|parsed| parsed.inner.addresses.ipv6_destination());
    if to.is_none() || to != gateway.ipv6.map(Ipv6Addr::to_bits) {
        return downlink(parsed);
    }
    match packet.get(ipv6::offset::NEXT_HEADER) {
        Some(&protocol::ICMPV6) => Class::Icmp,
        _ => Class::Drop(reasons::NOT_TUNNEL),
    }
}

fn downlink(parsed: Result<Parsed, Reason>) -> Class {
    match parsed {
        Ok(Parsed { inner, is_spent: false }) => Class::Downlink(inner),
        Ok(Parsed { inner, .. }) => Class::Spent { teid: None, inner },
        Err(reason) => Class::Drop(reason),
    }
}

fn uplink(teid: u32, parsed: Result<Parsed, Reason>) -> Class {
    match parsed {
        Ok(Parsed { inner, is_spent: false }) => Class::Uplink { teid, inner },
        Ok(Parsed { inner, .. }) => Class::Spent { teid: Some(teid), inner },
        Err(reason) => Class::Drop(reason),
    }
}

fn classify_tunnel(outer: &ipv4::View<'_>, gateway: &Gateway) -> Class {
    if outer.is_fragment() {
        return Class::Fragment(part_of(outer));
    }
    match outer.protocol() {
        protocol::UDP => {}
        protocol::ICMP => return Class::Icmp,
        _ => return Class::Drop(reasons::NOT_TUNNEL),
    }
    let Ok(datagram) = udp::View::parse(outer.payload()) else {
        return Class::Drop(reasons::UDP_MALFORMED);
    };
    let port = match gateway.tunnel {
        Tunnel::GtpU => GTPU_PORT,
        Tunnel::Vxlan => VXLAN_PORT,
    };
    if datagram.destination_port() != port {
        return Class::Drop(reasons::NOT_TUNNEL);
    }
    if datagram.verify_ipv4(outer.source(), outer.destination()).is_err() {
        return Class::Drop(reasons::UDP_CHECKSUM);
    }
    match gateway.tunnel {
        Tunnel::GtpU => classify_gtpu(outer, &datagram),
        Tunnel::Vxlan => classify_vxlan(datagram.payload()),
    }
}

fn classify_gtpu(outer: &ipv4::View<'_>, datagram: &udp::View<'_>) -> Class {
    let message = match gtpu::View::parse(datagram.payload()) {
        Ok(message) => message,
        Err(Malformed::BadVersion | Malformed::BadProtocolType) => {
            return Class::Drop(reasons::GTP_VERSION);
        }
        Err(_) => return Class::Drop(reasons::TUNNEL_MALFORMED),
    };
    if gtpu::HEADER_LEN + usize::from(message.length()) != datagram.payload().len() {
        return Class::Drop(reasons::TUNNEL_MALFORMED);
    }
    if message.extensions().any(|header| !is_understood(header)) {
        let reports = [gtpu::MESSAGE_ERROR_INDICATION, gtpu::MESSAGE_SUPPORTED_EXTENSION_HEADERS];
        return Class::Unsupported { is_told: !reports.contains(&message.message_type()) };
    }
    match message.message_type() {
        gtpu::MESSAGE_G_PDU => {
            let offset = TUNNEL_OFFSET + message.header_len();
            uplink(message.teid(), parse_inner(message.payload(), offset))
        }
        gtpu::MESSAGE_ECHO_REQUEST => match message.sequence() {
            Some(sequence) => Class::Answer(Question::Echo {
                from: outer.source(),
                port: datagram.source_port(),
                sequence,
            }),
            // TS 29.281 section 5.1: the S flag shall be set in an echo request.
            None => Class::Drop(reasons::TUNNEL_MALFORMED),
        },
        gtpu::MESSAGE_ERROR_INDICATION => Class::Drop(reasons::GTP_ERROR_INDICATION),
        gtpu::MESSAGE_END_MARKER => Class::Drop(reasons::GTP_END_MARKER),
        _ => Class::Drop(reasons::GTP_MESSAGE),
    }
}

/// Whether an extension header may be passed over (TS 29.281 section 5.2.1): its type leaves that
/// to the receiver, or it is one that says nothing on which forwarding depends.
fn is_understood(header: gtpu::Extension<'_>) -> bool {
    !header.is_comprehension_required() || EXTENSIONS_KNOWN.contains(&header.kind)
}

fn classify_vxlan(message: &[u8]) -> Class {
    let Ok(view) = vxlan::View::parse(message) else {
        return Class::Drop(reasons::TUNNEL_MALFORMED);
    };
    let Ok(ethernet) = ethernet::View::parse(view.payload()) else {
        return Class::Drop(reasons::INNER_MALFORMED);
    };
    let offset = TUNNEL_OFFSET + vxlan::HEADER_LEN + ethernet::HEADER_LEN;
    let inner = match ethernet.ether_type() {
        ethernet::TYPE_IPV4 => parse_ipv4(ethernet.payload(), offset, &INNER),
        ethernet::TYPE_IPV6 => parse_ipv6(ethernet.payload(), offset, &INNER),
        _ => Err(reasons::INNER_MALFORMED),
    };
    uplink(view.vni(), inner)
}

/// A user's packet, and whether it may not be forwarded further.
struct Parsed {
    inner: Inner,
    is_spent: bool,
}

/// A packet of IP that was checked before and begins at an offset of its frame.
pub(super) fn parse_packet(packet: &[u8], offset: usize) -> Option<Inner> {
    parse_inner(packet, offset).ok().map(|parsed| parsed.inner)
}

fn parse_inner(packet: &[u8], offset: usize) -> Result<Parsed, Reason> {
    match packet.first().map(|byte| byte >> 4) {
        Some(ipv4::VERSION) => parse_ipv4(packet, offset, &INNER),
        Some(ipv6::VERSION) => parse_ipv6(packet, offset, &INNER),
        _ => Err(reasons::INNER_MALFORMED),
    }
}

fn parse_ipv4(packet: &[u8], offset: usize, reasons: &Reasons) -> Result<Parsed, Reason> {
    let view = ipv4::View::parse(packet).map_err(|malformed| match malformed {
        Malformed::BadChecksum => reasons.checksum,
        _ => reasons.malformed,
    })?;
    if view.has_options() {
        return Err(reasons.options);
    }
    let addresses = Addresses::V4 {
        source: view.source().to_bits(),
        destination: view.destination().to_bits(),
    };
    let inner = Inner { offset: offset as u16, len: view.total_len(), addresses };
    Ok(Parsed { inner, is_spent: view.ttl() <= 1 })
}

fn parse_ipv6(packet: &[u8], offset: usize, reasons: &Reasons) -> Result<Parsed, Reason> {
    let view = ipv6::View::parse(packet).map_err(|_| reasons.malformed)?;
    if view.next_header() == protocol::IPV6_HOP_BY_HOP {
        return Err(reasons.options);
    }
    let addresses = Addresses::V6 {
        source: view.source().to_bits(),
        destination: view.destination().to_bits(),
    };
    let len = ipv6::HEADER_LEN as u32 + u32::from(view.payload_len());
    let len = u16::try_from(len).map_err(|_| reasons.malformed)?;
    let inner = Inner { offset: offset as u16, len, addresses };
    Ok(Parsed { inner, is_spent: view.hop_limit() <= 1 })
}

/// The reasons for what is wrong with an IP header.
struct Reasons {
    malformed: Reason,
    checksum: Reason,
    options: Reason,
}

const OUTER: Reasons = Reasons {
    malformed: reasons::IP_MALFORMED,
    checksum: reasons::IP_CHECKSUM,
    options: reasons::IP_OPTIONS,
};

const INNER: Reasons = Reasons {
    malformed: reasons::INNER_MALFORMED,
    checksum: reasons::INNER_CHECKSUM,
    options: reasons::INNER_OPTIONS,
};

/// Extension headers that must be understood, and are: they say nothing on which forwarding
/// depends.
pub(super) const EXTENSIONS_KNOWN: [u8; 2] =
    [gtpu::EXTENSION_PDU_SESSION_CONTAINER, gtpu::EXTENSION_PDCP_PDU_NUMBER];

/// Where a tunnel's own header begins: behind Ethernet, IPv4 without options, and UDP.
const TUNNEL_OFFSET: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN;
