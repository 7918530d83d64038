//! The serialisable form of a [`Trial`]: raw counts, and histograms in HdrHistogram's V2 encoding.
//!
//! Derived values (loss in percent, percentiles, nanoseconds a packet) stand beside the raw ones so
//! that a reader needs no library, and are never read back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limit, ReportsRecord, SessionsRecord, TableRecord};
use crate::{
    DeviceCpu, Direction, Events, Load, Policed, SessionAction, Stage, StageRole, Stalls, Takeover,
    Trial, WorkerTime,
};

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Counted from 0 within the outcome.
    pub index: usize,
    /// The repetition of the measurement that it belongs to, from 0.
    #[serde(default)]
    pub repetition: u32,
    /// Why the method did it: `warm-up`, `repetition`, `search`, `verification`, `confirmation` …
    pub purpose: String,
    /// What was offered.
    pub load: LoadRecord,
    /// How long it was asked to last.
    pub intended_ns: u64,
    /// From the first frame sent to the last frame sent; of sessions from the first one begun to the
    /// last one begun.
    pub effective_ns: u64,
    /// Lost frames over sent frames, all directions together.
    pub loss_fraction: f64,
    /// The same in percent.
    pub loss_percent: f64,
    /// One entry a direction in which frames were offered.
    pub directions: Vec<DirectionRecord>,
    /// Cycles by stage, summed over workers.
    pub stages: Vec<StageRecord>,
    /// The longest that one batch was in the stages of the function, a stall within it included; absent where the
    /// device does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_batch_ns: Option<f64>,
    /// Drops that the device counted, by reason.
    pub drops: Vec<DropRecord>,
    /// Changes at run time, by kind.
    pub events: Vec<EventsRecord>,
    /// What the threads noticed of the machine.
    pub stalls: Vec<StallsRecord>,
    /// CPU time of the workers.
    pub workers: Vec<WorkerRecord>,
    /// CPU time of the tester's thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester: Option<WorkerRecord>,
    /// Frames that came back while the tester's own ring was full.
    #[serde(default)]
    pub tester_ring_full: u64,
    /// Frames of others that the tester heard and passed over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign: u64,
    /// CPU time of a device that is not part of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_cpu: Option<DeviceCpu>,
    /// Memory of the process that is the device, at the end of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// What the policers let through, by subscriber, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policed: Vec<Policed>,
    /// The standby that took over, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<Takeover>,
    /// What became of the sessions, where the load was of such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsRecord>,
    /// How full the tables of the device are at the end, where it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableRecord>,
    /// What the device reported by frames of its own, in even pieces of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportsRecord>,
    /// How many ticks of the stages' clock make a second.
    pub ticks_per_second: f64,
    /// What limited or disturbed this trial.
    pub limits: Vec<Limit>,
}

/// What was offered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LoadRecord {
    /// As fast as the device takes it.
    ClosedLoop,
    /// A rate on each interface that sends.
    PerInterface {
        /// Frames a second on each.
        pps: f64,
    },
    /// Frames back to back on each interface, from idle.
    Burst {
        /// How many on each.
        frames: u64,
        /// How fast they follow each other.
        pps: f64,
    },
    /// One rate on each interface, and another from some time on.
    Step {
        /// Frames a second at first.
        pps: f64,
        /// When the rate changes, since the first frame.
        after_ns: u64,
        /// Frames a second from then on.
        then_pps: f64,
    },
    /// Sessions of a stateful device.
    Sessions {
        /// What is done with each.
        action: SessionAction,
        /// The first one's number.
        first: u64,
        /// How many.
        count: u64,
        /// How many are begun a second; absent for as fast as they succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sessions_per_s: Option<f64>,
    },
}

/// Counts of one direction; sent = received + lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionRecord {
    /// `uplink`, `downlink` …
    pub name: String,
    /// Frames the load asked for in the effective duration.
    pub intended: u64,
    /// Frames offered.
    pub sent: u64,
    /// Distinct frames that came back where they belong.
    pub received: u64,
    /// `sent - received`.
    pub lost: u64,
    /// Of the lost: refused by the device's full receive ring.
    pub ring_full: u64,
    /// Frames seen more than once, each repetition counted.
    pub duplicated: u64,
    /// Frames that came after a later one (RFC 4737 section 3).
    pub reordered: u64,
    /// Frames that came back where or in a form nobody expected.
    pub misdelivered: u64,
    /// Bytes sent, frame check sequence included.
    pub sent_bytes: u64,
    /// `lost / sent`.
    pub loss_fraction: f64,
    /// The same in percent.
    pub loss_percent: f64,
    /// Frames sent a second of the effective duration.
    pub offered_pps: f64,
    /// Frames that the device's ring took a second: sent, less those it refused when full.
    #[serde(default)]
    pub accepted_pps: f64,
    /// Frames received a second of the effective duration.
    pub forwarded_pps: f64,
    /// Time from sending to receiving; absent when no frame was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Distribution>,
    /// When the last frame that was lost was sent, since the first frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_lost_ns: Option<u64>,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many values.
    pub samples: u64,
    /// The smallest value.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p99_9_ns: u64,
    /// The largest value.
    pub max_ns: u64,
    /// The whole histogram in nanoseconds: HdrHistogram V2 encoding, uncompressed, in base64.
    pub hdr_v2_base64: String,
}

