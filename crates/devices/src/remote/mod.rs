//! A device of another making as something to check and to measure.
//!
//! ```text
//!            core 0                              elsewhere
//!   tester: a queue of each port  ==link==>  the device's ports
//!                                 <==link==
//! ```
//! The tester is the one of the embedded device; its links are real ports that a [`Driver`] handed
//! out. The device runs all the time: what it used and counted is read before and after a trial.
//! What the tester's own ports lost of what came in is the tester's loss, and told apart.

mod check;
mod closed_loop;
mod exchange;
mod frames;
mod restart;
mod rig;
mod sessions;
mod standby;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use function_kit::NetworkFunction;
use measure::record::Check;
use measure::{
    Conditions, DeviceCpu, Load, MeasureError, Measurer, PathFault, Population, Pps, SessionsThere,
    Stage, Stalls, Trial, Watch, validity,
};
use model_kit::{ConfigOf, Configured, Model, WorkloadOf};
use packet::PortId;
pub use rig::Remote;
use rig::{Rig, Spoken, drain};
use serde::Serialize;
use serde_json::{Map, Value};
use traffic::{Changes as _, Floods, Frames, Workload};

use crate::driver::{DeviceFacts, Driver, DriverError, Limitation, Running, Start, Usage};
use crate::embedded::{Host, SESSIONS_ONLY, has_what_is_asked};
use crate::room;
use crate::sessions::{Opened, population};
use crate::tester::Task;
use crate::tester::changes::Changes;
use crate::tester::link::PortLink;
use crate::tester::thread::{Seat, carry_out, device_error};

impl<N: Model> Remote<N> {
    /// Starts the device with the driver's keys.
    ///
    /// # Errors
    /// When it cannot be started; the machine is then restored to its earlier state.
    pub fn open(
        driver: &'static dyn Driver,
        model: Configured<N>,
        options: Map<String, Value>,
        host: Host,
    ) -> Result<Remote<N>, DriverError> {
        let begun = Instant::now();
        let service = model.service();
        let limitations = driver.limitations(&service, &options)?;
        let rig = Setup { driver, model: &model }.start(&options, &host)?;
        let sessions = Opened::new(model.workload(host.clock));
        Ok(Remote {
            driver,
            sessions,
            model,
            options,
            host,
            limitations,
            rig: Some(rig),
            setup: begun.elapsed(),
            conditions: Conditions::default(),
            changed: false,
        })
    }

    /// Returns the time from the start until the device forwarded.
    pub fn setup_time(&self) -> Duration {
        self.setup
    }

    /// Returns facts about the device and the tester's ports.
    pub fn facts(&self) -> DeviceFacts {
        let Some(rig) = &self.rig else { return DeviceFacts::default() };
        let mut facts = rig.running.facts();
        let names = self.model.ports();
        let ports = rig.links.iter().flatten().enumerate();
        let ports = ports.flat_map(|(index, link)| {
            let name = N::Unit::port_name(&names, PortId(index as u8));
            link.facts()
                .into_iter()
                .map(move |(key, value)| (format!("tester-{name}-{key}"), Value::String(value)))
        });
        facts.details.extend(ports);
        facts
    }

    /// Returns what the device cannot do, or does differently.
    pub fn limitations(&self) -> &[Limitation] {
        &self.limitations
    }

    /// Returns the device's usage since its start.
    pub fn usage(&mut self) -> Usage {
        self.rig.as_mut().map(|rig| rig.running.usage()).unwrap_or_default()
    }

    /// Compares a sample that covers every verdict with the oracle, frame by frame.
    ///
    /// # Errors
    /// When the device failed, or the user asked to stop.
    pub fn check(&mut self) -> Result<Check, MeasureError> {
        if !self.model.beside().is_empty() {
            return self.check_alone();
        }
        self.restore()?;
        let check = check::check(self);
        // Those of the sample are none of the traffic's.
        self.changed |= self.sessions.there().is_some();
        self.healthy()?;
        check
    }

