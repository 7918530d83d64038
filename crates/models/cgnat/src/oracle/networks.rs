//! Networks and their addresses, and the part of a table that a worker has.
use std::net::Ipv4Addr;

use function_cgnat::config::Prefixed;

/// The first address of a network.
pub(super) fn first(network: Prefixed<Ipv4Addr>) -> u32 {
    let host = (1u64 << (32 - network.len)) - 1;
    network.address.to_bits() & !(host as u32)
}

/// Whether an address is of a network.
pub(super) fn holds(network: Prefixed<Ipv4Addr>, address: Ipv4Addr) -> bool {
    first(network) == first(Prefixed { address, len: network.len })
}

pub(super) fn same(one: Prefixed<Ipv4Addr>, other: Prefixed<Ipv4Addr>) -> bool {
    one.len == other.len && first(one) == first(other)
}

pub(super) fn overlap(one: Prefixed<Ipv4Addr>, other: Prefixed<Ipv4Addr>) -> bool {
    holds(one, other.address) || holds(other, one.address)
}

/// The part of a table that one of several workers has: a ninth more than its share, and 64.
pub(super) fn share(count: u32, workers: u32) -> u32 {
    let part = u64::from(count) * 9 / 8 / u64::from(workers) + 64;
    if workers == 1 { count } else { count.min(part as u32) }
}

/// Whether an address can be a single host's.
pub(super) fn is_host(address: Ipv4Addr) -> bool {
    !matches!(address.octets()[0], 0 | 127 | 224..)
}
