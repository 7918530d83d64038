//! This program on this machine, as a record has them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::run::{Host, Naming};
use machine::clock::Clock;
use measure::record::Tool;

/// The facts of this program and machine that a run records.
pub fn host(stop: Arc<AtomicBool>) -> Host {
    let clock = Clock::calibrate(Duration::from_millis(100));
    Host { tool: tool(), clock, stop, naming: Naming::default() }
}

pub fn tool() -> Tool {
    Tool {
        name: "plumbline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("PLUMBLINE_COMMIT").to_owned(),
    }
}
