//! Which route targets a peer asks for: its NLRI of the family `route-target` (RFC 4684 section 4).
//!
//! ```text
//!  NLRI    | bits u8 | origin AS 4 | route target 8 |   0 bits, or 32 to 96
//!  prefix            by whichever AS: | route target |   0 bits for each target, all for the default
//! ```
//! A peer whose memberships have no room is told everything, and counted.

use std::collections::BTreeMap;

use crate::table::Targets;

/// What is asked for: all routes, or those with a target that begins with some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// Bits that count; [`DEFAULT`] for all routes, those without targets, too.
    len: u8,
    /// The bits, from the highest on; those behind them are clear.
    bits: u64,
}

/// Prefixes, each as often as it was added.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    all: BTreeMap<Prefix, u32>,
    /// Which lengths there are.
    lens: u128,
    /// Whether everything counts as being among them.
    is_all: bool,
}

/// What a peer asks for.
#[derive(Clone, Debug, Default)]
pub struct Membership {
    prefixes: Prefixes,
    /// NLRI that it has told.
    nlris: usize,
    /// Whether what it tells cannot be read (RFC 7606 section 2).
    is_unknown: bool,
}

/// How a membership has changed.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// What was asked for meanwhile, and was not asked for before for some time.
    pub gained: Prefixes,
    /// What was asked for before, and was not for some time.
    pub lost: Prefixes,
}

/// Changes one after the other.
pub type Changes<'a> = [Option<&'a Delta>; 2];

impl Prefix {
    /// The prefix of the key of an NLRI: how many bits, and as many.
    pub fn of_key(key: &[u8]) -> Prefix {
        let (bits, bytes) = key.split_first().unwrap_or((&0, &[]));
        let Some(len) = bits.checked_sub(AS_BITS) else {
            return Prefix { len: DEFAULT, bits: 0 };
        };
        let mut target = [0; 8];
        let own = bytes.get(usize::from(AS_BITS / 8)..).unwrap_or(&[]);
        target.iter_mut().zip(own).for_each(|(to, from)| *to = *from);
        Prefix::of_target(len.min(64), u64::from_be_bytes(target))
    }

    /// The first bits of a target.
    fn of_target(len: u8, target: u64) -> Prefix {
        let mask = u64::MAX.checked_shl(64 - u32::from(len)).unwrap_or(0);
        Prefix { len, bits: target & mask }
    }
}

impl Prefixes {
    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && !self.is_all
    }

    /// Adds a prefix. Returns true if it was not there.
    pub fn add(&mut self, prefix: Prefix) -> bool {
        let count = self.all.entry(prefix).or_default();
        *count += 1;
        let is_new = *count == 1;
        self.lens |= 1 << prefix.len;
        is_new
    }

    /// Takes a prefix away once. Returns true if it is there no more.
    fn take(&mut self, prefix: Prefix) -> bool {
        let Some(count) = self.all.get_mut(&prefix) else { return false };
        *count -= 1;
        if *count > 0 {
            return false;
        }
        self.all.remove(&prefix);
        let first = Prefix { len: prefix.len, bits: 0 };
        let last = Prefix { len: prefix.len, bits: u64::MAX };
        if self.all.range(first..=last).next().is_none() {
            self.lens &= !(1 << prefix.len);
        }
        true
    }

    /// Whether a set of targets has one of the prefixes that `counts`.
    fn find(&self, targets: &[u64], counts: impl Fn(&Prefix) -> bool) -> bool {
        let mut lens = self.lens;
        while lens != 0 {
            let len = lens.trailing_zeros() as u8;
            lens &= lens - 1;
            let is_there = |prefix: Prefix| self.all.contains_key(&prefix) && counts(&prefix);
            let is_found = match len {
                DEFAULT => is_there(Prefix { len, bits: 0 }),
                _ => targets.iter().any(|target| is_there(Prefix::of_target(len, *target))),
            };
            if is_found {
                return true;
            }
        }
        false
    }

    /// Whether a set of targets has one of the prefixes.
    pub fn has(&self, targets: &Targets) -> bool {
        let is_found = |targets: &[u64]| self.find(targets, |_| true);
        self.is_all || targets.0.as_deref().is_some_and(is_found)
    }

    /// Adds others, each once; where those are too many, everything is among them.
    pub fn extend(&mut self, others: &Prefixes) {
        self.is_all |= others.is_all;
        if !self.is_all {
            others.all.keys().for_each(|prefix| {
                self.add(*prefix);
            });
        }
        if self.is_all || self.all.len() > NLRIS_MAX {
            *self = Prefixes { is_all: true, ..Prefixes::default() };
        }
    }
}

