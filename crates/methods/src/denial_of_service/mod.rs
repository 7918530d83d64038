//! `denial-of-service`: what floods against the device itself cost the traffic through it.
//!
//! **Goals.** Background traffic at a load that the device carries, and beside it one flood after
//! the other: ICMP echo to its own address, ARP, fragments, packets whose time to live ends -
//! whatever the function's traffic has. For each flood the loss of the background, how busy the
//! busiest core is, and how many pings of a slow prober are still answered. That is the test of the
//! Nokia VSR-PE in the EANTC report of 2016, for each flood on its own and with the background
//! alone beside it.
//!
//! **Non-goals.** An attack on what stands behind the device. A verdict: what loss is too much is a
//! threshold of the scenario (`background_loss_percent`).
//!
//! **How.** The throughput is given or found first, where a rate is a part of it. Floods and pings
//! are counted apart from the background and bear no stamp; what the device answers is known by the
//! workload. Floods take turns, so that a drift of the machine meets all of them.

mod config;
mod course;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Outcome, TrialRecord, Validity};
use measure::{Conditions, Flood, Load, MeasureError, Measurer, Pps, Subject, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use course::{Course, PING, Rates, seen};

use crate::figures::{KnownFigure, known};
use crate::method::{STALL_REPEATS, STALL_REPETITION, Session, to_value};
use crate::reference::{self, Throughput};
use crate::{Entry, HeldLoad, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "effect of floods against the device on the traffic through it",
    subject: Subject::Frames,
    standards: &[],
    figures: FIGURES,
    read: |value| crate::entry::read(value, Config::validate),
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

/// Parameters that all trials share.
#[derive(Clone, Copy)]
struct Round {
    rates: Rates,
    ping: Option<usize>,
    trials: u32,
}

impl Config {
    fn needs_throughput(&self) -> bool {
        [self.background, self.flood].iter().any(|load| matches!(load, HeldLoad::Share(_)))
    }

    /// Indices of the floods to send.
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
            // Floods have no capture.
            HeldLoad::Captured => None,
            HeldLoad::Share(share) => throughput?.pps.map(|pps| Pps(pps * share.0)),
        };
        Some(Rates { background: of(self.background)?, flood: of(self.flood)? })
    }

    /// Runs all floods in turn, for each repetition.
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
                "the background per port and direction that sends, its loss over all directions \
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

/// Assumed number of floods of a function, for the time bound before they are known.
const FLOODS_USUAL: usize = 8;

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("background_loss_percent", "percent"),
    known("busiest_core_percent", "percent"),
    known("flood_answered", "pps"),
    known("flood_offered", "pps"),
    known("load", "pps"),
    known("pings_answered_percent", "percent"),
];
