//! The two sections of a scenario that describe a router and its traffic.
//!
//! Keys and meaning are TIPSY's where TIPSY has them (`l3fwd`); the others say so. A list in place of
//! a single value is a sweep and is expanded before these types are read, but for `next-hops` and
//! `routes`, which are lists.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};
use wire::MacAddr;

use super::catalogue;
use super::internet;
use crate::passing::Passing;

mod groups;
mod host;
mod interfaces;
mod reassembly;
mod routes;
mod services;

pub use self::groups::{Group, Member};
pub use self::host::PuntRates;
pub use self::interfaces::{
    INTERFACES_MAX, Interface, MTU_MIN, Resolved, ReversePath, VRFS_MAX, Vxlan,
};
pub use self::reassembly::EarlyFragments;
pub use self::routes::{NextHop, Route};
pub use self::services::{AclRule, Action, Algorithm, List, PoliceBy, Policer, Ports, Remark};
pub use crate::sections::{Dir, Mac, Prefixed};

/// A router with two ports: generated tables of routes, and whatever else is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; each has the whole table.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// What becomes of a packet without a route: true sends it out of the other port as it is, for a
    /// rate that does not depend on the match; false drops it. TIPSY's default, by the name `l3fwd`,
    /// is true.
    pub fakedrop: bool,
    /// Generated routes behind the uplink port.
    #[schemars(range(max = 1_000_000))]
    pub upstream_l3_table_size: u32,
    /// Next hops behind the uplink port; generated routes take them in turn.
    #[schemars(range(max = 65_024))]
    pub upstream_group_table_size: u32,
    /// Generated routes behind the downlink port.
    #[schemars(range(max = 1_000_000))]
    pub downstream_l3_table_size: u32,
    /// Next hops behind the downlink port.
    #[schemars(range(max = 65_024))]
    pub downstream_group_table_size: u32,
    /// The Ethernet address of the uplink port.
    pub uplink_mac: Mac,
    /// The Ethernet address of the downlink port.
    pub downlink_mac: Mac,
    /// Routes added a second, and as many removed.
    pub fluct_l3_table: f64,
    /// Next hops added a second, and as many removed; their routes are there all the time.
    pub fluct_group_table: f64,
    /// The source address of forwarded frames: that of the `port` by which they leave, or one of the
    /// `next-hop`, as TIPSY has it by the name `l3fwd`. Not in TIPSY.
    pub source_mac: SourceMac,
    /// Whether packets of IPv6 are routed, and each generated route has one of IPv6 (a /48) beside
    /// it. Not in TIPSY.
    pub ipv6: bool,
    /// The downlink port's IPv4 address and the length of the link's prefix. Not in TIPSY.
    pub downlink_ip: Prefixed<Ipv4Addr>,
    /// The uplink port's. Not in TIPSY.
    pub uplink_ip: Prefixed<Ipv4Addr>,
    /// The downlink port's IPv6 address and the length of the link's prefix. Not in TIPSY.
    pub downlink_ipv6: Prefixed<Ipv6Addr>,
    /// The uplink port's. Not in TIPSY.
    pub uplink_ipv6: Prefixed<Ipv6Addr>,
    /// Next hops beside the generated ones. Not in TIPSY.
    #[schemars(length(max = 65_024))]
    pub next_hops: Vec<NextHop>,
    /// Routes beside the generated ones, to next hops of that list. Not in TIPSY.
    #[schemars(length(max = 1_000_000))]
    pub routes: Vec<Route>,
    /// Groups of next hops of that list, for routes of the list to lead to. Not in TIPSY.
    #[schemars(length(max = 65_536))]
    pub next_hop_groups: Vec<Group>,
    /// Generated next hops of a port that are a group each, for generated routes to lead to; 0 for
    /// routes that lead to one next hop. Not in TIPSY.
    #[schemars(range(max = 64))]
    pub ecmp_members: u32,
    /// The weights of the members of generated groups, in turn; 1 each where there are none. Not in
    /// TIPSY.
    #[schemars(length(max = 64))]
    pub ecmp_weights: Vec<u16>,
    /// Most groups at run time; 0 for 64 more than at the start, where there are any. Not in TIPSY.
    #[schemars(range(max = 65_536))]
    pub ecmp_capacity: u32,
    /// Buckets into which the flows of a group fall, a power of two: shares are exact to one of them.
    /// Not in TIPSY.
    #[schemars(range(min = 64, max = 65_536))]
    pub ecmp_buckets: u32,
    /// What the hash of flows begins with: routers one behind the other need different ones, or the
    /// second finds all flows in one bucket. Not in TIPSY.
    pub ecmp_seed: u32,
    /// Routes of IPv4 behind the uplink port like the Internet's, by the lengths of its prefixes and as
    /// crowded; its next hops take them in turn. The Internet of 2025 had 901,899. Not in TIPSY.
    #[schemars(range(max = 2_000_000))]
    pub internet_routes: u32,
    /// The same for IPv6, where the Internet of 2025 had 160,147. Not in TIPSY.
    #[schemars(range(max = 2_000_000))]
    pub internet_routes_ipv6: u32,
    /// A file of further such routes, a prefix a line: `192.0.2.0/24`. Not in TIPSY.
    pub route_file: Option<String>,
    /// What stands in that file; checking the configuration reads it.
    #[serde(skip)]
    pub routes_read: Arc<Vec<Prefixed<IpAddr>>>,
    /// Most routes of each version of IP at run time, of all VRFs together; 0 for 65,536 more than
    /// there are at the start. Not in TIPSY.
    #[schemars(range(max = 6_000_000))]
    pub route_capacity: u32,
    /// VRFs beside the main one, each with routes of its own: 1 to this number. Not in TIPSY.
    #[schemars(range(max = 255))]
    pub vrfs: u16,
    /// Interfaces by VLAN beside the two ports' own, and what else there is to say about those. Not
    /// in TIPSY.
    #[schemars(length(max = 8192))]
    pub interfaces: Vec<Interface>,
    /// ICMP and ICMPv6 errors a second at most, both together; 0 for none. Not in TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub icmp_errors_per_s: u32,
    /// How many more errors at once after a pause. Not in TIPSY.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub icmp_error_burst: u32,
    /// Whether echo requests for the router's own addresses are answered. Not in TIPSY.
    pub ping: bool,
    /// Whether what else is for the router itself goes to a control plane; else it is dropped. Not
    /// in TIPSY.
    pub punt: bool,
    /// Packets a second for the router itself at most, by protocol. Not in TIPSY.
    pub punt_rates: PuntRates,
    /// Whether neighbours are asked for their Ethernet addresses (ARP, Neighbor Discovery), and
    /// solicitations for the router's own are answered; ARP requests are in any case. Not in TIPSY.
    pub resolve: bool,
    /// Most neighbours that are known or asked for. Not in TIPSY.
    #[schemars(range(min = 1, max = 65_536))]
    pub neighbour_capacity: u32,
    /// For how long a neighbour's answer holds, in seconds. Not in TIPSY.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub neighbour_lifetime_s: u32,
    /// Most packets that wait for answers; 8 for each neighbour. Not in TIPSY.
    #[schemars(range(min = 1, max = 4096))]
    pub pending_capacity: u32,
    /// The access list of packets that come in; what no rule permits is denied, but for an empty list.
    /// Not in TIPSY.
    #[schemars(length(max = 65_536))]
    pub ingress_acl: Vec<AclRule>,
    /// The access list of packets that leave. Not in TIPSY.
    #[schemars(length(max = 65_536))]
    pub egress_acl: Vec<AclRule>,
    /// Rules behind those of `ingress-acl`, of which only the last matches packets. Not in TIPSY.
    #[schemars(range(max = 65_536))]
    pub acl_generated: u32,
    /// Most rules of each list at run time; 0 for 256 more than at the start, where there are any. Not
    /// in TIPSY.
    #[schemars(range(max = 65_536))]
    pub acl_capacity: u32,
    /// What tells the policer of a packet. Not in TIPSY.
    pub police_by: PoliceBy,
    /// The policers, numbered from 0. Not in TIPSY.
    #[schemars(length(max = 1_048_576))]
    pub policers: Vec<Policer>,
    /// Copies of the last policer, its parent included, numbered behind the list. Not in TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub policers_generated: u32,
    /// The code points that packets of each colour get. Not in TIPSY.
    pub remark: Remark,
    /// Whether later fragments meet access lists, policers and the hash of flows with the ports that the
    /// first one of their datagram showed, and fragments that hide something are dropped. Not in TIPSY.
    pub virtual_reassembly: bool,
    /// Most datagrams whose ports are remembered; then the oldest gives way. Not in TIPSY.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub reassembly_capacity: u32,
    /// For how long they are, in milliseconds. Not in TIPSY.
    #[schemars(range(min = 1, max = 120_000))]
    pub reassembly_timeout_ms: u32,
    /// What becomes of a fragment that comes before the first one: `drop`, or `pass` as one without
    /// ports. Not in TIPSY.
    pub early_fragments: EarlyFragments,
}

