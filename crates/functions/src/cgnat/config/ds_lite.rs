//! Keys of DS-Lite (RFC 6333).

use std::net::Ipv6Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, Traffic, refuse};
use crate::sections::Prefixed;
use crate::unit::Invalid;

/// The AFTR of DS-Lite: packets of IPv4 subscribers come and go in packets of IPv6, by which subscribers are told apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DsLite {
    /// The address of this end of all softwires, for which the inside port answers Neighbor Discovery.
    pub aftr: Ipv6Addr,
    /// Networks of B4 elements, of at least 32 bits each; packets from elsewhere are dropped.
    #[schemars(length(min = 1, max = 1024))]
    pub inside: Vec<Prefixed<Ipv6Addr>>,
    /// How many bits of its B4 element's address name a subscriber (RFC 7785): a change of the others keeps
    /// its mappings.
    #[schemars(range(min = 32, max = 128))]
    pub subscriber_len: u8,
    /// The longest packet that links inside take, in bytes; what is longer in its tunnel is cut there.
    #[schemars(range(min = 1280))]
    pub ipv6_mtu: u16,
}

impl Default for DsLite {
    fn default() -> DsLite {
        let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
        DsLite {
            aftr: address(1),
            inside: vec![Prefixed { address: address(0), len: 32 }],
            subscriber_len: 128,
            ipv6_mtu: 1500,
        }
    }
}

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
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
    if !(1..=NETWORKS_MAX).contains(&ds_lite.inside.len()) {
        let what = format!("{} networks of B4 elements", ds_lite.inside.len());
        return refuse(what, "Give 'inside' with 1 to 1024 networks, like 2001:db8::/32");
    }
    let subscriber_len = ds_lite.subscriber_len;
    for &network in &ds_lite.inside {
        let (text, len) = (String::from(network), network.len);
        if len < NETWORK_LEN_MIN {
            let remedy = "Give networks of 32 bits or more, several where there is a larger one";
            return refuse(format!("{text} has {len} bits"), remedy);
        }
        if !(len..=128).contains(&subscriber_len) {
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
    if ds_lite.ipv6_mtu < 1280 {
        let what = format!("packets of {} bytes", ds_lite.ipv6_mtu);
        return refuse(what, "Give at least 1280 as 'ipv6-mtu'");
    }
    if config.stateless.is_some() {
        let what = "IPv6 hosts inside and softwires at once".into();
        return super::refuse("stateless", what, "Leave 'stateless' or 'ds-lite' out");
    }
    Ok(())
}

/// Whether clients can be behind softwires.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |what: &str, remedy: &str| {
        let (what, remedy) = (what.into(), remedy.into());
        Err(Invalid { section: "traffic", key: "family", what, remedy })
    };
    let Some(ds_lite) = &config.ds_lite else {
        let remedy = "Give it 'ds-lite', or set 'family' to ipv4";
        return refuse("the NAT has no softwires", remedy);
    };
    let has_room = ds_lite.inside.first().is_some_and(|network| network.len <= 96);
    if !has_room || ds_lite.subscriber_len < 128 || config.pools.is_empty() {
        let remedy = "Give a first network of 'ds-lite' with at most 96 bits, 'subscriber-len' 128, and 'pools'";
        return refuse("clients find no addresses for their B4 elements", remedy);
    }
    let most = ds_lite.ipv6_mtu.saturating_add(18);
    if traffic.pkt_size.weights().iter().any(|&(size, _)| size > most) {
        return refuse("frames are longer than links take", "Raise 'ipv6-mtu' of 'ds-lite'");
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

const NETWORKS_MAX: usize = 1024;
