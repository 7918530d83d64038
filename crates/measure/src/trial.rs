//! One trial: one load for one duration, and everything the device reported of it.

use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PathFailure, Pps, SessionCounts, SessionLoad};

/// A load that is offered to the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// As fast as the device accepts it: its worker runs the source and the sink itself.
    ClosedLoop,
    /// A rate per port and direction (as RFC 2544 counts loads), whatever the device does.
    PerInterface(Pps),
    /// A burst of back-to-back frames per port and direction, at `rate` from idle (RFC 9004); the
    /// rest of the duration is silence.
    Burst {
        /// Number of frames per port and direction.
        frames: u64,
        /// Rate of the frames within the burst.
        rate: Pps,
    },
    /// A rate per port and direction that changes once (RFC 2544 section 26.5).
    Step {
        /// First rate.
        first: Pps,
        /// Time of the change, since the first frame.
        after: Duration,
        /// Second rate.
        then: Pps,
    },
    /// Sessions of a stateful device, each of a few frames that answer each other (RFC 9693). All
    /// sessions are started; the duration of the trial is the time to wait for the last ones.
    Sessions(SessionLoad),
}

/// The results of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Requested load.
    pub load: Load,
    /// Requested duration.
    pub intended: Duration,
    /// Effective duration: from the first to the last frame sent, or from the first to the last
    /// session started.
    pub effective: Duration,
    /// One entry per direction in which frames were offered.
    pub directions: Vec<Direction>,
    /// Cycles by stage, summed over workers; the first is the source or receive side, the last the
    /// sink or transmit side, as `role` says.
    pub stages: Vec<Stage>,
    /// The largest number of ticks that one batch of any worker took in the stages of the function;
    /// none if the device does not report it.
    pub longest_batch_ticks: Option<u64>,
    /// Drops by reason as counted by the device during the trial, without zero counts.
    pub drops: Vec<(String, u64)>,
    /// Changes at run time, by kind.
    pub events: Vec<Events>,
    /// Gaps in the threads' own time.
    pub stalls: Vec<Stalls>,
    /// CPU time of each worker thread.
    pub workers: Vec<WorkerTime>,
    /// CPU time of the tester's thread.
    pub tester: Option<WorkerTime>,
    /// Number of frames that came back while the tester's own ring was full, and of other received
    /// frames that the tester's ports lost.
    pub tester_ring_full: u64,
    /// Number of foreign frames that the tester received and ignored: address resolution, router
    /// advertisements, late frames of an earlier trial.
    pub foreign: u64,
    /// CPU time of a device that is not part of this program, if known.
    pub device_cpu: Option<DeviceCpu>,
    /// Resident memory of the device's process at the end of the trial, in bytes.
    pub resident_bytes: Option<u64>,
    /// Traffic passed by policers, by subscriber, if requested.
    pub policed: Vec<Policed>,
    /// Counters of the floods, one entry per flood.
    pub floods: Vec<FloodCounts>,
    /// The restart of the device, if requested.
    pub restart: Option<Restart>,
    /// The take-over by a standby, if requested.
    pub takeover: Option<Takeover>,
    /// The failure of a path, if requested.
    pub path_failure: Option<PathFailure>,
    /// Results of the sessions, if the load consisted of sessions.
    pub sessions: Option<SessionCounts>,
    /// Occupancy of the device's tables at the end, if the device reports it.
    pub tables: Vec<TableUse>,
    /// Log messages of the device, by equal intervals of the trial.
    pub reports: Vec<Reports>,
    /// Rate of the stages' clock, in ticks per second.
    pub ticks_per_second: f64,
}

/// Clients that generate traffic in real time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// Number of clients.
    pub clients: u64,
    /// Rate of frames sent by and to the clients, in frames per second.
    pub frames_per_s: f64,
}

/// Occupancy of a table of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableUse {
    /// Name of the table: `sessions`, `mappings` …
    pub name: String,
    /// Number of entries in use.
    pub entries: u64,
}

/// Log messages of the device in an interval of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames, including the frame check sequence.
    pub bytes: u64,
}

/// Counters of a flood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloodCounts {
    /// Name of the flood: `icmp-echo`, `arp` …
    pub name: String,
    /// Frames offered to the device.
    pub sent: u64,
    /// Number of offered frames that the device's full receive ring refused.
    pub ring_full: u64,
    /// Number of answers of the device itself: echo replies, ARP replies …
    pub answered: u64,
}

/// A restart of the device during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restart {
    /// Time of the restart command in nanoseconds, since the first frame.
    pub asked_ns: u64,
    /// Time until the device reported that it is ready, in nanoseconds.
    pub ready_after_ns: u64,
    /// The longest time in the trial without any frame from the device, in nanoseconds; it includes
    /// gaps that a buffer in front of the device bridged without loss.
    pub silence_ns: u64,
    /// What was restarted: `the function and its state`, `the process` …
    pub what: String,
}

/// A take-over by a standby during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Takeover {
    /// Time of the end of the active device in nanoseconds, since the start of the trial.
    pub asked_ns: u64,
    /// Time until the standby was in its place, in nanoseconds.
    pub ready_after_ns: u64,
    /// The longest time in the trial without any frame from the device, in nanoseconds.
    pub silence_ns: u64,
    /// Number of changes that the standby had not acknowledged when the active device ended.
    pub unacknowledged: u64,
    /// What took over: `a standby in the same process` …
    pub what: String,
}

/// CPU time that a device outside this program used during a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCpu {
    /// CPU time in nanoseconds.
    pub ns: u64,
    /// What the time covers: `2 threads of ovs-vswitchd`, `softirq on core 1` …
    pub of: String,
}

