//! `churn`: what a device forwards while it changes, and what each change costs.
//!
//! **Goals.** The throughput as a function of the update rate (a search at each of `update-rates`);
//! at each throughput how soon changes are acknowledged and seen, how long the device is silent
//! around one, how many frames come late, and how many changes it manages. And the *effective
//! blocked time* of CSIT's RECONF tests: at a load that passes without changes, the frames that
//! changes cost, over the rate at which they were offered. Kin to the coupling of control and data
//! path that OPNFV VSPERF specified (`LTD.CPDPCouplingFlowAddition`).
//!
//! **Non-goals.** Which kinds of changes there are and in which proportions: the configuration of
//! the function says so, and the update rate scales all of them alike. Growth: as much is removed
//! as is added. Convergence after a failure.
//!
//! **How.** A short probe at the highest update rate shows whether anything changes at all. Then
//! for each rate, rising from 0, a search as `throughput` does it; the times of changes are those
//! of the trial that confirmed it. Last, `held-load` of the throughput without changes is held for
//! `hold-duration` at each rate, 0 included: what is lost without changes is told and not taken
//! off.

mod config;
mod figures;
mod row;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, ClaimLevel, Outcome, Validity};
use measure::{Conditions, Load, MeasureError, Measurer, Pps, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer, Step};
use row::Row;

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "throughput while users and routes change, and the cost of each change",
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
        PROBE_MAX.saturating_add(self.left(self.rates().len(), self.rates().len()).1)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let rows = session.restoring(|session| {
            self.probe(session)?;
            let mut rows = self.search(session)?;
            self.hold(session, &mut rows)?;
            Ok(rows)
        })?;
        let validity = Validity::from_limits(figures::limits(&rows));
        Ok(Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: figures::answer(self, &rows),
            aggregation: "loads and rates per port and direction that sends; updates of all kinds \
                          together; loss over all directions together"
                .into(),
            figures: figures::figures(&rows),
            series: vec![figures::surface(&rows), figures::losses(&rows)],
            baseline: rows.first().and_then(|row| row.baseline),
            validity,
            claims: vec![Claim {
                clause: "rfc2544.26.1".into(),
                level: ClaimLevel::None,
                reason: "RFC 2544 knows no device that changes while it is measured".into(),
            }],
            trials: session.records,
            ..Outcome::default()
        })
    }
}

impl Config {
    /// Checks that the device changes at the highest update rate.
    fn probe(&self, session: &mut Session<'_>) -> Result<(), MeasureError> {
        let highest = self.rates().last().copied().unwrap_or(0.0);
        set(session, highest)?;
        // Ten changes are expected, so that none is no chance.
        let seconds = (10.0 / highest.max(1e-9)).clamp(PROBE_MIN.as_secs_f64(), 1e9);
        let duration = Duration::from_secs_f64(seconds).min(PROBE_MAX);
        let (trials, time) = self.left(self.rates().len(), self.rates().len());
        let step = Step::new("probe", trials + 1, duration.saturating_add(time), None);
        let trial = session.trial(Load::PerInterface(self.throughput.min_rate), duration, step)?;
        if trial.events.iter().all(|kind| kind.requested == 0) {
            return Err(MeasureError::NothingToMeasure(format!(
                "nothing changed in {} at {highest} updates per second: give the function's kinds \
                 of change a rate (a mobile gateway's are `handover`, `fluct-user` and \
                 `fluct-server`), whose proportions then hold, or leave `churn` out",
                measure::Seconds::from(duration)
            )));
        }
        Ok(())
    }

    /// Searches the throughput at each update rate; only at rate 0 if no load passes there.
    fn search(&self, session: &mut Session<'_>) -> Result<Vec<Row>, MeasureError> {
        let rates = self.rates();
        let mut rows: Vec<Row> = Vec::new();
        for (done, rate) in rates.iter().copied().enumerate() {
            set(session, rate)?;
            let first = session.records.len();
            let left = self.left(rates.len() - done - 1, rates.len());
            let outcome = session.part(&self.throughput, left)?;
            rows.push(Row::searched(rate, outcome, &session.records[first..]));
            if rows[0].throughput_pps.is_none() {
                break;
            }
        }
        Ok(rows)
    }

    /// Measures the loss of a held load at each update rate.
    fn hold(&self, session: &mut Session<'_>, rows: &mut [Row]) -> Result<(), MeasureError> {
        let Some(unchanged) = rows.first().and_then(|row| row.throughput_pps) else {
            return Ok(());
        };
        let load = Load::PerInterface(Pps(unchanged * self.held_load.0));
        let count = rows.len();
        for (done, row) in rows.iter_mut().enumerate() {
            set(session, row.rate)?;
            let (trials, time) = self.left(0, count - done);
            let step = Step::new("hold", trials, time, None);
            session.trial(load, self.hold_duration.duration(), step)?;
            session.records.last().into_iter().for_each(|record| row.hold(record));
        }
        Ok(())
    }

    /// Number and duration of the trials of the remaining searches and holds. A search counts as
    /// one trial, because it reports its own.
    fn left(&self, searches: usize, holds: usize) -> (usize, Duration) {
        let search = self.throughput.time_bound().saturating_mul(searches as u32);
        let hold = self.hold_duration.duration().saturating_mul(holds as u32);
        (searches + holds, search.saturating_add(hold))
    }
}

fn set(session: &mut Session<'_>, updates_per_s: f64) -> Result<(), MeasureError> {
    let conditions = Conditions { updates_per_s: Some(updates_per_s), ..Conditions::default() };
    session.conditions(&conditions, "a device and traffic that change at a given rate")
}

const PROBE_MIN: Duration = Duration::from_millis(200);
const PROBE_MAX: Duration = Duration::from_secs(10);

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("accepted_p50", "ns"),
    known("accepted_p99", "ns"),
    known("achieved_updates", "1/s"),
    known("blackout_max", "ns"),
    known("blackout_p50", "ns"),
    known("blackout_p99", "ns"),
    known("blocked_time", "ns"),
    known("blocked_time_per_update", "ns"),
    known("late_frames", "frames"),
    known("refused_updates", "updates"),
    known("throughput", "pps"),
    known("throughput_changed", "pps"),
    known("throughput_kept_percent", "percent"),
    known("throughput_unchanged", "pps"),
    known("updates", "1/s"),
    known("visible_p50", "ns"),
    known("visible_p99", "ns"),
];