impl Membership {
    /// A peer has told an NLRI by its key, which was not there. What has changed is noted.
    pub fn add(&mut self, key: &[u8], delta: &mut Delta) {
        self.nlris += 1;
        if self.prefixes.is_all {
            return;
        }
        if self.nlris > NLRIS_MAX {
            return self.tell_all(delta);
        }
        let prefix = Prefix::of_key(key);
        if self.prefixes.add(prefix) {
            delta.gained.add(prefix);
        }
    }

    /// An NLRI that a peer has told is there no more.
    pub fn remove(&mut self, key: &[u8], delta: &mut Delta) {
        self.nlris = self.nlris.saturating_sub(1);
        if self.prefixes.is_all {
            if self.nlris == 0 && !self.is_unknown {
                self.prefixes = Prefixes::default();
                delta.lost.is_all = true;
            }
            return;
        }
        let prefix = Prefix::of_key(key);
        if self.prefixes.take(prefix) {
            delta.lost.add(prefix);
        }
    }

    /// What the peer asks for cannot be read: it is told everything until its session ends.
    pub fn lose(&mut self, delta: &mut Delta) {
        self.is_unknown = true;
        self.tell_all(delta);
    }

    /// Its session begins, and what it tells is read again.
    pub fn begin(&mut self) {
        if self.is_unknown {
            *self = Membership { nlris: self.nlris, ..Membership::default() };
        }
    }

    /// From now on the peer is told everything, until nothing of what it has asked for is left.
    fn tell_all(&mut self, delta: &mut Delta) {
        self.prefixes = Prefixes { is_all: true, ..Prefixes::default() };
        delta.gained.is_all = true;
    }

    /// Whether the peer is told everything because there is no room for what it asks for.
    pub fn is_open(&self) -> bool {
        self.prefixes.is_all
    }

    /// Returns how many NLRI it has told.
    pub fn nlris(&self) -> usize {
        self.nlris
    }

    /// Whether the peer asks for routes with these targets.
    #[inline]
    pub fn wants(&self, targets: &Targets) -> bool {
        targets.0.is_none() || self.prefixes.has(targets)
    }

    /// Whether it has asked for them all the time while some changes were made.
    pub fn has_wanted(&self, targets: &Targets, changes: Changes<'_>) -> bool {
        let Some(targets) = targets.0.as_deref() else { return true };
        let is_new = |prefix: &Prefix| {
            let mut gained = changes.iter().flatten().map(|delta| &delta.gained);
            gained.any(|gained| gained.is_all || gained.all.contains_key(prefix))
        };
        match self.prefixes.is_all {
            true => !changes.iter().flatten().any(|delta| delta.gained.is_all),
            false => self.prefixes.find(targets, |prefix| !is_new(prefix)),
        }
    }

    /// Whether it asks for them, or has at some time while the changes were made.
    pub fn may_have_wanted(&self, targets: &Targets, changes: Changes<'_>) -> bool {
        self.wants(targets) || changes.iter().flatten().any(|delta| delta.lost.has(targets))
    }
}

impl Delta {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty()
    }

    /// Adds what has changed after that.
    pub fn extend(&mut self, later: &Delta) {
        self.gained.extend(&later.gained);
        self.lost.extend(&later.lost);
    }

    /// Whether routes with these targets have to be looked at again.
    pub fn has(&self, targets: &Targets) -> bool {
        self.gained.has(targets) || self.lost.has(targets)
    }
}

/// The length of the default route target, which every route has.
const DEFAULT: u8 = 65;

/// Bits of the AS in front of a target. It has told the NLRI, and says nothing of routes.
const AS_BITS: u8 = 32;

