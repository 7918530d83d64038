//! The cases, and how they are run.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::bench::{Bench, Promises};
use crate::random::Random;

mod bursts;
mod death;
mod frames;
mod limits;
mod rounds;
mod threads;

/// Something every port must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What of the bench it needs.
    pub need: Need,
    /// Runs it; panics where the port fails.
    pub run: fn(&mut dyn Bench, &Random),
}

/// What a case needs of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing that not every bench has.
    Nothing,
    /// A port that can have several queues.
    Queues,
    /// A way from the port that fills up.
    BoundedLink,
    /// A peer that dies and comes back.
    Death,
    /// A port that opens without a peer.
    OpensAlone,
    /// A link that can be taken down.
    Link,
    /// A peer that breaks the link's rules.
    Misbehaviour,
}

/// Every case, the simplest first.
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
    Case { name: "link-down-and-up", need: Need::Link, run: death::link_down_and_up },
    Case { name: "peer-dies", need: Need::Death, run: death::peer_dies },
    Case { name: "peer-dies-idle", need: Need::Death, run: death::peer_dies_idle },
    Case { name: "opens-alone", need: Need::OpensAlone, run: death::opens_alone },
    Case { name: "reopening", need: Need::Nothing, run: rounds::reopening },
    Case { name: "memory", need: Need::Nothing, run: rounds::memory },
    Case { name: "misbehaviour", need: Need::Misbehaviour, run: death::misbehaviour },
];

/// Runs every case whose needs are met, each on a bench of its own; says what it runs and leaves out.
/// A bench that cannot be made here (None) has said so itself.
///
/// # Panics
/// Where the port fails a case.
pub fn run<B: Bench>(port: &str, make: impl Fn() -> Option<B>) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let chosen = std::env::var("PORT_CASE").ok();
    let seed = std::env::var("PORT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for case in CASES.iter().filter(|case| chosen.as_deref().is_none_or(|name| name == case.name)) {
        let Some(mut bench) = make() else { return };
        if !case.need.is_met(&bench.promises()) {
            println!("{port}: {} left out, the bench has no {:?}", case.name, case.need);
            continue;
        }
        println!("{port}: {} with seed {seed}", case.name);
        let start = Instant::now();
        (case.run)(&mut bench, &Random::new(seed));
        println!("{port}: {} held, {:.1} s", case.name, start.elapsed().as_secs_f64());
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
            Need::Link => promises.link_goes_down,
            Need::Misbehaviour => promises.peer_misbehaves && promises.peer_dies,
        }
    }
}

/// Suites of one process run one after the other: one of them looks at the memory of all.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
