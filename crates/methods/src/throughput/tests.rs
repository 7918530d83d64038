//! `throughput` on simulated devices: search error and number of trials are stated here.

use measure::record::{ClaimLevel, LimitKind};
use measure::{Ratio, Seconds, Trial};

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn found(outcome: &Outcome) -> f64 {
    outcome.figure("throughput").expect("a load passed").value
}

#[test]
fn a_fixed_capacity_is_found_within_the_precision_in_at_most_nine_trials() {
    for capacity in [11e3, 123_456.0, 1e6, 3.3e6, 14.88e6, 19.9e6] {
        let mut device = Simulated::fixed(capacity);
        let outcome = run(&Config::default(), &mut device);
        let error = 1.0 - found(&outcome) / capacity;
        assert!((0.0..=0.02).contains(&error), "{capacity}: error {error}");
        assert!(device.trials() <= 9, "{capacity}: {} trials", device.trials());
        assert!(outcome.validity.valid, "{:?}", outcome.validity);
        assert!(outcome.bounds.is_some_and(|b| b.regular));
        assert_eq!(outcome.trials.last().map(|t| t.purpose.as_str()), Some("confirmation"));
    }
}

#[test]
fn without_a_warm_up_it_takes_more_trials_and_finds_the_same() {
    let config = Config { warm_up: Seconds(0.0), ..Config::default() };
    let mut device = Simulated::fixed(1e6);
    let error = 1.0 - found(&run(&config, &mut device)) / 1e6;
    assert!((0.0..=0.02).contains(&error), "error {error}");
    assert!((10..=25).contains(&device.trials()), "{} trials", device.trials());
}

#[test]
fn noise_costs_accuracy_but_the_result_is_one_that_was_passed() {
    for seed in 0..50 {
        let mut device = Simulated::fixed(1e6).noisy(0.05).seeded(seed);
        let outcome = run(&Config::default(), &mut device);
        let error = found(&outcome) / 1e6 - 1.0;
        assert!((-0.07..=0.05).contains(&error), "seed {seed}: error {error}");
        assert!(device.trials() <= 40, "seed {seed}: {} trials", device.trials());
        let lower = outcome.bounds.and_then(|b| b.lower_pps);
        let shown = outcome.trials.iter().rev().find(|t| t.load_pps() == lower);
        assert!(shown.is_some_and(|t| t.loss_fraction == 0.0 && t.intended_ns == 5_000_000_000));
    }
}

#[test]
fn loss_below_the_result_is_not_seen_as_documented() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).lossy_below(2e5, 0.001));
    assert!((0.98..=1.0).contains(&(found(&outcome) / 1e6)));
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).lossy_below(5e6, 0.001));
    assert_eq!(outcome.figure("throughput"), None);
    assert!(!outcome.validity.valid);
    assert_eq!(outcome.answer, "No load from 10.0 kpps to 20.0 Mpps passed.");
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
}

#[test]
fn a_tolerance_lets_a_lossy_device_pass() {
    let config = Config { loss_tolerance: Ratio(0.002), ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(1e6).lossy_below(5e6, 0.001));
    assert!((0.97..=1.0).contains(&(found(&outcome) / 1e6)), "{}", found(&outcome));
    assert!(
        outcome.answer.contains("with a loss of 0.1 % (0.2 % was tolerated)"),
        "{}",
        outcome.answer
    );
}

#[test]
fn repeating_lossy_trials_sees_through_stalls() {
    // One trial in three stalls for 9 ms, as shared machines do.
    let error = |repeat_lossy, seed| {
        let config = Config { repeat_lossy, repeat_stalled: 0, ..Config::default() };
        let mut device = Simulated::fixed(2e6).stalling(0.33, 9_000_000).seeded(seed);
        let outcome = run(&config, &mut device);
        (1.0 - outcome.figure("throughput").map_or(0.0, |f| f.value) / 2e6, device.trials())
    };
    let good = |repeat| (0..50).filter(|seed| error(repeat, *seed).0 <= 0.021).count();
    let (plain, verified) = (good(0), good(3));
    assert!(verified >= 46, "{verified} of 50 searches within the precision");
    assert!(plain <= 30, "plain search: {plain} of 50");
    assert!((0..50).all(|seed| error(3, seed).1 <= 40), "trials stay bounded");
}

#[test]
fn stalls_that_explain_the_loss_of_the_bound_are_remarked() {
    let config = Config { repeat_lossy: 0, repeat_stalled: 0, ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(2e6).stalling(1.0, 20_000_000));
    let kinds: Vec<LimitKind> = outcome.validity.limits.iter().map(|l| l.kind).collect();
    assert!(kinds.contains(&LimitKind::Stall), "{kinds:?}");
}

