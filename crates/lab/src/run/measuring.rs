//! One measurement: a method on a device that is set up, its trials kept while it runs.

use std::time::{Duration, Instant};

use measure::record::{
    Cell, Limit, LimitKind, LoadRecord, Measured, Outcome, TrialRecord, Validity,
};
use measure::{MeasureError, TrialProgress, Watch, validity};
use methods::{Method, Observer, Step};

use super::cache::Entry;
use super::observer::{Finished, Phase, RunObserver};
use super::partial::Partial;
use super::plan::Measurement;
use super::state::{Early, Run};
use crate::unit::OpenDevice;

impl Run<'_> {
    /// Makes one measurement and stores it.
    pub(super) fn measure_one(
        &mut self,
        one: &Measurement,
        device: &mut dyn OpenDevice,
        observer: &mut dyn RunObserver,
    ) -> Result<(), Early> {
        let method = self.slots[one.cell].benchmark.methods[one.method].method.as_ref();
        observer.phase(self.phase(one));
        let mut started = jiff::Timestamp::now().to_string();
        let begun = Instant::now();
        let partial = self.partial(one, method, &started);
        let (mut before, mut seconds_before) = (None, 0.0);
        if let Some(partial) = &partial {
            started = partial.started.clone();
            seconds_before = partial.found_seconds;
            before = Some(partial.finished());
            if partial.found > 0 {
                observer.note(&format!("{} finished trials are reused", partial.found));
            }
        }
        let mut keeping = Keeping { inner: observer, trials: Vec::new(), told: 0, partial };
        let mut finished = before.into_iter().flatten();
        let result = method.resume(&mut finished, device.measurer(), &mut keeping);
        let Keeping { trials, told, partial, .. } = keeping;
        let seconds = seconds_before + begun.elapsed().as_secs_f64();
        let key = self.slots[one.cell].questions.get(one.method).cloned().unwrap_or_default();
        let error = match result {
            Ok(outcome) => {
                let outcome = Outcome { started, seconds, key, ..outcome };
                self.finished(one, outcome, observer);
                partial.into_iter().for_each(Partial::remove);
                return Ok(());
            }
            Err(error) => error,
        };
        // Trials of earlier runs that lead nowhere must not do so for ever.
        let leads_nowhere = |partial: &Partial| {
            partial.found > 0 && trials.is_empty() && !matches!(error, MeasureError::Interrupted)
        };
        partial.into_iter().filter(leads_nowhere).for_each(Partial::remove);
        if !trials.is_empty() {
            let outcome = unfinished(method, &error, told, trials);
            self.push(one, Outcome { started, seconds, key, ..outcome });
        }
        Err(self.early(&error))
    }

    /// Adds a finished measurement to the record.
    fn finished(
        &mut self,
        one: &Measurement,
        mut outcome: Outcome,
        observer: &mut dyn RunObserver,
    ) {
        // A method cannot see the clock or the machine.
        outcome.add_limits(&validity::host_limits(&self.record.host));
        let crowding = crowding(&outcome.trials, &self.cell(one.cell).configuration["device"]);
        outcome.add_limits(crowding.as_slice());
        self.times.add(self.slots[one.cell].group, one.method, outcome.seconds);
        self.keep(one, &outcome, observer);
        let (done, measurements) =
            (self.record.plan.from_cache + self.made + 1, self.record.plan.measurements);
        let finished = Finished {
            cell: self.cell(one.cell),
            outcome: &outcome,
            repetition: one.repetition,
            done,
            measurements,
        };
        observer.measured(&finished);
        self.push(one, outcome);
    }

    /// Stores a valid measurement for later runs.
    fn keep(&mut self, one: &Measurement, outcome: &Outcome, observer: &mut dyn RunObserver) {
        let Some(key) = self.key(one).filter(|_| outcome.validity.valid) else { return };
        let cell = Cell { outcomes: Vec::new(), error: None, ..self.cell(one.cell).clone() };
        let Some(store) = &self.store else { return };
        let entry = Entry { run: store.run.clone(), cell, outcome: outcome.clone() };
        if let Err(error) = store.cache.keep(&key, &entry) {
            observer.note(&format!("this measurement cannot be stored for later runs: {error}"));
        }
    }

    fn push(&mut self, one: &Measurement, outcome: Outcome) {
        self.slots[one.cell].measured[one.method].push(Measured {
            index: one.repetition,
            position: one.position,
            from_cache: false,
            outcome,
        });
    }

    /// The file of finished trials, for a method that can resume.
    fn partial(&self, one: &Measurement, method: &dyn Method, now: &str) -> Option<Partial> {
        let store = self.store.as_ref().filter(|_| method.resumes())?;
        let key = self.key(one)?;
        let path = store.cache.partial(&key);
        if store.fresh {
            // One that cannot be removed is another's who writes it now, and is not to be had.
            let _ = std::fs::remove_file(&path);
        }
        Partial::open(&path, &key, now)
    }

    fn phase(&self, one: &Measurement) -> Phase<'static> {
        let method =
            |one: &Measurement| self.slots[one.cell].benchmark.methods[one.method].method.as_ref();
        let bound = |one: &Measurement| method(one).time_bound();
        let expected = |one: &Measurement| {
            let seconds = self.times.mean(self.slots[one.cell].group, one.method);
            let known = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            known.unwrap_or_else(|| bound(one))
        };
        let is_open = |other: &&Measurement| other.position != one.position;
        let after = || self.queue[self.made.min(self.queue.len())..].iter().filter(is_open);
        let sum = |of: &dyn Fn(&Measurement) -> Duration| {
            after().map(of).fold(Duration::ZERO, Duration::saturating_add)
        };
        Phase::Measuring {
            method: method(one).name(),
            repetition: one.repetition,
            repetitions: self.record.plan.repetitions,
            time_bound: bound(one),
            time_after: sum(&bound),
            expected: [expected(one), sum(&expected)],
        }
    }
}

