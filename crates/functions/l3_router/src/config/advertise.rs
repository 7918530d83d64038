//! What the router advertises on its links (RFC 4861 section 6.2.1, RFC 4191, RFC 8106).

use std::net::{IpAddr, Ipv6Addr};

use function_kit::PortName;
use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stages::router_discovery::{self as discovery, Advertisement};

use super::interfaces::Resolved;
use super::routes::network;

/// An interface by which the router advertises itself, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Advertise {
    /// Port of the interface, by its name.
    pub port: PortName,
    /// The VLAN of the interface; none for the port's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// Seconds between two advertisements at most; at least a third of it is between them.
    #[serde(default = "interval")]
    #[schemars(range(min = 4, max = 1800))]
    pub interval_s: u16,
    /// Seconds for which hosts take the router for a default one; 0 for never, and else no less
    /// than `interval-s`.
    #[serde(default = "lifetime")]
    #[schemars(range(max = 9000))]
    pub lifetime_s: u16,
    /// How hosts prefer it to other default routers.
    #[serde(default)]
    pub preference: Preference,
    /// The MTU that hosts use on the link, in bytes; 0 says nothing of it.
    #[serde(default)]
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 1280}]))]
    pub mtu: u16,
    /// The hop limit with which hosts send; 0 says nothing of it.
    #[serde(default = "hop_limit")]
    pub hop_limit: u8,
    /// Whether hosts get addresses by DHCPv6.
    #[serde(default)]
    pub managed: bool,
    /// Whether hosts get other configuration by DHCPv6.
    #[serde(default)]
    pub other_config: bool,
    /// The link's prefixes; none for that of the interface's own address.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub prefixes: Vec<AdvertisedPrefix>,
    /// Routes by the router, for hosts that take them.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub routes: Vec<AdvertisedRoute>,
    /// Name servers, which hosts may ask for three times `interval-s`.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub rdnss: Vec<Ipv6Addr>,
}

/// A prefix of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdvertisedPrefix {
    /// The prefix.
    pub prefix: Prefixed<Ipv6Addr>,
    /// Whether its addresses are on the link.
    #[serde(default = "yes")]
    pub on_link: bool,
    /// Whether hosts make themselves addresses of it, which has to be of 64 bits then.
    #[serde(default = "yes")]
    pub autonomous: bool,
    /// Seconds for which it is valid; 4294967295 for ever.
    #[serde(default = "valid")]
    pub valid_s: u32,
    /// Seconds for which addresses of it are preferred to others.
    #[serde(default = "preferred")]
    pub preferred_s: u32,
}

/// A route by the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdvertisedRoute {
    /// Where to.
    pub prefix: Prefixed<Ipv6Addr>,
    /// How hosts prefer it to the same route of other routers.
    #[serde(default)]
    pub preference: Preference,
    /// Seconds for which it is valid; 4294967295 for ever.
    #[serde(default = "route_lifetime")]
    pub lifetime_s: u32,
}

/// How hosts prefer a router or a route (RFC 4191 section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// Before others.
    High,
    /// Like all others.
    #[default]
    Medium,
    /// Behind others.
    Low,
}

impl Advertise {
    /// What is advertised at its interface.
    pub fn advertisement(&self, own: &Resolved) -> Advertisement {
        let of_link = own.ipv6.map(|prefix| AdvertisedPrefix {
            prefix,
            on_link: true,
            autonomous: prefix.len == HOST_BITS,
            valid_s: valid(),
            preferred_s: preferred(),
        });
        let prefixes = match self.prefixes[..] {
            [] => of_link.into_iter().collect(),
            _ => self.prefixes.clone(),
        };
        let prefix = |one: AdvertisedPrefix| discovery::Prefix {
            address: first_of(one.prefix),
            len: one.prefix.len,
            on_link: one.on_link,
            autonomous: one.autonomous,
            valid_s: one.valid_s,
            preferred_s: one.preferred_s,
        };
        let route = |one: &AdvertisedRoute| discovery::Route {
            address: first_of(one.prefix),
            len: one.prefix.len,
            preference: one.preference.into(),
            lifetime_s: one.lifetime_s,
        };
        Advertisement {
            hop_limit: self.hop_limit,
            managed: self.managed,
            other_config: self.other_config,
            preference: self.preference.into(),
            lifetime_s: self.lifetime_s,
            mtu: self.mtu.into(),
            prefixes: prefixes.into_iter().map(prefix).collect(),
            routes: self.routes.iter().map(route).collect(),
            servers: self.rdnss.clone(),
            servers_s: 3 * u32::from(self.interval_s),
        }
    }
}

impl From<Preference> for discovery::Preference {
    fn from(preference: Preference) -> discovery::Preference {
        match preference {
            Preference::High => discovery::Preference::High,
            Preference::Medium => discovery::Preference::Medium,
            Preference::Low => discovery::Preference::Low,
        }
    }
}

fn first_of(prefix: Prefixed<Ipv6Addr>) -> Ipv6Addr {
    match network(prefix.address.into(), prefix.len) {
        IpAddr::V6(first) => first,
        IpAddr::V4(_) => prefix.address,
    }
}

fn interval() -> u16 {
    600
}

fn lifetime() -> u16 {
    1800
}

fn hop_limit() -> u8 {
    64
}

fn valid() -> u32 {
    2_592_000
}

fn preferred() -> u32 {
    604_800
}

fn route_lifetime() -> u32 {
    1800
}

fn yes() -> bool {
    true
}

/// Bits of a prefix of which hosts make themselves addresses on Ethernet (RFC 4291 section 2.5.1).
pub const HOST_BITS: u8 = 64;
