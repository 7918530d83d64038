//! Packets of sessions that do not leave as most do: to other subscribers, told to a standby, or with a
//! maximum segment size that is lowered.

use packet::{Batch, Slot};
use wire::{protocol, tcp};

use super::super::flow::{Far, Outside};
use super::super::parse::Shape;
use super::super::reasons::{self, Tally};
use super::super::session::{self, GATEWAY, Session, WATCHED};
use super::super::sessions::Number;
use super::super::times::Moment;
use super::{Pipeline, hops_left};

impl Pipeline {
    /// A packet of a session that a standby is to hear of, or that does not leave as most do; tells whether it
    /// has left thereby.
    #[inline(never)]
    pub(super) fn leave_noted(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (number, known, is_changed, is_shorter): (Number, &Session, bool, bool),
        now: Moment,
    ) -> bool {
        let is_watched = known.flags & WATCHED != 0;
        if is_watched {
            self.state.sessions.records[number as usize].flags &= !WATCHED;
        }
        if is_watched || is_changed {
            self.state.note(number);
        }
        let leaves = known.flags & (session::HAIRPIN | session::IPV6 | GATEWAY) != 0;
        if leaves {
            self.leave_otherwise(batch, slot, (number, known, is_shorter), now);
        }
        leaves
    }

    /// A packet of a session to another subscriber's outside address (RFC 4787 REQ-9): it comes back in
    /// from its own outside address and port, if the other one's mapping takes it.
    #[inline(never)]
    pub(super) fn turn_around(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (number, session, is_shorter): (Number, &Session, bool),
        now: Moment,
    ) {
        if is_shorter {
            self.state.sessions.hasten(number, (now, &self.state.times));
        }
        let index = usize::from(slot);
        let far = session.far;
        if far.protocol() == protocol::ICMP {
            return self.refuse(batch, slot, reasons::PROTOCOL);
        }
        if !self.hairpinning {
            return self.refuse_and_tell(batch, slot, reasons::HAIRPIN_OFF);
        }
        // It makes two hops.
        if hops_left(batch.frame(slot)) <= 2 {
            return self.refuse_and_tell(batch, slot, reasons::TTL_EXPIRED);
        }
        let own = Far::new(far.protocol(), session.outside, session.outside_port);
        let key = Outside::new(far.address(), far.port(), own);
        let hash = key.hash(self.state.sessions.keyed());
        match self.state.open_from_outside(&key, hash, now) {
            Ok(other) => {
                self.state.tallies[Tally::Hairpinned as usize] += 1;
                self.way.outside[index] = key;
                match self.get_outside_ends(batch, slot, session) {
                    Ok(()) => drop(self.arrive(batch, slot, other, now)),
                    Err(reason) => self.refuse(batch, slot, reason),
                }
            }
            Err(reason) => self.refuse_and_tell(batch, slot, reason),
        }
    }

    /// Lowers the maximum segment size of a SYN.
    #[inline(never)]
    pub(super) fn clamp(&mut self, batch: &mut Batch, slot: Slot, shape: Shape, most: u16) {
        let Some(segment) = batch.frame_mut(slot).get_mut(usize::from(shape.transport)..) else {
            return;
        };
        let Ok(mut segment) = tcp::ViewMut::parse(segment) else { return };
        if segment.as_view().maximum_segment_size().is_some_and(|size| size > most) {
            segment.set_maximum_segment_size(most);
            self.state.tallies[Tally::MssClamped as usize] += 1;
        }
    }
}