/// Whose address forwarded frames bear as their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceMac {
    /// The port's own, as every router does it.
    Port,
    /// One that the next hop's entry has, as TIPSY's group tables do it.
    NextHop,
}

/// A port of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Port {
    /// Towards users.
    Downlink,
    /// Towards the Internet.
    Uplink,
}

/// What the tester sends to a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go: `uplink` from the downlink port to routes behind the uplink port.
    pub dir: Dir,
    /// Length of an Ethernet frame, check sequence included: a number, `imix`, or a map of sizes to
    /// weights (`{64: 7, 570: 4, 1518: 1}`).
    pub pkt_size: Sizes,
    /// Packets of a trace; 0 means one for each route.
    pub pkt_num: u64,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// How routes are drawn. Not in TIPSY.
    pub route_draw: Distribution,
    /// Destinations within the routes like the Internet's, drawn beside the other routes as if each
    /// were one: a random host of a random route. 0 for one in every route. Not in TIPSY.
    #[schemars(range(max = 4_000_000))]
    pub internet_flows: u32,
    /// How UDP ports are drawn, from 1024 to 65535: flows to one route. Not in TIPSY, which has one
    /// flow a route.
    pub port_draw: Distribution,
    /// Share of packets that are IPv6, from 0 to 1; needs `ipv6: true` in the function. Not in
    /// TIPSY.
    pub ipv6_share: f64,
    /// How events are spaced. Not in TIPSY, which fires them all at once a second.
    pub event_pacing: Pacing,
}

