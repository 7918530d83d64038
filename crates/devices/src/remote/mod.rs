//! A device of another making as something to check and to measure.
//!
//! ```text
//!            core 0                              elsewhere
//!   tester: a queue of each port  ==link==>  the device's ports
//!                                 <==link==
//! ```
//! The tester is the one of the embedded device; its links are real ports that a [`Driver`] handed
//! out. The device runs all the time: what it used and counted is read before and after a trial. What
//! the tester's own ports lost of what came in is the tester's loss, and told apart.

mod check;
mod exchange;
mod frames;
mod restart;
mod sessions;
mod standby;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::Acknowledgement;
use functions::NetworkFunction;
use machine::clock;
use measure::record::Check;
use measure::{
    Conditions, DeviceCpu, Load, MeasureError, Measurer, Population, Pps, SessionsThere, Stage,
    Trial, Watch,
};
use packet::PortId;
use serde_json::{Map, Value};
use traffic::Workload;

use crate::driver::{self, DeviceFacts, Driver, DriverError, Limitation, Running, Start, Usage};
use crate::embedded::{Host, SESSIONS_ONLY, has_what_is_asked};
use crate::room;
use crate::sessions::{Opened, population};
use crate::tester::Task;
use crate::tester::changes::{Changes, Control};
use crate::tester::link::{Link, PortLink};
use crate::tester::thread::{Seat, carry_out, device_error};

/// A device that is set up for a function.
pub struct Remote<N: NetworkFunction> {
    driver: &'static dyn Driver,
    config: N::Config,
    traffic: N::Traffic,
    options: Map<String, Value>,
    host: Host,
    limitations: Vec<Limitation>,
    /// None after it could not be set up again.
    rig: Option<Rig>,
    setup: Duration,
    conditions: Conditions,
    /// Whether changes were applied, so that the state is no longer the configured one.
    changed: bool,
    sessions: Opened<N::Workload>,
}

/// A device that runs, and the tester's ends of its links. The links go first, as they may stand in
/// what the device set up.
struct Rig {
    links: Vec<Vec<PortLink>>,
    running: Box<dyn Running>,
}

impl<N: NetworkFunction> Remote<N> {
    /// Sets the device up with the driver's keys.
    ///
    /// # Errors
    /// When it cannot be; the machine is as before.
    pub fn open(
        driver: &'static dyn Driver,
        (config, traffic): (N::Config, N::Traffic),
        options: Map<String, Value>,
        host: Host,
    ) -> Result<Remote<N>, DriverError> {
        let begun = Instant::now();
        let service = N::service(&config);
        let limitations = driver.limitations(&service, &options)?;
        let rig =
            Setup::<N> { driver, config: &config, traffic: &traffic }.start(&options, &host)?;
        let sessions = Opened::new(N::workload(&config, &traffic, host.clock));
        Ok(Remote {
            driver,
            sessions,
            config,
            traffic,
            options,
            host,
            limitations,
            rig: Some(rig),
            setup: begun.elapsed(),
            conditions: Conditions::default(),
            changed: false,
        })
    }

    /// Time from the beginning until the device forwarded.
    pub fn setup_time(&self) -> Duration {
        self.setup
    }

    /// What the device is, and how the tester's ports run.
    pub fn facts(&self) -> DeviceFacts {
        let Some(rig) = &self.rig else { return DeviceFacts::default() };
        let mut facts = rig.running.facts();
        let ports = rig.links.iter().flatten().enumerate();
        let ports = ports.flat_map(|(index, link)| {
            let name = N::PORTS.get(index).copied().unwrap_or("port");
            link.facts()
                .into_iter()
                .map(move |(key, value)| (format!("tester-{name}-{key}"), Value::String(value)))
        });
        facts.details.extend(ports);
        facts
    }

    /// What it cannot do, or does otherwise.
    pub fn limitations(&self) -> &[Limitation] {
        &self.limitations
    }

    /// What it has used since it was started.
    pub fn usage(&mut self) -> Usage {
        self.rig.as_mut().map(|rig| rig.running.usage()).unwrap_or_default()
    }

