//! What can change while a broadband network gateway runs.

use std::net::IpAddr;

use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{Config, List, Name, NextHop, Node, Profile, Route, Session};

/// A change at run time. Each is applied between two batches, as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// A session begins.
    AddSession(Session),
    /// A session changes: what it is and has is what stands here. Its volumes go on, and what
    /// waits in its queues goes on waiting.
    ChangeSession(Session),
    /// A session ends; what waits in its queues is dropped.
    RemoveSession {
        /// Number of the session.
        number: u32,
    },
    /// What a session has used is told to the control plane, as it is when it ends.
    TellUsage {
        /// Number of the session.
        number: u32,
    },
    /// A session has another profile; what waits in its queues goes on waiting, as far as the
    /// profile has as many.
    SetProfile {
        /// Number of the session.
        number: u32,
        /// Name of the profile.
        profile: Name,
    },
    /// A session is mirrored to the collector from now on, as a session of ERSPAN. It is not part
    /// of what is remembered of a gateway, and no table shows it.
    SetMirror {
        /// Number of the session.
        number: u32,
        /// Number of the session of ERSPAN, from 0 to 1023.
        #[schemars(range(max = 1023))]
        erspan_session: u16,
    },
    /// A session is mirrored no longer.
    ClearMirror {
        /// Number of the session.
        number: u32,
    },
    /// A profile appears.
    AddProfile(Profile),
    /// A profile disappears that no session has.
    RemoveProfile {
        /// Name of the profile.
        name: Name,
    },
    /// A list of rules appears; one of the same rules is kept once.
    AddList(List),
    /// A list disappears that no session and no profile has.
    RemoveList {
        /// Name of the list.
        name: Name,
    },
    /// An access node appears.
    AddNode(Node),
    /// An access node disappears that no session has.
    RemoveNode {
        /// Name of the node.
        name: Name,
    },
    /// A next hop appears.
    AddNextHop(NextHop),
    /// A next hop disappears; no route may name it any more.
    RemoveNextHop {
        /// Address of the next hop.
        address: IpAddr,
        /// VRF of the next hop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vrf: Option<Name>,
    },
    /// A route appears.
    AddRoute(Route),
    /// A route disappears.
    RemoveRoute {
        /// Network of the route.
        prefix: Prefixed<IpAddr>,
        /// VRF of the route.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vrf: Option<Name>,
    },
}

/// The changes that add what the configuration lists, in an order in which each finds what it
/// names.
pub fn listed(config: &Config) -> impl Iterator<Item = Update> + '_ {
    let nodes = config.nodes.iter().copied().map(Update::AddNode);
    let lists = config.lists.iter().cloned().map(Update::AddList);
    let profiles = config.profiles.iter().cloned().map(Update::AddProfile);
    let hops = config.next_hops.iter().copied().map(Update::AddNextHop);
    let routes = config.routes.iter().copied().map(Update::AddRoute);
    let sessions = config.sessions.iter().copied().map(Update::AddSession);
    nodes.chain(lists).chain(profiles).chain(hops).chain(routes).chain(sessions)
}
