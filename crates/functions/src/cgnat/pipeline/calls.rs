//! Packets of calls of PPTP (RFC 2637 section 4): enhanced GRE, of which the gateway knows both ends' identifiers.

use packet::{Batch, Slot};

use super::super::interfaces::{INSIDE, OUTSIDE};
use super::super::reasons;
use super::super::rewrite;
use super::super::session::Session;
use super::super::times::Moment;
use super::Pipeline;

impl Pipeline {
    /// Packets of subscribers' calls, behind those that may begin the calls. They open nothing: the other end would
    /// not know to which call they belong.
    #[inline(never)]
    pub(super) fn calls(&mut self, batch: &mut Batch, now: Moment) {
        let slots = self.way.calls.clone();
        for &slot in slots.as_slice() {
            let index = usize::from(slot);
            let Some(number) = self.state.call(&self.way.inside[index], now) else {
                self.refuse(batch, slot, reasons::NO_CALL);
                continue;
            };
            self.way.inside[index] = self.state.sessions.records[number as usize].inside_key();
            self.leave(batch, slot, number, now);
        }
    }

    /// Sends a packet of a call out.
    pub(super) fn leave_call(&self, batch: &mut Batch, slot: Slot, session: &Session) {
        batch.truncate(slot, usize::from(self.way.shape[usize::from(slot)].len));
        rewrite::call_to_outside(batch.frame_mut(slot), session);
        self.send(batch, slot, OUTSIDE);
    }

    /// Sends one in.
    pub(super) fn arrive_call(&self, batch: &mut Batch, slot: Slot, session: &Session) {
        let shape = self.way.shape[usize::from(slot)];
        batch.truncate(slot, usize::from(shape.len));
        rewrite::call_to_inside(batch.frame_mut(slot), session, shape);
        self.send(batch, slot, INSIDE);
    }
}
