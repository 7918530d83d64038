//! The place of a peer in what its group is told.

use crate::table::{Place, Route};

/// A peer that reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    /// The next chunk of the live stream; `None` if it follows none yet, or has lost its place.
    pub live: Option<u64>,
    /// The walk that it follows beside that, and the next chunk of it.
    pub walk: Option<(u32, u64)>,
    /// The chunk in which it is, whether that is the walk's, and how many bytes of it are behind.
    pub within: Option<(bool, u32)>,
    /// What it needs before it can go on to read; nothing is read meanwhile.
    pub need: Option<Need>,
}

/// What a peer has to be told of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// From which route on it is told all that there are.
    pub all_from: u32,
    /// From which place in the log on it does not know what has become of routes; `None` if it
    /// knows that, by the live stream.
    pub since: Option<Place>,
    /// From which route on it is told what has changed since then.
    pub since_from: u32,
    /// Whether it is one who comes, and is told when that is all (RFC 4724 section 2).
    pub is_newcomer: bool,
}

impl Reader {
    /// What it was to read next is kept no more.
    pub fn fall_behind(&mut self, need: Need) {
        (self.walk, self.within, self.need) = (None, None, Some(need));
    }
}

impl Need {
    /// Nothing.
    pub const NOTHING: Need =
        Need { all_from: u32::MAX, since: None, since_from: 0, is_newcomer: false };

    /// Everything, of one who comes.
    pub const ALL: Need = Need { all_from: 0, is_newcomer: true, ..Need::NOTHING };

    /// Whether it has to be told of a route that is or was there.
    #[inline]
    pub fn has(&self, number: u32, route: &Route) -> bool {
        let is_there = number >= self.all_from && route.best().is_some();
        let has_changed = |place: Place| place.is_behind(route.changed);
        is_there || number >= self.since_from && self.since.is_some_and(has_changed)
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
        if self.since.is_some() { self.all_from.min(self.since_from) } else { self.all_from }
    }

    /// What is left of it when all routes before a number were told.
    pub fn from(self, number: u32) -> Need {
        let (all_from, since_from) = (self.all_from.max(number), self.since_from.max(number));
        Need { all_from, since_from, ..self }
    }

    /// The same of one who does not know either what has happened from a place on.
    pub fn since(self, place: Place) -> Need {
        let since = Some(self.since.map_or(place, |since| since.min(place)));
        Need { since, since_from: 0, ..self }
    }

    /// What covers both; `None` if that would be much more than one of them.
    pub fn or(self, other: Need) -> Option<Need> {
        let differ = (self.all_from, self.is_newcomer, self.since.is_some())
            != (other.all_from, other.is_newcomer, other.since.is_some());
        if differ {
            return None;
        }
        let since = self.since.min(other.since);
        Some(Need { since, since_from: self.since_from.min(other.since_from), ..self })
    }
}
