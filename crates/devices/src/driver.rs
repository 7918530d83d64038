//! Drivers of devices that are not part of this program: a kernel, a switch, a process, a box.
//!
//! A driver is given a [`Service`] and sets a device up that gives it. What it cannot do it says in
//! [`Limitation`]s, which end up in the record; what it cannot do at all it refuses. It hands out the
//! tester's ends of the links, and from then on the device runs by itself. Order of calls: `available`,
//! `limitations`, `start`; then ports are used, `usage` is read, and dropping [`Running`] leaves the
//! machine as it was. Because a driver's processes and namespaces are bound to this process, that
//! holds after a crash, too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Acknowledgement, Opened};
use functions::Standby;
use functions::service::{Beyond, Service};
use machine::clock::Clock;
use measure::{Stage, TableUse};
use schemars::Schema;
use serde_json::{Map, Value};

/// A kind of device, as the registry lists it.
pub trait Driver: Sync {
    /// The name in a scenario's `device.name`.
    fn name(&self) -> &'static str;

    /// One line for `plumbline list`.
    fn summary(&self) -> &'static str;

    /// JSON Schema of its keys in the `device` section, beside the keys that all devices have.
    fn schema(&self) -> Schema;

    /// The version of what would run with these keys, as far as it can be told without setting it up:
    /// what earlier runs measured of another version is not used again.
    fn version(&self, _options: &Map<String, Value>) -> String {
        String::new()
    }

    /// Whether it can run on this machine.
    ///
    /// # Errors
    /// What is missing, and the one command that would enable it.
    fn available(&self) -> Result<(), Unavailable>;

    /// Whether it can give a service on this machine, where some services need more than others.
    ///
    /// # Errors
    /// As [`Driver::available`].
    fn available_for(&self, _service: &Service) -> Result<(), Unavailable> {
        self.available()
    }

    /// What this machine lacks for some services only: their name, and what is missing.
    fn lacks(&self) -> Vec<(&'static str, Unavailable)> {
        Vec::new()
    }

    /// What of the service the device cannot do, or does otherwise, with these keys.
    ///
    /// # Errors
    /// When nothing sensible is left, or a key cannot be used.
    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, DriverError>;

    /// Sets the device up and waits, by looking, until it forwards.
    ///
    /// # Errors
    /// When it cannot be; the machine is as before.
    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError>;

    /// The same links with a wire in the place of the device, so that the tester can be measured
    /// alone; none where that is not possible. The wire joins ports 0 and 1.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn wire(&self, _request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        Ok(None)
    }
}

/// What a device is set up for.
pub struct Start<'a> {
    /// What it is to do.
    pub service: &'a Service,
    /// The function's name in scenarios, for a device that is this program.
    pub function: &'static str,
    /// The function's section with all defaults, for the same.
    pub configuration: &'a Value,
    /// The same of its standby, where one beside it is asked for; of a device that is this program.
    pub standby: Option<&'a Value>,
    /// The driver's keys of the `device` section.
    pub options: &'a Map<String, Value>,
    /// How many workers or queues, where the device has such.
    pub workers: usize,
    /// The cores that are the device's; it keeps off the tester's where it can.
    pub cores: &'a [usize],
    /// The longest frame that will be sent, in bytes without check sequence.
    pub frame_bytes_max: usize,
    /// The calibrated time-stamp clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop.
    pub stop: Arc<AtomicBool>,
}

/// A device that runs. Dropping it ends it and leaves the machine as it was.
pub trait Running: Send {
    /// The tester's ends of the links, one for each port of the function, in their order; asked for
    /// once.
    fn ports(&mut self) -> Vec<Opened>;

    /// What it is, worth recording.
    fn facts(&self) -> DeviceFacts;

    /// What it has used and counted since it was started.
    fn usage(&mut self) -> Usage;

    /// Whether it still runs.
    ///
    /// # Errors
    /// How it ended, with the last it said.
    fn health(&mut self) -> Result<(), DriverError>;

    /// How it is asked for changes while it runs; none for a device that cannot be, which has all
    /// changes of a workload refused before it is measured.
    fn control(&mut self) -> Option<&mut dyn Control> {
        None
    }

    /// The sessions that it says it holds; none where it keeps none, or does not tell.
    fn sessions(&mut self) -> Option<u64> {
        None
    }

    /// How full it says its tables are; empty where it does not tell.
    fn tables(&mut self) -> Vec<TableUse> {
        Vec::new()
    }

