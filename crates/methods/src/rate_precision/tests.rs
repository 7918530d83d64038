//! `rate-precision` on simulated policers whose errors are known.

use measure::record::{ClaimLevel, LimitKind};
use measure::{Pps, Ratio, Seconds, Trial};

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

/// A device with a hundred subscribers of 100 kB/s each and a burst of 5 ms.
fn device() -> Simulated {
    Simulated::fixed(10e6).policing(100, 100e3, 2000.0)
}

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

fn problem(config: &Config, device: &mut Simulated) -> String {
    config.run(device, &mut Unobserved).expect_err("nothing to measure").to_string()
}

/// The errors of the series, by row.
fn errors(outcome: &Outcome) -> Vec<Option<f64>> {
    outcome.series[0].rows.iter().map(|row| row[4]).collect()
}

#[test]
fn exact_policers_are_found_exact_to_a_frame() {
    let mut device = device();
    let outcome = run(&Config::default(), &mut device);
    crate::figures::assert_known(&outcome);
    let uncertainty = value(&outcome, "uncertainty_percent");
    assert!(uncertainty < 0.01, "64 bytes of 1 MB: {uncertainty}");
    assert!(value(&outcome, "error_worst_percent").abs() <= uncertainty);
    assert_eq!(value(&outcome, "within_tolerance_percent"), 100.0);
    assert_eq!(value(&outcome, "conforming_dropped_percent"), 0.0);
    assert_eq!(value(&outcome, "policers"), 200.0, "two classes of a hundred");
    // 1.5 * 100 kB/s of a hundred subscribers in packets of 46 bytes.
    assert!((value(&outcome, "load") / (1.5 * 100.0 * 100e3 / 46.0) - 1.0).abs() < 0.02);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert_eq!(outcome.claims[0].level, ClaimLevel::Partial);
    assert_eq!(outcome.parts("error_median_percent").count(), 2);
    // A probe, a warm-up, three repetitions and the underload with a refill each.
    assert_eq!(device.trials(), 10);
    assert!(outcome.answer.starts_with("At 1.5 times their rate, 100 % of 200 policers"));
    assert!(outcome.answer.ends_with("at 0.9 times their rate nothing is dropped."));
}

#[test]
fn known_errors_come_out_by_subscriber_to_the_uncertainty() {
    let known = |n: usize| (n % 5) as f64 * 0.01 - 0.02;
    let outcome = run(&Config::default(), &mut device().policer_errors(known));
    // What is wrong is the rate, not the burst, whose share therefore dilutes an error.
    let uncertainty = value(&outcome, "uncertainty_percent");
    let diluted = value(&outcome, "burst_share_percent") / 100.0;
    for (row, error) in outcome.series[0].rows.iter().zip(errors(&outcome)) {
        let truth = known(row[0].expect("a subscriber") as usize) * 100.0;
        let error = error.expect("it was offered enough");
        assert!(
            (error - truth).abs() <= uncertainty + diluted * truth.abs(),
            "{error} for {truth}"
        );
    }
    assert!(value(&outcome, "error_median_percent").abs() < 0.01);
    assert!((value(&outcome, "error_worst_percent").abs() - 2.0).abs() < 0.01);
    assert!((value(&outcome, "within_tolerance_percent") - 60.0).abs() < 1e-9);
}

#[test]
fn a_policer_that_lets_everything_pass_is_off_by_the_overload_at_least() {
    let outcome = run(&Config::default(), &mut device().policer_errors(|_| 9.0));
    assert!(value(&outcome, "error_median_percent") > 49.0);
    assert_eq!(value(&outcome, "within_tolerance_percent"), 0.0);
}

#[test]
fn frames_at_random_and_different_rates_change_nothing() {
    let known = |n: usize| if n == 7 { -0.03 } else { 0.0 };
    let rates = |n: usize| 50e3 * (1 + n % 3) as f64;
    let mut device = device().policer_errors(known).policer_rates(rates).scattered().seeded(5);
    let outcome = run(&Config::default(), &mut device);
    assert!((value(&outcome, "error_worst_percent") + 3.0).abs() < 0.05, "{}", outcome.answer);
    assert_eq!(value(&outcome, "policers"), 200.0, "the largest rate sets the load");
    assert!(value(&outcome, "error_median_percent").abs() < 0.02);
}

