//! What the lab knows of a network function: how to describe, configure, open and measure it.
//!
//! A function's folder knows packets and tables; a method knows loads and trials. These traits are
//! the seam: object-safe, so that the registry is a plain list and the lab names no function. The
//! order of calls is fixed: `configure` validates a cell of the scenario without allocating state,
//! `open` sets the device up, then `check` compares it with its oracle, then it may be measured.
//! A unit deliberately knows no file, no sweep and no terminal: the lab adds the file and the line
//! to a [`ConfigError`], and expands lists before a unit sees them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use machine::clock::Clock;
use measure::record::{Check, Unavailable};
use measure::{MeasureError, Measurer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::scenario::DeviceChoice;

/// A network function, as the registry lists it.
pub trait FunctionUnit: Sync {
    /// The name in a scenario's `function.name`, kebab-case.
    fn name(&self) -> &'static str;

    /// Other names under which files know the function (`mgw` is TIPSY's for `mobile-gateway`).
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Keys of the `function` section that a file means by one of the other names where it does not
    /// state them.
    fn meant_by(&self, _alias: &str) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// One line for `plumbline list`.
    fn summary(&self) -> &'static str;

    /// JSON Schema of the keys beside `name` in the scenario's `function` section. A key is swept
    /// when the file gives a list and this schema does not allow an array there.
    fn config_schema(&self) -> schemars::Schema;

    /// JSON Schema of the scenario's `traffic` section; the same rule for lists.
    fn traffic_schema(&self) -> schemars::Schema;

    /// Parses and validates both sections of one cell (objects, no swept list left, `name` taken
    /// out) and fills in the defaults. [`parse_section`] does the parsing.
    ///
    /// # Errors
    /// The first key that cannot be used, with the remedy.
    fn configure(
        &self,
        function: Value,
        traffic: Value,
    ) -> Result<Box<dyn Configured>, ConfigError>;
}

/// A function and its workload, validated, not yet holding any state.
pub trait Configured: Send {
    /// `{"function": {…}, "traffic": {…}}` with every default filled in: the record holds it.
    fn effective(&self) -> Value;

    /// The seed from which every frame follows.
    fn seed(&self) -> u64;

    /// Hands the first `count` frames of the workload to `each`, in order of time; stops at the
    /// first error of `each`.
    ///
    /// # Errors
    /// What `each` returned, or that the workload could not be set up.
    fn trace(
        &self,
        count: u64,
        each: &mut dyn FnMut(TraceFrame<'_>) -> io::Result<()>,
    ) -> Result<(), TraceError>;

    /// What keeps a device from doing this function with its keys, found without setting it up.
    ///
    /// # Errors
    /// When nothing sensible is left, or a key of the device cannot be used.
    fn suits(&self, _device: &DeviceChoice) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Sets the device up: its state, its workers, its ports.
    ///
    /// # Errors
    /// When the device cannot run here, or memory, threads or cores are not to be had.
    fn open(
        &self,
        device: &DeviceChoice,
        host: &OpenOptions,
    ) -> Result<Box<dyn OpenDevice>, OpenError>;
}

/// A device that is set up and can be checked and measured.
pub trait OpenDevice {
    /// What setting it up cost and what it holds.
    fn facts(&mut self) -> DeviceFacts;

    /// Compares a sample that covers every verdict with the oracle.
    ///
    /// # Errors
    /// When the comparison could not be carried out; a mismatch is a result, not an error.
    fn check(&mut self) -> Result<Check, MeasureError>;

    /// The device as a method sees it.
    fn measurer(&mut self) -> &mut dyn Measurer;
}

/// What the host gives to a device.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The core for the tester's thread; none where the machine has no second core.
    pub tester_core: Option<usize>,
    /// A core for each worker, at least one.
    pub worker_cores: Vec<usize>,
    /// The calibrated time-stamp clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop; a running trial then ends with
    /// [`MeasureError::Interrupted`].
    pub stop: Arc<AtomicBool>,
}

/// What setting a device up cost and what it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    /// Time from `open` to the device being ready, in seconds.
    pub setup_seconds: f64,
    /// What it is; none where it is part of this program.
    pub version: Option<String>,
    /// Memory of the function's state on all workers, in bytes, where the device tells.
    pub state_bytes: Option<u64>,
    /// The same for each user or session, where the function has such.
    pub state_bytes_per_user: Option<f64>,
    /// Memory of the process that is the device, in bytes.
    pub resident_bytes: Option<u64>,
    /// What else is worth recording, in the order to show it: `workers`, `huge-pages` …
    pub details: Vec<(String, Value)>,
}

/// One frame of a workload.
#[derive(Clone, Copy, Debug)]
pub struct TraceFrame<'a> {
    /// When it is sent, in nanoseconds since the first frame.
    pub time_ns: u64,
    /// The port it enters by: `uplink`, `downlink` …
    pub port: &'a str,
    /// The frame without its check sequence.
    pub bytes: &'a [u8],
}

/// A key of a section that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct ConfigError {
    /// Which key, from the scenario's root: `function.rate-limit`.
    pub path: String,
    /// What is wrong, without a full stop: `must be at least 1, not 0`.
    pub what: String,
    /// What to do, an imperative sentence without a full stop; may be empty.
    pub remedy: String,
}

/// A device that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state does not fit.
    #[error("the state does not fit into memory{}: {source}", needed(*.needed_bytes))]
    Memory {
        /// How much was asked for; 0 where that is not known.
        needed_bytes: u64,
        /// What the kernel said.
        source: io::Error,
    },
    /// The device cannot run on this machine.
    #[error("{0}")]
    Unavailable(Unavailable),
    /// Anything else of the machine, said in a sentence.
    #[error("{0}")]
    Host(String),
}

/// A trace that could not be written to its end.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The receiver of the frames failed.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// The workload could not be set up.
    #[error("the workload cannot be set up: {0}")]
    Workload(String),
}

fn needed(bytes: u64) -> String {
    if bytes == 0 {
        String::new()
    } else {
        format!(" ({} MiB are needed)", bytes.div_ceil(1 << 20))
    }
}

/// Reads a section into its type; `section` (`function`, `traffic`) opens the path of an error.
///
/// # Errors
/// The first key serde refuses, by its path.
pub fn parse_section<T: DeserializeOwned>(section: &str, value: Value) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => section.to_owned(),
            inner => format!("{section}.{inner}"),
        };
        ConfigError { path, what: error.inner().to_string(), remedy: String::new() }
    })
}

impl ConfigError {
    /// An error of `key` in `section`.
    pub fn new(
        section: &str,
        key: &str,
        what: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> ConfigError {
        ConfigError {
            path: format!("{section}.{key}"),
            what: what.to_string(),
            remedy: remedy.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Section {
        #[serde(rename = "rate-limit")]
        _rate_limit: u32,
    }

    #[test]
    fn an_error_names_the_path_from_the_root() {
        let error = parse_section::<Section>("function", serde_json::json!({"rate-limit": "no"}))
            .expect_err("a string is no number");
        assert_eq!(error.path, "function.rate-limit");
        assert!(error.what.contains("expected u32"), "{}", error.what);
    }

    #[test]
    fn an_error_of_the_section_itself_names_the_section() {
        let error = parse_section::<Section>("function", serde_json::json!({}))
            .expect_err("a key is missing");
        assert_eq!(error.path, "function");
    }
}
