//! `teardown-rate` on simulated devices that close so many sessions per second.

use measure::Seconds;
use measure::record::ClaimLevel;

use super::*;
use crate::Unobserved;
use crate::simulated::{Sessions, Simulated};

fn sessions() -> Sessions {
    Sessions { rate_max: 20_000.0, most: 50_000, ..Sessions::default() }
}

fn device(sessions: Sessions) -> Simulated {
    Simulated::fixed(1e6).holding(sessions)
}

fn config() -> Config {
    Config { sessions: 10_000, ..Config::default() }
}

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    keys::check("", &config).expect("a valid configuration");
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}: {}", outcome.answer)).value
}

fn has_limit(outcome: &Outcome, words: &str) -> bool {
    outcome.validity.limits.iter().any(|limit| limit.what.contains(words))
}

#[test]
fn a_known_rate_of_closing_is_found_with_its_time() {
    let mut device = device(sessions());
    let outcome = run(&config(), &mut device);
    assert!((value(&outcome, "teardown_rate") / 20_000.0 - 1.0).abs() < 0.01, "{}", outcome.answer);
    assert!((value(&outcome, "teardown_time") / 0.5e9 - 1.0).abs() < 0.01);
    assert_eq!(value(&outcome, "sessions_closed"), 10_000.0);
    assert_eq!(value(&outcome, "sessions_left"), 0.0);
    assert_eq!(outcome.trials.len(), 6, "three times opened and closed");
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert_eq!(outcome.claims[0].level, ClaimLevel::Partial);
    assert!(outcome.answer.starts_with("It closes "), "{}", outcome.answer);
    crate::figures::assert_known(&outcome);
    assert!(device.simulated() <= config().time_bound());
}

#[test]
fn a_rate_beyond_the_device_leaves_sessions_that_were_not_answered() {
    let fast = Config { rate: Some(40_000.0), repetitions: 1, ..config() };
    let outcome = run(&fast, &mut device(sessions()));
    assert_eq!(value(&outcome, "sessions_closed"), 5_000.0);
    assert_eq!(value(&outcome, "sessions_left"), 5_000.0);
    assert!(has_limit(&outcome, "was not answered"), "{:?}", outcome.validity);
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn sessions_that_never_opened_make_the_result_invalid() {
    let outcome = run(&config(), &mut device(Sessions { capacity: 9_000, ..sessions() }));
    assert!(!outcome.validity.valid && has_limit(&outcome, "did not open"));
    let none = config().run(&mut device(Sessions { capacity: 0, ..sessions() }), &mut Unobserved);
    assert!(matches!(none, Err(MeasureError::NothingToMeasure(_))), "{none:?}");
}

#[test]
fn fewer_sessions_and_less_time_than_asked_are_told() {
    let outcome = run(&Config { sessions: 60_000, ..config() }, &mut device(sessions()));
    assert_eq!(value(&outcome, "sessions_closed"), 50_000.0);
    assert!(has_limit(&outcome, "the traffic has no more"), "{:?}", outcome.validity);
    let short = Config { max_time: Seconds(1.5), ..config() };
    let outcome = run(&short, &mut device(sessions()));
    assert!(has_limit(&outcome, "max-time ended after 2"), "{:?}", outcome.validity);
}

#[test]
fn sessions_that_end_by_no_frame_leave_nothing_to_measure() {
    let open_ended = Sessions { closes: false, ..sessions() };
    let error = config().run(&mut device(open_ended), &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");
}

#[test]
fn keys_that_make_no_sense_are_named() {
    let key = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(key(Config { sessions: 0, ..config() }), "sessions");
    assert_eq!(key(Config { rate: Some(0.5), ..config() }), "rate");
    assert_eq!(key(Config { repetitions: 0, ..config() }), "repetitions");
    assert_eq!(key(Config { max_time: Seconds(0.0), ..config() }), "max-time");
}
