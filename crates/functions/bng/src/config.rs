//! The configuration of a broadband network gateway: itself, how much it has room for, and what it
//! starts with.

mod classes;
mod listed;
mod lists;
mod profiles;
mod text;
mod validate;

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

pub use self::classes::{CLASSES_MAX, Class, class_of_code_points};
pub use self::listed::{Collector, Line, NextHop, Node, Pppoe, Route, Session, Vrf};
pub use self::lists::{Action, Direction, List, Matched, NAMES_MAX, Net, Part, Rule};
pub use self::profiles::{Policer, PortQueues, Profile, Queue};
pub use self::text::{Label, Name};
pub(crate) use self::validate::{fault_of, is_node, is_rate, rates_of};
pub use self::validate::{is_session, validate};

/// A broadband network gateway: subscribers on one side, the Internet on the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own. More than one is not supported.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// MAC address of the port `access`.
    #[schemars(with = "String")]
    #[serde(with = "function_kit::sections::mac")]
    pub access_mac: MacAddr,
    /// MAC address of the port `core`.
    #[schemars(with = "String")]
    #[serde(with = "function_kit::sections::mac")]
    pub core_mac: MacAddr,
    /// Addresses of the gateway on all lines, which subscribers have for their router: it answers
    /// to them by ARP, Neighbor Discovery and pings, and tells subscribers by the first one of each
    /// version of IP why a packet went no further. The link-local address that follows from
    /// `access-mac` is one, too.
    #[schemars(length(max = 256))]
    pub access_addresses: Vec<IpAddr>,
    /// Addresses of the gateway on `core`, with the same meaning there.
    #[schemars(length(max = 256))]
    pub core_addresses: Vec<IpAddr>,
    /// Which tags frames of lines have: without one, with one of 802.1Q, or with two. Frames of
    /// other forms are dropped.
    #[schemars(length(min = 1, max = 3))]
    pub tags: Vec<Tags>,
    /// The type of the outer one of two tags.
    pub outer_tag: OuterTag,
    /// Longest IP packet on lines, in bytes: at least what every host takes (RFC 791), or 0 for
    /// what the port's interface takes. A session of PPPoE takes no more than its `mru`, either.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub access_mtu: u16,
    /// Longest IP packet towards the Internet, in bytes, as `access-mtu`.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
    pub core_mtu: u16,
    /// The largest TCP maximum segment size that subscribers' connections get in both directions,
    /// in bytes, and 20 less over IPv6; 0 leaves it as it is. Sessions of PPPoE with an `mru` of
    /// 1492 carry 1452.
    #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 536}]))]
    pub mss_clamp: u16,
    /// Whether the first packet of IP of a source without a session is told to the control plane,
    /// which may begin a session for a static customer; without it the packet is dropped.
    pub first_packets: bool,
    /// ICMP errors of its own a second at most: about packets whose time to live ends here, for
    /// nobody, without a route, or too long; 0 for none.
    #[schemars(range(max = 1_000_000))]
    pub icmp_errors_per_s: u32,
    /// How many of them more at once after a pause.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub icmp_error_burst: u32,
    /// Pings to the gateway's addresses that are answered a second at most; 0 for none.
    #[schemars(range(max = 1_000_000))]
    pub pings_per_s: u32,
    /// Classes of packets by their code points. Code points that no class has belong to the last
    /// one.
    #[schemars(length(min = 1, max = 8))]
    pub classes: Vec<Class>,
    /// Rates of the port `access`, below which those of nodes and subscribers are.
    pub port_queues: PortQueues,
    /// The most sessions; their numbers are from 1 to this.
    #[schemars(range(min = 1, max = 4_000_000))]
    pub session_capacity: u32,
    /// The most sessions of a line.
    #[schemars(range(min = 1, max = 65_535))]
    pub line_sessions: u32,
    /// The most queues of a session; 0 for a gateway without queues.
    #[schemars(range(max = 8))]
    pub session_queues: u32,
    /// The most policers of classes that a session has beside its own; 0 for none.
    #[schemars(range(max = 8))]
    pub session_policers: u32,
    /// Memory for packets that wait in queues, in KiB.
    #[schemars(range(min = 64, max = 16_777_216))]
    pub buffer_kib: u32,
    /// The most profiles.
    #[schemars(range(min = 1, max = 60_000))]
    pub profile_capacity: u32,
    /// The most lists of rules that differ; they may have 16 times as many names.
    #[schemars(range(min = 1, max = 60_000))]
    pub list_capacity: u32,
    /// The most rules of a list.
    #[schemars(range(min = 1, max = 4096))]
    pub list_rules: u32,
    /// The most access nodes.
    #[schemars(range(min = 1, max = 60_000))]
    pub node_capacity: u32,
    /// The most next hops.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub next_hop_capacity: u32,
    /// The most routes of each version of IP, in all VRFs together.
    #[schemars(range(min = 1, max = 2_000_000))]
    pub route_capacity: u32,
    /// Where copies of packets of mirrored sessions go; none, and no session can be mirrored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Collector>,
    /// Keys the indexes of sessions. Without it, the operating system draws a number when the
    /// program starts, so that no subscriber can choose where an entry goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<u64>,
    /// Routing instances beside the one that sessions have without `vrf`.
    #[schemars(length(max = 63))]
    pub vrfs: Vec<Vrf>,
    /// Access nodes: what many lines have in common.
    pub nodes: Vec<Node>,
    /// Lists of rules.
    pub lists: Vec<List>,
    /// Profiles of subscribers.
    pub profiles: Vec<Profile>,
    /// Next hops towards the Internet.
    pub next_hops: Vec<NextHop>,
    /// Routes towards the Internet.
    pub routes: Vec<Route>,
    /// Sessions that are there from the start.
    pub sessions: Vec<Session>,
}

