//! `denial-of-service`: what floods against the device itself cost the traffic through it.
//!
//! **Goals.** Background traffic at a load that the device carries, and beside it one flood after the
//! other: ICMP echo to its own address, ARP, fragments, packets whose time to live ends - whatever the
//! function's traffic has. For each flood the loss of the background, how busy the busiest core is, and
//! how many pings of a slow prober are still answered. That is the test of the Nokia VSR-PE in the
//! EANTC report of 2016, for each flood on its own and with the background alone beside it.
//!
//! **Non-goals.** An attack on what stands behind the device. A verdict: what loss is too much is a
//! threshold of the scenario (`background_loss_percent`).
//!
//! **How.** The throughput is given or found first, where a rate is a part of it. Floods and pings are
//! counted apart from the background and bear no stamp; what the device answers is known by the
//! workload. Floods take turns, so that a drift of the machine meets all of them.

mod config;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Outcome, TrialRecord, Validity};
use measure::{Conditions, Flood, Load, MeasureError, Measurer, Pps, Trial, validity};
use serde_json::Value;

pub use config::Config;

use crate::method::{STALL_REPEATS, STALL_REPETITION, Session, to_value};
use crate::reference::{self, Throughput};
use crate::{Entry, HeldLoad, Method, Observer, Step};

/// The registry line.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "what floods against the device itself cost the traffic through it",
    standards: &[],
    read: |value| crate::registry::read(value, Config::validate),
    schema: || schemars::schema_for!(Config),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Value {
        to_value(self)
    }

    fn time_bound(&self) -> Duration {
        // Where floods are not named, nobody knows yet how many there are.
        let floods = if self.floods.is_empty() { FLOODS_USUAL } else { self.floods.len() };
        let search = match self.needs_throughput() {
            true => reference::throughput_time(self.of, &self.search),
            false => Duration::ZERO,
        };
        let trials = (floods as u32 + 1) * self.repetitions;
        let trials = trials.saturating_mul(1 + STALL_REPEATS);
        search.saturating_add(self.duration.duration().saturating_mul(trials))
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let known = measurer.floods();
        let kinds = self.kinds(&known)?;
        let ping = known.iter().position(|name| *name == PING);
        let mut session = Session::new(measurer, observer);
        let trials = (kinds.len() + 1) as u32 * self.repetitions;
        let after = (trials as usize, self.duration.duration().saturating_mul(trials));
        let throughput = match self.needs_throughput() {
            true => Some(reference::throughput(&mut session, self.of, &self.search, after)?),
            false => None,
        };
        let rates = self.rates(throughput.as_ref());
        let mut courses = vec![Course::new("none", None)];
        courses.extend(kinds.iter().map(|&kind| Course::new(known[kind], Some(kind))));
        if let Some(rates) = rates {
            let round = Round { rates, ping, trials };
            session.restoring(|session| self.rounds(session, &mut courses, round))?;
        }
        Ok(self.outcome(session.records, rates, throughput, &courses))
    }
}

/// What is sent, in frames a second: the background on each interface, and the flood.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    background: Pps,
    flood: Pps,
}

/// What all trials have in common.
#[derive(Clone, Copy)]
struct Round {
    rates: Rates,
    ping: Option<usize>,
    trials: u32,
}

/// One flood, or none, and what its trials showed.
struct Course {
    name: &'static str,
    kind: Option<usize>,
    seen: Vec<Seen>,
    /// Which trials they were.
    trials: Vec<usize>,
}

/// What one trial showed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    /// Of the background, as a fraction.
    loss: f64,
    /// Frames of the flood that were offered, a second.
    offered_pps: f64,
    /// Answers to it, a second.
    answered_pps: f64,
    /// Pings answered, as a fraction; none where none were sent.
    pings: Option<f64>,
    /// How busy the busiest core was, as a fraction; none where it cannot be told.
    busy: Option<f64>,
    /// Latency of the background in the slower direction, in nanoseconds.
    p99_ns: Option<f64>,
}

impl Course {
    fn new(name: &'static str, kind: Option<usize>) -> Course {
        Course { name, kind, seen: Vec::new(), trials: Vec::new() }
    }
}

impl Config {
    fn needs_throughput(&self) -> bool {
        [self.background, self.flood].iter().any(|load| matches!(load, HeldLoad::Share(_)))
    }

