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
    /// Name of the method in the registry and in scenario files.
    fn name(&self) -> &'static str;

    /// Configuration of the method, with all defaults.
    fn configuration(&self) -> Value;

    /// Upper bound of the total duration of its trials; devices add a little to each trial.
    fn time_bound(&self) -> Duration;

    /// Measures a device.
    ///
    /// # Errors
    /// When a trial could not be carried out, or the user stopped it. The observer has then
    /// received all finished trials.
    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError>;

    /// Whether an interrupted measurement can resume with [`Method::resume`].
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
    /// - A record that was not written in full (the last one, after a crash) is to be left out,
    ///   with everything after it.
    /// - The indices of trials go on behind the last record handed back.
    /// - The device may be new: a method marks where it went on, and no figure spans that place as
    ///   if one device had run all the time.
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

/// A configuration as JSON. Serialisation of these plain types cannot fail; an empty object
/// replaces a panic in the middle of a bench.
pub(crate) fn to_value(config: &impl Serialize) -> Value {
    serde_json::to_value(config).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}

/// Runs trials for a method, notifies the observer, and collects the records.
pub(crate) struct Session<'a> {
    pub(crate) measurer: &'a mut dyn Measurer,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) records: Vec<TrialRecord>,
    /// Index of the next trial; it exceeds the number of records if not all are kept.
    pub(crate) next: usize,
    /// Conditions of the next trial.
    pub(crate) held: Conditions,
}

impl<'a> Session<'a> {
    pub(crate) fn new(measurer: &'a mut dyn Measurer, observer: &'a mut dyn Observer) -> Self {
        Self { measurer, observer, records: Vec::new(), next: 0, held: Conditions::default() }
    }

    /// Makes one trial. `step` is passed to the observer, with its index filled in.
    pub(crate) fn trial(
        &mut self,
        load: Load,
        duration: Duration,
        mut step: Step,
    ) -> Result<Trial, MeasureError> {
        step.index = self.next;
        step.load = Some(load);
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

    /// Makes a trial, and repeats it up to `repeats` times while all its loss may come from a
    /// stall: loss while a thread had lost its core says nothing about the device. All trials are
    /// kept, repetitions with the purpose [`STALL_REPETITION`]; the last one counts and is
    /// returned.
    ///
    /// Loss that the device causes by stalling itself is also repeated, so a search is milder on
    /// devices that stall rarely. A device that stalls in every trial is still detected, because
    /// the last repetition counts with its loss.
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
            if !validity::stalls_explain_miss(&trial) {
                break;
            }
            trial = self.trial(load, duration, again.clone())?;
        }
        Ok(trial)
    }

    /// Measures what the tester alone carries of at most `most` (see [`baseline::ceiling`]); none
    /// if there is no wire for the device's place. Its trials are none of the device, so they have
    /// no records; the outcome's `baseline` holds the result.
    pub(crate) fn tester_alone(
        &mut self,
        most: Pps,
        duration: Duration,
    ) -> Result<Option<Baseline>, MeasureError> {
        baseline::ceiling(most, duration, &mut |rate, time| self.wire(rate, time))
    }

    /// A baseline that a result exceeds is measured again at the load of the result (see
    /// [`baseline::confirmed`]).
    pub(crate) fn confirmed(
        &mut self,
        baseline: Option<Baseline>,
        result: Option<f64>,
        duration: Duration,
    ) -> Result<Option<Baseline>, MeasureError> {
        let Some((baseline, result)) = baseline.zip(result) else { return Ok(baseline) };
        let wire = &mut |rate, time| self.wire(rate, time);
        baseline::confirmed(baseline, Pps(result), duration, wire).map(Some)
    }

    /// One trial with a wire in the device's place.
    pub(crate) fn wire(
        &mut self,
        rate: Pps,
        duration: Duration,
    ) -> Result<Option<Trial>, MeasureError> {
        let mut watch = Forward(self.observer);
        self.measurer.tester_alone(rate, duration, &mut watch)
    }
}

/// Purpose of a trial that is repeated because a stall may explain its loss.
pub(crate) const STALL_REPETITION: &str = "stall-repetition";

/// Number of such repetitions if a method has no key for it.
pub(crate) const STALL_REPEATS: u32 = 2;

/// Duration of a trial of the tester alone.
pub(crate) const TESTER_ALONE: Duration = Duration::from_millis(500);

/// Forwards progress from an observer; needed because an `&mut dyn Observer` is not an `&mut dyn
/// Watch`.
struct Forward<'a>(&'a mut dyn Observer);

impl Watch for Forward<'_> {
    fn at(&mut self, progress: TrialProgress) {
        self.0.at(progress);
    }
}