/// Which tags a frame of a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tags {
    /// None.
    None,
    /// One of 802.1Q, its VLAN.
    One,
    /// Two: that of the service, then that of the customer.
    Two,
}

/// The type of the outer one of two tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OuterTag {
    /// The service tag of IEEE 802.1ad, 0x88a8.
    #[serde(rename = "802.1ad")]
    Service,
    /// The tag of IEEE 802.1Q, 0x8100, as many switches have it.
    #[serde(rename = "802.1q")]
    Customer,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            core: 1,
            access_mac: MacAddr([0x02, 0xb0, 0, 0, 0, 0x01]),
            core_mac: MacAddr([0x02, 0xb0, 0, 0, 0, 0x02]),
            access_addresses: Vec::new(),
            core_addresses: Vec::new(),
            tags: vec![Tags::None, Tags::One, Tags::Two],
            outer_tag: OuterTag::Service,
            access_mtu: 0,
            core_mtu: 0,
            mss_clamp: 0,
            first_packets: false,
            icmp_errors_per_s: 1000,
            icmp_error_burst: 50,
            pings_per_s: 1000,
            classes: classes::usual(),
            port_queues: PortQueues::default(),
            session_capacity: 16_000,
            line_sessions: 32,
            session_queues: 4,
            session_policers: 4,
            buffer_kib: 65_536,
            profile_capacity: 64,
            list_capacity: 64,
            list_rules: 128,
            node_capacity: 64,
            next_hop_capacity: 64,
            route_capacity: 1000,
            mirror: None,
            secret: None,
            vrfs: Vec::new(),
            nodes: Vec::new(),
            lists: Vec::new(),
            profiles: Vec::new(),
            next_hops: Vec::new(),
            routes: Vec::new(),
            sessions: Vec::new(),
        }
    }
}

impl Config {
    /// The number of a VRF by its name, which is 0 without one.
    pub fn vrf(&self, name: Option<Name>) -> Option<u8> {
        let Some(name) = name else { return Some(0) };
        let at = self.vrfs.iter().position(|vrf| vrf.name == name)?;
        Some(at as u8 + 1)
    }
}
