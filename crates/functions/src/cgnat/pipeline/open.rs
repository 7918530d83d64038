//! Packets without a session: those that may open one, and those that are refused.

use packet::{Batch, Reason, Slot, Verdict};
use wire::tcp;

use super::super::flow::Inside;
use super::super::parse::Shape;
use super::super::reasons;
use super::super::session::TcpState;
use super::super::sessions::Number;
use super::super::times::Moment;
use super::Pipeline;

impl Pipeline {
    /// Packets without a session open one, if they may.
    pub(super) fn open(&mut self, batch: &mut Batch, now: Moment) {
        if !self.way.new_inside.is_empty() {
            self.prepare_to_open();
            let slots = self.way.new_inside.clone();
            for &slot in slots.as_slice() {
                self.open_from_inside(batch, slot, now);
            }
        }
        if !self.way.new_outside.is_empty() {
            self.state.begin_batch();
            let slots = self.way.new_outside.clone();
            for &slot in slots.as_slice() {
                self.open_from_outside(batch, slot, now);
            }
        }
    }

    /// Asks for what opening reads and writes: mappings, then sessions of them, and records.
    fn prepare_to_open(&mut self) {
        let (way, state) = (&mut *self.way, &self.state);
        let sessions = &state.sessions;
        sessions.prefetch_room(way.new_inside.len());
        for &slot in way.new_inside.as_slice() {
            let key = &way.inside[usize::from(slot)];
            sessions.prefetch_mapping(key.mapping_hash(sessions.keyed()));
            state.subscribers.prefetch(key, sessions.keyed());
        }
        for &slot in way.new_inside.as_slice() {
            let index = usize::from(slot);
            let hash = way.inside[index].mapping_hash(sessions.keyed());
            way.number[index] = sessions.candidate_mapping(hash);
        }
        for &slot in way.new_inside.as_slice() {
            let index = usize::from(slot);
            sessions.prefetch_neighbours(way.number[index], &way.inside[index]);
        }
    }

    fn open_from_inside(&mut self, batch: &mut Batch, slot: Slot, now: Moment) {
        let index = usize::from(slot);
        let (key, hash) = (self.way.inside[index], self.way.hash[index]);
        // A candidate may have been another's session, and a packet before this one may have opened it.
        if let Some(number) = self.state.live_inside(&key, hash, now) {
            self.leave(batch, slot, number, now);
            return;
        }
        let shape = self.way.shape[index];
        let may_open = self.may_open(&key, shape);
        let opened = may_open.and_then(|()| self.state.open_from_inside(&key, hash, now));
        match opened {
            Ok(number) => {
                self.pick_up(number, shape);
                self.leave(batch, slot, number, now);
                if matches!(batch.verdict(slot), Verdict::Drop(_)) {
                    // Nobody outside has seen it: whoever tries ports of others takes none for that.
                    self.state.undo(number, now);
                }
            }
            Err(reason) => self.refuse_and_tell(batch, slot, reason),
        }
    }

    fn open_from_outside(&mut self, batch: &mut Batch, slot: Slot, now: Moment) {
        let index = usize::from(slot);
        let (key, hash) = (self.way.outside[index], self.way.hash[index]);
        match self.state.open_from_outside(&key, hash, now) {
            Ok(number) => {
                self.arrive(batch, slot, number, now);
            }
            Err(reason) => self.refuse(batch, slot, reason),
        }
    }

    /// Whether a packet from inside is one that may open a session.
    fn may_open(&self, key: &Inside, shape: Shape) -> Result<(), Reason> {
        if !self.interfaces.is_subscriber(key.address[1] as u32) {
            return Err(reasons::NOT_INSIDE);
        }
        let far = (key.far.address() >> 24) as u8;
        if matches!(far, 0 | 127 | 224..) {
            return Err(reasons::MARTIAN);
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
