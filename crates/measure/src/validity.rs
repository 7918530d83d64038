//! Whether a trial measured the device, or something around it.
//!
//! Each rule looks at one trial (or at the host) and yields a [`Limit`]: what was seen, whether the
//! figure may be relied on all the same, and what to do. Figures are never corrected by a limit;
//! they stand beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{HostFacts, Limit, LimitKind, Spread, TrialRecord};
use crate::{Load, Trial};

/// Fraction of the requested load below which the tester was the limit: a quarter of the usual
/// search precision of 2 %.
pub const TESTER_SENT_MIN: f64 = 0.995;
/// Fraction of its core below which a worker gets a remark.
pub const WORKER_SHARE_QUIET: f64 = 0.97;
/// Fraction of its core below which a worker does not show what a core can do.
pub const WORKER_SHARE_MIN: f64 = 0.8;
/// Longest gap, in nanoseconds, that a ring of usual size bridges and that does not explain loss,
/// where nothing else is known of the ring: the timer tick of a quiet machine is shorter.
pub const STALL_NS_HARMLESS: u64 = 100_000;
/// Spread of repetitions, from smallest to largest as a fraction of their median, above which a
/// result is imprecise.
pub const SPREAD_MAX: f64 = 0.1;
/// Fraction of lost time of a busy loop above which a machine counts as busy.
pub const HOST_STALLED_MAX: f64 = 0.03;

