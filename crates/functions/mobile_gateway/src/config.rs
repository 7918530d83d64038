//! The configuration of a mobile gateway: itself, how much it has room for, and what it starts
//! with.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::Invalid;
use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;
use wire::MacAddr;

/// A mobile gateway: users behind base stations on one side, the Internet on the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; users are spread over them.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// What becomes of a frame that matches no bearer, user or route: true sends it out of the
    /// other port as it is, for measurements; false drops it.
    pub fakedrop: bool,
    /// The gateway's address, on both sides.
    pub gw_ip: Ipv4Addr,
    /// The gateway's MAC address, on both sides.
    #[schemars(with = "String")]
    #[serde(with = "function_kit::sections::mac")]
    pub gw_mac: MacAddr,
    /// How uplink and downlink packets are carried to base stations.
    pub tunnel: Tunnel,
    /// Whether users may have an IPv6 prefix (a /64, TS 23.501 section 5.8.2.2.2) beside the IPv4
    /// address; it takes one worker.
    pub ipv6: bool,
    /// Rate limit of a bearer in each direction, counted in bytes of the user's IP packets, where
    /// the user has none of its own: a number is byte/s, text has its unit (`10 Mbit/s`).
    pub rate_limit: BytesPerSec,
    /// How far a bearer may exceed its rate at once after a pause, as the time in which the rate
    /// earns it, in milliseconds; at least one long packet (2000 bytes). A new bearer has earned
    /// nothing yet.
    #[schemars(range(min = 0.0, max = 10_000.0))]
    pub burst_ms: f64,
    /// The largest TCP maximum segment size that users' connections get (RFC 4459 section 3.2), in
    /// bytes, and 20 less over IPv6; 0 leaves it as it is. Links of 1,500 bytes carry 1,424 in
    /// GTP-U.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 536}]))]
    pub mss_clamp: u16,
    /// The most users, one bearer each.
    #[schemars(range(min = 1, max = 32_000_000))]
    pub user_capacity: u32,
    /// The most base stations.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub base_station_capacity: u32,
    /// The most next hops.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub next_hop_capacity: u32,
    /// The most routes of each version of IP, beside those to base stations.
    #[schemars(range(min = 1, max = 2_000_000))]
    pub route_capacity: u32,
    /// Decides with a user's address which worker has the user. Without it, the operating system
    /// draws a number when the program starts, so that no user can choose a worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<u64>,
    /// Base stations.
    pub base_stations: Vec<BaseStation>,
    /// Next hops towards the Internet.
    pub next_hops: Vec<NextHop>,
    /// Routes towards the Internet.
    pub routes: Vec<Route>,
    /// Users, one bearer each.
    pub users: Vec<User>,
}

/// A base station: one end of its users' tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BaseStation {
    /// Address of the base station.
    pub address: Ipv4Addr,
    /// The MAC address to which frames for it are sent: its own, or that of the router before it.
    /// Without it, the base station is asked for it by ARP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<function_kit::sections::Mac>,
}

/// A router towards the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextHop {
    /// Address of the next hop, which routes refer to.
    pub address: IpAddr,
    /// MAC address of the next hop; without it, the next hop is asked for it by ARP or Neighbor
    /// Discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<function_kit::sections::Mac>,
    /// The MAC address from which it gets its frames; the gateway's own where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_mac: Option<function_kit::sections::Mac>,
}

/// A route towards the Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Route {
    /// The network: `192.0.2.0/24`, `2001:db8::/32`.
    pub prefix: Prefixed<IpAddr>,
    /// The address of a next hop.
    pub next_hop: IpAddr,
}

/// A user with its one bearer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct User {
    /// IPv4 address, by which changes name the user.
    pub ipv4: Ipv4Addr,
    /// IPv6 prefix, a /64; of no effect where the gateway's `ipv6` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Prefixed<Ipv6Addr>>,
    /// Tunnel endpoint identifier, the same in both directions.
    pub teid: u32,
    /// The address of the base station at which the user is.
    pub base_station: Ipv4Addr,
    /// Rate limit of what the user sends; the gateway's `rate-limit` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<BytesPerSec>,
    /// Rate limit of what the user gets; the gateway's `rate-limit` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downlink_rate: Option<BytesPerSec>,
}

/// How packets are carried between gateway and base stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = accept_gtp)]
pub enum Tunnel {
    /// GTP-U (TS 29.281) over UDP port 2152.
    #[serde(alias = "gtp")]
    GtpU,
    /// VXLAN (RFC 7348) over UDP port 4789, for devices that have no GTP; the network identifier
    /// stands for the tunnel endpoint identifier.
    Vxlan,
}

/// The schema knows the short word as well as the program does.
fn accept_gtp(schema: &mut schemars::Schema) {
    let short = schemars::json_schema!({
        "description": "TIPSY's word for `gtp-u`.",
        "type": "string",
        "const": "gtp",
    });
    if let Some(choices) = schema.get_mut("oneOf").and_then(|choices| choices.as_array_mut()) {
        choices.push(short.to_value());
    }
}

