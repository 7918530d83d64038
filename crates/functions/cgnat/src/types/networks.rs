//! Networks of IPv4 as a configuration names them, and how a key is refused.

use std::net::{IpAddr, Ipv4Addr};

use function_kit::Invalid;
use function_kit::sections::Prefixed;

/// Whether two networks have an address in common.
pub fn overlap(one: Prefixed<Ipv4Addr>, other: Prefixed<Ipv4Addr>) -> bool {
    let wider = if one.len <= other.len { one } else { other };
    let other = if one.len <= other.len { other } else { one };
    holds(wider, other.address.to_bits())
}

/// Whether a network has an address.
pub fn holds(network: Prefixed<Ipv4Addr>, address: u32) -> bool {
    let shift = 32 - u32::from(network.len);
    u64::from(network.address.to_bits()) >> shift == u64::from(address) >> shift
}

/// The bits of a network's prefix in front of all others, which are zero; those of IPv4 are the
/// first 32.
pub fn first_bits(address: IpAddr, len: u8) -> u128 {
    let bits = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    bits & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

/// A network as people write it.
pub fn text(network: Prefixed<Ipv4Addr>) -> String {
    String::from(network)
}

/// Refuses a key of the function.
pub(crate) fn refuse<T>(key: &'static str, what: String, remedy: &str) -> Result<T, Invalid> {
    Err(Invalid { section: "function", key: key.into(), what, remedy: remedy.into() })
}
