//! What is taken of peers is bounded: routes of each by family, and memory of all.

use std::time::Duration;

use protocol_bgp::families::Family;
use protocol_bgp::notification::{MAXIMUM_PREFIXES, Notification, OUT_OF_RESOURCES};

use super::Reflector;
use crate::bounds::{Bounds, Budget, Notice};

impl Reflector {
    /// From now on a peer with a session may tell so many routes of each family.
    pub fn bound(&mut self, peer: u16, bounds: Bounds) {
        if let Some(told) = self.told.get_mut(usize::from(peer)) {
            told.bound(bounds);
        }
    }

    /// From now on at most so many bytes are used by routes and attributes, with all that belongs
    /// to them.
    pub fn limit_memory(&mut self, max: usize) {
        self.budget = Budget::new(max);
    }

    /// Returns how many routes of a family a peer has told that are kept.
    pub fn told_by(&self, peer: u16, family: Family) -> u32 {
        self.told.get(usize::from(peer)).map_or(0, |told| told.of(family).0)
    }

    /// Returns how many routes of a peer's session were more than it may tell, and were not taken.
    pub fn refused_of(&self, peer: u16) -> u64 {
        self.told.get(usize::from(peer)).map_or(0, |told| told.refused)
    }

    /// Takes what somebody is to know.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Returns for how long a peer stays away whose session has ended with this NOTIFICATION;
    /// `None` for no longer than others.
    pub fn pause(&self, peer: u16, told: &Notification) -> Option<Duration> {
        match told.cause {
            OUT_OF_RESOURCES => Some(MEMORY_AGAIN),
            MAXIMUM_PREFIXES => {
                let (_, bound) = self.told.get(usize::from(peer))?.beyond()?;
                Some(Duration::from_secs(bound.again_s.into()))
            }
            _ => None,
        }
    }

    /// Returns about how many bytes of memory are used by routes and attributes. What is free of
    /// [`Reflector::memory`] is there for others of the same kind.
    pub fn used(&self) -> usize {
        let ribs: usize = self.ribs.iter().map(|rib| rib.family.used()).sum();
        let others = self.rests.used() + self.sets.used() + self.refused.used();
        ribs + self.attributes.used() + others
    }

    /// Whether there is room for an UPDATE of this length with so many routes, which are counted if
    /// not.
    ///
    /// # Errors
    /// With what the peer is told.
    pub(super) fn take_room(
        &mut self,
        len: usize,
        routes: impl FnOnce() -> usize,
    ) -> Result<(), Notification> {
        let mut budget = self.budget;
        let has_room = budget.takes(len, || self.used());
        self.budget = budget;
        if has_room {
            return Ok(());
        }
        self.counters.no_room += routes() as u64;
        if self.budget.fill() {
            self.notices.push(Notice::Memory(true));
        }
        Err(Notification::new(OUT_OF_RESOURCES))
    }

    /// Whether a peer that has told routes may go on.
    ///
    /// # Errors
    /// With what the peer is told: the family, and how many routes of it there may be (RFC 4486
    /// section 4).
    pub(super) fn is_bounded(&self, peer: u16) -> Result<(), Notification> {
        let Some((family, bound)) = self.told[usize::from(peer)].beyond() else { return Ok(()) };
        let (afi, safi) = family.numbers();
        let data = [&afi.to_be_bytes()[..], &[safi], &bound.most.to_be_bytes()].concat();
        Err(Notification::with(MAXIMUM_PREFIXES, &data))
    }

    /// Paths of a peer that are gone count no more.
    pub(super) fn uncount(&mut self, peer: u16, family: Family, gone: u32) {
        if let Some(told) = self.told.get_mut(usize::from(peer)) {
            let count = told.of(family).0.saturating_sub(gone);
            self.notices.extend(told.set(peer, family, count, 0));
        }
    }

    /// Says that there is room again, once there is.
    pub(super) fn look_at_room(&mut self) {
        let mut budget = self.budget;
        if budget.empty(|| self.used()) {
            self.notices.push(Notice::Memory(false));
        }
        self.budget = budget;
    }
}

/// For how long a peer stays away that had no room.
const MEMORY_AGAIN: Duration = Duration::from_secs(60);
