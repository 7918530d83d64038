//! The `function` section of a scenario: TIPSY's counts, from which the bench generates users, base
//! stations, servers and next hops, beside the keys of the gateway.
//!
//! Keys, defaults and meaning are TIPSY's where TIPSY has them (`mgw`); the others say so. A list
//! in place of a single value is a sweep and is expanded before these types are read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::Invalid;
use function_kit::sections::{Mac, Prefixed};
use function_mobile_gateway::Update;
use function_mobile_gateway::config::{self, Config, Fragment, Fragments, Tunnel, UserToUser};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;
use wire::MacAddr;

use crate::catalogue;

/// A mobile gateway: users behind base stations on one side, servers on the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Section {
    /// Workers, each on a core of its own; users are spread over them.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// What becomes of a frame that matches no bearer, user or route: true sends it out of the
    /// other port as it is, for a rate that does not depend on the match; false drops it.
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
    /// number is byte/s, text has its unit (`10 Mbit/s`). By default the highest rate there is,
    /// which no load reaches; in a file that names TIPSY's `mgw`, TIPSY's default of 10000 byte/s.
    pub rate_limit: BytesPerSec,
    /// How far a bearer may exceed its rate at once after a pause, as the time in which the rate
    /// earns it, in milliseconds; at least one long packet (2000 bytes). A new bearer has earned
    /// nothing yet. Not in TIPSY.
    #[schemars(range(min = 0.0, max = 10_000.0))]
    pub burst_ms: f64,
    /// The largest TCP maximum segment size that users' connections get (RFC 4459 section 3.2), in
    /// bytes, and 20 less over IPv6; 0 leaves it as it is. Not in TIPSY.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 536}]))]
    pub mss_clamp: u16,
    /// Whether tunnel packets come in by `access` alone and packets for users by `core` alone. Not
    /// in TIPSY.
    pub check_ports: bool,
    /// Longest IP packet on the links to base stations, in bytes, or 0 for any; at least what every
    /// host takes (RFC 791). Not in TIPSY.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub access_mtu: u16,
    /// Longest IP packet on the links towards the Internet, in bytes, as `access-mtu`. Not in
    /// TIPSY.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub core_mtu: u16,
    /// What is cut of a packet that is too long for the links to base stations in its tunnel. Not
    /// in TIPSY.
    pub fragment: Fragment,
    /// ICMP errors of its own a second at most, by each worker; 0 for none. Not in TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub icmp_errors_per_s: u32,
    /// How many of them more at once after a pause. Not in TIPSY.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub icmp_error_burst: u32,
    /// Error indications and supported extension headers notifications of GTP-U a second at most,
    /// by each worker; 0 for none. Not in TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub gtp_errors_per_s: u32,
    /// Pings to the gateway that are answered a second at most, by each worker; 0 for none. Not in
    /// TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub pings_per_s: u32,
    /// The gateway's IPv6 address, which answers pings and Neighbor Discovery, and from which
    /// ICMPv6 errors are sent; none to send none. Not in TIPSY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gw_ipv6: Option<Ipv6Addr>,
    /// How tunnel packets that come in fragments are reassembled. Not in TIPSY.
    pub fragments: Fragments,
    /// Networks of users' addresses, packets of users to which go down the tunnel of whoever has
    /// the address. Not in TIPSY.
    #[schemars(length(max = 1024))]
    pub user_networks: Vec<Prefixed<IpAddr>>,
    /// What becomes of packets of users to `user-networks`. Not in TIPSY.
    pub user_to_user: UserToUser,
    /// Whether packets and bytes of each user are counted. Not in TIPSY.
    pub user_counters: bool,
    /// User arrivals a second, and as many departures.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub fluct_user: f64,
    /// Handovers a second.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub handover: f64,
    /// Server routes added a second, and as many removed.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub fluct_server: f64,
    /// The gateway's address, on both sides.
    pub gw_ip: Ipv4Addr,
    /// The gateway's MAC address, on both sides.
    #[schemars(with = "String")]
    #[serde(with = "function_kit::sections::mac")]
    pub gw_mac: MacAddr,
    /// The router from which downlink traffic comes.
    pub downlink_default_gw_ip: Ipv4Addr,
    /// MAC address of the default gateway downlink.
    #[schemars(with = "String")]
    #[serde(with = "function_kit::sections::mac")]
    pub downlink_default_gw_mac: MacAddr,
    /// How uplink and downlink packets are carried to base stations. Not in TIPSY, which leaves it
    /// to `traffic.tunneling-method`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
    /// Whether each user has an IPv6 prefix (a /64, TS 23.501 section 5.8.2.2.2) beside the IPv4
    /// address. Not in TIPSY.
    pub ipv6: bool,
}

