//! What can change while a bridge runs: its stations.

use engine::Refusal;
use machine::clock::Ticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{Mac, Port};
use super::state::State;

/// A change at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// A station is known to be behind a port from now on, and never forgotten.
    SetStation {
        /// Its address.
        mac: Mac,
        /// Where it is.
        port: Port,
    },
    /// A station is not known any more, wherever its place was known from.
    RemoveStation {
        /// Its address.
        mac: Mac,
    },
    /// As if a frame of the station had come in at a port.
    Learn {
        /// Its address.
        mac: Mac,
        /// Where it came in.
        port: Port,
    },
}

/// Applies a change between two batches.
///
/// # Errors
/// When the change is impossible; nothing has changed then.
pub fn apply(state: &mut State, update: &Update, now: Ticks) -> Result<(), Refusal> {
    match *update {
        Update::SetStation { mac, port } => state.set_station(mac.0, port),
        Update::RemoveStation { mac } => state.remove_station(mac.0, now),
        Update::Learn { mac, port } => state.learn_from_control(mac.0, port, now),
    }
}
