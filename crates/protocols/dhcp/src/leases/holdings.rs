//! What clients hold: offered, begun with the owner, renewed.

use protocol_kit::Time;

use crate::access::Heard;
use crate::config::Class;
use crate::control::{Report, Source};
use crate::lease::{Held, Holding, Stage};
use crate::leases::{Leases, seconds};
use crate::pools::{Return, Taken};
use crate::prefix::{Kind, Prefix};

impl Leases {
    /// Gives a client something by an identity association, or what it has by it already. It is
    /// offered for a time.
    pub fn offer(
        &mut self,
        number: u32,
        (kind, iaid): (Kind, u32),
        hint: Option<Prefix>,
        now: Time,
    ) -> Option<Prefix> {
        let (until, most) = (now.after(self.config.patience.offer), self.holdings_max());
        let valid_s = Class::seconds(self.class(number).valid);
        let lease = self.slots.get_mut(number as usize)?.lease.as_mut()?;
        let mut same = lease.holdings.iter_mut();
        if let Some(holding) = same.find(|one| (one.kind, one.iaid) == (kind, iaid)) {
            if holding.stage == Held::Offered {
                holding.until = until;
            }
            let prefix = holding.prefix;
            self.settle(number);
            return Some(prefix);
        }
        let count = lease.holdings.iter().filter(|one| one.kind == kind).count();
        let grant = lease.grant?;
        let source = if kind == Kind::Delegated { grant.delegated } else { grant.address };
        let mut held = lease.holdings.iter().map(|one| Source::Fixed(one.prefix));
        let is_held = held.any(|held| source == Some(held));
        let prefix = match source {
            _ if count >= most || is_held => None,
            Some(Source::Fixed(prefix)) => {
                // The owner is told whose it is.
                return self.hold(number, (kind, iaid), (prefix, valid_s), now).then_some(prefix);
            }
            Some(Source::Pool(pool, share)) => {
                let is_of_kind = self.pools.usage(pool).is_some_and(|usage| usage.kind == kind);
                let taken =
                    is_of_kind.then(|| self.pools.take(pool, share, hint, number)).flatten();
                taken.filter(|prefix| {
                    let is_right = prefix.address().is_ipv6() == self.is_v6;
                    is_right || !self.pools.give_back(*prefix, number, Return::Unused, now)
                })
            }
            None => None,
        };
        match prefix {
            None => self.counters.exhausted += 1,
            Some(prefix) => self.add(number, (kind, iaid), (prefix, valid_s), now),
        }
        prefix
    }

    /// Has a client hold exactly this, offered for a time, and then for these seconds; false if it
    /// is another's.
    pub fn hold(
        &mut self,
        number: u32,
        (kind, iaid): (Kind, u32),
        (prefix, valid_s): (Prefix, u32),
        now: Time,
    ) -> bool {
        let Some(lease) = self.lease(number) else { return false };
        let same = |one: &Holding| (one.kind, one.iaid, one.prefix) == (kind, iaid, prefix);
        if lease.holdings.iter().any(same) {
            return true;
        }
        let of_kind = lease.holdings.iter().filter(|one| one.kind == kind).count();
        let is_right = prefix.address().is_ipv6() == self.is_v6;
        if !is_right || !prefix.is_whole(kind) || of_kind >= self.holdings_max() {
            self.counters.exhausted += 1;
            return false;
        }
        let is_own = lease.holdings.iter().any(|one| one.prefix == prefix);
        let claimed =
            if is_own { Err(Taken { by: None }) } else { self.pools.claim(prefix, number) };
        match claimed {
            Ok(()) => self.add(number, (kind, iaid), (prefix, valid_s), now),
            Err(Taken { by }) => {
                self.counters.taken += 1;
                let by = by.map(|number| self.id(number));
                let lease = self.id(number);
                self.report(Report::Taken { lease, prefix, by });
            }
        }
        claimed.is_ok()
    }

    fn add(
        &mut self,
        number: u32,
        (kind, iaid): (Kind, u32),
        (prefix, valid_s): (Prefix, u32),
        now: Time,
    ) {
        let until = now.after(self.config.patience.offer);
        let stage = Held::Offered;
        if let Some(lease) = &mut self.slots[number as usize].lease {
            lease.holdings.reserve_exact(1);
            lease.holdings.push(Holding { kind, iaid, prefix, stage, valid_s, until });
        }
        self.settle(number);
    }

    pub(super) fn holdings_max(&self) -> usize {
        usize::from(self.config.holdings_max).clamp(1, HOLDINGS_MAX)
    }

    /// Has the owner begin the session with what is offered by these identity associations. The
    /// message comes back when there is nothing to begin; otherwise it waits.
    pub fn start(
        &mut self,
        number: u32,
        taken: &[(Kind, u32)],
        heard: Heard,
        now: Time,
    ) -> Option<Heard> {
        let is_new =
            |one: &Holding| one.stage == Held::Offered && taken.contains(&(one.kind, one.iaid));
        let lease = self.slots.get_mut(number as usize)?.lease.as_mut()?;
        if !lease.holdings.iter().any(is_new) {
            return Some(heard);
        }
        if self.waiting >= self.config.waiting_max {
            self.counters.busy += 1;
            return None;
        }
        lease.stage = Stage::Starting;
        lease.until = now.after(self.config.patience.start);
        let session = lease.grant.map_or(0, |grant| grant.session);
        lease
            .holdings
            .iter_mut()
            .filter(|one| is_new(one))
            .for_each(|one| one.stage = Held::Starting);
        let firm = lease.holdings.iter().filter(|one| one.stage != Held::Offered);
        let prefixes = firm.map(|one| one.prefix).collect();
        self.wait(number, heard);
        self.settle(number);
        let lease = self.id(number);
        self.report(Report::Up { lease, session, prefixes });
        None
    }

    /// Lets what is held by an identity association live from now on, `only` one of it or all;
    /// tells whether there is something.
    pub fn renew(
        &mut self,
        number: u32,
        (kind, iaid): (Kind, u32),
        only: Option<Prefix>,
        valid_s: u32,
        now: Time,
    ) -> bool {
        let lease = self.slots.get_mut(number as usize).and_then(|slot| slot.lease.as_mut());
        let mut is_any = false;
        for holding in lease.into_iter().flat_map(|lease| &mut lease.holdings).filter(|one| {
            let is_it = (one.kind, one.iaid) == (kind, iaid);
            is_it && one.stage == Held::Firm && only.is_none_or(|only| only == one.prefix)
        }) {
            is_any = true;
            holding.valid_s = valid_s;
            holding.until = now.after(seconds(valid_s));
        }
        self.settle(number);
        is_any
    }

    /// Tells the owner that a lease lives longer.
    pub fn renewed(&mut self, number: u32) {
        let id = self.id(number);
        self.report(Report::Renewed(id));
    }
}

/// Most addresses, and most prefixes, that a client may hold.
const HOLDINGS_MAX: usize = 16;
