//! What every model of a function provides, and what models share.
//!
//! A model is what the bench knows of a function: the `function` and `traffic` sections of a
//! scenario, the frames that they mean ([`traffic::Workload`]), what must become of each frame
//! ([`check::Oracle`]), and what devices of another making are told ([`service`]). The function
//! itself knows nothing of it. Tests set it beside its oracle ([`pair`]).

pub mod unit;

pub mod erased;

pub mod section;

pub mod check;

pub mod service;

pub mod build;

pub mod floods;

pub mod slow;

pub mod neighbours;

pub mod test_packets;

pub mod device;

pub mod pair;

pub mod random;

pub use section::Section;
pub use unit::{ConfigOf, Configured, Model, PipelineOf, UpdateOf, load};
