//! What an operator says of a router.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::PortId;
use rows::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

mod advertise;
mod bulk;
mod derived;
mod groups;
mod host;
mod interfaces;
mod names;
mod networks;
mod ports;
mod reassembly;
mod routes;
mod services;
mod sessions;

pub use self::advertise::{Advertise, AdvertisedPrefix, AdvertisedRoute, HOST_BITS, Preference};
pub use self::bulk::FromFiles;
pub use self::groups::{GROUPS, Group, Member, group_number};
pub use self::host::PuntRates;
pub use self::interfaces::{Interface, Resolved, ReversePath, Vxlan};
pub use self::names::{HopName, HopNames, ToHop};
pub use self::networks::Network;
pub use self::ports::{DOWNLINK, Port, UPLINK, number_of};
pub use self::reassembly::EarlyFragments;
pub use self::routes::{Bfd, NextHop, Route, network};
pub use self::services::{
    AclRule, Action, Algorithm, List, Part, PoliceBy, Policer, Ports, Remark, SourcePolicers,
    TcpFlags,
};
pub use self::sessions::{BfdKey, BfdKeyKind, BfdSession};
pub use function_kit::sections::{Dir, Mac, Prefixed};
pub use function_kit::{HostInterface, HostPlace, PortName};

/// A router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; each has the whole table.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// What becomes of a packet without a route: true sends it out of the other port of two as it
    /// is, false drops it. The default by the name `l3fwd` is true.
    pub fakedrop: bool,
    /// The ports by name; none for two, `downlink` and `uplink`, with the keys that follow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), extend("anyOf" = [{"const": []}, {"minItems": 2}]))]
    pub ports: Vec<Port>,
    /// The Ethernet address of the uplink port.
    pub uplink_mac: Mac,
    /// The Ethernet address of the downlink port.
    pub downlink_mac: Mac,
    /// Whether packets of IPv6 are routed.
    pub ipv6: bool,
    /// The downlink port's IPv4 address and the length of the link's prefix.
    pub downlink_ip: Prefixed<Ipv4Addr>,
    /// The uplink port's.
    pub uplink_ip: Prefixed<Ipv4Addr>,
    /// The downlink port's IPv6 address and the length of the link's prefix.
    pub downlink_ipv6: Prefixed<Ipv6Addr>,
    /// The uplink port's.
    pub uplink_ipv6: Prefixed<Ipv6Addr>,
    /// Next hops, numbered from 0; each may have a name, too.
    #[schemars(length(max = 524_288))]
    pub next_hops: Vec<NextHop>,
    /// Next hops for which there is room, numbered from 0: those of the list, and what changes at
    /// run time add. 0 for 65,536 more than are listed.
    #[schemars(range(max = 524_288))]
    pub next_hop_capacity: u32,
    /// Most sessions of BFD, those of next hops and those of controllers; 0 for 64 more than are
    /// listed, where there are any.
    #[schemars(range(max = 16_384))]
    pub bfd_capacity: u32,
    /// Keys by which packets of BFD are authenticated, for sessions to name.
    #[schemars(length(max = 256))]
    pub bfd_keys: Vec<BfdKey>,
    /// Routes to next hops of that list or to groups.
    #[schemars(length(max = 1_000_000))]
    pub routes: Vec<Route>,
    /// Files of further routes, or directories of such: text, CSV, MRT, or what `ip route` prints.
    #[serde(skip_serializing_if = "Files::is_empty")]
    pub route_files: Files,
    /// Groups of next hops of that list, for routes to lead to.
    #[schemars(length(max = 65_536))]
    pub next_hop_groups: Vec<Group>,
    /// Most groups at run time; 0 for 64 more than at the start, where there are any.
    #[schemars(range(max = 65_536))]
    pub ecmp_capacity: u32,
    /// Buckets into which the flows of a group fall: shares are exact to one of them.
    #[schemars(extend("enum" = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]))]
    pub ecmp_buckets: u32,
    /// What the hash of flows begins with: routers one behind the other need different ones, or the
    /// second finds all flows in one bucket.
    pub ecmp_seed: u32,
    /// Most routes of each version of IP at run time, of all VRFs together; 0 for 65,536 more than
    /// there are at the start.
    #[schemars(range(max = 6_000_000))]
    pub route_capacity: u32,
    /// VRFs beside the main one, each with routes of its own: 1 to this number.
    #[schemars(range(max = 255))]
    pub vrfs: u16,
    /// Interfaces by VLAN beside the ports' own, and what else there is to say about those.
    #[schemars(length(max = 8192))]
    pub interfaces: Vec<Interface>,
    /// Interfaces by which the router advertises itself to hosts (RFC 4861 section 6.2), and what
    /// it says there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8192))]
    pub advertise: Vec<Advertise>,
    /// ICMP and ICMPv6 errors a second at most, both together; 0 for none.
    #[schemars(range(max = 1_000_000))]
    pub icmp_errors_per_s: u32,
    /// How many more errors at once after a pause.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub icmp_error_burst: u32,
    /// Whether echo requests for the router's own addresses are answered.
    pub ping: bool,
    /// Whether what else is for the router itself goes to a control plane; else it is dropped.
    pub punt: bool,
    /// Packets per second for the router itself at most, by protocol.
    pub punt_rates: PuntRates,
    /// Whether neighbours are asked for their Ethernet addresses (ARP, Neighbor Discovery), and
    /// solicitations for the router's own are answered; ARP requests are in any case.
    pub resolve: bool,
    /// Most neighbours that are known or asked for.
    #[schemars(range(min = 1, max = 65_536))]
    pub neighbour_capacity: u32,
    /// For how long a neighbour's answer holds, in seconds.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub neighbour_lifetime_s: u32,
    /// Most packets that wait for answers; 8 for each neighbour.
    #[schemars(range(min = 1, max = 4096))]
    pub pending_capacity: u32,
    /// The access list of packets that come in; what no rule permits is denied, but for an empty
    /// list.
    #[schemars(length(max = 65_536))]
    pub ingress_acl: Vec<AclRule>,
    /// The access list of packets that leave.
    #[schemars(length(max = 65_536))]
    pub egress_acl: Vec<AclRule>,
    /// Files of rules behind those of `ingress-acl`: text or CSV.
    #[serde(skip_serializing_if = "Files::is_empty")]
    pub ingress_acl_files: Files,
    /// Files of rules behind those of `egress-acl`.
    #[serde(skip_serializing_if = "Files::is_empty")]
    pub egress_acl_files: Files,
    /// Most rules of each list at run time; 0 for 256 more than at the start, where there are any.
    #[schemars(range(max = 65_536))]
    pub acl_capacity: u32,
    /// Packets per second at most that rules with `log-one-in` tell in the log, of all rules and
    /// workers together.
    #[schemars(range(min = 1, max = 200))]
    pub rule_log_per_s: u32,
    /// What tells the policer of a packet.
    pub police_by: PoliceBy,
    /// The policers, numbered from 0.
    #[schemars(length(max = 1_048_576))]
    pub policers: Vec<Policer>,
    /// Policers for which there is room, numbered from 0. 0 for 64 more than are listed.
    #[schemars(range(max = 1_048_576))]
    pub policer_capacity: u32,
    /// The policers among which a packet's source chooses with `police-by: source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policers_by_source: Option<SourcePolicers>,
    /// The code points that packets of each colour get.
    pub remark: Remark,
    /// Whether later fragments are classified by the ports of their datagram's first fragment, for
    /// access lists, policers and the flow hash, and overlapping fragments are dropped.
    pub virtual_reassembly: bool,
    /// Most datagrams whose ports are remembered; then the oldest gives way.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub reassembly_capacity: u32,
    /// For how long they are, in milliseconds.
    #[schemars(range(min = 1, max = 120_000))]
    pub reassembly_timeout_ms: u32,
    /// What becomes of a fragment that comes before the first one: `drop`, or `pass` as one without
    /// ports.
    pub early_fragments: EarlyFragments,
    /// Most extension headers of IPv6 behind which access lists and virtual reassembly look for the
    /// ports; a list that names any drops what has more.
    #[schemars(range(min = 1, max = 64))]
    pub extension_headers_max: u8,
    /// The names of next hops; checking the configuration looks them up.
    #[serde(skip)]
    pub hop_names: HopNames,
    /// What those files hold; checking the configuration reads them.
    #[serde(skip)]
    pub from_files: FromFiles,
}

