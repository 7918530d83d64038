//! Sessions that the device holds: how many, how fast, and what it does when there is no more room.

use std::collections::VecDeque;
use std::time::Duration;

use measure::{
    SessionAction, SessionCounts, SessionLoad, SessionsThere, Stalls, Takeover, Trial,
    TrialProgress,
};

/// Behaviour of a device towards sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// Number of different sessions of the traffic.
    pub most: u64,
    /// Whether sessions can be closed.
    pub closes: bool,
    /// Number of sessions that the device holds.
    pub capacity: u64,
    /// Sessions per second that the device opens and closes; further ones fail.
    pub rate_max: f64,
    /// Sessions per second that the tester starts.
    pub tester_rate_max: f64,
    /// Behaviour of the full device.
    pub when_full: WhenFull,
    /// Answer time of a session, in nanoseconds.
    pub answer_ns: u64,
    /// One of this number of opened sessions is lost afterwards; 0 for none.
    pub forgets_one_in: u64,
    /// Number of trials, from the first on, in which a hundredth of the sessions fails because of a
    /// stall.
    pub stalled_trials: usize,
    /// Memory of the device without sessions, and of each session, in bytes.
    pub bytes: (u64, u64),
    /// The standby, if there is one.
    pub standby: Option<Standby>,
}

/// Behaviour of a standby.
#[derive(Clone, Copy, Debug)]
pub struct Standby {
    /// Outage until the standby has replaced the active device.
    pub outage: Duration,
    /// Whether it acknowledges everything in time.
    pub acknowledges: bool,
    /// One of this number of sessions is lost afterwards; 0 for none.
    pub forgets_one_in: u64,
    /// Number of sessions opened last that it does not know.
    pub late: u64,
    /// Number of failed sessions whose ports other sessions have now.
    pub reused: u64,
}

/// Behaviour of a full device towards a further session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuses it, as required (RFC 4787 and related RFCs never end a live session for a new one).
    Refuses,
    /// Refuses it, and loses the oldest session nevertheless.
    LosesOthers,
    /// Ends the oldest session in favour of it.
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

/// The session table of the device.
#[derive(Clone, Debug)]
pub(super) struct Table {
    behaviour: Sessions,
    /// Whether each session works.
    is_open: Vec<bool>,
    /// Numbers of sessions in the order of opening, including those closed since.
    oldest: VecDeque<u64>,
    pub(super) open: u64,
    trials: usize,
    /// Number of sessions whose outside ports other sessions got in a take-over.
    reused: u64,
}

impl Table {
    pub(super) fn new(behaviour: Sessions) -> Self {
        let is_open = vec![false; behaviour.most as usize];
        Self { behaviour, is_open, oldest: VecDeque::new(), open: 0, trials: 0, reused: 0 }
    }

    pub(super) fn there(&self) -> SessionsThere {
        let Sessions { most, closes, .. } = self.behaviour;
        SessionsThere { open: 0, most, closes }
    }

    pub(super) fn clear(&mut self) {
        self.is_open.fill(false);
        self.oldest.clear();
        self.open = 0;
    }

    /// Applies the load to an `empty` trial.
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
            let long_ns = total_ns;
            let stalls = Stalls { thread, count: 1, total_ns, longest_ns, threshold_ns, long_ns };
            trial.stalls.push(stalls);
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

    /// Makes the standby take over in a trial that opens sessions at a rate.
    pub(super) fn fail_over(&mut self, load: &SessionLoad, after: Duration, trial: &mut Trial) {
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

    /// Whether the standby acknowledges everything; none without a standby.
    pub(super) fn synchronises(&self) -> Option<bool> {
        self.behaviour.standby.map(|standby| standby.acknowledges)
    }

    /// Carries out the action; returns whether it succeeds.
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
