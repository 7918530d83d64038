//! Sessions that the device holds: how many, how fast, and what it does when there is no more room.

use std::collections::VecDeque;
use std::time::Duration;

use measure::{
    Load, MeasureError, SessionAction, SessionCounts, SessionLoad, SessionsThere, Stalls, Takeover,
    Trial, TrialProgress, Watch,
};

use super::{Simulated, TICKS_PER_SECOND};

/// A device's behaviour towards sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// How many different ones the traffic makes.
    pub most: u64,
    /// Whether they can be closed.
    pub closes: bool,
    /// How many the device holds.
    pub capacity: u64,
    /// How many it opens and closes a second; of more than that the rest fails.
    pub rate_max: f64,
    /// How many the tester begins a second.
    pub tester_rate_max: f64,
    /// What it does when it is full.
    pub when_full: WhenFull,
    /// How long a session takes to be answered.
    pub answer_ns: u64,
    /// Of this many opened sessions one is not there afterwards; 0 for all are.
    pub forgets_one_in: u64,
    /// In so many trials, from the first on, a hundredth of the sessions fails because of a stall.
    pub stalled_trials: usize,
    /// Memory of the device without sessions, and of each that it holds.
    pub bytes: (u64, u64),
    /// The standby beside it, if there is one.
    pub standby: Option<Standby>,
}

/// A standby's behaviour.
#[derive(Clone, Copy, Debug)]
pub struct Standby {
    /// How long it takes until it is in the place of the active one, and nothing passes.
    pub outage: Duration,
    /// Whether it acknowledges everything in time.
    pub acknowledges: bool,
    /// Of this many sessions one is not there afterwards; 0 for all are.
    pub forgets_one_in: u64,
    /// Sessions opened last that it does not know.
    pub late: u64,
    /// Of those that do not work the ones whose ports others have now.
    pub reused: u64,
}

/// What a full device does with a session more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuses it, as it must (RFC 4787 and the like never end a live session for a new one).
    Refuses,
    /// Refuses it and loses the oldest one all the same.
    LosesOthers,
    /// Ends the oldest one for it.
    Evicts,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            most: 1_000_000,
            closes: true,
            capacity: u64::MAX,
            rate_max: f64::INFINITY,
            tester_rate_max: f64::INFINITY,
            when_full: WhenFull::Refuses,
            answer_ns: 5_000,
            forgets_one_in: 0,
            stalled_trials: 0,
            bytes: (100_000_000, 80),
            standby: None,
        }
    }
}

/// The device's table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    behaviour: Sessions,
    /// Which sessions work.
    is_open: Vec<bool>,
    /// The same in the order in which they were opened; those that were closed meanwhile included.
    oldest: VecDeque<u64>,
    open: u64,
    trials: usize,
    /// Sessions whose outside ports others have got in a take-over.
    reused: u64,
}

impl Simulated {
    /// A device whose traffic opens sessions.
    pub fn holding(mut self, behaviour: Sessions) -> Self {
        let is_open = vec![false; behaviour.most as usize];
        let oldest = VecDeque::new();
        let table = Table { behaviour, is_open, oldest, open: 0, trials: 0, reused: 0 };
        self.sessions = Some(table);
        self
    }

    /// A trial of sessions, which takes as long as they are begun, and the wait where one failed.
    pub(super) fn carry_sessions(
        &mut self,
        load: SessionLoad,
        wait: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let empty = Trial::new(Load::Sessions(load), wait, TICKS_PER_SECOND);
        let table =
            self.sessions.as_mut().ok_or(MeasureError::Unsupported("it holds no sessions"))?;
        let (mut trial, progress) = table.trial(&load, empty);
        if let Some(after) = self.conditions.fail_over_after {
            table.fail_over(&load, after, &mut trial);
        }
        let is_whole = progress.sent == progress.received;
        self.simulated += trial.effective + if is_whole { Duration::ZERO } else { wait };
        watch.at(progress);
        Ok(trial)
    }

    /// How many sessions it holds.
    pub fn sessions_open(&self) -> u64 {
        self.sessions.as_ref().map_or(0, |table| table.open)
    }
}

impl Table {
    pub(super) fn there(&self) -> SessionsThere {
        let Sessions { most, closes, .. } = self.behaviour;
        SessionsThere { open: 0, most, closes }
    }

    pub(super) fn clear(&mut self) {
        self.is_open.fill(false);
        self.oldest.clear();
        self.open = 0;
    }

