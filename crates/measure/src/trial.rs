//! One trial: one load for one duration, and everything the device reported of it.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Pps, SessionCounts, SessionLoad, SessionsThere};

/// A method's only contact with the world.
///
/// Only [`Measurer::measure`] must be there; what a device cannot do beyond it, it refuses or leaves
/// out, and the method says so.
pub trait Measurer {
    /// Offers `load` for `duration` and tells what came of it.
    ///
    /// # Errors
    /// When the trial could not be carried out at all; loss is not an error.
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError>;

    /// Sets what holds for the trials that follow, until it is set again.
    ///
    /// # Errors
    /// When the device or the workload cannot do it.
    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        if *conditions == Conditions::default() {
            Ok(())
        } else {
            Err(MeasureError::Unsupported("it runs under its own conditions only"))
        }
    }

    /// The same traffic with a wire in the place of the device: what the tester alone sends and
    /// takes back (RFC 2544 asks to know it, the MLRsearch draft too). None where there is no such
    /// wire.
    ///
    /// # Errors
    /// As [`Measurer::measure`].
    fn tester_alone(
        &mut self,
        _rate: Pps,
        _duration: Duration,
        _watch: &mut dyn Watch,
    ) -> Result<Option<Trial>, MeasureError> {
        Ok(None)
    }

    /// The floods that can be sent beside a load, by name; none where the workload has none.
    fn floods(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The sessions that its traffic can make, for [`Load::Sessions`]; none where it has none.
    fn sessions(&self) -> Option<SessionsThere> {
        None
    }

    /// The clients whose doings its traffic is, where it is that.
    fn population(&self) -> Option<Population> {
        None
    }

    /// Lets the standby of the device come up with it, for so long at most; whether it has acknowledged all
    /// there is.
    ///
    /// # Errors
    /// When there is none, or the device broke on the way.
    fn synchronise(&mut self, _patience: Duration) -> Result<bool, MeasureError> {
        Err(MeasureError::Unsupported("it has no standby"))
    }

    /// Has the device hold no session: its own way of forgetting them all, in as long as it takes.
    ///
    /// # Errors
    /// When it cannot, or broke on the way.
    fn clear_sessions(&mut self) -> Result<(), MeasureError> {
        Err(MeasureError::Unsupported("its sessions cannot be cleared"))
    }
}

/// What holds during trials beside their load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Changes a second of all kinds together, in the proportions of the configuration; none for
    /// as many as it has.
    pub updates_per_s: Option<f64>,
    /// Of how many subscribers the passed bytes are counted one by one; 0 for none.
    pub subscribers_counted: u32,
    /// When, after the first frame, the device is restarted; none for not at all.
    pub restart_after: Option<Duration>,
    /// When, after a trial of sessions begins, the device ends and its standby goes on; none for not at all.
    pub fail_over_after: Option<Duration>,
    /// What is sent to the device beside the load, and counted apart from it.
    pub floods: [Option<Flood>; 2],
}

/// Frames that are no part of the load: what an attacker sends, or a prober.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flood {
    /// Which of [`Measurer::floods`].
    pub kind: usize,
    /// How many a second.
    pub rate: Pps,
}

/// Told how a trial goes while it runs; a progress display implements it.
pub trait Watch {
    /// Called a few times a second.
    fn at(&mut self, progress: TrialProgress);
}

/// Where a running trial stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialProgress {
    /// Time since the trial began.
    pub elapsed: Duration,
    /// Frames sent so far, all directions together.
    pub sent: u64,
    /// Frames received so far.
    pub received: u64,
}

