//! Frames of the sample, built from their layers so that each layer can be spoiled.

use wire::bytes::put_u16;
use wire::{MacAddr, arp, checksum, ethernet, gtpu, ipv4, ipv6, protocol, udp, vxlan};

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::catalogue::{self, User};
use super::super::config::{Config, Tunnel};

/// Makes frames for one gateway.
pub(super) struct Maker {
    pub config: Config,
}

impl Maker {
    pub fn new(config: &Config) -> Maker {
        Maker { config: config.clone() }
    }

    /// A UDP packet between a user and the first server, `len` bytes in all.
    pub fn packet(&self, user: &User, uplink: bool, len: u16) -> Vec<u8> {
        let server = catalogue::server_ipv4(0);
        let datagram = datagram((40_000, 9), &text(usize::from(len).saturating_sub(28)));
        match uplink {
            true => packet(user.ipv4, server, protocol::UDP, &datagram),
            false => packet(server, user.ipv4, protocol::UDP, &datagram),
        }
    }

    /// The same for IPv6.
    pub fn packet_ipv6(&self, user: &User, uplink: bool, len: u16) -> Vec<u8> {
        let server = catalogue::ipv6_host(catalogue::server_ipv6_prefix(0), 2);
        let user = catalogue::ipv6_host(user.ipv6_prefix, 1);
        let (source, destination) = if uplink { (user, server) } else { (server, user) };
        packet_ipv6(source, destination, usize::from(len))
    }

    /// A user's packet in the configured tunnel, from its base station.
    pub fn tunnelled(&self, user: &User, packet: &[u8]) -> Vec<u8> {
        self.datagram_from(user, &self.message(user, packet))
    }

    /// What the tunnel's datagram holds for a user's packet.
    pub fn message(&self, user: &User, packet: &[u8]) -> Vec<u8> {
        match self.config.tunnel() {
            Tunnel::GtpU => gtpu_message(gtpu::FLAGS, gtpu::MESSAGE_G_PDU, user.teid, packet),
            Tunnel::Vxlan => vxlan_message(vxlan::FLAG_VNI, user.teid, &self.bridged(user, packet)),
        }
    }

    /// The Ethernet frame that VXLAN carries.
    pub fn bridged(&self, user: &User, packet: &[u8]) -> Vec<u8> {
        let station = catalogue::base_station_mac(user.base_station);
        frame(self.config.gw_mac, station, ether_type_of(packet), packet)
    }

    /// A message to the tunnel's port, from a user's base station.
    pub fn datagram_from(&self, user: &User, message: &[u8]) -> Vec<u8> {
        let port = self.tunnel_port();
        self.over_ip(user, protocol::UDP, &datagram((port, port), message))
    }

    /// Anything in an IPv4 packet from a user's base station to the gateway.
    pub fn over_ip(&self, user: &User, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let source = catalogue::base_station_ipv4(user.base_station);
        let outer = packet(source, self.config.gw_ip, protocol, payload);
        self.over_access(user, ethernet::TYPE_IPV4, &outer)
    }

    /// Anything in a frame from a user's base station to the gateway.
    pub fn over_access(&self, user: &User, ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let station = catalogue::base_station_mac(user.base_station);
        frame(self.config.gw_mac, station, ether_type, payload)
    }

    /// An IP packet from the Internet.
    pub fn over_core(&self, packet: &[u8]) -> Vec<u8> {
        let router = self.config.downlink_default_gw_mac;
        frame(self.config.gw_mac, router, ether_type_of(packet), packet)
    }

    /// An ARP packet of the router.
    pub fn arp(&self, to: MacAddr, operation: u16, target_ip: Ipv4Addr) -> Vec<u8> {
        let router = self.config.downlink_default_gw_mac;
        let mut packet = [0; arp::HEADER_LEN];
        arp::Fields {
            operation,
            sender_mac: router,
            sender_ip: self.config.downlink_default_gw_ip,
            target_mac: MacAddr::ZERO,
            target_ip,
        }
        .emit(&mut packet);
        frame(to, router, ethernet::TYPE_ARP, &packet)
    }

    pub fn tunnel_port(&self) -> u16 {
        match self.config.tunnel() {
            Tunnel::GtpU => gtpu::GTPU_PORT,
            Tunnel::Vxlan => vxlan::VXLAN_PORT,
        }
    }
}

