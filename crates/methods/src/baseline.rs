//! What the tester alone does, a wire in the device's place, and whether it was the limit.
//!
//! RFC 2544 section 5 and the MLRsearch draft (section Measurer) ask to know the tester first. A
//! result close to the tester's own ceiling says what the device forwards at least, not at most.
//!
//! The wire is measured as the load will be: paced, with the same traffic in the same directions
//! and on the same core. A flood would not show it, because a tester that is refused most frames
//! spends its time on those. There is no worker beside it: where tester and worker share memory
//! bandwidth or a core, the tester is slower with the device than alone, and its trials say so by
//! themselves (`validity::tester_fell_short`). It is never faster with the device, so a result
//! above the ceiling is a defect of the run.

use std::time::Duration;

use measure::record::{Baseline, Limit, LimitKind, Spread};
use measure::{MeasureError, Pps, Trial, validity};

use crate::figures::forwarded_pps;

/// Fraction of the tester's own maximum from which on a result is limited by the tester.
pub(crate) const NEAR_CEILING: f64 = 0.95;

/// Makes a trial of the wire at a rate; none if there is no wire.
pub(crate) type Wire<'a> = dyn FnMut(Pps, Duration) -> Result<Option<Trial>, MeasureError> + 'a;

/// The highest paced load, up to `most`, that the tester sends and gets back through a wire, and
/// the spread of what came back in [`REPETITIONS`] trials there. The search for it takes trials of
/// half the `duration`.
pub(crate) fn ceiling(
    most: Pps,
    duration: Duration,
    wire: &mut Wire<'_>,
) -> Result<Option<Baseline>, MeasureError> {
    let Some(first) = wire(most, duration)? else { return Ok(None) };
    let Some(all) = of(std::slice::from_ref(&first)) else { return Ok(None) };
    if is_carried(&first) {
        return Ok(Some(all));
    }
    let (mut lower, mut upper, mut load): (Option<f64>, f64, f64) = (None, most.0, all.tester_pps);
    for _ in 0..SEARCH_TRIALS_MAX {
        if load <= 0.0 || lower.is_some_and(|lower| upper - lower <= upper * PRECISION) {
            break;
        }
        let Some(trial) = wire(Pps(load), duration / 2)? else { break };
        // A stalled trial says nothing; the load is tried again.
        match is_carried(&trial) {
            true => lower = Some(load),
            false if validity::stalls_explain_miss(&trial) => continue,
            false => upper = load,
        }
        load = match lower {
            Some(lower) if lower * 2.0 < upper => lower * 2.0,
            Some(lower) => (lower * upper).sqrt(),
            None => forwarded_pps(&trial).min(upper * (1.0 - PRECISION)),
        };
    }
    let at = Pps(lower.unwrap_or(load));
    let mut trials = Vec::new();
    for _ in 0..REPETITIONS {
        trials.extend(wire(at, duration)?);
    }
    Ok(of(&trials).or(Some(all)))
}

/// The baseline, raised to a result that exceeds it if the wire carries that load after all: then
/// something had disturbed the first measurement. Otherwise it stays, and [`limit`] tells.
pub(crate) fn confirmed(
    baseline: Baseline,
    result: Pps,
    duration: Duration,
    wire: &mut Wire<'_>,
) -> Result<Baseline, MeasureError> {
    if !is_above(baseline, result) {
        return Ok(baseline);
    }
    let (mut carried, mut missed) = (Vec::new(), 0);
    for _ in 0..CONFIRMATIONS_MAX {
        let Some(trial) = wire(result, duration)? else { break };
        match is_carried(&trial) {
            true => carried.push(trial),
            // A stalled trial says nothing; the load is tried again.
            false if validity::stalls_explain_miss(&trial) => continue,
            false => missed += 1,
        }
        if carried.len() + missed == REPETITIONS as usize {
            break;
        }
    }
    let again = of(&carried).filter(|again| again.tester_pps > baseline.tester_pps);
    Ok(Baseline { latency_p50_ns: baseline.latency_p50_ns, ..again.unwrap_or(baseline) })
}

/// Upper bound of the duration of [`ceiling`] and [`confirmed`] together.
pub(crate) fn time(duration: Duration) -> Duration {
    duration.saturating_mul(1 + REPETITIONS + CONFIRMATIONS_MAX) + duration / 2 * SEARCH_TRIALS_MAX
}

