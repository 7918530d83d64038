//! What an operator says of the controller.

use std::collections::BTreeSet;
use std::net::IpAddr;

use function_kit::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// VRRP for a router.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// The virtual routers.
    #[schemars(length(max = 255))]
    pub routers: Vec<VirtualRouter>,
}

/// A virtual router; one of IPv4 and one of IPv6 with the same number are two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VirtualRouter {
    /// The interface, by its name at the host (`host-interface` of the router).
    pub interface: String,
    /// The number of the virtual router (VRID).
    #[schemars(range(min = 1, max = 255))]
    pub vrid: u8,
    /// The virtual addresses, of one family; over IPv6 the first is a link-local one.
    #[schemars(length(min = 1, max = 64))]
    pub addresses: Vec<IpAddr>,
    /// The router of the highest priority is the active one.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 254))]
    pub priority: u8,
    /// Time between advertisements in milliseconds, a multiple of 10.
    #[serde(default = "second_ms")]
    #[schemars(range(min = 10, max = 40_950))]
    pub advert_interval_ms: u32,
    /// Whether it takes over from a router of lower priority.
    #[serde(default = "yes")]
    pub preempt: bool,
    /// How long it leaves a router of lower priority in charge, in seconds.
    #[serde(default)]
    #[schemars(range(max = 86_400))]
    pub preempt_delay_s: u32,
    /// Whether pings to the virtual addresses are answered.
    #[serde(default)]
    pub accept: bool,
    /// Neighbours to which it advertises instead of the group.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub peers: Vec<IpAddr>,
    /// What the checksum of advertisements over IPv4 covers.
    #[serde(default)]
    pub checksum: Checksum,
    /// Interfaces and next hops that lower the priority while they do not work.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub track: Vec<Track>,
}

/// What the checksum of advertisements over IPv4 covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Checksum {
    /// The message alone (RFC 9568 section 5.2.8).
    #[default]
    Rfc9568,
    /// The addresses, too, as keepalived has it.
    PseudoHeader,
}

/// An interface or a next hop that is tracked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Track {
    /// The interface, by its name at the host: it works while it has a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The next hop of the router, by its number: it works while its session of BFD is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<u32>,
    /// How much lower the priority is, which stays 1 at least.
    #[schemars(range(min = 1, max = 254))]
    pub decrement: u8,
}

impl VirtualRouter {
    /// Whether its addresses are of IPv6.
    pub fn is_v6(&self) -> bool {
        self.addresses.first().is_some_and(IpAddr::is_ipv6)
    }
}

impl Config {
    /// Checks what one key alone cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), Invalid> {
        let (mut all, mut addresses) = (BTreeSet::new(), BTreeSet::new());
        for (number, one) in self.routers.iter().enumerate() {
            if !all.insert((&one.interface, one.vrid, one.is_v6())) {
                let what = format!("has VRID {} twice at `{}`", one.vrid, one.interface);
                return Err(invalid(&key(number, "vrid"), what, "Choose another number"));
            }
            let twice = one.addresses.iter().find(|&at| !addresses.insert((&one.interface, at)));
            if let Some(address) = twice {
                let what = format!("has {address} twice at `{}`", one.interface);
                return Err(invalid(&key(number, "addresses"), what, "Remove one of them"));
            }
            if !(1..=254).contains(&one.priority) {
                let what =
                    format!("is {}; an owner of the addresses is not supported", one.priority);
                return Err(invalid(&key(number, "priority"), what, "Choose 1 to 254"));
            }
            if one.track.iter().any(|of| of.interface.is_some() == of.next_hop.is_some()) {
                let what = "needs one of `interface` and `next-hop` in each entry".to_owned();
                return Err(invalid(&key(number, "track"), what, "Give one of them"));
            }
        }
        Ok(())
    }
}

/// The path of a key of a virtual router.
pub(crate) fn key(number: usize, key: &str) -> String {
    format!("routers[{number}].{key}")
}

/// A key of the controller that cannot be used.
pub(crate) fn invalid(key: &str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "controller", key: key.to_owned(), what, remedy: remedy.into() }
}

fn hundred() -> u8 {
    100
}

fn second_ms() -> u32 {
    1000
}

fn yes() -> bool {
    true
}
