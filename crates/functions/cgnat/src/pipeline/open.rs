//! Packets without a session: those that may open one, and those that are refused.

use machine::memory::prefetch_at;
use packet::{Batch, PortId, Reason, Slot, Verdict};
use wire::tcp;

use crate::config::TcpResets;
use crate::icmp::answers::is_want;
use crate::pipeline::Pipeline;
use crate::reasons;
use crate::sessions::ports::Class;
use crate::sessions::session::TcpState;
use crate::sessions::table::{NONE, Number};
use crate::sessions::times::Moment;
use crate::types::class::Shape;
use crate::types::flow::{Inside, Outside};
use crate::types::sides::{OUTSIDE, first_of_side};

impl Pipeline {
    /// Packets without a session open one, if they may.
    pub(crate) fn open(&mut self, batch: &mut Batch, now: Moment) {
        if !self.scratch.new_inside.is_empty() {
            self.prepare_to_open();
            let slots = self.scratch.new_inside.clone();
            for &slot in slots.as_slice() {
                self.open_from_inside(batch, slot, now);
            }
        }
        if !self.scratch.new_outside.is_empty() {
            self.state.begin_batch();
            let slots = self.scratch.new_outside.clone();
            for &slot in slots.as_slice() {
                self.open_from_outside(batch, slot, now);
            }
        }
    }

    /// Asks for what opening reads and writes: mappings and subscribers, then the records that they
    /// lead to, then what those lead to.
    fn prepare_to_open(&mut self) {
        let (scratch, state) = (&mut *self.scratch, &self.state);
        let (sessions, subscribers) = (&state.sessions, &state.subscribers);
        let keyed = sessions.keyed();
        sessions.prefetch_room(scratch.new_inside.len());
        for &slot in scratch.new_inside.as_slice() {
            let key = &scratch.inside[usize::from(slot)];
            sessions.prefetch_mapping(key.mapping_hash(keyed));
            subscribers.prefetch(key, keyed);
        }
        for &slot in scratch.new_inside.as_slice() {
            let index = usize::from(slot);
            let key = &scratch.inside[index];
            let number = sessions.candidate_mapping(key.mapping_hash(keyed));
            scratch.number[index] = number;
            if number == NONE {
                scratch.subscriber[index] = subscribers.candidate(key, keyed).unwrap_or(NONE);
            }
        }
        let mut maps = false;
        for &slot in scratch.new_inside.as_slice() {
            let index = usize::from(slot);
            if let Some(mapping) = sessions.records.get(scratch.number[index] as usize) {
                sessions.prefetch_neighbours(mapping, &scratch.inside[index]);
                prefetch_at(&subscribers.records, mapping.subscriber as usize);
            } else if let Some(one) = subscribers.records.get(scratch.subscriber[index] as usize) {
                state.allocation.prefetch_blocks(one);
                maps = true;
            }
        }
        if maps {
            self.prepare_to_map();
        }
    }

    /// Asks for what making mappings writes: the ports that they likely get, and their sessions'
    /// lines.
    fn prepare_to_map(&self) {
        let (scratch, state) = (&self.scratch, &self.state);
        let new = scratch.new_inside.as_slice().iter().map(|&slot| usize::from(slot));
        for (ahead, index) in new.filter(|&index| scratch.number[index] == NONE).enumerate() {
            let number = scratch.subscriber[index] as usize;
            let Some(subscriber) = state.subscribers.records.get(number) else { continue };
            let key = &scratch.inside[index];
            let wanted = (Class::of(key.far.protocol()), key.port());
            if let Some((address, port)) = state.allocation.foresee(subscriber, wanted, ahead) {
                let outside = Outside::new(address, port, key.far);
                state.sessions.prefetch_outside(outside.hash(state.sessions.keyed()));
            }
        }
    }

    pub(crate) fn open_from_inside(&mut self, batch: &mut Batch, slot: Slot, now: Moment) {
        let index = usize::from(slot);
        let (key, hash) = (self.scratch.inside[index], self.scratch.hash[index]);
        // A candidate may have been another's session, and a packet before this one may have opened
        // it.
        if let Some(number) = self.state.live_inside(&key, hash, now) {
            self.leave(batch, slot, number, now);
            return;
        }
        if !key.is_tunnelled() && self.is_virtual(batch.port(slot), key.far.address()) {
            return self.receive(batch, slot, now);
        }
        let shape = self.scratch.shape[index];
        let may_open = self.may_open(&key, shape);
        let opened = may_open.and_then(|()| self.state.open_from_inside(&key, hash, now));
        match opened {
            Ok(number) => {
                self.pick_up(number, shape);
                self.leave(batch, slot, number, now);
                if self.limits_lengths {
                    self.stops(batch, slot);
                }
                let is_kept = match batch.verdict(slot) {
                    Verdict::Drop(reasons::FILTERED) => self.is_punched(number),
                    verdict => !matches!(verdict, Verdict::Drop(_)),
                };
                if !is_kept {
                    // Nobody outside has seen it: whoever tries ports of others takes none for
                    // that.
                    self.state.undo(number, now);
                }
            }
            Err(reason) => {
                if is_want(reason) {
                    let keyed = self.state.sessions.keyed();
                    self.state.refusals.note(&key, keyed, reason, now);
                }
                self.refuse_and_tell(batch, slot, reason);
            }
        }
    }

