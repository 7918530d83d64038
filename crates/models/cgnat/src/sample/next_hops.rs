//! Next hops that are asked for their MAC address, and what they say.
use std::net::IpAddr;

use function_cgnat::config::{Config, Family, Side};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::frame;
use packet::PortId;
use wire::bytes::put_u16;
use wire::{MacAddr, arp, ethernet, icmp, ipv6, protocol};

use super::build::tagged;
use super::entries::{FIRST, Here, dressed};

/// A next hop that is asked for: at which interface, on which VLAN of a VRF, and its address.
#[derive(Clone, Copy)]
pub(super) struct Hop {
    /// Of a further interface.
    pub here: Here,
    pub port: PortId,
    pub vlan: u16,
    pub address: IpAddr,
}

/// All that are asked for.
pub(super) fn hops(config: &Config) -> Vec<Hop> {
    let ipv4 = config.inside_next_hop.map(IpAddr::V4);
    let of_ports = [
        (INSIDE, 0, ipv4),
        (INSIDE, 0, config.inside_next_hop_ipv6.map(IpAddr::V6)),
        (OUTSIDE, 0, config.outside_next_hop.map(IpAddr::V4)),
        (OUTSIDE, 0, config.outside_next_hop_ipv6.map(IpAddr::V6)),
    ];
    let of_vrfs =
        config.vrfs.iter().map(|vrf| (INSIDE, vrf.vlan, vrf.next_hop.map(IpAddr::V4).or(ipv4)));
    let first = of_ports.into_iter().chain(of_vrfs).map(|hop| (FIRST, hop));
    let further = config.interfaces.iter().enumerate().flat_map(|(place, one)| {
        let (port, here) = match one.side {
            Side::Inside => (INSIDE, [Some(place), None]),
            Side::Outside => (OUTSIDE, [None, Some(place)]),
        };
        let hops = [one.next_hop.map(IpAddr::V4), one.next_hop_ipv6.map(IpAddr::V6)];
        hops.map(|hop| (here, (port, 0, hop)))
    });
    let hop = |(here, (port, vlan, address))| Some(Hop { here, port, vlan, address: address? });
    first.chain(further).filter_map(hop).collect()
}

/// Whether some are.
pub(super) fn are_asked(config: &Config) -> bool {
    !hops(config).is_empty()
}

/// Whether packets of a session wait for one: where one outlives what is known of it.
pub(super) fn are_awaited(config: &Config) -> bool {
    let is_nat44 = config.siit.as_ref().is_none_or(|it| it.inside_family != Family::Ipv4);
    are_asked(config) && is_nat44 && config.timeouts.tcp_established_s > 2.0 * LIFETIME_S
}

/// The longest pause without a word of them.
pub(super) fn pause_s_max(config: &Config) -> f64 {
    if are_asked(config) { LIFETIME_S / 2.0 } else { f64::INFINITY }
}

/// The MAC address that others of the sample's frames have as their source.
pub(super) fn known_mac(first: &Config, hop: Hop) -> MacAddr {
    let config = dressed(first, hop.here);
    match hop.port == INSIDE {
        true => config.inside_next_hop_mac.0,
        false => config.outside_next_hop_mac.0,
    }
}

/// The frame in which a next hop says its MAC address.
pub(super) fn said(first: &Config, hop: Hop, mac: MacAddr) -> Vec<u8> {
    let Hop { here, port, vlan, address } = hop;
    let config = dressed(first, here);
    let (station, own_ip, own_ipv6) = match port == INSIDE {
        true => (config.inside_mac.0, config.inside_ip, config.inside_ipv6),
        false => (config.outside_mac.0, config.outside_ip, config.outside_ipv6),
    };
    let source = known_mac(first, hop);
    let bare = match address {
        IpAddr::V4(sender_ip) => {
            let mut packet = [0; arp::HEADER_LEN];
            let said = arp::Fields {
                operation: arp::OPERATION_REPLY,
                sender_mac: mac,
                sender_ip,
                target_mac: station,
                target_ip: own_ip,
            };
            said.emit(&mut packet);
            frame(station, source, ethernet::TYPE_ARP, &packet)
        }
        IpAddr::V6(hop) => {
            let head = [icmp::v6::NEIGHBOR_ADVERTISEMENT, 0, 0, 0, 0x60, 0, 0, 0];
            let mut message = [&head[..], &hop.octets(), &[2, 1], &mac.0].concat();
            let sum = icmp::checksum_ipv6(hop, own_ipv6, &message);
            put_u16(&mut message, icmp::offset::CHECKSUM, sum);
            let mut header = [0; ipv6::HEADER_LEN];
            ipv6::Fields {
                traffic_class: 0,
                flow_label: 0,
                payload_len: message.len() as u16,
                next_header: protocol::ICMPV6,
                hop_limit: 255,
                source: hop,
                destination: own_ipv6,
            }
            .emit(&mut header);
            frame(station, source, ethernet::TYPE_IPV6, &[&header[..], &message].concat())
        }
    };
    tagged(bare, vlan)
}

/// Seconds for which an answer holds.
pub(super) const LIFETIME_S: f64 = 1200.0;
