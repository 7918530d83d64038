//! The list of protocols.

pub use protocol_kit::Protocol;

/// All protocols, by name.
#[rustfmt::skip] // A line each.
pub const PROTOCOLS: &[Protocol] = &[
    protocol_bfd::PROTOCOL,
    protocol_bfddp::PROTOCOL,
    protocol_bgp::PROTOCOL,
    protocol_bmp::PROTOCOL,
    protocol_dhcp::PROTOCOL,
    protocol_fpm::PROTOCOL,
    protocol_mrt::PROTOCOL,
    protocol_netlink::PROTOCOL,
    protocol_ppp::PROTOCOL,
    protocol_pppoe::PROTOCOL,
    protocol_radius::PROTOCOL,
    protocol_vrrp::PROTOCOL,
    protocol_replication::PROTOCOL,
];
