//! All pools and fixed addresses: nothing is given twice, whichever way it is asked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use protocol_kit::Time;

use crate::pool::{FREE, Pool, PoolConfig, RESERVED, Unusable};
use crate::prefix::{Kind, Prefix};

/// Pools, and what is given beside them. An owner is a number below [`OWNERS_MAX`].
#[derive(Debug)]
pub struct Pools {
    pools: Vec<Pool>,
    /// Pools by the number that their first address is.
    by_first: BTreeMap<u128, u16>,
    /// What is given of no pool. None of them overlap.
    fixed: BTreeMap<Prefix, u32>,
    /// What waits until it can be given again, in the order of time: released, and declined.
    waiting: [VecDeque<Waiting>; 2],
    spans: [Duration; 2],
    ticket: u32,
    /// Pools of which the usage has changed.
    changed: BTreeSet<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    until: Time,
    pool: u16,
    unit: u32,
    state: u32,
}

/// How a unit comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// Nobody has used it: it can be given at once.
    Unused,
    /// It was used: it waits.
    Released,
    /// Somebody else uses it: it waits for long, and cannot be fixed meanwhile.
    Declined,
}

/// Somebody has it, or it is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The owner; `None` where it is reserved, declined, or no unit of the pool that it lies in.
    pub by: Option<u32>,
}

/// A pool has become short, or is not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The pool, by its place among all.
    pub pool: u16,
    /// Whether it is short now.
    pub is_short: bool,
    /// Its usage.
    pub usage: Usage,
}

/// How much of a pool is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// What its units are.
    pub kind: Kind,
    /// Units that have an owner or wait.
    pub used: u32,
    /// Units that are not reserved.
    pub count: u32,
}

