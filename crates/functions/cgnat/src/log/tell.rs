//! What happens is told where it happens: a branch each where logs are off.

use machine::clock::Ticks;
use packet::{Made, Reason};

use crate::log::Kind;
use crate::reasons::{self, Tally};
use crate::sessions::allocation::BlockChange;
use crate::sessions::session::Session;
use crate::state::State;
use crate::types::flow::Inside;
use export::COUNTS;

impl State {
    /// Says when happens what is told from now on.
    #[inline]
    pub fn tell_at(&mut self, now: Ticks) {
        if let Some(log) = &mut self.log {
            log.set_time(now);
        }
    }

    /// Makes the messages that are due.
    #[inline]
    pub fn tell(&mut self, now: Ticks, made: &mut Made) {
        if let Some(log) = &mut self.log {
            log.flush(now, made);
            let first = Tally::LogRecords as usize;
            self.tallies[first..first + COUNTS.len()].copy_from_slice(log.counts());
        }
    }

    /// A session was opened, and with it a mapping or not; one that a gateway expects is none yet.
    #[inline]
    pub(crate) fn tell_opened(&mut self, session: &Session, maps: bool) {
        if let Some(log) = &mut self.log {
            if maps {
                log.session(Kind::MappingCreate, session);
            }
            if !session.far.is_expected() {
                log.session(Kind::SessionCreate, session);
            }
        }
    }

    /// A session is gone, and with it its mapping or not.
    #[inline]
    pub(crate) fn tell_closed(&mut self, session: &Session, unmaps: bool) {
        if let Some(log) = &mut self.log {
            if !session.far.is_expected() {
                log.session(Kind::SessionDelete, session);
            }
            if unmaps {
                log.session(Kind::MappingDelete, session);
            }
        }
    }

    /// A subscriber got a port of an outside address, and for it that address or a block.
    pub(crate) fn tell_given(
        &mut self,
        number: u32,
        outside: u32,
        (is_paired_now, block): (bool, Option<BlockChange>),
    ) {
        let Some(log) = &mut self.log else { return };
        let subscriber = &self.subscribers.records[number as usize];
        if is_paired_now {
            log.pairing(Kind::AddressBind, subscriber, outside);
        }
        if let Some(block) = block {
            log.block(Kind::BlockAllocate, subscriber, (outside, block));
        }
    }

    /// A block was taken back.
    pub(crate) fn tell_released(&mut self, number: u32, outside: u32, block: BlockChange) {
        if let Some(log) = &mut self.log {
            let subscriber = &self.subscribers.records[number as usize];
            log.block(Kind::BlockRelease, subscriber, (outside, block));
        }
    }

    /// A subscriber is to be forgotten.
    pub(crate) fn tell_forgotten(&mut self, number: u32) {
        let Some(log) = &mut self.log else { return };
        let subscriber = &self.subscribers.records[number as usize];
        if subscriber.is_paired {
            let outside = self.allocation.addresses.address(subscriber.outside);
            log.pairing(Kind::AddressUnbind, subscriber, outside);
        }
    }

    /// A subscriber has as much as it may have; gives the reason back.
    pub(crate) fn tell_limit(&mut self, number: u32, limit: u32, reason: Reason) -> Reason {
        if let Some(log) = &mut self.log {
            log.limit(&self.subscribers.records[number as usize], limit);
        }
        reason
    }

    /// A table is full; gives the reason back.
    pub(crate) fn tell_full(&mut self, reason: Reason) -> Reason {
        if let Some(log) = &mut self.log {
            let (kind, limit) = match reason {
                reasons::MAPPINGS_FULL => (Kind::MappingsFull, self.sessions.mapping_capacity()),
                reasons::SUBSCRIBERS_FULL => {
                    (Kind::SubscribersFull, self.subscribers.records.len())
                }
                _ => (Kind::SessionsFull, self.sessions.capacity()),
            };
            log.full(kind, limit);
        }
        reason
    }

    /// A subscriber found no port.
    pub(crate) fn tell_refused(&mut self, number: u32, key: &Inside, reason: Reason) {
        let Some(log) = &mut self.log else { return };
        let subscriber = &self.subscribers.records[number as usize];
        match reason {
            reasons::BLOCK_LIMIT => {
                let inside = (key.address[0] == 0).then_some(key.address[1] as u32);
                let own = inside.and_then(|it| self.allocation.deterministic(key.realm(), it));
                let blocks = self.allocation.layout().ports_per_subscriber();
                log.limit(subscriber, own.map_or(blocks, |own| own.len.into()));
            }
            reasons::PORTS_EXHAUSTED => {
                let outside = self.allocation.addresses.address(subscriber.outside);
                log.ports_exhausted(outside, key.far.protocol());
            }
            reasons::POOL_EXHAUSTED => log.addresses_exhausted(),
            _ => {}
        }
    }
}