/// The limits and disturbances of one trial.
pub fn trial_limits(trial: &Trial) -> Vec<Limit> {
    [
        tester(trial),
        tester_ring(trial),
        stalls(trial),
        ring_full(trial),
        foreign_cpu(trial),
        tester_cpu(trial),
        forwarding(trial),
        wrong_sessions(trial),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The limits of everything measured on this host.
pub fn host_limits(host: &HostFacts) -> Vec<Limit> {
    let mut limits = Vec::new();
    if !host.tsc.invariant {
        limits.push(Limit {
            kind: LimitKind::Clock,
            invalidates: true,
            what: "the time-stamp counter of this CPU does not tick at a constant rate".into(),
            advice: "measure on a CPU with an invariant TSC (constant_tsc and nonstop_tsc among \
                     the CPU flags)"
                .into(),
        });
    }
    if let Some(probe) = host.stall_probe.filter(|p| p.duration_ns > 0) {
        let share = probe.total_ns as f64 / probe.duration_ns as f64;
        if share > HOST_STALLED_MAX {
            limits.push(Limit {
                kind: LimitKind::Stall,
                invalidates: false,
                what: format!(
                    "before the run a busy loop lost its core for {:.1} % of the time, at most {} \
                     at a time",
                    share * 100.0,
                    crate::Nanos(probe.longest_ns as f64)
                ),
                advice: QUIET_ADVICE.into(),
            });
        }
    }
    limits
}

/// Whether all loss of a trial fits into stalls of tester or workers that are long enough to make a
/// ring run over.
pub fn stalls_explain_loss(trial: &Trial) -> bool {
    let lost = lost(trial);
    lost > 0 && fits_into_stalls(trial, lost)
}

/// Whether all that a trial lacks fits into such stalls: its loss, and the frames that the tester
/// did not send because it was away when they were due and the trial ended.
pub fn stalls_explain_miss(trial: &Trial) -> bool {
    let unsent = match tester_fell_short(trial) && trial.sessions.is_none() {
        true => intended(trial).saturating_sub(trial.sent()),
        false => 0,
    };
    let missed = lost(trial) + unsent;
    missed > 0 && fits_into_stalls(trial, missed)
}

/// Number of frames that were lost, or of sessions that failed.
fn lost(trial: &Trial) -> u64 {
    match &trial.sessions {
        Some(sessions) => sessions.failed,
        None => trial.sent().saturating_sub(trial.received()),
    }
}

fn fits_into_stalls(trial: &Trial, count: u64) -> bool {
    let offered = match &trial.sessions {
        Some(sessions) => sessions.attempted,
        None => trial.sent(),
    };
    let seconds = trial.effective.as_secs_f64();
    let stalled_ns: u64 = trial.stalls.iter().map(|stalls| stalls.long_ns).sum();
    seconds > 0.0 && count as f64 <= offered as f64 / seconds * stalled_ns as f64 * 1e-9
}

fn intended(trial: &Trial) -> u64 {
    trial.directions.iter().map(|d| d.intended).sum()
}

/// Whether the tester, not the device, kept the trial below its load.
pub fn tester_fell_short(trial: &Trial) -> bool {
    match (trial.load, &trial.sessions) {
        (Load::ClosedLoop, _) => false,
        (Load::Sessions(load), Some(_)) => {
            sessions_share(trial, load.rate).is_some_and(|share| share < TESTER_SENT_MIN)
        }
        _ => (trial.sent() as f64) < intended(trial) as f64 * TESTER_SENT_MIN,
    }
}

/// Rate of started sessions as a fraction of the requested rate; none if no rate was requested. A
/// millisecond is tolerated, so that the timing of a few sessions does not matter.
fn sessions_share(trial: &Trial, rate: Option<f64>) -> Option<f64> {
    let seconds = trial.effective.saturating_sub(SESSIONS_LATE).as_secs_f64();
    // From the first to the last there is one step fewer than sessions.
    let steps = trial.sessions.as_ref()?.attempted.saturating_sub(1);
    let due = rate? * seconds;
    Some(if due > 0.0 { (steps as f64 / due).min(1.0) } else { 1.0 })
}

/// The limit of a figure whose repetitions spread by more than [`SPREAD_MAX`].
pub fn spread(spread: Option<Spread>) -> Option<Limit> {
    let width = spread.map_or(0.0, |spread| spread.relative_width());
    (width > SPREAD_MAX).then(|| Limit {
        kind: LimitKind::Spread,
        invalidates: false,
        what: format!(
            "the repetitions differ by {:.0} % of the median, more than {:.0} %",
            width * 100.0,
            SPREAD_MAX * 100.0
        ),
        advice: "raise `repetitions` and `duration`, and keep other work off the measuring cores: \
                 `plumbline doctor` tells how often and for how long they stall; differences of \
                 medians below this spread mean nothing"
            .into(),
    })
}

/// Summarises the limits of several trials: each rule once, with its number of trials and the text
/// of the worst case, preferably an invalidating one.
pub fn summarise(trials: &[&TrialRecord]) -> Vec<Limit> {
    let lists: Vec<&[Limit]> = trials.iter().map(|trial| trial.limits.as_slice()).collect();
    summarise_lists(&lists, "trials")
}

/// Accumulates the limits of trials that are too many to keep; see [`summarise`].
#[derive(Clone, Debug, Default)]
pub struct Tally {
    trials: usize,
    kinds: BTreeMap<LimitKind, usize>,
    /// For each rule, identified by kind and advice: its number of trials, and the worst case.
    rules: BTreeMap<(LimitKind, String), (usize, Limit)>,
}

impl Tally {
    /// Adds the limits of one trial.
    pub fn add(&mut self, limits: &[Limit]) {
        self.trials += 1;
        for (at, limit) in limits.iter().enumerate() {
            let before = &limits[..at];
            if !before.iter().any(|known| known.kind == limit.kind) {
                *self.kinds.entry(limit.kind).or_default() += 1;
            }
            let again = before.iter().any(|l| l.kind == limit.kind && l.advice == limit.advice);
            let rule = (limit.kind, limit.advice.clone());
            let known = self.rules.entry(rule).or_insert_with(|| (0, limit.clone()));
            known.0 += usize::from(!again);
            if limit.invalidates && !known.1.invalidates {
                known.1 = limit.clone();
            }
        }
    }

    /// Fraction of the trials in which a kind of limit occurred.
    pub fn share(&self, kind: LimitKind) -> f64 {
        self.kinds.get(&kind).map_or(0.0, |seen| *seen as f64 / self.trials.max(1) as f64)
    }

    /// The summarised limits, each rule once.
    pub fn limits(&self) -> Vec<Limit> {
        let one = |(seen, worst): &(usize, Limit)| match self.trials {
            0 | 1 => worst.clone(),
            trials => Limit {
                what: format!("in {seen} of {trials} trials; for example: {}", worst.what),
                ..worst.clone()
            },
        };
        self.rules.values().map(one).collect()
    }
}

/// Summarises several lists of limits, each of one of the `things` (`repetitions`, for example). A
/// limit with the same text in all lists is reported once, unchanged.
pub fn summarise_lists(lists: &[&[Limit]], things: &str) -> Vec<Limit> {
    // The advice distinguishes rules of the same kind.
    let mut rules: Vec<(LimitKind, &str)> =
        lists.iter().flat_map(|list| *list).map(|l| (l.kind, l.advice.as_str())).collect();
    rules.sort();
    rules.dedup();
    let one = |(kind, advice): (LimitKind, &str)| {
        let of_rule = |l: &&Limit| l.kind == kind && l.advice == advice;
        let seen: Vec<&Limit> =
            lists.iter().filter_map(|list| worst(list.iter().filter(of_rule))).collect();
        let mut limit = worst(seen.iter().copied())?.clone();
        let everywhere = seen.len() == lists.len() && seen.iter().all(|l| l.what == limit.what);
        if !everywhere {
            limit.what = format!(
                "in {} of {} {things}; for example: {}",
                seen.len(),
                lists.len(),
                limit.what
            );
        }
        Some(limit)
    };
    rules.into_iter().filter_map(one).collect()
}

/// The first limit that invalidates, or else the first.
fn worst<'a>(mut limits: impl Iterator<Item = &'a Limit> + Clone) -> Option<&'a Limit> {
    limits.clone().find(|limit| limit.invalidates).or_else(|| limits.next())
}

