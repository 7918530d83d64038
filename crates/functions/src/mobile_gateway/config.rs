//! The two sections of a scenario that describe a mobile gateway and its traffic.
//!
//! Keys, defaults and meaning are TIPSY's where TIPSY has them (`mgw`); the others say so. A list in
//! place of a single value is a sweep and is expanded before these types are read.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};
use units::BytesPerSec;
use wire::MacAddr;

use super::catalogue;
pub use crate::sections::Dir;
use crate::unit::Invalid;

/// A mobile gateway: users behind base stations on one side, servers on the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; users are spread over them.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// What becomes of a frame that matches no bearer, user or route: true sends it out of the other
    /// port as it is, for a rate that does not depend on the match; false drops it.
    pub fakedrop: bool,
    /// Users, one bearer each.
    #[schemars(range(min = 1, max = 16_000_000))]
    pub user: u32,
    /// Base stations; users are spread over them evenly.
    #[schemars(range(min = 1, max = 64_770))]
    pub bst: u32,
    /// Public servers, a /24 route each.
    #[schemars(range(min = 1, max = 64_770))]
    pub server: u32,
    /// Next hops towards the Internet.
    #[schemars(range(min = 1, max = 64_770))]
    pub nhop: u32,
    /// Rate limit of each bearer in each direction, counted in bytes of the user's IP packets: a
    /// number is byte/s, text has its unit (`10 Mbit/s`).
    pub rate_limit: BytesPerSec,
    /// How far a bearer may exceed its rate at once after a pause, as the time in which the rate earns
    /// it, in milliseconds; at least one long packet (2000 bytes). A new bearer has earned nothing
    /// yet. Not in TIPSY.
    pub burst_ms: f64,
    /// User arrivals a second, and as many departures.
    pub fluct_user: f64,
    /// Handovers a second.
    pub handover: f64,
    /// Server routes added a second, and as many removed.
    pub fluct_server: f64,
    /// The gateway's address, on both sides.
    pub gw_ip: Ipv4Addr,
    /// The gateway's MAC address, on both sides.
    #[schemars(with = "String")]
    #[serde(with = "crate::sections::mac")]
    pub gw_mac: MacAddr,
    /// The router from which downlink traffic comes.
    pub downlink_default_gw_ip: Ipv4Addr,
    /// Its MAC address.
    #[schemars(with = "String")]
    #[serde(with = "crate::sections::mac")]
    pub downlink_default_gw_mac: MacAddr,
    /// How uplink and downlink packets are carried to base stations. Not in TIPSY, which leaves it
    /// to `traffic.tunneling-method`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
    /// Whether each user has an IPv6 prefix (a /64, TS 23.501 section 5.8.2.2.2) beside the IPv4
    /// address. Not in TIPSY.
    pub ipv6: bool,
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

/// The schema knows TIPSY's word as well as the program does.
fn accept_gtp(schema: &mut schemars::Schema) {
    let tipsy = schemars::json_schema!({
        "description": "TIPSY's word for `gtp-u`.",
        "type": "string",
        "const": "gtp",
    });
    if let Some(choices) = schema.get_mut("oneOf").and_then(|choices| choices.as_array_mut()) {
        choices.push(tipsy.to_value());
    }
}

