//! `forwarding-rate`: what the device forwards of a given load, or of the most the tester can
//! offer.
//!
//! **Goals.** The forwarding rate of RFC 2285 section 3.6.1 and, where the tester cannot send as
//! much as it is asked for, the forwarding rate at maximum offered load of section 3.6.2. Other
//! names of it are MRR (maximum receive rate, FD.io CSIT: ten trials of a second) and TIPSY's
//! flood. One look takes seconds, so it suits comparisons and watching a figure from build to
//! build.
//!
//! **Non-goals.** A throughput: most frames may be lost here. What is forwarded under overload may
//! be more or less than the throughput, and says nothing about loss below it.
//!
//! **How.** The tester alone, a wire in the device's place; a warm-up; then `repetitions` trials at
//! one load. A rate is of frames that came back where they belong, over the time from the first to
//! the last frame sent; each figure is the median over repetitions, with the extremes beside it.
//! Interfaces count alike: a rate *per port and direction* is the mean of the directions, which
//! stand beside it.

mod config;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, ClaimLevel, Figure, Limit, LimitKind, Outcome, Validity};
use measure::{Direction, Load, MeasureError, Measurer, Pps, Subject, Trial, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::claims::claim;
use crate::figures::{
    KnownFigure, LATENCIES, device_times, interface_words, known, over_repetitions,
};
use crate::method::{Session, TESTER_ALONE, to_value};
use crate::{Entry, Method, Observer, Step, baseline};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "rate forwarded at a given load, or at the tester's maximum",
    subject: Subject::Frames,
    standards: &[FORWARDING_RATE, AT_MAXIMUM],
    figures: FIGURES,
    read: |value| crate::entry::read(value, |_: &Config| Ok(())),
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
        baseline::time(TESTER_ALONE)
            + self.warm_up.duration()
            + self.duration.duration() * self.repetitions
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let baseline = session.tester_alone(self.rate, TESTER_ALONE)?;
        let (load, each) = (Load::PerInterface(self.rate), self.duration.duration());
        if self.warm_up.0 > 0.0 {
            let step = Step::new("warm-up", self.repetitions as usize + 1, self.time_bound(), None);
            session.trial(load, self.warm_up.duration(), step)?;
        }
        let warm_ups = session.records.len();
        let mut trials = Vec::new();
        for done in 0..self.repetitions {
            let left = self.repetitions - done;
            let step = Step::new("repetition", left as usize, each * left, None);
            trials.push(session.trial(load, each, step)?);
        }
        let mut figures = figures(&trials);
        let headline = figures.iter().find(|f| f.name == "forwarding_rate").map(|f| f.value);
        let baseline = session.confirmed(baseline, headline, TESTER_ALONE)?;
        let records = session.records;
        figures.extend(device_times(&records[warm_ups..]));
        let measured: Vec<_> = records[warm_ups..].iter().collect();
        let mut limits = limits(validity::summarise(&measured), &figures);
        let limit = |(b, rate)| baseline::limit(b, self.rate, Pps(rate));
        limits.extend(baseline.zip(headline).and_then(limit));
        let validity = Validity::from_limits(limits);
        let at_maximum = trials.iter().all(validity::tester_fell_short);
        Ok(Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(&figures, &trials, at_maximum),
            aggregation: "rates per port and direction that sends, the mean over directions; \
                          aggregate where the name says so; loss over all directions together"
                .into(),
            figures,
            baseline,
            claims: claims(self.rate, validity.valid, at_maximum),
            validity,
            trials: records,
            ..Outcome::default()
        })
    }
}

/// Frames per second of the trial's effective time.
fn per_second(trial: &Trial, frames: u64) -> f64 {
    let seconds = trial.effective.as_secs_f64();
    if seconds > 0.0 { frames as f64 / seconds } else { 0.0 }
}

