//! What can change while a mobile gateway runs: users, their base stations, routes to servers.

use std::net::Ipv4Addr;

use engine::Refusal;
use machine::clock::Ticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue::User;
use super::state::State;

/// A change at run time; the names are TIPSY's actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// A user arrives with its bearer.
    AddUser(User),
    /// The user of this bearer departs.
    RemoveUser {
        /// Its tunnel endpoint identifier.
        teid: u32,
    },
    /// A user is now behind another base station.
    Handover {
        /// The bearer's tunnel endpoint identifier.
        teid: u32,
        /// Number of the new base station.
        base_station: u32,
    },
    /// A route to a server appears.
    AddServer {
        /// Its network.
        prefix: Ipv4Addr,
        /// Length of the network's prefix in bits.
        len: u8,
        /// Number of the next hop towards it.
        next_hop: u32,
    },
    /// A route to a server disappears.
    RemoveServer {
        /// Its network.
        prefix: Ipv4Addr,
        /// Length of the network's prefix in bits.
        len: u8,
    },
}

/// Applies a change at `now`, between two batches: packets see it wholly or not at all.
///
/// # Errors
/// When the change is impossible; nothing has changed then.
pub fn apply(state: &mut State, update: &Update, now: Ticks) -> Result<(), Refusal> {
    match *update {
        Update::AddUser(user) => state.add_user(&user, now),
        Update::RemoveUser { teid } => state.remove_user(teid),
        Update::Handover { teid, base_station } => state.hand_over(teid, base_station),
        Update::AddServer { prefix, len, next_hop } => state.add_server(prefix, len, next_hop),
        Update::RemoveServer { prefix, len } => state.remove_server(prefix, len),
    }
}
