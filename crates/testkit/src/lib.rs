//! Function laws, golden cases, fuzz targets: what tests of units share.
//!
//! For development only; nothing that ships depends on it.

pub use model_kit::{device, pair, random};

pub mod golden;
pub mod laws;

pub mod layers;

pub mod frames;
pub mod mutate;
pub mod walk;

pub mod digest;
pub mod readme;
pub mod tshark;

pub mod fuzz;
