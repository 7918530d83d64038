//! Two oracles of the same function that go along with a device, and how they stay together.

use std::time::Duration;

use model_kit::check::{Expected, Oracle};
use packet::PortId;

use super::super::frames::fits;

/// One oracle whose time advances only in pauses, and one with the real clock.
pub(super) struct Oracles<O> {
    pub still: O,
    pub flowing: O,
}

impl<O: Oracle> Oracles<O> {
    /// The device has done as this oracle said: what frames have cost is so for the other one, too.
    pub fn agree(&mut self, which: usize) {
        match which {
            0 => self.flowing.charge_as(&self.still),
            _ => self.still.charge_as(&self.flowing),
        }
    }

    /// The same where the frame has passed, or has not.
    pub fn agree_by(&mut self, expected: &[Expected; 2], has_passed: bool) {
        let is_right = |one: &Expected| matches!(one, Expected::Forward { .. }) == has_passed;
        if let Some(which) = expected.iter().position(is_right) {
            self.agree(which);
        }
    }

    /// Returns the verdict by the clock on a frame for which both have no tokens, if it has some by
    /// now and that is what the device did: it had the frame later than it was sent.
    pub fn a_while_later(
        &mut self,
        (port, frame): (PortId, &[u8]),
        expected: &[Expected; 2],
        got: &(PortId, Vec<u8>),
        now: Duration,
    ) -> Option<Expected> {
        let is_metered =
            |one: &Expected| matches!(one, Expected::Drop(reason) if METERED.contains(reason));
        if !expected.iter().all(is_metered) {
            return None;
        }
        let again = self.flowing.expect(port, frame, now);
        let is_so = fits(got.0, &got.1, &again);
        if is_so {
            self.agree(1);
        }
        is_so.then_some(again)
    }
}

/// The reasons of policers, by which a frame is dropped at one time and passes a little later.
const METERED: [&str; 2] = ["policed", "rate-exceeded"];

/// Returns true if both say the same.
pub(super) fn are_alike(expected: &[Expected; 2]) -> bool {
    expected[0] == expected[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bucket of one token a second and at most three; a frame costs one, and one without bytes
    /// costs nothing.
    #[derive(Default)]
    struct Limited {
        spent: f64,
        at: Duration,
    }

    impl Oracle for Limited {
        type Update = ();

        fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
            self.spent = (self.spent - now.saturating_sub(self.at).as_secs_f64()).max(0.0);
            self.at = self.at.max(now);
            let cost = if frame.is_empty() { 0.0 } else { 1.0 };
            if self.spent + cost > 3.0 {
                return Expected::Drop("policed");
            }
            self.spent += cost;
            Expected::Forward { port, frame: frame.to_vec() }
        }

        fn apply(&mut self, (): &(), _: Duration) -> bool {
            false
        }

        fn charge_as(&mut self, other: &Limited) {
            self.spent = other.spent;
        }
    }

    /// Asks both for a frame at a time, and tells which of them let it pass.
    fn passes(oracles: &mut Oracles<Limited>, milliseconds: u64) -> ([Expected; 2], [bool; 2]) {
        let (port, now) = (PortId(0), Duration::from_millis(milliseconds));
        let still = oracles.still.expect(port, &[1], Duration::ZERO);
        let expected = [still, oracles.flowing.expect(port, &[1], now)];
        let pass = expected.each_ref().map(|one| matches!(one, Expected::Forward { .. }));
        (expected, pass)
    }

    #[test]
    fn what_a_frame_cost_where_they_disagreed_is_so_for_both() {
        let mut oracles = Oracles { still: Limited::default(), flowing: Limited::default() };
        for _ in 0..3 {
            assert_eq!(passes(&mut oracles, 0).1, [true, true]);
        }
        // A second has passed for one of them, and for the device, whose bucket is empty again.
        let (expected, pass) = passes(&mut oracles, 1000);
        assert_eq!(pass, [false, true]);
        oracles.agree_by(&expected, true);
        assert_eq!(passes(&mut oracles, 1000).1, [false, false]);
        // Here the device was not so far, and has a token yet when a second has passed for it.
        let (expected, pass) = passes(&mut oracles, 2000);
        assert_eq!(pass, [false, true]);
        oracles.agree_by(&expected, false);
        assert_eq!(oracles.flowing.spent, oracles.still.spent);
    }

    #[test]
    fn a_device_may_have_a_frame_later_than_it_was_sent() {
        let mut oracles = Oracles { still: Limited::default(), flowing: Limited::default() };
        (0..3).for_each(|_| drop(passes(&mut oracles, 0)));
        let (expected, pass) = passes(&mut oracles, 990);
        assert_eq!(pass, [false, false]);
        let (frame, got) = ((PortId(0), &[1][..]), (PortId(0), vec![1]));
        let mut later = |got: &_, milliseconds| {
            oracles.a_while_later(frame, &expected, got, Duration::from_millis(milliseconds))
        };
        assert_eq!(later(&got, 995), None);
        assert_eq!(later(&(PortId(1), vec![1]), 998), None);
        let forward = Expected::Forward { port: PortId(0), frame: vec![1] };
        assert_eq!(later(&got, 1010), Some(forward));
        assert!((oracles.still.spent - 2.99).abs() < 0.001, "{}", oracles.still.spent);
        // What the device must not do at any time it may not do later.
        assert_eq!(later_of_passing(), None);
    }

    /// What becomes of another frame than that foreseen, where one was to pass.
    fn later_of_passing() -> Option<Expected> {
        let mut oracles = Oracles { still: Limited::default(), flowing: Limited::default() };
        let (expected, _) = passes(&mut oracles, 0);
        let got = (PortId(0), vec![1]);
        oracles.a_while_later((PortId(0), &[1]), &expected, &got, Duration::from_secs(9))
    }
}
