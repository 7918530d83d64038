//! Measuring in words: loads, trials, statistics, validity and the record of a run.
//!
//! This crate knows no packets, no clock and no files. A method sees a device only through
//! [`Measurer::measure`]; whatever a device reports of a trial is in [`Trial`].

mod trial;
mod units;

pub use trial::*;
pub use units::*;