    /// The trial that the load makes of an `empty` one.
    pub(super) fn trial(&mut self, load: &SessionLoad, empty: Trial) -> (Trial, TrialProgress) {
        self.trials += 1;
        let begun = load.rate.unwrap_or(f64::INFINITY).min(self.behaviour.tester_rate_max);
        let is_paced = load.rate.is_some();
        // With few of them under way a device is asked for no more than it does.
        let rate = if is_paced { begun } else { begun.min(self.behaviour.rate_max).min(1e7) };
        let share = (self.behaviour.rate_max / rate).min(1.0);
        let stalled = self.trials <= self.behaviour.stalled_trials && is_paced;
        let mut counts = SessionCounts::new(load);
        counts.attempted = load.count;
        for index in 0..load.count {
            // As many as the share says, evenly.
            let taken = |n: u64| (n as f64 * share).floor();
            let fits = taken(index + 1) > taken(index) && !(stalled && index % 100 == 0);
            let works = fits && self.act(load.action, load.first + index);
            counts.succeeded += u64::from(works);
        }
        counts.failed = counts.attempted - counts.succeeded;
        if load.action == SessionAction::Keep {
            counts.wrong = self.reused.min(counts.failed);
        }
        counts.held = Some(self.open);
        counts.answered_ns.saturating_record_n(self.behaviour.answer_ns, counts.succeeded);
        let steps = load.count.saturating_sub(1);
        let effective = Duration::from_secs_f64(steps as f64 / rate);
        let mut trial = Trial { effective, ..empty };
        if stalled {
            let ns = (effective.as_nanos() as u64 / 50).max(1_000_000);
            let thread = "worker 0".into();
            let (total_ns, longest_ns) = (ns, ns);
            let threshold_ns = 10_000;
            trial.stalls.push(Stalls { thread, count: 1, total_ns, longest_ns, threshold_ns });
        }
        let (without, each) = self.behaviour.bytes;
        trial.resident_bytes = Some(without + each * self.open);
        let progress = TrialProgress {
            elapsed: effective,
            sent: counts.attempted,
            received: counts.succeeded,
        };
        trial.sessions = Some(counts);
        (trial, progress)
    }

    /// The standby takes over in a trial that opens sessions at a rate.
    fn fail_over(&mut self, load: &SessionLoad, after: Duration, trial: &mut Trial) {
        let (Some(standby), Some(rate)) = (self.behaviour.standby, load.rate) else { return };
        let from = ((after.as_secs_f64() * rate) as u64).min(load.count);
        let until = ((after + standby.outage).as_secs_f64() * rate) as u64;
        let is_lost = |number: u64| {
            standby.forgets_one_in > 0 && number.is_multiple_of(standby.forgets_one_in)
        };
        self.reused = standby.reused;
        let late = load.first + from.saturating_sub(standby.late)..load.first + from;
        let unanswered = load.first + from..load.first + until.min(load.count);
        for number in 0..load.first + load.count {
            let goes = late.contains(&number) || unanswered.contains(&number) || is_lost(number);
            if goes && std::mem::take(&mut self.is_open[number as usize]) {
                self.open -= 1;
            }
        }
        if let Some(counts) = &mut trial.sessions {
            let failed = unanswered.end - unanswered.start;
            counts.succeeded -= failed;
            counts.failed += failed;
        }
        let outage_ns = standby.outage.as_nanos() as u64;
        trial.takeover = Some(Takeover {
            asked_ns: after.as_nanos() as u64,
            ready_after_ns: outage_ns,
            silence_ns: outage_ns,
            unacknowledged: standby.late,
            what: "a simulated standby".into(),
        });
    }

    /// Whether it has a standby, and that acknowledges everything.
    pub(super) fn synchronises(&self) -> Option<bool> {
        self.behaviour.standby.map(|standby| standby.acknowledges)
    }

    /// Whether the action succeeds.
    fn act(&mut self, action: SessionAction, session: u64) -> bool {
        let at = session as usize;
        match action {
            SessionAction::Use | SessionAction::Keep => self.is_open[at],
            SessionAction::Close => {
                let was_open = std::mem::take(&mut self.is_open[at]);
                self.open -= u64::from(was_open);
                was_open
            }
            SessionAction::Open if self.is_open[at] => true,
            SessionAction::Open => self.open(session),
        }
    }

    fn open(&mut self, session: u64) -> bool {
        if self.open >= self.behaviour.capacity {
            if self.behaviour.when_full == WhenFull::Refuses {
                return false;
            }
            while let Some(oldest) = self.oldest.pop_front() {
                if std::mem::take(&mut self.is_open[oldest as usize]) {
                    self.open -= 1;
                    break;
                }
            }
            if self.behaviour.when_full == WhenFull::LosesOthers {
                return false;
            }
        }
        let forgets = self.behaviour.forgets_one_in;
        if forgets == 0 || !session.is_multiple_of(forgets) {
            self.is_open[session as usize] = true;
            self.oldest.push_back(session);
            self.open += 1;
        }
        true
    }
}
