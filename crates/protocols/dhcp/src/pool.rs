//! One pool: units of one length, one behind the other, each with its owner.
//!
//! ```text
//!  first                                   first + count
//!   |  share 0  |  share 1  |  share 2  | ... |      a worker's share is a range
//!   |##..#######|...........|####.......|     |      # has an owner, waits, or is reserved
//! ```
//! A unit takes 4 bytes for its owner and 1.02 bits for the question whether it is free. Of the
//! free ones of a share the next one behind the one that was given last is given, so that an
//! address comes back late.

use crate::prefix::{Kind, Prefix};

/// What a pool is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// What its units are.
    pub kind: Kind,
    /// Its first unit.
    pub first: Prefix,
    /// Number of units, at most [`UNITS_MAX`].
    pub count: u32,
    /// Units that nobody is given: addresses of routers, say.
    pub reserved: Vec<Prefix>,
    /// Ranges of equal size into which it is divided, one for each worker; at least 1.
    pub shares: u16,
    /// Share of its units in percent from which on it is told to be short; 0 for never.
    pub alarm_percent: u8,
}

/// A pool is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The number of units is 0, above the limit, or past the end of the family.
    #[error("a pool of no units, of more than {UNITS_MAX}, or past the last address there is")]
    Count,
    /// A unit that is reserved is none of its units.
    #[error("{0} is reserved and is no unit of the pool")]
    Reserved(Prefix),
    /// The shares are none, or more than units.
    #[error("a pool of no shares, or of more shares than units")]
    Shares,
    /// The percentage is above 100.
    #[error("an alarm above 100 percent")]
    Alarm,
    /// Another pool has some of its addresses.
    #[error("the pools from {0} and from {1} have addresses in common")]
    Overlap(Prefix, Prefix),
    /// There are too many pools.
    #[error("more than {} pools", u16::MAX)]
    Pools,
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub config: PoolConfig,
    /// Of each unit: 0 where it is free, else what it is.
    units: Vec<u32>,
    /// A bit for each unit that is free.
    free: Vec<u64>,
    /// A bit for each word of those that is not zero.
    any: Vec<u64>,
    /// For each share the unit from which on the next free one is looked for.
    next: Vec<u32>,
    /// Units that are not reserved.
    usable: u32,
    /// Those of them that are not free.
    used: u32,
    /// Whether it was told to be short.
    is_short: bool,
}

impl Pool {
    /// Creates a pool, all of it free.
    pub fn new(config: PoolConfig) -> Result<Pool, Unusable> {
        let PoolConfig { first, count, shares, alarm_percent, .. } = config;
        if count == 0 || count > UNITS_MAX || first.behind(count - 1).is_none() {
            return Err(Unusable::Count);
        }
        if shares == 0 || u32::from(shares) > count {
            return Err(Unusable::Shares);
        }
        if alarm_percent > 100 {
            return Err(Unusable::Alarm);
        }
        let words = (count as usize).div_ceil(WORD);
        let mut free = vec![u64::MAX; words];
        if let Some(last) = free.last_mut() {
            *last >>= words * WORD - count as usize;
        }
        let mut any = vec![u64::MAX; words.div_ceil(WORD)];
        if let Some(last) = any.last_mut() {
            *last >>= words.div_ceil(WORD) * WORD - words;
        }
        let next = (0..shares).map(|share| begin(share, shares, count)).collect();
        let units = vec![FREE; count as usize];
        let mut pool =
            Pool { config, units, free, any, next, usable: count, used: 0, is_short: false };
        for reserved in pool.config.reserved.clone() {
            let unit = pool.unit(reserved).ok_or(Unusable::Reserved(reserved))?;
            if pool.state(unit) == FREE {
                pool.set(unit, RESERVED);
                pool.usable -= 1;
                pool.used -= 1;
            }
        }
        Ok(pool)
    }

    /// The unit that a prefix is.
    pub fn unit(&self, prefix: Prefix) -> Option<u32> {
        prefix.distance(self.config.first).filter(|unit| *unit < self.config.count)
    }

