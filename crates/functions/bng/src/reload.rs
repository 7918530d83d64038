//! From one state of a running gateway to another, said as changes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use function_kit::Invalid;
use function_kit::sections::Prefixed;

use super::config::{Config, List, Name, NextHop, Node, Profile, Route, Session};
use super::control::Update;
use super::state::{State, without_lists};

/// What is there at a time, each by its name.
struct Listed {
    nodes: BTreeMap<Name, Node>,
    lists: BTreeMap<Name, List>,
    profiles: BTreeMap<Name, Profile>,
    hops: BTreeMap<(Option<Name>, IpAddr), NextHop>,
    routes: BTreeMap<(Option<Name>, Prefixed<IpAddr>), Route>,
    sessions: BTreeMap<u32, Session>,
}

impl Listed {
    fn of_config(config: &Config) -> Listed {
        Listed {
            nodes: config.nodes.iter().map(|one| (one.name, *one)).collect(),
            lists: config.lists.iter().map(|one| (one.name, one.clone())).collect(),
            profiles: config.profiles.iter().map(|one| (one.name, one.clone())).collect(),
            hops: config.next_hops.iter().map(|one| ((one.vrf, one.address), *one)).collect(),
            routes: config.routes.iter().map(|one| ((one.vrf, one.prefix), *one)).collect(),
            sessions: config.sessions.iter().map(|one| (one.number, *one)).collect(),
        }
    }

    fn of_state(state: &State) -> Listed {
        Listed {
            nodes: state.nodes.all().map(|one| (one.name, *one)).collect(),
            lists: state.lists.all().map(|one| (one.name, one.clone())).collect(),
            profiles: state.profiles.named.all().map(|one| (one.name, one.clone())).collect(),
            hops: state.hops.all().map(|one| ((one.vrf, one.address), one)).collect(),
            routes: state.hops.routes().map(|one| ((one.vrf, one.prefix), one)).collect(),
            sessions: state.all_sessions().map(|one| (one.number, one)).collect(),
        }
    }

    /// Whether a list, a node or a profile is the same in both, with all that it names.
    fn has_same_list(&self, other: &Listed, name: Name) -> bool {
        self.lists.get(&name) == other.lists.get(&name)
    }

    fn has_same_profile(&self, other: &Listed, name: Name) -> bool {
        let own = self.profiles.get(&name);
        let list = own.and_then(|profile| profile.list);
        own == other.profiles.get(&name) && list.is_none_or(|list| self.has_same_list(other, list))
    }

    /// Whether a session can stay while what it names changes, and become another one.
    fn stays(&self, wanted: &Listed, session: &Session) -> bool {
        let Some(other) = wanted.sessions.get(&session.number) else { return false };
        let Session { profile, list, node, user, circuit, .. } = *other;
        let is_same = Session { profile, list, node, user, circuit, ..*session } == *other;
        is_same
            && self.has_same_profile(wanted, session.profile)
            && session.list.is_none_or(|list| self.has_same_list(wanted, list))
            && session.node.is_none_or(|node| self.nodes.get(&node) == wanted.nodes.get(&node))
    }

    fn has_same_hop(&self, other: &Listed, route: &Route) -> bool {
        let key = (route.vrf, route.next_hop);
        self.hops.get(&key) == other.hops.get(&key)
    }

    /// The changes that lead from this to another: what refers to something goes before it and
    /// comes after it.
    fn changes_to(&self, wanted: &Listed) -> Vec<Update> {
        let mut changes = Vec::new();
        for (number, session) in &self.sessions {
            if !self.stays(wanted, session) {
                changes.push(Update::RemoveSession { number: *number });
            }
        }
        let stays = |profile: &Profile| {
            wanted.profiles.get(&profile.name) == Some(profile)
                && self.has_same_profile(wanted, profile.name)
        };
        // Sessions that stay name nothing that is removed, so its place is free for what comes.
        changes.extend(self.removals(wanted, stays));
        changes.extend(self.additions(wanted, stays));
        for (number, session) in &wanted.sessions {
            match self.sessions.get(number).filter(|own| self.stays(wanted, own)) {
                Some(own) if own == session => {}
                Some(_) => changes.push(Update::ChangeSession(*session)),
                None => changes.push(Update::AddSession(*session)),
            }
        }
        changes
    }

    fn removals(&self, wanted: &Listed, stays: impl Fn(&Profile) -> bool) -> Vec<Update> {
        let mut changes = Vec::new();
        let profiles = self.profiles.values().filter(|profile| !stays(profile));
        changes.extend(profiles.map(|one| Update::RemoveProfile { name: one.name }));
        let lists = self.lists.keys().filter(|name| !self.has_same_list(wanted, **name));
        changes.extend(lists.map(|name| Update::RemoveList { name: *name }));
        let nodes = self.nodes.iter().filter(|(name, node)| wanted.nodes.get(name) != Some(node));
        changes.extend(nodes.map(|(name, _)| Update::RemoveNode { name: *name }));
        for ((vrf, prefix), route) in &self.routes {
            if wanted.routes.get(&(*vrf, *prefix)) != Some(route)
                || !self.has_same_hop(wanted, route)
            {
                changes.push(Update::RemoveRoute { prefix: *prefix, vrf: *vrf });
            }
        }
        for ((vrf, address), hop) in &self.hops {
            if wanted.hops.get(&(*vrf, *address)) != Some(hop) {
                changes.push(Update::RemoveNextHop { address: *address, vrf: *vrf });
            }
        }
        changes
    }

