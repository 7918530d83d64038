//! `session-capacity`: how many sessions the device holds at once, all of them working.
//!
//! **Goals.** The connection tracking table capacity of RFC 9693 section 4.9, by doubling and then
//! by bisection, where a number of sessions passes if every one opened and those that are used
//! work; the memory that a session takes; and what a full device does: sessions more must fail, and
//! none of those that are open may be lost for them.
//!
//! **Non-goals.** The rate (`session-rate`). The RFC takes a table for full when the rate at which
//! sessions open falls; here it is full when a session fails, which a device that merely gets
//! slower does not show.
//!
//! **How.** Steps add to what is open, as long as nothing failed; after a failure the device is
//! cleared and filled anew. At the end it is filled to the capacity, all of that is proven, then
//! more is tried and all is proven again.

mod config;
mod filling;
mod full;
mod report;
mod search;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::Outcome;
use measure::{MeasureError, Measurer, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use filling::{Filling, Tried};
use full::Full;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::sessions::there;
use crate::{Entry, Method, Observer};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "concurrent sessions, memory of each, and behaviour of the full device",
    subject: Subject::Frames,
    standards: &[CAPACITY_CLAUSE, VALIDATION_CLAUSE],
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

    /// Twice the search time: filling and verifying the device again takes no longer than the
    /// search, and a step in progress at its end takes as long as all before.
    fn time_bound(&self) -> Duration {
        self.max_search_time.duration().saturating_mul(2)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let there = there(measurer)?;
        let mut session = Session::new(measurer, observer);
        session.clear()?;
        let mut filling = Filling::new(self, there);
        filling.run(&mut session)?;
        let full = match filling.search.lower() {
            Some(capacity) => Some(filling.fill(&mut session, capacity)?),
            None => None,
        };
        // The next method finds the device as it was.
        session.clear()?;
        let found = Found {
            lower: filling.search.lower(),
            upper: filling.search.upper(),
            steps: filling.steps,
            out_of_time: filling.out_of_time,
            full,
        };
        Ok(self.outcome(session.records, &found))
    }
}

/// Results of the search.
#[derive(Clone, Debug)]
struct Found {
    lower: Option<u64>,
    upper: Option<u64>,
    steps: Vec<Tried>,
    out_of_time: bool,
    full: Option<Full>,
}

const CAPACITY_CLAUSE: &str = "rfc9693.4.9";
const VALIDATION_CLAUSE: &str = "rfc9693.4.6";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("lost_when_exhausted", "sessions"),
    known("opened_when_exhausted", "sessions"),
    known("refused_when_exhausted", "sessions"),
    known("session_capacity", "sessions"),
    known("session_capacity_failed", "sessions"),
    known("session_filling_rate", "1/s"),
    known("session_memory", "bytes"),
    known("session_memory_resident", "bytes"),
    known("sessions_verified", "sessions"),
];
