//! One direction of frames: what was sent of it, and what became of that.

use hdrhistogram::Histogram;
use machine::clock::{Clock, Ticks};
use measure::Direction;
use traffic::Account;

use super::link;
use super::policed::PolicedBytes;
use super::schedule::Schedule;

/// One direction of frames.
pub(super) struct Flow {
    pub direction: traffic::Direction,
    pub schedule: Schedule,
    pub next_number: u64,
    pub sent_bytes: u64,
    pub ring_full: u64,
    /// Frames that the tester's own port did not accept.
    pub refused: u64,
    /// Frames without a stamp that were received; nothing is known of them but their number.
    pub unstamped: u64,
    pub misdelivered: u64,
    /// Accounts by worker.
    pub accounts: Vec<Account>,
    pub latency_ns: Histogram<u64>,
    pub first_sent: Ticks,
    pub last_sent: Ticks,
    /// Time at which the last lost frame was sent, as an upper bound.
    pub last_lost: Option<Ticks>,
    pub policed: PolicedBytes,
}

impl Flow {
    /// Returns the number of frames offered to the device.
    pub fn sent(&self) -> u64 {
        self.next_number - self.refused
    }

    /// Counts the frames that a link did not accept.
    #[inline(always)]
    pub fn refused_of(&mut self, refused: link::Refused, now: Ticks) {
        if refused.by_device > 0 {
            self.ring_full += refused.by_device;
            self.last_lost = Some(now);
        }
        self.refused += refused.by_port;
    }

    pub fn received(&self) -> u64 {
        self.accounts.iter().map(Account::received).sum::<u64>() + self.unstamped
    }

    /// Returns the time at which the last lost frame was sent; `None` without loss, or if it is
    /// unknown.
    pub fn last_lost(&self) -> Option<Ticks> {
        // What was never sent leaves gaps, too, and so does what has no stamp.
        if self.received() >= self.sent() || self.refused > 0 || self.unstamped > 0 {
            return None;
        }
        match self.accounts.as_slice() {
            [only] if only.next() < self.next_number => Some(self.last_sent),
            [_] => self.last_lost,
            // What several workers lost themselves leaves no gap to see.
            _ => self.last_lost.filter(|_| self.received() + self.ring_full >= self.next_number),
        }
    }

    pub fn finish(self, strangers: u64, clock: &Clock) -> Direction {
        let received = self.received();
        let last_lost = self.last_lost();
        let sent = self.sent();
        // Frames of several lengths are refused alike.
        let share = sent as f64 / self.next_number.max(1) as f64;
        let sent_bytes = match self.refused {
            0 => self.sent_bytes,
            _ => (self.sent_bytes as f64 * share) as u64,
        };
        Direction {
            name: self.direction.name.to_owned(),
            intended: self.schedule.intended(),
            sent,
            received,
            lost: sent.saturating_sub(received),
            ring_full: self.ring_full,
            duplicated: self.accounts.iter().map(Account::duplicated).sum(),
            reordered: self.accounts.iter().map(Account::reordered).sum(),
            misdelivered: self.misdelivered + strangers,
            sent_bytes,
            latency_ns: self.latency_ns,
            last_lost_ns: last_lost.map(|at| clock.nanos(at.saturating_sub(self.first_sent))),
        }
    }
}
