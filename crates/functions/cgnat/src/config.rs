//! The two sections of a scenario that describe a carrier-grade NAT and its traffic.
//!
//! Times are seconds. A list in place of a single value is a sweep and is expanded before these
//! types are read, but for `inside`, `pools`, `static`, `port-forwarding`, `deterministic`, `vrfs`,
//! `interfaces` and `bypass`, which are lists.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

pub use crate::alg::Alg;
pub use crate::deterministic::config::{Assignment, DeterministicRule};
pub use crate::deterministic::plan::plan as deterministic_plan;
pub use crate::ds_lite::config::DsLite;
pub use crate::fragments::config::Fragments;
use crate::further::config::IP_LEN;
pub use crate::further::config::Interface;
pub use crate::hosting::config::PoolsAnswer;
pub use crate::nat64::config::Nat64;
pub use crate::pcp::config::Pcp;
pub use crate::port_forwarding::config::{
    Forward, ForwardProtocol, PortForwarding, PortForwardingHost, PortRange,
};
pub use crate::sessions::pools::{PortBlocks, StaticRule};
use crate::sessions::timeouts::TIMEOUT_S_MAX;
pub use crate::sessions::timeouts::Timeouts;
pub use crate::siit::config::{AddressMapping, Family, SiitConfig};
pub use crate::vrfs::config::Vrf;
pub use export::{Format, Logging, Side};
pub use function_kit::HostPlace;
pub use function_kit::sections::{Dir, Mac, Prefixed};
pub use protocol_replication::{Key, Replication, Role};

