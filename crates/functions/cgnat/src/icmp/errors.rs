//! ICMP errors on their way through a NAT (RFC 5508 section 4).

use packet::{Batch, PortId, Reason, Slot};
use wire::{ethernet, ipv4};

use crate::icmp;
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::fields::Marks;
use crate::sessions::session::Session;
use crate::sessions::times::Moment;
use crate::types::class::{About, Shape};
use crate::types::hops::TTL;
use crate::types::sides::{INSIDE, OUTSIDE};

impl Pipeline {
    /// An ICMP error about a packet of a session, which it neither uses nor ends (RFC 5508 REQ-6).
    pub(crate) fn error(&mut self, batch: &mut Batch, slot: Slot, about: About, now: Moment) {
        let source = batch.frame(slot).get(SOURCE..).and_then(<[u8]>::first_chunk);
        let source = source.map_or(0, |source| u32::from_be_bytes(*source));
        if self.is_bogon(batch.port(slot), source) {
            return self.refuse(batch, slot, reasons::BOGON);
        }
        let sessions = &self.state.sessions;
        let (found, shape) = match about {
            About::Outside(key, shape) => {
                (sessions.find_outside(key.hash(sessions.keyed()), &key), shape)
            }
            About::Inside(key, shape) => {
                (sessions.find_inside(key.hash(sessions.keyed()), &key), shape)
            }
        };
        let live = found.map(|number| sessions.records[number as usize]);
        let Some(session) = live.filter(|session| !self.state.times.is_over(session, now)) else {
            return match self.is_for_itself(batch, slot) {
                true => self.receive(batch, slot, now),
                false => batch.set_verdict(slot, reasons::drop(reasons::ICMP_NO_SESSION)),
            };
        };
        batch.truncate(slot, usize::from(shape.len));
        let done = match about {
            About::Outside(..) => self.error_in(batch, slot, (&session, shape)),
            About::Inside(..) => self.error_out(batch, slot, (&session, shape), now),
        };
        match done {
            Ok(()) => self.state.tallies[Tally::IcmpErrorsTranslated as usize] += 1,
            Err(reason) => batch.set_verdict(slot, reasons::drop(reason)),
        }
    }

    /// An error from outside to the subscriber of a session.
    fn error_in(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (session, shape): (&Session, Shape),
    ) -> Result<(), Reason> {
        self.head_for(slot, session);
        match session.marks.has(Marks::IPV6) {
            true => self.error_become_ipv6(batch, slot, session)?,
            false => icmp::error_to_inside(batch.frame_mut(slot), session, shape),
        }
        self.send(batch, slot, INSIDE);
        Ok(())
    }

    /// An error from the subscriber of a session, or from a router on the way to it.
    fn error_out(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (session, mut shape): (&Session, Shape),
        now: Moment,
    ) -> Result<(), Reason> {
        let is_between = session.marks.has(Marks::HAIRPIN);
        let sender = if is_between { Some(self.sender_of(session, now)?) } else { None };
        match session.marks.has(Marks::IPV6) {
            true => {
                self.error_become_ipv4(batch, slot, session)?;
                let transport = (ethernet::HEADER_LEN + ipv4::HEADER_LEN) as u16;
                shape = Shape { transport, len: batch.frame_len(slot) as u16, ..shape };
            }
            false => icmp::error_to_outside(batch.frame_mut(slot), session, shape),
        }
        match sender {
            None => self.send(batch, slot, OUTSIDE),
            Some(_) if batch.frame(slot)[TTL] <= 1 => return Err(reasons::TTL_EXPIRED),
            Some(Sender::OfWorker(worker)) => self.hand_over(batch, slot, worker),
            Some(Sender::Here(other)) => {
                self.error_in(batch, slot, (&other, shape))?;
                self.state.tallies[Tally::Hairpinned as usize] += 1;
            }
        }
        Ok(())
    }

    /// The subscriber that has sent to this one's outside address (RFC 5508 REQ-7): an error about
    /// its packet comes back in, quoting that packet as its sender knows it.
    fn sender_of(&self, session: &Session, now: Moment) -> Result<Sender, Reason> {
        if !self.hairpinning {
            return Err(reasons::HAIRPIN_OFF);
        }
        if let Some(worker) = self.other_worker(session) {
            return Ok(Sender::OfWorker(worker));
        }
        let key = session.met();
        let sessions = &self.state.sessions;
        let found = sessions.find_outside(key.hash(sessions.keyed()), &key);
        let other = found.map(|number| sessions.records[number as usize]);
        let is_live = |other: &Session| !self.state.times.is_over(other, now);
        other.filter(is_live).map(Sender::Here).ok_or(reasons::ICMP_NO_SESSION)
    }
}

/// Where a frame has its source, of IPv4.
const SOURCE: usize = ethernet::HEADER_LEN + ipv4::offset::SOURCE;

/// A subscriber that has sent a packet to another one's outside address.
enum Sender {
    /// By its session.
    Here(Session),
    /// One of the worker behind this port.
    OfWorker(PortId),
}
