//! The network functions, a folder each.
//!
//! A folder holds everything of its function: configuration, pipeline, control, workload and the
//! oracle that says what each frame must become. Functions know the engine and the vocabulary, never
//! a port, a device or each other; what several need stands in [`stages`].

pub mod check;
pub mod unit;

pub mod mobile_gateway;

pub mod stages;

pub use unit::{Invalid, NetworkFunction, SetupError, Shard};
