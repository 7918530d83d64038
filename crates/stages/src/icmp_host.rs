//! The ICMP host of a function, for both versions: it answers pings, and tells senders why a packet
//! of theirs cannot go on.
//!
//! ```text
//!  echo request to the function --> its reply
//!  packet that cannot go on --> may its sender be told? --> limit of errors --> an error about it,
//!                               or a reset where nobody listens for TCP
//! ```
//! A frame becomes the answer or the error, without a tag, and goes to the station that it came
//! from. How many errors leave is limited (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4), those
//! of both versions together. Its user decides which packets are for the function, what senders are
//! told, by which of its addresses, and what is counted.

use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Slot, Verdict};
use tables::meter::{Meter, TeamMeter};
use wire::{MacAddr, ethernet, icmp, ipv6};

use crate::icmpv4::{self, Answer};
use crate::icmpv6;
use crate::reset;

/// How many errors may leave.
pub struct IcmpErrors {
    /// None where none may.
    limit: Option<TeamMeter>,
}

/// What became of a packet that cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is as it was: its sender may not be told, or there is no room.
    Nobody,
    /// It is as it was, because too many errors have left.
    Limited,
    /// It is an error to its sender now.
    Sender,
}

/// Why a packet cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its time to live ends here.
    TimeExceeded,
    /// There is no route.
    NoRoute,
    /// Nobody has the address.
    NoHost,
    /// It may not go there.
    Prohibited,
    /// It is longer than this MTU in bytes and must not be cut.
    TooBig(u16),
}

impl Trouble {
    /// What an error says of it.
    pub fn message(self, is_ipv6: bool) -> icmp::Fields {
        use icmp::{v4, v6};
        let (kind, code, rest) = match (self, is_ipv6) {
            (Trouble::TimeExceeded, false) => (v4::TIME_EXCEEDED, 0, 0),
            (Trouble::NoRoute, false) => (v4::UNREACHABLE, v4::NO_ROUTE, 0),
            (Trouble::NoHost, false) => (v4::UNREACHABLE, v4::HOST, 0),
            (Trouble::Prohibited, false) => (v4::UNREACHABLE, v4::PROHIBITED, 0),
            (Trouble::TooBig(mtu), false) => (v4::UNREACHABLE, v4::TOO_BIG, mtu.into()),
            (Trouble::TimeExceeded, true) => (v6::TIME_EXCEEDED, 0, 0),
            (Trouble::NoRoute, true) => (v6::UNREACHABLE, v6::NO_ROUTE, 0),
            (Trouble::NoHost, true) => (v6::UNREACHABLE, v6::ADDRESS, 0),
            (Trouble::Prohibited, true) => (v6::UNREACHABLE, v6::PROHIBITED, 0),
            (Trouble::TooBig(mtu), true) => (v6::TOO_BIG, 0, mtu.into()),
        };
        icmp::Fields { kind, code, rest }
    }
}

impl IcmpErrors {
    /// At most `rate_per_s` a second, and `burst`, or one, at once; none at all at a rate of 0.
    pub fn new(rate_per_s: u32, burst: u32, clock: &Clock) -> IcmpErrors {
        let limit = || Meter::of_packets(rate_per_s, burst.max(1), clock.ticks_per_second());
        IcmpErrors { limit: (rate_per_s > 0).then(limit).map(TeamMeter::new) }
    }

    /// Has the limit of the first of some workers for its own, so that it is one for all of them.
    pub fn join(&mut self, first: &mut IcmpErrors) {
        if let (Some(own), Some(first)) = (&mut self.limit, &mut first.limit) {
            own.join(first);
        }
    }

    /// Makes a packet in a frame without tag an error about it, from `own` at the station `mac`, if
    /// its sender may be told.
    pub fn tell(
        &mut self,
        (batch, slot): (&mut Batch, Slot),
        (mac, own): (MacAddr, IpAddr),
        message: icmp::Fields,
        now: Ticks,
    ) -> Told {
        match self.admit(batch.frame(slot), now) {
            Told::Sender if write_error((batch, slot), (mac, own), message) => Told::Sender,
            Told::Limited => Told::Limited,
            Told::Sender | Told::Nobody => Told::Nobody,
        }
    }

