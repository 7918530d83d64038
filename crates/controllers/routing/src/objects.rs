//! What routes lead to: next hops and groups that zebra has numbered, and lists of next hops in
//! routes, which are shared by those with the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Bound;

use function_l3_router::config::{Config, GROUPS};
use protocol_kit::Interface;
use protocol_netlink::{Hop, Member};

use crate::groups::Members;
use crate::ways::{Lead, Ways};

/// What a number of zebra's stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A next hop.
    Hop(Hop),
    /// Packets are dropped.
    Nowhere,
    /// Next hops by their numbers.
    Group(Vec<Member>),
    /// Something that the router cannot do.
    Unsupported,
}

/// A next hop of a list: its address, the kernel's interface and its weight.
pub(crate) type Listed = (Option<IpAddr>, Option<u32>, u16);

/// All of them.
pub(crate) struct Objects {
    objects: BTreeMap<u32, Object>,
    /// The groups of each number.
    groups_of: BTreeSet<(u32, u32)>,
    lists: BTreeMap<u32, List>,
    /// The numbers of lists by VRF and next hops.
    by_hops: BTreeMap<(u16, Vec<Listed>), u32>,
    /// The number of the next list.
    next_list: u32,
    lists_max: usize,
    /// Whether routes are to be looked at because something leads elsewhere.
    pub is_moved: bool,
    /// Members of groups and lists that were left out, because there were too many.
    pub left_out: u64,
}

#[derive(Default)]
struct Object {
    /// `None` if it was not told yet.
    content: Option<Content>,
    to: Option<u32>,
    /// How many routes of this connection lead to it.
    routes: u32,
}

struct List {
    vrf: u16,
    hops: Vec<Listed>,
    to: Option<u32>,
    routes: u32,
}

impl Objects {
    /// None, with room for this many lists.
    pub fn new(lists_max: usize) -> Objects {
        Objects {
            objects: BTreeMap::new(),
            groups_of: BTreeSet::new(),
            lists: BTreeMap::new(),
            by_hops: BTreeMap::new(),
            next_list: 0,
            lists_max,
            is_moved: false,
            left_out: 0,
        }
    }

    /// Forgets everything, because zebra tells it again; returns what was led to and has to be
    /// held until then.
    pub fn renew(&mut self, ways: &mut Ways) -> Vec<u32> {
        self.groups_of.clear();
        self.by_hops.clear();
        let objects = std::mem::take(&mut self.objects).into_values().filter_map(|one| one.to);
        let lists = std::mem::take(&mut self.lists).into_values().filter_map(|one| one.to);
        let held: Vec<u32> = objects.chain(lists).collect();
        held.iter().for_each(|number| ways.let_go(*number));
        held
    }

    /// Says what a number stands for.
    pub fn tell(&mut self, id: u32, content: Content, ways: &mut Ways) {
        let object = self.objects.entry(id).or_default();
        if object.content.as_ref() == Some(&content) {
            return;
        }
        self.unlink(id);
        if let Content::Group(members) = &content {
            let of_group = members.iter().take(MEMBERS_MAX).map(|member| (member.id, id));
            self.groups_of.extend(of_group);
            self.left_out += members.len().saturating_sub(MEMBERS_MAX) as u64;
        }
        if let Some(object) = self.objects.get_mut(&id) {
            object.content = Some(content);
        }
        self.resolve(id, ways);
    }

    /// A number stands for nothing any more.
    pub fn forget(&mut self, id: u32, ways: &mut Ways) {
        self.unlink(id);
        let Some(object) = self.objects.get_mut(&id) else { return };
        object.content = None;
        self.resolve(id, ways);
        self.drop_unused(id);
    }

    /// Whether the router cannot do what a number stands for.
    pub fn is_unsupported(&self, id: u32) -> bool {
        let object = self.objects.get(&id).and_then(|object| object.content.as_ref());
        match object {
            Some(Content::Hop(hop)) => hop.gateway.is_none(),
            Some(Content::Unsupported) => true,
            _ => false,
        }
    }

    /// A route leads to a number.
    pub fn hold_object(&mut self, id: u32) {
        self.objects.entry(id).or_default().routes += 1;
    }

