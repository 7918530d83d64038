//! Whether the key `ds-lite` fits the others.

use std::net::Ipv6Addr;

use function_kit::Invalid;
use function_kit::sections::Prefixed;

use crate::config::Config;
use crate::types::networks::refuse;

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(ds_lite) = &config.ds_lite else { return Ok(()) };
    let refuse = |what: String, remedy: &str| refuse("ds-lite", what, remedy);
    let aftr = ds_lite.aftr;
    if aftr.is_unspecified() || aftr.is_loopback() || aftr.is_multicast() {
        return refuse(
            format!("the AFTR has the address {aftr}"),
            "Give a global address as 'aftr'",
        );
    }
    if aftr == config.inside_ipv6 {
        let remedy = "Give 'aftr' an address of its own, or another 'inside-ipv6'";
        return refuse(format!("{aftr} is the inside port's address, too"), remedy);
    }
    let subscriber_len = ds_lite.subscriber_len;
    for &network in &ds_lite.inside {
        let (text, len) = (String::from(network), network.len);
        if len < NETWORK_LEN_MIN {
            let remedy = "Give networks of 32 bits or more, several where there is a larger one";
            return refuse(format!("{text} has {len} bits"), remedy);
        }
        if subscriber_len < len {
            let what = format!("{subscriber_len} bits name a subscriber of {text}");
            return refuse(what, "Give 'subscriber-len' from the length of each network to 128");
        }
    }
    if let Some(nat64) = &config.nat64
        && begins(aftr, nat64.prefix)
    {
        let what = format!("{aftr} stands for an IPv4 host under the prefix of 'nat64'");
        return refuse(what, "Give another address as 'aftr', or another 'prefix'");
    }
    if config.siit.is_some() {
        let what = "IPv6 hosts inside and softwires at once".into();
        return crate::types::networks::refuse("siit", what, "Leave 'siit' or 'ds-lite' out");
    }
    Ok(())
}

/// Whether an address is of a network.
fn begins(address: Ipv6Addr, network: Prefixed<Ipv6Addr>) -> bool {
    let differing = address.to_bits() ^ network.address.to_bits();
    differing.leading_zeros() >= u32::from(network.len)
}

/// Bits of a network that its number stands for.
const NETWORK_LEN_MIN: u8 = 32;
