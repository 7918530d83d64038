//! The key `mix` of the `traffic` section: applications that clients use, each with sessions of its
//! own.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An application that clients use.
///
/// A session is a number of exchanges, a packet each way, at even intervals. A TCP session begins
/// with its handshake and ends by FIN both ways, the server's first; a UDP session ends by its last
/// packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Application {
    /// What it is, for people.
    pub name: String,
    /// What its packets are.
    pub protocol: Transport,
    /// Sessions that a client begins in an hour, on average.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000))]
    pub sessions_per_hour: f64,
    /// Packets each way of a session; of TCP at least four, two of which begin and end it.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub exchanges: u32,
    /// From one of them to the next, in milliseconds.
    #[schemars(range(min = 1.0, max = 1e7))]
    pub interval_ms: f64,
    /// Length of frames from clients in bytes, check sequence included; those without data are as
    /// short as a stamp allows.
    #[schemars(range(min = 64, max = 1900))]
    pub uplink_bytes: u16,
    /// Bytes of a frame to clients.
    #[schemars(range(min = 64, max = 1900))]
    pub downlink_bytes: u16,
    /// The port of servers; 0 for any port, as of peers.
    #[serde(default)]
    pub server_port: u16,
    /// Whether a client has one port for all sessions of it, as peer-to-peer applications do, and
    /// not one for each.
    #[serde(default)]
    pub one_client_port: bool,
}

/// A protocol of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A connection.
    Tcp,
}