    /// Checks the function in a device of its own that has nobody beside it, so that its state
    /// follows from the sample; this one is set up again when it is used.
    fn check_alone(&mut self) -> Result<Check, MeasureError> {
        self.rig = None;
        let (options, host) = (self.options.clone(), self.host.clone());
        let alone = Remote::open(self.driver, self.model.alone(), options, host);
        alone.map_err(driver_error)?.check()
    }

    /// Restores the configured state if changes were applied.
    fn restore(&mut self) -> Result<(), MeasureError> {
        if self.changed || self.rig.is_none() {
            // The old one first, whose names and cores the new one takes.
            self.rig = None;
            let setup = Setup { driver: self.driver, model: &self.model };
            self.rig = Some(setup.start(&self.options, &self.host).map_err(driver_error)?);
            self.changed = false;
            let workload = self.model.workload(self.host.clock);
            self.sessions = Opened::new(workload);
        }
        self.healthy()
    }

    fn healthy(&mut self) -> Result<(), MeasureError> {
        self.rig()?.running.health().map_err(driver_error)
    }

    fn rig(&mut self) -> Result<&mut Rig, MeasureError> {
        self.rig.as_mut().ok_or_else(|| device_error("the device could not be set up again"))
    }

    fn has_control(&mut self) -> bool {
        self.rig.as_mut().is_some_and(|rig| rig.running.control().is_some())
    }

    fn workload(&self) -> WorkloadOf<N> {
        let twin = self.sessions.twin();
        twin.unwrap_or_else(|| self.model.workload(self.host.clock))
    }

    fn is_interrupted(&self) -> bool {
        self.host.stop.load(Ordering::Relaxed)
    }

    fn open_loop(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let workload = self.workload();
        let changes_something =
            !workload.events().is_empty() && self.conditions.updates_per_s != Some(0.0);
        let wanted = if changes_something { self.conditions.updates_per_s } else { Some(0.0) };
        if changes_something && !self.has_control() {
            return Err(MeasureError::Unsupported(NO_CONTROL));
        }
        self.changed |= changes_something || self.conditions.path_failing.is_some();
        let task = Task {
            subscribers_counted: self.conditions.subscribers_counted,
            floods: self.conditions.floods,
            path_failing: self.conditions.path_failing,
            ..Task::plain(load, duration, true)
        };
        if let Some(after) = self.conditions.restart_after {
            return self.restarting(task, after, watch);
        }
        let host = self.host.clone();
        let rig = self.rig()?;
        let before = rig.running.usage();
        let mut trial = rig.trial(&host, (workload, wanted), task, watch)?;
        let after = rig.running.usage();
        trial.tables = rig.running.tables();
        account(&mut trial, &before, after);
        self.healthy()?;
        Ok(trial)
    }
}