impl Pools {
    /// Creates the pools, which are known by their places. What is released waits for `released`
    /// until it is given again, what is declined for `declined`.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn new(
        configs: Vec<PoolConfig>,
        released: Duration,
        declined: Duration,
    ) -> Result<Pools, Unusable> {
        if configs.len() > usize::from(u16::MAX) {
            return Err(Unusable::Pools);
        }
        let pools: Vec<Pool> = configs.into_iter().map(Pool::new).collect::<Result<_, _>>()?;
        let mut by_first = BTreeMap::new();
        for (number, pool) in (0..).zip(&pools) {
            let first = pool.config.first;
            if let Some(other) = by_first.insert(first.first(), number) {
                return Err(Unusable::Overlap(pools[usize::from(other)].config.first, first));
            }
        }
        let order: Vec<&Pool> = by_first.values().map(|at| &pools[usize::from(*at)]).collect();
        for pair in order.windows(2) {
            if pair[0].last().last() >= pair[1].config.first.first() {
                return Err(Unusable::Overlap(pair[0].config.first, pair[1].config.first));
            }
        }
        Ok(Pools {
            pools,
            by_first,
            fixed: BTreeMap::new(),
            waiting: Default::default(),
            spans: [released, declined],
            ticket: 0,
            changed: BTreeSet::new(),
        })
    }

    /// Gives a unit of a pool and of one of its shares, or of any: the one that is asked for, if it
    /// is free. `None` if the pool has none, or there is no such pool or share.
    pub fn take(
        &mut self,
        pool: u16,
        share: Option<u16>,
        hint: Option<Prefix>,
        owner: u32,
    ) -> Option<Prefix> {
        let entry = self.pools.get_mut(usize::from(pool))?;
        if share.is_some_and(|share| share >= entry.config.shares) {
            return None;
        }
        let unit = entry.vacant(share, hint)?;
        entry.set(unit, OWNERS + owner);
        self.changed.insert(pool);
        Some(entry.prefix(unit))
    }

    /// Gives exactly this, of a pool or of none. What was released and waits is given, too.
    ///
    /// # Errors
    /// [`Taken`]; by the owner itself it is no error.
    pub fn claim(&mut self, prefix: Prefix, owner: u32) -> Result<(), Taken> {
        if let Some(number) = self.pool_at(prefix) {
            let pool = &mut self.pools[usize::from(number)];
            let unit = pool.unit(prefix).ok_or(Taken { by: None })?;
            match pool.state(unit) {
                RESERVED => return Err(Taken { by: None }),
                state if state & WAITS != 0 && state & DECLINED != 0 => {
                    return Err(Taken { by: None });
                }
                FREE => {}
                state if state & WAITS != 0 => {}
                state if state == OWNERS + owner => return Ok(()),
                state => return Err(Taken { by: Some(state - OWNERS) }),
            }
            pool.set(unit, OWNERS + owner);
            self.changed.insert(number);
            return Ok(());
        }
        let before = self.fixed.range(..=prefix).next_back();
        let behind = self.fixed.range(prefix..).next();
        let other = before.into_iter().chain(behind).find(|(other, _)| other.overlaps(prefix));
        match other {
            None => _ = self.fixed.insert(prefix, owner),
            Some((other, by)) if *other == prefix && *by == owner => {}
            Some((_, by)) => return Err(Taken { by: Some(*by) }),
        }
        Ok(())
    }

    /// Takes back what an owner has; false if it has no such thing.
    pub fn give_back(&mut self, prefix: Prefix, owner: u32, how: Return, now: Time) -> bool {
        let Some(number) = self.pool_at(prefix) else {
            let is_owner = self.fixed.get(&prefix) == Some(&owner);
            return is_owner && self.fixed.remove(&prefix).is_some();
        };
        let pool = &mut self.pools[usize::from(number)];
        let unit = pool.unit(prefix).filter(|unit| pool.state(*unit) == OWNERS + owner);
        let Some(unit) = unit else { return false };
        let (queue, mark) = match how {
            Return::Unused => (None, 0),
            Return::Released => (Some(0), 0),
            Return::Declined => (Some(1), DECLINED),
        };
        match queue.filter(|queue| !self.spans[*queue].is_zero()) {
            None => pool.set(unit, FREE),
            Some(queue) => {
                self.ticket = (self.ticket + 1) % DECLINED;
                let state = WAITS | mark | self.ticket;
                pool.set(unit, state);
                let until = now.after(self.spans[queue]);
                self.waiting[queue].push_back(Waiting { until, pool: number, unit, state });
            }
        }
        self.changed.insert(number);
        true
    }

    /// Frees what has waited long enough; returns a pool that has become short or is not any more.
    pub fn poll(&mut self, now: Time) -> Option<Turn> {
        for queue in &mut self.waiting {
            while let Some(first) = queue.front().copied().filter(|first| first.until <= now) {
                queue.pop_front();
                let pool = &mut self.pools[usize::from(first.pool)];
                // It may have been fixed meanwhile.
                if pool.state(first.unit) == first.state {
                    pool.set(first.unit, FREE);
                    self.changed.insert(first.pool);
                }
            }
        }
        while let Some(pool) = self.changed.pop_first() {
            if let Some(is_short) = self.pools[usize::from(pool)].turn() {
                let usage = self.usage(pool)?;
                return Some(Turn { pool, is_short, usage });
            }
        }
        None
    }

    /// When [`Pools::poll`] has something to do.
    pub fn deadline(&self) -> Option<Time> {
        if !self.changed.is_empty() {
            return Some(Time::ZERO);
        }
        self.waiting.iter().filter_map(|queue| queue.front()).map(|first| first.until).min()
    }

    /// How much of a pool is used; `None` of one that does not exist.
    pub fn usage(&self, pool: u16) -> Option<Usage> {
        let pool = self.pools.get(usize::from(pool))?;
        let (used, count) = pool.usage();
        Some(Usage { kind: pool.config.kind, used, count })
    }

    /// The pool and the share that something lies in, by which a worker is found.
    pub fn share_of(&self, prefix: Prefix) -> Option<(u16, u16)> {
        let number = self.pool_at(prefix)?;
        let pool = &self.pools[usize::from(number)];
        Some((number, pool.share_of(pool.unit(prefix)?)))
    }

    /// Who has exactly this.
    pub fn owner(&self, prefix: Prefix) -> Option<u32> {
        let Some(number) = self.pool_at(prefix) else { return self.fixed.get(&prefix).copied() };
        let pool = &self.pools[usize::from(number)];
        let state = pool.state(pool.unit(prefix)?);
        (state >= OWNERS && state & WAITS == 0).then(|| state - OWNERS)
    }

    /// Whether a pool has units of a kind, and this lies within it.
    pub fn is_of(&self, kind: Kind, prefix: Prefix) -> bool {
        let pool = self.pool_at(prefix).map(|number| &self.pools[usize::from(number)]);
        pool.is_some_and(|pool| pool.config.kind == kind && pool.unit(prefix).is_some())
    }

    /// Number of pools.
    pub fn len(&self) -> usize {
        self.pools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// Number of units that have an owner, fixed ones among them; for tests of leaks.
    pub fn held(&self) -> usize {
        let of = |pool: &Pool| {
            let is_held = |unit: &u32| {
                let state = pool.state(*unit);
                state >= OWNERS && state & WAITS == 0
            };
            (0..pool.config.count).filter(is_held).count()
        };
        self.fixed.len() + self.pools.iter().map(of).sum::<usize>()
    }

    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        let waiting: usize = self.waiting.iter().map(VecDeque::capacity).sum();
        let pools: usize = self.pools.iter().map(Pool::bytes).sum();
        pools + waiting * size_of::<Waiting>() + self.fixed.len() * 2 * size_of::<(Prefix, u32)>()
    }

    /// The pool that has an address in common with this.
    fn pool_at(&self, prefix: Prefix) -> Option<u16> {
        let (_, number) = self.by_first.range(..=prefix.last()).next_back()?;
        let pool = &self.pools[usize::from(*number)];
        (prefix.first() <= pool.last().last()).then_some(*number)
    }
}