/// A carrier-grade NAT: subscribers on the inside, the Internet on the outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; each owns its subscribers and the outside ports that it
    /// gives them.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// The Ethernet address of the inside port.
    pub inside_mac: Mac,
    /// The Ethernet address of the outside port.
    pub outside_mac: Mac,
    /// The IPv4 address of the inside port, which answers ARP.
    pub inside_ip: Ipv4Addr,
    /// The IPv4 address of the outside port, which answers ARP; ARP for the addresses of pools is
    /// answered there, too. A pool may have it (masquerading).
    pub outside_ip: Ipv4Addr,
    /// Length of the prefix of the inside link, as the host's interface has it.
    #[schemars(range(min = 1, max = 32))]
    pub inside_ip_len: u8,
    /// Length of the prefix of the outside link, as `inside-ip-len`.
    #[schemars(range(min = 1, max = 32))]
    pub outside_ip_len: u8,
    /// The interface of the host by which its programs use the inside one: a name, or `{name,
    /// namespace}`; none for no such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_host_interface: Option<HostPlace>,
    /// The interface of the host for the outside one, as `inside-host-interface`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_host_interface: Option<HostPlace>,
    /// When questions for the addresses of pools are answered: `always`, or `active` for while a
    /// controller says that this NAT is the active one of several.
    pub pools_answer: PoolsAnswer,
    /// The IPv6 address of the inside port, which answers Neighbor Discovery where IPv6 hosts are
    /// inside.
    pub inside_ipv6: Ipv6Addr,
    /// IPv6 address of the outside port, for addresses of inside hosts that are translated without
    /// sessions.
    pub outside_ipv6: Ipv6Addr,
    /// MAC address of the router towards subscribers, where it is not asked for.
    pub inside_next_hop_mac: Mac,
    /// MAC address of the router towards the Internet, where it is not asked for.
    pub outside_next_hop_mac: Mac,
    /// IPv4 address of the router towards subscribers, which is asked for its MAC address by ARP;
    /// none for the one of `inside-next-hop-mac`.
    pub inside_next_hop: Option<Ipv4Addr>,
    /// IPv4 address of the router towards the Internet, as `inside-next-hop`.
    pub outside_next_hop: Option<Ipv4Addr>,
    /// IPv6 address of the router towards IPv6 hosts inside, which is asked for its MAC address by
    /// Neighbor Discovery; none for the one of `inside-next-hop-mac`.
    pub inside_next_hop_ipv6: Option<Ipv6Addr>,
    /// IPv6 address of the router towards IPv6 hosts outside, as `inside-next-hop-ipv6`.
    pub outside_next_hop_ipv6: Option<Ipv6Addr>,
    /// Interfaces beside those of the ports `inside` and `outside`: further ports and VLANs.
    #[schemars(length(max = 62))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Largest IPv4 packet on inside links, in bytes; a longer one is fragmented, or its sender
    /// told (RFC 4787 REQ-13). At least what every host takes (RFC 791), or 0 for no limit.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub inside_mtu: u16,
    /// Largest IPv4 packet on outside links, in bytes, as `inside-mtu`.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub outside_mtu: u16,
    /// Networks of subscribers; packets from elsewhere are dropped.
    #[schemars(length(min = 1, max = 1024))]
    pub inside: Vec<Prefixed<Ipv4Addr>>,
    /// Networks of addresses that subscribers share, all addresses of each.
    #[schemars(length(max = 1024))]
    pub pools: Vec<Prefixed<Ipv4Addr>>,
    /// Outside addresses that pools and rules can get at run time beside those.
    #[schemars(range(max = 65_536))]
    pub spare_addresses: u32,
    /// The lowest outside port that is given away.
    #[schemars(range(min = 1, max = 32_768))]
    pub first_port: u16,
    /// How ports are given to subscribers.
    pub port_block: PortBlocks,
    /// One-to-one rules: addresses that subscribers have for themselves, ports unchanged.
    #[schemars(length(max = 1024))]
    #[serde(rename = "static")]
    pub static_rules: Vec<StaticRule>,
    /// Port forwarding rules: outside addresses that several hosts inside share by fixed ports.
    #[schemars(length(max = 1024))]
    pub port_forwarding: Vec<PortForwarding>,
    /// Deterministic rules (RFC 7422): outside address and ports follow from the inside address.
    #[schemars(length(max = 1024))]
    pub deterministic: Vec<DeterministicRule>,
    /// Stateful NAT64 (RFC 6146): networks of IPv6 subscribers, and the prefix under which they
    /// reach IPv4 hosts; none for no IPv6.
    pub nat64: Option<Nat64>,
    /// DS-Lite (RFC 6333): networks of B4 elements, behind which IPv4 subscribers may have any
    /// addresses, and the address of this end of their softwires; none for no softwires.
    pub ds_lite: Option<DsLite>,
    /// VRFs: subscribers with addresses that others have as well, told apart by the VLAN of their
    /// frames.
    #[schemars(length(max = 4094))]
    pub vrfs: Vec<Vrf>,
    /// Translation between IPv4 and IPv6 without sessions, beside NAT44: by explicit address
    /// mappings (RFC
    /// 7757) and a prefix (SIIT, NAT46, the customer's side of 464XLAT); none for no such.
    pub siit: Option<SiitConfig>,
    /// Most sessions at a time, of all workers together.
    // Numbers of sessions have 31 bits.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub sessions: u32,
    /// Most mappings at a time; 0 for as many as sessions.
    #[schemars(range(max = 1_000_000_000))]
    pub mappings: u32,
    /// Most subscribers at a time.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub subscribers: u32,
    /// Most sessions of a subscriber at a time (RFC 6888 REQ-4); 0 for no limit, none for an eighth
    /// of what its worker holds, but at least 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_per_subscriber: Option<u32>,
    /// Which packets from outside pass to a mapped port (RFC 4787 section 5).
    pub filtering: Filtering,
    /// Whether subscribers reach one another by their outside addresses (RFC 4787 REQ-9).
    pub hairpinning: bool,
    /// Networks outside to and from which packets of subscribers are forwarded as they are, without
    /// a session (RFC 6888 REQ-6); none for none.
    #[schemars(length(max = 1024))]
    pub bypass: Vec<Prefixed<Ipv4Addr>>,
    /// Whether a TCP segment without SYN opens a session, as after a restart.
    pub tcp_pick_up: bool,
    /// To whom a TCP segment that belongs to no session and opens none is answered by a reset (RFC
    /// 9293 section 3.10.7.1), instead of silence; resets count with `icmp-errors-per-s`.
    pub tcp_resets: TcpResets,
    /// For how long a port stays unused after its mapping is gone (RFC 6888 REQ-8), in seconds.
    #[schemars(range(min = 0.0, max = TIMEOUT_S_MAX))]
    pub quarantine_s: f64,
    /// How long sessions live without packets from inside.
    pub timeouts: Timeouts,
    /// The largest TCP maximum segment size that passes (RFC 4459 section 3.2), in bytes, at least
    /// what every host takes (RFC 9293 section 3.7.1); 0 leaves it as it is.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 536}]))]
    pub mss_clamp: u16,
    /// ICMP errors of its own a second at most, of all workers: about packets whose time to live
    /// ends here, and those of subscribers that get no session (RFC 5508 REQ-8, RFC 6888 REQ-11); 0
    /// for none.
    #[schemars(range(max = 1_000_000))]
    pub icmp_errors_per_s: u32,
    /// How many of them more at once after a pause.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub icmp_error_burst: u32,
    /// How fragments are followed (RFC 4787 REQ-14); `datagrams: 0` drops them.
    pub fragments: Fragments,
    /// Application-level gateways, which replace addresses in payloads (RFC 4787 REQ-10): all off
    /// unless they are switched on.
    pub alg: Alg,
    /// The Port Control Protocol (RFC 6887), by which subscribers ask for mappings (RFC 6888
    /// REQ-9); none for no answers.
    pub pcp: Option<Pcp>,
    /// Logs of blocks, of sessions when asked, and of what is exhausted (RFC 8158, RFC 6888 section
    /// 4), to a collector; none for no logs.
    pub logging: Option<Logging>,
    /// Whether another NAT is told of every session, so that it can take over.
    pub replication: Replication,
    /// Key by which ports are drawn and hashed; none draws a secret key at each start. A number
    /// makes runs repeatable.
    pub secret: Option<u64>,
    /// Key by which a subscriber finds its worker; none for `secret`, or for a number that each
    /// process draws. An active NAT of several workers and its standby need the same key.
    pub steering_key: Option<u64>,
}

