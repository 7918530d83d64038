//! Drivers of devices that are not part of this program: a kernel, a switch, a process, a box.
//!
//! A driver is given a [`Service`] and sets a device up that gives it. What it cannot do it says in
//! [`Limitation`]s, which end up in the record; what it cannot do at all it refuses. It hands out
//! the tester's ends of the links, and from then on the device runs by itself. Order of calls:
//! `available`, `limitations`, `start`; then ports are used, `usage` is read, and dropping
//! [`Running`] leaves the machine as it was. Because a driver's processes and namespaces are bound
//! to this process, that holds after a crash, too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Acknowledgement, Opened, PortError};
use function_kit::sections::function_key;
use function_kit::{PortName, Standby};
use keys::Invalid;
use machine::clock::Clock;
use measure::{Stage, Stalls, TableUse, Watch};
use model_kit::service::{Beyond, Service};
use schemars::Schema;
use serde_json::{Map, Value};

use crate::closed_loop::{LoopCounts, LoopFrames};

/// A kind of device under test, as the registry lists it.
pub trait Driver: Sync {
    /// Returns the name in `device.name` of a scenario.
    fn name(&self) -> &'static str;

    /// Returns a one-line summary for `plumbline list`.
    fn summary(&self) -> &'static str;

    /// Returns the JSON Schema of the driver's keys in the `device` section, without the keys that
    /// all devices have.
    fn schema(&self) -> Schema;

    /// Returns the version of the device that would run with these keys, as far as it is known
    /// without starting it. Results of earlier runs are not reused for another version.
    fn version(&self, _options: &Map<String, Value>) -> String {
        String::new()
    }

    /// Checks whether the device can run on this machine.
    ///
    /// # Errors
    /// The missing requirement, and the one command that would provide it.
    fn available(&self) -> Result<(), Unavailable>;

    /// Checks whether the device can provide a service on this machine; some services have
    /// additional requirements.
    ///
    /// # Errors
    /// Those of [`Driver::available`].
    fn available_for(&self, _service: &Service) -> Result<(), Unavailable> {
        self.available()
    }

    /// Checks whether the device can provide a service with the driver's keys, which may name
    /// programs outside the search path.
    ///
    /// # Errors
    /// Those of [`Driver::available`].
    fn available_with(
        &self,
        service: &Service,
        _options: &Map<String, Value>,
    ) -> Result<(), Unavailable> {
        self.available_for(service)
    }

    /// Returns the services that this machine cannot provide, each with the missing requirement.
    fn lacks(&self) -> Vec<(&'static str, Unavailable)> {
        Vec::new()
    }

    /// Returns true if the device can make the frames of a closed loop itself and counts what each
    /// of its stages takes, by [`Running::closed_loop`].
    fn has_closed_loop(&self) -> bool {
        false
    }

    /// Returns true if the device runs what stands beside the function in a daemon's file.
    fn runs_beside(&self) -> bool {
        false
    }

    /// Returns what the device cannot do of a service, or does differently, with these keys.
    ///
    /// # Errors
    /// When the device cannot provide the service at all, or a key is invalid.
    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid>;

    /// Starts the device and waits until it forwards.
    ///
    /// # Errors
    /// When the device cannot be started; the machine is then restored to its earlier
    /// state.
    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError>;

    /// Starts a wire in place of the device on links of the same kind, to measure the baseline of
    /// the tester; `None` if that is not possible. The wire connects ports 0 and 1.
    ///
    /// # Errors
    /// When the wire cannot be started.
    fn wire(&self, _request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        Ok(None)
    }
}

/// Parameters with which a device is started.
pub struct Start<'a> {
    /// Service that the device must provide.
    pub service: &'a Service,
    /// Name of the function in scenarios; used by devices that run this program.
    pub function: &'static str,
    /// Names of the function's ports, in port order; used by devices that run this program.
    pub port_names: &'a [PortName],
    /// Configuration of the function with all defaults; used by devices that run this program.
    pub configuration: &'a Value,
    /// Returns the control messages that create the initial state; used by devices that run this
    /// program.
    pub initial: &'a (dyn Fn() -> Result<Vec<Value>, DriverError> + Sync),
    /// Further sections of a daemon's file, by name; used by devices that run this program.
    pub beside: &'a [(&'static str, Value)],
    /// Configuration of the standby if the scenario requests one; used by devices that run this
    /// program.
    pub standby: Option<&'a Value>,
    /// The driver's keys of the `device` section.
    pub options: &'a Map<String, Value>,
    /// Number of workers or queues, for devices that have them.
    pub workers: usize,
    /// Cores for the device; it does not use the tester's cores if possible.
    pub cores: &'a [usize],
    /// Longest frame that will be sent, in bytes without frame check sequence.
    pub frame_bytes_max: usize,
    /// Calibrated time-stamp clock.
    pub clock: Clock,
    /// Becomes true when the user asks to stop.
    pub stop: Arc<AtomicBool>,
}

