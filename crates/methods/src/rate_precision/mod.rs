//! `rate-precision`: how exactly each subscriber's policer keeps its configured rate.
//!
//! **Goals.** For every counted subscriber and class: what passes of an overload against what is
//! configured, and whether traffic below the rate passes whole. The idea is that of the policing
//! step in the service configuration test of ITU-T Y.1564 section 8.1.2: offer more than the
//! committed rate, and see that the committed rate passes, no less and no more.
//!
//! **Non-goals.** Rates in steps, excess rates and colours, delay and availability of Y.1564; which
//! frame was dropped; how a policer behaves within milliseconds (its burst is taken from the
//! configuration, not measured).
//!
//! **How.** A short trial at a low load shows what share of it each subscriber gets (see `probe`);
//! from this follows the load at which every one is offered `overload` times its rate. Then, after
//! a warm-up, `repetitions` trials at that load and one in which each is offered `underload` times
//! its rate. In front of each a *refill*: a trial at a hundredth of the load, just long enough for
//! an empty bucket to fill up, so that every measured trial starts with full buckets.
//!
//! A measured trial during which a thread of the tester or the device had no core for more than the
//! tolerance is made again, refill and all, twice at most, and kept as `disturbed`; if that does
//! not help the result is not valid.
//!
//! **The error** of a policer is `passed / (configured * seconds + burst) - 1` over all repetitions
//! together, in bytes as the policer counts them. The burst is in it because a full bucket
//! (RFC 2697) is passed at once, beside the rate; where a device starts a trial with empty buckets
//! all the same, the errors are lower by the burst's share, which is a figure of its own.
//!
//! **The error of the error.** Bytes pass as whole frames: at the end of a trial a policer may be
//! ahead or behind by one. With frames of *l* bytes an error is known to `l * trials /
//! (configured * seconds + burst)`. Example: 10 kB/s for 10 s and a burst of 2 kB are 102 kB; a
//! frame of 64 bytes is 0.06 % of it, one of 1518 bytes is 1.5 %, too much for a tolerance of 1 %.
//! *l* is the mean length on the wire, which is more than what a policer counts.

mod config;
mod figures;
mod measured;
mod phases;
mod probe;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{LimitKind, Outcome, TrialRecord, Validity};
use measure::{Conditions, MeasureError, Measurer, Subject, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::claims::claim;
use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer};
use measured::Measured;
use phases::Phase;
use table::Table;

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "rate passed by each subscriber's policer, against its configured rate",
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
        probe::PROBING_MAX.saturating_add(phases::time_bound(self))
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let conditions =
            Conditions { subscribers_counted: self.subscribers, ..Conditions::default() };
        session.conditions(&conditions, "bytes counted by subscriber")?;
        let measured = session.restoring(|session| Measured::make(self, session))?;
        Ok(measured.outcome(self, session.records))
    }
}

impl Measured {
    fn make(config: &Config, session: &mut Session<'_>) -> Result<Self, MeasureError> {
        let (load, probed) = probe::load(config, session)?;
        let mut measured = Self {
            load,
            repetitions: Vec::new(),
            overloaded: Table::default(),
            underloaded: None,
            frame_bytes: 0.0,
            disturbed: false,
        };
        phases::carry_out(config, load, &probed, session, |phase, trial, is_disturbed| {
            match phase {
                Phase::WarmUp => {}
                Phase::Overload => measured.overloaded(trial),
                Phase::Underload => measured.underloaded.get_or_insert_default().add(trial),
            }
            measured.disturbed |= is_disturbed;
        })?;
        Ok(measured)
    }

    fn outcome(self, config: &Config, trials: Vec<TrialRecord>) -> Outcome {
        let measured: Vec<&TrialRecord> =
            trials.iter().filter(|trial| Phase::counts(&trial.purpose)).collect();
        let mut limits = validity::summarise(&measured);
        for limit in limits.iter_mut().filter(|limit| limit.kind == LimitKind::Tester) {
            // Each policer is judged by what it was offered, not by what was to be offered.
            limit.invalidates = false;
        }
        limits.extend(figures::limits(config, &self));
        let validity = Validity::from_limits(limits);
        let deviations = [
            "of the procedure only policing and conforming traffic, not the steps of the rate, \
             delay and availability"
                .to_owned(),
            format!("each subscriber in place of a service, at {} times its rate", config.overload),
        ];
        Outcome {
            method: NAME.into(),
            configuration: config.configuration(),
            answer: figures::answer(config, &self),
            aggregation: "bytes as the policer counts them, all repetitions together; the load \
                          per port and direction that sends"
                .into(),
            figures: figures::figures(config, &self),
            series: vec![self.overloaded.series(config.overload)],
            claims: vec![claim(Y1564, validity.valid, &deviations)],
            validity,
            trials,
            ..Outcome::default()
        }
    }
}

const Y1564: &str = "y1564.8.1.2";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("burst_share_percent", "percent"),
    known("conforming_dropped_percent", "percent"),
    known("conforming_dropped_policers", "policers"),
    known("error_median_percent", "percent"),
    known("error_worst_percent", "percent"),
    known("load", "pps"),
    known("policers", "policers"),
    known("uncertainty_percent", "percent"),
    known("within_tolerance_percent", "percent"),
];