#[test]
fn a_long_burst_is_accounted_for_and_remarked() {
    let config = Config { duration: Seconds(1.0), ..Config::default() };
    let mut device = Simulated::fixed(10e6).policing(100, 100e3, 20e3);
    let outcome = run(&config, &mut device);
    assert!(value(&outcome, "error_worst_percent").abs() < 0.1, "{}", outcome.answer);
    assert!((value(&outcome, "burst_share_percent") - 100.0 / 6.0).abs() < 0.1);
    let limit = outcome.validity.limits.iter().find(|l| l.kind == LimitKind::TooFewFrames);
    assert!(limit.is_some_and(|l| !l.invalidates && l.what.contains("full buckets")));
    assert!(outcome.validity.valid);
}

#[test]
fn too_few_frames_for_the_tolerance_invalidate() {
    let config = Config { duration: Seconds(0.05), ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(10e6).policing(100, 100e3, 0.0));
    assert!(!outcome.validity.valid);
    let limit = outcome.validity.limits.iter().find(|l| l.invalidates).expect("one invalidates");
    assert_eq!(limit.kind, LimitKind::TooFewFrames);
    assert!(limit.what.contains("1.28 %"), "64 of 5000 bytes: {}", limit.what);
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
}

#[test]
fn whoever_was_offered_too_little_is_not_judged() {
    let weights = |n: usize| if n < 10 { 0.5 } else { 1.0 };
    let outcome = run(&Config::default(), &mut device().traffic_weights(weights));
    assert_eq!(value(&outcome, "policers"), 180.0);
    assert_eq!(errors(&outcome).iter().filter(|error| error.is_none()).count(), 20);
    assert!(outcome.validity.valid);
    assert!(outcome.validity.limits[0].what.starts_with("20 of 200 policers"));
    let config = Config { load: Some(Pps(1e3)), ..Config::default() };
    let outcome = run(&config, &mut device());
    assert!(!outcome.validity.valid, "nobody was overloaded");
    assert_eq!(outcome.answer, "No policer was offered more than its rate.");
}

#[test]
fn conforming_traffic_that_is_dropped_is_told() {
    let mut device = Simulated::fixed(10e6).policing(100, 100e3, 200.0).losing_conforming(0.01);
    let outcome = run(&Config::default(), &mut device);
    assert!((value(&outcome, "conforming_dropped_percent") - 1.0).abs() < 0.02);
    assert_eq!(value(&outcome, "conforming_dropped_policers"), 200.0);
    assert!(outcome.answer.ends_with("at 0.9 times their rate they drop 1 % nevertheless."));
    let limit = outcome.validity.limits.iter().find(|l| l.kind == LimitKind::Drops);
    assert!(limit.is_some_and(|l| l.what.contains("3.1 frames")), "{:?}", outcome.validity);
}

#[test]
fn few_of_many_subscribers_are_enough_to_find_the_load() {
    let config = Config { subscribers: 10, ..Config::default() };
    let mut device = Simulated::fixed(20e6).policing(5_000, 10e3, 2000.0).scattered();
    let outcome = run(&config, &mut device);
    assert!((value(&outcome, "load") / (1.5 * 5_000.0 * 10e3 / 46.0) - 1.0).abs() < 0.1);
    assert_eq!(value(&outcome, "policers"), 20.0);
    assert!(outcome.trials.iter().filter(|t| t.purpose == "probe").count() > 1);
}

