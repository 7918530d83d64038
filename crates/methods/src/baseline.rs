//! What the tester alone does, a wire in the device's place, and whether it was the limit.
//!
//! RFC 2544 section 5 and the MLRsearch draft (section Measurer) ask to know the tester first. A
//! result close to the tester's own ceiling says what the device forwards at least, not at most.
//! The wire is measured before the device, with the same traffic and on the same core, but with no
//! worker beside it: where tester and worker share memory bandwidth or a core, the tester is slower
//! with the device than alone, and its trials say so by themselves (`validity::tester_fell_short`).

use measure::record::{Baseline, Limit, LimitKind};
use measure::{Pps, Trial};

/// Fraction of the tester's own maximum from which on a result is limited by the tester.
pub(crate) const NEAR_CEILING: f64 = 0.95;

/// The baseline from a trial with the tester alone: the rate and latency on the slowest interface.
pub(crate) fn of(trial: &Trial) -> Option<Baseline> {
    let seconds = trial.effective.as_secs_f64();
    let slowest = trial.directions.iter().map(|d| d.received).min()?;
    if seconds <= 0.0 {
        return None;
    }
    let latency = trial.directions.iter().filter(|d| !d.latency_ns.is_empty());
    let latency_p50_ns =
        latency.map(|d| d.latency_ns.value_at_quantile(0.5) as f64).max_by(f64::total_cmp);
    Some(Baseline { tester_pps: slowest as f64 / seconds, latency_p50_ns })
}

/// The limit of a result (per port and direction) that is close to the tester's own maximum; the
/// answer should then say "at least". `asked` is the load of the baseline trial: a tester that sent
/// all of it has shown no maximum.
pub(crate) fn limit(baseline: Baseline, asked: Pps, result: Pps) -> Option<Limit> {
    let has_ceiling = baseline.tester_pps < asked.0 * measure::validity::TESTER_SENT_MIN;
    (has_ceiling && result.0 >= baseline.tester_pps * NEAR_CEILING).then(|| Limit {
        kind: LimitKind::Baseline,
        invalidates: false,
        what: format!(
            "{result} is {:.0} % of the tester's own maximum: the device may do more",
            result.0 / baseline.tester_pps * 100.0
        ),
        advice: format!(
            "the tester was the limit: alone it sends {}; give it a core of its own or a faster \
             one, use longer frames, or use the method capacity",
            Pps(baseline.tester_pps)
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measure::Load;

    use super::*;
    use crate::Unobserved;
    use crate::method::Session;
    use crate::simulated::Simulated;

    #[test]
    fn a_result_near_the_ceiling_of_the_tester_is_remarked_with_advice() {
        let mut device = Simulated::fixed(10e6).tester_limited(2e6);
        let mut observer = Unobserved;
        let mut session = Session::new(&mut device, &mut observer);
        let second = Duration::from_secs(1);
        let baseline = session.tester_alone(Pps(20e6), second).expect("simulated").expect("a wire");
        assert_eq!(baseline.tester_pps, 2e6);
        assert!(baseline.latency_p50_ns.is_some_and(|ns| ns > 0.0));
        assert!(session.records.is_empty(), "it is no trial of the device");
        let near = limit(baseline, Pps(20e6), Pps(1.95e6)).expect("within 5 %");
        assert!(!near.invalidates && near.kind == LimitKind::Baseline);
        assert!(near.advice.starts_with("the tester was the limit: alone it sends 2.00 Mpps"));
        assert_eq!(limit(baseline, Pps(20e6), Pps(1.8e6)), None);
        assert_eq!(limit(baseline, Pps(2e6), Pps(2e6)), None, "it sent all it was asked for");
    }

    #[test]
    fn a_wire_that_carried_nothing_is_no_baseline() {
        let load = Load::PerInterface(Pps(1e6));
        assert_eq!(of(&Trial::new(load, Duration::from_secs(1), 1e9)), None);
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
