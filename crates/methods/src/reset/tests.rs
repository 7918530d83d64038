//! `reset` on simulated devices: the outage is known beforehand.

use measure::record::ClaimLevel;
use measure::{Ratio, Seconds};

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

fn given() -> Config {
    Config { of: Some(Pps(1e6)), ..Config::default() }
}

fn outage(ms: u64) -> Simulated {
    Simulated::fixed(1e6).restarting_in(Duration::from_millis(ms))
}

#[test]
fn the_time_is_that_of_the_frames_lost() {
    let mut device = outage(250);
    let outcome = run(&given(), &mut device);
    assert_eq!(device.trials(), 5, "no search, five restarts");
    assert_eq!(device.simulated(), given().time_bound());
    assert!((value(&outcome, "reset_time") - 250e6).abs() < 1e3, "{outcome:?}");
    assert!((value(&outcome, "reset_time_mean") - 250e6).abs() < 1e3);
    assert!((value(&outcome, "reset_until_last_lost") - 250e6).abs() < 1e4);
    assert_eq!(value(&outcome, "reset_silence"), 250e6);
    assert!((value(&outcome, "reset_until_ready") - 250e6).abs() < 1.0);
    assert_eq!(outcome.parts("reset_time").count(), 2);
    assert_eq!(outcome.series[0].rows.len(), 5);
    crate::figures::assert_known(&outcome);
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty(), "{outcome:?}");
    assert_eq!(
        outcome.answer,
        "A restart of a simulated device at 50 % of the configured 1.00 Mpps has an outage of 250 ms \
         (median of 5; 250 ms to 250 ms)."
    );
}

#[test]
fn the_time_does_not_depend_on_the_load() {
    for load in [0.1, 0.9] {
        let config = Config { load: Ratio(load), ..given() };
        assert!((value(&run(&config, &mut outage(40)), "reset_time") - 40e6).abs() < 1e5);
    }
}

#[test]
fn the_throughput_is_found_without_restarts() {
    let mut device = outage(100);
    let config = Config { repetitions: 2, ..Config::default() };
    let outcome = run(&config, &mut device);
    assert!((0.98..=1.0).contains(&(value(&outcome, "reference_throughput") / 1e6)));
    let restarted = outcome.trials.iter().filter(|t| t.purpose == NAME).count();
    assert_eq!(restarted, 2);
    assert!((value(&outcome, "reset_time") - 100e6).abs() < 1e5);
    let again = device
        .measure(Load::PerInterface(Pps(1e5)), Duration::from_secs(1), &mut Unobserved)
        .expect("simulated");
    assert!(again.restart.is_none(), "conditions are set back");
}

#[test]
fn a_restart_that_nobody_notices_costs_nothing() {
    let outcome = run(&given(), &mut outage(0));
    assert_eq!(value(&outcome, "reset_time"), 0.0);
    assert!(outcome.answer.contains("loses no frame; the silence is 0 s"), "{}", outcome.answer);
}

#[test]
fn a_device_that_does_not_come_back_is_not_valid() {
    let config = Config { after: Seconds(1.0), ..given() };
    let outcome = run(&config, &mut outage(5000));
    assert!(!outcome.validity.valid);
    assert!(outcome.validity.limits.iter().any(|l| l.what.contains("still lost")), "{outcome:?}");
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn a_device_that_cannot_be_restarted_is_told_before_anything_is_measured() {
    let mut device = Simulated::fixed(1e6);
    let error = Config::default().run(&mut device, &mut Unobserved).expect_err("it cannot");
    assert!(error.to_string().contains("a restart of the device"), "{error}");
    assert_eq!(device.trials(), 0);
}

#[test]
fn claims_name_every_deviation() {
    let whole = Config { load: Ratio(1.0), ..Config::default() };
    let reason = |config: &Config| run(config, &mut outage(10)).claims[0].reason.clone();
    assert_eq!(reason(&whole), "the median reported, extremes and mean beside it");
    assert!(reason(&given()).contains("at 50 % of the throughput"));
}

#[test]
fn wrong_keys_are_named() {
    let error = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(error(Config { load: Ratio(1.1), ..Config::default() }), "load");
    assert_eq!(error(Config { before: Seconds(0.0), ..Config::default() }), "before");
    assert_eq!(error(Config { after: Seconds(0.0), ..Config::default() }), "after");
    assert_eq!(error(Config { repetitions: 0, ..Config::default() }), "repetitions");
}
