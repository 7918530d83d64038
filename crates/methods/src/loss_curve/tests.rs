//! `loss-curve` on simulated devices: the whole curve is known beforehand.

use measure::Seconds;
use measure::record::ClaimLevel;

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

fn rows(outcome: &Outcome) -> Vec<Vec<f64>> {
    let rows = outcome.series[0].rows.iter();
    rows.map(|row| row.iter().map(|cell| cell.expect("known")).collect()).collect()
}

#[test]
fn rfc_2544_goes_down_to_two_trials_without_loss() {
    let mut device = Simulated::fixed(6.5e6);
    let outcome = run(&Config { max_rate: Pps(10e6), ..Config::default() }, &mut device);
    assert_eq!(device.trials(), 7, "the maximum, then 100, 90, 80, 70, 60, 50 %");
    let curve = rows(&outcome);
    assert_eq!(curve.len(), 6);
    for row in &curve {
        let [percent, pps, loss, forwarded] = row[..] else { panic!("four columns") };
        assert!((pps - percent * 1e5).abs() < 1.0, "{row:?}");
        let truth = (1.0 - 6.5e6 / pps).max(0.0) * 100.0;
        assert!((loss - truth).abs() < 1e-3, "{row:?} instead of {truth}");
        assert!((forwarded - pps.min(6.5e6)).abs() < 1.0, "{row:?}");
    }
    assert!((value(&outcome, "lossless_rate") - 6e6).abs() < 1.0);
    assert!((value(&outcome, "loss_percent") - 35.0).abs() < 1e-3);
    assert!((value(&outcome, "forwarding_rate_max") - 6.5e6).abs() < 1.0);
    assert_eq!(value(&outcome, "loss_inversions"), 0.0);
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty(), "{outcome:?}");
    assert_eq!(outcome.answer, "Up to 60 % of 10.0 Mpps, no frame is lost; at 100 % it is 35 %.");
    assert_eq!(outcome.trials[1].purpose, "loss at 100 %");
    crate::figures::assert_known(&outcome);
}

#[test]
fn the_linear_sweep_tries_every_percent_and_ends_at_the_maximum() {
    let config = Config { procedure: Procedure::Linear, max_rate: Pps(10e6), ..Config::default() };
    let mut device = Simulated::fixed(4.25e6);
    let outcome = run(&config, &mut device);
    assert_eq!(device.trials(), 101);
    assert!(device.simulated() <= config.time_bound());
    let curve = rows(&outcome);
    assert_eq!(curve.len(), 100);
    let error = (value(&outcome, "lossless_rate") / 4.25e6 - 1.0).abs();
    assert!(error <= 0.01 / 0.425, "within a step: {error}");
    assert!(curve.iter().all(|row| (row[2] > 0.0) == (row[1] > 4.25e6)));
}

#[test]
fn loss_at_low_loads_only_shows_and_is_answered() {
    let config = Config { procedure: Procedure::Linear, max_rate: Pps(10e6), ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(5e6).lossy_below(1.25e6, 0.001));
    assert_eq!(value(&outcome, "loss_inversions"), 12.0);
    assert_eq!(outcome.figure("lossless_rate"), None);
    assert!(outcome.answer.starts_with("Frames are lost even at 1 %"), "{}", outcome.answer);
    assert!(outcome.answer.contains("none at a higher load"), "{}", outcome.answer);
}

#[test]
fn a_maximum_that_the_tester_cannot_send_becomes_what_it_sends() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(5e6).tester_limited(8e6));
    assert_eq!(value(&outcome, "maximum_rate"), 8e6);
    assert!((rows(&outcome).last().expect("rows")[0] - 100.0).abs() < 1e-9);
    assert!(outcome.validity.valid);
    assert!(outcome.answer.contains("8.00 Mpps (the tester's maximum)"));
    assert!(outcome.claims[0].reason.contains("the tester's own"));
}

#[test]
fn a_device_without_loss_ends_after_two_trials() {
    let mut device = Simulated::fixed(50e6);
    let outcome = run(&Config::default(), &mut device);
    assert_eq!(device.trials(), 3);
    assert_eq!(outcome.answer, "No frame is lost at any load up to 100 % of 20.0 Mpps.");
}

#[test]
fn a_trial_whose_loss_a_stall_explains_is_repeated_and_kept() {
    let config = Config { max_rate: Pps(2e6), ..Config::default() };
    let mut device = Simulated::fixed(5e6).stalling(0.5, 9_000_000).seeded(4);
    let outcome = run(&config, &mut device);
    let repeated = outcome.trials.iter().filter(|t| t.purpose == STALL_REPETITION).count();
    assert!(repeated > 0 && outcome.trials.len() == device.trials());
    assert!(outcome.claims[0].reason.contains("because of stalls"));
}

#[test]
fn claims_name_every_deviation_and_long_trials_leave_two() {
    let reason = |config: &Config| {
        let outcome = run(config, &mut Simulated::fixed(5e6));
        assert_eq!(outcome.claims[0].level, ClaimLevel::Partial);
        outcome.claims[0].reason.clone()
    };
    let short = reason(&Config { step: Some(Ratio(0.2)), ..Config::default() });
    assert!(short.contains("trials of 1.00 s") && short.contains("steps of 20 %"), "{short}");
    let long = reason(&Config { duration: Seconds(60.0), ..Config::default() });
    assert_eq!(long.split("; ").count(), 2, "{long}");
}