    /// Compares a sample that covers every verdict with the oracle, frame by frame.
    ///
    /// # Errors
    /// When the device broke, or the user asked to stop.
    pub fn check(&mut self) -> Result<Check, MeasureError> {
        self.restore()?;
        let check = check::check(self);
        // Those of the sample are none of the traffic's.
        self.changed |= self.sessions.there().is_some();
        self.healthy()?;
        check
    }

    /// The configured state again, where changes were applied.
    fn restore(&mut self) -> Result<(), MeasureError> {
        if self.changed || self.rig.is_none() {
            // The old one first, whose names and cores the new one takes.
            self.rig = None;
            let setup =
                Setup::<N> { driver: self.driver, config: &self.config, traffic: &self.traffic };
            self.rig = Some(setup.start(&self.options, &self.host).map_err(driver_error)?);
            self.changed = false;
            let workload = N::workload(&self.config, &self.traffic, self.host.clock);
            self.sessions = Opened::new(workload);
        }
        self.healthy()
    }

    fn healthy(&mut self) -> Result<(), MeasureError> {
        self.rig()?.running.health().map_err(driver_error)
    }

    fn rig(&mut self) -> Result<&mut Rig, MeasureError> {
        self.rig.as_mut().ok_or_else(|| device_error("it could not be set up again"))
    }

    fn has_control(&mut self) -> bool {
        self.rig.as_mut().is_some_and(|rig| rig.running.control().is_some())
    }

    fn workload(&self) -> N::Workload {
        let twin = self.sessions.twin();
        twin.unwrap_or_else(|| N::workload(&self.config, &self.traffic, self.host.clock))
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
        self.changed |= changes_something;
        let task = Task {
            subscribers_counted: self.conditions.subscribers_counted,
            floods: self.conditions.floods,
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

impl<N: NetworkFunction> Measurer for Remote<N> {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        if matches!(load, Load::ClosedLoop) {
            return Err(MeasureError::Unsupported(NO_CLOSED_LOOP));
        }
        self.restore()?;
        if self.is_interrupted() {
            return Err(MeasureError::Interrupted);
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
        let restarts = self.rig.as_ref().is_some_and(|rig| rig.running.restarts().is_some());
        if conditions.restart_after.is_some() && !restarts {
            return Err(MeasureError::Unsupported(NO_RESTART));
        }
        if conditions.fail_over_after.is_some() && self.standby()?.is_none() {
            return Err(MeasureError::Unsupported(NO_STANDBY));
        }
        self.conditions = *conditions;
        Ok(())
    }

    fn synchronise(&mut self, patience: Duration) -> Result<bool, MeasureError> {
        self.follow(patience)
    }

    fn floods(&self) -> Vec<&'static str> {
        self.workload().floods().iter().map(|flood| flood.name).collect()
    }

    fn sessions(&self) -> Option<SessionsThere> {
        self.sessions.there()
    }

    fn population(&self) -> Option<Population> {
        self.workload().population().map(population)
    }

    /// Sets it up anew, which every device can be.
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
        let setup =
            Setup::<N> { driver: self.driver, config: &self.config, traffic: &self.traffic };
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

/// What a device is set up from.
struct Setup<'a, N: NetworkFunction> {
    driver: &'static dyn Driver,
    config: &'a N::Config,
    traffic: &'a N::Traffic,
}

impl<N: NetworkFunction> Setup<'_, N> {
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
        let service = N::service(self.config);
        let write = |config: &N::Config| {
            serde_json::to_value(config).map_err(|error| {
                let what = format!("the configuration cannot be written: {error}");
                DriverError::new(what, "report it")
            })
        };
        let (configuration, standby) = match N::pair(self.config) {
            Some([active, standby]) => (write(&active)?, Some(write(&standby)?)),
            None => (write(self.config)?, None),
        };
        let frame_bytes_max = self.frame_bytes_max(host);
        let request = Start {
            service: &service,
            function: N::NAME,
            configuration: &configuration,
            standby: standby.as_ref(),
            options,
            workers: N::workers(self.config),
            cores: &host.worker_cores,
            frame_bytes_max,
            clock: host.clock,
            stop: host.stop.clone(),
        };
        let Some(mut running) = start(&request)? else { return Ok(None) };
        let ports = running.ports();
        let wanted = N::ports(self.config).len();
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

    /// The longest of the frames that will be sent, with room for what the device adds.
    fn frame_bytes_max(&self, host: &Host) -> usize {
        let workload = N::workload(self.config, self.traffic, host.clock);
        let drawn = room::frame_bytes_max(&workload);
        let sample =
            N::sample(self.config, self.traffic).into_iter().filter_map(|step| match step {
                functions::check::Step::Frame { frame, .. } => Some(frame.len()),
                functions::check::Step::Answer { answer, .. } => Some(answer.frame.len()),
                _ => None,
            });
        sample.max().unwrap_or(0).max(drawn).max(FRAME_BYTES_MIN) + HEADERS_ADDED
    }
}

impl Rig {
    /// One trial over the links.
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

/// What the tester's ports lost since they had lost `before`; of others' frames it is nobody's loss.
fn note_own_loss(trial: &mut Trial, links: &[Vec<PortLink>], before: u64) {
    let missing = trial.sent().saturating_sub(trial.received());
    trial.tester_ring_full = lost(links).saturating_sub(before).min(missing);
}

/// Takes what still waits of an earlier trial.
fn drain(links: &mut [Vec<PortLink>]) {
    for link in links.iter_mut().flatten() {
        for _ in 0..DRAINED_MAX {
            if !link.fetch(clock::now()) {
                break;
            }
            while link.next_frame().is_some() {}
        }
    }
}

/// Frames that the tester's ports have lost of what came in.
fn lost(links: &[Vec<PortLink>]) -> u64 {
    links.iter().flatten().map(PortLink::lost_on_receive).sum()
}

/// What the device used and counted between two looks.
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
}

/// A device's control, spoken to in JSON; one that has none is asked for nothing.
struct Spoken<'a> {
    control: Option<&'a mut dyn driver::Control>,
}

