//! Changes during a trial: requested at their pace, acknowledged by the worker, shown by a frame.
//!
//! Three times belong to a change: when it was requested, when the worker applied it, and when the
//! first frame that shows it came back. Probes, frames apart from the load, are sent for changes
//! that wait to be seen, so that the last of these does not depend on the users that the load
//! happens to draw.

use std::collections::{HashMap, VecDeque};

use engine::steering::worker_of;
use engine::{Acknowledgement, Controller};
use hdrhistogram::Histogram;
use machine::clock::{Clock, Ticks};
use measure::Events;
use traffic::{Pacer, Random, Workload};

use super::latency::latency_histogram;

/// Interface by which changes are requested from a device.
pub(crate) trait Control<U> {
    /// Returns the number of workers among which changes are divided.
    fn workers(&self) -> usize;

    /// Requests a change from a worker and returns the number of the request; `None` if too many
    /// requests are pending.
    fn request(&mut self, worker: usize, update: &U) -> Option<u64>;

    /// Returns the next acknowledgement of a worker, in the order of the requests to it.
    fn acknowledged(&mut self, worker: usize) -> Option<Acknowledgement>;
}

impl<U: Clone> Control<U> for Vec<&mut Controller<U>> {
    fn workers(&self) -> usize {
        self.len()
    }

    fn request(&mut self, worker: usize, update: &U) -> Option<u64> {
        self[worker].request(update.clone()).ok()
    }

    #[inline]
    fn acknowledged(&mut self, worker: usize) -> Option<Acknowledgement> {
        self[worker].acknowledged()
    }
}

/// A control for trials without changes.
pub(crate) struct NoControl;

impl<U> Control<U> for NoControl {
    fn workers(&self) -> usize {
        0
    }

    fn request(&mut self, _: usize, _: &U) -> Option<u64> {
        None
    }

    fn acknowledged(&mut self, _: usize) -> Option<Acknowledgement> {
        None
    }
}

/// The changes of one trial.
pub(crate) struct Changes<C> {
    control: C,
    clock: Clock,
    kinds: Vec<Kind>,
    /// By worker: the changes that wait for an acknowledgement, in order, by request number.
    awaited: Vec<VecDeque<(u64, u64)>>,
    /// Pending changes by subject.
    open: HashMap<u64, Change>,
    /// Subjects of changes that no frame has shown yet, in turn.
    unseen: VecDeque<u64>,
    next_probe: Ticks,
    probe_interval: Ticks,
    silences: Silences,
    /// True if frames return that can show a change.
    are_shown: bool,
}

struct Kind {
    rate_per_s: f64,
    pacing: traffic::Pacing,
    pacer: Option<Pacer>,
    events: Events,
}

struct Change {
    kind: usize,
    requested_at: Ticks,
    /// Number of workers that have not acknowledged the change yet.
    missing: usize,
    applied_at: Ticks,
    refused: bool,
    shown: bool,
}

impl<C> Changes<C> {
    /// Creates the changes that a workload describes, for these workers; `updates_per_s` is the
    /// rate of all kinds together, if it differs from the workload's own.
    pub fn new<W: Workload>(
        workload: &W,
        control: C,
        updates_per_s: Option<f64>,
        clock: Clock,
    ) -> Changes<C>
    where
        C: Control<W::Update>,
    {
        let own: f64 = workload.events().iter().map(|kind| kind.rate_per_s).sum();
        let factor = updates_per_s.filter(|_| own > 0.0).map_or(1.0, |wanted| wanted / own);
        let wanted = workload.events().iter().filter(|_| factor > 0.0);
        let kinds = wanted.map(|kind| Kind {
            rate_per_s: kind.rate_per_s * factor,
            pacing: kind.pacing,
            pacer: None,
            events: events(kind.name),
        });
        Changes {
            kinds: kinds.collect(),
            awaited: vec![VecDeque::new(); control.workers()],
            control,
            clock,
            open: HashMap::new(),
            unseen: VecDeque::new(),
            next_probe: 0,
            probe_interval: clock.ticks(PROBE_INTERVAL),
            silences: Silences::default(),
            are_shown: true,
        }
    }

    /// Returns these changes for a trial in which no frames return: a change is complete once it is
    /// acknowledged.
    pub fn never_shown(self) -> Changes<C> {
        Changes { are_shown: false, ..self }
    }