    /// The prefix of a unit.
    pub fn prefix(&self, unit: u32) -> Prefix {
        // All of them were there when the pool was made.
        self.config.first.behind(unit).unwrap_or(self.config.first)
    }

    /// Its last unit.
    pub fn last(&self) -> Prefix {
        self.prefix(self.config.count - 1)
    }

    /// What a unit is.
    pub fn state(&self, unit: u32) -> u32 {
        self.units[unit as usize]
    }

    /// Makes a unit something else.
    pub fn set(&mut self, unit: u32, state: u32) {
        let before = std::mem::replace(&mut self.units[unit as usize], state);
        match (before == FREE, state == FREE) {
            (true, false) => self.used += 1,
            (false, true) => self.used -= 1,
            _ => return,
        }
        let word = unit as usize / WORD;
        self.free[word] ^= 1 << (unit as usize % WORD);
        let bit = 1 << (word % WORD);
        match self.free[word] {
            0 => self.any[word / WORD] &= !bit,
            _ => self.any[word / WORD] |= bit,
        }
    }

    /// A unit that is free: the one that is asked for, or the next one of the share.
    pub fn vacant(&mut self, share: Option<u16>, hint: Option<Prefix>) -> Option<u32> {
        let shares = self.config.shares;
        let range = |share| {
            begin(share, shares, self.config.count)..begin(share + 1, shares, self.config.count)
        };
        let hinted = hint.and_then(|hint| self.unit(hint)).filter(|unit| {
            self.state(*unit) == FREE && share.is_none_or(|share| range(share).contains(unit))
        });
        if hinted.is_some() {
            return hinted;
        }
        let all = share.map_or(0..shares, |share| share..share.saturating_add(1).min(shares));
        for share in all {
            let range = range(share);
            let next = self.next[usize::from(share)];
            let found = self.next_free(next, range.end);
            if let Some(unit) = found.or_else(|| self.next_free(range.start, next)) {
                self.next[usize::from(share)] =
                    if unit + 1 < range.end { unit + 1 } else { range.start };
                return Some(unit);
            }
        }
        None
    }

    /// The share that has a unit.
    pub fn share_of(&self, unit: u32) -> u16 {
        let (shares, count) = (u64::from(self.config.shares), u64::from(self.config.count));
        // The inverse of `begin`, which rounds down.
        ((u64::from(unit) * shares + shares - 1) / count).min(shares - 1) as u16
    }

    /// Units that are not free, and all that are not reserved.
    pub fn usage(&self) -> (u32, u32) {
        (self.used, self.usable)
    }

    /// Whether it has become short, or is not any more, since the last call; it is not any more
    /// when it lies five percent below the alarm.
    pub fn turn(&mut self) -> Option<bool> {
        let alarm = u64::from(self.config.alarm_percent);
        let (used, usable) = (u64::from(self.used) * 100, u64::from(self.usable));
        let is_short = match self.is_short {
            false => alarm > 0 && used >= alarm * usable,
            true => used > alarm.saturating_sub(CALM_PERCENT) * usable,
        };
        (std::mem::replace(&mut self.is_short, is_short) != is_short).then_some(is_short)
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let words = self.free.capacity() + self.any.capacity();
        size_of::<Pool>() + 8 * words + 4 * (self.units.capacity() + self.next.capacity())
    }

    /// The first free unit of a range.
    fn next_free(&self, from: u32, end: u32) -> Option<u32> {
        let mut word = from as usize / WORD;
        let mut bits = self.free.get(word)? & (u64::MAX << (from as usize % WORD));
        while bits == 0 {
            word = self.next_word(word + 1)?;
            if word * WORD >= end as usize {
                return None;
            }
            bits = self.free[word];
        }
        let unit = (word * WORD) as u32 + bits.trailing_zeros();
        (unit < end).then_some(unit)
    }

    /// The first word from this one on with a free unit.
    fn next_word(&self, from: usize) -> Option<usize> {
        let mut at = from / WORD;
        let mut bits = self.any.get(at)? & (u64::MAX << (from % WORD));
        while bits == 0 {
            at += 1;
            bits = *self.any.get(at)?;
        }
        Some(at * WORD + bits.trailing_zeros() as usize)
    }
}

