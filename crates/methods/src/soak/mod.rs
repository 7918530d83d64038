//! `soak`: one load for minutes, hours or days, and what becomes of loss, latency and memory.
//!
//! **Goals.** Whether a device that bears a load for a second bears it for a day: every loss with
//! its time, the longest time without any, the trend of latency and memory with its confidence, in
//! slices so that hours of work survive an interruption. Kin to the service performance test of
//! ITU-T Y.1564 section 8.2 (15 minutes, 2 or 24 hours).
//!
//! **Non-goals.** The critical load of CSIT's SOAK tests (PLRsearch): the load is given, not
//! searched. A verdict: whether a loss in a day is too much is for a threshold of the scenario to
//! say.
//!
//! **How.** Trials of one `slice` each, one behind the other. Between two slices the load pauses
//! for as long as the device takes to end a trial and begin another; times are measured times,
//! pauses left out. A slice whose tester or worker was disturbed counts like every other; the
//! limits tell how many were, and make the whole invalid beyond one in twenty.
//!
//! **Trends** are the median of the slopes between all pairs of slices (Theil and Sen, see
//! `measure::statistics`): a single wild slice does not move it. More than 600 slices are put
//! together in groups first: medians of latency and memory, means of loss.
//!
//! **Interruptions.** Each slice is told to the observer when it is finished; handed back by
//! [`Method::resume`] they take the place of measuring them again. The first slice of a device that
//! may be a new one has the purpose `slice-after-start`: no slope and no lossless time reaches
//! across it.

mod config;
mod course;
mod figures;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{LoadRecord, Outcome, TrialRecord, Validity};
use measure::{Load, MeasureError, Measurer, Pps, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::claims::claim;
use crate::figures::{KnownFigure, known};
use crate::load::HeldLoad;
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer, Step};
use course::{Course, SLICE, START};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "one load for hours: each loss, and the trend of latency and memory",
    subject: Subject::Frames,
    standards: &[Y1564],
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
        let search = match self.load {
            HeldLoad::Rate(_) | HeldLoad::Captured => Duration::ZERO,
            HeldLoad::Share(_) => self.throughput.time_bound(),
        };
        search.saturating_add(self.warm_up.duration()).saturating_add(self.duration.duration())
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        self.resume(&mut std::iter::empty(), measurer, observer)
    }

    fn resumes(&self) -> bool {
        true
    }

    fn resume(
        &self,
        finished: &mut dyn Iterator<Item = TrialRecord>,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let mut course = Course::new(self.slices_kept);
        let found = self.take_back(finished, &mut session, &mut course)?;
        let left = self.left(course.slices.len());
        let load = match (found, self.load) {
            (Some(load), _) => load,
            (None, HeldLoad::Rate(rate)) => rate,
            (None, HeldLoad::Captured) => session
                .measurer
                .captured_rate()
                .ok_or_else(|| MeasureError::NothingToMeasure(NOT_CAPTURED.to_owned()))?,
            (None, HeldLoad::Share(share)) => self.search(share.0, &mut session)?,
        };
        if !left.is_empty() && self.warm_up.0 > 0.0 {
            let time = self.warm_up.duration().saturating_add(left.iter().sum());
            let step = Step::new("warm-up", left.len() + 1, time, None);
            session.trial(Load::PerInterface(load), self.warm_up.duration(), step)?;
        }
        for (at, slice) in left.iter().enumerate() {
            let purpose = if at == 0 { START } else { SLICE };
            let step = Step::new(purpose, left.len() - at, left[at..].iter().sum(), None);
            session.trial(Load::PerInterface(load), *slice, step)?;
            // It was told; what is kept of it the course decides.
            session.records.pop().into_iter().for_each(|record| course.add(record));
        }
        Ok(self.outcome(load, course, session.records))
    }
}

