//! What all searches share: the range, the budget, and trying a load by the rules of the attempt.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::record::{Bounds, GoalRecord, TrialRecord};
use measure::{Load, MeasureError, Pps, Ratio, Trial, validity};

use super::goal::Goal;
use crate::Step;
use crate::figures::rate_pps;
use crate::method::{STALL_REPETITION, Session};

/// Settings of a search.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) min_pps: f64,
    pub(crate) max_pps: f64,
    /// The first load of the search.
    pub(crate) guess_pps: f64,
    /// Largest number of trials, including repetitions.
    pub(crate) trials_max: usize,
    /// Largest total duration of all trials.
    pub(crate) time_max: Duration,
    /// Number of times that a trial is repeated if a stall explains its loss.
    pub(crate) stall_repeats: u32,
    pub(crate) attempts: Attempts,
}

/// Condition for a load to pass if it is tried several times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Attempts {
    /// A trial that fails is repeated up to `repeats` times, unless its loss is above `up_to`; one
    /// pass is enough. Without repeats this is the single trial of RFC 2544, with repeats the loss
    /// verification of TST009 (max(r) = repeats + 1, max(z) = `up_to`).
    Verified { repeats: u32, up_to: LossLimit },
    /// The best of this number of trials decides: one pass is enough, and ends them.
    BestOf(u32),
    /// The worst of this number of trials decides: one failure is enough, and ends them.
    WorstOf(u32),
}

/// A loss that no disturbance explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LossLimit {
    Ratio(Ratio),
    Frames(u64),
}

impl LossLimit {
    fn is_exceeded_by(self, trial: &Trial) -> bool {
        match self {
            Self::Ratio(ratio) => trial.loss_ratio() > ratio.0,
            Self::Frames(frames) => trial.sent().saturating_sub(trial.received()) > frames,
        }
    }
}

impl Attempts {
    /// Largest number of trials at one load.
    pub(crate) fn most(self) -> u32 {
        match self {
            Self::Verified { repeats, .. } => repeats + 1,
            Self::BestOf(n) | Self::WorstOf(n) => n.max(1),
        }
    }
}

/// Result of trying a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tried {
    /// The load was sent and passed.
    Passed,
    /// The tester sent only this part of the load, which passed.
    Short(f64),
    /// The load failed in all permitted attempts.
    Failed,
}

/// Time and number of trials that must remain after a trial, because the search still needs them.
pub(crate) type Reserve = (Duration, usize);

/// The trials at one load so far.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    trials: u32,
    passes: u32,
    failures: u32,
    /// Number of failures that are repeated because a stall explains them.
    stalled: u32,
    /// The largest part of a load that the tester could not send completely, and that passed.
    most_sent: f64,
}

impl Tally {
    /// The result of the load; a worst-of-N that the budget ended early did not pass.
    fn tried(&self, attempts: Attempts) -> Tried {
        let passed = match attempts {
            Attempts::WorstOf(n) => self.failures == 0 && self.passes >= n,
            _ => self.passes > 0,
        };
        let worst_of = matches!(attempts, Attempts::WorstOf(_));
        match (passed, self.most_sent > 0.0 && !(worst_of && self.failures > 0)) {
            (true, _) => Tried::Passed,
            (false, true) => Tried::Short(self.most_sent),
            (false, false) => Tried::Failed,
        }
    }
}

/// Result of a search for one goal.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) bounds: Bounds,
    /// Whether the lower bound is confirmed by all trials that the search requires.
    pub(crate) confirmed: bool,
    /// Index of the trial that represents the result.
    pub(crate) best: Option<usize>,
    /// Indices of the trials that passed at the lower bound.
    pub(crate) lower: Vec<usize>,
    /// Indices of the trials that failed at the upper bound.
    pub(crate) upper: Vec<usize>,
    /// The conditional throughput, if the search is MLRsearch.
    pub(crate) conditional_pps: Option<f64>,
    /// Why the search ended, and after how many trials.
    pub(crate) why: String,
    /// The same, and which trials decided.
    pub(crate) ended: String,
}

