//! Frames of the sample, built from their layers so that each layer can be spoiled.
use std::net::Ipv4Addr;

use crate::catalogue::{self, User};
use crate::section::Section;
use function_mobile_gateway::config::Tunnel;
pub(super) use model_kit::build::{
    add_options, datagram, frame, mend, packet, packet_ipv6, segments_with_options, set, set_word,
};
use model_kit::build::{ether_type_of, text};
use wire::{MacAddr, arp, ethernet, gtpu, protocol, vxlan};

/// Makes frames for one gateway.
pub(super) struct Maker {
    pub config: Section,
}

impl Maker {
    pub fn new(config: &Section) -> Maker {
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
