//! The changes at run time, applied to the state.

use engine::Refusal;
use machine::clock::Ticks;

use super::State;
use crate::config::Route;
use crate::control::Update;

impl State {
    /// Applies a change at `now`, between two batches: packets see it wholly or not at all.
    ///
    /// # Errors
    /// When the change is impossible; nothing has changed then.
    pub fn apply(&mut self, update: &Update, now: Ticks) -> Result<(), Refusal> {
        match *update {
            Update::AddUser(user) => self.add_user(&user, now),
            Update::RemoveUser { ipv4 } => self.remove_user(ipv4),
            Update::Handover { ipv4, base_station } => self.hand_over(ipv4, base_station),
            Update::AddBaseStation(station) => self.add_base_station(station),
            Update::RemoveBaseStation { address } => self.remove_base_station(address),
            Update::AddNextHop(hop) => self.add_next_hop(hop),
            Update::RemoveNextHop { address } => self.remove_next_hop(address),
            Update::AddRoute(Route { prefix, next_hop }) => self.add_route(prefix, next_hop),
            Update::RemoveRoute { prefix } => self.remove_route(prefix),
        }
    }

    /// The entry of the neighbour that a change would remove.
    pub(crate) fn removed(&self, update: &Update) -> Option<u32> {
        match *update {
            Update::RemoveBaseStation { address } => self.station(address),
            Update::RemoveNextHop { address } => self.entry_of(address),
            _ => None,
        }
    }
}