/// Which packets from outside pass to a mapped port (RFC 4787 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filtering {
    /// From anybody.
    EndpointIndependent,
    /// From addresses to which the mapping has sent.
    AddressDependent,
    /// From addresses and ports to which it has sent.
    AddressAndPortDependent,
}

/// Senders whose TCP segments of no connection are answered by resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpResets {
    /// Nobody.
    None,
    /// Subscribers.
    Inside,
    /// Hosts outside as well, but for what opens a connection (RFC 5382 REQ-4).
    Both,
}

impl Default for Config {
    fn default() -> Config {
        let prefix = |a, b, len| Prefixed { address: Ipv4Addr::new(a, b, 0, 0), len };
        let mac = |last| Mac(MacAddr([0x02, 0x6e, 0x61, 0x74, 0, last]));
        Config {
            core: 1,
            inside_mac: mac(1),
            outside_mac: mac(2),
            inside_ip: Ipv4Addr::new(100, 127, 255, 254),
            outside_ip: Ipv4Addr::new(203, 0, 113, 1),
            inside_ip_len: IP_LEN,
            outside_ip_len: IP_LEN,
            inside_host_interface: None,
            outside_host_interface: None,
            pools_answer: PoolsAnswer::Always,
            inside_ipv6: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
            outside_ipv6: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2),
            inside_next_hop_mac: mac(3),
            outside_next_hop_mac: mac(4),
            inside_next_hop: None,
            outside_next_hop: None,
            inside_next_hop_ipv6: None,
            outside_next_hop_ipv6: None,
            interfaces: Vec::new(),
            inside_mtu: 0,
            outside_mtu: 0,
            inside: vec![prefix(10, 0, 8), prefix(100, 64, 10)],
            pools: vec![prefix(198, 18, 24)],
            spare_addresses: 256,
            first_port: 1024,
            port_block: PortBlocks::default(),
            static_rules: Vec::new(),
            port_forwarding: Vec::new(),
            deterministic: Vec::new(),
            nat64: None,
            ds_lite: None,
            vrfs: Vec::new(),
            siit: None,
            sessions: 1_000_000,
            mappings: 0,
            subscribers: 65_536,
            sessions_per_subscriber: None,
            filtering: Filtering::EndpointIndependent,
            hairpinning: true,
            bypass: Vec::new(),
            tcp_pick_up: false,
            tcp_resets: TcpResets::None,
            quarantine_s: 120.0,
            timeouts: Timeouts::default(),
            mss_clamp: 0,
            icmp_errors_per_s: 1000,
            icmp_error_burst: 50,
            fragments: Fragments::default(),
            alg: Alg::default(),
            pcp: None,
            logging: None,
            replication: Replication::default(),
            secret: None,
            steering_key: None,
        }
    }
}

impl Config {
    /// Outside addresses of all pools and rules.
    pub fn address_count(&self) -> u32 {
        let size = |len: u8| 1u32.checked_shl(32 - u32::from(len)).unwrap_or(0);
        self.outside().map(|(_, network)| size(network.len)).sum()
    }

    /// All pools: those for all subscribers, then those of VRFs.
    pub fn all_pools(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        let own = self.vrfs.iter().flat_map(|vrf| &vrf.pools);
        self.pools.iter().chain(own).copied()
    }

    /// Networks of outside addresses, each with its key.
    pub fn outside(&self) -> impl Iterator<Item = (&'static str, Prefixed<Ipv4Addr>)> {
        let pools = self.pools.iter().map(|&pool| ("pools", pool));
        let own = self.static_rules.iter().map(|rule| ("static", rule.outside));
        let host = |rule: &PortForwarding| Prefixed { address: rule.outside, len: 32 };
        let shared = self.port_forwarding.iter().map(move |rule| ("port-forwarding", host(rule)));
        let deterministic = self.deterministic.iter().map(|rule| ("deterministic", rule.outside));
        let of_vrfs = self.vrfs.iter().flat_map(|vrf| &vrf.pools).map(|&pool| ("vrfs", pool));
        pools.chain(own).chain(shared).chain(deterministic).chain(of_vrfs)
    }

    /// Most sessions of a subscriber at a time; 0 for no limit.
    pub fn session_limit(&self) -> u32 {
        let share = || share_of(self.sessions, self.core) / SUBSCRIBERS_MIN;
        self.sessions_per_subscriber.unwrap_or_else(|| share().max(SESSION_LIMIT_MIN))
    }

    /// Mappings at a time.
    pub fn mapping_capacity(&self) -> u32 {
        if self.mappings == 0 { self.sessions } else { self.mappings }
    }
}

/// Subscribers that a table of sessions has room for, whatever each of them opens.
const SUBSCRIBERS_MIN: u32 = 8;

/// What a subscriber may have in any case.
const SESSION_LIMIT_MIN: u32 = 256;

/// The part that one of several workers has of something: a little more than its share, because
/// they never share evenly.
pub fn share_of(count: u32, workers: u32) -> u32 {
    match workers {
        1 => count,
        _ => (u64::from(count) * 9 / 8 / u64::from(workers) + 64).min(u64::from(count)) as u32,
    }
}
