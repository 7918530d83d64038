//! The serialisable form of a [`Trial`]: raw counts, and histograms in HdrHistogram's V2 encoding.
//!
//! Derived values (loss in percent, percentiles, nanoseconds a packet) stand beside the raw ones so
//! that a reader needs no library, and are never read back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{Distribution, ratio};
use super::{Limit, ReportsRecord, SessionsRecord, TableRecord};
use crate::{
    DeviceCpu, Direction, Events, Load, PathFailure, Policed, SessionAction, Stage, StageRole,
    Stalls, Takeover, Trial, WorkerTime,
};

/// The record of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Number of the trial in the outcome, from 0.
    pub index: usize,
    /// The repetition of the measurement to which the trial belongs, from 0.
    #[serde(default)]
    pub repetition: u32,
    /// Purpose of the trial: `warm-up`, `repetition`, `search`, `verification`, `confirmation` …
    pub purpose: String,
    /// Offered load.
    pub load: LoadRecord,
    /// Requested duration, in nanoseconds.
    pub intended_ns: u64,
    /// Effective duration in nanoseconds: from the first to the last frame sent, or from the first
    /// to the last session started.
    pub effective_ns: u64,
    /// Lost frames divided by sent frames, all directions together.
    pub loss_fraction: f64,
    /// Lost frames in percent of sent frames, all directions together.
    pub loss_percent: f64,
    /// One entry per direction in which frames were offered.
    pub directions: Vec<DirectionRecord>,
    /// Cycles by stage, summed over workers.
    pub stages: Vec<StageRecord>,
    /// The longest time of one batch in the stages of the function in nanoseconds, including a
    /// stall within it; absent if the device does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_batch_ns: Option<f64>,
    /// Drops counted by the device, by reason.
    pub drops: Vec<DropRecord>,
    /// Changes at run time, by kind.
    pub events: Vec<EventsRecord>,
    /// Gaps in the threads' own time.
    pub stalls: Vec<StallsRecord>,
    /// CPU time of the workers.
    pub workers: Vec<WorkerRecord>,
    /// CPU time of the tester's thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester: Option<WorkerRecord>,
    /// Number of frames that came back while the tester's own ring was full.
    #[serde(default)]
    pub tester_ring_full: u64,
    /// Number of foreign frames that the tester received and ignored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign: u64,
    /// CPU time of a device that is not part of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_cpu: Option<DeviceCpu>,
    /// Resident memory of the device's process at the end of the trial, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Traffic passed by policers, by subscriber, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policed: Vec<Policed>,
    /// The take-over by a standby, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Takeover>,
    /// The failure of a path, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_failure: Option<PathFailure>,
    /// Results of the sessions, if the load consisted of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsRecord>,
    /// Occupancy of the device's tables at the end, if the device reports it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableRecord>,
    /// Log messages of the device, by equal intervals of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportsRecord>,
    /// Rate of the stages' clock, in ticks per second.
    pub ticks_per_second: f64,
    /// Limits and disturbances of this trial.
    pub limits: Vec<Limit>,
}

/// The load of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LoadRecord {
    /// As fast as the device accepts it.
    ClosedLoop,
    /// A rate per port and direction.
    PerInterface {
        /// Frames per second per port and direction.
        pps: f64,
    },
    /// A burst of back-to-back frames per port and direction, from idle.
    Burst {
        /// Number of frames per port and direction.
        frames: u64,
        /// Rate of the frames within the burst, in frames per second.
        pps: f64,
    },
    /// A rate per port and direction that changes once.
    Step {
        /// First rate, in frames per second.
        pps: f64,
        /// Time of the change in nanoseconds, since the first frame.
        after_ns: u64,
        /// Second rate, in frames per second.
        then_pps: f64,
    },
    /// Sessions of a stateful device.
    Sessions {
        /// The action on each session.
        action: SessionAction,
        /// Number of the first session.
        first: u64,
        /// Number of sessions.
        count: u64,
        /// Rate of new sessions per second; absent for as fast as they succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sessions_per_s: Option<f64>,
    },
}

/// Counters of one direction; sent = received + lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionRecord {
    /// Name of the direction: `uplink`, `downlink` …
    pub name: String,
    /// Number of frames that the load requested in the effective duration.
    pub intended: u64,
    /// Number of frames offered.
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
    /// Fraction of lost frames: `lost / sent`.
    pub loss_fraction: f64,
    /// Percentage of lost frames.
    pub loss_percent: f64,
    /// Frames sent per second of the effective duration.
    pub offered_pps: f64,
    /// Frames per second that the device's ring accepted: sent, minus those refused when full.
    #[serde(default)]
    pub accepted_pps: f64,
    /// Frames received per second of the effective duration.
    pub forwarded_pps: f64,
    /// Time from transmission to reception; absent if no frame was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Distribution>,
    /// Time of transmission of the last lost frame in nanoseconds, since the first frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_lost_ns: Option<u64>,
}