impl<N: Model> Measurer for Remote<N> {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        if matches!(load, Load::ClosedLoop) && !self.driver.has_closed_loop() {
            return Err(MeasureError::Unsupported(NO_CLOSED_LOOP));
        }
        self.restore()?;
        if self.is_interrupted() {
            return Err(MeasureError::Interrupted);
        }
        if matches!(load, Load::ClosedLoop) {
            let trial = self.run_closed_loop(duration, watch);
            return if self.is_interrupted() { Err(MeasureError::Interrupted) } else { trial };
        }
        if let Load::Sessions(load) = load {
            let trial = self.run_sessions(load, duration, watch);
            return if self.is_interrupted() { Err(MeasureError::Interrupted) } else { trial };
        }
        if self.conditions.fail_over_after.is_some() {
            return Err(MeasureError::Unsupported(SESSIONS_ONLY));
        }
        self.open_sessions(watch)?;
        let trial = self.open_loop(load, duration, watch);
        self.changed |= self.sessions.are_others_behind_a_trial();
        self.sessions.restarted(self.conditions.restart_after.is_some());
        if self.is_interrupted() { Err(MeasureError::Interrupted) } else { trial }
    }

    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        has_what_is_asked(&self.workload(), conditions)?;
        if conditions.updates_per_s.is_some_and(|rate| rate > 0.0) && !self.has_control() {
            return Err(MeasureError::Unsupported(NO_CONTROL));
        }
        if conditions.cold_frames {
            return Err(MeasureError::Unsupported(NO_COLD_FRAMES));
        }
        let restarts = self.rig.as_ref().is_some_and(|rig| rig.running.restarts().is_some());
        if conditions.restart_after.is_some() && !restarts {
            return Err(MeasureError::Unsupported(NO_RESTART));
        }
        if conditions.fail_over_after.is_some() && self.standby()?.is_none() {
            return Err(MeasureError::Unsupported(NO_STANDBY));
        }
        let fault = conditions.path_failing.map(|failing| failing.fault);
        if fault == Some(PathFault::PortDown) {
            return Err(MeasureError::Unsupported(NO_PORT_DOWN));
        }
        self.conditions = *conditions;
        Ok(())
    }

    fn has_cold_frames(&self) -> bool {
        false
    }

    fn synchronise(&mut self, patience: Duration) -> Result<bool, MeasureError> {
        self.follow(patience)
    }

    fn floods(&self) -> Vec<&'static str> {
        self.workload().floods().iter().map(|flood| flood.name).collect()
    }

    fn captured_rate(&self) -> Option<Pps> {
        self.model.replay.as_ref()?.rate_per_s().map(Pps)
    }

    fn sessions(&self) -> Option<SessionsThere> {
        self.sessions.there()
    }

    fn population(&self) -> Option<Population> {
        self.workload().population().map(population)
    }

    /// Clears all sessions by a new set-up, which every device supports.
    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        self.changed = true;
        self.restore()
    }

    fn tester_alone(
        &mut self,
        rate: Pps,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Option<Trial>, MeasureError> {
        if self.is_interrupted() {
            return Err(MeasureError::Interrupted);
        }
        let setup = Setup { driver: self.driver, model: &self.model };
        let Some(mut wire) = setup.wire(&self.options, &self.host).map_err(driver_error)? else {
            return Ok(None);
        };
        let load = Load::PerInterface(rate);
        let task = Task::plain(load, duration, false);
        let workload = self.workload();
        let trial = wire.trial(&self.host, (workload, Some(0.0)), task, watch)?;
        if self.is_interrupted() { Err(MeasureError::Interrupted) } else { Ok(Some(trial)) }
    }
}

/// Parameters from which a device is set up.
struct Setup<'a, N: Model> {
    driver: &'static dyn Driver,
    model: &'a Configured<N>,
}

impl<N: Model> Setup<'_, N> {
    fn start(&self, options: &Map<String, Value>, host: &Host) -> Result<Rig, DriverError> {
        let of = |request: &Start<'_>| self.driver.start(request).map(Some);
        let rig = self.with_request(options, host, of)?;
        rig.ok_or_else(|| DriverError::new("the device did not start", "try again"))
    }

    fn wire(&self, options: &Map<String, Value>, host: &Host) -> Result<Option<Rig>, DriverError> {
        self.with_request(options, host, |request| self.driver.wire(request))
    }

    fn with_request(
        &self,
        options: &Map<String, Value>,
        host: &Host,
        start: impl FnOnce(&Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError>,
    ) -> Result<Option<Rig>, DriverError> {
        let service = self.model.service();
        let write = |config: &ConfigOf<N>| written(config);
        let initial = || self.model.initial().map(|update| written(&update)).collect();
        let (configuration, standby) = match N::Unit::pair(&self.model.config) {
            Some([active, standby]) => (write(&active)?, Some(write(&standby)?)),
            None => (write(&self.model.config)?, None),
        };
        let (frame_bytes_max, beside) = (self.frame_bytes_max(host), self.model.beside());
        let request = Start {
            service: &service,
            function: N::Unit::NAME,
            port_names: &self.model.ports(),
            configuration: &configuration,
            initial: &initial,
            beside: &beside,
            standby: standby.as_ref(),
            options,
            workers: self.model.workers(),
            cores: &host.worker_cores,
            frame_bytes_max,
            clock: host.clock,
            stop: host.stop.clone(),
        };
        let Some(mut running) = start(&request)? else { return Ok(None) };
        let ports = running.ports();
        let wanted = self.model.ports().len();
        if ports.len() != wanted {
            let what = format!("the device has {} ports, not {wanted}", ports.len());
            return Err(DriverError::new(what, "choose another device for this function"));
        }
        let link = |(index, opened)| {
            PortLink::new(PortId(index as u8), opened, frame_bytes_max)
                .map_err(|error| DriverError::new(format!("no memory for a batch: {error}"), ""))
        };
        let links: Result<Vec<PortLink>, _> = ports.into_iter().enumerate().map(link).collect();
        Ok(Some(Rig { links: vec![links?], running }))
    }

    /// Returns the longest frame that will be sent, including what the device adds, in bytes.
    fn frame_bytes_max(&self, host: &Host) -> usize {
        let workload = self.model.workload(host.clock);
        let drawn = room::frame_bytes_max(&workload);
        let sample = self.model.sample().into_iter().filter_map(|step| match step {
            model_kit::check::Step::Frame { frame, .. } => Some(frame.len()),
            model_kit::check::Step::Answer { answer, .. } => Some(answer.frame.len()),
            _ => None,
        });
        sample.max().unwrap_or(0).max(drawn).max(FRAME_BYTES_MIN) + HEADERS_ADDED
    }
}

