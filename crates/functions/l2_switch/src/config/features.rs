//! What makes a switch of a bridge: domains, attachment circuits, storm control, mirrors.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::ethernet::{TYPE_SERVICE_VLAN, TYPE_VLAN};

use super::{Mac, Port};

/// A bridge domain: stations that can reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Domain {
    /// Number of the bridge domain, which attachments and stations refer to.
    pub id: u16,
    /// Most stations learned in it; none for `station-limit` of the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub station_limit: Option<u32>,
    /// Most frames flooded in it a second, whatever they are flooded for; none for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e12))]
    pub flood_pps: Option<f64>,
    /// What becomes of a frame for a station that the domain does not know; none for `unknown` of
    /// the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
}

/// What becomes of a frame for an unknown station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// The frame leaves by every other port.
    Flood,
    /// The frame is dropped.
    Drop,
}

/// How often a learned station may move: who moves more often flaps, as two stations with one
/// address or a loop make it look (RFC 7432 section 15.1, whose numbers are the defaults).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MoveLimit {
    /// Most moves within an interval.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub moves: u32,
    /// Seconds of an interval, which the first move begins.
    #[schemars(range(min = 0.001, max = 31_536_000))]
    pub interval_s: f64,
    /// Seconds for which a station then counts as one that flaps.
    #[schemars(range(min = 0.001, max = 31_536_000))]
    pub hold_s: f64,
    /// What becomes of it meanwhile.
    pub action: Flapping,
}

impl Default for MoveLimit {
    fn default() -> MoveLimit {
        MoveLimit { moves: 5, interval_s: 180.0, hold_s: 300.0, action: Flapping::Hold }
    }
}

/// What becomes of a station that moves too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flapping {
    /// The move is reported, and the station moves.
    Report,
    /// The station stays; its frames from elsewhere are forwarded.
    Hold,
    /// The station stays; its frames from elsewhere are dropped.
    Drop,
}

/// An attachment circuit: frames of a port, told by their VLAN tags, that belong to a domain. What
/// it takes it takes without those tags, and what leaves by it gets them (IEEE 802.1Q clause 6.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Attachment {
    /// The port.
    pub port: Port,
    /// The domain.
    pub domain: u16,
    /// The VLAN of the outer tag; none for every frame of the port that no other circuit takes,
    /// which then keeps its tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// The VLAN of the tag behind it, which is one of IEEE 802.1Q; none for frames with any, or
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub inner_vlan: Option<u16>,
    /// The protocol identifier of the outer tag.
    #[serde(default)]
    pub tpid: Tpid,
    /// Frames without a tag, or with one for the priority alone (VLAN 0), which then is removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untagged: bool,
}

/// The protocol identifier of a VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tpid {
    /// 0x8100, a customer's tag.
    #[default]
    Customer,
    /// 0x88a8, a provider's tag (IEEE 802.1ad).
    Service,
}

impl Tpid {
    /// Its number.
    pub const fn ether_type(self) -> u16 {
        match self {
            Tpid::Customer => TYPE_VLAN,
            Tpid::Service => TYPE_SERVICE_VLAN,
        }
    }
}

/// Storm control of a port: limits of the frames to many that it lets in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Storm {
    /// The port where the frames come in.
    pub port: Port,
    /// Limit of broadcast frames; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e12))]
    pub broadcast: Option<f64>,
    /// Limit of multicast frames; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e12))]
    pub multicast: Option<f64>,
    /// Limit of frames to unknown stations; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e12))]
    pub unknown: Option<f64>,
    /// Unit of the limits: packets per second, or percent of the link's rate.
    #[serde(default)]
    pub unit: StormUnit,
    /// The rate of the link, for `unit: percent`.
    #[serde(default = "link_gbps", skip_serializing_if = "is_usual_link")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e12))]
    pub link_gbps: f64,
}

/// In what storm control counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StormUnit {
    /// Packets per second.
    #[default]
    Pps,
    /// Percent of what the link carries, preamble and gap between frames included.
    Percent,
}

/// What storm control tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// For all.
    Broadcast,
    /// For a group.
    Multicast,
    /// For a station that nobody knows.
    Unknown,
}

impl Storm {
    /// The limit of a class as cost units a second, and whether a frame costs its bytes on the wire
    /// instead of 1.
    pub fn limit(&self, class: Class) -> Option<(f64, bool)> {
        let limit = match class {
            Class::Broadcast => self.broadcast,
            Class::Multicast => self.multicast,
            Class::Unknown => self.unknown,
        };
        limit.map(|limit| match self.unit {
            StormUnit::Pps => (limit, false),
            StormUnit::Percent => (limit / 100.0 * self.link_gbps * 1e9 / 8.0, true),
        })
    }
}

/// A mirror: copies of what a port receives or sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mirror {
    /// The port that is watched.
    pub port: Port,
    /// Which of its frames.
    pub direction: Direction,
    /// Where copies leave.
    pub to: Port,
    /// How copies are wrapped for a collector far away; none for copies as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erspan: Option<Erspan>,
}

/// Which frames of a port a mirror copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Frames as they come in, dropped ones included.
    Receive,
    /// Frames as they leave.
    Transmit,
}

/// A session of ERSPAN (draft-foschiano-erspan sections 4.2 and 4.3) over GRE and IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Erspan {
    /// What is told of each copy.
    #[serde(rename = "type", default, skip_serializing_if = "is_usual_type")]
    pub kind: ErspanType,
    /// Number of the session.
    #[schemars(range(max = 1023))]
    pub session: u16,
    /// The switch's address.
    pub source: Ipv4Addr,
    /// The collector's address.
    pub destination: Ipv4Addr,
    /// The switch's Ethernet address.
    pub source_mac: Mac,
    /// The Ethernet address of the collector, or of the router to it.
    pub destination_mac: Mac,
}

/// Version of ERSPAN, which decides what a copy tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErspanType {
    /// ERSPAN type II: session, sequence number, VLAN, port and direction.
    #[default]
    Ii,
    /// ERSPAN type III: as type II, with a time in units of 100 ns since the mirror was set.
    Iii,
}

fn is_usual_type(kind: &ErspanType) -> bool {
    *kind == ErspanType::Ii
}

fn link_gbps() -> f64 {
    LINK_GBPS
}

fn is_usual_link(gbps: &f64) -> bool {
    *gbps == LINK_GBPS
}

/// Gbit/s of a link about which nothing is said.
const LINK_GBPS: f64 = 10.0;