impl Default for Config {
    fn default() -> Config {
        let v4 = |a, b| Prefixed { address: Ipv4Addr::new(10, a, 0, b), len: 16 };
        let v6 =
            |link| Prefixed { address: Ipv6Addr::new(0x3fff, 0, 0, link, 0, 0, 0, 1), len: 64 };
        Config {
            core: 1,
            fakedrop: false,
            ports: Vec::new(),
            uplink_mac: Mac(MacAddr([0xde, 0xdd, 0xdd, 0xdd, 0, 1])),
            downlink_mac: Mac(MacAddr([0xde, 0xdd, 0xdd, 0xdd, 0, 0])),
            ipv6: false,
            downlink_ip: v4(0, 1),
            uplink_ip: v4(1, 1),
            downlink_ipv6: v6(0),
            uplink_ipv6: v6(1),
            next_hops: Vec::new(),
            next_hop_capacity: 0,
            bfd_capacity: 0,
            bfd_keys: Vec::new(),
            routes: Vec::new(),
            route_files: Files::default(),
            next_hop_groups: Vec::new(),
            ecmp_capacity: 0,
            ecmp_buckets: 256,
            ecmp_seed: 0,
            route_capacity: 0,
            vrfs: 0,
            interfaces: Vec::new(),
            advertise: Vec::new(),
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
            ingress_acl_files: Files::default(),
            egress_acl_files: Files::default(),
            acl_capacity: 0,
            rule_log_per_s: 10,
            police_by: PoliceBy::None,
            policers: Vec::new(),
            policer_capacity: 0,
            policers_by_source: None,
            remark: Remark::default(),
            virtual_reassembly: false,
            reassembly_capacity: 4096,
            reassembly_timeout_ms: 2000,
            early_fragments: EarlyFragments::default(),
            extension_headers_max: stages::transport::HEADERS_MAX,
            hop_names: HopNames::default(),
            from_files: FromFiles::default(),
        }
    }
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

impl Config {
    /// The ports in the order of their numbers: those of the list, or without a list the downlink
    /// and the uplink port.
    pub fn all_ports(&self) -> Vec<Port> {
        if !self.ports.is_empty() {
            return self.ports.clone();
        }
        let port = |name, mac, ip, ipv6| Port {
            name,
            mac,
            ip: Some(ip),
            ipv6: Some(ipv6),
            host_interface: None,
        };
        vec![
            port(DOWNLINK, self.downlink_mac, self.downlink_ip, self.downlink_ipv6),
            port(UPLINK, self.uplink_mac, self.uplink_ip, self.uplink_ipv6),
        ]
    }

