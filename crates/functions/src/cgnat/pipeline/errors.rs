//! ICMP errors on their way through a NAT (RFC 5508 section 4).

use packet::{Batch, Slot};

use super::super::flow::{Far, Outside};
use super::super::icmp;
use super::super::interfaces::{INSIDE, OUTSIDE};
use super::super::parse::{About, Shape};
use super::super::reasons::{self, Tally};
use super::super::session::{self, Session};
use super::super::times::Moment;
use super::{Pipeline, TTL};

impl Pipeline {
    /// An ICMP error about a packet of a session, which it neither uses nor ends (RFC 5508 REQ-6).
    pub(super) fn error(&mut self, batch: &mut Batch, slot: Slot, about: About, now: Moment) {
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
            return batch.set_verdict(slot, reasons::drop(reasons::ICMP_NO_SESSION));
        };
        if batch.frame(slot)[TTL] <= 1 {
            return batch.set_verdict(slot, reasons::drop(reasons::TTL_EXPIRED));
        }
        batch.truncate(slot, usize::from(shape.len));
        match about {
            About::Outside(..) => {
                self.state.tallies[Tally::IcmpErrorsTranslated as usize] += 1;
                icmp::error_to_inside(batch.frame_mut(slot), &session, shape);
                self.send(batch, slot, INSIDE);
            }
            About::Inside(..) if session.flags & session::HAIRPIN != 0 => {
                self.error_turned_around(batch, slot, (&session, shape), now);
            }
            About::Inside(..) => {
                self.state.tallies[Tally::IcmpErrorsTranslated as usize] += 1;
                icmp::error_to_outside(batch.frame_mut(slot), &session, shape);
                self.send(batch, slot, OUTSIDE);
            }
        }
    }

    /// An ICMP error about a packet that another subscriber has sent to this one's outside address
    /// (RFC 5508 REQ-7): it comes back in, quoting that packet as its sender knows it.
    fn error_turned_around(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (session, shape): (&Session, Shape),
        now: Moment,
    ) {
        if !self.hairpinning {
            return self.refuse(batch, slot, reasons::HAIRPIN_OFF);
        }
        let own = Far::new(session.far.protocol(), session.outside, session.outside_port);
        let key = Outside::new(session.far.address(), session.far.port(), own);
        let sessions = &self.state.sessions;
        let found = sessions.find_outside(key.hash(sessions.keyed()), &key);
        let other = found.map(|number| sessions.records[number as usize]);
        let Some(other) = other.filter(|other| !self.state.times.is_over(other, now)) else {
            return self.refuse(batch, slot, reasons::ICMP_NO_SESSION);
        };
        if batch.frame(slot)[TTL] <= 2 {
            return self.refuse(batch, slot, reasons::TTL_EXPIRED);
        }
        for tally in [Tally::IcmpErrorsTranslated, Tally::Hairpinned] {
            self.state.tallies[tally as usize] += 1;
        }
        icmp::error_to_outside(batch.frame_mut(slot), session, shape);
        icmp::error_to_inside(batch.frame_mut(slot), &other, shape);
        self.send(batch, slot, INSIDE);
    }
}
