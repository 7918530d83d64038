//! Runs of seeds, and the shortest run that fails.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use protocol_kit::{Machine, Time};

use super::plan::{End, Fault, Plan};
use super::world::{Said, World};

/// What a protocol simulates: a world, what goes wrong in it, and what has to hold.
pub trait Simulation {
    /// The machine of every node.
    type Machine: Machine<Report: Debug>;

    /// The name of the protocol.
    const NAME: &'static str;

    /// Makes the world of a seed; its nodes are dead.
    fn world(seed: u64) -> (World<Self::Machine>, Self)
    where
        Self: Sized;

    /// Fewer things than this go wrong.
    const FAULTS_BELOW: u64;

    /// For how long things go wrong.
    const FAULTS: Duration;

    /// How long the run goes on after that.
    const QUIET: Duration;

    /// Draws what goes wrong.
    fn plan(&self, world: &mut World<Self::Machine>) -> Plan {
        let count = world.random().below(Self::FAULTS_BELOW) as usize;
        Plan::draw(world, count, Time::ZERO.after(Self::FAULTS))
    }

    /// When the run ends.
    fn end(&self) -> Time {
        Time::ZERO.after(Self::FAULTS + Self::QUIET)
    }

    /// Hears of a fault that is about to happen, and lets one of its own ([`Fault::Own`]) happen.
    fn begin(&mut self, _world: &mut World<Self::Machine>, _fault: Fault) {}

    /// Hears what a node has said, or that a fault has just happened.
    ///
    /// # Errors
    /// What does not hold.
    fn judge(
        &mut self,
        world: &mut World<Self::Machine>,
        said: Option<&Said<<Self::Machine as Machine>::Report>>,
    ) -> Result<(), String>;

    /// Looks at the world at its end.
    ///
    /// # Errors
    /// What does not hold.
    fn judge_end(&mut self, world: &mut World<Self::Machine>) -> Result<(), String>;
}

/// Runs the seeds that the variables `PLUMBLINE_SEED` (one) or `PLUMBLINE_SEEDS` (how many) ask
/// for, else `seeds` of them.
///
/// # Panics
/// With the first seed that fails and the shortest part of its plan that still does, or if the same
/// seed yields two different runs.
pub fn simulate<S: Simulation>(seeds: u64) {
    let (first, count) = match asked("PLUMBLINE_SEED") {
        Some(seed) => (seed, 1),
        None => (0, asked("PLUMBLINE_SEEDS").unwrap_or(seeds)),
    };
    for seed in first..first.saturating_add(count) {
        let run = run::<S>(seed, None);
        if let Err(why) = &run.judged {
            let (plan, why) = shortened::<S>(seed, run.plan, why.clone());
            let faults = plan.faults;
            panic!(
                "{} fails with seed {seed}: {why}\nwith these faults:\n{faults:#?}\nrepeat it with: \
                 cargo xtask simulate {} --seed {seed}",
                S::NAME,
                S::NAME
            );
        }
        // A run that differs from its repetition has a source of chance of its own.
        if seed == first {
            assert_eq!(run.trace, self::run::<S>(seed, None).trace, "seed {seed} twice");
        }
    }
    println!("{}: {count} seeds", S::NAME);
}

/// Returns how many hours the variable `PLUMBLINE_HOURS` asks for, else `usual`: of runs that are
/// long by themselves.
pub fn hours(usual: u64) -> u64 {
    asked("PLUMBLINE_HOURS").unwrap_or(usual)
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Runs one seed, whatever the variables say: of a run that is long by itself.
///
/// # Panics
/// If it fails.
pub fn simulate_once<S: Simulation>(seed: u64) {
    let Run { plan, judged, .. } = run::<S>(seed, None);
    if let Err(why) = judged {
        panic!("{} fails with seed {seed}: {why}\nwith these faults:\n{:#?}", S::NAME, plan.faults);
    }
}

struct Run {
    plan: Plan,
    judged: Result<(), String>,
    trace: u64,
}

/// Runs a seed with its own plan, or with a part of it.
fn run<S: Simulation>(seed: u64, plan: Option<&Plan>) -> Run {
    let (mut world, mut simulation) = S::world(seed);
    // Drawn in any case, so that the world's random numbers after it are the same.
    let drawn = simulation.plan(&mut world);
    let plan = plan.unwrap_or(&drawn).clone();
    let judged = play(&mut world, &mut simulation, &plan);
    Run { plan, judged, trace: world.trace() }
}

fn play<S: Simulation>(
    world: &mut World<S::Machine>,
    simulation: &mut S,
    plan: &Plan,
) -> Result<(), String> {
    (0..world.nodes()).for_each(|node| world.revive(node));
    let mut faults: VecDeque<_> = plan.faults.iter().copied().collect();
    let mut ends: Vec<(Time, End)> = Vec::new();
    loop {
        let fault = faults.front().map(|(time, _)| *time);
        let end = ends.iter().map(|(time, _)| *time).min();
        let next = [fault, end, Some(simulation.end())].into_iter().flatten().min();
        let next = next.unwrap_or(simulation.end());
        while world.pass(next) {
            for said in world.take_said() {
                simulation.judge(world, Some(&said))?;
            }
        }
        if next == simulation.end() {
            return simulation.judge_end(world);
        }
        if end == Some(next) {
            let (over, later) = ends.into_iter().partition(|(time, _)| *time == next);
            ends = later;
            let over: Vec<(Time, End)> = over;
            over.into_iter().for_each(|(_, end)| end.happen(world));
        } else if let Some((_, fault)) = faults.pop_front() {
            simulation.begin(world, fault);
            ends.extend(fault.begin(world));
        }
        simulation.judge(world, None)?;
    }
}

/// Leaves out faults as long as the run still fails.
fn shortened<S: Simulation>(seed: u64, mut plan: Plan, mut why: String) -> (Plan, String) {
    let mut part = plan.faults.len().div_ceil(2);
    while part > 0 {
        let mut from = 0;
        while from < plan.faults.len() {
            let mut shorter = plan.clone();
            shorter.faults.drain(from..(from + part).min(plan.faults.len()));
            match run::<S>(seed, Some(&shorter)).judged {
                Err(still) => (plan, why) = (shorter, still),
                Ok(()) => from += part,
            }
        }
        part /= 2;
    }
    (plan, why)
}
