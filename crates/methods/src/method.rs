//! What every method is: a configuration that can run.

use std::time::Duration;

use measure::record::{Baseline, Outcome, TrialRecord};
use measure::{
    Conditions, Load, MeasureError, Measurer, Pps, Trial, TrialProgress, Watch, validity,
};
use serde::Serialize;
use serde_json::Value;

use crate::{Observer, Step, baseline};

/// A configured method.
pub trait Method: Send + Sync {
    /// Its name in the registry and in scenario files.
    fn name(&self) -> &'static str;

    /// Its configuration, all defaults filled in.
    fn configuration(&self) -> Value;

    /// The longest its trials can take together; devices add a little to each trial.
    fn time_bound(&self) -> Duration;

    /// Measures.
    ///
    /// # Errors
    /// When a trial could not be carried out, or the user stopped it; the trials finished before
    /// were told to the observer.
    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError>;

    /// Whether an interrupted measurement can go on where it stopped, by [`Method::resume`].
    fn resumes(&self) -> bool {
        false
    }

    /// Measures what an interrupted [`Method::run`] left, and yields the outcome of the whole.
    ///
    /// `finished` are the records that the observer was told of, all of them, in their order and
    /// unchanged, from every earlier `run` and `resume` of this measurement. The contract:
    ///
    /// - A caller that wants to resume writes each record away in [`Observer::finished`], before it
    ///   returns: what is told is measured, and is never told again. It need not keep them in
    ///   memory. They are read here one after the other, once, so that they may come from a file.
    /// - They must be of the same question: same configuration, function, traffic, device and seed.
    ///   A method cannot check that; [`Outcome::key`] is for it. Records that do not belong to the
    ///   method's own course are an error or are left out, never measured values of this one.
    /// - A record that was not written in full (the last one, after a crash) is to be left out, with
    ///   everything after it.
    /// - The indices of trials go on behind the last record handed back.
    /// - The device may be new: a method marks where it went on, and no figure spans that place as if
    ///   one device had run all the time.
    /// - An empty iterator is the same as [`Method::run`]; so a caller may always call this one.
    ///
    /// A method that does not resume measures everything again.
    ///
    /// # Errors
    /// As [`Method::run`], and when the records cannot be of this measurement.
    fn resume(
        &self,
        _finished: &mut dyn Iterator<Item = TrialRecord>,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        self.run(measurer, observer)
    }
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The key, dotted from the top of the method's section; empty for the section itself.
    pub key: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl ConfigError {
    /// A problem of one key.
    pub fn new(key: &str, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }
}

/// A configuration as JSON. Configurations are plain data of ours, for which this cannot fail; an
/// empty object stands in all the same rather than a panic in the middle of a bench.
pub(crate) fn to_value(config: &impl Serialize) -> Value {
    serde_json::to_value(config).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}

/// Runs trials for a method, tells the observer, and keeps the records.
pub(crate) struct Session<'a> {
    pub(crate) measurer: &'a mut dyn Measurer,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) records: Vec<TrialRecord>,
    /// The index of the next trial; more than there are records where not all are kept.
    pub(crate) next: usize,
    /// What holds for the next trial.
    pub(crate) held: Conditions,
}

impl<'a> Session<'a> {
    pub(crate) fn new(measurer: &'a mut dyn Measurer, observer: &'a mut dyn Observer) -> Self {
        Self { measurer, observer, records: Vec::new(), next: 0, held: Conditions::default() }
    }

    /// One trial. `step` tells the observer what is about to happen; its index is filled in here.
    pub(crate) fn trial(
        &mut self,
        load: Load,
        duration: Duration,
        mut step: Step,
    ) -> Result<Trial, MeasureError> {
        step.index = self.next;
        step.load = load;
        step.duration = duration;
        self.observer.starting(&step);
        let mut watch = Forward(self.observer);
        let trial = self.measurer.measure(load, duration, &mut watch)?;
        let limits = validity::trial_limits(&trial);
        let record = TrialRecord::new(step.index, &step.purpose, &trial, limits);
        self.observer.finished(&record);
        self.next += 1;
        self.records.push(record);
        Ok(trial)
    }

    /// One trial, and again, up to `repeats` times, while all its loss may come from a stall: what
    /// a thread lost while it had no core says nothing about the device. All are kept, the
    /// repetitions with the purpose [`STALL_REPETITION`]; the last one is returned, and counts.
    ///
    /// What this does to a search: loss that the device causes by stalling itself is repeated too,
    /// so the search is milder on devices that pause rarely; a device that pauses in every trial is
    /// found out all the same, because the last repetition counts with its loss.
    pub(crate) fn trial_unless_stalled(
        &mut self,
        load: Load,
        duration: Duration,
        step: Step,
        repeats: u32,
    ) -> Result<Trial, MeasureError> {
        let again = Step { purpose: STALL_REPETITION.into(), ..step.clone() };
        let mut trial = self.trial(load, duration, step)?;
        for _ in 0..repeats {
            if !validity::stalls_explain_loss(&trial) {
                break;
            }
            trial = self.trial(load, duration, again.clone())?;
        }
        Ok(trial)
    }

    /// What the tester alone does at `rate` (see [`Measurer::tester_alone`]); none where there is
    /// no wire to put in the device's place. It is no trial of the device, so it has no record: the
    /// outcome's `baseline` tells of it.
    pub(crate) fn tester_alone(
        &mut self,
        rate: Pps,
        duration: Duration,
    ) -> Result<Option<Baseline>, MeasureError> {
        let mut watch = Forward(self.observer);
        let trial = self.measurer.tester_alone(rate, duration, &mut watch)?;
        Ok(trial.as_ref().and_then(baseline::of))
    }
}

/// The purpose of a trial that is done again because a stall may explain the loss of the one before.
pub(crate) const STALL_REPETITION: &str = "stall-repetition";

/// How often such a trial is repeated where a method has no key for it.
pub(crate) const STALL_REPEATS: u32 = 2;

/// How long the tester alone is measured.
pub(crate) const TESTER_ALONE: Duration = Duration::from_millis(500);

/// Hands progress on; an `&mut dyn Observer` is not yet an `&mut dyn Watch`.
struct Forward<'a>(&'a mut dyn Observer);

impl Watch for Forward<'_> {
    fn at(&mut self, progress: TrialProgress) {
        self.0.at(progress);
    }
}
