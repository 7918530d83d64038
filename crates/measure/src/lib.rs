//! Measuring in words: loads, trials, statistics, validity and the record of a run.
//!
//! This crate knows no packets, no clock and no files. A method sees a device only through
//! [`Measurer::measure`]; whatever a device reports of a trial is in [`Trial`]; whatever is worth
//! keeping of a run is in [`record::RunRecord`]. A control plane of routes forwards nothing and is
//! measured by [`Routing`].

mod measurer;
mod path;
pub mod record;
mod routing;
mod sessions;
pub mod statistics;
mod trial;
pub mod validity;
mod watch;
mod words;

pub use ::units::*;
pub use measurer::*;
pub use path::*;
pub use routing::*;
pub use sessions::*;
pub use trial::*;
pub use watch::*;
pub use words::{figure_words, value_words};