/// The baseline from trials with the tester alone at one load: the rate on the slowest interface,
/// and the latency on that with the longest.
pub(crate) fn of(trials: &[Trial]) -> Option<Baseline> {
    let rates: Vec<f64> = trials.iter().map(forwarded_pps).filter(|rate| *rate > 0.0).collect();
    let spread = Spread::of(&rates)?;
    let timed = trials.iter().flat_map(|trial| &trial.directions);
    let timed = timed.filter(|direction| !direction.latency_ns.is_empty());
    let latency_p50_ns =
        timed.map(|d| d.latency_ns.value_at_quantile(0.5) as f64).max_by(f64::total_cmp);
    let repeated = (rates.len() > 1).then_some(spread);
    Some(Baseline { tester_pps: spread.median, spread: repeated, latency_p50_ns })
}

/// Whether a wire brought back what was asked for.
fn is_carried(trial: &Trial) -> bool {
    let intended: u64 = trial.directions.iter().map(|d| d.intended).sum();
    let back = trial.received() as f64;
    intended > 0 && back >= intended as f64 * validity::TESTER_SENT_MIN
}

/// Whether a result is above what the tester alone carries, beyond its spread and the precision.
fn is_above(baseline: Baseline, result: Pps) -> bool {
    let most = baseline.spread.map_or(baseline.tester_pps, |spread| spread.max);
    result.0 > most * (1.0 + PRECISION)
}

/// The limit of a result (per port and direction) that is close to the tester's own maximum; the
/// answer should then say "at least". A result above it makes the run invalid. `asked` is the
/// highest load of the baseline: a tester that sent all of it has shown no maximum.
pub(crate) fn limit(baseline: Baseline, asked: Pps, result: Pps) -> Option<Limit> {
    let has_ceiling = baseline.tester_pps < asked.0 * validity::TESTER_SENT_MIN;
    let share = result.0 / baseline.tester_pps;
    if !has_ceiling || share < NEAR_CEILING {
        return None;
    }
    let alone = match baseline.spread {
        Some(Spread { min, max, n, .. }) => {
            format!("{} ({} to {} in {n} trials)", Pps(baseline.tester_pps), Pps(min), Pps(max))
        }
        None => Pps(baseline.tester_pps).to_string(),
    };
    let is_defect = is_above(baseline, result);
    let meaning = match is_defect {
        true => "no result can be above it, so one of the two was disturbed",
        false => "the device may do more",
    };
    Some(Limit {
        kind: LimitKind::Baseline,
        invalidates: is_defect,
        what: format!(
            "{result} is {:.0} % of the tester's own maximum, {alone}: {meaning}",
            share * 100.0
        ),
        advice: match is_defect {
            true => "measure again while nothing else runs on this machine; the stalls of the \
                     trials and `plumbline doctor` tell how quiet it is"
                .to_owned(),
            false => format!(
                "the tester was the limit: alone it sends {}; give it a core of its own or a \
                 faster one, use longer frames, or use the method capacity",
                Pps(baseline.tester_pps)
            ),
        },
    })
}

/// Distance of the loads at which the search for the ceiling ends, as a fraction of the upper one.
const PRECISION: f64 = 0.05;

/// Largest number of trials of that search.
const SEARCH_TRIALS_MAX: u32 = 8;

/// Number of trials at the highest load that came back.
const REPETITIONS: u32 = 3;

