//! Runs a scenario: device, workload, method; the host; the checks.
//!
//! The only bridge between what knows packets (functions, devices) and what knows measuring
//! (methods, records). It prints nothing and never exits: a front end shows what it reports.

pub mod alive;
pub mod doctor;
mod embedded;
#[cfg(test)]
mod fake;
pub mod folder;
pub mod host;
pub mod live;
mod reflector;
pub mod registry;
mod remote;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod starter;
pub mod unit;
