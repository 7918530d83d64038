//! Measuring in words: loads, trials, statistics, validity and the record of a run.
//!
//! This crate knows no packets, no clock and no files. A method sees a device only through
//! [`Measurer::measure`]; whatever a device reports of a trial is in [`Trial`]; whatever is worth
//! keeping of a run is in [`record::RunRecord`].

mod path;
pub mod record;
mod sessions;
pub mod statistics;
mod trial;
pub mod validity;
mod words;

pub use ::units::*;
pub use path::*;
pub use sessions::*;
pub use trial::*;
pub use words::figure_words;