    /// What [`Running::restart`] restarts, in words; none where it cannot be while the links stay.
    fn restarts(&self) -> Option<&'static str> {
        None
    }

    /// Ends what forwards, as a crash would, and starts it anew with the same configuration; returns
    /// once it says that it is ready. The links stay.
    ///
    /// # Errors
    /// When it did not come back.
    fn restart(&mut self) -> Result<(), DriverError> {
        Err(DriverError::new(
            "this device cannot be restarted while its links stay",
            "choose another device for the reset",
        ))
    }

    /// How the standby beside it stands; none where it has none any more.
    fn standby(&mut self) -> Option<Standby> {
        None
    }

    /// Ends what forwards, as a crash would, and has its standby get the frames of the links.
    ///
    /// # Errors
    /// When there is none, or it did not answer.
    fn fail_over(&mut self) -> Result<TakenOver, DriverError> {
        Err(DriverError::new(
            "this device has no standby beside it",
            "choose another device for the fail-over",
        ))
    }
}

/// What a standby had when it took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// What it had not acknowledged when the one that ended was last asked.
    pub unacknowledged: u64,
    /// What took over, in words.
    pub what: &'static str,
}

/// The control of a running device. A call may take as long as a few words to a local socket, not
/// longer: the tester calls it between frames.
pub trait Control: Send {
    /// Asks for a change, as the function's control has it in JSON, and gives the request's number;
    /// none where too many are under way.
    fn request(&mut self, update: &Value) -> Option<u64>;

    /// The next acknowledgement, in the order of the requests; its time is of the clock in
    /// [`Start::clock`].
    fn acknowledged(&mut self) -> Option<Acknowledgement>;
}

/// What a device is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    /// `Linux 6.18.44`, `Open vSwitch 3.1.0` …
    pub version: String,
    /// What else is worth recording, in the order to show it.
    pub details: Vec<(String, Value)>,
}

/// What a device has used and counted since it was started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of its threads or, for a kernel, of what can be told of it, in nanoseconds; none
    /// where it cannot be told.
    pub cpu_ns: Option<u64>,
    /// What that CPU time covers: `2 threads of ovs-vswitchd`, `softirq on core 1` …
    pub cpu_of: String,
    /// Memory in use, in bytes.
    pub resident_bytes: Option<u64>,
    /// Frames it dropped, by its own counters.
    pub drops: Vec<(String, u64)>,
    /// Cycles by stage, for a device that is this program.
    pub stages: Vec<Stage>,
}

/// Something of a service that a device cannot do, or does otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limitation {
    /// In words: `no policer: rates are not limited`.
    pub what: String,
    /// The verdicts of the oracle that it cannot be held to: drop reasons, `punt`, or
    /// `forward-downlink` for what leaves by a port; frames with these are left out of the check, and
    /// the record says so.
    pub verdicts: Vec<&'static str>,
    /// Steps of the sample, by what they are about, that it does otherwise than the standards say: they are
    /// left out, too, as if they had never been.
    pub steps: Vec<&'static str>,
}

/// A device that cannot run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unavailable {
    /// What is missing.
    pub why: String,
    /// The one command that would enable it, or what to do where there is none.
    pub remedy: String,
}

/// A device that could not be set up, or broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DriverError {
    /// What is wrong, without a full stop.
    pub what: String,
    /// What to do, an imperative sentence without a full stop.
    pub remedy: String,
}

impl DriverError {
    /// An error and what to do about it.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> DriverError {
        DriverError { what: what.into(), remedy: remedy.into() }
    }

    /// The device does not put a key of the function into effect.
    pub fn undone(device: &str, undone: Beyond) -> DriverError {
        let Beyond { key, what } = undone;
        let remedy = format!(
            "leave `{key}` out of the function section, or use the device embedded or process"
        );
        DriverError::new(format!("{device} is not told of `{key}` ({what})"), remedy)
    }

    /// The device translates no addresses here.
    pub fn no_nat() -> DriverError {
        DriverError::new("it translates no addresses here", "use embedded or process for cgnat")
    }

    /// The device gives one service, not several one behind the other.
    pub fn no_chain() -> DriverError {
        DriverError::new("it cannot do several functions", "use embedded or process for chains")
    }
}

/// Refuses a service with anything that the words for devices do not say: what a device is not told,
/// it does not do, and what it does not do is not compared in silence.
///
/// # Errors
/// The first such key.
pub(crate) fn refuse_beyond(device: &str, service: &Service) -> Result<(), DriverError> {
    match service.beyond().first() {
        Some(&first) => Err(DriverError::undone(device, first)),
        None => Ok(()),
    }
}

impl From<netns::NamespaceError> for DriverError {
    fn from(error: netns::NamespaceError) -> DriverError {
        DriverError::new(error.to_string(), "see `plumbline doctor` for what devices need")
    }
}
