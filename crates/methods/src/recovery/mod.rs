//! `recovery`: how long the device goes on losing frames after an overload has ended.
//!
//! **Goals.** System recovery of RFC 2544 section 26.5: a load of 110 % of the throughput for some
//! time (60 s or more in the RFC), then 50 % of it; the time from that change to the last frame
//! that was lost. The median over repetitions, with the extremes beside it.
//!
//! **Non-goals.** Reset (RFC 2544 section 26.6 and RFC 6201): how long a device takes to come back
//! from a restart, which is the method `reset`.
//!
//! **How.** The throughput is given or found first. A frame's time is that of its sending, so a
//! device that only drops what finds its queue full recovers at once: its last lost frame was sent
//! before the change. What takes longer is a device that has to work off a backlog before it takes
//! frames again. One that still loses in the last tenth of the watched time counts as not
//! recovered: its time is that watched, a lower bound, which leaves the median alone while they are
//! few.

mod config;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, Figure, Limit, LimitKind, Outcome, Spread, TrialRecord, Validity};
use measure::{
    Direction, Load, MeasureError, Measurer, Nanos, Pps, Ratio, Subject, Trial, validity,
};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::claims::claim;
use crate::figures::{KnownFigure, known, over_repetitions};
use crate::method::{Session, to_value};
use crate::reference::{self, Throughput};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "duration of frame loss after the end of an overload",
    subject: Subject::Frames,
    standards: &[RFC2544],
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
        let after = (self.repetitions as usize, self.each().saturating_mul(self.repetitions));
        let throughput = reference::throughput(&mut session, self.of, &self.search, after)?;
        let first = session.records.len();
        let mut overloads = Vec::new();
        if let Some(pps) = throughput.pps {
            let load = Load::Step {
                first: Pps(pps * self.overload.0),
                after: self.overload_duration.duration(),
                then: Pps(pps * self.then.0),
            };
            for done in 0..self.repetitions {
                let left = self.repetitions - done;
                let step = Step::new(NAME, left as usize, self.each() * left, None);
                let trial = session.trial(load, self.each(), step)?;
                overloads.push(self.overload(&trial));
            }
        }
        Ok(self.outcome(session.records, first, &throughput, &overloads))
    }
}

/// Results of one overload.
#[derive(Clone, Debug, PartialEq)]
struct Overload {
    /// Time from the change of load to the last lost frame, in nanoseconds, by direction.
    directions: Vec<(String, Seen)>,
}

/// Result of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// No frame was lost, so there was no overload to recover from.
    NoLoss,
    /// Frames were lost, and the tester does not know when.
    NoTime,
    /// The device recovered within this time in nanoseconds.
    Recovered(f64),
    /// The device still lost frames at the end of the trial, this time in nanoseconds after the
    /// change.
    StillLosing(f64),
}

impl Seen {
    fn ns(self) -> Option<f64> {
        match self {
            Self::Recovered(ns) | Self::StillLosing(ns) => Some(ns),
            Self::NoLoss | Self::NoTime => None,
        }
    }
}

impl Overload {
    /// The recovery time of the slowest direction in nanoseconds; none if no frame was lost, or the
    /// time is unknown.
    fn ns(&self) -> Option<f64> {
        self.directions.iter().filter_map(|(_, seen)| seen.ns()).max_by(f64::total_cmp)
    }

    fn has(&self, what: fn(Seen) -> bool) -> bool {
        self.directions.iter().any(|(_, seen)| what(*seen))
    }
}

impl Config {
    fn each(&self) -> Duration {
        self.overload_duration.duration().saturating_add(self.then_duration.duration())
    }

    fn overload(&self, trial: &Trial) -> Overload {
        let changed_ns = self.overload_duration.0 * 1e9;
        let watched_ns = self.then_duration.0 * 1e9;
        let seen = |d: &Direction| match d.last_lost_ns {
            _ if d.lost == 0 => Seen::NoLoss,
            None => Seen::NoTime,
            Some(ns) => match (ns as f64 - changed_ns).max(0.0) {
                late if late > watched_ns * STILL_LOSING => Seen::StillLosing(watched_ns),
                ns => Seen::Recovered(ns),
            },
        };
        Overload {
            directions: trial.directions.iter().map(|d| (d.name.clone(), seen(d))).collect(),
        }
    }

