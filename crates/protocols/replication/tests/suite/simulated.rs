//! An active function and its standby in a simulated network: whatever is cut, held up or dies,
//! what was acknowledged is there, and in the end both are the same.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Random, Time};
use protocol_replication::{Active, Standby};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::toy::{Applier, KEYED, PLAIN, Settings, Teller, Value};

mod pairs;

/// A node: a machine and the worker that it speaks for.
enum Node {
    Active {
        machine: Active<Value>,
        teller: Box<Teller>,
        random: Random,
        turns: Turns,
        has_set: bool,
    },
    Standby {
        machine: Standby<Value>,
        applier: Box<Applier>,
        turns: Turns,
    },
}

/// When a worker goes round.
struct Turns {
    next: Option<Time>,
    /// How often yet the function changes.
    changes: u32,
}

/// What a node says.
#[derive(Clone, Debug)]
enum Report {
    /// All is acknowledged.
    Synchronised,
    /// A change was applied out of order.
    Wrong(String),
}

/// A pair of nodes.
struct Pair {
    /// Whether both have the same key.
    is_alike: bool,
}

#[test]
fn a_standby_follows_whatever_happens() {
    simulate::<Pair>(SEEDS);
}

impl Turns {
    fn new() -> Turns {
        Turns { next: None, changes: CHANGING }
    }

    /// Whether the worker goes round now.
    fn is_due(&mut self, now: Time) -> bool {
        let is_due = self.next.is_none_or(|next| now >= next);
        if is_due {
            self.next = Some(now.after(if self.changes > 0 { ROUND } else { QUIET_ROUND }));
            self.changes = self.changes.saturating_sub(1);
        }
        is_due
    }
}

impl Machine for Node {
    type Command = Infallible;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        match self {
            Node::Active { machine, .. } => machine.input(now, input),
            Node::Standby { machine, .. } => machine.input(now, input),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        let departure = |output| match output {
            Output::Departure(departure) => Output::Departure(departure),
        };
        match self {
            Node::Active { machine, teller, random, turns, has_set } => {
                if turns.is_due(now) {
                    let was_synchronised = teller.is_synchronised();
                    if turns.changes > 0 && random.below(3) > 0 {
                        let count = 1 << random.below(7);
                        (0..count).for_each(|_| teller.set(random.below(NUMBERS) as u32));
                        *has_set = true;
                    }
                    teller.round();
                    if was_synchronised && std::mem::take(has_set) {
                        return Some(Output::Report(Report::Synchronised));
                    }
                }
                machine.poll(now).map(departure)
            }
            Node::Standby { machine, applier, turns } => {
                if turns.is_due(now)
                    && let Err(what) = applier.round(APPLIED_MAX)
                {
                    return Some(Output::Report(Report::Wrong(what)));
                }
                machine.poll(now).map(departure)
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let (own, turns) = match self {
            Node::Active { machine, turns, .. } => (machine.deadline(), turns),
            Node::Standby { machine, turns, .. } => (machine.deadline(), turns),
        };
        [own, turns.next].into_iter().flatten().min()
    }
}

impl Simulation for Pair {
    type Machine = Node;
    const NAME: &'static str = "replication";
    const FAULTS_BELOW: u64 = 10;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = CHANGES.saturating_add(QUIET);

    fn world(seed: u64) -> (World<Node>, Pair) {
        let mut world = World::new(seed);
        let is_alike = world.random().below(8) > 0;
        let addresses: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let at = SocketAddr::new(addresses[1], 7400);
        let settings = if world.random().below(3) > 0 { KEYED } else { PLAIN };
        let changes_per_s = world.random().below(2) as u32 * 4_000;
        let active = Settings { at, changes_per_s, ..settings };
        let other = Settings { key: Some("quite another key"), ..active.clone() };
        let standby = if is_alike { active.clone() } else { other };
        let one = world.add_node(move |random| {
            let (machine, teller) = Settings { seed: random.bits(), ..active.clone() }.active();
            let (random, turns) = (Random::new(random.bits()), Turns::new());
            let (teller, has_set) = (Box::new(teller), true);
            (Node::Active { machine, teller, random, turns, has_set }, Vec::new())
        });
        let two = world.add_node(move |random| {
            let (machine, applier) = Settings { seed: random.bits(), ..standby.clone() }.standby();
            let (applier, turns) = (Box::new(applier), Turns::new());
            (Node::Standby { machine, applier, turns }, Vec::new())
        });
        world.add_link([(one, addresses[0]), (two, addresses[1])], Quality::GOOD);
        (world, Pair { is_alike })
    }

    fn judge(
        &mut self,
        world: &mut World<Node>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        let Some(Said { at, report, .. }) = said else { return Ok(()) };
        match report {
            Report::Wrong(what) => Err(what.clone()),
            Report::Synchronised if !self.is_alike => Err("by another key".to_owned()),
            // One that was born again knows nothing until the other one has noticed.
            Report::Synchronised if at.since(world.born(1)) < NOTICED => Ok(()),
            Report::Synchronised => acknowledged(world),
        }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let [Some(Node::Active { teller, .. }), Some(Node::Standby { applier, .. })] =
            [0, 1].map(|node| world.machine(node))
        else {
            return Err("a node is dead at the end".to_owned());
        };
        let [ours, theirs] = [&teller.link, &applier.link].map(|link| link.status());
        let is_same = teller.values == applier.values && teller.is_synchronised();
        match self.is_alike {
            true if !is_same => Err(format!("not the same at the end: {ours:?}, {theirs:?}")),
            false if !applier.values.is_empty() || applier.afresh > 0 => {
                Err(format!("told by another key: {theirs:?}"))
            }
            _ => Ok(()),
        }
    }
}

/// Everything that the active function has told is at the standby: it may have changed since, but
/// was not told.
fn acknowledged(world: &World<Node>) -> Result<(), String> {
    let [Some(Node::Active { teller, .. }), Some(Node::Standby { applier, .. })] =
        [0, 1].map(|node| world.machine(node))
    else {
        return Ok(());
    };
    // What is newer at the active function was set after all was acknowledged.
    let newest = applier.values.values().max().copied().unwrap_or(0);
    let is_told = |(number, value): (&u32, &u32)| {
        *value > newest || applier.values.get(number) == Some(value)
    };
    match teller.values.iter().find(|one| !is_told(*one)) {
        Some(one) => Err(format!("{one:?} was acknowledged and is not there")),
        None => Ok(()),
    }
}

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(4);

/// For how long a function changes after it was born.
const CHANGES: Duration = Duration::from_secs(2);

/// As many rounds.
const CHANGING: u32 = 200;

/// Long enough for a silent peer, the longest back-off and a paced rest.
const QUIET: Duration = Duration::from_secs(12);

/// A peer that is gone is noticed after this time.
const NOTICED: Duration = Duration::from_secs(6);

/// How often a worker goes round.
const ROUND: Duration = Duration::from_millis(10);

/// The same once nothing changes any more.
const QUIET_ROUND: Duration = Duration::from_millis(40);

/// Changes that a standby applies in a round.
const APPLIED_MAX: usize = 60;

/// Numbers that have values.
const NUMBERS: u64 = 300;

/// Seeds of a run in CI.
const SEEDS: u64 = 100;