impl Tunnel {
    /// The highest identifier that the tunnel can carry.
    pub fn teid_max(self) -> u32 {
        match self {
            Tunnel::GtpU => u32::MAX,
            Tunnel::Vxlan => VNI_MAX,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            core: 1,
            fakedrop: false,
            gw_ip: Ipv4Addr::new(200, 0, 0, 1),
            gw_mac: MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]),
            tunnel: Tunnel::GtpU,
            ipv6: false,
            rate_limit: BytesPerSec(10_000.0),
            burst_ms: 5.0,
            mss_clamp: 0,
            user_capacity: 100_000,
            base_station_capacity: 1_000,
            next_hop_capacity: 100,
            route_capacity: 1_000,
            secret: None,
            base_stations: Vec::new(),
            next_hops: Vec::new(),
            routes: Vec::new(),
            users: Vec::new(),
        }
    }
}

/// Bytes a bearer of this rate may exceed it by at once after a pause. Below one long packet, a
/// load near the rate would lose what is earned while waiting for the next packet.
pub(crate) fn burst_bytes(rate: BytesPerSec, burst_ms: f64) -> f64 {
    (rate.0 * burst_ms / 1e3).max(BURST_BYTES_MIN)
}

/// Checks the configuration as an operator writes it.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &Config) -> Result<(), Invalid> {
    check(config)?;
    if config.ipv6 && config.core > 1 {
        return Err(function_key(
            "ipv6",
            "several workers find a user by the IPv4 address alone".into(),
            "Set `core` to 1, or `ipv6` to false",
        ));
    }
    Ok(())
}

/// Checks the configuration for workers that get their frames from something that knows whose they
/// are.
///
/// # Errors
/// The first key that cannot be used.
pub fn check(config: &Config) -> Result<(), Invalid> {
    check_rate("rate-limit", config.rate_limit)?;
    let own = config.gw_ip;
    if own.is_unspecified() || own.is_multicast() || own.is_broadcast() || own.is_loopback() {
        return Err(function_key(
            "gw-ip",
            format!("{own} is no address of a host"),
            "Give the gateway's own unicast IPv4 address",
        ));
    }
    if config.gw_mac.is_multicast() {
        return Err(function_key(
            "gw-mac",
            format!("{} is a group address", config.gw_mac),
            "Give a MAC address whose first octet is even",
        ));
    }
    check_lists(config)
}

/// What is listed refers to what is listed, once each, and there is room for it.
fn check_lists(config: &Config) -> Result<(), Invalid> {
    let stations: HashSet<Ipv4Addr> = config.base_stations.iter().map(|one| one.address).collect();
    let hops: HashSet<IpAddr> = config.next_hops.iter().map(|one| one.address).collect();
    let prefixes: BTreeSet<_> = config.routes.iter().map(|route| route.prefix).collect();
    let addresses: HashSet<Ipv4Addr> = config.users.iter().map(|user| user.ipv4).collect();
    let identifiers: HashSet<u32> = config.users.iter().map(|user| user.teid).collect();
    let (users, routes) = (config.users.len(), config.routes.len());
    for (key, listed, distinct, room) in [
        ("base-stations", config.base_stations.len(), stations.len(), config.base_station_capacity),
        ("next-hops", config.next_hops.len(), hops.len(), config.next_hop_capacity),
        ("routes", routes, prefixes.len(), config.route_capacity),
        ("users", users, addresses.len().min(identifiers.len()), config.user_capacity),
    ] {
        if listed != distinct {
            let what = format!("{} of {listed} are listed twice", listed - distinct);
            return Err(function_key(key, what, "List each address and identifier once"));
        }
        if listed > room as usize {
            let what = format!("{listed} do not fit into a capacity of {room}");
            return Err(function_key(key, what, "Raise the capacity"));
        }
    }
    if let Some(route) = config.routes.iter().find(|route| !hops.contains(&route.next_hop)) {
        let what = format!("no next hop has the address {}", route.next_hop);
        return Err(function_key("routes", what, "Add it to `next-hops`"));
    }
    for user in &config.users {
        if !stations.contains(&user.base_station) {
            let what = format!("no base station has the address {}", user.base_station);
            return Err(function_key("users", what, "Add it to `base-stations`"));
        }
        if !(1..=config.tunnel.teid_max()).contains(&user.teid) {
            let what = format!("{} is no tunnel endpoint identifier of this tunnel", user.teid);
            return Err(function_key("users", what, "Give a number from 1; VXLAN has 24 bits"));
        }
        for rate in [user.uplink_rate, user.downlink_rate].into_iter().flatten() {
            check_rate("users", rate)?;
        }
    }
    Ok(())
}

fn check_rate(key: &'static str, rate: BytesPerSec) -> Result<(), Invalid> {
    if is_rate(rate) {
        return Ok(());
    }
    Err(function_key(
        key,
        format!("must be from 1 byte/s to 1e12 byte/s, not {}", rate.0),
        "Give byte/s as a number, or a unit, like '10 Mbit/s'",
    ))
}

/// Whether a bearer can have this rate.
pub(crate) fn is_rate(rate: BytesPerSec) -> bool {
    (1.0..=1e12).contains(&rate.0)
}

fn function_key(key: &'static str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "function", key: key.into(), what, remedy: remedy.into() }
}

/// The least burst of a bearer: no packet of a user is longer.
const BURST_BYTES_MIN: f64 = 2000.0;

/// The highest VXLAN network identifier.
const VNI_MAX: u32 = (1 << 24) - 1;