/// Traffic that a policer passed for one subscriber in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policed {
    /// Number of the subscriber, from 0.
    pub subscriber: u64,
    /// Class of service; the direction's name if the function has no classes.
    pub class: String,
    /// Configured rate of the policer, in bytes per second as it counts them.
    pub configured_bytes_per_s: f64,
    /// Burst of the policer, in bytes.
    pub burst_bytes: f64,
    /// Bytes sent in the duration of the trial, as the policer counts them.
    pub offered_bytes: u64,
    /// Bytes that came back of those sent.
    pub passed_bytes: u64,
}

/// Counters of one direction of traffic; sent = received + lost, without duplicates.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Name of the direction: `uplink`, `downlink` …
    pub name: String,
    /// Number of frames that the load requested in the effective duration.
    pub intended: u64,
    /// Number of frames offered to the device, including those that its full ring refused, without
    /// those that the tester's own port refused.
    pub sent: u64,
    /// Number of distinct frames that came back correctly.
    pub received: u64,
    /// Number of lost frames: `sent - received`.
    pub lost: u64,
    /// Number of lost frames that the device's full receive ring refused.
    pub ring_full: u64,
    /// Number of duplicates; each repetition counts.
    pub duplicated: u64,
    /// Number of frames that arrived behind a later frame (RFC 4737 section 3).
    pub reordered: u64,
    /// Number of frames that came back at the wrong port or with wrong contents.
    pub misdelivered: u64,
    /// Bytes sent, including the frame check sequence.
    pub sent_bytes: u64,
    /// Time from transmission to reception, in nanoseconds; empty in a closed loop.
    pub latency_ns: Histogram<u64>,
    /// Time of transmission of the last lost frame in nanoseconds, since the first frame; none
    /// without loss, or if the tester does not know it.
    pub last_lost_ns: Option<u64>,
}

/// Cycles of a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Name of the stage, as in the function's pipeline.
    pub name: String,
    /// Whether the stage belongs to the function or to the bench around it.
    pub role: StageRole,
    /// Number of packets that passed the stage.
    pub packets: u64,
    /// Ticks of the time-stamp counter spent in the stage.
    pub ticks: u64,
}

/// Owner of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StageRole {
    /// The function: the stage counts in the *function* figure and the *total* figure.
    Function,
    /// The bench (source, sink, receive and transmit): the stage counts in the *total* figure only.
    Bench,
}

/// Changes of one kind during a trial.
#[derive(Clone, Debug)]
pub struct Events {
    /// Kind of the change: `handover`, `user-update` …
    pub kind: String,
    /// Number of requested changes.
    pub requested: u64,
    /// Number of acknowledged changes.
    pub acknowledged: u64,
    /// Number of refused changes, because of a full queue or because the change is impossible.
    pub refused: u64,
    /// Number of frames that showed the old state after the acknowledgement.
    pub late_frames: u64,
    /// Time from request to acknowledgement, in nanoseconds.
    pub accepted_ns: Histogram<u64>,
    /// Time from request to the first frame that shows the change, in nanoseconds.
    pub visible_ns: Histogram<u64>,
    /// The longest time in nanoseconds without any frame from the device between a request and the
    /// first frame that shows the change, or the acknowledgement if no frame can show it.
    pub blackout_ns: Histogram<u64>,
}

/// Gaps in a thread's own time, detected by its loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stalls {
    /// Name of the thread: `tester`, `worker 0` …
    pub thread: String,
    /// Number of gaps above the threshold.
    pub count: u64,
    /// Sum of the gaps, in nanoseconds.
    pub total_ns: u64,
    /// The longest gap, in nanoseconds.
    pub longest_ns: u64,
    /// Shortest gap that is counted, in nanoseconds.
    pub threshold_ns: u64,
    /// Sum of the gaps in which a ring may have run over, in nanoseconds: those that it does not
    /// bridge at the rate of the trial, alone or a few together.
    pub long_ns: u64,
}

/// CPU time of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerTime {
    /// Number of the worker.
    pub worker: usize,
    /// The core to which the worker was pinned; none if it could not be pinned.
    pub core: Option<usize>,
    /// CPU time of the worker's thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Wall time of the same interval, in nanoseconds.
    pub wall_ns: u64,
    /// Number of packets that the worker processed.
    pub packets: u64,
}

/// Why a trial could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The device failed or refused.
    #[error("the device failed: {0}")]
    Device(String),
    /// The device does not support this kind of load.
    #[error("this device cannot carry such a load: {0}; choose another method or device")]
    Unsupported(&'static str),
    /// The scenario has nothing for this method to measure; the text says what to change.
    #[error("{0}")]
    NothingToMeasure(String),
}

impl Load {
    /// Rate per port and direction; the first rate of a step, none for a closed loop and for
    /// sessions.
    pub fn rate(self) -> Option<Pps> {
        match self {
            Self::ClosedLoop | Self::Sessions(_) => None,
            Self::PerInterface(rate) | Self::Burst { rate, .. } => Some(rate),
            Self::Step { first, .. } => Some(first),
        }
    }
}

impl Trial {
    /// The results of a trial that has not started.
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
            path_failure: None,
            sessions: None,
            tables: Vec::new(),
            reports: Vec::new(),
            ticks_per_second,
        }
    }

    /// Number of frames offered, all directions together.
    pub fn sent(&self) -> u64 {
        self.directions.iter().map(|d| d.sent).sum()
    }

    /// Number of frames received, all directions together.
    pub fn received(&self) -> u64 {
        self.directions.iter().map(|d| d.received).sum()
    }

    /// Lost frames as a fraction of offered frames, all directions together; 0 if none was offered.
    pub fn loss_ratio(&self) -> f64 {
        let sent = self.sent();
        if sent == 0 { 0.0 } else { (sent - self.received().min(sent)) as f64 / sent as f64 }
    }
}
