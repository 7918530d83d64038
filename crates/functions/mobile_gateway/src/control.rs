//! What can change while a mobile gateway runs: users, base stations, next hops, routes.

use std::net::{IpAddr, Ipv4Addr};

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{BaseStation, Config, NextHop, Route, User};

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

/// The changes that add what the configuration lists.
pub fn listed(config: &Config) -> impl Iterator<Item = Update> + '_ {
    let stations = config.base_stations.iter().copied().map(Update::AddBaseStation);
    let hops = config.next_hops.iter().copied().map(Update::AddNextHop);
    let routes = config.routes.iter().copied().map(Update::AddRoute);
    let users = config.users.iter().copied().map(Update::AddUser);
    stations.chain(hops).chain(routes).chain(users)
}