fn tester(trial: &Trial) -> Option<Limit> {
    if !tester_fell_short(trial) {
        return None;
    }
    let intended = intended(trial);
    let percent = trial.sent() as f64 / intended as f64 * 100.0;
    let frames = format!("the tester sent {percent:.1} % of the {intended} requested frames");
    let what = match trial.load {
        Load::Sessions(load) => format!(
            "the tester started sessions at {:.1} % of the requested rate",
            sessions_share(trial, load.rate).unwrap_or(1.0) * 100.0
        ),
        _ => frames,
    };
    Some(Limit {
        kind: LimitKind::Tester,
        invalidates: true,
        what,
        advice: "lower max-rate to the tester's maximum, or give the tester a core of its own: a \
                 load that was not offered says nothing about the device"
            .into(),
    })
}

/// A limit for frames that the device forwarded and the tester lost, which count as lost.
fn tester_ring(trial: &Trial) -> Option<Limit> {
    let lost = trial.tester_ring_full;
    (lost > 0).then(|| Limit {
        kind: LimitKind::TesterRing,
        invalidates: true,
        what: format!(
            "the tester lost {lost} frames that the device had forwarded: its own ring was full"
        ),
        advice: "lower max-rate to what the tester can receive, or give the tester a core of its \
                 own: this loss is not the device's"
            .into(),
    })
}

fn stalls(trial: &Trial) -> Option<Limit> {
    if !stalls_explain_loss(trial) {
        return None;
    }
    let worst = trial.stalls.iter().max_by_key(|s| s.longest_ns)?;
    let lost = match &trial.sessions {
        Some(sessions) => format!("{} sessions failed", sessions.failed),
        None => format!("{} frames were lost", trial.sent().saturating_sub(trial.received())),
    };
    Some(Limit {
        kind: LimitKind::Stall,
        invalidates: false,
        what: format!(
            "{lost}, no more than arrived while a thread had lost its core ({}: {} gaps, {} in \
             total, longest {})",
            worst.thread,
            worst.count,
            crate::Nanos(worst.total_ns as f64),
            crate::Nanos(worst.longest_ns as f64),
        ),
        advice: QUIET_ADVICE.into(),
    })
}

fn ring_full(trial: &Trial) -> Option<Limit> {
    let refused: u64 = trial.directions.iter().map(|d| d.ring_full).sum();
    (refused > 0).then(|| Limit {
        kind: LimitKind::RingFull,
        invalidates: false,
        what: format!("a full receive ring refused {refused} of {} frames", trial.sent()),
        advice:
            "the worker did not fetch them in time: above the throughput this is normal; below \
                 it, look at the stalls"
                .into(),
    })
}

