//! Groups of next hops among which the flows of a route are spread: several paths of equal or
//! unequal cost (RFC 2992 compares the ways to do it; this is a table of buckets, filled by
//! weight).
//!
//! ```text
//!  route ──► group ── hash of the flow ──► bucket ──► next hop
//! ```
//! A member whose next hop is not there has no buckets: its flows go to the others, and only its
//! flows. When the next hop is back it gets its share again. A next hop that is there and is still
//! asked for its Ethernet address keeps its flows; they wait for it as they would without a group.
//! A group in which nobody is there drops its packets like a route whose next hop is gone.
//!
//! [`tables::groups`] shares the buckets out; here is which member is there, and the batch.
use std::collections::{BTreeMap, BTreeSet};

use engine::Refusal;
use function_kit::SetupError;
use packet::{Batch, Slot, Slots};
use tables::groups::{self, Limits};

use super::config::{Config, GROUPS};
use super::entries::Entries;
use super::flow;
use super::scratch::Scratch;

/// The groups of a worker.
pub struct Groups {
    /// Members that are there.
    present: groups::Groups,
    /// All members with their weights, by group.
    members: Vec<BTreeMap<u32, u16>>,
    /// The groups of each next hop.
    of_hop: BTreeSet<(u32, u32)>,
    seed: u64,
    /// Numbers of next hops are below.
    next_hops_max: u32,
    /// The entry of nobody.
    nobody: u32,
}

impl Groups {
    /// Those that the configuration describes, without any next hop that is there; none where there
    /// is room for none.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn new(config: &Config) -> Result<Option<Groups>, SetupError> {
        let count = config.groups_max() as usize;
        if count == 0 {
            return Ok(None);
        }
        let what = "groups of next hops";
        let limits = Limits {
            groups: count,
            buckets: config.ecmp_buckets as usize,
            members: Config::MEMBERS_MAX as usize,
        };
        let present = groups::Groups::new(limits)
            .map_err(|why| SetupError::Table { what, why: why.to_string() })?;
        let mut groups = Groups {
            present,
            members: vec![BTreeMap::new(); count],
            of_hop: BTreeSet::new(),
            seed: flow::seed(config.ecmp_seed),
            next_hops_max: config.next_hops_max(),
            nobody: Entries::of(config).nobody,
        };
        for (group, hop, weight) in config.all_members() {
            groups
                .set(group, hop, weight, false)
                .map_err(|refusal| SetupError::Table { what, why: refusal.to_string() })?;
        }
        Ok(Some(groups))
    }

    /// Adds a member or changes its weight.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set(
        &mut self,
        group: u32,
        hop: u32,
        weight: u16,
        is_there: bool,
    ) -> Result<(), Refusal> {
        let members = self.members.get_mut(group as usize).ok_or(Refusal::NotFound)?;
        if hop >= self.next_hops_max || weight == 0 {
            return Err(Refusal::Invalid);
        }
        if !members.contains_key(&hop) && members.len() >= Config::MEMBERS_MAX as usize {
            return Err(Refusal::Full);
        }
        members.insert(hop, weight);
        self.of_hop.insert((hop, group));
        if is_there {
            self.share(group, hop);
        }
        Ok(())
    }

    /// Removes a member.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove(&mut self, group: u32, hop: u32) -> Result<(), Refusal> {
        let members = self.members.get_mut(group as usize).ok_or(Refusal::NotFound)?;
        members.remove(&hop).ok_or(Refusal::NotFound)?;
        self.of_hop.remove(&(hop, group));
        self.present.remove(group as usize, hop);
        Ok(())
    }

    /// A next hop is there: it gets its share of each group of which it is a member.
    pub fn arrive(&mut self, hop: u32) {
        for group in self.groups_of(hop) {
            self.share(group, hop);
        }
    }

    /// A next hop is gone: its flows go to the other members.
    pub fn leave(&mut self, hop: u32) {
        for group in self.groups_of(hop) {
            self.present.remove(group as usize, hop);
        }
    }

    /// Whether there is such a group, by the number to which routes lead.
    pub fn has(&self, number: u32) -> bool {
        number.checked_sub(GROUPS).is_some_and(|group| (group as usize) < self.members.len())
    }

    /// The next hop of a flow on a route to a group, by its number; the entry of nobody where no
    /// member is there.
    #[inline(always)]
    pub fn pick(&self, number: u32, hash: u32) -> u32 {
        self.present.pick(number.wrapping_sub(GROUPS), hash).unwrap_or(self.nobody)
    }

    /// The members of the group to which a route leads that are there.
    pub fn present(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let group = number.wrapping_sub(GROUPS) as usize;
        self.present.members(group).iter().map(|member| member.value)
    }

    /// All members: the group, from 0, the next hop and its weight.
    pub fn members(&self) -> impl Iterator<Item = (u32, u32, u16)> + '_ {
        self.members_from((0, 0))
    }

    /// Those of them from a group and a next hop on.
    pub fn members_from(&self, from: (u32, u32)) -> impl Iterator<Item = (u32, u32, u16)> + '_ {
        (0..).zip(&self.members).skip(from.0 as usize).flat_map(move |(group, members)| {
            let first = if group == from.0 { from.1 } else { 0 };
            members.range(first..).map(move |(&hop, &weight)| (group, hop, weight))
        })
    }

    /// How many buckets of a group are a next hop's.
    pub fn buckets_of(&self, group: u32, hop: u32) -> usize {
        self.present.buckets(group as usize).iter().filter(|&&member| member == hop).count()
    }

    /// Groups that have members, and groups for which there is room.
    pub fn sizes(&self) -> (usize, usize) {
        let used = self.members.iter().filter(|members| !members.is_empty()).count();
        (used, self.members.len())
    }

    /// The seed of the hash.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes held, without the trees of members.
    pub fn bytes(&self) -> usize {
        self.present.bytes()
    }

    fn groups_of(&self, hop: u32) -> Vec<u32> {
        self.of_hop.range((hop, 0)..=(hop, u32::MAX)).map(|&(_, group)| group).collect()
    }

    fn share(&mut self, group: u32, hop: u32) {
        let weight = self.members.get(group as usize).and_then(|members| members.get(&hop));
        let Some(&weight) = weight else { return };
        let member = groups::Member { value: hop, weight };
        // As many members as the table was made for, each with a weight.
        let shared = self.present.set(group as usize, member);
        debug_assert!(shared.is_ok(), "{shared:?}");
    }
}