/// Cycles of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// Name of the stage, as in the function's pipeline.
    pub name: String,
    /// Whether the stage belongs to the function or to the bench.
    pub role: StageRole,
    /// Number of packets that passed the stage.
    pub packets: u64,
    /// Ticks of the time-stamp counter spent in the stage.
    pub ticks: u64,
    /// TSC cycles per packet of the stage; 0 without packets.
    pub ticks_per_packet: f64,
    /// Nanoseconds per packet of the stage; 0 without packets.
    pub ns_per_packet: f64,
}

/// Drops for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropRecord {
    /// Name of the reason in the function's documentation.
    pub reason: String,
    /// Number of packets dropped for the reason during the trial.
    pub packets: u64,
}

/// Changes of one kind during a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventsRecord {
    /// Kind of the change: `handover`, `user-update` …
    pub kind: String,
    /// Number of requested changes.
    pub requested: u64,
    /// Number of acknowledged changes.
    pub acknowledged: u64,
    /// Number of refused changes.
    pub refused: u64,
    /// Number of frames that showed the old state after the acknowledgement.
    pub late_frames: u64,
    /// Time from request to acknowledgement; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Distribution>,
    /// Time from request to the first frame that shows the change; absent if no frame did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<Distribution>,
    /// The longest silence of the device around each change; absent if none was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blackout: Option<Distribution>,
}

/// Gaps in a thread's own time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallsRecord {
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
    /// Sum of the gaps in which a ring may have run over, in nanoseconds; loss is explained by a
    /// stall only as far as it fits into these.
    #[serde(default)]
    pub long_ns: u64,
}

/// CPU time of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRecord {
    /// Number of the worker.
    pub worker: usize,
    /// The core to which the worker was pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<usize>,
    /// CPU time of the worker's thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Wall time of the same interval, in nanoseconds.
    pub wall_ns: u64,
    /// Number of packets that the worker processed.
    pub packets: u64,
}

impl TrialRecord {
    /// The record of a trial that a method made for `purpose`.
    pub fn new(index: usize, purpose: &str, trial: &Trial, limits: Vec<Limit>) -> Self {
        let loss_fraction = trial.loss_ratio();
        let seconds = trial.effective.as_secs_f64();
        let ns_per_tick =
            if trial.ticks_per_second > 0.0 { 1e9 / trial.ticks_per_second } else { 0.0 };
        Self {
            index,
            repetition: 0,
            purpose: purpose.into(),
            load: trial.load.into(),
            intended_ns: saturating_ns(trial.intended),
            effective_ns: saturating_ns(trial.effective),
            loss_fraction,
            loss_percent: loss_fraction * 100.0,
            directions: trial.directions.iter().map(|d| DirectionRecord::new(d, seconds)).collect(),
            stages: trial.stages.iter().map(|s| StageRecord::new(s, ns_per_tick)).collect(),
            longest_batch_ns: trial.longest_batch_ticks.map(|ticks| ticks as f64 * ns_per_tick),
            drops: trial.drops.iter().map(DropRecord::from).collect(),
            events: trial.events.iter().map(EventsRecord::from).collect(),
            stalls: trial.stalls.iter().map(StallsRecord::from).collect(),
            workers: trial.workers.iter().map(WorkerRecord::from).collect(),
            tester: trial.tester.as_ref().map(WorkerRecord::from),
            tester_ring_full: trial.tester_ring_full,
            foreign: trial.foreign,
            device_cpu: trial.device_cpu.clone(),
            resident_bytes: trial.resident_bytes,
            policed: trial.policed.clone(),
            takeover: trial.takeover.clone(),
            path_failure: trial.path_failure.clone(),
            sessions: trial.sessions.as_ref().map(|counts| SessionsRecord::new(counts, seconds)),
            tables: trial.tables.iter().map(TableRecord::from).collect(),
            reports: trial.reports.iter().map(ReportsRecord::from).collect(),
            ticks_per_second: trial.ticks_per_second,
            limits,
        }
    }

    /// CPU time of the device per returned frame in nanoseconds, including idle polling; none if it
    /// is unknown or no frame returned.
    pub fn device_cpu_ns_per_packet(&self) -> Option<f64> {
        let workers = || self.workers.iter().map(|worker| worker.cpu_ns).sum();
        let cpu_ns = self.device_cpu.as_ref().map_or_else(workers, |cpu| cpu.ns);
        self.per_packet(cpu_ns as f64)
    }

