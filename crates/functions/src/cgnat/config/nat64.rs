//! Keys of stateful NAT64 (RFC 6146).

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::embedded::Prefix;

use super::{Config, Traffic, refuse};
use crate::sections::Prefixed;
use crate::unit::Invalid;

/// Stateful NAT64: IPv6 subscribers reach IPv4 hosts, whose addresses they write into the end of IPv6 ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Nat64 {
    /// Under which prefix IPv4 addresses are IPv6 addresses (RFC 6052), of 32, 40, 48, 56, 64 or 96 bits.
    /// The well-known one, `64:ff9b::/96`, takes global IPv4 addresses only.
    pub prefix: Prefixed<Ipv6Addr>,
    /// Networks of IPv6 subscribers; packets from elsewhere are dropped.
    #[schemars(length(max = 1024))]
    pub inside: Vec<Prefixed<Ipv6Addr>>,
    /// The longest packet that subscribers' links take, in bytes; a longer one is cut, or its sender told.
    #[schemars(range(min = 1280))]
    pub ipv6_mtu: u16,
    /// The same of the links outside.
    #[schemars(range(min = 576))]
    pub ipv4_mtu: u16,
}

impl Default for Nat64 {
    fn default() -> Nat64 {
        let prefix = |first, second, len| Prefixed {
            address: Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0),
            len,
        };
        Nat64 {
            prefix: prefix(0x64, 0xff9b, 96),
            inside: vec![prefix(0x2001, 0xdb8, 32)],
            ipv6_mtu: 1500,
            ipv4_mtu: 1500,
        }
    }
}

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(nat64) = &config.nat64 else { return Ok(()) };
    if let Err(bad) = Prefix::new(nat64.prefix.address, nat64.prefix.len) {
        let remedy = "Give a 'prefix' of 96 bits, like 64:ff9b::/96";
        return refuse("nat64", format!("{}: {bad}", String::from(nat64.prefix)), remedy);
    }
    if nat64.inside.is_empty() {
        let remedy = "Give 'inside', like 2001:db8::/32";
        return refuse("nat64", "no subscriber has an IPv6 address".into(), remedy);
    }
    if nat64.ipv6_mtu < 1280 || nat64.ipv4_mtu < 576 {
        let what = format!("packets of {} and {} bytes", nat64.ipv6_mtu, nat64.ipv4_mtu);
        let remedy = "Give at least 1280 as 'ipv6-mtu' and 576 as 'ipv4-mtu'";
        return refuse("nat64", what, remedy);
    }
    Ok(())
}

/// Whether IPv6 clients can be made.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |what: &str, remedy: &str| {
        let (what, remedy) = (what.into(), remedy.into());
        Err(Invalid { section: "traffic", key: "family", what, remedy })
    };
    let Some(nat64) = &config.nat64 else {
        return refuse(
            "the NAT has no IPv6 subscribers",
            "Give it 'nat64', or set 'family' to ipv4",
        );
    };
    let rules = config.static_rules.len() + config.one_to_many.len();
    let has_room = nat64.inside.first().is_some_and(|network| network.len <= 96);
    if !has_room || config.pools.is_empty() || rules > 0 {
        let remedy = "Give a first network of 'nat64' with at most 96 bits, and 'pools' without \
                      'static' and 'one-to-many'";
        return refuse("IPv6 clients find no addresses inside or outside", remedy);
    }
    let first = traffic.first_server.to_bits();
    let servers = [first, first.saturating_add(traffic.server - 1)].map(Ipv4Addr::from_bits);
    let prefix = Prefix::new(nat64.prefix.address, nat64.prefix.len);
    if prefix.is_ok_and(|prefix| servers.iter().any(|&server| prefix.forbids(server))) {
        let remedy = "Give another 'prefix', or a 'first-server' that is global";
        return refuse("the well-known prefix takes global servers only", remedy);
    }
    let most = nat64.ipv6_mtu.min(nat64.ipv4_mtu.saturating_add(20)).saturating_add(18);
    if traffic.pkt_size.weights().iter().any(|&(size, _)| size > most) {
        return refuse("frames are longer than links take", "Raise 'ipv6-mtu' and 'ipv4-mtu'");
    }
    Ok(())
}