#[test]
fn a_tester_that_is_the_limit_makes_the_result_a_lower_bound() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(10e6).tester_limited(2e6));
    assert!((0.97..=1.0).contains(&(found(&outcome) / 2e6)), "{}", found(&outcome));
    assert!(outcome.validity.valid, "what was forwarded was forwarded");
    assert!(outcome.answer.starts_with("It forwards at least "), "{}", outcome.answer);
    let limit = outcome.validity.limits.iter().find(|l| l.kind == LimitKind::Tester);
    assert!(limit.is_some_and(|l| l.advice.contains("max-rate")));
    assert_eq!(outcome.claims[0].level, ClaimLevel::None, "claims fail closed");
}

#[test]
fn a_device_faster_than_the_range_is_reported_as_at_least() {
    let mut device = Simulated::fixed(100e6);
    let outcome = run(&Config::default(), &mut device);
    assert_eq!(device.trials(), 3, "warm-up, max-rate, confirmation");
    assert_eq!(found(&outcome), 20e6);
    assert!(outcome.answer.starts_with("It forwards at least 20.0 Mpps on each of 2 interfaces"));
    assert!(outcome.validity.valid);
}

#[test]
fn a_confirmation_that_keeps_failing_ends_with_the_trials_and_claims_nothing() {
    let config = Config { repeat_lossy: 0, max_trials: 12, ..Config::default() };
    let mut device = Simulated::fixed(1e6).stalling(0.9, 50_000_000).seeded(3);
    let outcome = run(&config, &mut device);
    assert!(device.trials() <= 12);
    assert!(!outcome.validity.valid, "{}", outcome.answer);
}

#[test]
fn rare_stalls_that_only_long_trials_meet_lower_the_result_in_few_confirmations() {
    // Every long trial stalls for 2 ms: the ring takes up 4096 frames of it, so that 2.048 Mpps and
    // less pass although short trials pass up to 5 Mpps.
    struct LongTrialsStall(Simulated, Simulated);
    impl Measurer for LongTrialsStall {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn measure::Watch,
        ) -> Result<Trial, MeasureError> {
            let device = if duration.as_secs() >= 5 { &mut self.1 } else { &mut self.0 };
            device.measure(load, duration, watch)
        }
    }
    let quiet = Simulated::fixed(5e6);
    let mut device = LongTrialsStall(quiet.clone(), quiet.stalling(1.0, 2_000_000));
    let outcome = Config::default().run(&mut device, &mut Unobserved).expect("simulated");
    assert!((0.85..=1.0).contains(&(found(&outcome) / 2.048e6)), "{}", found(&outcome));
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    let time: u64 = outcome.trials.iter().map(|t| t.intended_ns).sum();
    assert!(time <= 120_000_000_000, "{} s", time / 1_000_000_000);
}

#[test]
fn figures_state_interface_aggregate_layers_and_latency() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6));
    let load = found(&outcome);
    let value = |name: &str| outcome.figure(name).expect("stated").value;
    assert_eq!(value("throughput_aggregate"), 2.0 * load);
    assert!((value("throughput_aggregate_l2") - 2.0 * load * 512.0).abs() < 1.0);
    assert!((value("throughput_aggregate_l1") - 2.0 * load * 672.0).abs() < 1.0);
    assert_eq!(outcome.parts("latency_p99_9").count(), 2);
    let percentiles: Vec<f64> = ["latency_min", "latency_p50", "latency_p99", "latency_max"]
        .iter()
        .map(|name| outcome.parts(name).next().expect("uplink").value)
        .collect();
    assert!(percentiles.is_sorted() && percentiles[0] < percentiles[3], "{percentiles:?}");
    assert!((1_000.0..1e6).contains(&percentiles[1]), "{percentiles:?}");
}

#[test]
fn claims_name_every_deviation() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6));
    let rfc = &outcome.claims[0];
    assert_eq!((rfc.clause.as_str(), rfc.level), ("rfc2544.26.1", ClaimLevel::Partial));
    for part in ["5.00 s instead of 60 s", "repeated up to 2 times", "section 23"] {
        assert!(rfc.reason.contains(part), "{part} is missing in {}", rfc.reason);
    }
    assert_eq!(outcome.claims[1].clause, "tst009.12.3.3");
}

#[test]
fn the_same_seed_gives_the_same_record() {
    let record =
        |seed| run(&Config::default(), &mut Simulated::fixed(1e6).noisy(0.05).seeded(seed));
    assert_eq!(record(5), record(5));
}