/// A running device. Dropping it stops the device and restores the machine.
pub trait Running: Send {
    /// Returns the tester's ends of the links, one per port of the function, in port order; called
    /// once.
    fn ports(&mut self) -> Vec<Opened>;

    /// Returns facts about the device for the record.
    fn facts(&self) -> DeviceFacts;

    /// Returns the device's resource usage and counters since its start.
    fn usage(&mut self) -> Usage;

    /// Checks that the device still runs.
    ///
    /// # Errors
    /// How the device ended, with the last lines of its output.
    fn health(&mut self) -> Result<(), DriverError>;

    /// Returns the control for changes at run time; `None` if the device has none, in which case a
    /// workload with changes is refused before the measurement.
    fn control(&mut self) -> Option<&mut dyn Control> {
        None
    }

    /// Forwards frames of the device's own making again and again for a duration, each of them as
    /// if it had come in at its port; see [`Driver::has_closed_loop`].
    ///
    /// # Errors
    /// When the device failed, or cannot make frames itself.
    fn closed_loop(
        &mut self,
        _frames: &[LoopFrames],
        _duration: Duration,
        _watch: &mut dyn Watch,
        _stop: &AtomicBool,
    ) -> Result<LoopCounts, DriverError> {
        Err(DriverError::new("this device makes no frames itself", "choose another method"))
    }

    /// Returns the number of sessions that the device reports; `None` if it has none or does not
    /// report them.
    fn sessions(&mut self) -> Option<u64> {
        None
    }

    /// Returns the occupancy of the tables that the device reports; empty if it does not report
    /// them.
    fn tables(&mut self) -> Vec<TableUse> {
        Vec::new()
    }

    /// Returns a description of what [`Running::restart`] restarts; `None` if a restart is not
    /// possible while the links remain.
    fn restarts(&self) -> Option<&'static str> {
        None
    }

    /// Stops the forwarding process as a crash would, and starts it again with the same
    /// configuration; returns when it reports that it is ready. The links remain.
    ///
    /// # Errors
    /// When the device did not start again.
    fn restart(&mut self) -> Result<(), DriverError> {
        Err(DriverError::new(
            "this device does not support a restart with unchanged links",
            "choose another device for the reset test",
        ))
    }

    /// Returns the state of the standby; `None` if there is no standby (any more).
    fn standby(&mut self) -> Option<Standby> {
        None
    }

    /// Stops the forwarding process as a crash would, and directs the frames of the links to its
    /// standby.
    ///
    /// # Errors
    /// When there is no standby, or it did not respond.
    fn fail_over(&mut self) -> Result<TakenOver, DriverError> {
        Err(DriverError::new(
            "this device has no standby",
            "choose another device for the fail-over test",
        ))
    }
}

/// State of a standby at the take-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// Number of changes that the standby had not acknowledged when the active device was last
    /// asked.
    pub unacknowledged: u64,
    /// Description of what took over.
    pub what: &'static str,
}

/// Control of a running device. A call must not take longer than a short message to a local socket,
/// because the tester calls it between frames.
pub trait Control: Send {
    /// Requests a change, in the function's JSON form, and returns the number of the request;
    /// `None` if too many requests are pending.
    fn request(&mut self, update: &Value) -> Option<u64>;

    /// Returns the next acknowledgement, in the order of the requests; its time is of the clock in
    /// [`Start::clock`].
    fn acknowledged(&mut self) -> Option<Acknowledgement>;
}

/// Facts about a device for the record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    /// Version of the device: `Linux 6.18.44`, `Open vSwitch 3.1.0` …
    pub version: String,
    /// Further facts for the record, in the order of display.
    pub details: Vec<(String, Value)>,
}

