//! Packets of sessions that do not leave or arrive as most do: those that begin and end
//! connections, to other subscribers, told to a standby, of calls, of a softwire, read by a
//! gateway, or with a maximum segment size that is lowered.

use packet::{Batch, Slot};
use wire::{protocol, tcp};

use crate::alg::Side;
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::fields::Marks;
use crate::sessions::rewrite;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::types::class::Shape;
use crate::types::hops::hops_left;
use crate::types::sides::{INSIDE, OUTSIDE, first_of_side};

impl Pipeline {
    /// A packet of a subscriber that begins or ends a connection, of which a standby is to hear, or
    /// whose session says that it does not leave as most do.
    #[inline(never)]
    pub(crate) fn leave_slowly(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        number: Number,
        now: Moment,
    ) {
        let shape = self.scratch.shape[usize::from(slot)];
        let record = &mut self.state.sessions.records[number as usize];
        let before = record.tcp;
        record.tcp = before.after(shape.tcp_flags, true);
        let is_watched = record.marks.has(Marks::WATCHED);
        record.marks.clear(Marks::WATCHED);
        let session = *record;
        self.state.connection_changed(number, (before, session.tcp), now);
        if is_watched {
            self.state.note(number);
        }
        if session.marks.has(Marks::SOFTWIRE) {
            self.note_b4(slot, (number, &session));
        }
        if session.marks.has(Marks::CALL) {
            return self.leave_call(batch, slot, &session);
        }
        if session.marks.has(Marks::HAIRPIN) {
            return self.turn_around(batch, slot, &session, now);
        }
        match self.get_outside_ends(batch, slot, &session) {
            Ok(()) => {
                if session.marks.has(Marks::ALG) {
                    self.by_alg(batch, slot, (number, Side::Inside), now);
                }
                self.send(batch, slot, OUTSIDE);
                if session.marks.has(Marks::IPV6) {
                    self.cut_whole(batch, slot, OUTSIDE, 0);
                }
            }
            Err(reason) => self.refuse(batch, slot, reason),
        }
    }

    /// A packet for a subscriber that begins or ends a connection, is of another one's session,
    /// becomes IPv6, goes to a VRF or through a softwire, or that a gateway reads.
    #[inline(never)]
    pub(crate) fn arrive_slowly(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        number: Number,
        now: Moment,
    ) {
        let shape = self.scratch.shape[usize::from(slot)];
        let record = &mut self.state.sessions.records[number as usize];
        // Another subscriber's packets do not come from outside.
        let is_between = record.marks.has(Marks::HAIRPIN);
        if is_between && first_of_side(batch.port(slot)) == OUTSIDE {
            return self.refuse(batch, slot, reasons::BOGON);
        }
        let before = record.tcp;
        record.tcp = before.after(shape.tcp_flags, false);
        if record.tcp.is_closing() && !before.is_closing() {
            record.used = self.state.times.closing((record.used, before), now);
        }
        let session = *record;
        self.head_for(slot, &session);
        self.state.connection_changed(number, (before, session.tcp), now);
        if session.marks.has(Marks::IPV6) {
            return self.arrive_ipv6(batch, slot, &session);
        }
        if session.marks.has(Marks::CALL) {
            return self.arrive_call(batch, slot, &session);
        }
        batch.truncate(slot, usize::from(shape.len));
        rewrite::to_inside(batch.frame_mut(slot), &session, shape);
        self.clamp_of(batch, slot, shape, &session);
        if session.marks.has(Marks::ALG) {
            self.by_alg(batch, slot, (number, Side::Outside), now);
        }
        self.send(batch, slot, INSIDE);
    }

    /// A packet of a session to another subscriber's outside address (RFC 4787 REQ-9): it comes
    /// back in from its own outside address and port, if the other one's mapping takes it.
    #[inline(never)]
    pub(crate) fn turn_around(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        session: &Session,
        now: Moment,
    ) {
        let index = usize::from(slot);
        let far = session.far;
        if !self.hairpinning {
            return self.refuse_and_tell(batch, slot, reasons::HAIRPIN_OFF);
        }
        // It makes two hops.
        if hops_left(batch.frame(slot)) <= 2 {
            return self.refuse_and_tell(batch, slot, reasons::TTL_EXPIRED);
        }
        // An identifier of one's own names no query of another one.
        if far.protocol() == protocol::ICMP && far.address() == session.outside {
            return self.refuse(batch, slot, reasons::NO_MAPPING);
        }
        if let Some(worker) = self.other_worker(session) {
            return match self.get_outside_ends(batch, slot, session) {
                Ok(()) => self.hand_over(batch, slot, worker),
                Err(reason) => self.refuse(batch, slot, reason),
            };
        }
        let key = session.met();
        let hash = key.hash(self.state.sessions.keyed());
        match self.state.open_from_outside(&key, hash, now) {
            Ok(other) => {
                self.state.tallies[Tally::Hairpinned as usize] += 1;
                self.scratch.outside[index] = key;
                let is_ipv6 = self.state.sessions.records[other as usize].marks.has(Marks::IPV6);
                if is_ipv6 && !self.fits_ipv6(batch.frame(slot), self.scratch.shape[index]) {
                    return self.refuse_and_tell(batch, slot, reasons::TOO_BIG);
                }
                match self.get_outside_ends(batch, slot, session) {
                    Ok(()) => {
                        self.scratch.realm[index] = 0;
                        self.arrive(batch, slot, other, now);
                    }
                    Err(reason) => self.refuse(batch, slot, reason),
                }
            }
            Err(reason) => self.refuse_and_tell(batch, slot, reason),
        }
    }

    /// Lowers the maximum segment size of a SYN.
    #[inline(never)]
    pub(crate) fn clamp(&mut self, batch: &mut Batch, slot: Slot, shape: Shape, most: u16) {
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
