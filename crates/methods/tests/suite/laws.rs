//! Laws that every search keeps on any device whose loss rises with the load.

use measure::record::{ClaimLevel, Outcome, TrialRecord};
use methods::simulated::Simulated;
use methods::{Unobserved, find};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The searches, with the precision of their bounds on a device of the given capacity.
fn searches() -> impl Strategy<Value = (Value, fn(f64) -> f64)> {
    let relative: fn(f64) -> f64 = |capacity| capacity * 0.0205;
    let fine: fn(f64) -> f64 = |capacity| capacity * 0.0051;
    let step: fn(f64) -> f64 = |_| 10e3;
    prop_oneof![
        Just((json!({}), relative)),
        Just((json!({"warm-up": 0}), relative)),
        Just((json!({"best-of": 2}), relative)),
        Just((json!({"worst-of": 2}), relative)),
        Just((json!({"search": "tst009"}), step)),
        Just((json!({"search": "mlrsearch"}), fine)),
        Just((json!({"search": "mlrsearch", "preceding-targets": 0}), fine)),
        Just((json!({"search": "mlrsearch", "warm-up": 0, "expansion-coefficient": 4}), fine)),
        Just((json!({"search": "mlrsearch", "goals": "ndr-pdr"}), fine)),
    ]
}

fn run(mut config: Value, limits: (u32, f64), mut device: Simulated) -> Outcome {
    config["max-trials"] = json!(limits.0);
    config["max-search-time"] = json!(limits.1);
    let method = (find("throughput").expect("a method").read)(config).expect("valid");
    method.run(&mut device, &mut Unobserved).expect("a simulated device does not fail")
}

/// The lower bound in packets per second; 0 if there is none.
fn bounds_pps(outcome: &Outcome) -> f64 {
    outcome.bounds.and_then(|bounds| bounds.lower_pps).unwrap_or(0.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_monotone_device_is_found_between_close_bounds(
        (config, precision) in searches(),
        capacity in (12e3f64..19e6).prop_map(f64::round),
    ) {
        let outcome = run(config.clone(), (1000, 3600.0), Simulated::fixed(capacity));
        let bounds = outcome.bounds.expect("a search has bounds");
        prop_assert!(bounds.regular, "{config}: {bounds:?}");
        let (lower, upper) = (bounds.lower_pps.expect("regular"), bounds.upper_pps.expect("regular"));
        prop_assert!(lower <= capacity + 1.0 && upper > capacity, "{config}: {bounds:?}");
        prop_assert!(upper - lower <= precision(upper) * 1.001, "{config}: {bounds:?}");
        prop_assert!(outcome.validity.valid);
        prop_assert!(outcome.goals.iter().all(|goal| goal.bounds.regular), "{config}");
        prop_assert_eq!(outcome.goals[0].bounds, bounds);
    }

    #[test]
    fn trials_and_time_are_kept_and_what_is_irregular_claims_nothing(
        (config, _) in searches(),
        capacity in 5e3f64..40e6,
        noise in 0.0f64..0.3,
        stalls in 0.0f64..1.0,
        tester in prop_oneof![Just(1e9f64), 1e5f64..2e7],
        seed: u64,
        trials in 2u32..80,
        time in 30f64..200.0,
    ) {
        let device = Simulated::fixed(capacity)
            .noisy(noise)
            .stalling(stalls, 9_000_000)
            .tester_limited(tester)
            .seeded(seed);
        let outcome = run(config.clone(), (trials, time), device);
        // What a stall had repeated has a budget of its own, of the same size.
        for stalled in [false, true] {
            let is_meant = |t: &&TrialRecord| (t.purpose == "stall-repetition") == stalled;
            let of = outcome.trials.iter().filter(is_meant);
            let spent: f64 = of.clone().map(|t| t.intended_ns as f64 * 1e-9).sum();
            prop_assert!(of.clone().count() <= trials as usize, "{config}: {}", of.count());
            prop_assert!(spent <= time + 1e-6, "{config}: {spent} of {time} s");
        }
        let sent = |t: &TrialRecord| t.directions.iter().all(|d| {
            bounds_pps(&outcome) * t.effective_ns as f64 * 1e-9 <= d.sent as f64 + 1.0
        });
        prop_assert!(
            bounds_pps(&outcome) == 0.0 || outcome.trials.iter().any(sent),
            "{config}: a lower bound above all that was sent"
        );
        let bounds = outcome.bounds.expect("a search has bounds");
        let claimed = outcome.claims.iter().any(|claim| claim.level != ClaimLevel::None);
        prop_assert!(!claimed || bounds.regular, "{config}: {:?}", outcome.claims);
        prop_assert!(outcome.trials.iter().enumerate().all(|(i, trial)| trial.index == i));
        if let (Some(lower), Some(upper)) = (bounds.lower_pps, bounds.upper_pps) {
            prop_assert!(lower < upper, "{config}: {bounds:?}");
        }
    }
}
