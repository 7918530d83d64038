//! The place of a peer in what its group is told.

use crate::groups::stream::Told;
use crate::membership::{Delta, Membership};
use crate::table::{Place, Route};

/// A peer that reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// The next chunk of the live stream; `None` if it follows none yet, or has lost its place.
    pub live: Option<u64>,
    /// The walk that it follows beside that, and the next chunk of it.
    pub walk: Option<(u32, u64)>,
    /// The chunk in which it is, whether that is the walk's, and how many bytes of it are behind.
    pub within: Option<(bool, u32)>,
    /// What it needs before it can go on to read; nothing is read meanwhile.
    pub need: Option<Need>,
    /// What of its membership has changed of which its walk, or the one that it needs, tells it.
    pub change: Option<Box<Delta>>,
    /// What has changed since then, of which another walk will.
    pub later: Option<Box<Delta>>,
}

/// What a peer has to be told of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// From which route on it is told all that there are.
    pub all_from: u32,
    /// From which place in the log on it does not know what has become of routes; `None` if it
    /// knows that, by the live stream.
    pub since: Option<Place>,
    /// From which route on it is told what has changed since then.
    pub since_from: u32,
    /// From which route on it is told what a change of its membership adds and takes.
    pub changes_from: u32,
    /// Whether it is one who comes, and is told when that is all (RFC 4724 section 2).
    pub is_newcomer: bool,
}

impl Reader {
    /// What it was to read next is kept no more.
    pub fn fall_behind(&mut self, need: Need) {
        (self.walk, self.within, self.need) = (None, None, Some(need));
    }

    /// Its membership has changed.
    pub fn change(&mut self, delta: &Delta) {
        // Nothing was told yet.
        if self.need != Some(Need::ALL) {
            self.later.get_or_insert_default().extend(delta);
        }
    }

    /// Whether it has to be told of a change, and can begin with that.
    pub fn begins_change(&mut self) -> bool {
        let is_free = self.need.is_none() && self.walk.is_none();
        if !is_free || self.later.is_none() {
            return false;
        }
        (self.change, self.need) = (self.later.take(), Some(Need::CHANGES));
        true
    }

    /// Whether it takes what is told so. What it asks for may have changed since that was written,
    /// and before it knows what that takes and adds.
    pub fn takes(&self, told: &Told, membership: Option<&Membership>) -> bool {
        let Some(membership) = membership else { return true };
        let changes = [self.change.as_deref(), self.later.as_deref()];
        match told {
            Told::Anything => true,
            Told::Routes(targets) => membership.wants(targets),
            Told::Again(targets) => {
                membership.wants(targets) && !membership.has_wanted(targets, changes)
            }
            Told::Gone(had, now) => {
                membership.may_have_wanted(had, changes)
                    && !now.as_ref().is_some_and(|now| membership.wants(now))
            }
        }
    }
}

impl Need {
    /// Nothing.
    pub const NOTHING: Need = Need {
        all_from: u32::MAX,
        since: None,
        since_from: 0,
        changes_from: u32::MAX,
        is_newcomer: false,
    };

    /// What a change of a membership adds and takes.
    pub const CHANGES: Need = Need { changes_from: 0, ..Need::NOTHING };

    /// Everything, of one who comes.
    pub const ALL: Need = Need { all_from: 0, is_newcomer: true, ..Need::NOTHING };

    /// Whether it has to be told of a route that is or was there, and has changed last at a place
    /// in the log.
    #[inline]
    pub fn has(&self, number: u32, route: &Route, changed: u32) -> bool {
        let is_there = number >= self.all_from && route.best().is_some();
        let has_changed = |place: Place| place.is_behind(changed);
        is_there || number >= self.since_from && self.since.is_some_and(has_changed)
    }

    /// Whether it is told what a change of a membership adds and takes.
    pub fn has_changes(&self) -> bool {
        self.changes_from < u32::MAX
    }

    /// Whether it is told again what it knows.
    pub fn is_again(&self) -> bool {
        !self.is_newcomer && self.all_from < u32::MAX
    }

    /// Whether nothing has to be taken back: of that the live stream tells.
    #[inline]
    pub fn is_first(&self) -> bool {
        self.is_newcomer && self.since.is_none()
    }

    /// The first route of which it may have to be told.
    pub fn start(&self) -> u32 {
        let since_from = self.since.map_or(u32::MAX, |_| self.since_from);
        self.all_from.min(since_from).min(self.changes_from)
    }

    /// What is left of it when all routes before a number were told.
    pub fn from(self, number: u32) -> Need {
        let from = |place: u32| place.max(number);
        Need {
            all_from: from(self.all_from),
            since_from: from(self.since_from),
            changes_from: from(self.changes_from),
            ..self
        }
    }

    /// The same of one who does not know either what has happened from a place on.
    pub fn since(self, place: Place) -> Need {
        let since = Some(self.since.map_or(place, |since| since.min(place)));
        Need { since, since_from: 0, ..self }
    }

    /// What covers both; `None` if that would be much more than one of them.
    pub fn or(self, other: Need) -> Option<Need> {
        let shape = |it: Need| (it.all_from, it.changes_from, it.is_newcomer, it.since.is_some());
        if shape(self) != shape(other) {
            return None;
        }
        let since = self.since.min(other.since);
        Some(Need { since, since_from: self.since_from.min(other.since_from), ..self })
    }
}