    /// Sets the start; the first changes are due then.
    pub fn start(&mut self, start: Ticks, ticks_per_s: f64) {
        self.silences.last_heard = start;
        for (index, kind) in self.kinds.iter_mut().enumerate() {
            let random = Random::new(PACING_SEED, index as u64);
            kind.pacer = Some(Pacer::new(kind.pacing, kind.rate_per_s, ticks_per_s, start, random));
        }
    }

    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Records that frames arrived from the device.
    #[inline]
    pub fn heard(&mut self, now: Ticks) {
        if !self.is_empty() {
            self.silences.heard(now, self.clock.ticks(SILENCE_KEPT));
        }
    }

    /// Requests the changes that are due.
    pub fn request<W: Workload>(&mut self, now: Ticks, workload: &mut W)
    where
        C: Control<W::Update>,
    {
        for kind in 0..self.kinds.len() {
            let Some(pacer) = &mut self.kinds[kind].pacer else { continue };
            let number = pacer.taken();
            if pacer.due(now, 1) == 0 {
                continue;
            }
            pacer.take(1);
            if let Some(change) = workload.next_update(kind, number) {
                self.submit(kind, now, change, workload);
            }
        }
    }

    fn submit<W: Workload>(
        &mut self,
        kind: usize,
        now: Ticks,
        change: traffic::workload::Change<W::Update>,
        workload: &mut W,
    ) where
        C: Control<W::Update>,
    {
        let count = self.control.workers();
        let workers = match change.steering {
            Some(steering) => {
                let worker = worker_of(steering, count as u32) as usize;
                worker..worker + 1
            }
            None => 0..count,
        };
        self.kinds[kind].events.requested += 1;
        let mut missing = 0;
        for worker in workers.clone() {
            if let Some(id) = self.control.request(worker, &change.update) {
                self.awaited[worker].push_back((id, change.subject));
                missing += 1;
            }
        }
        let refused = missing < workers.len();
        if missing == 0 {
            self.kinds[kind].events.refused += 1;
            workload.settled(change.subject, None);
            return;
        }
        let open =
            Change { kind, requested_at: now, missing, applied_at: 0, refused, shown: false };
        self.open.insert(change.subject, open);
        if self.are_shown && workload.probe(change.subject).is_some() {
            self.unseen.push_back(change.subject);
        }
    }

    /// Processes the acknowledgements of the workers.
    #[inline]
    pub fn settle<W: Workload>(&mut self, workload: &mut W)
    where
        C: Control<W::Update>,
    {
        if self.is_empty() {
            return;
        }
        for worker in 0..self.control.workers() {
            while let Some(acknowledgement) = self.control.acknowledged(worker) {
                let expected = self.awaited[worker].pop_front();
                if let Some((id, subject)) = expected
                    && id == acknowledgement.id
                {
                    self.acknowledged(subject, acknowledgement, workload);
                }
            }
        }
    }

    fn acknowledged<W: Workload>(
        &mut self,
        subject: u64,
        acknowledgement: Acknowledgement,
        workload: &mut W,
    ) {
        let Some(change) = self.open.get_mut(&subject).filter(|change| change.missing > 0) else {
            return;
        };
        change.missing -= 1;
        change.applied_at = change.applied_at.max(acknowledgement.applied_at);
        change.refused |= acknowledgement.outcome.is_err();
        if change.missing > 0 {
            return;
        }
        let kind = &mut self.kinds[change.kind].events;
        if change.refused {
            kind.refused += 1;
            workload.settled(subject, None);
            self.open.remove(&subject);
            return;
        }
        kind.acknowledged += 1;
        let took = change.applied_at.saturating_sub(change.requested_at);
        kind.accepted_ns.saturating_record(self.clock.nanos(took).max(1));
        workload.settled(subject, Some(change.applied_at));
        if !self.are_shown {
            self.open.remove(&subject);
        } else if workload.probe(subject).is_none() {
            let silent = self.silences.longest_since(change.requested_at, machine::clock::now());
            kind.blackout_ns.saturating_record(self.clock.nanos(silent).max(1));
            self.open.remove(&subject);
        } else if change.shown {
            self.open.remove(&subject);
        }
    }

    /// Returns the subject for which a probe is due.
    #[inline]
    pub fn next_to_probe(&mut self, now: Ticks) -> Option<u64> {
        if self.unseen.is_empty() || now < self.next_probe {
            return None;
        }
        self.next_probe = now + self.probe_interval;
        while let Some(subject) = self.unseen.pop_front() {
            if self.open.get(&subject).is_some_and(|change| !change.shown) {
                self.unseen.push_back(subject);
                return Some(subject);
            }
        }
        None
    }