    fn additions(&self, wanted: &Listed, stays: impl Fn(&Profile) -> bool) -> Vec<Update> {
        let mut changes = Vec::new();
        let nodes = wanted.nodes.iter().filter(|(name, node)| self.nodes.get(name) != Some(node));
        changes.extend(nodes.map(|(_, node)| Update::AddNode(*node)));
        let lists = wanted.lists.values().filter(|one| !self.has_same_list(wanted, one.name));
        changes.extend(lists.map(|list| Update::AddList(list.clone())));
        let is_there = |one: &Profile| self.profiles.get(&one.name).is_some_and(&stays);
        let profiles = wanted.profiles.values().filter(|one| !is_there(one));
        changes.extend(profiles.map(|profile| Update::AddProfile(profile.clone())));
        for (key, hop) in &wanted.hops {
            if self.hops.get(key) != Some(hop) {
                changes.push(Update::AddNextHop(*hop));
            }
        }
        for (key, route) in &wanted.routes {
            if self.routes.get(key) != Some(route) || !self.has_same_hop(wanted, route) {
                changes.push(Update::AddRoute(*route));
            }
        }
        changes
    }
}

/// What is listed may come, go and change; everything else is part of what a packet's way is made
/// of.
///
/// # Errors
/// The first other key that differs.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    if let Some(key) = differing_key(running, wanted) {
        return Err(Invalid {
            section: "function",
            key,
            what: "cannot be changed while the gateway runs".into(),
            remedy:
                "Change `sessions`, `profiles`, `lists`, `nodes`, `routes` or `next-hops` only, \
                     or restart it"
                    .into(),
        });
    }
    Ok(Listed::of_config(running).changes_to(&Listed::of_config(wanted)))
}

/// The changes that undo what was applied out of a difference, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let before = Listed::of_config(running);
    let undo = |update: &Update| {
        let undone = match update {
            Update::AddSession(session) => Some(Update::RemoveSession { number: session.number }),
            Update::RemoveSession { number } => {
                before.sessions.get(number).copied().map(Update::AddSession)
            }
            Update::ChangeSession(Session { number, .. }) | Update::SetProfile { number, .. } => {
                before.sessions.get(number).copied().map(Update::ChangeSession)
            }
            Update::TellUsage { .. } => None,
            Update::SetMirror { number, .. } | Update::ClearMirror { number } => {
                Some(Update::ClearMirror { number: *number })
            }
            Update::AddProfile(profile) => Some(Update::RemoveProfile { name: profile.name }),
            Update::RemoveProfile { name } => {
                before.profiles.get(name).cloned().map(Update::AddProfile)
            }
            Update::AddList(list) => Some(Update::RemoveList { name: list.name }),
            Update::RemoveList { name } => before.lists.get(name).cloned().map(Update::AddList),
            Update::AddNode(node) => Some(Update::RemoveNode { name: node.name }),
            Update::RemoveNode { name } => before.nodes.get(name).copied().map(Update::AddNode),
            Update::AddNextHop(NextHop { address, vrf, .. }) => {
                Some(Update::RemoveNextHop { address: *address, vrf: *vrf })
            }
            Update::RemoveNextHop { address, vrf } => {
                before.hops.get(&(*vrf, *address)).copied().map(Update::AddNextHop)
            }
            Update::AddRoute(Route { prefix, vrf, .. }) => {
                Some(Update::RemoveRoute { prefix: *prefix, vrf: *vrf })
            }
            Update::RemoveRoute { prefix, vrf } => {
                before.routes.get(&(*vrf, *prefix)).copied().map(Update::AddRoute)
            }
        };
        // A difference removes and changes only what the configuration lists.
        undone.unwrap_or_else(|| update.clone())
    };
    applied.iter().rev().map(undo).collect()
}

/// What came, went or changed since the gateway was configured.
pub(super) fn memory(config: &Config, state: &State) -> Vec<Update> {
    Listed::of_config(config).changes_to(&Listed::of_state(state))
}

/// The first key that differs, of those that cannot change.
fn differing_key(running: &Config, wanted: &Config) -> Option<String> {
    let written = |config: &Config| serde_json::to_value(without_lists(config)).unwrap_or_default();
    let (running, wanted) = (written(running), written(wanted));
    let keys = running.as_object().into_iter().chain(wanted.as_object()).flat_map(|all| all.keys());
    keys.into_iter().find(|key| running.get(*key) != wanted.get(*key)).cloned()
}