/// What the tester sends to a mobile gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go.
    pub dir: Dir,
    /// Length of the user's packet as an Ethernet frame without tunnel, check sequence included: a
    /// number, `imix`, or a map of sizes to weights (`{64: 7, 570: 4, 1518: 1}`). Tunnelled frames
    /// are longer by the tunnel's headers.
    pub pkt_size: Sizes,
    /// Packets of a trace; 0 means one for each user.
    pub pkt_num: u64,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// How users are drawn. Not in TIPSY.
    pub user_draw: Distribution,
    /// How servers are drawn. Not in TIPSY.
    pub server_draw: Distribution,
    /// How the user's UDP ports are drawn, from 1024 to 65535. Not in TIPSY.
    pub port_draw: Distribution,
    /// Share of packets that are IPv6, from 0 to 1; needs `ipv6: true` in the function. Not in
    /// TIPSY.
    pub ipv6_share: f64,
    /// How events are spaced. Not in TIPSY, which fires them all at once a second.
    pub event_pacing: Pacing,
    /// The tunnel, as TIPSY's traffic section names it; the function's `tunnel` is preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunneling_method: Option<Tunnel>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            core: 1,
            fakedrop: true,
            user: 1,
            bst: 1,
            server: 1,
            nhop: 2,
            rate_limit: BytesPerSec(10_000.0),
            burst_ms: 5.0,
            fluct_user: 0.0,
            handover: 0.0,
            fluct_server: 0.0,
            gw_ip: Ipv4Addr::new(200, 0, 0, 1),
            gw_mac: MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]),
            downlink_default_gw_ip: Ipv4Addr::new(200, 0, 0, 222),
            downlink_default_gw_mac: MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x67]),
            tunnel: None,
            ipv6: false,
        }
    }
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            dir: Dir::Uplink,
            pkt_size: Sizes::fixed(64),
            pkt_num: 10,
            random_seed: 1,
            user_draw: Distribution::Uniform,
            server_draw: Distribution::Uniform,
            port_draw: Distribution::Uniform,
            ipv6_share: 0.0,
            event_pacing: Pacing::Constant,
            tunneling_method: None,
        }
    }
}

impl Config {
    /// The tunnel in force.
    pub fn tunnel(&self) -> Tunnel {
        self.tunnel.unwrap_or(Tunnel::GtpU)
    }

    /// Bytes a bearer may exceed its rate by at once after a pause. Below one long packet, a load
    /// near the rate would lose what is earned while waiting for the next packet.
    pub fn burst_bytes(&self) -> f64 {
        (self.rate_limit.0 * self.burst_ms / 1e3).max(BURST_BYTES_MIN)
    }

    /// Whether anything changes while traffic runs.
    pub fn has_events(&self) -> bool {
        self.fluct_user > 0.0 || self.handover > 0.0 || self.fluct_server > 0.0
    }
}

/// Checks both sections and settles the tunnel.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
    settle_tunnel(config, traffic)?;
    in_range("core", config.core, 64)?;
    in_range("user", config.user, catalogue::USERS_MAX)?;
    in_range("bst", config.bst, catalogue::PAIRS_MAX)?;
    in_range("server", config.server, catalogue::PAIRS_MAX)?;
    in_range("nhop", config.nhop, catalogue::PAIRS_MAX)?;
    let rate = config.rate_limit.0;
    if !(1.0..=1e12).contains(&rate) {
        return Err(function_key(
            "rate-limit",
            format!("must be from 1 byte/s to 1e12 byte/s, not {rate}"),
            "Give byte/s as a number, or a unit, like '10 Mbit/s'",
        ));
    }
    if !(0.0..=10_000.0).contains(&config.burst_ms) {
        return Err(function_key(
            "burst-ms",
            format!("must be from 0 to 10000 milliseconds, not {}", config.burst_ms),
            "Remove the key for 5 ms",
        ));
    }
    for (key, value) in [
        ("fluct-user", config.fluct_user),
        ("handover", config.handover),
        ("fluct-server", config.fluct_server),
    ] {
        if !(0.0..=1e6).contains(&value) {
            return Err(function_key(
                key,
                format!("must be from 0 to 1000000 events a second, not {value}"),
                "Give the number of events a second, 0 for none",
            ));
        }
    }
    if !config.gw_ip.is_global_unicast_like() {
        return Err(function_key(
            "gw-ip",
            format!("{} is no address of a host", config.gw_ip),
            "Give the gateway's own unicast IPv4 address",
        ));
    }
    if catalogue::collides(config.gw_ip) {
        return Err(function_key(
            "gw-ip",
            format!("{} lies in a range that users, base stations or servers have", config.gw_ip),
            "Choose an address outside 1.0.0.0/8 to 5.255.255.255",
        ));
    }
    if config.gw_mac.is_multicast() {
        return Err(function_key(
            "gw-mac",
            format!("{} is a group address", config.gw_mac),
            "Give a MAC address whose first octet is even",
        ));
    }
    if config.tunnel() == Tunnel::Vxlan && config.user > catalogue::VNI_MAX {
        return Err(function_key(
            "user",
            format!("{} users do not fit into VXLAN's 24-bit identifiers", config.user),
            "Use 'tunnel: gtp-u', or fewer users",
        ));
    }
    if config.handover > 0.0 && config.bst < 2 {
        return Err(function_key(
            "bst",
            "a handover needs a second base station".into(),
            "Set 'bst' to 2 or more, or 'handover' to 0",
        ));
    }
    validate_traffic(config, traffic)
}