    fn outcome(
        &self,
        records: Vec<TrialRecord>,
        first: usize,
        throughput: &Throughput,
        overloads: &[Overload],
    ) -> Outcome {
        let counted: Vec<&TrialRecord> = records[first..].iter().collect();
        let figures = figures(overloads, throughput);
        let limits = self.limits(&counted, throughput, overloads, figures.is_empty());
        let validity = Validity::from_limits(limits);
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: self.answer(&figures, overloads, throughput),
            aggregation: "loads per port and direction that sends; times by direction, the slower \
                          one where a figure is of no part"
                .into(),
            baseline: throughput.baseline,
            claims: vec![self.claim(throughput, validity.valid && !figures.is_empty())],
            figures,
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn limits(
        &self,
        counted: &[&TrialRecord],
        throughput: &Throughput,
        overloads: &[Overload],
        nothing_found: bool,
    ) -> Vec<Limit> {
        let count = |what: fn(&Overload) -> bool| overloads.iter().filter(|o| what(o)).count();
        let of = overloads.len();
        let mut limits = throughput.limits.clone();
        // Loss is the purpose, and how the tester kept up shows in the loss that it caused.
        let of_trials = validity::summarise(counted).into_iter();
        limits.extend(of_trials.filter(|l| l.kind != LimitKind::RingFull).map(|limit| Limit {
            invalidates: limit.invalidates && (limit.kind != LimitKind::Tester || nothing_found),
            ..limit
        }));
        let unhurt = count(|o| !o.directions.is_empty() && !o.has(|seen| seen != Seen::NoLoss));
        if unhurt > 0 {
            limits.push(Limit::of_search(
                unhurt == of,
                format!("in {unhurt} of {of} trials {} of {} was no overload: nothing was lost",
                    self.overload, throughput.words()),
                "raise overload or overload-duration, or search the throughput to a finer precision",
            ));
        }
        let blind = count(|o| o.has(|seen| seen == Seen::NoTime));
        if blind > 0 {
            limits.push(Limit::of_search(
                true,
                format!("in {blind} of {of} trials the device's tester did not tell when frames were lost"),
                "choose a device whose tester does",
            ));
        }
        let losing = count(|o| o.has(|seen| matches!(seen, Seen::StillLosing(_))));
        if losing > 0 {
            limits.push(Limit::of_search(
                losing * 2 >= of,
                format!(
                    "in {losing} of {of} trials frames were still lost after {} at {} of the \
                     throughput",
                    self.then_duration, self.then
                ),
                "raise then-duration; on a shared machine look at the stalls, which lose frames too",
            ));
        }
        limits
    }

    fn claim(&self, throughput: &Throughput, holds: bool) -> Claim {
        let mut deviations: Vec<String> = throughput.deviation().into_iter().collect();
        if self.overload_duration.0 < OVERLOAD_S {
            deviations.push(format!(
                "an overload of {} instead of {OVERLOAD_S} s",
                self.overload_duration
            ));
        }
        for (what, is, asked) in
            [("overloaded", self.overload, 1.1), ("then loaded", self.then, 0.5)]
        {
            if (is.0 - asked).abs() > 1e-9 {
                deviations.push(format!("{what} with {is} instead of {}", Ratio(asked)));
            }
        }
        deviations.push("the median reported, the mean beside it".to_owned());
        claim(RFC2544, holds, &deviations)
    }

    fn answer(
        &self,
        figures: &[Figure],
        overloads: &[Overload],
        throughput: &Throughput,
    ) -> String {
        let Some(spread) = figures.first().and_then(|f| f.spread) else {
            return match throughput.pps {
                None => "No throughput was found to overload the device beyond.".to_owned(),
                Some(_) => format!(
                    "No recovery was seen: {} of {} lost nothing, or nobody tells when.",
                    self.overload,
                    throughput.words()
                ),
            };
        };
        let time = match (spread.median, is_censored(spread, overloads)) {
            (0.0, _) => "Frames are lost no longer than the overload lasts".to_owned(),
            (ns, true) => {
                format!("Frames are still lost {} after the overload, at least", Nanos(ns))
            }
            (ns, false) => format!("The last frame is lost {} after the overload", Nanos(ns)),
        };
        let most = match spread.n {
            1 => String::new(),
            n => format!(" (median of {n}, {} at most)", Nanos(spread.max)),
        };
        format!(
            "{time}{most}, when the load falls from {} to {} of {}.",
            self.overload,
            self.then,
            throughput.words()
        )
    }
}

/// Whether frames were still lost when the median of the times ended.
fn is_censored(spread: Spread, overloads: &[Overload]) -> bool {
    Some(spread.median) == overloads.iter().filter_map(still_losing_ns).next()
}

fn still_losing_ns(overload: &Overload) -> Option<f64> {
    overload.directions.iter().find_map(|(_, seen)| match seen {
        Seen::StillLosing(ns) => Some(*ns),
        _ => None,
    })
}

fn figures(overloads: &[Overload], throughput: &Throughput) -> Vec<Figure> {
    let slowest: Vec<f64> = overloads.iter().filter_map(Overload::ns).collect();
    let Some(headline) = over_repetitions("recovery_time", "ns", &slowest) else {
        return Vec::new();
    };
    let mean = headline.spread.map_or(0.0, |spread: Spread| spread.mean);
    let is_bound = headline.spread.is_some_and(|spread| is_censored(spread, overloads));
    let mean = Figure::single("recovery_time_mean", mean, "ns");
    let mut figures = vec![headline.at_least(is_bound), mean.at_least(is_bound)];
    let reference = throughput.pps.map(|pps| Figure::single("reference_throughput", pps, "pps"));
    figures.extend(reference);
    let names = overloads.first().map_or(&[][..], |overload| &overload.directions);
    for (index, (name, _)) in names.iter().enumerate() {
        let of = |overload: &Overload| overload.directions.get(index)?.1.ns();
        let values: Vec<f64> = overloads.iter().filter_map(of).collect();
        figures.extend(over_repetitions("recovery_time", "ns", &values).map(|f| f.of(name)));
    }
    figures
}

const RFC2544: &str = "rfc2544.26.5";

/// The shortest overload of RFC 2544 section 26.5, in seconds.
const OVERLOAD_S: f64 = 60.0;

/// Fraction of the observed time after which loss means that the device did not recover.
const STILL_LOSING: f64 = 0.9;

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[known("recovery_time", "ns"), known("recovery_time_mean", "ns")];