/// The first unit of a share.
fn begin(share: u16, shares: u16, count: u32) -> u32 {
    (u64::from(share) * u64::from(count) / u64::from(shares)) as u32
}

/// A unit that can be given.
pub(crate) const FREE: u32 = 0;

/// A unit that is never given.
pub(crate) const RESERVED: u32 = 1;

/// Most units of a pool: 66 MB of memory.
pub const UNITS_MAX: u32 = 1 << 24;

/// So much below the alarm a pool is not short any more.
const CALM_PERCENT: u64 = 5;

const WORD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn config(count: u32, shares: u16) -> PoolConfig {
        let first = Prefix::host([10, 0, 0, 0].into());
        PoolConfig {
            kind: Kind::Address,
            first,
            count,
            reserved: vec![],
            shares,
            alarm_percent: 80,
        }
    }

    #[test]
    fn what_cannot_be_a_pool_is_refused() {
        let why = |change: &dyn Fn(&mut PoolConfig)| {
            let mut config = config(8, 2);
            change(&mut config);
            Pool::new(config).err()
        };
        assert_eq!(why(&|_| ()), None);
        assert_eq!(why(&|config| config.count = 0), Some(Unusable::Count));
        assert_eq!(why(&|config| config.count = UNITS_MAX + 1), Some(Unusable::Count));
        let last = Prefix::host([255; 4].into());
        assert_eq!(why(&|config| config.first = last), Some(Unusable::Count));
        assert_eq!(why(&|config| config.shares = 0), Some(Unusable::Shares));
        assert_eq!(why(&|config| config.shares = 9), Some(Unusable::Shares));
        assert_eq!(why(&|config| config.alarm_percent = 101), Some(Unusable::Alarm));
        assert_eq!(why(&|config| config.reserved = vec![last]), Some(Unusable::Reserved(last)));
    }

    #[test]
    fn every_unit_is_found_whatever_the_size_and_the_shares() {
        for (count, shares) in [(1, 1), (63, 2), (64, 3), (65, 1), (4097, 7), (5000, 16)] {
            let mut pool = Pool::new(config(count, shares)).expect("a pool");
            let mut found = Vec::new();
            for share in 0..shares {
                while let Some(unit) = pool.vacant(Some(share), None) {
                    assert_eq!(pool.share_of(unit), share, "unit {unit} of {count} in {shares}");
                    pool.set(unit, 7);
                    found.push(unit);
                }
            }
            assert_eq!(found, (0..count).collect::<Vec<_>>());
            assert_eq!((pool.vacant(None, None), pool.usage()), (None, (count, count)));
            // A single one in the middle is found again, from anywhere.
            pool.set(count / 2, FREE);
            assert_eq!(pool.vacant(None, None), Some(count / 2));
            assert_eq!(pool.vacant(Some(pool.share_of(count / 2)), None), Some(count / 2));
        }
    }

    #[test]
    fn a_unit_comes_back_late_and_a_hint_is_followed() {
        let mut pool = Pool::new(config(4, 1)).expect("a pool");
        assert_eq!(pool.vacant(None, None), Some(0));
        pool.set(0, 9);
        pool.set(0, FREE);
        assert_eq!(pool.vacant(None, None), Some(1), "not the one that was just free");
        let hint = Some(Prefix::host([10, 0, 0, 3].into()));
        assert_eq!(pool.vacant(None, hint), Some(3));
        pool.set(3, 9);
        assert_eq!(pool.vacant(None, hint), Some(2));
        let outside = Some(Prefix::host([10, 0, 0, 4].into()));
        assert_eq!(pool.vacant(None, outside), Some(0));
    }

    #[test]
    fn a_pool_is_short_once_and_calm_once() {
        let mut pool = Pool::new(config(100, 1)).expect("a pool");
        let mut told = Vec::new();
        for unit in 0..100 {
            pool.set(unit, 5);
            told.extend(pool.turn().map(|is_short| (unit, is_short)));
        }
        for unit in 0..100 {
            pool.set(unit, FREE);
            told.extend(pool.turn().map(|is_short| (unit, is_short)));
        }
        assert_eq!(told, [(79, true), (24, false)]);
    }
}