#[test]
fn steps_that_do_not_divide_the_range_still_reach_its_end() {
    let loads =
        |procedure, step| Config { procedure, step: Some(Ratio(step)), ..Config::default() };
    let up = loads(Procedure::Linear, 0.3).loads();
    assert_eq!(up.len(), 4);
    assert!((up[3] - 1.0).abs() < 1e-9);
    let down = loads(Procedure::Rfc2544, 0.3).loads();
    assert_eq!(down.len(), 4);
    assert_eq!(down[0], 1.0);
    assert_eq!(loads(Procedure::Rfc2544, 0.1).loads().len(), 10, "0 % is no load");
}

#[test]
fn repetitions_put_the_best_and_the_worst_beside_the_median() {
    let config = Config {
        procedure: Procedure::Linear,
        step: Some(Ratio(0.05)),
        max_rate: Pps(10e6),
        repetitions: 5,
        ..Config::default()
    };
    let mut device = Simulated::fixed(5e6).noisy(0.2).seeded(3);
    let outcome = run(&config, &mut device);
    assert_eq!(device.trials(), 101, "the maximum, then five at each of 20 loads");
    let names: Vec<&str> = outcome.series[0].columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names[4..], ["loss_percent_best", "loss_percent_worst"]);
    for row in rows(&outcome) {
        let [_, pps, loss, _, best, worst] = row[..] else { panic!("six columns") };
        assert!(best <= loss && loss <= worst, "{row:?}");
        let least = (1.0 - 6e6 / pps).max(0.0) * 100.0;
        let most = (1.0 - 4e6 / pps).max(0.0) * 100.0;
        assert!(best >= least - 1e-3 && worst <= most + 1e-3, "{row:?}");
    }
    for tolerance in ["loss <= 4 ppm", "loss <= 100 ppm"] {
        let of = |name: &str| {
            let found = outcome.parts(name).find(|f| f.of.as_deref() == Some(tolerance));
            found.unwrap_or_else(|| panic!("no {name} of {tolerance}")).value
        };
        let [worst, middle, best] =
            ["tolerated_rate_worst", "tolerated_rate", "tolerated_rate_best"].map(of);
        assert!(worst <= middle && middle <= best && worst < best, "{worst} {middle} {best}");
    }
    assert_eq!(value(&outcome, "lossless_rate"), lowest_worst(&outcome));
    assert!(outcome.claims[0].reason.contains("the median of 5 trials"), "{outcome:?}");
    crate::figures::assert_known(&outcome);
}

/// The highest load below which no trial of any load lost frames, from the series alone.
fn lowest_worst(outcome: &Outcome) -> f64 {
    let rows = rows(outcome);
    rows.iter().take_while(|row| row[5] == 0.0).last().expect("a load without loss")[1]
}

#[test]
fn a_little_loss_over_a_broad_range_has_figures_of_its_own() {
    let config = Config { procedure: Procedure::Linear, max_rate: Pps(10e6), ..Config::default() };
    let mut device = Simulated::fixed(8e6).lossy_below(7e6, 50e-6);
    let outcome = run(&config, &mut device);
    assert!((value(&outcome, "little_loss_from") - 0.1e6).abs() < 1.0);
    assert!((value(&outcome, "little_loss_to") - 6.9e6).abs() < 1.0);
    assert!((value(&outcome, "little_loss_range_percent") - 68.0).abs() < 1e-6);
    assert!(outcome.answer.contains("From 1 % to 69 % loss is small"), "{}", outcome.answer);
    let reached: Vec<(&str, f64)> = outcome
        .parts("tolerated_rate")
        .filter_map(|figure| Some((figure.of.as_deref()?, figure.value)))
        .collect();
    assert_eq!(reached, [("loss <= 100 ppm", 8e6)], "50 ppm and rounding up is above 20 ppm");
}

#[test]
fn loss_of_a_stall_stays_where_it_is_not_repeated() {
    let config = Config { max_rate: Pps(2e6), repeat_stalled: 0, ..Config::default() };
    let mut device = Simulated::fixed(5e6).stalling(1.0, 9_000_000).seeded(4);
    let outcome = run(&config, &mut device);
    assert_eq!(device.trials(), 11, "the maximum, and every load down to 10 %");
    assert!(outcome.trials.iter().all(|t| t.purpose != STALL_REPETITION));
    assert!(value(&outcome, "loss_percent") > 0.0);
}

#[test]
fn wrong_keys_are_named() {
    let error = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(error(Config { repetitions: 0, ..Config::default() }), "repetitions");
    assert_eq!(error(Config { repeat_stalled: 11, ..Config::default() }), "repeat-stalled");
    let one = Config { loss_tolerances: vec![Ratio(1.0)], ..Config::default() };
    assert_eq!(error(one), "loss-tolerances[0]");
}