/// Leads the packets on routes to groups each to the next hop of its flow.
pub(super) fn spread(groups: Option<&Groups>, scratch: &mut Scratch, batch: &Batch) {
    let Some(groups) = groups else { return };
    let Scratch { ipv4, ipv6, hop, known, .. } = scratch;
    let of_ipv4 = |slot| flow::hash_ipv4(batch.frame(slot), groups.seed);
    let of_ipv6 = |slot| flow::hash_ipv6(batch.frame(slot), groups.seed);
    if !known.is_any() {
        spread_one(groups, ipv4, hop, of_ipv4);
        spread_one(groups, ipv6, hop, of_ipv6);
        return;
    }
    let of_known = |slot: Slot| {
        known.get(slot).map(|known| flow::hash_known(batch.frame(slot), known, groups.seed))
    };
    spread_one(groups, ipv4, hop, |slot| of_known(slot).unwrap_or_else(|| of_ipv4(slot)));
    spread_one(groups, ipv6, hop, |slot| of_known(slot).unwrap_or_else(|| of_ipv6(slot)));
}

/// The same for the packets of one version of IP: first all hashes, then all buckets.
#[inline(always)]
fn spread_one(groups: &Groups, slots: &Slots, hop: &mut [u32; 256], hash: impl Fn(Slot) -> u32) {
    let mut hashes = [0; 256];
    for (place, &slot) in hashes.iter_mut().zip(slots.as_slice()) {
        let number = hop[usize::from(slot)];
        if number >= GROUPS {
            *place = hash(slot);
            groups.present.prefetch(number - GROUPS, *place);
        }
    }
    for (&hash, &slot) in hashes.iter().zip(slots.as_slice()) {
        let number = &mut hop[usize::from(slot)];
        if *number >= GROUPS {
            *number = groups.pick(*number, hash);
        }
    }
}
