//! `latency`: how long frames take at no load, at parts of the throughput, and at the throughput.
//!
//! **Goals.** Latency in the terms of RFC 8219 section 7.2 (typical latency: the median; worst
//! case: the 99.9th percentile) and packet delay variation of its section 7.3 (99.9th percentile
//! less the minimum), at no load and at 10, 50, 90 and 100 % of the throughput, each direction by
//! itself. RFC 2544 section 26.2 asks for the last of these loads only.
//!
//! **Non-goals.** One tagged frame after 60 s, as RFC 2544 has it: every frame is timed, and the
//! whole distribution is kept. Differences between successive frames (IPDV). Loads above the
//! throughput, where latency is the length of the queue that overflows.
//!
//! **How.** The throughput is given or found first. Then `repetitions` rounds over all loads, so
//! that whatever drifts meets every load alike; each figure is the median over the rounds, with the
//! extremes beside it. What the wire alone takes, the tester's own part of every latency, is
//! measured at half the throughput and stands beside the figures as their baseline.

mod config;
mod points;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Baseline, Claim, Limit, Outcome, TrialRecord, Validity};
use measure::{Load, MeasureError, Measurer, Nanos, Pps, Ratio, Subject, Trial, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use points::Point;

use crate::claims::claim;
use crate::figures::{KnownFigure, interface_words, known};
use crate::method::{STALL_REPEATS, Session, TESTER_ALONE, to_value};
use crate::reference::{self, Throughput};
use crate::{Entry, Method, Observer, Step, baseline};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "latency at no load, at fractions of the throughput, and at the throughput",
    subject: Subject::Frames,
    standards: &[RFC2544, RFC8219_LATENCY, RFC8219_PDV],
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
        reference::throughput_time(self.of, &self.search)
            .saturating_add(baseline::time(TESTER_ALONE) + TESTER_ALONE)
            .saturating_add(self.rounds_time() * (1 + STALL_REPEATS))
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let after = (self.trials() as usize, self.rounds_time());
        let mut throughput = reference::throughput(&mut session, self.of, &self.search, after)?;
        let Some(pps) = throughput.pps else {
            return Ok(self.without_throughput(session.records, throughput));
        };
        throughput.baseline = self.baseline(&mut session, &throughput, pps)?;
        let points = self.rounds(&mut session, pps)?;
        Ok(self.outcome(session.records, &throughput, points))
    }
}

impl Config {
    fn trials(&self) -> u32 {
        let loads = self.loads.len() + usize::from(self.no_load_rate.0 > 0.0);
        loads as u32 * self.repetitions
    }

    fn rounds_time(&self) -> Duration {
        self.duration.duration() * self.trials()
    }

    /// Baseline: the latency of the wire at half the throughput, and the maximum of the tester
    /// alone.
    fn baseline(
        &self,
        session: &mut Session<'_>,
        throughput: &Throughput,
        pps: f64,
    ) -> Result<Option<Baseline>, MeasureError> {
        let most = match throughput.baseline {
            Some(baseline) => Some(baseline),
            None => session.tester_alone(self.search.max_rate, TESTER_ALONE)?,
        };
        let half = session.wire(Pps(pps / 2.0), TESTER_ALONE)?;
        let half = half.and_then(|trial| baseline::of(std::slice::from_ref(&trial)));
        Ok(most
            .zip(half)
            .map(|(most, half)| Baseline { latency_p50_ns: half.latency_p50_ns, ..most }))
    }

    /// Measures all loads in rounds; the points begin with the lowest load.
    fn rounds(&self, session: &mut Session<'_>, pps: f64) -> Result<Vec<Point>, MeasureError> {
        let mut points = self.points(pps);
        let each = self.duration.duration();
        for round in 0..self.repetitions {
            for at in 0..points.len() {
                let done = round * points.len() as u32 + at as u32;
                let left = self.trials() - done;
                let point = &mut points[at];
                let purpose = format!("latency {}", point.label);
                let step = Step::new(purpose, left as usize, each * left, None);
                let load = Load::PerInterface(Pps(point.load_pps));
                let trial = unless_stalled(session, load, each, &step)?;
                point.add(&trial, session.records.len() - 1);
            }
        }
        Ok(points)
    }

    fn points(&self, pps: f64) -> Vec<Point> {
        let mut points = Vec::new();
        if self.no_load_rate.0 > 0.0 {
            points.push(Point::new("no load".to_owned(), self.no_load_rate.0, pps));
        }
        let mut loads = self.loads.clone();
        loads.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.extend(loads.iter().map(|load| Point::new(load.to_string(), pps * load.0, pps)));
        points
    }