    /// A route leads to it no more.
    pub fn release_object(&mut self, id: u32) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.routes = object.routes.saturating_sub(1);
            self.drop_unused(id);
        }
    }

    /// A route leads to a list of next hops; `None` if there are too many lists.
    pub fn hold_list(&mut self, vrf: u16, hops: &[Hop], ways: &mut Ways) -> Option<u32> {
        self.left_out += hops.len().saturating_sub(MEMBERS_MAX) as u64;
        let listed = |hop: &Hop| (hop.gateway, hop.interface.map(|one| one.0), hop.weight);
        let mut hops: Vec<Listed> = hops.iter().take(MEMBERS_MAX).map(listed).collect();
        hops.sort_unstable();
        let key = (vrf, hops);
        if let Some(number) = self.by_hops.get(&key)
            && let Some(list) = self.lists.get_mut(number)
        {
            list.routes += 1;
            return Some(*number);
        }
        if self.lists.len() >= self.lists_max {
            return None;
        }
        // Numbers are used again after four billion lists, of which few are left.
        let mut number = self.next_list;
        while self.lists.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        self.next_list = number.wrapping_add(1);
        self.lists.insert(number, List { vrf, hops: key.1.clone(), to: None, routes: 0 });
        self.by_hops.insert(key, number);
        self.resolve_list(number, ways);
        if let Some(list) = self.lists.get_mut(&number) {
            list.routes = 1;
        }
        Some(number)
    }

    /// A route leads to a list no more.
    pub fn release_list(&mut self, number: u32, ways: &mut Ways) {
        let Some(list) = self.lists.get_mut(&number) else { return };
        list.routes = list.routes.saturating_sub(1);
        if list.routes > 0 {
            return;
        }
        if let Some(mut list) = self.lists.remove(&number) {
            ways.point(&mut list.to, Lead::Open);
            self.by_hops.remove(&(list.vrf, list.hops));
        }
    }

    /// To what a number of zebra's leads at the router.
    pub fn object(&self, id: u32) -> Option<u32> {
        self.objects.get(&id)?.to
    }

    /// To what a list leads.
    pub fn list(&self, number: u32) -> Option<u32> {
        self.lists.get(&number)?.to
    }

    /// Finds out anew where a few of the numbers behind one lead; returns the last of them. Groups
    /// are looked at apart, behind all others, so that they get their members at once.
    pub fn resolve_some(
        &mut self,
        last: Option<u32>,
        groups: bool,
        ways: &mut Ways,
    ) -> Option<u32> {
        let some = few_behind(&self.objects, last);
        for id in &some {
            let content = self.objects.get(id).and_then(|object| object.content.as_ref());
            if matches!(content, Some(Content::Group(_))) == groups {
                self.resolve_one(*id, ways);
            }
        }
        some.last().copied()
    }

    /// The same for lists.
    pub fn resolve_some_lists(&mut self, last: Option<u32>, ways: &mut Ways) -> Option<u32> {
        let some = few_behind(&self.lists, last);
        some.iter().for_each(|number| self.resolve_list(*number, ways));
        some.last().copied()
    }

    /// How many numbers and lists there are.
    pub fn counts(&self) -> [usize; 2] {
        [self.objects.len(), self.lists.len()]
    }

    /// Takes a number out of the groups' members if it is one itself.
    fn unlink(&mut self, id: u32) {
        let content = self.objects.get(&id).and_then(|object| object.content.as_ref());
        if let Some(Content::Group(members)) = content {
            for member in members.iter().take(MEMBERS_MAX) {
                self.groups_of.remove(&(member.id, id));
            }
        }
    }

    fn drop_unused(&mut self, id: u32) {
        let is_unused = |object: &Object| object.content.is_none() && object.routes == 0;
        if self.objects.get(&id).is_some_and(is_unused) {
            self.objects.remove(&id);
        }
    }

    /// Finds out anew where a number leads, and the groups that it is in.
    fn resolve(&mut self, id: u32, ways: &mut Ways) {
        if !self.resolve_one(id, ways) {
            return;
        }
        let groups = self.groups_of.range((id, 0)..=(id, u32::MAX));
        let groups: Vec<u32> = groups.map(|(_, group)| *group).collect();
        for group in groups {
            self.resolve_one(group, ways);
        }
    }

    fn resolve_one(&mut self, id: u32, ways: &mut Ways) -> bool {
        let Some(object) = self.objects.get(&id) else { return false };
        let lead = match &object.content {
            Some(Content::Hop(hop)) => ways.number_of(hop, 0).map_or(Lead::Open, Lead::To),
            Some(Content::Nowhere) => Lead::To(ways.router.nowhere()),
            Some(Content::Group(members)) => match self.members(members) {
                members if members.is_empty() => Lead::Open,
                members => Lead::Among(members),
            },
            Some(Content::Unsupported) | None => Lead::Open,
        };
        let Some(object) = self.objects.get_mut(&id) else { return false };
        let is_moved = ways.point(&mut object.to, lead);
        self.is_moved |= is_moved && object.routes > 0;
        is_moved
    }

    fn resolve_list(&mut self, number: u32, ways: &mut Ways) {
        let Some(list) = self.lists.get_mut(&number) else { return };
        let mut members = Members::new();
        for &(gateway, interface, weight) in &list.hops {
            let interface = interface.map(Interface);
            let hop = Hop { gateway, interface, weight, is_onlink: false };
            if let Some(next_hop) = ways.number_of(&hop, list.vrf) {
                add(&mut members, next_hop, weight);
            }
        }
        let lead = match members.first_key_value() {
            None => Lead::Open,
            Some((next_hop, _)) if members.len() == 1 => Lead::To(*next_hop),
            Some(_) => Lead::Among(members),
        };
        self.is_moved |= ways.point(&mut list.to, lead) && list.routes > 0;
    }

    /// The members of a group that are next hops of the router.
    fn members(&self, members: &[Member]) -> Members {
        let mut all = Members::new();
        for member in members.iter().take(MEMBERS_MAX) {
            let to = self.object(member.id).filter(|number| *number < GROUPS);
            if let Some(next_hop) = to {
                add(&mut all, next_hop, member.weight);
            }
        }
        all
    }
}

/// Adds a member, which may be there twice.
fn add(members: &mut Members, next_hop: u32, weight: u16) {
    let sum = members.entry(next_hop).or_default();
    *sum = sum.saturating_add(weight.max(1));
}

fn few_behind<T>(all: &BTreeMap<u32, T>, last: Option<u32>) -> Vec<u32> {
    let from = last.map_or(Bound::Unbounded, Bound::Excluded);
    all.range((from, Bound::Unbounded)).take(FEW).map(|(number, _)| *number).collect()
}

const MEMBERS_MAX: usize = Config::MEMBERS_MAX as usize;

/// Numbers that are looked at in one step: of their groups, some thousand changes may follow.
const FEW: usize = 64;
