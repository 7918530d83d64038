//! When the virtual addresses are announced: some rounds, spread over a second.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::Time;

/// Rounds of announcements of all virtual addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announcements {
    /// Rounds that are still to begin.
    rounds: u8,
    /// Time between two.
    gap: Duration,
    /// When the next begins.
    next: Option<Time>,
    /// The address that is next in the round that has begun.
    address: Option<usize>,
}

impl Announcements {
    /// Begins with a number of rounds, the first one at once.
    pub fn begin(&mut self, rounds: u8, now: Time) {
        self.rounds = rounds;
        self.gap = SPREAD / u32::from(rounds.max(1));
        self.next = (rounds > 0).then_some(now);
        self.expire(now);
    }

    /// Begins a round that is due. One that is not finished is not begun again.
    pub fn expire(&mut self, now: Time) {
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        self.rounds -= 1;
        self.address = self.address.or(Some(0));
        self.next = (self.rounds > 0).then(|| now.after(self.gap));
    }

    /// Returns the next of these addresses that is to be announced now.
    pub fn next(&mut self, addresses: &[IpAddr]) -> Option<IpAddr> {
        let number = self.address?;
        self.address = Some(number + 1).filter(|next| *next < addresses.len());
        addresses.get(number).copied()
    }

    pub fn deadline(&self) -> Option<Time> {
        self.next
    }

    pub fn is_due(&self) -> bool {
        self.address.is_some()
    }
}

/// Time over which the rounds are spread.
const SPREAD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_spread_over_a_second() {
        let addresses: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let mut all = Announcements::default();
        assert!(!all.is_due() && all.deadline().is_none());
        all.begin(5, Time::ZERO);
        let mut times = Vec::new();
        let mut now = Time::ZERO;
        loop {
            times.extend(std::iter::from_fn(|| all.next(&addresses)).map(|address| (now, address)));
            let Some(deadline) = all.deadline() else { break };
            now = deadline;
            all.expire(now);
        }
        let ms = |number: usize| Time::ZERO.after(Duration::from_millis(200 * number as u64));
        let expected: Vec<_> =
            (0..10).map(|number| (ms(number / 2), addresses[number % 2])).collect();
        assert_eq!(times, expected);
        all.begin(0, now);
        assert!(!all.is_due() && all.deadline().is_none(), "none are asked for");
    }
}