#[test]
fn one_class_has_the_five_columns_and_several_an_index() {
    let names = |outcome: &Outcome| -> Vec<String> {
        outcome.series[0].columns.iter().map(|column| column.name.clone()).collect()
    };
    let outcome = run(&Config::default(), &mut device());
    assert_eq!(names(&outcome).last().map(String::as_str), Some("class_index"));
    assert!(outcome.series[0].title.ends_with("classes: 0 uplink, 1 downlink"));
    assert_eq!(outcome.series[0].rows.len(), 200);
    let mut table = Table::default();
    let mut trial = Trial::new(measure::Load::ClosedLoop, Duration::from_secs(1), 1e9);
    trial.policed = vec![measure::Policed {
        subscriber: 3,
        class: "gold".into(),
        configured_bytes_per_s: f64::INFINITY,
        burst_bytes: f64::INFINITY,
        offered_bytes: 5,
        passed_bytes: 5,
    }];
    table.add(&trial);
    let series = table.series(1.5);
    assert_eq!(series.columns.len(), 5);
    assert_eq!(series.rows, [vec![Some(3.0), None, None, None, None]], "no time, no limit");
}

#[test]
fn what_cannot_be_measured_says_what_to_change() {
    let config = Config::default();
    let text = problem(&config, &mut Simulated::fixed(1e6));
    assert!(text.contains("it has no policers") && text.contains("choose another"), "{text}");
    let text = problem(&config, &mut Simulated::fixed(1e6).policing(10, 0.0, 0.0));
    assert!(text.contains("no subscriber has a rate limit"), "{text}");
    let text = problem(&config, &mut Simulated::fixed(1e6).policing(1000, 125e6, 0.0));
    assert!(text.contains("4.08 Gpps") && text.contains("lower the rate limit"), "{text}");
    let mut device = device().traffic_weights(|n| if n == 0 { 0.0 } else { 1.0 });
    let text = problem(&Config { subscribers: 1, ..config }, &mut device);
    assert!(text.contains("count more"), "{text}");
}

#[test]
fn counts_by_subscriber_are_kept_where_they_count_and_the_conditions_end() {
    let mut device = device();
    let outcome = run(&Config { tolerance: Ratio(0.02), ..Config::default() }, &mut device);
    for trial in &outcome.trials {
        let counts = Phase::counts(&trial.purpose);
        assert_eq!(trial.policed.len(), if counts { 200 } else { 0 }, "{}", trial.purpose);
    }
    let after = device
        .measure(measure::Load::PerInterface(Pps(1e3)), Duration::from_secs(1), &mut Unobserved)
        .expect("simulated");
    assert!(after.policed.is_empty(), "the next method counts nobody");
}

#[test]
fn the_time_bound_holds() {
    let config = Config::default();
    let mut device = device();
    run(&config, &mut device);
    assert!(device.simulated() <= config.time_bound());
}

#[test]
fn what_a_stall_disturbs_is_made_again_with_its_refill_and_kept() {
    // 200 ms of 10 s are more than the tolerance of 1 %.
    let stalling = |probability, seed| {
        run(&Config::default(), &mut device().stalling(probability, 200_000_000).seeded(seed))
    };
    let count = |outcome: &Outcome, purpose: &str| {
        outcome.trials.iter().filter(|trial| trial.purpose == purpose).count()
    };
    let always = stalling(1.0, 1);
    assert!(!always.validity.valid, "{:?}", always.validity);
    let counts = ["overload", "underload", phases::DISTURBED, "refill"].map(|p| count(&always, p));
    assert_eq!(counts, [3, 1, 8, 12]);
    let spent: u64 = always.trials.iter().map(|trial| trial.intended_ns).sum();
    assert!(u128::from(spent) <= Config::default().time_bound().as_nanos());

    let disturbed =
        |outcome: &Outcome| count(outcome, phases::DISTURBED) > 0 && outcome.validity.valid;
    let sometimes = (1..30).map(|seed| stalling(0.3, seed)).find(disturbed);
    let sometimes = sometimes.expect("one of these seeds stalls in a trial, and not in the next");
    assert_eq!((count(&sometimes, "overload"), count(&sometimes, "underload")), (3, 1));
    assert_eq!(value(&sometimes, "within_tolerance_percent"), 100.0);
    let is_measured =
        |trial: &TrialRecord| Phase::counts(&trial.purpose) || trial.purpose == phases::DISTURBED;
    for pair in sometimes.trials.windows(2).filter(|pair| is_measured(&pair[1])) {
        assert_eq!(pair[0].purpose, "refill", "buckets are full before each measured trial");
    }
}