fn validate_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |key, what, remedy: &str| {
        Err(Invalid { section: "traffic", key, what, remedy: remedy.into() })
    };
    if traffic.random_seed == 0 {
        return refuse("random-seed", "must be at least 1, not 0".into(), "Give any other number");
    }
    if !(0.0..=1.0).contains(&traffic.ipv6_share) {
        return refuse(
            "ipv6-share",
            format!("must be from 0 to 1, not {}", traffic.ipv6_share),
            "Give a fraction, like 0.2 for a fifth",
        );
    }
    if traffic.ipv6_share > 0.0 && !config.ipv6 {
        return refuse(
            "ipv6-share",
            "users have no IPv6 prefix".into(),
            "Set 'ipv6: true' in the function section, or 'ipv6-share' to 0",
        );
    }
    for &(size, _) in traffic.pkt_size.weights() {
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&size) {
            return refuse(
                "pkt-size",
                format!("must be from {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes, not {size}"),
                "Give a size in this range; it counts the 4 bytes of the frame check sequence",
            );
        }
    }
    for (key, draw) in [
        ("user-draw", traffic.user_draw),
        ("server-draw", traffic.server_draw),
        ("port-draw", traffic.port_draw),
    ] {
        if let Err(what) = draw.check() {
            return refuse(key, what, "Give 'uniform', or {zipf: 1.0} with an exponent above 0");
        }
    }
    Ok(())
}

fn settle_tunnel(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
    if let (Some(function), Some(traffic)) = (config.tunnel, traffic.tunneling_method)
        && function != traffic
    {
        return Err(Invalid {
            section: "traffic",
            key: "tunneling-method",
            what: "differs from the function's tunnel".into(),
            remedy: "Remove it: 'tunnel' in the function section says it for both".into(),
        });
    }
    let tunnel = config.tunnel.or(traffic.tunneling_method).unwrap_or(Tunnel::GtpU);
    config.tunnel = Some(tunnel);
    traffic.tunneling_method = None;
    Ok(())
}

fn in_range(key: &'static str, value: u32, max: u32) -> Result<(), Invalid> {
    if (1..=max).contains(&value) {
        return Ok(());
    }
    Err(function_key(
        key,
        format!("must be from 1 to {max}, not {value}"),
        "Give at least one, and no more than there are addresses to generate",
    ))
}

fn function_key(key: &'static str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "function", key, what, remedy: remedy.into() }
}

trait HostAddress {
    fn is_global_unicast_like(&self) -> bool;
}

impl HostAddress for Ipv4Addr {
    fn is_global_unicast_like(&self) -> bool {
        !(self.is_unspecified() || self.is_multicast() || self.is_broadcast() || self.is_loopback())
    }
}

/// The least burst of a bearer: no packet of a user is longer.
const BURST_BYTES_MIN: f64 = 2000.0;

/// The shortest Ethernet frame, check sequence included (IEEE 802.3 section 4.4.2).
const FRAME_BYTES_MIN: u16 = 64;

/// The longest packet whose tunnelled frame fits into a batch's room.
const FRAME_BYTES_MAX: u16 = 1900;
