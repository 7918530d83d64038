//! Measurement methods, a folder each; they see only [`measure::Measurer::measure`].
//!
//! Every folder holds `mod.rs` (goals, non-goals, the standard's clause, and the run), `config.rs`
//! (keys and defaults), `tests.rs` (the method on simulated devices) and a README. Adding a method
//! is one folder and one line in [`METHODS`].

mod baseline;
mod claims;
mod entry;
mod figures;
mod load;
mod method;
mod observer;
mod part;
mod reference;
mod registry;
mod search;
mod sessions;

pub mod burst;
pub mod capacity;
pub mod churn;
pub mod convergence;
pub mod denial_of_service;
pub mod failover;
pub mod forwarding_rate;
pub mod latency;
pub mod loss_curve;
pub mod occupancy;
pub mod path_failure;
pub mod rate_precision;
pub mod recovery;
pub mod reset;
pub mod session_capacity;
pub mod session_rate;
pub mod soak;
pub mod teardown_rate;
pub mod throughput;

pub mod simulated;

pub use entry::Entry;
pub use figures::KnownFigure;
pub use load::*;
pub use method::*;
pub use observer::*;
pub use registry::*;
