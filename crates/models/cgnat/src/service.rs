//! The NAT in words that devices of another making understand.

use std::net::{IpAddr, Ipv4Addr};

use function_cgnat::config::{Config, Filtering, TcpResets};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::service::{
    Access, Beyond, Interface, Nat, NextHop, ReversePath, Route, Router, Service,
};

/// Its ports, its neighbours, the networks on both sides, and the timeouts.
pub(super) fn service(config: &Config) -> Service {
    let interface = |mac, ipv4: Ipv4Addr| Interface {
        mac,
        // The neighbour stands beside it on a link of its own.
        ipv4: Some((ipv4, LINK_PREFIX_LEN)),
        ipv6: None,
        reverse_path: ReversePath::None,
        vrf: 0,
    };
    let hop = |port, mac, own: Ipv4Addr| NextHop {
        port,
        vlan: None,
        mac,
        source: None,
        ipv4: Some(neighbour(own)),
        ipv6: None,
    };
    let inside = config.inside.iter();
    let route = |address: Ipv4Addr, len, next_hop| Route {
        prefix: IpAddr::V4(network(address, len)),
        len,
        next_hop,
        vrf: 0,
    };
    let mut routes: Vec<Route> = inside.map(|net| route(net.address, net.len, 0)).collect();
    routes.push(route(Ipv4Addr::UNSPECIFIED, 0, 1));
    let times = config.timeouts;
    Service::Nat(Nat {
        router: Router {
            interfaces: vec![
                interface(config.inside_mac.0, config.inside_ip),
                interface(config.outside_mac.0, config.outside_ip),
            ],
            vlans: Vec::new(),
            next_hops: vec![
                hop(INSIDE, config.inside_next_hop_mac.0, config.inside_ip),
                hop(OUTSIDE, config.outside_next_hop_mac.0, config.outside_ip),
            ],
            routes,
            access: Access::default(),
            beyond: beyond(config),
        },
        inside: config.inside.iter().map(|net| (net.address, net.len)).collect(),
        pools: config.pools.iter().map(|net| (net.address, net.len)).collect(),
        one_to_one: config
            .static_rules
            .iter()
            .map(|rule| (rule.inside.address, rule.outside.address, rule.inside.len))
            .collect(),
        first_port: config.first_port,
        sessions: config.sessions,
        tcp_pick_up: config.tcp_pick_up,
        timeouts_s: times.all(),
    })
}

/// The other address of the link.
fn neighbour(own: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from_bits(own.to_bits() ^ 1)
}

fn network(address: Ipv4Addr, len: u8) -> Ipv4Addr {
    let host = u32::MAX.checked_shr(u32::from(len)).unwrap_or(0);
    Ipv4Addr::from_bits(address.to_bits() & !host)
}

/// What a NAT in these words is not. Every key is named, so that a new one has to be thought of.
fn beyond(config: &Config) -> Vec<Beyond> {
    let Config {
        // In words, or no matter to a device with tables of its own.
        core: _,
        inside_mac: _,
        outside_mac: _,
        inside_ip: _,
        outside_ip: _,
        inside_ip_len: _,
        outside_ip_len: _,
        // No scenario has them.
        inside_host_interface: _,
        outside_host_interface: _,
        pools_answer: _,
        inside_ipv6: _,
        outside_ipv6: _,
        inside_next_hop_mac: _,
        outside_next_hop_mac: _,
        inside: _,
        pools: _,
        spare_addresses: _,
        first_port: _,
        static_rules: _,
        sessions: _,
        mappings: _,
        subscribers: _,
        timeouts: _,
        replication: _,
        secret: _,
        steering_key: _,
        tcp_pick_up: _,
        icmp_error_burst: _,
        // For which there are no words.
        inside_next_hop,
        outside_next_hop,
        inside_next_hop_ipv6,
        outside_next_hop_ipv6,
        interfaces,
        inside_mtu,
        outside_mtu,
        port_block,
        port_forwarding,
        deterministic,
        nat64,
        ds_lite,
        vrfs,
        siit,
        sessions_per_subscriber,
        filtering,
        hairpinning,
        bypass,
        quarantine_s,
        mss_clamp,
        icmp_errors_per_s,
        tcp_resets,
        fragments,
        alg,
        pcp,
        logging,
    } = config;
    let asked = "a next hop that is asked for its MAC address";
    Beyond::of(&[
        ("inside-next-hop", asked, inside_next_hop.is_some()),
        ("outside-next-hop", asked, outside_next_hop.is_some()),
        ("inside-next-hop-ipv6", asked, inside_next_hop_ipv6.is_some()),
        ("outside-next-hop-ipv6", asked, outside_next_hop_ipv6.is_some()),
        ("interfaces", "interfaces beside the two ports' own", !interfaces.is_empty()),
        ("inside-mtu", "links inside that take less", *inside_mtu != 0),
        ("outside-mtu", "links outside that take less", *outside_mtu != 0),
        ("port-block", "blocks of ports for each subscriber", port_block.size != 0),
        (
            "port-forwarding",
            "hosts that share an address by fixed ports",
            !port_forwarding.is_empty(),
        ),
        ("deterministic", "ports that follow from the inside address", !deterministic.is_empty()),
        ("nat64", "IPv6 subscribers", nat64.is_some()),
        ("ds-lite", "subscribers behind softwires", ds_lite.is_some()),
        ("vrfs", "subscribers with the same address", !vrfs.is_empty()),
        ("siit", "translation without sessions", siit.is_some()),
        (
            "sessions-per-subscriber",
            "a limit for each subscriber",
            *sessions_per_subscriber != Some(0),
        ),
        (
            "filtering",
            "mappings that take packets from others than the subscriber spoke to",
            *filtering != Filtering::AddressAndPortDependent,
        ),
        ("hairpinning", "subscribers that reach one another by outside addresses", *hairpinning),
        ("bypass", "destinations to which nothing is translated", !bypass.is_empty()),
        ("quarantine-s", "ports that rest", *quarantine_s > 0.0),
        ("icmp-errors-per-s", "ICMP errors at a rate", *icmp_errors_per_s > 0),
        (
            "tcp-resets",
            "resets of TCP connections that it does not know",
            *tcp_resets != TcpResets::None,
        ),
        ("fragments", "fragments that are followed", fragments.datagrams > 0),
        ("mss-clamp", "a limit of the TCP maximum segment size", *mss_clamp != 0),
        ("alg", "application-level gateways", !alg.is_off()),
        ("pcp", "mappings that subscribers ask for", pcp.is_some()),
        ("logging", "logs of blocks and sessions", logging.is_some()),
    ])
}

/// Two addresses on a link.
const LINK_PREFIX_LEN: u8 = 31;