pub(super) fn frame(to: MacAddr, from: MacAddr, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&to.0, &from.0, &ether_type.to_be_bytes()[..], payload].concat()
}

pub(super) fn packet(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; ipv4::HEADER_LEN];
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: (ipv4::HEADER_LEN + payload.len()) as u16,
        identification: 0x1234,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol,
        source: from,
        destination: to,
    }
    .emit(&mut header);
    [&header, payload].concat()
}

pub(super) fn packet_ipv6(source: Ipv6Addr, destination: Ipv6Addr, len: usize) -> Vec<u8> {
    let mut datagram = datagram((40_000, 9), &text(len.saturating_sub(48)));
    if let Some((header, payload)) = datagram.split_first_chunk_mut() {
        let sum = udp::checksum_ipv6(source, destination, header, payload);
        put_u16(header, udp::offset::CHECKSUM, sum);
    }
    let mut header = [0; ipv6::HEADER_LEN];
    ipv6::Fields {
        traffic_class: 0,
        flow_label: 0x12345,
        payload_len: datagram.len() as u16,
        next_header: protocol::UDP,
        hop_limit: 64,
        source,
        destination,
    }
    .emit(&mut header);
    [&header, &datagram[..]].concat()
}

/// A datagram without checksum.
pub(super) fn datagram((from, to): (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut header = [0; udp::HEADER_LEN];
    let length = (udp::HEADER_LEN + payload.len()) as u16;
    let checksum = udp::CHECKSUM_NONE;
    udp::Fields { source_port: from, destination_port: to, length, checksum }.emit(&mut header);
    [&header, payload].concat()
}

/// A message whose content includes its optional fields.
pub(super) fn gtpu_message(flags: u8, message_type: u8, teid: u32, content: &[u8]) -> Vec<u8> {
    let mut header = [0; gtpu::HEADER_LEN];
    gtpu::Fields { message_type, length: content.len() as u16, teid }.emit(&mut header);
    header[0] = flags;
    [&header, content].concat()
}

pub(super) fn vxlan_message(flags: u8, vni: u32, bridged: &[u8]) -> Vec<u8> {
    let mut header = [0; vxlan::HEADER_LEN];
    vxlan::Fields { vni }.emit(&mut header);
    header[0] = flags;
    [&header, bridged].concat()
}

/// Changes a byte of an IPv4 header without options and mends the checksum.
pub(super) fn set(at: usize, value: u8) -> impl FnOnce(&mut Vec<u8>) {
    move |packet| {
        packet[at] = value;
        mend(packet);
    }
}

/// Changes a 16-bit field of an IPv4 header without options and mends the checksum.
pub(super) fn set_word(at: usize, value: u16) -> impl FnOnce(&mut Vec<u8>) {
    move |packet| {
        put_u16(packet, at, value);
        mend(packet);
    }
}

/// Makes the checksum of an IPv4 header right, whatever length it states.
pub(super) fn mend(packet: &mut [u8]) {
    let stated = usize::from(packet[0] & 0x0f) * 4;
    let len = stated.max(ipv4::HEADER_LEN).min(packet.len());
    put_u16(packet, ipv4::offset::CHECKSUM, 0);
    let sum = checksum::checksum(&packet[..len]);
    put_u16(packet, ipv4::offset::CHECKSUM, sum);
}

/// Puts four bytes of options into an IPv4 packet.
pub(super) fn add_options(packet: &mut Vec<u8>) {
    let router_alert = [ipv4::OPTION_ROUTER_ALERT, 4, 0, 0];
    packet.splice(ipv4::HEADER_LEN..ipv4::HEADER_LEN, router_alert);
    packet[0] += 1;
    let len = packet.len() as u16;
    set_word(ipv4::offset::TOTAL_LEN, len)(packet);
}

/// Bytes that differ from their neighbours.
fn text(len: usize) -> Vec<u8> {
    (0..len).map(|index| index as u8).collect()
}

fn ether_type_of(packet: &[u8]) -> u16 {
    match packet.first().map(|byte| byte >> 4) {
        Some(ipv6::VERSION) => ethernet::TYPE_IPV6,
        _ => ethernet::TYPE_IPV4,
    }
}