/// NLRI of a peer that are kept here, and prefixes of a change.
pub const NLRIS_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn set(targets: &[u64]) -> Targets {
        Targets(Some(targets.into()))
    }

    fn nlri(bits: u8, asn: u32, target: u64) -> Vec<u8> {
        let all = [&asn.to_be_bytes()[..], &target.to_be_bytes()].concat();
        [&[bits], &all[..usize::from(bits).div_ceil(8)]].concat()
    }

    const ONE: u64 = 0x0002_00fa_0000_0001;
    const OTHER: u64 = 0x0002_00fa_0000_0002;

    /// - `route-reflector`, RFC 4684 section 4: the default, an AS alone, prefixes of targets,
    ///   whole ones
    #[test]
    fn prefixes_are_those_of_targets() {
        let asks = |nlri: &[u8], targets: &[u64]| {
            let mut membership = Membership::default();
            membership.add(nlri, &mut Delta::default());
            membership.wants(&set(targets))
        };
        assert!(asks(&[0], &[]) && asks(&[0], &[ONE]), "the default");
        assert!(!asks(&nlri(32, 7, 0), &[]) && asks(&nlri(32, 7, 0), &[ONE]), "each target");
        assert!(asks(&nlri(96, 7, ONE), &[OTHER, ONE]), "whoever has told it");
        assert!(!asks(&nlri(96, 7, ONE), &[OTHER]) && !asks(&nlri(96, 7, ONE), &[]));
        assert!(asks(&nlri(94, 7, ONE), &[OTHER]), "the bits that count are equal");
        assert!(!asks(&nlri(95, 7, ONE), &[OTHER]));
        assert!(asks(&nlri(64, 7, ONE), &[OTHER]) && asks(&nlri(33, 7, ONE), &[OTHER]));
        assert!(!asks(&nlri(33, 7, ONE | 1 << 63), &[ONE]));
        assert!(Membership::default().wants(&Targets(None)), "those that are not known");
    }

    /// - `route-reflector`, RFC 4684 section 6: a target counts until nobody asks for it
    #[test]
    fn changes_are_those_of_prefixes() {
        let (mut membership, mut delta) = (Membership::default(), Delta::default());
        membership.add(&nlri(96, 7, ONE), &mut delta);
        assert!(delta.gained.has(&set(&[ONE])) && delta.lost.is_empty());
        let mut second = Delta::default();
        membership.add(&nlri(96, 8, ONE), &mut second);
        assert!(second.is_empty(), "it was there");
        membership.remove(&nlri(96, 7, ONE), &mut second);
        assert!(second.is_empty() && membership.wants(&set(&[ONE])), "it still is");
        assert!(!membership.has_wanted(&set(&[ONE]), [Some(&delta), None]));
        membership.add(&nlri(94, 8, ONE), &mut second);
        assert!(membership.has_wanted(&set(&[ONE]), [None, Some(&second)]), "by the one before");
        assert!(!membership.has_wanted(&set(&[OTHER]), [None, Some(&second)]));
        membership.remove(&nlri(94, 8, ONE), &mut second);
        membership.remove(&nlri(96, 8, ONE), &mut second);
        assert!(!membership.wants(&set(&[ONE])) && membership.nlris() == 0);
        assert!(membership.may_have_wanted(&set(&[ONE]), [None, Some(&second)]));
        assert!(membership.prefixes.lens == 0 && membership.prefixes.is_empty());
    }

    /// - `route-reflector`: a peer that asks for more than has room is told everything
    #[test]
    fn too_many_are_all() {
        let mut membership = Membership::default();
        let key = |number: usize| nlri(96, 7, number as u64);
        for number in 0..100_000 {
            let mut delta = Delta::default();
            membership.add(&key(number), &mut delta);
            let opens = number == NLRIS_MAX;
            assert_eq!(delta.gained.is_all, opens, "{number}");
        }
        assert!(membership.is_open() && membership.wants(&set(&[])));
        assert!(membership.prefixes.all.is_empty(), "nothing of them is kept");
        let mut delta = Delta::default();
        (0..99_999).for_each(|number| membership.remove(&key(number), &mut delta));
        assert!(membership.is_open() && delta.is_empty());
        membership.remove(&key(99_999), &mut delta);
        assert!(!membership.is_open() && delta.lost.has(&set(&[])));
        membership.add(&key(1), &mut delta);
        membership.lose(&mut delta);
        membership.remove(&key(1), &mut delta);
        assert!(membership.is_open(), "until the session ends");
        membership.begin();
        assert!(!membership.is_open() && membership.nlris() == 0);
        let mut all = Prefixes::default();
        for number in 0..NLRIS_MAX as u64 + 1 {
            let mut one = Prefixes::default();
            one.add(Prefix::of_target(64, number));
            all.extend(&one);
        }
        assert!(all.is_all && all.all.is_empty());
    }
}