impl Default for Section {
    fn default() -> Section {
        Section {
            core: 1,
            fakedrop: true,
            user: 1,
            bst: 1,
            server: 1,
            nhop: 2,
            rate_limit: config::NO_RATE_LIMIT,
            burst_ms: 5.0,
            mss_clamp: 0,
            check_ports: false,
            access_mtu: 0,
            core_mtu: 0,
            fragment: Fragment::Packet,
            icmp_errors_per_s: 0,
            icmp_error_burst: 50,
            gtp_errors_per_s: 0,
            pings_per_s: 1000,
            gw_ipv6: None,
            fragments: Fragments::default(),
            user_networks: Vec::new(),
            user_to_user: UserToUser::Tunnel,
            user_counters: false,
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

impl Section {
    /// The tunnel in force.
    pub fn tunnel(&self) -> Tunnel {
        self.tunnel.unwrap_or(Tunnel::GtpU)
    }

    /// Bytes a bearer may exceed its rate by at once after a pause. Below one long packet, a load
    /// near the rate would lose what is earned while waiting for the next packet.
    pub fn burst_bytes(&self) -> f64 {
        (self.rate_limit.0 * self.burst_ms / 1e3).max(BURST_BYTES_MIN)
    }

    /// The gateway's configuration: what it is and how much it has room for. Users, base stations,
    /// next hops and routes come by [`Section::initial`].
    pub fn config(&self) -> Config {
        let passing = |rate: f64, least: u32| (rate.ceil() as u32).saturating_add(least);
        Config {
            core: self.core,
            fakedrop: self.fakedrop,
            gw_ip: self.gw_ip,
            gw_mac: self.gw_mac,
            tunnel: self.tunnel(),
            ipv6: self.ipv6,
            rate_limit: self.rate_limit,
            burst_ms: self.burst_ms,
            mss_clamp: self.mss_clamp,
            check_ports: self.check_ports,
            access_mtu: self.access_mtu,
            core_mtu: self.core_mtu,
            fragment: self.fragment,
            icmp_errors_per_s: self.icmp_errors_per_s,
            icmp_error_burst: self.icmp_error_burst,
            gtp_errors_per_s: self.gtp_errors_per_s,
            pings_per_s: self.pings_per_s,
            gw_ipv6: self.gw_ipv6,
            fragments: self.fragments,
            user_networks: self.user_networks.clone(),
            user_to_user: self.user_to_user,
            user_counters: self.user_counters,
            user_capacity: self.user + passing(self.fluct_user, PASSING_USERS_MIN),
            base_station_capacity: self.bst,
            next_hop_capacity: self.nhop + HOPS_SPARE,
            route_capacity: self.server + passing(self.fluct_server, PASSING_SERVERS_MIN),
            secret: Some(SECRET),
            ..Config::default()
        }
    }

    /// The changes that bring everything that TIPSY generates, one after the other.
    pub fn initial(&self) -> impl Iterator<Item = Update> + '_ {
        let stations = (0..self.bst).map(|number| {
            let address = catalogue::base_station_ipv4(number);
            let mac = catalogue::base_station_mac(number);
            Update::AddBaseStation(config::BaseStation { address, mac: Some(Mac(mac)) })
        });
        let hops = (0..self.nhop).map(|number| Update::AddNextHop(catalogue::core_hop(number)));
        let routes = (0..self.server).flat_map(|number| {
            let hop = number % self.nhop;
            let network = catalogue::network(catalogue::server_ipv4(number));
            let ipv4 = catalogue::add_route(network, catalogue::SERVER_PREFIX_LEN, hop);
            let ipv6 = self.ipv6.then(|| {
                let network = catalogue::ipv6_host(catalogue::server_ipv6_prefix(number), 0);
                catalogue::add_route(network, catalogue::IPV6_PREFIX_LEN, hop)
            });
            [Some(ipv4), ipv6].into_iter().flatten()
        });
        let users = (0..self.user).map(|number| catalogue::user(number, self.bst).added());
        stations.chain(hops).chain(routes).chain(users)
    }
}

/// Checks the section and settles the tunnel.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &mut Section) -> Result<(), Invalid> {
    section.tunnel = Some(section.tunnel());
    config::check(&section.config())?;
    if catalogue::collides(section.gw_ip) {
        return Err(function_key(
            "gw-ip",
            format!("{} lies in a range that users, base stations or servers have", section.gw_ip),
            "Choose an address outside 1.0.0.0/8 to 5.255.255.255",
        ));
    }
    if section.tunnel() == Tunnel::Vxlan && section.user > catalogue::VNI_MAX {
        return Err(function_key(
            "user",
            format!("{} users do not fit into VXLAN's 24-bit identifiers", section.user),
            "Use 'tunnel: gtp-u', or fewer users",
        ));
    }
    if section.handover > 0.0 && section.bst < 2 {
        return Err(function_key(
            "bst",
            "a handover needs a second base station".into(),
            "Set 'bst' to 2 or more, or 'handover' to 0",
        ));
    }
    Ok(())
}

fn function_key(key: &'static str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "function", key: key.into(), what, remedy: remedy.into() }
}

/// The least burst of a bearer: no packet of a user is longer.
const BURST_BYTES_MIN: f64 = 2000.0;

/// Users beyond the configured and fluctuating ones for whom there is room, so that changes can be
/// tried by hand.
pub(crate) const PASSING_USERS_MIN: u32 = 64;

/// The same for routes to servers.
pub(crate) const PASSING_SERVERS_MIN: u32 = 64;

/// What spreads users over workers: any number will do, and the same one makes runs comparable.
const SECRET: u64 = 1;

/// Next hops for which there is room beside the generated ones.
pub const HOPS_SPARE: u32 = 1;