impl Rig {
    /// Runs a trial over the links.
    fn trial<W>(
        &mut self,
        host: &Host,
        (workload, updates_per_s): (W, Option<f64>),
        task: Task,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError>
    where
        W: Workload,
        W::Update: serde::Serialize,
    {
        drain(&mut self.links);
        let lost = lost(&self.links);
        let seat = Seat { core: host.tester_core, clock: host.clock, stop: &host.stop };
        let control = Spoken { control: self.running.control() };
        let changes = Changes::new(&workload, control, updates_per_s, host.clock);
        let (mut trial, _) = carry_out(&seat, workload, &mut self.links, changes, task, watch)?;
        note_own_loss(&mut trial, &self.links, lost);
        Ok(trial)
    }
}

/// Records what the tester's ports lost since `before`; lost frames of other senders are not
/// counted as lost in the trial.
fn note_own_loss(trial: &mut Trial, links: &[Vec<PortLink>], before: u64) {
    let missing = trial.sent().saturating_sub(trial.received());
    trial.tester_ring_full = lost(links).saturating_sub(before).min(missing);
}

/// Returns the number of received frames that the tester's ports have lost.
fn lost(links: &[Vec<PortLink>]) -> u64 {
    links.iter().flatten().map(PortLink::lost_on_receive).sum()
}

/// Adds the device's usage between two readings to a trial.
fn account(trial: &mut Trial, before: &Usage, after: Usage) {
    let cpu = before.cpu_ns.zip(after.cpu_ns);
    trial.device_cpu =
        cpu.map(|(before, now)| DeviceCpu { ns: now.saturating_sub(before), of: after.cpu_of });
    trial.resident_bytes = after.resident_bytes;
    let since = |(name, count): (String, u64)| {
        let known = before.drops.iter().find(|(before, _)| *before == name);
        let count = count.saturating_sub(known.map_or(0, |(_, count)| *count));
        (count > 0).then_some((name, count))
    };
    trial.drops = after.drops.into_iter().filter_map(since).collect();
    let stage = |(index, mut stage): (usize, Stage)| {
        let known = before.stages.get(index).filter(|before| before.name == stage.name);
        stage.packets = stage.packets.saturating_sub(known.map_or(0, |before| before.packets));
        stage.ticks = stage.ticks.saturating_sub(known.map_or(0, |before| before.ticks));
        stage
    };
    trial.stages = after.stages.into_iter().enumerate().map(stage).collect();
    let gaps = |(index, now): (usize, Stalls)| stalled_since(before.stalls.get(index), now);
    trial.stalls.extend(after.stalls.into_iter().enumerate().map(gaps));
}

/// Returns the gaps of a worker since an earlier reading. Of the longest one only that of the whole
/// time is known, and that it is no longer than all gaps of the trial. How deep the device's rings
/// are is not known either, so all gaps count as long if one of them is.
fn stalled_since(before: Option<&Stalls>, now: Stalls) -> Stalls {
    let earlier = |of: fn(&Stalls) -> u64| before.map_or(0, of);
    let total_ns = now.total_ns.saturating_sub(earlier(|stalls| stalls.total_ns));
    let longest_ns = now.longest_ns.min(total_ns);
    let is_long = longest_ns > validity::STALL_NS_HARMLESS;
    Stalls {
        count: now.count.saturating_sub(earlier(|stalls| stalls.count)),
        total_ns,
        longest_ns,
        long_ns: if is_long { total_ns } else { 0 },
        ..now
    }
}

/// Returns a value of a function in the form of the daemon's configuration file and control.
fn written(one: &impl Serialize) -> Result<Value, DriverError> {
    serde_json::to_value(one).map_err(|error| {
        DriverError::new(format!("the configuration cannot be written: {error}"), "report this")
    })
}

fn driver_error(error: DriverError) -> MeasureError {
    let DriverError { what, remedy } = error;
    device_error(if remedy.is_empty() { what } else { format!("{what}; {remedy}") })
}

/// Error text: why a closed loop is not possible.
const NO_CLOSED_LOOP: &str = "a closed loop runs source and sink inside the worker, which only the devices `embedded` and \
     `vpp` support; use `throughput`, `loss-curve` or `latency` for this device";

/// Error text: why frames cannot be cold.
const NO_COLD_FRAMES: &str = "its source writes each frame just before it hands it over; set \
                              `frames: [hot]` in the method `capacity`";

const NO_CONTROL: &str = "it does not support changes at run time; set the rates of changes in \
                          `function` to 0, or use a device with control (`embedded`, `process`)";

const NO_STANDBY: &str = "it has no standby; `replication: {role: rehearsal}` adds one to cgnat on \
                          the devices `embedded` and `process`";

const NO_PORT_DOWN: &str = "its links cannot be taken down by the tester; use the fault `silence`, \
                            or the device `embedded`";

const NO_RESTART: &str = "it does not support a restart with unchanged links; use the device \
                          `embedded`, or `process` or `ovs` on virtual Ethernet";

/// Longest Ethernet frame without tags and frame check sequence, which every link carries.
const FRAME_BYTES_MIN: usize = 1514;

/// Bytes of headers that a function may add to a frame: outer Ethernet, IPv6, UDP and tunnel
/// headers.
const HEADERS_ADDED: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(count: u64, total_ns: u64, longest_ns: u64) -> Stalls {
        let thread = "worker 0".to_owned();
        Stalls { thread, count, total_ns, longest_ns, ..Stalls::default() }
    }

    #[test]
    fn the_stalls_of_a_trial_are_those_since_it_began() {
        let before = Usage { stalls: vec![gaps(5, 9_000_000, 8_000_000)], ..Usage::default() };
        let of = |now: Stalls| {
            let load = Load::PerInterface(Pps(1e6));
            let mut trial = Trial::new(load, Duration::from_secs(1), 1e9);
            account(&mut trial, &before, Usage { stalls: vec![now], ..Usage::default() });
            let stalls = &trial.stalls[0];
            (stalls.count, stalls.total_ns, stalls.longest_ns, stalls.long_ns)
        };
        assert_eq!(of(gaps(5, 9_000_000, 8_000_000)), (0, 0, 0, 0), "those were before");
        assert_eq!(of(gaps(6, 9_050_000, 8_000_000)), (1, 50_000, 50_000, 0), "a ring takes it up");
        let long = of(gaps(7, 12_000_000, 8_000_000));
        assert_eq!(long, (2, 3_000_000, 3_000_000, 3_000_000));
        let longest = of(gaps(6, 19_000_000, 10_000_000));
        assert_eq!(longest, (1, 10_000_000, 10_000_000, 10_000_000));
    }
}
