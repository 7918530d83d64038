//! Packets of calls of PPTP (RFC 2637 section 4): enhanced GRE, of which the gateway knows both
//! ends' identifiers.

use packet::{Batch, Slot};

use crate::pipeline::Pipeline;
use crate::reasons;
use crate::sessions::rewrite;
use crate::sessions::session::Session;
use crate::sessions::times::Moment;
use crate::types::sides::{INSIDE, OUTSIDE};

impl Pipeline {
    /// Packets of subscribers' calls, behind those that may begin the calls. They open nothing: the
    /// other end would not know to which call they belong.
    #[inline(never)]
    pub(crate) fn calls(&mut self, batch: &mut Batch, now: Moment) {
        let slots = self.scratch.calls.clone();
        for &slot in slots.as_slice() {
            let index = usize::from(slot);
            let Some(number) = self.state.call(&self.scratch.inside[index], now) else {
                self.refuse(batch, slot, reasons::NO_CALL);
                continue;
            };
            self.scratch.inside[index] = self.state.sessions.records[number as usize].inside_key();
            self.leave(batch, slot, number, now);
        }
    }

    /// Sends a packet of a call out.
    pub(crate) fn leave_call(&self, batch: &mut Batch, slot: Slot, session: &Session) {
        batch.truncate(slot, usize::from(self.scratch.shape[usize::from(slot)].len));
        rewrite::call_to_outside(batch.frame_mut(slot), session);
        self.send(batch, slot, OUTSIDE);
    }

    /// Sends one in.
    pub(crate) fn arrive_call(&self, batch: &mut Batch, slot: Slot, session: &Session) {
        let shape = self.scratch.shape[usize::from(slot)];
        batch.truncate(slot, usize::from(shape.len));
        rewrite::call_to_inside(batch.frame_mut(slot), session, shape);
        self.send(batch, slot, INSIDE);
    }
}
