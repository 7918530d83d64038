//! `forwarding-rate` on simulated devices: what goes in and what comes out is known.

use measure::Seconds;

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn an_overloaded_device_forwards_its_capacity() {
    let mut device = Simulated::fixed(5e6);
    let outcome = run(&Config::default(), &mut device);
    assert_eq!(device.trials(), 11, "a warm-up and ten repetitions");
    let alone = baseline::time(TESTER_ALONE);
    assert_eq!(device.simulated() + alone, Config::default().time_bound());
    assert_eq!(value(&outcome, "forwarding_rate"), 5e6);
    assert_eq!(value(&outcome, "forwarding_rate_aggregate"), 10e6);
    assert_eq!(value(&outcome, "offered_rate"), 20e6);
    assert_eq!(value(&outcome, "loss_percent"), 75.0);
    assert_eq!(outcome.parts("latency_p50").count(), 2);
    crate::figures::assert_known(&outcome);
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty(), "{outcome:?}");
    assert_eq!(
        outcome.answer,
        "Of 20.0 Mpps on each of 2 ports, it forwards 5.00 Mpps, 10.0 Mpps in all; 75 % is \
         lost."
    );
}

#[test]
fn a_load_below_the_capacity_is_forwarded_in_full() {
    let config = Config { rate: Pps(1e6), warm_up: Seconds(0.0), ..Config::default() };
    let mut device = Simulated::fixed(5e6);
    let outcome = run(&config, &mut device);
    assert_eq!(device.trials(), 10);
    assert_eq!((value(&outcome, "forwarding_rate"), value(&outcome, "loss_percent")), (1e6, 0.0));
}

#[test]
fn a_tester_that_sends_all_it_can_yields_the_rate_at_maximum_offered_load() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(5e6).tester_limited(8e6));
    assert_eq!((value(&outcome, "offered_rate"), value(&outcome, "forwarding_rate")), (8e6, 5e6));
    assert!(outcome.validity.valid, "the most that can be offered is no fault");
    assert!(outcome.validity.limits.iter().any(|l| l.kind == LimitKind::Tester));
    assert!(outcome.answer.contains("the tester's maximum"), "{}", outcome.answer);
    assert_eq!(outcome.claims[1].level, ClaimLevel::Partial);
}

#[test]
fn a_rate_near_the_ceiling_of_the_tester_alone_says_so() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(9e6).tester_limited(8e6));
    assert_eq!(outcome.baseline.map(|b| b.tester_pps), Some(8e6));
    assert!(outcome.validity.limits.iter().any(|l| l.kind == LimitKind::Baseline));
    let slow = run(&Config::default(), &mut Simulated::fixed(5e6).tester_limited(8e6));
    assert!(slow.validity.limits.iter().all(|l| l.kind != LimitKind::Baseline));
}

#[test]
fn a_load_that_was_sent_in_full_is_not_claimed_to_be_the_maximum() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(5e6));
    assert_eq!(outcome.claims[0].level, ClaimLevel::Partial);
    assert_eq!(outcome.claims[1].level, ClaimLevel::None);
}

#[test]
fn noise_shows_as_spread_and_the_median_stays_within_it() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(5e6).noisy(0.2).seeded(3));
    let spread = outcome.figure("forwarding_rate").and_then(|f| f.spread).expect("repeated");
    assert!(spread.min < spread.median && spread.median < spread.max && spread.n == 10);
    assert!((spread.median / 5e6 - 1.0).abs() < 0.2);
    assert!(outcome.validity.limits.iter().any(|l| l.kind == LimitKind::Spread));
}