fn figures(trials: &[Trial]) -> Vec<Figure> {
    let over = |value: &dyn Fn(&Trial) -> f64| trials.iter().map(value).collect::<Vec<f64>>();
    let each = |t: &Trial, frames: u64| per_second(t, frames) / t.directions.len().max(1) as f64;
    let whole =
        |name, unit, value: &dyn Fn(&Trial) -> f64| over_repetitions(name, unit, &over(value));
    let mut figures: Vec<Figure> = [
        whole("forwarding_rate", "pps", &|t| each(t, t.received())),
        whole("forwarding_rate_aggregate", "pps", &|t| per_second(t, t.received())),
        whole("loss_fraction", "fraction", &|t| t.loss_ratio()),
        whole("loss_percent", "percent", &|t| t.loss_ratio() * 100.0),
        whole("offered_rate", "pps", &|t| each(t, t.sent())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let Some(first) = trials.first() else { return figures };
    for (index, direction) in first.directions.iter().enumerate() {
        let part = |name, unit, value: &dyn Fn(&Trial, &Direction) -> f64| {
            let of = |t: &Trial| t.directions.get(index).map_or(0.0, |d| value(t, d));
            over_repetitions(name, unit, &over(&of)).map(|f| f.of(&direction.name))
        };
        figures.extend(part("forwarding_rate", "pps", &|t, d| per_second(t, d.received)));
        figures.extend(part("offered_rate", "pps", &|t, d| per_second(t, d.sent)));
        if !direction.latency_ns.is_empty() {
            figures.extend(
                LATENCIES.iter().filter_map(|(name, read)| part(name, "ns", &|_, d| read(d))),
            );
        }
    }
    figures
}

/// Removes limits that are expected under overload: the tester sends as much as it can, and a full
/// ring is how a device loses frames.
fn limits(mut of_trials: Vec<Limit>, figures: &[Figure]) -> Vec<Limit> {
    of_trials.retain(|limit| limit.kind != LimitKind::RingFull);
    for limit in of_trials.iter_mut().filter(|limit| limit.kind == LimitKind::Tester) {
        limit.invalidates = false;
        limit.advice = "the rate is that at the maximum offered load, see offered_rate; lower \
                        `rate` for that at a given one"
            .into();
    }
    let headline = figures.iter().find(|f| f.name == "forwarding_rate");
    of_trials.extend(validity::spread(headline.and_then(|f| f.spread)));
    of_trials
}

fn claims(rate: Pps, valid: bool, at_maximum: bool) -> Vec<Claim> {
    let late = ["frames count that came back after the last one was sent".to_owned()];
    let maximum = if at_maximum {
        claim(AT_MAXIMUM, valid, &late)
    } else {
        let reason = format!("the tester sent {rate} in full and may send more");
        Claim { clause: AT_MAXIMUM.into(), level: ClaimLevel::None, reason }
    };
    vec![claim(FORWARDING_RATE, valid, &late), maximum]
}

fn answer(figures: &[Figure], trials: &[Trial], at_maximum: bool) -> String {
    let value = |name: &str| {
        figures.iter().find(|f| f.name == name && f.of.is_none()).map_or(0.0, |f| f.value)
    };
    let interfaces = trials.first().map_or(1, |t| t.directions.len());
    let aggregate = match interfaces {
        0 | 1 => String::new(),
        _ => format!(", {} in all", Pps(value("forwarding_rate_aggregate"))),
    };
    let most = if at_maximum { ", the tester's maximum" } else { "" };
    format!(
        "Of {}{}{most}, it forwards {}{aggregate}; {} is lost.",
        Pps(value("offered_rate")),
        interface_words(interfaces),
        Pps(value("forwarding_rate")),
        measure::Ratio(value("loss_fraction")),
    )
}

const FORWARDING_RATE: &str = "rfc2285.3.6.1";
const AT_MAXIMUM: &str = "rfc2285.3.6.2";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("forwarding_rate", "pps"),
    known("forwarding_rate_aggregate", "pps"),
    known("forwarding_rate_max", "pps"),
    known("offered_rate", "pps"),
];