impl<U: serde::Serialize> Control<U> for Spoken<'_> {
    fn workers(&self) -> usize {
        usize::from(self.control.is_some())
    }

    fn request(&mut self, _: usize, update: &U) -> Option<u64> {
        let update = serde_json::to_value(update).ok()?;
        self.control.as_mut()?.request(&update)
    }

    fn acknowledged(&mut self, _: usize) -> Option<Acknowledgement> {
        self.control.as_mut()?.acknowledged()
    }
}

fn driver_error(error: DriverError) -> MeasureError {
    let DriverError { what, remedy } = error;
    device_error(if remedy.is_empty() { what } else { format!("{what}; {remedy}") })
}

/// Why a load as fast as the device goes cannot be made.
const NO_CLOSED_LOOP: &str = "a closed loop runs source and sink inside the worker, which only the \
                              device `embedded` lets a tester do; `throughput`, `loss-curve` and \
                              `latency` measure this one";

const NO_CONTROL: &str = "nothing can be changed on it while it runs; set the rates of changes in \
                          `function` to 0, or take a device with control (`embedded`, `process`)";

const NO_STANDBY: &str = "it has no standby that the tester could send its frames to; `replication: \
                          {role: rehearsal}` gives cgnat one on the devices `embedded` and `process`";

const NO_RESTART: &str = "it cannot be restarted while its links stay; take the device `embedded`, \
                          or `process` or `ovs` on virtual Ethernet";

/// The longest Ethernet frame without tags and check sequence: links carry it in any case.
const FRAME_BYTES_MIN: usize = 1514;

/// What a function may put in front of a frame: outer Ethernet, IPv6, UDP and tunnel headers.
const HEADERS_ADDED: usize = 128;

/// Bursts taken from a link before a trial, lest somebody else's flood keep it from beginning.
const DRAINED_MAX: usize = 10_000;
