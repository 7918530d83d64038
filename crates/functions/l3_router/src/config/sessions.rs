//! The keys by which packets of BFD are authenticated (RFC 5880 section 6.7), and sessions that are
//! set at run time.

use std::fmt;
use std::net::IpAddr;

use function_kit::PortName;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How both ends of a session of BFD authenticate their packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BfdKey {
    /// Algorithm of both ends: `simple`, `md5`, `meticulous-md5`, `sha1` or `meticulous-sha1`.
    #[serde(rename = "type")]
    pub kind: BfdKeyKind,
    /// Number of the key, the same at both ends.
    pub id: u8,
    /// The key itself: 1 to 16 characters, for SHA1 up to 20. It is shown nowhere.
    #[serde(serialize_with = "hidden", deserialize_with = "shown_or_hidden")]
    pub key: Option<BfdSecret>,
}

/// An algorithm of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BfdKeyKind {
    /// The key stands in each packet, and everybody on the way can read it.
    Simple,
    /// Keyed MD5: a captured packet can be repeated until the next change.
    Md5,
    /// Meticulous Keyed MD5: each packet has a number of its own.
    MeticulousMd5,
    /// Keyed SHA1: a captured packet can be repeated until the next change.
    Sha1,
    /// Meticulous Keyed SHA1: each packet has a number of its own.
    MeticulousSha1,
}

impl BfdKeyKind {
    /// Whether keys are of SHA1, and may be longer.
    pub fn is_sha1(self) -> bool {
        matches!(self, BfdKeyKind::Sha1 | BfdKeyKind::MeticulousSha1)
    }
}

/// A key as an operator writes it.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("minLength" = 1, "maxLength" = 20))]
pub struct BfdSecret(String);

impl BfdSecret {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for BfdSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BfdSecret")
    }
}

/// Shows that there is a key, and not which.
fn hidden<S: Serializer>(_: &Option<BfdSecret>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

/// Reads a key, or what stands for one where it is shown; it must not be left out.
fn shown_or_hidden<'d, D: Deserializer<'d>>(from: D) -> Result<Option<BfdSecret>, D::Error> {
    Option::deserialize(from)
}

/// A session of BFD with a neighbour at an interface (RFC 5881).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BfdSession {
    /// Port of the interface.
    pub port: PortName,
    /// The VLAN of the interface; none for the port's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The router's address; none for that of the interface on the neighbour's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
    /// The neighbour's address.
    pub peer: IpAddr,
    /// Interval at which it would like to send, in microseconds from 1,000.
    pub min_tx_us: u32,
    /// Interval at which it can receive, in microseconds from 1,000.
    pub min_rx_us: u32,
    /// Missing packets after which the neighbour declares it down, from 1.
    pub multiplier: u8,
    /// Interval of its own Echo packets, in microseconds from 1,000; 0 for none.
    #[serde(default)]
    pub echo_us: u32,
    /// Interval at which it can return the neighbour's Echo packets, in microseconds; 0 for none.
    #[serde(default)]
    pub min_echo_rx_us: u32,
    /// Whether it waits for the neighbour's first packet.
    #[serde(default)]
    pub passive: bool,
    /// Whether it is held down.
    #[serde(default)]
    pub shut_down: bool,
}