    /// Records that a frame shows a change for the first time.
    pub fn shown<W: Workload>(&mut self, subject: u64, now: Ticks, workload: &W) {
        let Some(change) = self.open.get_mut(&subject) else { return };
        if change.shown || workload.kind_of(subject) != Some(change.kind) {
            return;
        }
        change.shown = true;
        let took = self.clock.nanos(now.saturating_sub(change.requested_at));
        let silent = self.silences.longest_since(change.requested_at, now);
        let events = &mut self.kinds[change.kind].events;
        events.visible_ns.saturating_record(took.max(1));
        events.blackout_ns.saturating_record(self.clock.nanos(silent).max(1));
        if change.missing == 0 {
            self.open.remove(&subject);
        }
    }

    /// Records that a frame shows the state before a change although the change was in force when
    /// the frame was sent.
    pub fn late<W: Workload>(&mut self, subject: u64, workload: &W) {
        if let Some(kind) = workload.kind_of(subject) {
            self.kinds[kind].events.late_frames += 1;
        }
    }

    /// Returns true if no change is pending.
    pub fn all_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the events for the record.
    pub fn finish(self) -> Vec<Events> {
        self.kinds.into_iter().map(|kind| kind.events).collect()
    }
}

/// Times without a frame from the device, the longest first; a silence is discarded when a later
/// one is longer.
#[derive(Debug, Default)]
struct Silences {
    /// End and length of each silence; ends rise, lengths fall.
    kept: VecDeque<(Ticks, Ticks)>,
    last_heard: Ticks,
}

impl Silences {
    fn heard(&mut self, now: Ticks, kept_for: Ticks) {
        let length = now.saturating_sub(self.last_heard);
        self.last_heard = self.last_heard.max(now);
        while self.kept.back().is_some_and(|&(_, shorter)| shorter <= length) {
            self.kept.pop_back();
        }
        self.kept.push_back((now, length));
        while self.kept.front().is_some_and(|&(end, _)| end + kept_for < now) {
            self.kept.pop_front();
        }
    }

    /// Returns the longest silence between two times, including one that lasts until the end.
    fn longest_since(&self, since: Ticks, now: Ticks) -> Ticks {
        let first = self.kept.partition_point(|&(end, _)| end <= since);
        // The first may have begun before; the second, wholly later, may then be the longer one.
        let within = self.kept.iter().skip(first).take(2);
        let longest = within.map(|&(end, length)| length.min(end - since)).max().unwrap_or(0);
        longest.max(now.saturating_sub(self.last_heard.max(since)))
    }
}

fn events(kind: &str) -> Events {
    let empty: fn() -> Histogram<u64> = latency_histogram;
    Events {
        kind: kind.to_owned(),
        requested: 0,
        acknowledged: 0,
        refused: 0,
        late_frames: 0,
        accepted_ns: empty(),
        visible_ns: empty(),
        blackout_ns: empty(),
    }
}

/// Time after which only later silences are counted for a change that is not visible yet.
const SILENCE_KEPT: std::time::Duration = std::time::Duration::from_secs(2);

/// Shortest interval between probes, so that they do not add noticeable load.
const PROBE_INTERVAL: std::time::Duration = std::time::Duration::from_micros(5);

/// Seed of the pacing; only the spacing of events depends on it.
const PACING_SEED: u64 = 0x706c_756d_6221;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_silence_is_that_of_all_arrivals(
            steps in prop::collection::vec(1u64..1000, 1..200),
            since in 0u64..50_000,
            later in 0u64..500,
        ) {
            let mut silences = Silences::default();
            let (mut arrivals, mut now) = (vec![0], 0);
            for step in steps {
                now += step;
                arrivals.push(now);
                silences.heard(now, 1 << 40);
            }
            let end = now + later;
            let since = since.min(end);
            arrivals.push(end);
            let of_pair = |pair: &[u64]| pair[1].saturating_sub(pair[0].max(since));
            let longest = arrivals.windows(2).map(of_pair).max().unwrap_or(0);
            prop_assert_eq!(silences.longest_since(since, end), longest);
        }
    }

    #[test]
    fn old_silences_are_forgotten() {
        let mut silences = Silences::default();
        (1..10_000).rev().for_each(|length| silences.heard(silences.last_heard + length, 100_000));
        // The last 446 lengths together are the last 100,000 ticks.
        assert!((440..460).contains(&silences.kept.len()), "{}", silences.kept.len());
    }
}