/// What is offered to the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// As fast as the device takes it: its worker runs the source and the sink itself.
    ClosedLoop,
    /// Frames a second on each interface that sends (RFC 2544 counts loads so), whatever the
    /// device does with them.
    PerInterface(Pps),
    /// So many frames back to back on each interface, at `rate` from idle (RFC 9004); the rest of
    /// the duration is silence.
    Burst {
        /// Frames on each interface.
        frames: u64,
        /// How fast they follow each other.
        rate: Pps,
    },
    /// One rate on each interface, and another from some time on (RFC 2544 section 26.5).
    Step {
        /// Frames a second at first.
        first: Pps,
        /// When the rate changes, since the first frame.
        after: Duration,
        /// Frames a second from then on.
        then: Pps,
    },
    /// Sessions of a stateful device, each of a few frames that answer each other (RFC 9693). All of
    /// them are begun; the duration of the trial is how long the last ones are waited for.
    Sessions(SessionLoad),
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What was asked for.
    pub load: Load,
    /// How long it was asked to last.
    pub intended: Duration,
    /// From the first frame sent to the last frame sent; of sessions from the first one begun to the
    /// last one begun.
    pub effective: Duration,
    /// One entry a direction in which frames were offered.
    pub directions: Vec<Direction>,
    /// Cycles by stage, summed over workers; the first is the source or receive side, the last the
    /// sink or transmit side, as `role` says.
    pub stages: Vec<Stage>,
    /// The most ticks that one batch took in the stages of the function, of any worker; none where the device does
    /// not tell.
    pub longest_batch_ticks: Option<u64>,
    /// Drops by reason as the device counted them during the trial, zero counts left out.
    pub drops: Vec<(String, u64)>,
    /// Changes at run time, by kind.
    pub events: Vec<Events>,
    /// What the threads noticed of the machine.
    pub stalls: Vec<Stalls>,
    /// CPU time each worker thread used, for cycles on its own time.
    pub workers: Vec<WorkerTime>,
    /// CPU time of the tester's thread.
    pub tester: Option<WorkerTime>,
    /// Frames that came back while the tester's own ring was full, and whatever else its own ports
    /// lost of what came in: lost by the tester, not the device.
    pub tester_ring_full: u64,
    /// Frames of others that the tester heard and passed over: address resolution, routers
    /// advertising themselves, stragglers of an earlier trial.
    pub foreign: u64,
    /// CPU time of a device that is not part of this program, where it can be told.
    pub device_cpu: Option<DeviceCpu>,
    /// Memory of the process that is the device, at the end of the trial.
    pub resident_bytes: Option<u64>,
    /// What the policers let through, by subscriber, where it was asked for.
    pub policed: Vec<Policed>,
    /// What became of the frames beside the load, one entry a flood.
    pub floods: Vec<FloodCounts>,
    /// The restart of the device, where one was asked for.
    pub restart: Option<Restart>,
    /// The standby that took over, where that was asked for.
    pub takeover: Option<Takeover>,
    /// What became of the sessions, where the load was of such.
    pub sessions: Option<SessionCounts>,
    /// How full the tables of the device are at the end, where it tells.
    pub tables: Vec<TableUse>,
    /// What the device reported by frames of its own, in even pieces of the trial.
    pub reports: Vec<Reports>,
    /// How many ticks of the stages' clock make a second.
    pub ticks_per_second: f64,
}

/// Clients that do what they do by the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// How many.
    pub clients: u64,
    /// Frames a second that they send, and that are sent to them.
    pub frames_per_s: f64,
}

/// How full a table of the device is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableUse {
    /// Its name: `sessions`, `mappings` …
    pub name: String,
    /// Entries that it has.
    pub entries: u64,
}

/// Frames by which the device reports what happens in it: logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// How many.
    pub frames: u64,
    /// Their bytes, frame check sequence included.
    pub bytes: u64,
}

/// What became of a flood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloodCounts {
    /// Its name: `icmp-echo`, `arp` …
    pub name: String,
    /// Frames offered to the device.
    pub sent: u64,
    /// Of these, refused because the device's receive ring was full.
    pub ring_full: u64,
    /// Answers of the device itself: echo replies, ARP replies …
    pub answered: u64,
}

/// A restart of the device during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restart {
    /// When it was asked for, since the first frame, in nanoseconds.
    pub asked_ns: u64,
    /// How long the device took to say that it runs again, in nanoseconds.
    pub ready_after_ns: u64,
    /// The longest time in the trial without any frame from the device, in nanoseconds: what a buffer
    /// in front of it bridges without loss is in it, too.
    pub silence_ns: u64,
    /// What was restarted: `the function and its state`, `the process` …
    pub what: String,
}

/// A standby that took over during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Takeover {
    /// When the active device ended, since the trial began, in nanoseconds.
    pub asked_ns: u64,
    /// How long it took until the standby was in its place, in nanoseconds.
    pub ready_after_ns: u64,
    /// The longest time in the trial without any frame from the device, in nanoseconds.
    pub silence_ns: u64,
    /// Changes that the standby had not acknowledged when the active device ended.
    pub unacknowledged: u64,
    /// What took over: `a standby in the same process` …
    pub what: String,
}

/// What a device of another making used of the machine during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCpu {
    /// CPU time in nanoseconds.
    pub ns: u64,
    /// What it covers: `2 threads of ovs-vswitchd`, `softirq on core 1` …
    pub of: String,
}

/// What a policer let through of one subscriber's traffic in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policed {
    /// Which subscriber, from 0.
    pub subscriber: u64,
    /// Its class of service; the direction's name where the function knows no classes.
    pub class: String,
    /// What the policer is to let through, bytes a second as it counts them.
    pub configured_bytes_per_s: f64,
    /// How much more it may let through at once, in bytes.
    pub burst_bytes: f64,
    /// Bytes sent in the duration of the trial, as the policer counts them.
    pub offered_bytes: u64,
    /// Of these, bytes that came back.
    pub passed_bytes: u64,
}