impl Config {
    /// Restores the slices of earlier runs; returns their load, if there were any.
    fn take_back(
        &self,
        finished: &mut dyn Iterator<Item = TrialRecord>,
        session: &mut Session<'_>,
        course: &mut Course,
    ) -> Result<Option<Pps>, MeasureError> {
        let mut held: Option<f64> = None;
        for record in finished {
            session.next = session.next.max(record.index.saturating_add(1));
            if ![SLICE, START].contains(&record.purpose.as_str()) {
                // Few: of searches and warm-ups.
                session.records.push(record);
                continue;
            }
            let pps = match (record.load, self.load) {
                (LoadRecord::PerInterface { pps }, HeldLoad::Rate(rate)) if pps == rate.0 => pps,
                (LoadRecord::PerInterface { pps }, HeldLoad::Share(_) | HeldLoad::Captured)
                    if pps > 0.0 =>
                {
                    pps
                }
                _ => return Err(foreign(&record)),
            };
            let length = self.left(course.slices.len()).first().copied();
            let as_long =
                length.is_some_and(|slice| slice.as_nanos() == u128::from(record.intended_ns));
            if !as_long || held.is_some_and(|held| held != pps) {
                return Err(foreign(&record));
            }
            held = Some(pps);
            course.add(record);
        }
        Ok(held.map(Pps))
    }

    /// The durations of the remaining slices.
    fn left(&self, done: usize) -> Vec<Duration> {
        let (whole, slice) = (self.duration.duration(), self.slice.duration());
        let count = whole.as_nanos().div_ceil(slice.as_nanos().max(1)) as usize;
        let length = |at: usize| {
            let before = slice.saturating_mul(at as u32);
            slice.min(whole.saturating_sub(before))
        };
        (done.min(count)..count).map(length).collect()
    }

    /// Searches the throughput, and returns the share of it.
    fn search(&self, share: f64, session: &mut Session<'_>) -> Result<Pps, MeasureError> {
        let slices = self.left(0);
        let time = self.warm_up.duration().saturating_add(slices.iter().sum());
        let outcome = session.part(&self.throughput, (slices.len() + 1, time))?;
        let throughput = outcome.figure("throughput").map(|figure| figure.value);
        let throughput = throughput.filter(|pps| *pps > 0.0).ok_or_else(|| {
            MeasureError::NothingToMeasure(format!(
                "there is no throughput to soak {} of: {} Give `load` as a rate, or let the search \
                 tolerate some loss (`throughput.loss-tolerance`)",
                self.load, outcome.answer
            ))
        })?;
        Ok(Pps(throughput * share))
    }

    fn outcome(&self, load: Pps, mut course: Course, records: Vec<TrialRecord>) -> Outcome {
        let mut trials = records;
        trials.extend(course.trials());
        trials.sort_by_key(|trial| trial.index);
        let validity = Validity::from_limits(figures::limits(&course));
        let mut deviations = vec![
            "the load is not a service's committed rate".to_owned(),
            "availability and frame delay variation are not judged".to_owned(),
        ];
        if !Y1564_SECONDS.contains(&self.duration.0) {
            deviations.push(format!("{} instead of 15 min, 2 h or 24 h", self.duration));
        }
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: figures::answer(load, &course),
            aggregation: "the load and rates per port and direction that sends; loss and latency \
                          over all directions together; slices without loss are kept as series only"
                .into(),
            figures: figures::figures(load, &course),
            series: vec![figures::trend(&course), figures::losses(&course)],
            claims: vec![claim(Y1564, validity.valid, &deviations)],
            validity,
            trials,
            ..Outcome::default()
        }
    }
}

fn foreign(record: &TrialRecord) -> MeasureError {
    MeasureError::NothingToMeasure(format!(
        "the finished slices are of another soak (slice {} has another load or length): measure \
         afresh, without them",
        record.index
    ))
}

/// Error text: why there is no rate of a capture.
const NOT_CAPTURED: &str = "`load: captured` needs `pcap` with `pcap-timing: captured` in the \
                            traffic; or give `load` as a rate";
const Y1564: &str = "y1564.8.2";

/// The test durations of the standard, in seconds.
const Y1564_SECONDS: [f64; 3] = [900.0, 7_200.0, 86_400.0];

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("duration", "s"),
    known("forwarded", "pps"),
    known("latency_p50_slope", "ns/h"),
    known("latency_p50_slope_high", "ns/h"),
    known("latency_p50_slope_low", "ns/h"),
    known("latency_p99_9_slope", "ns/h"),
    known("latency_p99_9_slope_high", "ns/h"),
    known("latency_p99_9_slope_low", "ns/h"),
    known("load", "pps"),
    known("loss_slope", "1/h"),
    known("loss_slope_high", "1/h"),
    known("loss_slope_low", "1/h"),
    known("lossless_longest", "s"),
    known("lost_frames", "frames"),
    known("memory_slope", "B/h"),
    known("memory_slope_high", "B/h"),
    known("memory_slope_low", "B/h"),
    known("restarts", "restarts"),
    known("slices_with_loss", "slices"),
];
