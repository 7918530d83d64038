//! Groups of the router: a place each, whose members follow what was told.

use std::collections::{BTreeMap, BTreeSet};

use function_l3_router::Update;
use function_l3_router::config::Config;

use crate::account::Account;
use crate::places::Places;
use crate::router::Router;

/// Weights by the numbers of next hops.
pub(crate) type Members = BTreeMap<u32, u16>;

/// The groups.
pub(crate) struct Groups {
    held: BTreeMap<u32, Held>,
    /// Groups that are nobody's while routes still lead to them, by their members.
    orphans: BTreeSet<(Members, u32)>,
    places: Places,
}

#[derive(Default)]
struct Held {
    members: Members,
    /// How often it is led to, its owner included.
    holders: u32,
}

impl Groups {
    /// None.
    pub fn new(router: &Router) -> Groups {
        let places = Places::new(router.groups, router.nobody);
        Groups { held: BTreeMap::new(), orphans: BTreeSet::new(), places }
    }

    /// Takes a member of a group over that the router has beyond its configuration.
    pub fn adopt(&mut self, group: u32, next_hop: u32, weight: u16) {
        self.places.reserve(group);
        self.held.entry(group).or_default().members.insert(next_hop, weight);
    }

    /// Whether a group is the controller's own.
    pub fn has(&self, group: u32) -> bool {
        self.held.contains_key(&group)
    }

    /// The groups of the controller's own.
    pub fn numbers(&self) -> Vec<u32> {
        self.held.keys().copied().collect()
    }

    /// How many are the controller's own.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// The group with these members that is nobody's, which it is no more.
    pub fn claim(&mut self, members: &Members) -> Option<u32> {
        let from = (members.clone(), 0);
        let found = self.orphans.range(from..).next()?;
        let group = (found.0 == *members).then_some(found.1)?;
        self.orphans.remove(&(members.clone(), group));
        Some(group)
    }

    /// A group is nobody's from now on.
    pub fn abandon(&mut self, group: u32) {
        if let Some(held) = self.held.get(&group) {
            self.orphans.insert((held.members.clone(), group));
        }
    }

    /// A group without members; `None` if there is no place left.
    pub fn add(&mut self) -> Option<u32> {
        let group = self.places.take()?;
        self.held.insert(group, Held::default());
        Some(group)
    }

    /// Gives a group other members, and returns those that it had.
    pub fn set(&mut self, group: u32, members: &Members, account: &mut Account) -> Members {
        let Some(held) = self.held.get_mut(&group) else { return Members::new() };
        let before = std::mem::replace(&mut held.members, members.clone());
        let gone = before.keys().filter(|next_hop| !members.contains_key(next_hop));
        let gone: Vec<u32> = gone.copied().collect();
        let remove = |account: &mut Account| {
            for &next_hop in &gone {
                account.push(Update::RemoveGroupMember { group, next_hop });
            }
        };
        // New ones come first, unless there is no room for both.
        let is_crowded = members.len() + gone.len() > Config::MEMBERS_MAX as usize;
        if is_crowded {
            remove(account);
        }
        for (&next_hop, &weight) in members {
            if before.get(&next_hop) != Some(&weight) {
                account.push(Update::SetGroupMember { group, next_hop, weight });
            }
        }
        if !is_crowded {
            remove(account);
        }
        before
    }

    /// Something leads to a group.
    pub fn hold(&mut self, group: u32) {
        if let Some(held) = self.held.get_mut(&group) {
            held.holders += 1;
        }
    }

    /// Something leads to it no more; whether nothing does.
    pub fn release(&mut self, group: u32) -> bool {
        let Some(held) = self.held.get_mut(&group) else { return false };
        held.holders = held.holders.saturating_sub(1);
        held.holders == 0
    }

    /// Removes a group if nothing leads to it, and returns the members that it had.
    pub fn remove_unheld(&mut self, group: u32, account: &mut Account) -> Option<Members> {
        self.held.get(&group).filter(|held| held.holders == 0)?;
        let held = self.held.remove(&group)?;
        for &next_hop in held.members.keys() {
            account.push(Update::RemoveGroupMember { group, next_hop });
        }
        self.orphans.remove(&(held.members.clone(), group));
        self.places.give(group);
        Some(held.members)
    }
}
