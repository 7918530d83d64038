//! What every model of a function provides, and what models share.
//!
//! A model is what the bench knows of a function: the `function` and `traffic` sections of a
//! scenario, the frames that they mean ([`traffic::Workload`]), what must become of each frame
//! ([`check::Oracle`]), and what devices of another making are told ([`service`]). The function
//! itself knows nothing of it. Tests and fuzzers set it beside its oracle ([`pair`], [`fuzz`]).

pub mod unit;

pub mod erased;

pub mod section;

pub mod check;

pub mod service;

pub mod replay;

pub mod build;

pub mod floods;

pub mod slow;

pub mod headers;

pub mod lengths;

pub mod host;

pub mod neighbours;

pub mod test_packets;

pub mod device;
pub mod pair;
pub mod random;

pub mod fuzz;

pub use section::Section;
pub use unit::{ConfigOf, Configured, Model, PipelineOf, UpdateOf, WorkloadOf, load};
