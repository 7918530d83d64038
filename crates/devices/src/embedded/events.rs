//! Changes during a trial: requested at their pace, acknowledged by the worker, shown by a frame.
//!
//! Three times belong to a change: when it was requested, when the worker applied it, and when the
//! first frame that shows it came back. Probes, frames apart from the load, are sent for changes that
//! wait to be seen, so that the last of these does not depend on the users that the load happens to
//! draw.

use std::collections::{HashMap, VecDeque};

use engine::{Acknowledgement, Controller};
use hdrhistogram::Histogram;
use machine::clock::{Clock, Ticks};
use measure::Events;
use traffic::workload::worker_of;
use traffic::{Pacer, Random, Workload};

use super::tester::latency_histogram;

/// The changes of one trial.
pub(super) struct Changes<'a, U> {
    controllers: Vec<&'a mut Controller<U>>,
    clock: Clock,
    kinds: Vec<Kind>,
    /// By worker: the changes whose acknowledgement is awaited, in order, by request number.
    awaited: Vec<VecDeque<(u64, u64)>>,
    /// Changes under way by subject.
    open: HashMap<u64, Change>,
    /// Subjects that no frame has shown yet, in turn.
    unseen: VecDeque<u64>,
    next_probe: Ticks,
    probe_interval: Ticks,
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
    /// How many workers have not acknowledged it yet.
    missing: usize,
    applied_at: Ticks,
    refused: bool,
    shown: bool,
}

impl<'a, U: Clone> Changes<'a, U> {
    /// The changes that a workload describes, to be asked of these workers.
    pub fn new<W: Workload<Update = U>>(
        workload: &W,
        controllers: Vec<&'a mut Controller<U>>,
        clock: Clock,
    ) -> Changes<'a, U> {
        let kinds = workload.events().iter().map(|kind| Kind {
            rate_per_s: kind.rate_per_s,
            pacing: kind.pacing,
            pacer: None,
            events: events(kind.name),
        });
        Changes {
            kinds: kinds.collect(),
            awaited: vec![VecDeque::new(); controllers.len()],
            controllers,
            clock,
            open: HashMap::new(),
            unseen: VecDeque::new(),
            next_probe: 0,
            probe_interval: clock.ticks(PROBE_INTERVAL),
        }
    }

    /// The first changes are due at `start`.
    pub fn start(&mut self, start: Ticks, ticks_per_s: f64) {
        for (index, kind) in self.kinds.iter_mut().enumerate() {
            let random = Random::new(PACING_SEED, index as u64);
            kind.pacer = Some(Pacer::new(kind.pacing, kind.rate_per_s, ticks_per_s, start, random));
        }
    }

    /// Whether anything ever changes.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Requests what is due.
    pub fn request<W: Workload<Update = U>>(&mut self, now: Ticks, workload: &mut W) {
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

    fn submit<W: Workload<Update = U>>(
        &mut self,
        kind: usize,
        now: Ticks,
        change: traffic::workload::Change<U>,
        workload: &mut W,
    ) {
        let count = self.controllers.len();
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
            if let Ok(id) = self.controllers[worker].request(change.update.clone()) {
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
        if workload.probe(change.subject).is_some() {
            self.unseen.push_back(change.subject);
        }
    }

    /// Takes in what the workers acknowledged.
    #[inline]
    pub fn settle<W: Workload<Update = U>>(&mut self, workload: &mut W) {
        if self.is_empty() {
            return;
        }
        for worker in 0..self.controllers.len() {
            while let Some(acknowledgement) = self.controllers[worker].acknowledged() {
                let expected = self.awaited[worker].pop_front();
                if let Some((id, subject)) = expected
                    && id == acknowledgement.id
                {
                    self.acknowledged(subject, acknowledgement, workload);
                }
            }
        }
    }

    fn acknowledged<W: Workload<Update = U>>(
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
        if change.shown || workload.probe(subject).is_none() {
            self.open.remove(&subject);
        }
    }

    /// The subject for which a probe is due.
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

    /// A frame shows a change for the first time.
    pub fn shown<W: Workload<Update = U>>(&mut self, subject: u64, now: Ticks, workload: &W) {
        let Some(change) = self.open.get_mut(&subject) else { return };
        if change.shown || workload.kind_of(subject) != Some(change.kind) {
            return;
        }
        change.shown = true;
        let took = self.clock.nanos(now.saturating_sub(change.requested_at));
        self.kinds[change.kind].events.visible_ns.saturating_record(took.max(1));
        if change.missing == 0 {
            self.open.remove(&subject);
        }
    }

    /// A frame shows the state before a change that was in force when it was sent.
    pub fn late<W: Workload<Update = U>>(&mut self, subject: u64, workload: &W) {
        if let Some(kind) = workload.kind_of(subject) {
            self.kinds[kind].events.late_frames += 1;
        }
    }

    /// Whether nothing is awaited any more.
    pub fn all_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// What is to be recorded.
    pub fn finish(self) -> Vec<Events> {
        self.kinds.into_iter().map(|kind| kind.events).collect()
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

/// Probes are at least so far apart: they are not to add to the load noticeably.
const PROBE_INTERVAL: std::time::Duration = std::time::Duration::from_micros(5);

/// Only the spacing of events follows from it.
const PACING_SEED: u64 = 0x706c_756d_6221;
