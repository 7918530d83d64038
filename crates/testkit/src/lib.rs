//! Function laws, functions beside their oracles, fuzz targets: what tests of units share.
//!
//! For development only; nothing that ships depends on it.

pub mod device;

pub mod check;
pub mod golden;
pub mod laws;

pub mod logs;

pub mod layers;

pub mod frames;
pub mod mutate;
pub mod random;
pub mod walk;

pub mod digest;
pub mod readme;
pub mod tshark;

pub mod fuzz;
