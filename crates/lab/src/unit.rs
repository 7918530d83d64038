//! What the lab knows of a network function: how to describe, configure, open and measure it.
//!
//! A function's folder knows packets and tables; a method knows loads and trials. These traits are
//! the seam: object-safe, so that the registry is a plain list and the lab names no function. The
//! order of calls is fixed: `read` validates a cell of the scenario without allocating state,
//! `open` sets the device up, then `check` compares it with its oracle, then it may be measured.
//! A unit deliberately knows no file, no sweep and no terminal: the lab adds the file and the line
//! to an error, and expands lists before a unit sees them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use function_kit::Invalid;
use machine::clock::Clock;
use measure::record::{Check, Unavailable};
use measure::{MeasureError, Measurer, Subject};
use model_kit::erased::Frame;
pub use model_kit::erased::{Configured, Kind, Listed, Sections};
use serde_json::{Map, Value};
use traffic::Stamp;

use crate::scenario::DeviceChoice;

/// What can be measured, as an entry of the registry: a network function, or a control plane.
pub trait FunctionUnit: Listed {
    /// Returns what methods measure of it.
    fn subject(&self) -> Subject;

    /// Reads and checks both sections, without swept lists and without `name`; all defaults are
    /// filled in.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn read(
        &self,
        section: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Sections>, Invalid>;

    /// Checks that a device supports what the sections ask for.
    ///
    /// # Errors
    /// When it does not, or one of the device's own keys is invalid.
    fn suits(&self, sections: &dyn Sections, device: &DeviceChoice) -> Result<(), Invalid>;

    /// Sets a device up for what this entry has configured: its state, its workers, its ports.
    ///
    /// # Errors
    /// When the device cannot run here, or memory, threads or cores are missing.
    fn open(
        &self,
        sections: &dyn Sections,
        device: &DeviceChoice,
        host: &OpenOptions,
    ) -> Result<Box<dyn OpenDevice>, OpenError>;
}

/// Passes the first `count` frames of a workload to `each`, in order of time: directions alternate,
/// and each sends a frame every microsecond. Stops at the first error of `each`.
///
/// # Errors
/// The error of `each`.
pub fn trace(
    configured: &dyn Configured,
    count: u64,
    each: &mut dyn FnMut(TraceFrame<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let (source, ports) = (configured.frames(Clock::with_rate(1e9)), configured.ports());
    let directions = source.directions();
    let mut buffer = Vec::new();
    for index in 0..count {
        let direction = (index % directions.len() as u64) as usize;
        let number = index / directions.len() as u64;
        let time_ns = number * TRACE_INTERVAL_NS + direction as u64;
        let frame = Frame { direction, number };
        buffer.clear();
        buffer.resize(source.frame_len(frame), 0);
        let stamp = Stamp { stream: direction as u16, sequence: number, time: time_ns };
        source.write(frame, stamp, &mut buffer);
        let port = ports.get(usize::from(directions[direction].from.0));
        let port = port.map_or("", |name| &**name);
        each(TraceFrame { time_ns, port, bytes: &buffer })?;
    }
    Ok(())
}

/// A device that is set up, and can be checked and measured.
pub trait OpenDevice {
    /// Time of the set-up and facts of the device.
    fn facts(&mut self) -> DeviceFacts;

    /// Compares the device with the oracle on a sample that covers every verdict.
    ///
    /// # Errors
    /// When the comparison could not be carried out; a mismatch is a result, not an error.
    fn check(&mut self) -> Result<Check, MeasureError>;

    /// The interface by which methods measure the device.
    fn measurer(&mut self) -> &mut dyn Measurer;
}

/// Options for opening a device.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The core for the tester's thread; none if the machine has no second core.
    pub tester_core: Option<usize>,
    /// A core for each worker, at least one.
    pub worker_cores: Vec<usize>,
    /// The calibrated clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop; a running trial then ends with
    /// [`MeasureError::Interrupted`].
    pub stop: Arc<AtomicBool>,
}

/// Facts of a device that is set up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    /// Time from `open` to the device being ready, in seconds.
    pub setup_seconds: f64,
    /// Version of the device; none if it is part of this program.
    pub version: Option<String>,
    /// Memory of the function's state on all workers in bytes; none if the device does not report
    /// it.
    pub state_bytes: Option<u64>,
    /// Memory of the function's state per user or session in bytes, if the function has users or
    /// sessions.
    pub state_bytes_per_user: Option<f64>,
    /// Resident memory of the device's process, in bytes.
    pub resident_bytes: Option<u64>,
    /// Further facts for the record, in the order of display: `workers`, `huge-pages` …
    pub details: Vec<(String, Value)>,
}

impl DeviceFacts {
    /// The details that any device has of its function: number of workers, what there is how often,
    /// and a remark on captures.
    pub(crate) fn of_function(
        workers: usize,
        (what, population): (&str, u64),
        remark: Option<String>,
    ) -> Vec<(String, Value)> {
        let mut details =
            vec![("workers".to_owned(), workers.into()), (what.to_owned(), population.into())];
        details.extend(remark.map(|remark| ("captures".to_owned(), remark.into())));
        details
    }
}

/// A frame of a workload.
#[derive(Clone, Copy, Debug)]
pub struct TraceFrame<'a> {
    /// Time of transmission, in nanoseconds since the first frame.
    pub time_ns: u64,
    /// Name of the port that the frame enters through: `uplink`, `downlink` …
    pub port: &'a str,
    /// The frame without its frame check sequence.
    pub bytes: &'a [u8],
}

/// Why a device could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state does not fit.
    #[error("the state does not fit into memory{}: {source}", needed(*.needed_bytes))]
    Memory {
        /// Requested memory in bytes; 0 if unknown.
        needed_bytes: u64,
        /// The kernel's error.
        source: io::Error,
    },
    /// The device cannot run on this machine.
    #[error("{0}")]
    Unavailable(Unavailable),
    /// Another failure of the machine, as a sentence.
    #[error("{0}")]
    Host(String),
}

fn needed(bytes: u64) -> String {
    if bytes == 0 {
        String::new()
    } else {
        format!(" ({} MiB are needed)", bytes.div_ceil(1 << 20))
    }
}

/// The known functions, in the order of the help text.
pub type Functions = &'static [&'static dyn FunctionUnit];

/// Interval between two frames of a direction in a trace, in nanoseconds.
const TRACE_INTERVAL_NS: u64 = 1000;
