//! What leaves without a frame that was just sent: frames that a change or a pause has a function
//! make, and none where there are to be none.

use std::time::{Duration, Instant};

use model_kit::Model;
use model_kit::check::{Expected, Oracle};
use packet::PortId;

use super::super::frames::{fits, forwarded};
use super::{EITHER, PAUSE_MAX, Walk};

/// A frame that a device sent, and by which port.
type Came = (PortId, Vec<u8>);

impl<N: Model> Walk<'_, N> {
    /// Lets a pause pass: frames that are made in it may leave at any time of it.
    pub(super) fn wait(&mut self, time: Duration) {
        if time > PAUSE_MAX {
            self.left_out.pauses += 1;
            return;
        }
        self.simulated += time;
        let come = self.collect(time);
        let made = self.made();
        match made.iter().all(Vec::is_empty) {
            true => self.unexpected("a frame before the pause", come),
            false => self.note_made("after a pause", &made, come),
        }
    }

    /// Returns both oracles' verdicts on the frames that were generated since the last call.
    pub(super) fn made(&mut self) -> [Vec<Expected>; 2] {
        let still = self.oracles.still.made(self.simulated);
        [still, self.oracles.flowing.made(self.begun.elapsed())]
    }

    /// Waits for the frames that were generated because of a change or a pause.
    pub(super) fn expect_made(&mut self, about: &str, made: [Vec<Expected>; 2]) {
        if made.iter().any(|made| !made.is_empty()) {
            self.note_made(about, &made, Vec::new());
        }
    }

    fn note_made(&mut self, about: &str, made: &[Vec<Expected>; 2], come: Vec<Came>) {
        let which = self.expect_all(about, made, come);
        made[which].iter().for_each(|made| self.comparison.made(made));
    }

    /// Waits for all frames of one oracle's list, of which some have come, in any order because
    /// they may leave by several ports; returns which oracle's list matched if they disagree.
    fn expect_all(&mut self, about: &str, all: &[Vec<Expected>; 2], come: Vec<Came>) -> usize {
        let wanted = all.each_ref().map(|all| forwarded(all));
        let mut open = wanted.clone();
        let mut got = Vec::new();
        for (port, frame) in come {
            take_from(&mut open, port, &frame);
            got.push(Expected::Forward { port, frame });
        }
        while open.iter().any(|open| !open.is_empty()) {
            let patience = match open.iter().any(Vec::is_empty) {
                true => EITHER,
                false => self.patience(),
            };
            let next = self.exchange.receive(patience, |(port, frame)| {
                open.iter().flatten().any(|one| fits(port, frame, one))
            });
            let Some((port, frame)) = next else { break };
            take_from(&mut open, port, &frame);
            got.push(Expected::Forward { port, frame });
        }
        let fits = |which: &usize| open[*which].is_empty() && wanted[*which].len() == got.len();
        let fitting = (0..2).find(fits);
        if let Some(which) = fitting.filter(|_| wanted[0] != wanted[1]) {
            self.oracles.agree(which);
        }
        fitting.unwrap_or_else(|| {
            let [expected, got] = [&wanted[0], &got].map(|all| self.comparison.describe_all(all));
            self.comparison.mismatch(about.to_owned(), expected, got);
            self.give_up(&open[0]);
            0
        })
    }

    /// Checks the result of a frame that was sent, and the frames that were generated in addition.
    pub(super) fn several(
        &mut self,
        about: &str,
        expected: [Expected; 2],
        made: [Vec<Expected>; 2],
    ) {
        let [(a, made_a), (b, made_b)] = [(&expected[0], &made[0]), (&expected[1], &made[1])];
        let with = |one: &Expected, made: &[Expected]| [std::slice::from_ref(one), made].concat();
        let which = self.expect_all(about, &[with(a, made_a), with(b, made_b)], Vec::new());
        self.comparison.frame(&expected[which]);
        made[which].iter().for_each(|made| self.comparison.made(made));
    }

    /// Lets time pass and records every frame that arrives.
    pub(super) fn expect_silence(&mut self, after: &str, time: Duration) {
        let come = self.collect(time);
        self.unexpected(after, come);
    }

    fn unexpected(&mut self, after: &str, come: Vec<Came>) {
        for got in come {
            let what = format!("after {after}");
            self.comparison.mismatch(what, "nothing".into(), self.said(got));
        }
    }

    /// Lets time pass, and returns every frame that arrives.
    fn collect(&mut self, time: Duration) -> Vec<Came> {
        let (end, mut come) = (Instant::now() + time, Vec::new());
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let Some(got) = self.exchange.receive(left, |_| false) else { break };
            come.push(got);
        }
        come
    }
}

/// Takes a frame out of the lists of those that are still to come.
fn take_from(open: &mut [Vec<Expected>; 2], port: PortId, frame: &[u8]) {
    for open in open {
        if let Some(index) = open.iter().position(|one| fits(port, frame, one)) {
            open.remove(index);
        }
    }
}
