//! How much peers may tell: routes of each by family (RFC 4271 section 6.7), and memory of all.

use protocol_bgp::families::{FAMILIES, Family};

/// Most routes of a peer and family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Most routes.
    pub most: u32,
    /// From how many on somebody is to know.
    pub warn: u32,
    /// What becomes of more.
    pub then: Then,
    /// For how long a peer whose session has ended for that stays away, in seconds.
    pub again_s: u32,
}

/// Those of all families, in the order of [`FAMILIES`].
pub type Bounds = [Bound; FAMILIES.len()];

/// What becomes of routes that are more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// They are taken, and somebody is to know.
    Tell,
    /// They are not taken.
    Refuse,
    /// The session ends.
    Close,
}

/// How near a peer is to what it may tell of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nobody has to know.
    #[default]
    Low,
    /// It has told most of it.
    High,
    /// It has told more.
    Beyond,
}

/// Something that somebody has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// How near a peer is to what it may tell of a family.
    Routes(u16, Family, Level),
    /// Whether what was told last had no room.
    Memory(bool),
}

/// How much a peer has told, and may tell.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    counts: [u32; FAMILIES.len()],
    /// Routes beside those that a policy has refused.
    refused_by_policy: [u32; FAMILIES.len()],
    bounds: Bounds,
    levels: [Level; FAMILIES.len()],
    /// Whether one of them is beyond its bound.
    is_beyond: bool,
    /// Routes that were not taken.
    pub refused: u64,
}

/// How much memory there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    max: usize,
    /// What may be used before it is looked at again.
    left: usize,
    is_full: bool,
}

impl Bound {
    /// No bound.
    pub const NONE: Bound = Bound { most: u32::MAX, warn: u32::MAX, then: Then::Tell, again_s: 0 };

    /// Whether a peer with so many routes may tell no further one.
    #[inline]
    pub(crate) fn refuses(&self, count: u32) -> bool {
        count >= self.most && self.then != Then::Tell
    }

    /// How near a peer is with so many routes, where it was so near before and some were refused or
    /// not. It has to have several less before that is over.
    fn level(&self, count: u32, before: Level, is_refused: bool) -> Level {
        let is_beyond = is_refused
            || count > self.most
            || before == Level::Beyond && self.then != Then::Tell && count >= self.most;
        let warn = if before == Level::Low { self.warn } else { self.warn - self.warn / 16 };
        match (is_beyond, count >= warn) {
            (true, _) => Level::Beyond,
            (false, true) => Level::High,
            (false, false) => Level::Low,
        }
    }
}

impl Default for Told {
    fn default() -> Told {
        Told {
            counts: [0; FAMILIES.len()],
            refused_by_policy: [0; FAMILIES.len()],
            bounds: [Bound::NONE; FAMILIES.len()],
            levels: [Level::Low; FAMILIES.len()],
            is_beyond: false,
            refused: 0,
        }
    }
}

impl Told {
    /// Returns how many routes of a family it has told that were taken, and how many it may tell.
    #[inline]
    pub fn of(&self, family: Family) -> (u32, Bound) {
        (self.counts[family as usize], self.bounds[family as usize])
    }

    /// Returns how many routes of a family that it tells a policy refuses.
    #[inline]
    pub fn refused_by_policy(&self, family: Family) -> u32 {
        self.refused_by_policy[family as usize]
    }

    /// So many routes that it tells are refused by a policy. Returns what somebody is to know of
    /// that.
    pub fn refuse(&mut self, peer: u16, family: Family, count: u32, beyond: u64) -> Option<Notice> {
        self.refused_by_policy[family as usize] = count;
        self.set(peer, family, self.counts[family as usize], beyond)
    }

    /// Its routes of a family are so many now, and so many more were not taken. Returns what
    /// somebody is to know of that.
    #[inline]
    pub fn set(&mut self, peer: u16, family: Family, count: u32, refused: u64) -> Option<Notice> {
        let place = family as usize;
        self.counts[place] = count;
        self.refused += refused;
        let before = self.levels[place];
        // Those count that it tells, whatever becomes of them (RFC 4271 section 6.7).
        let all = count.saturating_add(self.refused_by_policy[place]);
        let level = self.bounds[place].level(all, before, refused > 0);
        if level == before {
            return None;
        }
        self.levels[place] = level;
        self.is_beyond = self.levels.contains(&Level::Beyond);
        Some(Notice::Routes(peer, family, level))
    }

    /// From now on it may tell so much.
    pub fn bound(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        self.refused = 0;
    }

    /// Returns the family for which the session is to end, if there is one.
    pub fn beyond(&self) -> Option<(Family, Bound)> {
        if !self.is_beyond {
            return None;
        }
        let is_over = |family: &Family| {
            let (_, bound) = self.of(*family);
            bound.then == Then::Close && self.levels[*family as usize] == Level::Beyond
        };
        let family = FAMILIES.iter().map(|row| row.family).find(is_over)?;
        Some((family, self.of(family).1))
    }
}

impl Budget {
    /// So many bytes.
    pub fn new(max: usize) -> Budget {
        Budget { max, left: 0, is_full: false }
    }

    /// Whether there is room for what an UPDATE of this length says, at the most. `used` is asked
    /// for what is used now, where that could matter.
    #[inline]
    pub fn takes(&mut self, len: usize, used: impl FnOnce() -> usize) -> bool {
        let most = MEMORY_EACH + MEMORY_A_BYTE * len;
        if most > self.left {
            self.left = self.max.saturating_sub(used());
        }
        let has_room = most <= self.left;
        self.left = self.left.saturating_sub(most);
        has_room
    }

    /// Notes that something had no room. Returns whether that is new.
    pub fn fill(&mut self) -> bool {
        !std::mem::replace(&mut self.is_full, true)
    }

    /// Notes how much is used. Returns whether there is room again, which there was not.
    pub fn empty(&mut self, used: impl FnOnce() -> usize) -> bool {
        let is_over = self.is_full && used() < self.max - self.max / 16;
        self.is_full &= !is_over;
        is_over
    }
}

/// Most bytes of memory that a byte of an UPDATE takes: a route and its places in the index and in
/// the log for each of the least NLRI, and an attribute block for the least of those.
const MEMORY_A_BYTE: usize = 32;

/// What an UPDATE takes beside that: what is known of an attribute block.
const MEMORY_EACH: usize = 1024;
