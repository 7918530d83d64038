//! The words of the control socket: a JSON object a line each way.
//!
//! ```text
//! {"version":1,"id":7,"ask":{"show":"counters"}}
//! {"version":1,"id":7,"ok":{…}}          or {"version":1,"id":7,"refused":{"what":…,"remedy":…}}
//! ```
//! After the answer to `capture` the connection carries a pcapng file until enough packets were copied
//! or the client closes its half; all other requests of a connection may follow one another.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::unit::Refused;

/// The version of this protocol; a daemon answers only its own.
pub const VERSION: u32 = 1;

/// The longest request, in bytes with its end of line.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// The longest answer that a client takes, in bytes.
pub const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A line to the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`VERSION`].
    pub version: u32,
    /// Comes back with the answer.
    #[serde(default)]
    pub id: u64,
    /// What is asked for.
    pub ask: Ask,
}

/// What a daemon can be asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Whether it forwards: answered once it does.
    Ready,
    /// What it has counted.
    Show(View),
    /// Entries of a table.
    Table {
        /// Which table.
        name: String,
        /// The worker whose part is shown.
        #[serde(default)]
        worker: usize,
        /// Where to begin: 0, then what `next` of the page before said.
        #[serde(default)]
        from: u64,
        /// How many at most.
        #[serde(default = "page")]
        limit: usize,
    },
    /// A change of the function, as its control has it.
    Set(Value),
    /// Read the file again.
    Reload,
    /// Write the state file.
    Save,
    /// Copies of packets, as a pcapng file.
    Capture(Capture),
    /// End.
    Stop,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// All of the following but tables and configuration.
    All,
    /// Sums over all workers, with rates.
    Counters,
    /// Ports with their counters, rates, link and facts.
    Ports,
    /// Time by stage.
    Stages,
    /// Drops by reason, of the function and of the ports.
    Drops,
    /// How full the tables are.
    Tables,
    /// Each worker.
    Workers,
    /// The configuration with all defaults.
    Config,
}

/// Which packets to copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// Of this port only.
    pub port: Option<String>,
    /// On this way only.
    pub direction: Option<Direction>,
    /// Dropped for this reason only.
    pub reason: Option<String>,
    /// Ends after so many.
    pub count: Option<u64>,
    /// Most bytes of a packet.
    pub snaplen: Option<usize>,
}

/// On which way a packet is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// As received.
    In,
    /// As sent.
    Out,
    /// As dropped, at the port where it came in.
    Drop,
}

/// A line from the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// [`VERSION`].
    pub version: u32,
    /// That of the request; 0 where none could be read.
    pub id: u64,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Ok(Value),
    /// It was not.
    Refused(Refused),
}

fn page() -> usize {
    100
}