fn foreign_cpu(trial: &Trial) -> Option<Limit> {
    let worst = trial
        .workers
        .iter()
        .filter(|w| w.wall_ns > 0)
        .min_by(|a, b| share(a).total_cmp(&share(b)))?;
    short_of_core(share(worst), format!("worker {}", worst.worker), QUIET_ADVICE)
}

/// A limit for a tester that lost its core: its loop never sleeps, and without the core it sends in
/// bursts and stamps late.
fn tester_cpu(trial: &Trial) -> Option<Limit> {
    let tester = trial.tester.as_ref().filter(|tester| tester.wall_ns > 0)?;
    short_of_core(share(tester), "the tester".into(), TESTER_ADVICE)
}

fn short_of_core(share: f64, who: String, advice: &str) -> Option<Limit> {
    (share < WORKER_SHARE_QUIET).then(|| Limit {
        kind: LimitKind::ForeignCpu,
        invalidates: share < WORKER_SHARE_MIN,
        what: format!("{who} had {:.1} % of its core", share * 100.0),
        advice: advice.into(),
    })
}

/// CPU time divided by wall time; both loops spin, so another program used the rest.
fn share(worker: &crate::WorkerTime) -> f64 {
    worker.cpu_ns as f64 / worker.wall_ns as f64
}

fn forwarding(trial: &Trial) -> Option<Limit> {
    let misdelivered: u64 = trial.directions.iter().map(|d| d.misdelivered).sum();
    let duplicated: u64 = trial.directions.iter().map(|d| d.duplicated).sum();
    (misdelivered + duplicated > 0).then(|| Limit {
        kind: LimitKind::Forwarding,
        invalidates: misdelivered > 0,
        what: format!("{misdelivered} frames came back wrong, {duplicated} were duplicates"),
        advice:
            "run the functional check with the same seed: it names the frame and the difference"
                .into(),
    })
}

fn wrong_sessions(trial: &Trial) -> Option<Limit> {
    let sessions = trial.sessions.as_ref().filter(|sessions| sessions.wrong > 0)?;
    Some(Limit {
        kind: LimitKind::Forwarding,
        invalidates: true,
        what: format!(
            "{} of {} sessions came back with an impossible translation",
            sessions.wrong, sessions.attempted
        ),
        advice: "run the functional check with the same seed: two sessions have the same outside \
             address, port and remote endpoint, or an address is not in the pool"
            .into(),
    })
}

/// Largest delay of the start of the last session of a trial.
const SESSIONS_LATE: Duration = Duration::from_millis(1);

const TESTER_ADVICE: &str = "stop other work on this machine, or give the tester a core of its own \
                             (tester-core in device), and measure again";
