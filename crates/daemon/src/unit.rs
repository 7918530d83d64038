//! What the daemon says of a function and of its workers.

use std::sync::Arc;

use functions::{Invalid, Standby, TableSize};
use host::Observer;
use packet::Room;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Rest;
use crate::plane::Joining;

/// Settings with which workers are started.
#[derive(Clone)]
pub struct Launch {
    /// Core of each worker.
    pub cores: Vec<usize>,
    /// Behaviour of a worker while no packet arrives.
    pub rest: Rest,
    /// Largest number of packets in a batch.
    pub batch: usize,
    /// Room of a frame.
    pub room: Room,
    /// With what workers join the host's interfaces; none where there are none.
    pub joining: Option<Joining>,
    /// Who sees the machines beside the workers.
    pub observer: Arc<Observer>,
}

/// Names of a function's counters.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Stages, without receiving and transmitting.
    pub stages: &'static [&'static str],
    /// Drop reasons.
    pub drops: &'static [&'static str],
    /// Other counters.
    pub tallies: &'static [&'static str],
    /// Tables.
    pub tables: &'static [&'static str],
}

/// Counters and times of a worker.
#[derive(Clone, Debug)]
pub struct Work {
    /// Core of the worker.
    pub core: usize,
    /// True if the worker is pinned to its core.
    pub pinned: bool,
    /// Counters of the worker.
    pub counts: engine::Counts,
    /// Ticks and packets by stage, receiving first and transmitting last.
    pub stages: Vec<(u64, u64)>,
    /// Times in which the worker did not run.
    pub gaps: engine::Gaps,
}

/// Sizes of a worker's state.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Occupancy of each table.
    pub tables: Vec<TableSize>,
    /// Size of the state in bytes.
    pub state_bytes: usize,
    /// State of replication, if the function has another one.
    pub standby: Option<Standby>,
}

/// Returns the combined state of the workers and of the other function that they tell or that tells
/// them; `None` if there is no other one.
pub(crate) fn standby(workers: &[Sizes]) -> Option<Value> {
    let all: Vec<Standby> = workers.iter().filter_map(|one| one.standby).collect();
    all.first().map(|first| {
        json!({
            "role": first.role,
            "peer": first.peer,
            "connected": all.iter().all(|one| one.is_connected),
            "synchronised": all.iter().all(|one| one.is_synchronised),
            "unacknowledged": all.iter().map(|one| one.unacknowledged).sum::<u64>(),
        })
    })
}

/// Error of a request that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    /// Description of the error, without a full stop.
    pub what: String,
    /// Remedy: an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

impl Refused {
    /// Creates a refusal with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Refused {
        Refused { what: what.into(), remedy: remedy.into() }
    }
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Refused {
        Refused { what: invalid.to_string(), remedy: invalid.remedy }
    }
}