impl Default for Config {
    fn default() -> Config {
        let v4 = |a, b| Prefixed { address: Ipv4Addr::new(10, a, 0, b), len: 16 };
        let v6 =
            |link| Prefixed { address: Ipv6Addr::new(0x3fff, 0, 0, link, 0, 0, 0, 1), len: 64 };
        Config {
            core: 1,
            fakedrop: false,
            upstream_l3_table_size: 10,
            upstream_group_table_size: 2,
            downstream_l3_table_size: 2,
            downstream_group_table_size: 1,
            uplink_mac: Mac(MacAddr([0xde, 0xdd, 0xdd, 0xdd, 0, 1])),
            downlink_mac: Mac(MacAddr([0xde, 0xdd, 0xdd, 0xdd, 0, 0])),
            fluct_l3_table: 0.0,
            fluct_group_table: 0.0,
            source_mac: SourceMac::Port,
            ipv6: false,
            downlink_ip: v4(0, 1),
            uplink_ip: v4(1, 1),
            downlink_ipv6: v6(0),
            uplink_ipv6: v6(1),
            next_hops: Vec::new(),
            routes: Vec::new(),
            next_hop_groups: Vec::new(),
            ecmp_members: 0,
            ecmp_weights: Vec::new(),
            ecmp_capacity: 0,
            ecmp_buckets: 256,
            ecmp_seed: 0,
            internet_routes: 0,
            internet_routes_ipv6: 0,
            route_file: None,
            routes_read: Arc::default(),
            route_capacity: 0,
            vrfs: 0,
            interfaces: Vec::new(),
            icmp_errors_per_s: 0,
            icmp_error_burst: 10,
            ping: false,
            punt: false,
            punt_rates: PuntRates::default(),
            resolve: false,
            neighbour_capacity: 4096,
            neighbour_lifetime_s: 1200,
            pending_capacity: 64,
            ingress_acl: Vec::new(),
            egress_acl: Vec::new(),
            acl_generated: 0,
            acl_capacity: 0,
            police_by: PoliceBy::None,
            policers: Vec::new(),
            policers_generated: 0,
            remark: Remark::default(),
            virtual_reassembly: false,
            reassembly_capacity: 4096,
            reassembly_timeout_ms: 2000,
            early_fragments: EarlyFragments::default(),
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
            route_draw: Distribution::Uniform,
            internet_flows: 0,
            port_draw: Distribution::Uniform,
            ipv6_share: 0.0,
            event_pacing: Pacing::Constant,
        }
    }
}

/// What a route leads to: a prefix within a VRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    /// The VRF.
    pub vrf: u16,
    /// The network's address.
    pub address: IpAddr,
    /// Length of the prefix in bits.
    pub len: u8,
}

/// An address of the router's own with the length of the link's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The address.
    pub address: IpAddr,
    /// Length of the prefix in bits.
    pub len: u8,
    /// Number of its interface.
    pub interface: u16,
    /// The VRF of that.
    pub vrf: u16,
}

impl Network {
    /// A prefix within a VRF.
    pub fn of(vrf: u16, prefix: Prefixed<IpAddr>) -> Network {
        Network { vrf, address: prefix.address, len: prefix.len }
    }

    /// The prefix alone.
    pub fn prefix(&self) -> Prefixed<IpAddr> {
        Prefixed { address: self.address, len: self.len }
    }
}

impl Port {
    /// Both, in the order of their numbers.
    pub const ALL: [Port; 2] = [Port::Downlink, Port::Uplink];

    /// Its number.
    pub const fn id(self) -> PortId {
        PortId(self as u8)
    }

    /// The port of a number.
    pub const fn of(id: PortId) -> Port {
        if id.0 == 0 { Port::Downlink } else { Port::Uplink }
    }