/// Cycles of one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// The stage's name, as the pipeline's file has it.
    pub name: String,
    /// Whose work it is.
    pub role: StageRole,
    /// Packets that went through it.
    pub packets: u64,
    /// Ticks of the time-stamp clock it took.
    pub ticks: u64,
    /// Ticks over packets of the stage; 0 without packets.
    pub ticks_per_packet: f64,
    /// The same in nanoseconds.
    pub ns_per_packet: f64,
}

/// Drops of one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropRecord {
    /// The reason's name in the function's documentation.
    pub reason: String,
    /// Packets dropped for it during the trial.
    pub packets: u64,
}

/// Changes of one kind during a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventsRecord {
    /// `handover`, `user-update` …
    pub kind: String,
    /// Requested of the device.
    pub requested: u64,
    /// Acknowledged by it.
    pub acknowledged: u64,
    /// Refused by it.
    pub refused: u64,
    /// Frames that still showed the state from before the acknowledgement.
    pub late_frames: u64,
    /// Request to acknowledgement; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Distribution>,
    /// Request to the first frame that shows the change; absent when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<Distribution>,
    /// The longest silence of the device around each change; absent when there was none to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blackout: Option<Distribution>,
}

/// Gaps in one thread's own time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StallsRecord {
    /// `tester`, `worker 0` …
    pub thread: String,
    /// Gaps over the threshold.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The longest one.
    pub longest_ns: u64,
    /// What counts as a gap.
    pub threshold_ns: u64,
}

/// CPU time of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRecord {
    /// Which worker.
    pub worker: usize,
    /// The core it was pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<usize>,
    /// CPU time its thread used.
    pub cpu_ns: u64,
    /// Wall time of the same span.
    pub wall_ns: u64,
    /// Packets it processed.
    pub packets: u64,
}

impl TrialRecord {
    /// The record of a trial that a method did for `purpose`.
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
            sessions: trial.sessions.as_ref().map(|counts| SessionsRecord::new(counts, seconds)),
            tables: trial.tables.iter().map(TableRecord::from).collect(),
            reports: trial.reports.iter().map(ReportsRecord::from).collect(),
            ticks_per_second: trial.ticks_per_second,
            limits,
        }
    }

    /// CPU time of the device for each frame that came back, in nanoseconds, what it polled in vain
    /// included; none where it is not known or nothing came back.
    pub fn device_cpu_ns_per_packet(&self) -> Option<f64> {
        let workers = || self.workers.iter().map(|worker| worker.cpu_ns).sum();
        let cpu_ns = self.device_cpu.as_ref().map_or_else(workers, |cpu| cpu.ns);
        self.per_packet(cpu_ns as f64)
    }

    /// The same for the time in stages only, where the device tells it: a poll without a frame is in
    /// none.
    pub fn device_busy_ns_per_packet(&self) -> Option<f64> {
        let ticks: u64 = self.stages.iter().map(|stage| stage.ticks).sum();
        self.per_packet(ratio(ticks as f64 * 1e9, self.ticks_per_second))
    }

    fn per_packet(&self, ns: f64) -> Option<f64> {
        let packets: u64 = self.directions.iter().map(|direction| direction.received).sum();
        (ns > 0.0 && packets > 0).then(|| ns / packets as f64)
    }

    /// The load on each interface, if it had a rate.
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

impl Distribution {
    /// The record of a histogram in nanoseconds; none when it is empty.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        // The encoder fails only when the writer does or a count exceeds the format's i64; a Vec
        // does not fail, and a lost encoding must not lose the percentiles.
        if V2Serializer::new().serialize(histogram, &mut bytes).is_err() {
            bytes.clear();
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        Some(Self {
            samples: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            max_ns: histogram.max(),
            hdr_v2_base64: BASE64.encode(bytes),
        })
    }

    /// The histogram again; none when the text is not one, as a record edited by hand may be.
    pub fn histogram(&self) -> Option<Histogram<u64>> {
        let bytes = BASE64.decode(&self.hdr_v2_base64).ok()?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
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

/// A quotient that is 0 where it has no meaning, so that no NaN reaches JSON.
pub(super) fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

/// Nanoseconds of a duration; 584 years are the end of counting.
fn saturating_ns(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Not worth a place in the record.
fn is_zero(count: &u64) -> bool {
    *count == 0
}
