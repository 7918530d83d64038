//! `occupancy`: what clients that do what people do take up in a device, and what it reports of
//! them.
//!
//! **Goals.** How many entries of each table a client takes when as many begin as end: sessions,
//! mappings, blocks of ports; how many reports the device makes (logs), in bytes a client and day;
//! whether frames are lost meanwhile. What a network plans its tables, its addresses and its
//! collectors by.
//!
//! **Non-goals.** The most clients that there could be, and speed: the load is what the clients
//! send.
//!
//! **How.** An empty device, one trial at the rate of frames that the clients make together.
//! Entries are counted by the device at its end; reports by the tester, in pieces of the trial, of
//! which those count that lie behind `settle` as a whole.

mod config;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::Outcome;
use measure::{Load, MeasureError, Measurer, Population, Pps, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "table entries and log messages caused by clients",
    subject: Subject::Frames,
    standards: &[],
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
        self.whole()
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let population = measurer.population().ok_or_else(|| {
            MeasureError::NothingToMeasure(
                "this method needs clients with applications, which this traffic has not; give it a `mix`, or \
                 choose another method"
                    .into(),
            )
        })?;
        let mut session = Session::new(measurer, observer);
        session.clear()?;
        let whole = self.whole();
        let load = Load::PerInterface(self.rate(population));
        session.trial(load, whole, Step::new(NAME, 1, whole, None))?;
        // The next method finds the device as it was.
        session.clear()?;
        Ok(self.outcome(session.records, population))
    }
}

impl Config {
    fn rate(&self, population: Population) -> Pps {
        Pps(population.frames_per_s * self.speed)
    }
}

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("clients", "clients"),
    known("entries", "entries"),
    known("entries_per_client", "entries"),
    known("lost_frames", "frames"),
    known("offered_rate", "pps"),
    known("report_bytes_per_client_day", "bytes"),
    known("report_bytes_per_s", "bytes"),
    known("reports_rate", "1/s"),
];