/// Counts of one direction of traffic; sent = received + lost, duplicates apart.
#[derive(Clone, Debug)]
pub struct Direction {
    /// `uplink`, `downlink` …
    pub name: String,
    /// Frames the load asked for in the effective duration.
    pub intended: u64,
    /// Frames offered to the device, those its full ring refused included; not those that the
    /// tester's own port refused.
    pub sent: u64,
    /// Distinct frames that came back where they belong.
    pub received: u64,
    /// Offered and never seen again: `sent - received`.
    pub lost: u64,
    /// Of the lost: refused because the device's receive ring was full.
    pub ring_full: u64,
    /// Frames seen more than once, each repetition counted.
    pub duplicated: u64,
    /// Frames that came after a later one (RFC 4737 section 3).
    pub reordered: u64,
    /// Frames that came back, but where or in a form the workload did not expect.
    pub misdelivered: u64,
    /// Bytes sent, frame check sequence included.
    pub sent_bytes: u64,
    /// Time from sending to receiving, in nanoseconds; empty in a closed loop.
    pub latency_ns: Histogram<u64>,
    /// When the last frame that was lost was sent, since the first frame; none without loss, or
    /// where the tester cannot tell.
    pub last_lost_ns: Option<u64>,
}

/// Cycles of one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The stage's name, as the pipeline's file has it.
    pub name: String,
    /// Whether the stage belongs to the function or to the bench around it.
    pub role: StageRole,
    /// Packets that went through it.
    pub packets: u64,
    /// Ticks of the time-stamp clock it took.
    pub ticks: u64,
}

/// Whose work a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StageRole {
    /// Part of what is measured: counts in the *function* and the *total* figure.
    Function,
    /// Source, sink, receive and transmit: counts in the *total* only.
    Bench,
}

/// Changes of one kind during a trial.
#[derive(Clone, Debug)]
pub struct Events {
    /// `handover`, `user-update` …
    pub kind: String,
    /// Requested of the device.
    pub requested: u64,
    /// Acknowledged by it.
    pub acknowledged: u64,
    /// Refused by it, the queue being full or the change impossible.
    pub refused: u64,
    /// Frames that still showed the state from before the acknowledgement.
    pub late_frames: u64,
    /// Request to acknowledgement, in nanoseconds.
    pub accepted_ns: Histogram<u64>,
    /// Request to the first frame that shows the change, in nanoseconds.
    pub visible_ns: Histogram<u64>,
    /// The longest time without any frame from the device between a request and the first frame
    /// that shows the change (or its acknowledgement, where no frame can), in nanoseconds.
    pub blackout_ns: Histogram<u64>,
}

/// Gaps in a thread's own time, seen by its loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stalls {
    /// `tester`, `worker 0` …
    pub thread: String,
    /// Gaps over the threshold.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub total_ns: u64,
    /// The longest one in nanoseconds.
    pub longest_ns: u64,
    /// What counts as a gap, in nanoseconds.
    pub threshold_ns: u64,
}

/// The CPU time of one worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerTime {
    /// Which worker.
    pub worker: usize,
    /// The core it was pinned to, if it could be.
    pub core: Option<usize>,
    /// CPU time its thread used, in nanoseconds.
    pub cpu_ns: u64,
    /// Wall time of the same span, in nanoseconds.
    pub wall_ns: u64,
    /// Packets it processed.
    pub packets: u64,
}

/// A trial that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The device broke or refused.
    #[error("the device failed: {0}")]
    Device(String),
    /// The device cannot carry this kind of load.
    #[error("this device cannot carry such a load: {0}; choose another method or device")]
    Unsupported(&'static str),
    /// The scenario leaves this method nothing to measure; the text says what to change.
    #[error("{0}")]
    NothingToMeasure(String),
}

impl Load {
    /// Frames a second on each interface; the first of a step, none in a closed loop and of sessions.
    pub fn rate(self) -> Option<Pps> {
        match self {
            Self::ClosedLoop | Self::Sessions(_) => None,
            Self::PerInterface(rate) | Self::Burst { rate, .. } => Some(rate),
            Self::Step { first, .. } => Some(first),
        }
    }
}

impl Trial {
    /// A trial in which nothing has happened yet.
    pub fn new(load: Load, intended: Duration, ticks_per_second: f64) -> Self {
        Self {
            load,
            intended,
            effective: Duration::ZERO,
            directions: Vec::new(),
            stages: Vec::new(),
            longest_batch_ticks: None,
            drops: Vec::new(),
            events: Vec::new(),
            stalls: Vec::new(),
            workers: Vec::new(),
            tester: None,
            tester_ring_full: 0,
            foreign: 0,
            device_cpu: None,
            resident_bytes: None,
            policed: Vec::new(),
            floods: Vec::new(),
            restart: None,
            takeover: None,
            sessions: None,
            tables: Vec::new(),
            reports: Vec::new(),
            ticks_per_second,
        }
    }

    /// Frames offered, all directions.
    pub fn sent(&self) -> u64 {
        self.directions.iter().map(|d| d.sent).sum()
    }

    /// Frames received, all directions.
    pub fn received(&self) -> u64 {
        self.directions.iter().map(|d| d.received).sum()
    }

    /// Lost frames as a fraction of those offered, all directions together; 0 when none was.
    pub fn loss_ratio(&self) -> f64 {
        let sent = self.sent();
        if sent == 0 { 0.0 } else { (sent - self.received().min(sent)) as f64 / sent as f64 }
    }
}