    /// Whether a session whose first packet another subscriber's filter has dropped is there for
    /// that one's answer: two that know each other's mappings from a third open their filters to
    /// each other so (RFC 5128 section 3.3). A mapping that was made for it does not: nobody knows
    /// that one.
    fn is_punched(&self, number: Number) -> bool {
        self.state.sessions.records[number as usize].next != number
    }

    pub(crate) fn open_from_outside(&mut self, batch: &mut Batch, slot: Slot, now: Moment) {
        let index = usize::from(slot);
        let (key, hash) = (self.scratch.outside[index], self.scratch.hash[index]);
        if self.is_bogon(batch.port(slot), key.far.address()) {
            return self.refuse(batch, slot, reasons::BOGON);
        }
        match self.state.open_from_outside(&key, hash, now) {
            Ok(number) => {
                self.arrive(batch, slot, number, now);
            }
            Err(reasons::NO_MAPPING) if self.is_for_itself(batch, slot) => {
                self.receive(batch, slot, now);
            }
            Err(reasons::NO_MAPPING) if self.may_reset(index) => {
                self.refuse_and_tell(batch, slot, reasons::NO_MAPPING);
            }
            Err(reason) if first_of_side(batch.port(slot)) == OUTSIDE => {
                self.refuse(batch, slot, reason)
            }
            // A subscriber of another worker is told what one of this worker would be told.
            Err(reason) => self.refuse_and_tell(batch, slot, reason),
        }
    }

    /// Whether a packet from outside that no mapping takes is a segment of TCP that opens nothing,
    /// and resets are for hosts outside, too.
    fn may_reset(&self, index: usize) -> bool {
        let flags = self.scratch.shape[index].tcp_flags;
        let is_tcp = self.scratch.outside[index].far.protocol() == wire::protocol::TCP;
        let opens = flags & (tcp::FLAG_SYN | tcp::FLAG_ACK) == tcp::FLAG_SYN;
        self.tcp_resets == TcpResets::Both && is_tcp && !opens
    }

    /// Whether a packet that came in by an outside interface has a source that no host there has.
    pub(crate) fn is_bogon(&self, port: PortId, source: u32) -> bool {
        first_of_side(port) == OUTSIDE && {
            let is_nobodys = matches!((source >> 24) as u8, 0 | 127 | 224..);
            let is_shared = || self.state.allocation.addresses.number(source).is_some();
            is_nobodys || is_shared() || self.interfaces.is_inside(0, source)
        }
    }

    /// Whether a packet from inside is one that may open a session.
    fn may_open(&self, key: &Inside, shape: Shape) -> Result<(), Reason> {
        if !self.interfaces.is_subscriber(key) {
            return Err(reasons::NOT_INSIDE);
        }
        let far = (key.far.address() >> 24) as u8;
        if matches!(far, 0 | 127 | 224..) {
            return Err(reasons::MARTIAN);
        }
        if self.interfaces.is_inside(key.realm(), key.far.address()) {
            return Err(reasons::TO_INSIDE);
        }
        // An answer to a query of another one, which has a session while it is waited for.
        if key.far.protocol() == wire::protocol::ICMP && shape.tcp_flags != 0 {
            return Err(reasons::ICMP_NO_SESSION);
        }
        let is_tcp = key.far.protocol() == wire::protocol::TCP;
        let is_syn = shape.tcp_flags & (tcp::FLAG_SYN | tcp::FLAG_RST) == tcp::FLAG_SYN;
        if is_tcp && !is_syn && !self.tcp_pick_up {
            return Err(reasons::TCP_NO_SESSION);
        }
        if !self.hairpinning && self.state.allocation.addresses.number(key.far.address()).is_some()
        {
            return Err(reasons::HAIRPIN_OFF);
        }
        Ok(())
    }

    /// A connection whose beginning was not seen is taken for an established one.
    fn pick_up(&mut self, number: Number, shape: Shape) {
        let session = &mut self.state.sessions.records[number as usize];
        let is_tcp = session.far.protocol() == wire::protocol::TCP;
        if is_tcp && session.tcp == TcpState::default() && shape.tcp_flags & tcp::FLAG_SYN == 0 {
            session.tcp = TcpState::picked_up();
        }
    }
}