const QUIET_ADVICE: &str = "stop other work on this machine, or keep it off the measuring cores \
                            (isolcpus, cgroup cpusets), and measure again";

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;
    use crate::record::{StallProbe, Tsc};
    use crate::{Direction, Pps, SessionAction, SessionCounts, SessionLoad, Stalls, WorkerTime};

    fn trial(intended: u64, sent: u64, received: u64) -> Trial {
        let second = Duration::from_secs(1);
        Trial {
            effective: second,
            directions: vec![Direction {
                name: "uplink".into(),
                intended,
                sent,
                received,
                lost: sent - received,
                ring_full: 0,
                duplicated: 0,
                reordered: 0,
                misdelivered: 0,
                sent_bytes: sent * 64,
                latency_ns: Histogram::new(3).expect("3 digits are allowed"),
                last_lost_ns: None,
            }],
            ..Trial::new(Load::PerInterface(Pps(intended as f64)), second, 2.5e9)
        }
    }

    fn kinds(trial: &Trial) -> Vec<(LimitKind, bool)> {
        trial_limits(trial).iter().map(|l| (l.kind, l.invalidates)).collect()
    }

    #[test]
    fn a_clean_trial_has_no_limit() {
        assert_eq!(kinds(&trial(1_000_000, 1_000_000, 1_000_000)), []);
    }

    #[test]
    fn a_load_that_was_not_offered_invalidates() {
        assert_eq!(kinds(&trial(1_000_000, 994_000, 994_000)), [(LimitKind::Tester, true)]);
        assert_eq!(kinds(&trial(1_000_000, 996_000, 996_000)), []);
    }

    #[test]
    fn loss_is_explained_by_stalls_that_are_long_enough() {
        let mut lossy = trial(1_000_000, 1_000_000, 999_000);
        let stall = Stalls { thread: "worker 0".into(), count: 1, ..Stalls::default() };
        let stalled = |long_ns| vec![Stalls { total_ns: 9_000_000, long_ns, ..stall.clone() }];
        lossy.stalls = stalled(2_000_000);
        assert_eq!(kinds(&lossy), [(LimitKind::Stall, false)]);
        lossy.stalls = stalled(500_000);
        assert_eq!(kinds(&lossy), [], "1000 frames do not fit into half a millisecond");
        lossy.stalls = stalled(0);
        assert_eq!(kinds(&lossy), [], "timer ticks are taken up by the ring");
    }

    #[test]
    fn frames_that_a_stalled_tester_did_not_send_are_explained_as_loss_is() {
        let mut short = trial(1_000_000, 990_000, 990_000);
        assert!(tester_fell_short(&short) && !stalls_explain_miss(&short));
        short.stalls = vec![Stalls { long_ns: 11_000_000, ..Stalls::default() }];
        assert!(stalls_explain_miss(&short) && !stalls_explain_loss(&short), "nothing was lost");
        short.stalls[0].long_ns = 9_000_000;
        assert!(!stalls_explain_miss(&short), "10,000 frames take longer");
        let mut both = trial(1_000_000, 990_000, 980_000);
        both.stalls = vec![Stalls { long_ns: 15_000_000, ..Stalls::default() }];
        assert!(stalls_explain_loss(&both) && !stalls_explain_miss(&both), "not both together");
    }

    /// A trial that should start 1000 sessions in a second and took `seconds`.
    fn opening(seconds: f64, failed: u64) -> Trial {
        let load =
            SessionLoad { rate: Some(1000.0), ..SessionLoad::all(SessionAction::Open, 1000) };
        let succeeded = 1000 - failed;
        Trial {
            effective: Duration::from_secs_f64(seconds),
            sessions: Some(SessionCounts {
                attempted: 1000,
                succeeded,
                failed,
                ..SessionCounts::new(&load)
            }),
            ..Trial::new(Load::Sessions(load), Duration::from_secs(1), 2.5e9)
        }
    }

    #[test]
    fn sessions_that_were_begun_too_slowly_invalidate() {
        assert_eq!(kinds(&opening(0.999, 0)), []);
        assert_eq!(kinds(&opening(1.1, 0)), [(LimitKind::Tester, true)]);
        assert!(trial_limits(&opening(2.0, 0))[0].what.contains("at 50.0 % of the requested rate"));
        let mut unpaced = opening(100.0, 0);
        unpaced.load = Load::Sessions(SessionLoad::all(SessionAction::Open, 1000));
        assert_eq!(kinds(&unpaced), [], "as fast as they succeed is never too slow");
    }

    #[test]
    fn failed_sessions_are_explained_by_stalls_and_wrong_ones_invalidate() {
        let mut lossy = opening(0.999, 5);
        assert_eq!(kinds(&lossy), []);
        let stall = Stalls { thread: "worker 0".into(), count: 1, ..Stalls::default() };
        lossy.stalls = vec![Stalls { long_ns: 6_000_000, ..stall }];
        assert_eq!(kinds(&lossy), [(LimitKind::Stall, false)]);
        assert!(trial_limits(&lossy)[0].what.starts_with("5 sessions failed"));
        if let Some(sessions) = &mut lossy.sessions {
            (sessions.failed, sessions.wrong) = (7, 7);
        }
        assert_eq!(kinds(&lossy), [(LimitKind::Forwarding, true)]);
    }

    #[test]
    fn a_shared_core_is_remarked_and_a_lost_one_invalidates() {
        let mut shared = trial(1000, 1000, 1000);
        let worker =
            |cpu_ns| WorkerTime { worker: 0, core: None, cpu_ns, wall_ns: 100, packets: 1 };
        shared.workers = vec![worker(100), worker(90)];
        assert_eq!(kinds(&shared), [(LimitKind::ForeignCpu, false)]);
        shared.workers = vec![worker(79)];
        assert_eq!(kinds(&shared), [(LimitKind::ForeignCpu, true)]);
    }

    #[test]
    fn a_tester_without_its_core_is_remarked_as_a_worker_is() {
        let mut shared = trial(1000, 1000, 1000);
        let tester =
            |cpu_ns| WorkerTime { worker: 0, core: None, cpu_ns, wall_ns: 100, packets: 1 };
        for (cpu_ns, expected) in [(99, None), (90, Some(false)), (70, Some(true))] {
            shared.tester = Some(tester(cpu_ns));
            let limits = trial_limits(&shared);
            assert_eq!(limits.first().map(|limit| limit.invalidates), expected, "{limits:?}");
            assert!(limits.iter().all(|limit| limit.what.starts_with("the tester had")));
        }
        shared.workers = vec![tester(90)];
        let record = TrialRecord::new(0, "search", &shared, trial_limits(&shared));
        assert_eq!(summarise(&[&record]).len(), 2, "tester and worker are told apart");
        let mut tally = Tally::default();
        tally.add(&record.limits);
        tally.add(&[]);
        assert_eq!(tally.share(LimitKind::ForeignCpu), 0.5, "one trial of two, not two");
        assert!(tally.limits().iter().all(|limit| limit.what.starts_with("in 1 of 2 trials")));
    }

    #[test]
    fn what_the_tester_lost_is_not_the_devices_loss() {
        let mut lossy = trial(1000, 1000, 990);
        lossy.tester_ring_full = 10;
        assert_eq!(kinds(&lossy), [(LimitKind::TesterRing, true)]);
    }

    #[test]
    fn wrong_frames_invalidate_and_repeated_ones_are_remarked() {
        let mut wrong = trial(1000, 1000, 1000);
        wrong.directions[0].duplicated = 1;
        assert_eq!(kinds(&wrong), [(LimitKind::Forwarding, false)]);
        wrong.directions[0].misdelivered = 1;
        assert_eq!(kinds(&wrong), [(LimitKind::Forwarding, true)]);
    }

    #[test]
    fn a_wandering_clock_invalidates_and_a_busy_host_is_remarked() {
        let mut host = HostFacts {
            tsc: Tsc { invariant: true, ticks_per_second: 2.5e9 },
            ..HostFacts::default()
        };
        assert_eq!(host_limits(&host), []);
        host.stall_probe =
            Some(StallProbe { duration_ns: 100, total_ns: 4, ..StallProbe::default() });
        host.tsc.invariant = false;
        let limits = host_limits(&host);
        assert_eq!(limits.len(), 2);
        assert!(limits[0].invalidates && !limits[1].invalidates);
    }

    #[test]
    fn a_tally_counts_trials_and_not_limits() {
        let limit = |advice: &str, invalidates| Limit {
            kind: LimitKind::ForeignCpu,
            invalidates,
            what: advice.to_uppercase(),
            advice: advice.into(),
        };
        let mut tally = Tally::default();
        tally.add(&[limit("a", false), limit("b", false)]);
        tally.add(&[limit("a", true), limit("a", false)]);
        tally.add(&[]);
        tally.add(&[]);
        assert_eq!(tally.share(LimitKind::ForeignCpu), 0.5);
        assert_eq!(tally.share(LimitKind::Tester), 0.0);
        let told: Vec<_> = tally.limits().into_iter().map(|l| (l.invalidates, l.what)).collect();
        let expected = [
            (true, "in 2 of 4 trials; for example: A"),
            (false, "in 1 of 4 trials; for example: B"),
        ];
        assert_eq!(told, expected.map(|(invalidates, what)| (invalidates, what.to_owned())));
    }

    #[test]
    fn a_summary_names_each_kind_once_with_its_worst_case() {
        let record = |sent| {
            let trial = trial(1_000_000, sent, sent);
            TrialRecord::new(0, "search", &trial, trial_limits(&trial))
        };
        let (good, bad) = (record(1_000_000), record(500_000));
        let limits = summarise(&[&good, &bad, &bad]);
        assert_eq!(limits.len(), 1);
        assert!(limits[0].what.starts_with("in 2 of 3 trials"), "{}", limits[0].what);
    }
}