    /// Makes a segment of TCP in a frame without tag the reset of its connection, from the station
    /// to which the segment came.
    pub fn reset(&mut self, (batch, slot): (&mut Batch, Slot), now: Ticks) -> Told {
        if !reset::is_answered(batch.frame(slot)) {
            return Told::Nobody;
        }
        match self.admit(batch.frame(slot), now) {
            Told::Sender if reset::write(batch, slot) => Told::Sender,
            Told::Limited => Told::Limited,
            Told::Sender | Told::Nobody => Told::Nobody,
        }
    }

    /// Makes an error about a packet in a frame without tag, which came in by `from` and stays as
    /// it is, as a frame of its own; its verdict is to be set.
    ///
    /// # Errors
    /// Why there is none.
    pub fn tell_apart(
        &mut self,
        (frame, from): (&[u8], PortId),
        made: &mut Made,
        station: (MacAddr, IpAddr),
        message: icmp::Fields,
        now: Ticks,
    ) -> Result<Slot, Told> {
        self.answer_apart((frame, from), made, now, |batch, slot| {
            write_error((batch, slot), station, message)
        })
    }

    /// The same with a reset of TCP, from the station to which the segment came.
    ///
    /// # Errors
    /// Why there is none.
    pub fn reset_apart(
        &mut self,
        (frame, from): (&[u8], PortId),
        made: &mut Made,
        now: Ticks,
    ) -> Result<Slot, Told> {
        if !reset::is_answered(frame) {
            return Err(Told::Nobody);
        }
        self.answer_apart((frame, from), made, now, reset::write)
    }

    fn answer_apart(
        &mut self,
        (frame, from): (&[u8], PortId),
        made: &mut Made,
        now: Ticks,
        write: impl FnOnce(&mut Batch, Slot) -> bool,
    ) -> Result<Slot, Told> {
        match self.admit(frame, now) {
            Told::Sender => {}
            other => return Err(other),
        }
        let slot = made.push(from, frame, Verdict::UNHANDLED).ok_or(Told::Nobody)?;
        if !write(made.batch_mut(), slot) {
            made.take_back();
            return Err(Told::Nobody);
        }
        Ok(slot)
    }

    /// Whether the sender of a packet may be told now.
    fn admit(&mut self, frame: &[u8], now: Ticks) -> Told {
        let Some(limit) = &mut self.limit else { return Told::Nobody };
        let may_be_told = match is_ipv6(frame) {
            false => icmpv4::may_be_told,
            true => icmpv6::may_be_told,
        };
        match may_be_told(frame) {
            false => Told::Nobody,
            true if !limit.conforms(now, 1) => Told::Limited,
            true => Told::Sender,
        }
    }
}

/// Makes a packet an error about it; false, and it is as it was, where there is no room.
fn write_error(
    (batch, slot): (&mut Batch, Slot),
    (mac, own): (MacAddr, IpAddr),
    message: icmp::Fields,
) -> bool {
    match own {
        IpAddr::V4(own) => icmpv4::write_error(batch, slot, mac, own, message),
        IpAddr::V6(own) => icmpv6::write_error(batch, slot, mac, own, message),
    }
}

/// Makes an echo request in a frame without tag and padding its reply from the station `mac`.
pub fn answer(frame: &mut [u8], mac: MacAddr) -> Answer {
    match is_ipv6(frame) {
        false => icmpv4::answer(frame, mac),
        true => icmpv6::answer(frame, mac),
    }
}

/// Whether a frame without tag that bears IP is of version 6.
#[inline]
pub fn is_ipv6(frame: &[u8]) -> bool {
    frame.get(ethernet::HEADER_LEN).is_some_and(|first| first >> 4 == ipv6::VERSION)
}
