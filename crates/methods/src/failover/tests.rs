//! `failover` on simulated devices with standbys that keep what they are told to keep.

use measure::Seconds;
use measure::record::ClaimLevel;

use super::*;
use crate::Unobserved;
use crate::simulated::{Sessions, Simulated, Standby};

const STANDBY: Standby = Standby {
    outage: Duration::from_millis(20),
    acknowledges: true,
    forgets_one_in: 0,
    late: 0,
    reused: 0,
};

fn device(standby: Option<Standby>) -> Simulated {
    Simulated::fixed(1e6).holding(Sessions { most: 100_000, standby, ..Sessions::default() })
}

fn config() -> Config {
    Config { sessions: 20_000, rate: 10_000.0, ..Config::default() }
}

fn run(config: &Config, standby: Standby) -> Outcome {
    keys::check("", &config).expect("a valid configuration");
    config
        .run(&mut device(Some(standby)), &mut Unobserved)
        .expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}: {}", outcome.answer)).value
}

#[test]
fn a_standby_that_keeps_all_loses_none() {
    let outcome = run(&config(), STANDBY);
    assert_eq!(value(&outcome, "sessions_opened"), 60_000.0, "three times");
    assert_eq!(value(&outcome, "sessions_kept"), 60_000.0);
    assert_eq!(value(&outcome, "sessions_lost"), 0.0);
    assert_eq!(value(&outcome, "sessions_unanswered"), 600.0, "20 ms each time");
    assert_eq!(value(&outcome, "sessions_fresh_lost"), 0.0);
    assert_eq!(value(&outcome, "failover_time"), 20e6);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert_eq!(outcome.claims[0].level, ClaimLevel::Partial);
    assert!(outcome.answer.contains("none are lost"), "{}", outcome.answer);
    assert_eq!(outcome.trials.len(), 12, "opened, taken over, and used twice, three times");
    crate::figures::assert_known(&outcome);
}

#[test]
fn what_a_standby_forgets_is_counted_and_claims_nothing() {
    let outcome = run(&config(), Standby { forgets_one_in: 100, ..STANDBY });
    assert_eq!(value(&outcome, "sessions_lost"), 600.0);
    assert_eq!(value(&outcome, "sessions_kept"), 59_400.0);
    assert!(outcome.answer.contains("600 sessions are lost"), "{}", outcome.answer);
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn sessions_that_were_not_acknowledged_are_told_apart() {
    let outcome = run(&Config { repetitions: 1, ..config() }, Standby { late: 50, ..STANDBY });
    assert_eq!(value(&outcome, "sessions_lost"), 0.0);
    assert_eq!(value(&outcome, "sessions_fresh_lost"), 50.0);
    assert_eq!(value(&outcome, "sessions_unacknowledged"), 50.0);
    assert!(
        outcome.answer.contains("of those opened just before it, 50 are"),
        "{}",
        outcome.answer
    );
}

/// Frames of sessions that the standby did not know reach the sessions that have their ports now;
/// that number is not a defect.
#[test]
fn ports_of_sessions_that_were_not_acknowledged_may_be_anothers() {
    let of = |late, reused| {
        run(&Config { repetitions: 1, ..config() }, Standby { late, reused, ..STANDBY })
    };
    let outcome = of(50, 20);
    assert_eq!(value(&outcome, "sessions_fresh_lost"), 50.0);
    let said = |outcome: &Outcome| {
        outcome.validity.limits.iter().any(|limit| limit.advice.contains("had not been told"))
    };
    assert!(outcome.validity.valid && said(&outcome), "{:?}", outcome.validity);
    // More than it had not been told of are a defect, and any at all of those that it had.
    for outcome in [of(20, 50), of(0, 5)] {
        assert!(!outcome.validity.valid && !said(&outcome), "{:?}", outcome.validity);
    }
}

#[test]
fn a_standby_that_does_not_come_up_makes_the_result_invalid() {
    let outcome = run(&config(), Standby { acknowledges: false, ..STANDBY });
    let said = |words: &str| outcome.validity.limits.iter().any(|limit| limit.what.contains(words));
    assert!(!outcome.validity.valid && said("had not acknowledged"), "{:?}", outcome.validity);
}

#[test]
fn a_device_without_a_standby_and_traffic_without_room_leave_nothing_to_measure() {
    let error = config().run(&mut device(None), &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");
    let fast = Config { rate: 50_000.0, ..config() };
    let error = fast.run(&mut device(Some(STANDBY)), &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");
}

#[test]
fn keys_that_make_no_sense_are_named() {
    let key = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(key(Config { sessions: 0, ..config() }), "sessions");
    assert_eq!(key(Config { rate: 0.5, ..config() }), "rate");
    assert_eq!(key(Config { before: Seconds(0.0), ..config() }), "before");
    assert_eq!(key(Config { repetitions: 0, ..config() }), "repetitions");
    assert_eq!(key(Config { patience: Seconds(0.0), ..config() }), "patience");
}
