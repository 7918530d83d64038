//! The configuration of a mobile gateway: itself, how much it has room for, and what it starts
//! with.

mod fragments;
mod listed;
mod validate;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;
use wire::{MacAddr, ethernet, gtpu, ipv4, udp, vxlan};

pub use self::fragments::{Fragment, Fragments};
pub use self::listed::{BaseStation, NextHop, Route, User, UserToUser};
pub(crate) use self::validate::is_rate;
pub use self::validate::{check, validate};

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
    /// The gateway's IPv6 address, on both sides: it answers pings and Neighbor Discovery for it,
    /// and tells senders of IPv6 packets by it what is wrong with them; none to tell them nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gw_ipv6: Option<Ipv6Addr>,
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
    /// the user has none of its own: a number is byte/s, text has its unit (`10 Mbit/s`). By
    /// default the highest rate there is, which no load reaches.
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
    /// Whether tunnel packets come in by `access` alone and packets for users by `core` alone, and
    /// others are dropped; false takes each frame for what its bytes are.
    pub check_ports: bool,
    /// Longest IP packet on the links to base stations, in bytes: at least what every host takes
    /// (RFC 791), or 0 for what the port's interface takes.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub access_mtu: u16,
    /// Longest IP packet on the links towards the Internet, in bytes, as `access-mtu`.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub core_mtu: u16,
    /// What is cut of a packet that is too long for the links to base stations in its tunnel.
    pub fragment: Fragment,
    /// How tunnel packets that come in fragments are reassembled.
    pub fragments: Fragments,
    /// ICMP errors of its own a second at most, by each worker: about packets whose time to live
    /// ends here, for nobody, without a route, or too long; 0 for none.
    #[schemars(range(max = 1_000_000))]
    pub icmp_errors_per_s: u32,
    /// How many of them more at once after a pause.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub icmp_error_burst: u32,
    /// Error indications and supported extension headers notifications of GTP-U a second at most,
    /// by each worker (TS 29.281 sections 7.3.1 and 7.2.3); 0 for none.
    #[schemars(range(max = 1_000_000))]
    pub gtp_errors_per_s: u32,
    /// Pings to the gateway's address that are answered a second at most, by each worker; 0 for
    /// none.
    #[schemars(range(max = 1_000_000))]
    pub pings_per_s: u32,
    /// Networks of users' addresses: packets of users to these go down the tunnel of whoever has
    /// the address, not to the Internet's side.
    #[schemars(length(max = 1024))]
    pub user_networks: Vec<Prefixed<IpAddr>>,
    /// What becomes of packets of users to `user-networks`.
    pub user_to_user: UserToUser,
    /// Whether packets and bytes of each user are counted.
    pub user_counters: bool,
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

/// The highest rate that a bearer can have; no load of a link reaches it.
pub const NO_RATE_LIMIT: BytesPerSec = BytesPerSec(1e12);

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

    /// What the tunnel adds to a user's packet, in bytes.
    pub(crate) fn headers_len(self) -> u16 {
        let len = match self {
            Tunnel::GtpU => gtpu::HEADER_LEN,
            Tunnel::Vxlan => vxlan::HEADER_LEN + ethernet::HEADER_LEN,
        };
        (ipv4::HEADER_LEN + udp::HEADER_LEN + len) as u16
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            core: 1,
            fakedrop: false,
            gw_ip: Ipv4Addr::new(200, 0, 0, 1),
            gw_ipv6: None,
            gw_mac: MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]),
            tunnel: Tunnel::GtpU,
            ipv6: false,
            rate_limit: NO_RATE_LIMIT,
            burst_ms: 5.0,
            mss_clamp: 0,
            check_ports: false,
            access_mtu: 0,
            core_mtu: 0,
            fragment: Fragment::Packet,
            fragments: Fragments::default(),
            icmp_errors_per_s: 1000,
            icmp_error_burst: 50,
            gtp_errors_per_s: 100,
            pings_per_s: 1000,
            user_networks: Vec::new(),
            user_to_user: UserToUser::Tunnel,
            user_counters: true,
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

/// The least burst of a bearer: no packet of a user is longer.
const BURST_BYTES_MIN: f64 = 2000.0;

/// The highest VXLAN network identifier.
const VNI_MAX: u32 = (1 << 24) - 1;
