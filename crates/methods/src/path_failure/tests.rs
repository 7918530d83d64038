//! `path-failure` on simulated devices that notice a failure after a while, or never.

use measure::PathFault;

use super::*;
use crate::Unobserved;
use crate::simulated::{Simulated, WatchedPath};

const WATCHED: WatchedPath =
    WatchedPath { notices: [Duration::from_millis(30), Duration::from_millis(1)], returns: true };

fn device(path: WatchedPath) -> Simulated {
    Simulated::fixed(1e6).watching(path)
}

fn run(config: &Config, path: WatchedPath) -> Outcome {
    keys::check("", config).expect("a valid configuration");
    config.run(&mut device(path), &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str, of: &str) -> f64 {
    let is_it =
        |figure: &&measure::record::Figure| figure.name == name && figure.of.as_deref() == Some(of);
    outcome.figures.iter().find(is_it).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn the_loss_of_each_kind_is_told_by_time_and_by_frames() {
    let outcome = run(&Config::default(), WATCHED);
    assert!((value(&outcome, "path_failure_time", "silence") - 30e6).abs() < 1e6);
    assert!((value(&outcome, "path_failure_time", "port-down") - 1e6).abs() < 1e6);
    // Half of 10,000 frames per second in two directions, five times.
    assert_eq!(value(&outcome, "path_failure_lost", "silence"), 1500.0);
    assert_eq!(value(&outcome, "path_failure_returned", "silence"), 5.0);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert!(outcome.answer.contains("came back after 5 of 5"), "{}", outcome.answer);
    assert_eq!((outcome.trials.len(), outcome.series.len()), (10, 2));
    crate::figures::assert_known(&outcome);
}

#[test]
fn a_device_that_never_notices_has_no_valid_result() {
    let never = WatchedPath { notices: [Duration::from_secs(9); 2], ..WATCHED };
    let outcome = run(&Config::default(), never);
    let said = |words: &str| outcome.validity.limits.iter().any(|limit| limit.what.contains(words));
    assert!(!outcome.validity.valid && said("until it was mended"), "{:?}", outcome.validity);
}

#[test]
fn flows_that_stay_away_are_a_remark() {
    let outcome = run(&Config::default(), WatchedPath { returns: false, ..WATCHED });
    assert_eq!(value(&outcome, "path_failure_returned", "silence"), 0.0);
    let said = |words: &str| outcome.validity.limits.iter().any(|limit| limit.what.contains(words));
    assert!(outcome.validity.valid && said("no flow came back"), "{:?}", outcome.validity);
}

#[test]
fn a_device_that_watches_nothing_leaves_nothing_to_measure() {
    let error = Config::default().run(&mut Simulated::fixed(1e6), &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");
}

#[test]
fn a_failure_named_twice_is_refused() {
    let twice = Config { faults: vec![PathFault::Silence; 2], ..Config::default() };
    assert_eq!(crate::entry::refused(&twice).key, "faults");
}