/// A limit if workers share cores because of the configuration, so that no other program is to
/// blame. In a closed loop there is no tester, and its core serves a worker.
pub(super) fn crowding(trials: &[TrialRecord], device: &serde_json::Value) -> Option<Limit> {
    if trials.iter().all(|trial| trial.load == LoadRecord::ClosedLoop) {
        return None;
    }
    let workers = device["workers"].as_u64()?;
    let cores = device["worker-cores"].as_array()?.len() as u64;
    (workers > cores).then(|| Limit {
        kind: LimitKind::ForeignCpu,
        invalidates: false,
        what: format!("in an open loop {workers} workers share {cores} core(s)"),
        advice: "lower `core` in the function, or give as many `worker-cores` in `device`; the \
                 tester needs another core"
            .to_owned(),
    })
}

/// The outcome of a method that was stopped: its trials, as far as they are stored, without
/// figures.
fn unfinished(
    method: &dyn Method,
    error: &MeasureError,
    told: usize,
    trials: Vec<TrialRecord>,
) -> Outcome {
    let answer = format!("no result: {error} after {told} trials");
    let limit = Limit {
        kind: LimitKind::Search,
        invalidates: true,
        what: answer.clone(),
        advice: "run the scenario again to its end".to_owned(),
    };
    Outcome {
        method: method.name().to_owned(),
        configuration: method.configuration(),
        answer,
        trials,
        validity: Validity::from_limits(vec![limit]),
        ..Outcome::default()
    }
}

/// Collects the trials that are reported to an observer.
struct Keeping<'a> {
    inner: &'a mut dyn RunObserver,
    trials: Vec<TrialRecord>,
    told: usize,
    partial: Option<Partial>,
}

impl Watch for Keeping<'_> {
    fn at(&mut self, progress: TrialProgress) {
        self.inner.at(progress);
    }
}

impl Observer for Keeping<'_> {
    fn starting(&mut self, step: &Step) {
        self.inner.starting(step);
    }

    fn finished(&mut self, trial: &TrialRecord) {
        if self.partial.as_mut().is_some_and(|partial| !partial.keep(trial)) {
            self.inner.note("finished trials cannot be stored; an interruption would lose them");
            self.partial = None;
        }
        self.inner.finished(trial);
        self.told += 1;
        // What is written need not be held as well: a soak of days tells of thousands.
        if self.partial.is_none() || self.trials.len() < TRIALS_HELD {
            self.trials.push(trial.clone());
        }
    }
}

/// Largest number of trials that are held in memory if they are also written to a file.
const TRIALS_HELD: usize = 1000;