    /// Time in stages per returned frame in nanoseconds, if the device reports it; idle polling is
    /// not included.
    pub fn device_busy_ns_per_packet(&self) -> Option<f64> {
        let ticks: u64 = self.stages.iter().map(|stage| stage.ticks).sum();
        self.per_packet(ratio(ticks as f64 * 1e9, self.ticks_per_second))
    }

    fn per_packet(&self, ns: f64) -> Option<f64> {
        let packets: u64 = self.directions.iter().map(|direction| direction.received).sum();
        (ns > 0.0 && packets > 0).then(|| ns / packets as f64)
    }

    /// The load per port and direction in frames per second, if it is a rate.
    pub fn load_pps(&self) -> Option<f64> {
        match self.load {
            LoadRecord::ClosedLoop | LoadRecord::Sessions { .. } => None,
            LoadRecord::PerInterface { pps }
            | LoadRecord::Burst { pps, .. }
            | LoadRecord::Step { pps, .. } => Some(pps),
        }
    }
}

impl DirectionRecord {
    fn new(d: &Direction, seconds: f64) -> Self {
        let loss_fraction = ratio(d.lost as f64, d.sent as f64);
        Self {
            name: d.name.clone(),
            intended: d.intended,
            sent: d.sent,
            received: d.received,
            lost: d.lost,
            ring_full: d.ring_full,
            duplicated: d.duplicated,
            reordered: d.reordered,
            misdelivered: d.misdelivered,
            sent_bytes: d.sent_bytes,
            loss_fraction,
            loss_percent: loss_fraction * 100.0,
            offered_pps: ratio(d.sent as f64, seconds),
            accepted_pps: ratio(d.sent.saturating_sub(d.ring_full) as f64, seconds),
            forwarded_pps: ratio(d.received as f64, seconds),
            latency: Distribution::of(&d.latency_ns),
            last_lost_ns: d.last_lost_ns,
        }
    }
}

impl StageRecord {
    fn new(stage: &Stage, ns_per_tick: f64) -> Self {
        let ticks_per_packet = ratio(stage.ticks as f64, stage.packets as f64);
        Self {
            name: stage.name.clone(),
            role: stage.role,
            packets: stage.packets,
            ticks: stage.ticks,
            ticks_per_packet,
            ns_per_packet: ticks_per_packet * ns_per_tick,
        }
    }
}

impl From<Load> for LoadRecord {
    fn from(load: Load) -> Self {
        match load {
            Load::ClosedLoop => Self::ClosedLoop,
            Load::PerInterface(rate) => Self::PerInterface { pps: rate.0 },
            Load::Burst { frames, rate } => Self::Burst { frames, pps: rate.0 },
            Load::Step { first, after, then } => {
                Self::Step { pps: first.0, after_ns: saturating_ns(after), then_pps: then.0 }
            }
            Load::Sessions(load) => Self::Sessions {
                action: load.action,
                first: load.first,
                count: load.count,
                sessions_per_s: load.rate,
            },
        }
    }
}

impl From<&(String, u64)> for DropRecord {
    fn from((reason, packets): &(String, u64)) -> Self {
        Self { reason: reason.clone(), packets: *packets }
    }
}

impl From<&Events> for EventsRecord {
    fn from(e: &Events) -> Self {
        Self {
            kind: e.kind.clone(),
            requested: e.requested,
            acknowledged: e.acknowledged,
            refused: e.refused,
            late_frames: e.late_frames,
            accepted: Distribution::of(&e.accepted_ns),
            visible: Distribution::of(&e.visible_ns),
            blackout: Distribution::of(&e.blackout_ns),
        }
    }
}

impl From<&Stalls> for StallsRecord {
    fn from(s: &Stalls) -> Self {
        Self {
            thread: s.thread.clone(),
            count: s.count,
            total_ns: s.total_ns,
            longest_ns: s.longest_ns,
            threshold_ns: s.threshold_ns,
            long_ns: s.long_ns,
        }
    }
}

impl From<&WorkerTime> for WorkerRecord {
    fn from(w: &WorkerTime) -> Self {
        Self {
            worker: w.worker,
            core: w.core,
            cpu_ns: w.cpu_ns,
            wall_ns: w.wall_ns,
            packets: w.packets,
        }
    }
}

/// Nanoseconds of a duration, limited to 584 years.
fn saturating_ns(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether a count is 0 and is omitted from the record.
fn is_zero(count: &u64) -> bool {
    *count == 0
}
