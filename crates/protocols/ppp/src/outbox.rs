//! What a session may use while it handles something: the time, random numbers, and a place for
//! what it says.

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::Time;

use crate::control::Report;
use crate::counters::Counters;
use crate::draws::Draws;
use crate::packet::Packet;

/// What a session may use while it handles something.
pub(crate) struct Outbox<'a> {
    pub now: Time,
    /// The session's number.
    pub session: u32,
    /// Time until something is sent again.
    pub restart: Duration,
    pub reports: &'a mut VecDeque<Report>,
    pub counters: &'a mut Counters,
    pub draws: &'a mut Draws,
    /// The number of the last question.
    pub question: &'a mut u32,
}

impl Outbox<'_> {
    /// Sends a packet of a protocol to the peer.
    pub fn send(&mut self, protocol: u16, packet: Packet<'_>) {
        self.counters.sent += 1;
        let payload = packet.emit(protocol);
        self.reports.push_back(Report::Send { session: self.session, payload });
    }

    /// When something that is sent now is sent again.
    pub fn again(&self) -> Time {
        self.now.after(self.restart)
    }
}
