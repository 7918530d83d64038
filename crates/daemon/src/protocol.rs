//! The words of the control socket: a JSON object a line each way.
//!
//! ```text
//! {"version":1,"id":7,"ask":{"show":"counters"}}
//! {"version":1,"id":7,"ok":{…}}          or {"version":1,"id":7,"refused":{"what":…,"remedy":…}}
//! ```
//! After the answer to `capture` the connection carries a pcapng file until enough packets were
//! copied or the client closes its half. After the request `updates` lines with a change each
//! follow, up to an empty one, and then the answer; all other requests of a connection may follow
//! one another.

use std::collections::BTreeMap;

pub use function_kit::Sought;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::unit::Refused;

/// Version of this protocol; a daemon answers only requests of the same version.
pub const VERSION: u32 = 1;

/// Longest request, in bytes including the end of line.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// Longest answer that a client accepts, in bytes.
pub const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A request to the daemon, one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Protocol version, [`VERSION`].
    pub version: u32,
    /// Identifier that is repeated in the answer.
    #[serde(default)]
    pub id: u64,
    /// The request itself.
    pub ask: Ask,
}

/// Requests to a daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Asks whether the daemon forwards; answered once it does.
    Ready,
    /// Returns counters and other information.
    Show(View),
    /// Returns entries of a table.
    Table {
        /// Name of the table.
        name: String,
        /// Worker whose part is shown; none for the first one's, with the sums of what each worker
        /// counts for itself.
        #[serde(default)]
        worker: Option<usize>,
        /// First entry: 0, then the value of `next` of the previous page.
        #[serde(default)]
        from: u64,
        /// Largest number of entries.
        #[serde(default = "page")]
        limit: usize,
        /// Only the entries that are found by this, of a function an address or one with a port;
        /// then so many are looked at.
        #[serde(default)]
        of: Option<String>,
        /// Only those of a controller's table that are this by its keys.
        #[serde(default)]
        filters: BTreeMap<String, String>,
    },
    /// Returns the metrics of the controller of this name.
    Metrics(String),
    /// Changes the function, in the form of its control.
    Set(Value),
    /// Changes the function by the lines that follow, each a change in the form of its control, up
    /// to an empty line or the end of what the client says. The answer comes behind the last one.
    Updates,
    /// Reloads the configuration file.
    Reload,
    /// Writes the state file.
    Save,
    /// Returns copies of packets, as a pcapng file.
    Capture(Capture),
    /// Ends the daemon.
    Stop,
}

/// Information that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Counters, ports, stages, drops, punts and workers.
    All,
    /// Sums over all workers, with rates.
    Counters,
    /// Ports with their counters, rates, link and facts.
    Ports,
    /// Time by stage.
    Stages,
    /// Drops by reason, of the function and of the ports.
    Drops,
    /// What goes to the host and comes from it, by reason and by interface.
    Punts,
    /// The controllers by name, with their protocols and how their threads are.
    Protocols,
    /// Neighbours of the function and of all protocols.
    Neighbours,
    /// Timers of what drives protocols.
    Timers,
    /// Alarms, those that are raised and those that were.
    Alarms,
    /// Occupancy of the tables.
    Tables,
    /// What of the entries of tables is told as metrics.
    Measured,
    /// Counters of each worker.
    Workers,
    /// Configuration with all defaults.
    Config,
}

/// Selects the packets to copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// Protocol whose messages are copied; by default packets of all ports are.
    pub protocol: Option<String>,
    /// Port of the packets; by default all.
    pub port: Option<String>,
    /// Direction of the packets; by default all.
    pub direction: Option<Direction>,
    /// Drop reason of the packets; by default all.
    pub reason: Option<String>,
    /// Number of packets after which the capture ends.
    pub count: Option<u64>,
    /// Largest number of bytes per packet.
    pub snaplen: Option<usize>,
}

/// Direction in which a packet is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// As received.
    In,
    /// As sent.
    Out,
    /// As dropped, at the ingress port.
    Drop,
}

/// An answer of the daemon, one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Protocol version, [`VERSION`].
    pub version: u32,
    /// Identifier of the request; 0 if it could not be read.
    pub id: u64,
    /// Outcome of the request.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The request succeeded.
    Ok(Value),
    /// The request was refused.
    Refused(Refused),
}

fn page() -> usize {
    100
}