/// Largest number of trials at the load of a result that is above the ceiling.
const CONFIRMATIONS_MAX: u32 = 8;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measure::Load;

    use super::*;
    use crate::Unobserved;
    use crate::method::Session;
    use crate::simulated::Simulated;

    const SECOND: Duration = Duration::from_secs(1);

    /// What the tester of a simulated device does alone of at most 20 Mpps.
    fn alone(mut device: Simulated) -> Baseline {
        let mut observer = Unobserved;
        let mut session = Session::new(&mut device, &mut observer);
        let baseline = session.tester_alone(Pps(20e6), SECOND).expect("simulated").expect("a wire");
        assert!(session.records.is_empty(), "it is no trial of the device");
        baseline
    }

    #[test]
    fn the_ceiling_is_the_highest_paced_load_and_not_what_is_left_in_a_flood() {
        for flooded in [1.0, 0.5, 0.1] {
            for most in [19e6, 8.8e6, 2e6, 50e3] {
                let device = Simulated::fixed(10e6).tester_limited(most).flooded_wire(flooded);
                let found = alone(device);
                let share = found.tester_pps / most;
                assert!((0.95..=1.0).contains(&share), "{share} of {most}, flooded {flooded}");
                let spread = found.spread.expect("it was repeated");
                assert!(spread.n == 3 && spread.relative_width() < 1e-3, "{spread:?}");
            }
        }
        let all = alone(Simulated::fixed(1e6));
        assert_eq!((all.tester_pps, all.spread), (20e6, None), "one trial has shown all");
    }

    #[test]
    fn a_result_near_the_ceiling_of_the_tester_is_remarked_with_advice() {
        let baseline = alone(Simulated::fixed(10e6).tester_limited(2e6));
        assert!(baseline.latency_p50_ns.is_some_and(|ns| ns > 0.0));
        let near = limit(baseline, Pps(20e6), Pps(1.95e6)).expect("within 5 %");
        assert!(!near.invalidates && near.kind == LimitKind::Baseline);
        assert!(near.advice.starts_with("the tester was the limit: alone it sends "), "{near:?}");
        assert!(near.what.contains(" in 3 trials"), "{}", near.what);
        assert_eq!(limit(baseline, Pps(20e6), Pps(1.8e6)), None);
        assert_eq!(limit(baseline, Pps(2e6), Pps(2e6)), None, "it sent all it was asked for");
    }

    #[test]
    fn a_result_above_the_ceiling_is_measured_again_and_else_a_defect_of_the_run() {
        // With the device the tester sends 2 Mpps, through the wire it sends half of it at most.
        let device = || Simulated::fixed(10e6).tester_limited(2e6).slow_wire(0.5);
        let baseline = alone(device());
        let above = limit(baseline, Pps(20e6), Pps(1.9e6)).expect("190 %");
        assert!(above.invalidates && above.what.contains("one of the two was disturbed"));
        let confirm = |mut device: Simulated, result| {
            let mut observer = Unobserved;
            let mut session = Session::new(&mut device, &mut observer);
            let found = session.confirmed(Some(baseline), Some(result), SECOND);
            found.expect("simulated").expect("there was one")
        };
        assert_eq!(confirm(device(), 1.9e6), baseline, "it stays as it was");
        // The wire carries it after all: the first measurement was disturbed.
        let again = confirm(Simulated::fixed(10e6).tester_limited(2e6), 1.9e6);
        assert_eq!(again.tester_pps, 1.9e6);
        assert!(limit(again, Pps(20e6), Pps(1.9e6)).is_some_and(|l| !l.invalidates));
        assert_eq!(confirm(device(), 0.9e6), baseline, "a result below is not measured again");
    }

    #[test]
    fn a_stalled_trial_does_not_speak_against_a_result() {
        let trial = |mut device: Simulated| {
            let mut observer = Unobserved;
            let mut session = Session::new(&mut device, &mut observer);
            let step = crate::Step::new("wire", 1, Duration::ZERO, None);
            session.trial(Load::PerInterface(Pps(1.9e6)), SECOND, step).expect("simulated")
        };
        let stalled = trial(Simulated::fixed(2e6).stalling(1.0, 9_000_000).seeded(2));
        let [whole, missed] = [2e6, 1e6].map(|most| trial(Simulated::fixed(most)));
        assert!(!is_carried(&stalled) && is_carried(&whole) && !is_carried(&missed));
        let baseline = Baseline { tester_pps: 1e6, spread: None, latency_p50_ns: None };
        let confirm = |trials: &[&Trial]| {
            let mut count = 0;
            let wire: &mut Wire<'_> = &mut |_, _| {
                count += 1;
                Ok(trials.get(count - 1).map(|trial| (*trial).clone()))
            };
            let found = confirmed(baseline, Pps(1.9e6), SECOND, wire).expect("simulated");
            (found.tester_pps, count)
        };
        let stalls = [&stalled; 7];
        assert_eq!(confirm(&[&stalls[..], &[&whole]].concat()), (1.9e6, 8));
        assert_eq!(confirm(&[&missed, &stalled, &missed, &missed, &whole]), (1e6, 4));
        assert_eq!(confirm(&[&stalls[..], &[&stalled, &whole]].concat()), (1e6, 8), "bounded");
    }

    #[test]
    fn a_wire_that_carried_nothing_is_no_baseline() {
        let load = Load::PerInterface(Pps(1e6));
        assert_eq!(of(&[Trial::new(load, SECOND, 1e9)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_stalled_trial_is_repeated_as_often_as_allowed_and_all_are_kept() {
        let run = |probability, repeats| {
            let mut device = Simulated::fixed(2e6).stalling(probability, 9_000_000).seeded(2);
            let mut observer = Unobserved;
            let mut session = Session::new(&mut device, &mut observer);
            let step = crate::Step::new("search", 1, Duration::ZERO, None);
            let load = Load::PerInterface(Pps(1e6));
            let trial = session
                .trial_unless_stalled(load, Duration::from_secs(1), step, repeats)
                .expect("simulated");
            let purposes: Vec<String> = session.records.iter().map(|r| r.purpose.clone()).collect();
            (trial.loss_ratio(), purposes)
        };
        assert_eq!(run(0.0, 2), (0.0, vec!["search".to_owned()]));
        let (loss, purposes) = run(1.0, 2);
        assert!(loss > 0.0, "the last one counts");
        assert_eq!(purposes, ["search", "stall-repetition", "stall-repetition"]);
        assert_eq!(run(1.0, 0).1.len(), 1);
    }
}
