//! `reset`: how long the device forwards nothing, or not all, when it is restarted under load.
//!
//! **Goals.** The reset time of RFC 6201: a load runs, the device is restarted as after a crash of
//! its software (section 4.2.2, process reset), and the load goes on until it forwards again. The
//! time is that of the frames that were lost, by the rate at which they were sent (the frame-loss
//! method). Beside it the longest time without any frame from the device (the time-stamp method),
//! which a buffer in front of it may bridge without loss, the time from the order to restart until
//! the last lost frame was sent, and how long the device took to say that it runs again. Median,
//! extremes and mean.
//!
//! **Non-goals.** Cutting the power (section 4.3) and hardware resets (section 4.1): what is
//! measured here is software. What a failover to another instance hides.
//!
//! **How.** The throughput is given or found first. Which part is restarted is the device's matter
//! and stands in the record. Loss that is no part of the restart counts too, so the load is one
//! that the device carries without loss.

mod config;
mod outage;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, Outcome, TrialRecord, Validity};
use measure::{Conditions, Load, MeasureError, Measurer, Pps, Subject, Trial, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use outage::{Outage, Reset};

use crate::claims::claim;
use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::reference::{self, Throughput};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "duration of the outage when the device is restarted under load",
    subject: Subject::Frames,
    standards: &[RFC6201],
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
        let trials = self.each().saturating_mul(self.repetitions);
        reference::throughput_time(self.of, &self.search).saturating_add(trials)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        // Before the search: a device that cannot be restarted is not to be searched in vain.
        let restart_after = Some(self.before.duration());
        let asked = Conditions { restart_after, ..Conditions::default() };
        session.restoring(|session| session.conditions(&asked, "a restart of the device"))?;
        let after = (self.repetitions as usize, self.each().saturating_mul(self.repetitions));
        let throughput = reference::throughput(&mut session, self.of, &self.search, after)?;
        let first = session.records.len();
        let mut resets = Vec::new();
        if let Some(pps) = throughput.pps {
            resets = session.restoring(|session| {
                session.conditions(&asked, "a restart of the device")?;
                self.resets(session, pps)
            })?;
        }
        Ok(self.outcome(session.records, first, &throughput, &resets))
    }
}

impl Config {
    fn each(&self) -> Duration {
        self.before.duration().saturating_add(self.after.duration())
    }

    fn resets(&self, session: &mut Session<'_>, pps: f64) -> Result<Vec<Reset>, MeasureError> {
        let mut resets = Vec::new();
        for done in 0..self.repetitions {
            let left = self.repetitions - done;
            let step = Step::new(NAME, left as usize, self.each().saturating_mul(left), None);
            let load = Load::PerInterface(Pps(pps * self.load.0));
            let trial = session.trial(load, self.each(), step)?;
            resets.push(self.reset(&trial));
        }
        Ok(resets)
    }

    fn reset(&self, trial: &Trial) -> Reset {
        let restart = trial.restart.as_ref();
        let asked_ns = restart.map_or(0.0, |r| r.asked_ns as f64);
        let ends_ns = trial.effective.as_nanos() as f64;
        let outage = |d: &measure::Direction| Outage {
            name: d.name.clone(),
            lost_ns: match d.sent {
                0 => 0.0,
                sent => d.lost as f64 / sent as f64 * ends_ns,
            },
            until_last_lost_ns: d.last_lost_ns.map(|ns| (ns as f64 - asked_ns).max(0.0)),
            still_losing: d.sent > 0
                && (d.received == 0
                    || d.last_lost_ns.is_some_and(|ns| {
                        ns as f64 > ends_ns - self.after.0 * 1e9 * (1.0 - STILL_LOSING)
                    })),
        };
        Reset {
            what: restart.map_or(String::new(), |r| r.what.clone()),
            ready_ns: restart.map(|r| r.ready_after_ns as f64),
            silence_ns: restart.map(|r| r.silence_ns as f64),
            directions: trial.directions.iter().map(outage).collect(),
        }
    }

    fn outcome(
        &self,
        records: Vec<TrialRecord>,
        first: usize,
        throughput: &Throughput,
        resets: &[Reset],
    ) -> Outcome {
        let counted: Vec<&TrialRecord> = records[first..].iter().collect();
        let figures = report::figures(resets, throughput);
        let mut limits = throughput.limits.clone();
        limits.extend(report::of_trials(validity::summarise(&counted)));
        limits.extend(report::of_resets(self, resets));
        let validity = Validity::from_limits(limits);
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: report::answer(self, resets, throughput),
            aggregation: "the load per port and direction that sends; times by direction, the \
                          longer one where a figure is of no part"
                .into(),
            baseline: throughput.baseline,
            series: report::series(resets),
            claims: vec![self.claim(throughput, validity.valid && !figures.is_empty())],
            figures,
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn claim(&self, throughput: &Throughput, holds: bool) -> Claim {
        let mut deviations: Vec<String> = throughput.deviation().into_iter().collect();
        if self.load.0 < 1.0 {
            deviations.push(format!("at {} of the throughput", self.load));
        }
        deviations.push("the median reported, extremes and mean beside it".to_owned());
        claim(RFC6201, holds, &deviations)
    }
}

const RFC6201: &str = "rfc6201.4.2.2";

/// Fraction of `after` after which loss means that the device has not recovered.
const STILL_LOSING: f64 = 0.9;

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("reset_silence", "ns"),
    known("reset_time", "ns"),
    known("reset_time_mean", "ns"),
    known("reset_until_last_lost", "ns"),
    known("reset_until_ready", "ns"),
];
