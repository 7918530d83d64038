//! The `function` section of a scenario: numbers by which the bench generates subscribers, servers
//! and what subscribers have in common, beside the keys of the gateway.

use function_bng::config::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;

/// The `function` section: what is generated, and what an operator writes.
pub type Section = model_kit::Section<Generated, Config>;

/// What the bench generates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Generated {
    /// Generated subscribers, one session each.
    #[schemars(range(min = 1, max = 4_000_000))]
    pub subscribers: u32,
    /// What carries packets on generated lines: Ethernet alone, sessions of PPPoE, or each of them
    /// for every other subscriber.
    pub kind: Kind,
    /// How sessions of generated subscribers come up.
    pub set_up: SetUp,
    /// Versions of IP of each subscriber: an IPv4 address; an IPv6 address (IA_NA) and a delegated
    /// prefix (IA_PD, a /56); or all three.
    pub stack: Stack,
    /// Tags of generated lines, one of the forms in `tags`. Two are a VLAN of the service for 4,000
    /// customers and one of the customer; one is shared where there are more than 4,094 lines.
    pub vlans: Vlans,
    /// Subscribers of a line, of which each has a session of its own.
    #[schemars(range(min = 1, max = 65_000))]
    pub line_hosts: u32,
    /// Longest packet that PPPoE carries, in bytes.
    #[schemars(range(min = 576, max = 9000))]
    pub mru: u16,
    /// Public servers, a route each (IPv4 a /24, IPv6 a /48).
    #[schemars(range(min = 1, max = 65_000))]
    pub server: u32,
    /// Next hops towards the Internet, which the routes take in turn.
    #[schemars(range(min = 1, max = 65_000))]
    pub nhop: u32,
    /// Access nodes, which subscribers take in turn; 0 for none.
    #[schemars(range(max = 60_000))]
    pub nodes_generated: u32,
    /// Policers of classes that each subscriber has, below one of its own (`session-rate`) and one
    /// of its access node (`node-rate`): those of the classes in their order. 0 for none, and none
    /// above.
    #[schemars(range(max = 3))]
    pub policers: u32,
    /// Queues of classes that each subscriber has, below its own rate and that of its access node:
    /// those of the classes in their order, by strict priority. 0 for none.
    #[schemars(range(max = 3))]
    pub queues: u32,
    /// Rate of each subscriber each way, of each of its policers and of each of its queues. By
    /// default the highest there is, which no load reaches.
    pub session_rate: BytesPerSec,
    /// Bytes that may wait in each of these queues.
    #[schemars(range(min = 2048, max = 16_777_216))]
    pub queue_bytes: u32,
    /// Rate of each access node each way.
    pub node_rate: BytesPerSec,
    /// How far `session-rate` and `node-rate` may be exceeded at once after a pause, as the time in
    /// which they earn that, in milliseconds; at least 20,000 bytes and at most 10^9.
    #[schemars(range(min = 0.0, max = 10_000.0))]
    pub burst_ms: f64,
    /// Rules of the list that generated subscribers have; only the last one matches packets. 0 for
    /// no list.
    #[schemars(range(max = 4096))]
    pub rules_generated: u32,
    /// Generated lists, whose rules differ; subscribers take them in turn.
    #[schemars(range(min = 1, max = 10_000))]
    pub lists_generated: u32,
    /// Sessions that begin a second, and as many that end.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub fluct_session: f64,
    /// Sessions that get another profile a second; its rates are the same.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub fluct_profile: f64,
}

/// What carries packets on lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Ethernet alone.
    Ipoe,
    /// Sessions of PPPoE (RFC 2516).
    Pppoe,
    /// Each for every other subscriber.
    Mixed,
}

/// How sessions come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SetUp {
    /// Sessions are there from the start.
    Configured,
    /// Clients, which the tester plays, bring sessions up at a daemon with the controller `bng`
    /// (the device `process`): by DHCP of the versions in `stack`, or by PPPoE without
    /// authentication. Such sessions belong to no access node.
    Protocol,
}

/// Versions of IP that a subscriber has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// IPv4 alone.
    Ipv4,
    /// IPv6 alone.
    Ipv6,
    /// IPv4 and IPv6.
    Dual,
}

/// Tags of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Vlans {
    /// None: all subscribers are on one line.
    None,
    /// One.
    One,
    /// Two.
    Two,
}

impl Default for Generated {
    fn default() -> Generated {
        Generated {
            subscribers: 1000,
            kind: Kind::Ipoe,
            set_up: SetUp::Configured,
            stack: Stack::Dual,
            vlans: Vlans::Two,
            line_hosts: 1,
            mru: 1492,
            server: 16,
            nhop: 2,
            nodes_generated: 1,
            policers: 3,
            queues: 3,
            session_rate: RATE_MAX,
            queue_bytes: 125_000,
            node_rate: RATE_MAX,
            burst_ms: 5.0,
            rules_generated: 0,
            lists_generated: 1,
            fluct_session: 0.0,
            fluct_profile: 0.0,
        }
    }
}

impl Generated {
    /// How many sessions come and go.
    pub(crate) fn passing(&self) -> u32 {
        traffic::Passing::new(self.fluct_session).count()
    }

    /// Bytes by which a rate may be exceeded at once after a pause.
    pub(crate) fn burst(&self, rate: BytesPerSec) -> u32 {
        (rate.0 * self.burst_ms / 1e3).clamp(BURST_BYTES_MIN, BURST_BYTES_MAX) as u32
    }
}

impl Stack {
    /// Whether there is IPv4, and IPv6.
    pub const fn versions(self) -> (bool, bool) {
        match self {
            Stack::Ipv4 => (true, false),
            Stack::Ipv6 => (false, true),
            Stack::Dual => (true, true),
        }
    }
}

/// The highest rate of a policer or queue.
pub(crate) const RATE_MAX: BytesPerSec = BytesPerSec(1e12);

/// No packet is longer.
const BURST_BYTES_MIN: f64 = 20_000.0;
const BURST_BYTES_MAX: f64 = 1e9;