    /// The names of the ports in the order of their numbers.
    pub fn port_names(&self) -> Vec<PortName> {
        self.all_ports().into_iter().map(|port| port.name).collect()
    }

    /// The Ethernet address of a port; zero of one that does not exist.
    pub fn mac(&self, port: PortId) -> MacAddr {
        let ports = self.all_ports();
        ports.get(usize::from(port.0)).map_or(MacAddr::ZERO, |port| port.mac.0)
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

    /// All next hops of the configuration with their numbers.
    pub fn all_next_hops(&self) -> impl Iterator<Item = (u32, NextHop)> + '_ {
        (0..).zip(self.next_hops.iter().copied())
    }

    /// All routes of the configuration, to next hops and groups by number.
    pub fn all_routes(&self) -> impl Iterator<Item = (Network, u32)> + '_ {
        let listed = self.routes.iter();
        let listed = listed.map(|route| (Network::of(route.vrf, route.prefix), route.target()));
        listed.chain(self.from_files.routes.iter().copied())
    }

    /// Next hops for which there is room.
    pub fn next_hops_max(&self) -> u32 {
        match self.next_hop_capacity {
            0 => (self.next_hops.len() as u32 + NEXT_HOPS_SPARE).min(Config::NEXT_HOPS_MAX),
            capacity => capacity,
        }
    }

    /// Most routes of a version of IP at run time, those to neighbours and to the router included.
    pub fn capacity(&self) -> usize {
        match self.route_capacity {
            0 => {
                let routes = self.routes.len() + self.from_files.routes.len();
                self.next_hops.len() + routes + ROUTES_SPARE
            }
            capacity => capacity as usize,
        }
    }

    /// Most next hops that there may be.
    pub const NEXT_HOPS_MAX: u32 = 1 << 19;
}

/// Next hops for which there is room beyond the configured ones.
const NEXT_HOPS_SPARE: u32 = 1 << 16;

/// Routes for which there is room beyond the configured ones.
const ROUTES_SPARE: usize = 1 << 16;