/// Resource usage and counters of a device since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of the device's threads (for a kernel: of the part that is known), in nanoseconds;
    /// `None` if unknown.
    pub cpu_ns: Option<u64>,
    /// Description of what the CPU time covers: `2 threads of ovs-vswitchd`, `softirq on core 1` …
    pub cpu_of: String,
    /// Memory in use, in bytes.
    pub resident_bytes: Option<u64>,
    /// Frames that the device dropped, by its own counters.
    pub drops: Vec<(String, u64)>,
    /// Cycles by stage, for a device that runs this program.
    pub stages: Vec<Stage>,
    /// Gaps in the time of each worker, for a device that runs this program; the longest one is of
    /// the whole time.
    pub stalls: Vec<Stalls>,
}

/// Part of a service that a device cannot provide or provides differently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limitation {
    /// Description: `no policer: rates are not limited`.
    pub what: String,
    /// Verdicts of the oracle that cannot be checked on this device: drop reasons, `punt`, or
    /// `forward-downlink` for frames that leave by a port. Frames with these verdicts are excluded
    /// from the check, and the record lists them.
    pub verdicts: Vec<&'static str>,
    /// Steps of the sample, by description, that the device handles differently from the standards;
    /// they are excluded from the check as well.
    pub steps: Vec<&'static str>,
}

/// Error of a device that cannot run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unavailable {
    /// The missing requirement.
    pub why: String,
    /// The one command that would provide it, or advice if there is no such command.
    pub remedy: String,
}

/// Error of a device that could not be started, or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DriverError {
    /// Description of the error, without a full stop.
    pub what: String,
    /// Remedy: an imperative sentence without a full stop.
    pub remedy: String,
}

impl DriverError {
    /// Creates an error with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> DriverError {
        DriverError { what: what.into(), remedy: remedy.into() }
    }
}

/// Returns the differences of counters to an earlier reading, without zeros.
pub(crate) fn counted_since(
    before: &BTreeMap<String, u64>,
    now: BTreeMap<String, u64>,
) -> Vec<(String, u64)> {
    let less = |(name, count): (String, u64)| {
        let before = before.get(&name).copied().unwrap_or_default();
        (name, count.saturating_sub(before))
    };
    now.into_iter().map(less).filter(|&(_, count)| count > 0).collect()
}

/// Creates the error for a key of the function that the device does not support.
pub(crate) fn undone(device: &str, Beyond { key, what }: Beyond) -> Invalid {
    let remedy =
        format!("remove `{key}` from the function section, or use the device embedded or process");
    function_key(key, format!("{device} does not support `{key}` ({what})"), &remedy)
}

/// Creates the error for a device that does not support NAT.
pub(crate) fn no_nat() -> Invalid {
    function_key("", "it does not support NAT here".into(), "use embedded or process for cgnat")
}

/// Creates the error for a device that does not support sessions of subscribers.
pub(crate) fn no_broadband() -> Invalid {
    let what = "it does not support subscribers' sessions here".to_owned();
    function_key("", what, "use embedded or process for bng")
}

/// Creates the error for a chain of services: a device provides one service only.
pub(crate) fn no_chain() -> Invalid {
    let what = "it cannot run several functions".to_owned();
    function_key("", what, "use embedded or process for chains")
}

/// The section of a scenario that has the keys of a device.
pub const SECTION: &str = "device";

/// Creates the error for a key of the device.
pub(crate) fn device_key(key: &str, what: String, remedy: &str) -> Invalid {
    Invalid { section: SECTION, ..Invalid::new(key, what, remedy) }
}

/// Refuses a service with keys that the description of services for devices cannot express: the
/// device would ignore them, and the check would not notice.
///
/// # Errors
/// The first such key.
pub(crate) fn refuse_beyond(device: &str, service: &Service) -> Result<(), Invalid> {
    service.beyond().first().map_or(Ok(()), |&first| Err(undone(device, first)))
}

impl From<Invalid> for DriverError {
    fn from(invalid: Invalid) -> DriverError {
        let what = invalid.to_string();
        match invalid.remedy.as_str() {
            "" => DriverError::new(what, "see `plumbline schema` for the values of each key"),
            remedy => DriverError::new(what, remedy),
        }
    }
}

impl From<PortError> for DriverError {
    fn from(PortError { what, remedy }: PortError) -> DriverError {
        DriverError { what, remedy }
    }
}

impl From<netns::NamespaceError> for DriverError {
    fn from(error: netns::NamespaceError) -> DriverError {
        DriverError::new(
            error.to_string(),
            "see `plumbline doctor` for the requirements of \
                                             devices",
        )
    }
}