impl Found {
    pub(crate) fn record(&self, goal: &Goal) -> GoalRecord {
        GoalRecord {
            name: goal.name.clone(),
            configuration: goal.configuration(),
            bounds: self.bounds,
            conditional_pps: self.conditional_pps,
            ended: self.ended.clone(),
        }
    }
}

/// A search in progress: one goal, or several that share their trials.
pub(crate) struct Engine<'s, 'a> {
    pub(crate) session: &'s mut Session<'a>,
    pub(crate) settings: &'s Settings,
    /// Index of the first trial that counts towards the budget.
    first: usize,
    /// Passed loads with their trials.
    passed: Vec<(f64, usize)>,
    /// Failed trials with the reason.
    failed: BTreeMap<usize, String>,
}

impl<'s, 'a> Engine<'s, 'a> {
    /// A search whose budget begins with the trial `first` of the session.
    pub(crate) fn new(session: &'s mut Session<'a>, settings: &'s Settings, first: usize) -> Self {
        Self { session, settings, first, passed: Vec::new(), failed: BTreeMap::new() }
    }

    pub(crate) fn trials_left(&self) -> usize {
        self.settings.trials_max.saturating_sub(self.spent(false).0)
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.settings.time_max.saturating_sub(self.spent(false).1)
    }

    /// Number and duration of the trials so far: of those that a stall had repeated, which have a
    /// budget of the same size beside the search's, or of all others.
    fn spent(&self, stalled: bool) -> (usize, Duration) {
        let is_meant = |r: &&TrialRecord| (r.purpose == STALL_REPETITION) == stalled;
        let trials = self.session.records[self.first..].iter().filter(is_meant);
        let time = trials.clone().map(|record| record.intended_ns).sum();
        (trials.count(), Duration::from_nanos(time))
    }

    /// Whether the budget permits this number of further trials with this total duration.
    pub(crate) fn room_for(&self, time: Duration, trials: usize) -> bool {
        time <= self.time_left() && self.trials_left() >= trials
    }

    /// Whether the budget of repetitions permits one of this duration.
    fn room_to_repeat(&self, time: Duration) -> bool {
        let (trials, spent) = self.spent(true);
        spent.saturating_add(time) <= self.settings.time_max && trials < self.settings.trials_max
    }

    /// Why a search ended although it needed this time for this number of trials.
    pub(crate) fn exhausted(&self, (time, trials): (Duration, usize)) -> String {
        if self.trials_left() < trials && time <= self.time_left() || self.trials_left() == 0 {
            format!("max-trials ({}) was reached", self.settings.trials_max)
        } else {
            format!("max-search-time ({:.0} s) was reached", self.settings.time_max.as_secs_f64())
        }
    }

    /// Makes a trial of a load, and repeats it up to `stall_repeats` times while a stall explains
    /// its loss, as far as the budget of repetitions permits. Returns the last trial with its
    /// index.
    pub(crate) fn trial(
        &mut self,
        load: f64,
        duration: Duration,
        step: Step,
        stall_repeats: u32,
    ) -> Result<(usize, Trial), MeasureError> {
        let load = Load::PerInterface(Pps(load));
        let again = Step { purpose: STALL_REPETITION.into(), ..step.clone() };
        let mut trial = self.session.trial(load, duration, step)?;
        for _ in 0..stall_repeats {
            if !validity::stalls_explain_miss(&trial) || !self.room_to_repeat(duration) {
                break;
            }
            trial = self.session.trial(load, duration, again.clone())?;
        }
        Ok((self.session.records.len() - 1, trial))
    }

