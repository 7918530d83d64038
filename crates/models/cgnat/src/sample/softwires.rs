//! Softwires of the sample: by what number each goes, and how a packet goes through it.
use std::net::Ipv6Addr;

use function_cgnat::config::Config;
use wire::{ethernet, ipv6, protocol};

use super::ipv6::packet;

/// Whether the sample says by a number in place of a VLAN that a frame is of a softwire.
pub(super) const fn is_softwire(vlan: u16) -> bool {
    vlan >= FIRST
}

/// How much longer a frame is than one without tag or outer header.
pub(super) const fn growth(vlan: u16) -> usize {
    match vlan {
        0 => 0,
        FIRST.. => ipv6::HEADER_LEN,
        _ => ethernet::TAG_LEN,
    }
}

/// The B4 element of a softwire: from the end of its network, and of a prefix of its own if there
/// are any more.
pub(super) fn b4(config: &Config, softwire: u16) -> Ipv6Addr {
    let Some(ds_lite) = &config.ds_lite else { return Ipv6Addr::UNSPECIFIED };
    let network = ds_lite.inside[ds_lite.inside.len() - 1];
    let hosts = u128::MAX.checked_shr(network.len.into()).unwrap_or(0);
    let step = 1u128.checked_shl(128 - u32::from(ds_lite.subscriber_len)).unwrap_or(0);
    let back = step * u128::from(softwire - FIRST);
    Ipv6Addr::from_bits((network.address.to_bits() | hosts) - back.min(hosts))
}

/// The frame of an IPv4 packet in its softwire.
pub(super) fn through(config: &Config, plain: &[u8], softwire: u16) -> Vec<u8> {
    let Some(ds_lite) = &config.ds_lite else { return plain.to_vec() };
    let packet = packet(b4(config, softwire), ds_lite.aftr, protocol::IPV4, &plain[14..]);
    [&plain[..12], &ethernet::TYPE_IPV6.to_be_bytes(), &packet].concat()
}

/// What stands for the first softwire in place of a VLAN; the others follow.
pub(super) const FIRST: u16 = 4096;
