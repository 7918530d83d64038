//! What a method needs beside trials of its own: another method as a part of it, and conditions.

use std::time::Duration;

use measure::record::{Outcome, TrialRecord};
use measure::{
    Conditions, Load, MeasureError, Measurer, Population, Pps, SessionsThere, Trial, TrialProgress,
    Watch,
};

use crate::method::Session;
use crate::{Method, Observer, Step};

impl Session<'_> {
    /// Runs another method as a part of this one: its trials are reported and recorded as trials of
    /// this method, and its outcome contains none. The conditions of this method apply, too, in
    /// addition to those that the part sets. `after` is the number of trials that follow, and their
    /// duration.
    pub(crate) fn part(
        &mut self,
        method: &dyn Method,
        after: (usize, Duration),
    ) -> Result<Outcome, MeasureError> {
        let mut part = Part { observer: self.observer, first: self.next, after };
        let mut holding = Holding { measurer: self.measurer, held: self.held };
        let mut outcome = method.run(&mut holding, &mut part)?;
        for mut record in std::mem::take(&mut outcome.trials) {
            record.index = self.next;
            self.next += 1;
            self.records.push(record);
        }
        Ok(outcome)
    }

    /// Sets conditions. If the device refuses them, there is nothing to measure; `needed` names the
    /// missing feature.
    pub(crate) fn conditions(
        &mut self,
        conditions: &Conditions,
        needed: &str,
    ) -> Result<(), MeasureError> {
        self.measurer.set_conditions(conditions).map_err(|error| match error {
            MeasureError::Unsupported(why) => MeasureError::NothingToMeasure(format!(
                "this method needs {needed}, which this device does not support ({why}); choose \
                 another method or device"
            )),
            other => other,
        })?;
        self.held = *conditions;
        Ok(())
    }

    /// Runs `work` and restores the conditions afterwards, also after an error, so that the next
    /// method starts from the device's own.
    pub(crate) fn restoring<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, MeasureError>,
    ) -> Result<T, MeasureError> {
        let done = work(self);
        let restored = self.measurer.set_conditions(&Conditions::default());
        self.held = Conditions::default();
        let done = done?;
        restored?;
        Ok(done)
    }
}

/// A device under the conditions of the whole method, to which a part adds its own.
struct Holding<'a> {
    measurer: &'a mut dyn Measurer,
    held: Conditions,
}

impl Measurer for Holding<'_> {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        self.measurer.measure(load, duration, watch)
    }

    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        let (own, held) = (conditions, self.held);
        self.measurer.set_conditions(&Conditions {
            updates_per_s: own.updates_per_s.or(held.updates_per_s),
            subscribers_counted: own.subscribers_counted.max(held.subscribers_counted),
            restart_after: own.restart_after.or(held.restart_after),
            fail_over_after: own.fail_over_after.or(held.fail_over_after),
            path_failing: own.path_failing.or(held.path_failing),
            floods: [own.floods[0].or(held.floods[0]), own.floods[1].or(held.floods[1])],
            cold_frames: own.cold_frames || held.cold_frames,
        })
    }

    fn has_cold_frames(&self) -> bool {
        self.measurer.has_cold_frames()
    }

    fn floods(&self) -> Vec<&'static str> {
        self.measurer.floods()
    }

    fn sessions(&self) -> Option<SessionsThere> {
        self.measurer.sessions()
    }

    fn captured_rate(&self) -> Option<measure::Pps> {
        self.measurer.captured_rate()
    }

    fn synchronise(&mut self, patience: Duration) -> Result<bool, MeasureError> {
        self.measurer.synchronise(patience)
    }

    fn population(&self) -> Option<Population> {
        self.measurer.population()
    }

    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        self.measurer.clear_sessions()
    }

    fn tester_alone(
        &mut self,
        rate: Pps,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Option<Trial>, MeasureError> {
        self.measurer.tester_alone(rate, duration, watch)
    }
}

/// Forwards the progress of a part as trials of the whole method.
struct Part<'a> {
    observer: &'a mut dyn Observer,
    first: usize,
    after: (usize, Duration),
}

impl Watch for Part<'_> {
    fn at(&mut self, progress: TrialProgress) {
        self.observer.at(progress);
    }
}

impl Observer for Part<'_> {
    fn starting(&mut self, step: &Step) {
        self.observer.starting(&Step {
            index: self.first + step.index,
            trials_expected: step.trials_expected + self.after.0,
            time_expected: step.time_expected.saturating_add(self.after.1),
            ..step.clone()
        });
    }

    fn finished(&mut self, trial: &TrialRecord) {
        self.observer.finished(&TrialRecord { index: self.first + trial.index, ..trial.clone() });
    }
}