    /// Whether a load passes, in as many trials as the attempts and the budget permit. A trial
    /// whose loss a stall explains is repeated in addition.
    pub(crate) fn try_load(
        &mut self,
        goal: &Goal,
        load: f64,
        duration: Duration,
        step: &Step,
        reserve: Reserve,
    ) -> Result<Tried, MeasureError> {
        let is_final = step.purpose != "search";
        let mut step = step.clone();
        let mut tally = Tally::default();
        loop {
            let (index, trial) = self.trial(load, duration, step.clone(), 0)?;
            tally.trials += 1;
            let next = match goal.missed(&trial) {
                None => {
                    // What the tester did not send is no loss, and no evidence either.
                    let short = validity::tester_fell_short(&trial) && !goal.unsent_is_loss;
                    let sent = if short { rate_pps(&self.session.records[index]) } else { load };
                    self.passed.push((sent, index));
                    self.after_pass(&mut tally, &trial, short.then_some(sent), is_final)
                }
                Some(why) => {
                    self.failed.insert(index, why);
                    self.after_failure(&mut tally, &trial)
                }
            };
            match next {
                Some(purpose) if self.has_room_again(purpose, duration, reserve) => {
                    step.purpose = purpose.into();
                }
                _ => return Ok(tally.tried(self.settings.attempts)),
            }
        }
    }

    /// Whether the budget permits another trial at a load: one that a stall had repeated is paid
    /// from that of repetitions.
    fn has_room_again(&self, purpose: &str, time: Duration, reserve: Reserve) -> bool {
        match purpose {
            STALL_REPETITION => self.room_to_repeat(time),
            _ => self.room_for(time + reserve.0, 1 + reserve.1),
        }
    }

