//! The cases, and how they are run.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::bench::{Bench, Promises};
use crate::random::Random;

mod bursts;
mod death;
mod frames;
mod limits;
mod long;
mod rounds;
mod threads;

/// A requirement that every port must meet.
#[derive(Clone, Copy)]
pub struct Case {
    /// Name of the case, in kebab case.
    pub name: &'static str,
    /// Capability of the bench that the case needs.
    pub need: Need,
    /// Runs the case; panics if the port fails.
    pub run: fn(&mut dyn Bench, &Random),
}

/// Capability of the bench that a case needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// None beyond those of every bench.
    Nothing,
    /// A port that can have several queues.
    Queues,
    /// A path from the port that becomes full.
    BoundedLink,
    /// A peer that can be ended and restarted.
    Death,
    /// A port that can be opened without a peer.
    OpensAlone,
    /// A port that takes long segments.
    LongSegments,
    /// A link that can be taken down.
    Link,
    /// A peer that can violate the rules of the link.
    Misbehaviour,
}

/// All cases, the simplest first.
pub const CASES: &[Case] = &[
    Case { name: "silence", need: Need::Nothing, run: frames::silence },
    Case { name: "every-length", need: Need::Nothing, run: frames::every_length },
    Case { name: "wild-frames", need: Need::Nothing, run: frames::wild_frames },
    Case { name: "runts", need: Need::Nothing, run: frames::runts },
    Case { name: "oversized", need: Need::Nothing, run: limits::oversized },
    Case { name: "batch-limits", need: Need::Nothing, run: limits::batch_limits },
    Case { name: "bursts", need: Need::Nothing, run: bursts::bursts },
    Case { name: "overload", need: Need::Nothing, run: bursts::overload },
    Case { name: "full-link", need: Need::BoundedLink, run: bursts::full_link },
    Case { name: "queues", need: Need::Queues, run: bursts::queues },
    Case { name: "threads", need: Need::Nothing, run: threads::threads },
    Case { name: "long-segments", need: Need::LongSegments, run: long::long_segments },
    Case { name: "link-down-and-up", need: Need::Link, run: death::link_down_and_up },
    Case { name: "peer-dies", need: Need::Death, run: death::peer_dies },
    Case { name: "peer-dies-idle", need: Need::Death, run: death::peer_dies_idle },
    Case { name: "opens-alone", need: Need::OpensAlone, run: death::opens_alone },
    Case { name: "reopening", need: Need::Nothing, run: rounds::reopening },
    Case { name: "memory", need: Need::Nothing, run: rounds::memory },
    Case { name: "misbehaviour", need: Need::Misbehaviour, run: death::misbehaviour },
];

/// Runs every case whose needs are met, each on a new bench, and prints which cases it runs and
/// skips. `make` returns `None` after a message if the bench is not possible on this machine.
///
/// # Panics
/// When the port fails a case.
pub fn run<B: Bench>(port: &str, make: impl Fn() -> Option<B>) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let chosen = std::env::var("PORT_CASE").ok();
    let seed = std::env::var("PORT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for case in CASES.iter().filter(|case| chosen.as_deref().is_none_or(|name| name == case.name)) {
        let Some(mut bench) = make() else { return };
        if !case.need.is_met(&bench.promises()) {
            println!("{port}: {} skipped, the bench has no {:?}", case.name, case.need);
            continue;
        }
        println!("{port}: {} with seed {seed}", case.name);
        let start = Instant::now();
        (case.run)(&mut bench, &Random::new(seed));
        println!("{port}: {} passed, {:.1} s", case.name, start.elapsed().as_secs_f64());
    }
}

impl Need {
    fn is_met(self, promises: &Promises) -> bool {
        match self {
            Need::Nothing => true,
            Need::Queues => promises.queues_max > 1,
            Need::BoundedLink => promises.in_flight_max.is_some(),
            Need::Death => promises.peer_dies,
            Need::OpensAlone => promises.peer_dies && promises.opens_without_peer,
            Need::LongSegments => promises.takes_long,
            Need::Link => promises.link_goes_down,
            Need::Misbehaviour => promises.peer_misbehaves && promises.peer_dies,
        }
    }
}

/// Lock by which the suites of a process run one after the other, because one case measures the
/// memory of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
