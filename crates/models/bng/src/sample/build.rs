//! Frames of the sample, built from their layers so that each layer can be spoiled.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::config::{Config, Line, Session};
use model_kit::build::{datagram, ether_type_of, frame, packet, packet_ipv6, text};
use wire::{MacAddr, ethernet, protocol};

use crate::catalogue;
use crate::frames::{PPP_IPV4, PPP_IPV6, TYPE_PPPOE, outer_type};

/// A frame of a line, of this type.
pub(super) fn on_line(
    config: &Config,
    line: Line,
    [to, from]: [MacAddr; 2],
    ether_type: u16,
    content: &[u8],
) -> Vec<u8> {
    let outer = outer_type(config.outer_tag);
    let both = [(outer, line.outer), (ethernet::TYPE_VLAN, line.inner)];
    let mut tags = Vec::new();
    for (kind, vlan) in both.into_iter().filter(|(_, vlan)| *vlan > 0) {
        tags.extend([kind.to_be_bytes(), vlan.to_be_bytes()].concat());
    }
    [&to.0[..], &from.0, &tags, &ether_type.to_be_bytes(), content].concat()
}

/// A frame of a session to the gateway, of this type.
pub(super) fn of_session(
    config: &Config,
    session: &Session,
    ether_type: u16,
    content: &[u8],
) -> Vec<u8> {
    let macs = [config.access_mac, session.mac.0];
    on_line(config, session.line, macs, ether_type, content)
}

/// A packet of a session, as it comes by its line.
pub(super) fn up(config: &Config, session: &Session, packet: &[u8]) -> Vec<u8> {
    let is_ipv4 = ether_type_of(packet) == ethernet::TYPE_IPV4;
    match session.pppoe {
        None => of_session(config, session, ether_type_of(packet), packet),
        Some(pppoe) => {
            let protocol = if is_ipv4 { PPP_IPV4 } else { PPP_IPV6 };
            of_session(config, session, TYPE_PPPOE, &pppoe_frame(0, pppoe.id, protocol, packet))
        }
    }
}

/// A frame of PPPoE with a protocol of PPP.
pub(super) fn pppoe_frame(code: u8, id: u16, protocol: u16, packet: &[u8]) -> Vec<u8> {
    let len = packet.len() as u16 + 2;
    let words = [id, len, protocol].map(u16::to_be_bytes).concat();
    [&[0x11, code][..], &words, packet].concat()
}

/// A packet from the Internet.
pub(super) fn down(config: &Config, packet: &[u8]) -> Vec<u8> {
    frame(config.core_mac, catalogue::ROUTER_MAC, ether_type_of(packet), packet)
}

/// A UDP packet of `len` bytes from one address to another of the same version.
pub(super) fn udp(from: IpAddr, to: IpAddr, len: usize) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let datagram = datagram((40_000, 9), &text(len.saturating_sub(28)));
            packet(from, to, protocol::UDP, &datagram)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => packet_ipv6(from, to, len),
        _ => Vec::new(),
    }
}

/// The addresses of the first server.
pub(super) fn server(is_ipv4: bool) -> IpAddr {
    match is_ipv4 {
        true => Ipv4Addr::from_bits(catalogue::server_ipv4(0)).into(),
        false => Ipv6Addr::from_bits(catalogue::server_ipv6(0)).into(),
    }
}

/// The addresses that a session has: one of each kind.
pub(super) fn addresses(session: &Session) -> Vec<IpAddr> {
    let host = |prefix: Ipv6Addr| Ipv6Addr::from_bits(prefix.to_bits() | 0x77);
    let slaac = session.slaac.map(|prefix| host(prefix.address));
    let delegated = session.delegated.map(|prefix| host(prefix.address));
    let ipv6 = [session.na, slaac, delegated].into_iter().flatten().map(IpAddr::from);
    session.ipv4.map(IpAddr::from).into_iter().chain(ipv6).collect()
}
