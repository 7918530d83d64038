//! Leases that outlive a restart, and what all of them take of memory.

use std::time::Duration;

use protocol_kit::Time;

use crate::access::Line;
use crate::control::{LeaseId, Why};
use crate::lease::{Held, Holding, Stage};
use crate::leases::{Leases, Slot};
use crate::pools::Return;
use crate::prefix::Kind;
use crate::record::{self, NotRestored};

impl Leases {
    /// A lease as bytes; `None` of one that holds nothing yet.
    pub(crate) fn record(&self, id: LeaseId) -> Option<Vec<u8>> {
        record::write(self.lease(self.number(id)?)?)
    }

    /// Takes a lease up again, as a whole or not at all.
    pub(crate) fn restore(&mut self, bytes: &[u8], now: Time) -> Result<LeaseId, NotRestored> {
        let restored = record::read(bytes).ok_or(NotRestored::Malformed)?;
        let of_kind = |kind| restored.holdings.iter().filter(|one| one.0 == kind).count();
        let is_right = restored.holdings.iter().all(|(kind, _, prefix, _)| {
            prefix.address().is_ipv6() == self.is_v6 && prefix.is_whole(*kind)
        });
        let most = of_kind(Kind::Address).max(of_kind(Kind::Delegated));
        if !is_right || most > self.holdings_max() {
            return Err(NotRestored::Malformed);
        }
        if self.find(&restored.client).is_some() {
            return Err(NotRestored::Known);
        }
        let number = self.insert(restored.client, Stage::Granted, now)?;
        let mut holdings: Vec<Holding> = Vec::with_capacity(restored.holdings.len());
        for (kind, iaid, prefix, valid_s) in restored.holdings {
            let is_new = !holdings.iter().any(|one| one.prefix == prefix);
            if !is_new || self.pools.claim(prefix, number).is_err() {
                let taken = holdings.iter().map(|one| one.prefix);
                taken.for_each(|one| _ = self.pools.give_back(one, number, Return::Unused, now));
                self.remove(number, None, Vec::new(), Why::Ended);
                self.outputs.pop_back();
                return Err(NotRestored::Taken);
            }
            let until = now.after(Duration::from_secs(valid_s.into()));
            holdings.push(Holding { kind, iaid, prefix, stage: Held::Firm, valid_s, until });
        }
        if let Some(lease) = &mut self.slots[number as usize].lease {
            (lease.grant, lease.holdings) = (Some(restored.grant), holdings);
        }
        self.settle(number);
        Ok(self.id(number))
    }

    /// Bytes that all of it holds, on the heap too; messages that wait are not among them.
    pub(crate) fn bytes(&self) -> usize {
        let of_lease = |slot: &Slot| {
            slot.lease.as_ref().map_or(0, |lease| {
                let holdings = lease.holdings.capacity() * size_of::<Holding>();
                lease.client.id.bytes().len() + holdings + 2 * ALLOCATION
            })
        };
        let leases: usize = self.slots.iter().map(of_lease).sum();
        let lines = self.lines.len() * 2 * size_of::<(Line, u16)>();
        leases
            + self.slots.capacity() * size_of::<Slot>()
            + self.free.capacity() * size_of::<u32>()
            + lines
            + self.index.bytes()
            + self.wheel.bytes()
            + self.pools.bytes()
            + self.limits.bytes()
    }
}

/// What an allocation costs beyond its bytes.
const ALLOCATION: usize = 16;
