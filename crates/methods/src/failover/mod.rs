//! `failover`: which sessions outlive the device that carried them, and how long nothing passes.
//!
//! **Goals.** The sessions are opened on the active device and acknowledged by its standby. The
//! active one ends as by a crash while more are opened, and the standby takes its place. Then every
//! session is used both ways: one is kept if its packets are translated as before, another
//! translation is a loss. How many of those that were acknowledged are lost (none may be), how many
//! of those that were under way, and how long no frame came.
//!
//! **Non-goals.** Who decides that the active one has ended, and how the network learns of it: here
//! the standby gets its frames at once. The cost of having a standby (`capacity` with and without).
//!
//! **How.** The sessions that are opened meanwhile have numbers of their own. What of them had no
//! answer before is no loss of the standby's; what had one and is gone afterwards is, and can be no
//! more than what the standby had not acknowledged at that moment.

mod config;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Limit, LimitKind, Outcome};
use measure::{
    Conditions, MeasureError, Measurer, SessionAction, SessionLoad, SessionsThere, Subject,
    Takeover,
};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::sessions::{sessions_words, there};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "sessions that survive when a standby takes over, and duration of the outage",
    subject: Subject::Frames,
    standards: &[CLAUSE],
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
        // Opening and using all takes as long as the device needs; a million are opened in a second
        // or two.
        let each = self.around().saturating_add(self.patience.duration());
        each.saturating_add(self.wait.duration() * 4).saturating_mul(self.repetitions)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let there = there(measurer)?;
        let mut session = Session::new(measurer, observer);
        let asked =
            Conditions { fail_over_after: Some(self.before.duration()), ..Conditions::default() };
        // First of all: a device without a standby is not to be filled in vain.
        session.restoring(|session| session.conditions(&asked, "a standby that takes over"))?;
        let counts = self.counts(there)?;
        let mut takeovers = Vec::new();
        for repetition in 0..self.repetitions {
            let left = (self.repetitions - repetition) as usize;
            takeovers.push(self.repetition(&mut session, (counts, &asked), left)?);
        }
        // The next method finds the device as it was.
        session.clear()?;
        Ok(self.outcome(session.records, counts.0, &takeovers))
    }
}

/// Results of one take-over.
#[derive(Clone, Debug, PartialEq)]
struct Taken {
    /// Number of sessions that were open before.
    opened: u64,
    /// Whether the standby had acknowledged all of them.
    is_acknowledged: bool,
    /// Number of these sessions that do not work as before.
    lost: u64,
    /// Number of lost sessions that work with another translation.
    moved: u64,
    /// Number of sessions that were opened around the fail-over and got no answer.
    unanswered: u64,
    /// Number of sessions that were opened around it, were answered, and do not work as before.
    fresh_lost: u64,
    /// The take-over itself; none if it did not happen.
    takeover: Option<Takeover>,
}

impl Config {
    /// Numbers of sessions to open before and around the fail-over.
    fn counts(&self, there: SessionsThere) -> Result<(u64, u64), MeasureError> {
        let more = self.more();
        match there.most.checked_sub(more).filter(|rest| *rest > 0) {
            Some(rest) => Ok((self.sessions.min(rest), more)),
            None => Err(MeasureError::NothingToMeasure(format!(
                "{} are opened while the standby takes over, and the traffic has {}; lower rate, before or after, \
                 or let it have more",
                sessions_words(more),
                there.most
            ))),
        }
    }

    fn repetition(
        &self,
        session: &mut Session<'_>,
        ((count, more), asked): ((u64, u64), &Conditions),
        left: usize,
    ) -> Result<Taken, MeasureError> {
        let wait = self.wait.duration();
        let step = |purpose: &'static str, trials: usize| {
            Step::new(purpose, trials + 4 * (left - 1), self.time_bound(), None)
        };
        session.clear()?;
        let opening = SessionLoad::all(SessionAction::Open, count);
        let (_, opened) = session.sessions(opening, wait, step("opening", 4))?;
        if opened.succeeded == 0 {
            let none =
                format!("none of {} opened; run the functional check", sessions_words(count));
            return Err(MeasureError::NothingToMeasure(none));
        }
        let is_acknowledged = session.measurer.synchronise(self.patience.duration())?;
        let around = SessionLoad {
            first: count,
            count: more,
            rate: Some(self.rate),
            action: SessionAction::Open,
        };
        let (trial, fresh) = session.restoring(|session| {
            session.conditions(asked, "a standby that takes over")?;
            session.sessions(around, wait, step(NAME, 3))
        })?;
        let keep =
            |first, count| SessionLoad { first, ..SessionLoad::all(SessionAction::Keep, count) };
        let (_, kept) = session.sessions(keep(0, count), wait, step(KEPT, 2))?;
        let (_, fresh_kept) = session.sessions(keep(count, more), wait, step(KEPT, 1))?;
        let unheard = trial.takeover.as_ref().map_or(0, |takeover| takeover.unacknowledged);
        if let Some(record) = session.records.last_mut().filter(|_| fresh_kept.wrong <= unheard) {
            record.limits.iter_mut().for_each(expect_of_others);
        }
        let unanswered = more - fresh.succeeded.min(more);
        let missing = |kept: &measure::SessionCounts| kept.asked - kept.succeeded.min(kept.asked);
        let unopened = count - opened.succeeded.min(count);
        Ok(Taken {
            opened: opened.succeeded,
            is_acknowledged,
            lost: missing(&kept).saturating_sub(unopened),
            moved: kept.wrong,
            unanswered,
            fresh_lost: missing(&fresh_kept).saturating_sub(unanswered),
            takeover: trial.takeover,
        })
    }
}

/// Explains frames of sessions that the standby did not know: they reach the session that has their
/// outside port now, which is not a defect of the standby.
fn expect_of_others(limit: &mut Limit) {
    if limit.kind == LimitKind::Forwarding && limit.invalidates {
        limit.invalidates = false;
        limit.advice = "the standby had not been told of these sessions, and their outside ports are others' now; \
                        they count as lost among the fresh ones"
            .into();
    }
}

/// Purpose of a trial that uses every session.
const KEPT: &str = "validation";
const CLAUSE: &str = "rfc9693.4.6";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("failover_time", "ns"),
    known("failover_until_ready", "ns"),
    known("sessions_fresh_lost", "sessions"),
    known("sessions_kept", "sessions"),
    known("sessions_lost", "sessions"),
    known("sessions_moved", "sessions"),
    known("sessions_opened", "sessions"),
    known("sessions_unacknowledged", "sessions"),
    known("sessions_unanswered", "sessions"),
];
