//! What an operator says of the controller.

use std::collections::BTreeSet;
use std::net::IpAddr;

use controller_kit::keys::invalid;
use function_kit::Invalid;
use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// VRRP for a router or a NAT.
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
    /// The interface, by its name at the host (`host-interface` of the function).
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
    /// Interfaces, next hops and routes that lower the priority while they do not work.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub track: Vec<Track>,
    /// The name of the group with which it is active, or not at all; none for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub group: Option<String>,
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

/// An interface, a next hop or a route that is tracked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Track {
    /// The interface, by its name at the host: it works while it has a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The next hop of the router, by its number: it works while its session of BFD is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<u32>,
    /// The route of the router: it works while the very prefix stands in the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Prefixed<IpAddr>>,
    /// The VRF of the route; 0 is the main one.
    #[serde(default, skip_serializing_if = "is_main")]
    pub vrf: u16,
    /// How much lower the priority is, which stays 1 at least.
    #[schemars(range(min = 1, max = 254))]
    pub decrement: u8,
}

impl Track {
    /// Whether it names one thing, and keys of that alone.
    fn is_of_one(&self) -> bool {
        let named = [self.interface.is_some(), self.next_hop.is_some(), self.route.is_some()];
        let is_one = named.into_iter().filter(|is_there| *is_there).count() == 1;
        is_one && (self.route.is_some() || self.vrf == 0)
    }
}

impl VirtualRouter {
    /// What decides whose turn it is.
    fn turn(&self) -> (u8, bool, u32) {
        (self.priority, self.preempt, self.preempt_delay_s)
    }

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
            if !one.track.iter().all(Track::is_of_one) {
                let what = "needs one of `interface`, `next-hop` and `route` in each entry";
                let remedy = "Give one of them, and `vrf` with `route` alone";
                return Err(invalid(&key(number, "track"), what.to_owned(), remedy));
            }
            let group = one.group.as_ref();
            let is_its = |other: &&VirtualRouter| group.is_some() && other.group.as_ref() == group;
            let first = self.routers.iter().find(is_its).unwrap_or(one);
            if first.turn() != one.turn() {
                let what = "has another priority or preemption than the first one of its group";
                let remedy = "Give all of a group the same: they change their state together";
                return Err(invalid(&key(number, "group"), what.to_owned(), remedy));
            }
        }
        Ok(())
    }
}

/// The path of a key of a virtual router.
pub(crate) fn key(number: usize, key: &str) -> String {
    format!("routers[{number}].{key}")
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

fn is_main(vrf: &u16) -> bool {
    *vrf == 0
}