    /// The other one.
    pub const fn other(self) -> Port {
        match self {
            Port::Downlink => Port::Uplink,
            Port::Uplink => Port::Downlink,
        }
    }
}

impl Config {
    /// The Ethernet address of a port.
    pub fn mac(&self, port: Port) -> MacAddr {
        match port {
            Port::Downlink => self.downlink_mac.0,
            Port::Uplink => self.uplink_mac.0,
        }
    }

    /// The IPv4 address of a port.
    pub fn ip(&self, port: Port) -> Prefixed<Ipv4Addr> {
        match port {
            Port::Downlink => self.downlink_ip,
            Port::Uplink => self.uplink_ip,
        }
    }

    /// The IPv6 address of a port.
    pub fn ipv6_of(&self, port: Port) -> Prefixed<Ipv6Addr> {
        match port {
            Port::Downlink => self.downlink_ipv6,
            Port::Uplink => self.uplink_ipv6,
        }
    }

    /// The interfaces' addresses with the lengths of their links' prefixes, each with the number of
    /// its interface and its VRF.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        self.all_interfaces().into_iter().enumerate().flat_map(|(number, interface)| {
            let link = move |(address, len)| Link {
                address,
                len,
                interface: number as u16,
                vrf: interface.vrf,
            };
            let v4 = interface.ip.map(|ip| (ip.address.into(), ip.len));
            let v6 = interface.ipv6.map(|ip| (ip.address.into(), ip.len));
            [v4, v6].into_iter().flatten().map(link)
        })
    }

    /// Generated routes behind a port.
    pub fn table_size(&self, behind: Port) -> u32 {
        match behind {
            Port::Downlink => self.downstream_l3_table_size,
            Port::Uplink => self.upstream_l3_table_size,
        }
    }

    /// Generated next hops behind a port.
    pub fn group_size(&self, behind: Port) -> u32 {
        match behind {
            Port::Downlink => self.downstream_group_table_size,
            Port::Uplink => self.upstream_group_table_size,
        }
    }

    /// All next hops of the configuration with their numbers.
    pub fn all_next_hops(&self) -> impl Iterator<Item = (u32, NextHop)> + '_ {
        let generated = Port::ALL.into_iter().flat_map(move |port| {
            (0..self.group_size(port)).map(move |number| {
                (catalogue::hop_number(port, number), catalogue::next_hop(self, port, number))
            })
        });
        let listed = self.next_hops.iter().enumerate();
        generated.chain(listed.map(|(at, hop)| (catalogue::listed_hop_number(at as u32), *hop)))
    }

    /// All routes of the configuration, to next hops by number; generated ones are of the main VRF.
    pub fn all_routes(&self) -> impl Iterator<Item = (Network, u32)> + '_ {
        let internet = internet::prefixes(self).into_iter().enumerate().map(|(place, prefix)| {
            let (address, len) = prefix;
            (Network { vrf: 0, address, len }, internet::hop(self, place))
        });
        internet.chain(self.routes_but_the_internets())
    }

    /// The same without those like the Internet's.
    pub fn routes_but_the_internets(&self) -> impl Iterator<Item = (Network, u32)> + '_ {
        let generated = Port::ALL.into_iter().flat_map(move |port| {
            (0..self.table_size(port)).flat_map(move |number| {
                let hop = self.generated_target(port, number);
                let ipv4 = catalogue::route_ipv4(port, number);
                let ipv6 = self.ipv6.then(|| catalogue::route_ipv6(port, number));
                let ipv6 = ipv6.map(|network| (network.into(), catalogue::IPV6_LEN));
                let both = [Some((ipv4.into(), catalogue::IPV4_LEN)), ipv6];
                let main = move |(address, len)| (Network { vrf: 0, address, len }, hop);
                both.into_iter().flatten().map(main)
            })
        });
        let listed = self.routes.iter();
        generated.chain(listed.map(|route| (Network::of(route.vrf, route.prefix), route.target())))
    }

    /// How many next hops come and go, and are given a route from the start.
    pub fn passing_hops(&self) -> u32 {
        Passing::new(self.fluct_group_table).count()
    }

    /// Most routes of a version of IP at run time, those to neighbours and to the router included.
    pub fn capacity(&self) -> usize {
        if self.route_capacity > 0 {
            return self.route_capacity as usize;
        }
        let tables = self.upstream_l3_table_size + self.downstream_l3_table_size;
        let groups = self.upstream_group_table_size + self.downstream_group_table_size;
        let listed = self.next_hops.len() + self.routes.len();
        let made = self.internet_routes.max(self.internet_routes_ipv6) as usize;
        (tables + groups) as usize + listed + made + self.routes_read.len() + ROUTES_SPARE
    }
}

/// Routes for which there is room beyond the configured ones; those that come and go are fewer.
const ROUTES_SPARE: usize = 1 << 16;
