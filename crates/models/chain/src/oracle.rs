//! The slow, obviously right model of a chain: a frame goes from one oracle to the next.
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use function_chain::Update;
use function_kit::Shard;
use model_kit::check::{Expected, Oracle};
use model_kit::erased::Judge;
use packet::PortId;

use super::sections::Section;

/// The model.
pub struct Model {
    judges: Vec<Box<dyn Judge>>,
    /// The place and the port of the function behind each port of the chain.
    ends: Vec<(usize, PortId)>,
}

impl Model {
    pub(super) fn new(section: &Section, shard: Shard) -> Model {
        Model {
            judges: section.members().iter().map(|member| member.judge(shard)).collect(),
            ends: ends(section),
        }
    }
}

impl Model {
    /// What becomes of a packet over which the function at `place` has decided.
    fn follow(&mut self, mut place: usize, mut verdict: Expected, now: Duration) -> Expected {
        for _ in 0..HOPS_MAX {
            let (left, frame) = match verdict {
                Expected::Drop(reason) => return Expected::Drop(placed(place, reason)),
                Expected::Punt => return Expected::Punt,
                Expected::Forward { port, frame } => (port, frame),
            };
            if let Some(end) = self.ends.iter().position(|end| *end == (place, left)) {
                return Expected::Forward { port: PortId(end as u8), frame };
            }
            let is_up = left == PortId(1);
            place = if is_up { place + 1 } else { place - 1 };
            verdict = self.judges[place].expect(PortId(u8::from(!is_up)), &frame, now);
        }
        Expected::Drop("too-many-turns")
    }
}

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        let (place, port) = self.ends[usize::from(port.0)];
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

/// Towards users, towards the Internet, then the third and later ports of each function in turn.
pub(super) fn ends(section: &Section) -> Vec<(usize, PortId)> {
    let functions = section.functions();
    let mut ends = vec![(0, PortId(0)), (functions.len() - 1, PortId(1))];
    for (place, function) in functions.iter().enumerate() {
        let further = (2..function.ports().len() as u8).map(|port| (place, PortId(port)));
        ends.extend(further);
    }
    ends
}

/// The chain's name of a reason of the function at a place. Names live as long as the program, once
/// each.
fn placed(place: usize, reason: &str) -> &'static str {
    let mut known = PLACED.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("{}.{reason}", place + 1);
    if let Some(name) = known.get(name.as_str()) {
        return name;
    }
    let name: &'static str = name.leak();
    known.insert(name);
    name
}

static PLACED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// More than a packet can make in the turns that the pipeline gives it: functions that send a
/// packet to and fro without end are the only ones to tell the two apart.
const HOPS_MAX: usize = 64;

/// Functions that let each other make frames without end are no chain to be checked.
const ROUNDS_MAX: usize = 16;