    /// The purpose of the next trial at a load after a pass (of the sent part, if the tester sent
    /// less); none if the load is decided.
    fn after_pass(
        &self,
        tally: &mut Tally,
        trial: &Trial,
        short: Option<f64>,
        is_final: bool,
    ) -> Option<&'static str> {
        match short {
            None => tally.passes += 1,
            Some(sent) => tally.most_sent = tally.most_sent.max(sent),
        }
        if short.is_some() && self.is_excused(tally, trial) {
            return Some(STALL_REPETITION);
        }
        let worst_of = matches!(self.settings.attempts, Attempts::WorstOf(_));
        let again = match (short, worst_of) {
            (None, worst_of) => worst_of,
            // Only a long trial is worth repeating for it: a gap may have held the tester up.
            (Some(_), _) => is_final,
        };
        let counted = tally.trials - tally.stalled;
        (again && counted < self.settings.attempts.most()).then_some("verification")
    }

    /// Whether a stall explains all that a trial lacks, and the load has not been excused as often
    /// as it may be; it is then counted.
    fn is_excused(&self, tally: &mut Tally, trial: &Trial) -> bool {
        let excused =
            tally.stalled < self.settings.stall_repeats && validity::stalls_explain_miss(trial);
        tally.stalled += u32::from(excused);
        excused
    }

    /// The purpose of the next trial at a load after a failure; none if the load is decided. A
    /// failure that a stall explains is repeated first, and then counts neither as a failure nor as
    /// one of the attempts.
    fn after_failure(&self, tally: &mut Tally, trial: &Trial) -> Option<&'static str> {
        if self.is_excused(tally, trial) {
            return Some(STALL_REPETITION);
        }
        tally.failures += 1;
        let counted = tally.trials - tally.stalled;
        let verified = match self.settings.attempts {
            Attempts::Verified { up_to, .. } if up_to.is_exceeded_by(trial) => false,
            Attempts::WorstOf(_) => false,
            attempts => counted < attempts.most(),
        };
        verified.then_some("verification")
    }

    /// The result for a record.
    ///
    /// The lower bound is what was really offered in the trial that confirms it. An upper bound
    /// that only the tester could not send is not a bound of the device: the result is then
    /// irregular.
    pub(crate) fn found(&self, mut bounds: Bounds, confirmed: bool, why: &str) -> Found {
        let passed = self.passed.iter().filter(|(load, _)| Some(*load) == bounds.lower_pps);
        let lower: Vec<usize> = passed.map(|(_, index)| *index).collect();
        let is_upper = |record: &&TrialRecord| {
            record.purpose != "warm-up"
                && bounds.upper_pps.is_some()
                && record.load_pps() == bounds.upper_pps
        };
        let tried = self.session.records[self.first..].iter();
        let upper: Vec<usize> = tried.filter(is_upper).map(|record| record.index).collect();
        bounds.regular &= upper.last().is_none_or(|index| self.failed.contains_key(index));
        let best = lower.last().copied();
        let offered = best.and_then(|index| self.session.records.get(index)).map(rate_pps);
        bounds.lower_pps = bounds.lower_pps.map(|load| load.min(offered.unwrap_or(load)));
        let why = format!("{why} after {} trials", self.session.records.len() - self.first);
        let mut ended = why.clone();
        if let (Some(index), Some(load)) = (best, bounds.lower_pps) {
            ended += &format!("; trial {index} passed at {}", Pps(load));
        }
        if let (Some(index), Some(load)) = (upper.last(), bounds.upper_pps) {
            let why = self.failed.get(index).map_or("the tester sent less", String::as_str);
            ended += &format!("; trial {index} failed at {}: {why}", Pps(load));
        }
        Found { bounds, confirmed, best, lower, upper, conditional_pps: None, why, ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use crate::simulated::Simulated;

    fn goal() -> Goal {
        Goal {
            name: "loss <= 0".into(),
            loss_ratio: Ratio(0.0),
            conditions: Vec::new(),
            unsent_is_loss: false,
            attributes: None,
        }
    }

    /// Tries 1 Mpps for a second; returns the result and the purposes of the trials.
    fn try_load(
        attempts: Attempts,
        stall_repeats: u32,
        trials_max: usize,
        mut device: Simulated,
    ) -> (Tried, Vec<String>) {
        let settings = Settings {
            min_pps: 1e4,
            max_pps: 1e7,
            guess_pps: 1e6,
            trials_max,
            time_max: Duration::from_secs(1000),
            stall_repeats,
            attempts,
        };
        let mut observer = Unobserved;
        let mut session = Session::new(&mut device, &mut observer);
        let mut engine = Engine::new(&mut session, &settings, 0);
        let step = Step::new("search", 1, Duration::ZERO, None);
        let second = Duration::from_secs(1);
        let tried = engine
            .try_load(&goal(), 1e6, second, &step, (Duration::ZERO, 0))
            .expect("a simulated device does not fail");
        (tried, session.records.into_iter().map(|record| record.purpose).collect())
    }

    fn verified(repeats: u32, up_to: f64) -> Attempts {
        Attempts::Verified { repeats, up_to: LossLimit::Ratio(Ratio(up_to)) }
    }

    #[test]
    fn one_trial_decides_where_nothing_is_to_be_repeated() {
        let once = verified(0, 1.0);
        assert_eq!(try_load(once, 0, 99, Simulated::fixed(2e6)).0, Tried::Passed);
        let (tried, purposes) = try_load(once, 0, 99, Simulated::fixed(0.99e6));
        assert_eq!((tried, purposes.len()), (Tried::Failed, 1));
    }

    #[test]
    fn a_lossy_trial_is_repeated_unless_it_lost_too_much() {
        let (tried, purposes) = try_load(verified(2, 0.02), 0, 99, Simulated::fixed(0.99e6));
        assert_eq!(
            (tried, purposes.join(" ")),
            (Tried::Failed, "search verification verification".into())
        );
        let (_, purposes) = try_load(verified(2, 0.005), 0, 99, Simulated::fixed(0.99e6));
        assert_eq!(purposes, ["search"]);
        let frames = |n| Attempts::Verified { repeats: 2, up_to: LossLimit::Frames(n) };
        // 10,000 frames in each of two directions.
        assert_eq!(try_load(frames(20_000), 0, 99, Simulated::fixed(0.99e6)).1.len(), 3);
        assert_eq!(try_load(frames(19_999), 0, 99, Simulated::fixed(0.99e6)).1.len(), 1);
    }

    #[test]
    fn the_best_or_the_worst_of_n_decides_and_ends_early() {
        // At its capacity a device with noise passes about every second time.
        let mut counts = [[0; 2]; 2];
        for seed in 0..400 {
            let device = || Simulated::fixed(1e6).noisy(0.01).seeded(seed);
            for (kind, attempts) in
                [Attempts::BestOf(3), Attempts::WorstOf(3)].into_iter().enumerate()
            {
                let (tried, purposes) = try_load(attempts, 0, 99, device());
                counts[kind][usize::from(tried == Tried::Passed)] += 1;
                let ends_early = (tried == Tried::Passed) == (kind == 0);
                assert!(ends_early || purposes.len() == 3, "{attempts:?}: {purposes:?}");
            }
        }
        // 7 of 8 and 1 of 8 of 400, four standard deviations either way.
        assert!((324..=376).contains(&counts[0][1]), "best of 3: {counts:?}");
        assert!((24..=76).contains(&counts[1][1]), "worst of 3: {counts:?}");
    }

    #[test]
    fn a_stall_excuses_a_failure_as_often_as_allowed() {
        let stalled = || Simulated::fixed(2e6).stalling(1.0, 9_000_000);
        // Those that are excused are no attempts, so that all attempts follow.
        for (attempts, trials) in
            [(verified(0, 1.0), 3), (verified(4, 1.0), 7), (Attempts::WorstOf(2), 3)]
        {
            let (tried, purposes) = try_load(attempts, 2, 99, stalled());
            assert_eq!((tried, purposes.len()), (Tried::Failed, trials), "{attempts:?}");
            assert!(purposes[1..3].iter().all(|p| p == STALL_REPETITION), "{purposes:?}");
            assert!(purposes[3..].iter().all(|p| p == "verification"), "{purposes:?}");
        }
        // The first two trials stall, those after them do not.
        let seed = (0..1000)
            .find(|seed| {
                let device = Simulated::fixed(2e6).stalling(0.5, 9_000_000).seeded(*seed);
                try_load(verified(9, 1.0), 0, 99, device).1.len() == 3
            })
            .expect("one in eight is so");
        let device = || Simulated::fixed(2e6).stalling(0.5, 9_000_000).seeded(seed);
        assert_eq!(try_load(verified(0, 1.0), 2, 99, device()).0, Tried::Passed);
        assert_eq!(try_load(verified(0, 1.0), 1, 99, device()).0, Tried::Failed);
        // They have a budget of their own, which is as large as the search's.
        assert_eq!(try_load(verified(0, 1.0), 2, 2, device()).0, Tried::Passed);
        assert_eq!(try_load(verified(0, 1.0), 2, 1, device()).0, Tried::Failed, "no room");
    }

    #[test]
    fn a_worst_of_n_that_the_budget_cuts_short_has_not_passed() {
        let (tried, purposes) = try_load(Attempts::WorstOf(3), 0, 2, Simulated::fixed(2e6));
        assert_eq!((tried, purposes.len()), (Tried::Failed, 2));
    }

    #[test]
    fn what_the_tester_did_not_send_is_a_lower_load_or_loss_as_the_goal_says() {
        let device = || Simulated::fixed(2e6).tester_limited(0.9e6);
        let (tried, _) = try_load(verified(2, 1.0), 0, 99, device());
        assert_eq!(tried, Tried::Short(0.9e6));
        let load = Load::PerInterface(Pps(1e6));
        let trial = measure::Measurer::measure(
            &mut device(),
            load,
            Duration::from_secs(1),
            &mut Unobserved,
        )
        .expect("simulated");
        assert_eq!(goal().missed(&trial), None);
        let strict = Goal { unsent_is_loss: true, ..goal() };
        assert_eq!(strict.missed(&trial).as_deref(), Some("loss 10 %"));
    }
}
