//! What can change while a mobile gateway runs: users, base stations, next hops, routes.

use std::net::{IpAddr, Ipv4Addr};

use engine::Refusal;
use function_kit::sections::Prefixed;
use machine::clock::Ticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{BaseStation, Config, NextHop, Route, User};
use super::state::State;

/// A change at run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// A user arrives with its bearer.
    AddUser(User),
    /// A user departs.
    RemoveUser {
        /// IPv4 address of the user.
        ipv4: Ipv4Addr,
    },
    /// A user is now behind another base station.
    Handover {
        /// The user's IPv4 address.
        ipv4: Ipv4Addr,
        /// The address of the new base station.
        base_station: Ipv4Addr,
    },
    /// A base station appears.
    AddBaseStation(BaseStation),
    /// A base station disappears. Packets for users who are still there have no route.
    RemoveBaseStation {
        /// Address of the base station.
        address: Ipv4Addr,
    },
    /// A next hop appears.
    AddNextHop(NextHop),
    /// A next hop disappears; no route may name it any more.
    RemoveNextHop {
        /// Address of the next hop.
        address: IpAddr,
    },
    /// A route appears.
    AddRoute(Route),
    /// A route disappears.
    RemoveRoute {
        /// Network of the route.
        prefix: Prefixed<IpAddr>,
    },
}

/// Applies a change at `now`, between two batches: packets see it wholly or not at all.
///
/// # Errors
/// When the change is impossible; nothing has changed then.
pub fn apply(state: &mut State, update: &Update, now: Ticks) -> Result<(), Refusal> {
    match *update {
        Update::AddUser(user) => state.add_user(&user, now),
        Update::RemoveUser { ipv4 } => state.remove_user(ipv4),
        Update::Handover { ipv4, base_station } => state.hand_over(ipv4, base_station),
        Update::AddBaseStation(station) => state.add_base_station(station),
        Update::RemoveBaseStation { address } => state.remove_base_station(address),
        Update::AddNextHop(hop) => state.add_next_hop(hop),
        Update::RemoveNextHop { address } => state.remove_next_hop(address),
        Update::AddRoute(Route { prefix, next_hop }) => state.add_route(prefix, next_hop),
        Update::RemoveRoute { prefix } => state.remove_route(prefix),
    }
}

/// The entry of the neighbour that a change would remove.
pub(super) fn removed(state: &State, update: &Update) -> Option<u32> {
    match *update {
        Update::RemoveBaseStation { address } => state.station(address),
        Update::RemoveNextHop { address } => state.entry_of(address),
        _ => None,
    }
}

/// The changes that add what the configuration lists.
pub fn listed(config: &Config) -> impl Iterator<Item = Update> + '_ {
    let stations = config.base_stations.iter().copied().map(Update::AddBaseStation);
    let hops = config.next_hops.iter().copied().map(Update::AddNextHop);
    let routes = config.routes.iter().copied().map(Update::AddRoute);
    let users = config.users.iter().copied().map(Update::AddUser);
    stations.chain(hops).chain(routes).chain(users)
}