/// Owners have numbers below this.
pub const OWNERS_MAX: u32 = WAITS - OWNERS;

/// The state of a unit of the owner 0.
const OWNERS: u32 = 2;

/// Set in the state of a unit that waits, above the number of its turn.
const WAITS: u32 = 1 << 31;

/// Set beside it where it was declined.
const DECLINED: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASED: Duration = Duration::from_secs(10);
    const DECLINED: Duration = Duration::from_secs(100);

    fn at(s: u64) -> Time {
        Time::ZERO.after(Duration::from_secs(s))
    }

    fn prefix(text: &str, len: u8) -> Prefix {
        Prefix::new(text.parse().expect("an address"), len).expect("a prefix")
    }

    fn pool(kind: Kind, text: &str, len: u8, count: u32) -> PoolConfig {
        let first = prefix(text, len);
        PoolConfig { kind, first, count, reserved: vec![first], shares: 1, alarm_percent: 0 }
    }

    fn pools() -> Pools {
        let configs = vec![
            pool(Kind::Address, "10.0.0.0", 32, 4),
            pool(Kind::Delegated, "2001:db8:100::", 56, 4),
            pool(Kind::Slaac, "2001:db8:200::", 64, 4),
            pool(Kind::Address, "2001:db8:300::", 128, 4),
        ];
        Pools::new(configs, RELEASED, DECLINED).expect("pools")
    }

    #[test]
    fn each_kind_is_given_once_and_none_that_is_reserved() {
        let mut pools = pools();
        for pool in 0..4 {
            let all: BTreeSet<Prefix> =
                (0..3).filter_map(|owner| pools.take(pool, None, None, owner)).collect();
            assert_eq!(all.len(), 3, "{all:?}");
            assert_eq!(pools.take(pool, None, None, 9), None);
        }
        assert_eq!(pools.owner(prefix("2001:db8:100:100::", 56)), Some(0));
        assert_eq!(pools.owner(prefix("10.0.0.0", 32)), None);
        assert_eq!((pools.take(4, None, None, 1), pools.take(0, Some(1), None, 1)), (None, None));
        assert_eq!(pools.held(), 12);
    }

    #[test]
    fn what_comes_back_waits_by_how_it_does() {
        let mut pools = pools();
        let taken: Vec<Prefix> = (0..3).filter_map(|at| pools.take(0, None, None, at)).collect();
        assert!(!pools.give_back(taken[0], 1, Return::Released, at(0)), "another's");
        for (owner, how) in [(0, Return::Unused), (1, Return::Released), (2, Return::Declined)] {
            assert!(pools.give_back(taken[owner as usize], owner, how, at(0)));
            assert!(!pools.give_back(taken[owner as usize], owner, how, at(0)), "twice");
        }
        pools.poll(at(9));
        assert_eq!(pools.take(0, None, None, 7), Some(taken[0]));
        assert_eq!(pools.take(0, None, None, 7), None);
        assert_eq!(pools.deadline(), Some(Time::ZERO), "the pool was changed");
        pools.poll(at(9));
        assert_eq!(pools.deadline(), Some(at(10)));
        pools.poll(at(10));
        assert_eq!(pools.take(0, None, None, 7), Some(taken[1]));
        pools.poll(at(99));
        assert_eq!(pools.take(0, None, None, 7), None);
        pools.poll(at(100));
        assert_eq!(pools.take(0, None, None, 7), Some(taken[2]));
    }

    #[test]
    fn a_fixed_one_is_nobody_elses() {
        let mut pools = pools();
        let inside = prefix("10.0.0.2", 32);
        assert_eq!(pools.claim(inside, 5), Ok(()));
        assert_eq!(pools.claim(inside, 5), Ok(()), "its owner's already");
        assert_eq!(pools.claim(inside, 6), Err(Taken { by: Some(5) }));
        let given: Vec<_> = (0..4).filter_map(|at| pools.take(0, None, None, at)).collect();
        assert_eq!(given, [prefix("10.0.0.1", 32), prefix("10.0.0.3", 32)]);
        // A router's, a part of a unit, and more than one.
        for other in ["10.0.0.0/32", "2001:db8:100:180::/57", "2001:db8:100::/55"] {
            let (text, len) = other.split_once('/').expect("a prefix");
            let other = prefix(text, len.parse().expect("a length"));
            assert_eq!(pools.claim(other, 5), Err(Taken { by: None }), "{other}");
        }
        // Of no pool.
        let outside = prefix("2001:db8:f000::", 48);
        assert_eq!(pools.claim(outside, 5), Ok(()));
        for other in [prefix("2001:db8:f000::", 56), prefix("2001:db8:f000:ff00::", 56)] {
            assert_eq!(pools.claim(other, 5), Err(Taken { by: Some(5) }), "{other}");
        }
        assert_eq!(pools.claim(prefix("2001:db8::", 33), 5), Err(Taken { by: None }), "pools");
        assert!(pools.give_back(outside, 5, Return::Released, at(0)));
        assert_eq!(pools.claim(prefix("2001:db8:f000::", 56), 6), Ok(()));
        assert_eq!(pools.claim(outside, 5), Err(Taken { by: Some(6) }));
    }

    #[test]
    fn what_waits_can_be_fixed_unless_declined_and_then_waits_anew() {
        let mut pools = pools();
        let address = prefix("10.0.0.1", 32);
        assert_eq!(pools.claim(address, 1), Ok(()));
        pools.give_back(address, 1, Return::Released, at(0));
        assert_eq!(pools.claim(address, 2), Ok(()));
        pools.give_back(address, 2, Return::Released, at(5));
        pools.poll(at(10));
        let others: Vec<_> = (0..3).filter_map(|at| pools.take(0, None, None, at)).collect();
        assert!(!others.contains(&address), "its first turn was over, its second is not");
        pools.poll(at(15));
        assert_eq!(pools.take(0, None, None, 3), Some(address));
        pools.give_back(address, 3, Return::Declined, at(15));
        assert_eq!(pools.claim(address, 4), Err(Taken { by: None }));
        assert_eq!(pools.owner(address), None);
    }

    #[test]
    fn pools_that_overlap_are_refused() {
        for (a, b) in [
            (pool(Kind::Address, "10.0.0.0", 32, 4), pool(Kind::Address, "10.0.0.3", 32, 4)),
            (pool(Kind::Slaac, "2001:db8::", 64, 2), pool(Kind::Address, "2001:db8::", 128, 4)),
            (
                pool(Kind::Delegated, "2001:db8::", 56, 2),
                pool(Kind::Slaac, "2001:db8:0:1ff::", 64, 2),
            ),
        ] {
            let why = Unusable::Overlap(a.first, b.first);
            assert_eq!(Pools::new(vec![a.clone(), b.clone()], RELEASED, DECLINED).err(), Some(why));
            let same = Unusable::Overlap(a.first, a.first);
            assert_eq!(Pools::new(vec![a.clone(), a], RELEASED, DECLINED).err(), Some(same));
        }
    }
}
