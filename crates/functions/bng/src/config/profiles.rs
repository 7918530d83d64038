//! What subscribers of a kind have in common: rates, policers, queues, a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::BytesPerSec;

use super::text::Name;

/// What subscribers of a kind have in common. Rates are of IP packets towards the Internet, and of
/// frames on the line towards the subscriber; a number is byte/s, text has its unit
/// (`10 Mbit/s`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Profile {
    /// Name of the profile.
    pub name: Name,
    /// Rate of all that a session sends; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_rate: Option<BytesPerSec>,
    /// Burst of `up-rate` in bytes.
    #[serde(default = "burst")]
    pub up_burst: u32,
    /// Policers of classes, on top of which `up-rate` is asked, then the rate of the access node.
    /// What is of no class named here has the last one.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub policers: Vec<Policer>,
    /// Rate of all that a session gets; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_rate: Option<BytesPerSec>,
    /// Burst of `down-rate` in bytes.
    #[serde(default = "burst")]
    pub down_burst: u32,
    /// Part of the session in what its access node has for a level, beside others.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub weight: u8,
    /// Bytes that each frame counts for beyond its length at `down-rate` and at the rates of
    /// queues, such as those that the line adds.
    #[serde(default)]
    #[schemars(range(min = -256, max = 256))]
    pub overhead_bytes: i16,
    /// Queues of classes. What is of no class named here has the last one; without queues packets
    /// pass at any rate.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub queues: Vec<Queue>,
    /// List of rules of sessions that have none of their own; none permits all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Name>,
}

/// A policer of a class: the two-rate three-colour marker (RFC 2698), or with one rate alone what
/// is beyond it is dropped. It is not aware of colours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Policer {
    /// Name of the class.
    pub class: Name,
    /// Committed rate.
    pub rate: BytesPerSec,
    /// Committed burst in bytes.
    #[serde(default = "burst")]
    pub burst: u32,
    /// Peak rate, beyond which packets are dropped; none is the committed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<BytesPerSec>,
    /// Peak burst in bytes.
    #[serde(default = "burst")]
    pub peak_burst: u32,
    /// The code point of packets within the committed rate; none leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub mark: Option<u8>,
    /// The code point of packets beyond it, up to the peak rate; none leaves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub mark_excess: Option<u8>,
}

/// A queue of a class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Queue {
    /// Name of the class.
    pub class: Name,
    /// Highest rate; none is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BytesPerSec>,
    /// Burst of `rate` in bytes.
    #[serde(default = "burst")]
    pub burst: u32,
    /// Level of priority: 0 goes before all others of the port.
    #[serde(default)]
    #[schemars(range(max = 7))]
    pub level: u8,
    /// Part of the queue beside those of the session that have the same level.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub weight: u8,
    /// Most bytes that wait in it.
    #[serde(default = "depth")]
    #[schemars(range(min = 2048, max = 16_777_216))]
    pub depth_bytes: u32,
    /// Whether Controlled Delay (RFC 8289) drops packets beside those for which there is no room.
    #[serde(default)]
    pub codel: bool,
}

/// Rates of the port `access`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PortQueues {
    /// Highest rate; none is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BytesPerSec>,
    /// Burst of each of these rates in bytes.
    pub burst: u32,
    /// Bytes that each frame counts for beyond its length, at these rates and those of access
    /// nodes: 24 are those of Ethernet on the line.
    #[schemars(range(min = -256, max = 256))]
    pub overhead_bytes: i16,
    /// Highest rates of the levels of priority from 0 on; those that are not said have none.
    #[schemars(length(max = 8))]
    pub levels: Vec<BytesPerSec>,
}

fn burst() -> u32 {
    20_000
}

fn depth() -> u32 {
    125_000
}

fn one() -> u8 {
    1
}