    /// The floods to send, as numbers of those that there are.
    fn kinds(&self, known: &[&'static str]) -> Result<Vec<usize>, MeasureError> {
        let all: Vec<usize> = (0..known.len()).filter(|kind| known[*kind] != PING).collect();
        if all.is_empty() {
            return Err(MeasureError::NothingToMeasure(
                "the traffic of this function has no floods: it has no address of its own; choose \
                 `l3-router`"
                    .to_owned(),
            ));
        }
        if self.floods.is_empty() {
            return Ok(all);
        }
        let find = |name: &String| {
            all.iter().copied().find(|kind| known[*kind] == name).ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|kind| known[*kind]).collect();
                MeasureError::NothingToMeasure(format!(
                    "there is no flood `{name}`; choose among {}",
                    names.join(", ")
                ))
            })
        };
        self.floods.iter().map(find).collect()
    }

    fn rates(&self, throughput: Option<&Throughput>) -> Option<Rates> {
        let of = |load| match load {
            HeldLoad::Rate(rate) => Some(rate),
            HeldLoad::Share(share) => throughput?.pps.map(|pps| Pps(pps * share.0)),
        };
        Some(Rates { background: of(self.background)?, flood: of(self.flood)? })
    }

    /// All floods in turn, so many times.
    fn rounds(
        &self,
        session: &mut Session<'_>,
        courses: &mut [Course],
        round: Round,
    ) -> Result<(), MeasureError> {
        let mut left = round.trials;
        for _ in 0..self.repetitions {
            for course in courses.iter_mut() {
                self.trial(session, course, round, left)?;
                left -= 1;
            }
        }
        Ok(())
    }

    fn trial(
        &self,
        session: &mut Session<'_>,
        course: &mut Course,
        round: Round,
        left: u32,
    ) -> Result<(), MeasureError> {
        let flood = course.kind.map(|kind| Flood { kind, rate: round.rates.flood });
        let pings = round.ping.filter(|_| self.ping_rate.0 > 0.0);
        let pings = pings.map(|kind| Flood { kind, rate: self.ping_rate });
        let conditions = Conditions { floods: [flood, pings], ..Conditions::default() };
        session.conditions(&conditions, "frames beside the load")?;
        let each = self.duration.duration();
        let step = Step::new(course.name, left as usize, each.saturating_mul(left), None);
        let load = Load::PerInterface(round.rates.background);
        let trial = session.trial_unless_stalled(load, each, step, STALL_REPEATS)?;
        course.trials.push(session.records.len() - 1);
        course.seen.push(seen(&trial, course.name));
        Ok(())
    }

    fn outcome(
        &self,
        records: Vec<TrialRecord>,
        rates: Option<Rates>,
        throughput: Option<Throughput>,
        courses: &[Course],
    ) -> Outcome {
        let counted: Vec<&TrialRecord> =
            courses.iter().flat_map(|c| &c.trials).map(|trial| &records[*trial]).collect();
        let mut limits = validity::summarise(&counted);
        limits.extend(throughput.iter().flat_map(|t| t.limits.iter().cloned()));
        limits.extend(report::limits(courses, rates));
        let repeated = records.iter().filter(|r| r.purpose == STALL_REPETITION).count();
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: report::answer(courses, rates),
            aggregation: format!(
                "the background on each interface that sends, its loss over all directions \
                 together; {repeated} trials repeated because of stalls"
            ),
            figures: report::figures(courses, rates),
            series: report::series(courses),
            baseline: throughput.and_then(|t| t.baseline),
            validity: Validity::from_limits(report::without_rings(limits)),
            trials: records,
            ..Outcome::default()
        }
    }
}

fn seen(trial: &Trial, name: &str) -> Seen {
    let seconds = trial.effective.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let counts = |name: &str| trial.floods.iter().find(|flood| flood.name == name);
    let flood = counts(name).cloned().unwrap_or_default();
    let timed = trial.directions.iter().filter(|d| !d.latency_ns.is_empty());
    Seen {
        loss: trial.loss_ratio(),
        offered_pps: rate(flood.sent),
        answered_pps: rate(flood.answered),
        pings: counts(PING)
            .filter(|pings| pings.sent > 0)
            .map(|pings| pings.answered as f64 / pings.sent as f64),
        busy: busy(trial),
        p99_ns: timed.map(|d| d.latency_ns.value_at_quantile(0.99) as f64).max_by(f64::total_cmp),
    }
}

/// The part of its time in which the device's busiest core had frames to work on. Workers of this
/// program poll, so that their stages tell; of others it is the time that the processor was theirs.
fn busy(trial: &Trial) -> Option<f64> {
    let seconds = trial.effective.as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    if !trial.stages.is_empty() && trial.ticks_per_second > 0.0 {
        let ticks: u64 = trial.stages.iter().map(|stage| stage.ticks).sum();
        // Stages are counted for all workers together.
        let workers = trial.workers.len().max(1) as f64;
        return Some(ticks as f64 / trial.ticks_per_second / seconds / workers);
    }
    trial.device_cpu.as_ref().map(|cpu| cpu.ns as f64 * 1e-9 / seconds)
}

const NAME: &str = "denial-of-service";

/// The kind of flood that is none: its frames ask whether the device still answers.
const PING: &str = "ping";

/// How many floods a function has at most, for the bound of time before they are known.
const FLOODS_USUAL: usize = 8;