    fn outcome(
        &self,
        records: Vec<TrialRecord>,
        throughput: &Throughput,
        points: Vec<Point>,
    ) -> Outcome {
        let counted: Vec<&TrialRecord> =
            points.iter().flat_map(|point| &point.trials).map(|trial| &records[*trial]).collect();
        let mut limits = validity::summarise(&counted);
        limits.extend(throughput.limits.iter().cloned());
        limits.extend(points.iter().filter_map(|point| lossy(point, self.search.loss_tolerance)));
        let validity = Validity::from_limits(limits);
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(&points, throughput),
            aggregation: AGGREGATION.into(),
            figures: points::figures(&points, throughput),
            series: vec![points::series(&points, throughput)],
            baseline: throughput.baseline,
            claims: self.claims(throughput, validity.valid),
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn without_throughput(&self, trials: Vec<TrialRecord>, throughput: Throughput) -> Outcome {
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: "No throughput was found to measure the latency at.".into(),
            aggregation: AGGREGATION.into(),
            claims: self.claims(&throughput, false),
            validity: Validity::from_limits(throughput.limits),
            trials,
            ..Outcome::default()
        }
    }

    fn claims(&self, throughput: &Throughput, valid: bool) -> Vec<Claim> {
        let mut common: Vec<String> = throughput.deviation().into_iter().collect();
        if self.repetitions < REPETITIONS {
            common.push(format!("{} repetitions instead of {REPETITIONS}", self.repetitions));
        }
        if !self.loads.iter().any(|load| load.0 >= 1.0) {
            common.push("not at the throughput itself".to_owned());
        }
        let with = |seconds: f64, more: &[&str]| {
            let mut deviations = common.clone();
            if self.duration.0 < seconds {
                deviations.push(format!("trials of {} instead of {seconds} s", self.duration));
            }
            deviations.extend(more.iter().map(|text| (*text).to_owned()));
            deviations
        };
        vec![
            claim(
                RFC2544,
                valid,
                &with(
                    120.0,
                    &["percentiles of all frames, not the mean of one tagged in each trial"],
                ),
            ),
            claim(RFC8219_LATENCY, valid, &with(120.0, &["all frames timed from the first on"])),
            claim(RFC8219_PDV, valid, &with(60.0, &[])),
        ]
    }
}

/// Makes a trial, and repeats it while a stall explains its loss. A repetition keeps the purpose,
/// so that the counting trial of a load is found with the others.
fn unless_stalled(
    session: &mut Session<'_>,
    load: Load,
    duration: Duration,
    step: &Step,
) -> Result<Trial, MeasureError> {
    let mut trial = session.trial(load, duration, step.clone())?;
    for _ in 0..STALL_REPEATS {
        if !validity::stalls_explain_miss(&trial) {
            break;
        }
        trial = session.trial(load, duration, step.clone())?;
    }
    Ok(trial)
}

/// A limit if a load at or below the throughput lost frames.
fn lossy(point: &Point, tolerance: Ratio) -> Option<Limit> {
    let lossy = point.loss.iter().filter(|loss| **loss > tolerance.0).count();
    let worst = point.loss.iter().copied().fold(0.0, f64::max);
    (lossy > 0).then(|| {
        let what = format!(
            "in {lossy} of {} trials at {} frames were lost, {} at most: that load is not below \
             the throughput",
            point.loss.len(),
            point.label,
            Ratio(worst)
        );
        let advice = "give a lower `of`, allow a loss-tolerance in the search, or read the stalls: \
                 latency with loss is that of a queue that overflows";
        Limit::of_search(false, what, advice)
    })
}

fn answer(points: &[Point], throughput: &Throughput) -> String {
    let interfaces = points.first().map_or(1, Point::interfaces);
    let each = |point: &Point| {
        let (p50, p99_9) = (point.worst("latency_p50")?, point.worst("latency_p99_9")?);
        Some(format!("at {} {} and {}", point.label, Nanos(p50), Nanos(p99_9)))
    };
    let parts: Vec<String> = points.iter().filter_map(each).collect();
    if parts.is_empty() {
        return "No frame was timed.".to_owned();
    }
    format!(
        "Half of the frames, and 99.9 % of them, take no longer than: {}; 100 % is {}{}.",
        parts.join(", "),
        throughput.words(),
        interface_words(interfaces)
    )
}

const RFC2544: &str = "rfc2544.26.2";
const RFC8219_LATENCY: &str = "rfc8219.7.2";
const RFC8219_PDV: &str = "rfc8219.7.3";
const AGGREGATION: &str = "loads per port and direction that sends; latency by direction, the \
                           slower direction where a figure is of no part";

/// Number of repetitions that RFC 2544 section 26.2 and RFC 8219 section 7.2 require.
const REPETITIONS: u32 = 20;

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[known("latency_mean", "ns"), known("latency_pdv", "ns")];
