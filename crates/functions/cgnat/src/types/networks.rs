//! Networks of IPv4 as a configuration names them, and how a key is refused.

use std::net::Ipv4Addr;

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

/// A network as people write it.
pub fn text(network: Prefixed<Ipv4Addr>) -> String {
    String::from(network)
}

/// Refuses a key of the function.
pub(crate) fn refuse<T>(key: &'static str, what: String, remedy: &str) -> Result<T, Invalid> {
    Err(Invalid { section: "function", key: key.into(), what, remedy: remedy.into() })
}
