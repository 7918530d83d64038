//! The slow, obviously right model of a chain: a frame goes from one oracle to the next.

use std::time::Duration;

use packet::PortId;

use super::config::Config;
use super::control::Update;
use super::names::{self, OWN_REASONS, TOO_MANY_TURNS};
use super::part::Judge;
use crate::check::{Expected, Oracle};
use crate::unit::Shard;

/// The model.
pub struct Model {
    judges: Vec<Box<dyn Judge>>,
    reasons: &'static [&'static str],
}

impl Model {
    pub(super) fn new(config: &Config, shard: Shard) -> Model {
        Model {
            judges: config.members().iter().map(|member| member.judge(shard)).collect(),
            reasons: names::of(config.members()).drops.0,
        }
    }

    /// The chain's name of a reason of the function at a place.
    fn placed(&self, place: usize, reason: &str) -> &'static str {
        let name = format!("{}.{reason}", place + 1);
        self.reasons.iter().find(|known| **known == name).copied().unwrap_or(OWN_REASONS[0])
    }
}

impl Model {
    /// What becomes of a packet over which the function at `place` has decided.
    fn follow(&mut self, mut place: usize, mut verdict: Expected, now: Duration) -> Expected {
        let last = self.judges.len() - 1;
        for _ in 0..HOPS_MAX {
            let (is_up, frame) = match verdict {
                Expected::Drop(reason) => return Expected::Drop(self.placed(place, reason)),
                Expected::Punt => return Expected::Punt,
                Expected::Forward { port, frame } => (port == PortId(1), frame),
            };
            if place == (if is_up { last } else { 0 }) {
                return Expected::Forward { port: PortId(u8::from(is_up)), frame };
            }
            place = if is_up { place + 1 } else { place - 1 };
            verdict = self.judges[place].expect(PortId(u8::from(!is_up)), &frame, now);
        }
        Expected::Drop(OWN_REASONS[usize::from(TOO_MANY_TURNS)])
    }
}

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        let place = if port == PortId(0) { 0 } else { self.judges.len() - 1 };
        let verdict = self.judges[place].expect(port, frame, now);
        self.follow(place, verdict, now)
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        let Update::At { place, change } = update;
        let judge = place.checked_sub(1).and_then(|index| self.judges.get_mut(index));
        judge.is_some_and(|judge| judge.apply(change, now))
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        let mut all = Vec::new();
        // What a function makes may let the next one make frames, too.
        for _ in 0..ROUNDS_MAX {
            let before = all.len();
            for place in 0..self.judges.len() {
                for verdict in self.judges[place].made(now) {
                    all.push(self.follow(place, verdict, now));
                }
            }
            if all.len() == before {
                break;
            }
        }
        all
    }
}

/// More than a packet can make in the turns that the pipeline gives it: functions that send a packet to
/// and fro without end are the only ones to tell the two apart.
const HOPS_MAX: usize = 64;

/// Functions that let each other make frames without end are no chain to be checked.
const ROUNDS_MAX: usize = 16;
