//! `session-rate` on simulated devices that open so many sessions per second and no more.

use measure::record::{ClaimLevel, LimitKind};
use measure::{Ratio, Seconds};

use super::*;
use crate::Unobserved;
use crate::sessions::VALIDATION;
use crate::simulated::{Sessions, Simulated};

/// Sessions per second that the device opens.
const TRUTH: f64 = 20_000.0;

fn sessions() -> Sessions {
    Sessions { rate_max: TRUTH, most: 100_000, ..Sessions::default() }
}

fn device(sessions: Sessions) -> Simulated {
    Simulated::fixed(1e6).holding(sessions)
}

fn config() -> Config {
    Config {
        max_rate: 100_000.0,
        hold: Seconds(1.0),
        warm_up_sessions: 10_000,
        ..Config::default()
    }
}

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    keys::check("", &config).expect("a valid configuration");
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}: {}", outcome.answer)).value
}

fn purposes(outcome: &Outcome, purpose: &str) -> usize {
    outcome.trials.iter().filter(|trial| trial.purpose == purpose).count()
}

#[test]
fn a_known_rate_is_found_within_the_precision() {
    let mut device = device(sessions());
    let outcome = run(&config(), &mut device);
    let found = value(&outcome, "session_rate");
    assert!((0.98 * TRUTH..=TRUTH).contains(&found), "{found}");
    assert!(value(&outcome, "session_rate_failed") > TRUTH);
    assert_eq!(value(&outcome, "sessions_opened"), found.round(), "for a second");
    assert_eq!(value(&outcome, "sessions_held"), found.round());
    assert!((value(&outcome, "session_answer_p50") - 5_000.0).abs() <= 5.0);
    assert!(value(&outcome, "sessions_verified") >= 0.01 * found);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert!(device.simulated() <= config().time_bound());
    assert_eq!(device.sessions_open(), 0, "it leaves none behind");
    crate::figures::assert_known(&outcome);
    let levels: Vec<ClaimLevel> = outcome.claims.iter().map(|claim| claim.level).collect();
    assert_eq!(levels, [ClaimLevel::Partial; 2], "{:?}", outcome.claims);
    assert!(outcome.answer.contains(" sessions per second: none of "));
    let rows = &outcome.series[0].rows;
    assert!(rows.len() > 2 && rows.windows(2).all(|two| two[0][0] <= two[1][0]), "{rows:?}");
}

#[test]
fn a_warm_up_that_shows_the_rate_saves_trials() {
    let guessed = run(&config(), &mut device(sessions()));
    let blind = run(&Config { warm_up_sessions: 0, ..config() }, &mut device(sessions()));
    assert!(purposes(&guessed, "search") < purposes(&blind, "search"));
    assert_eq!(purposes(&blind, "warm-up"), 0);
    assert!((value(&blind, "session_rate") / value(&guessed, "session_rate") - 1.0).abs() < 0.03);
}

#[test]
fn a_device_faster_than_the_range_is_told_as_at_least() {
    let fast = Sessions { rate_max: f64::INFINITY, ..sessions() };
    let outcome = run(&config(), &mut device(fast));
    assert_eq!(value(&outcome, "session_rate"), 100_000.0);
    assert!(outcome.figure("session_rate_failed").is_none());
    assert!(outcome.answer.contains("at least"), "{}", outcome.answer);
    assert!(outcome.validity.limits.iter().any(|limit| limit.advice.contains("raise max-rate")));
    assert!(outcome.claims.iter().all(|claim| claim.level == ClaimLevel::None));
}

#[test]
fn a_device_too_slow_for_the_range_has_no_figure() {
    let slow = Sessions { rate_max: 500.0, ..sessions() };
    let outcome = run(&config(), &mut device(slow));
    assert!(outcome.figures.is_empty() && !outcome.validity.valid);
    assert!(outcome.answer.starts_with("No rate"), "{}", outcome.answer);
}

#[test]
fn a_tester_that_is_slower_than_the_device_sets_a_lower_bound() {
    let outcome = run(&config(), &mut device(Sessions { tester_rate_max: 12_000.0, ..sessions() }));
    let found = value(&outcome, "session_rate");
    assert!((11_700.0..=12_100.0).contains(&found), "{found}");
    assert!(outcome.answer.contains("at least"), "{}", outcome.answer);
    assert!(outcome.validity.limits.iter().any(|limit| limit.kind == LimitKind::Baseline));
    assert!(outcome.figure("session_rate_failed").is_none(), "the device failed nothing");
}

#[test]
fn a_rate_near_the_frames_that_the_tester_alone_sends_is_remarked() {
    let near = run(&config(), &mut device(sessions()).tester_limited(TRUTH * 1.02));
    assert_eq!(near.baseline.map(|baseline| baseline.tester_pps), Some(TRUTH * 1.02));
    let limits = |outcome: &Outcome| -> Vec<String> {
        let all = outcome.validity.limits.iter();
        all.filter(|l| l.kind == LimitKind::Baseline).map(|l| l.what.clone()).collect()
    };
    assert!(limits(&near)[0].contains("of the tester's own frame rate"), "{near:?}");
    let far = run(&config(), &mut device(sessions()).tester_limited(TRUTH * 2.0));
    assert_eq!(limits(&far), Vec::<String>::new());
    assert!(far.baseline.is_some());
    let fast = run(&config(), &mut device(Sessions { rate_max: f64::INFINITY, ..sessions() }));
    assert_eq!(limits(&fast), Vec::<String>::new(), "it sent all it was asked for");
}

#[test]
fn sessions_that_open_and_are_not_there_fail_a_rate() {
    let forgetful = Sessions { forgets_one_in: 7, ..sessions() };
    let all = Config { verify: Ratio(1.0), ..config() };
    let outcome = run(&all, &mut device(forgetful.clone()));
    assert!(outcome.figures.is_empty(), "{}", outcome.answer);
    let told = outcome.validity.limits.iter().any(|l| l.what.contains("did not work"));
    assert!(told, "{:?}", outcome.validity);
    let blind = run(&Config { verify: Ratio(0.0), ..config() }, &mut device(forgetful));
    assert!(value(&blind, "session_rate") > 0.9 * TRUTH, "nobody looked");
    assert_eq!(purposes(&blind, VALIDATION), 0);
    let proof = blind.claims.iter().find(|claim| claim.clause == VALIDATION_CLAUSE);
    assert_eq!(proof.map(|claim| claim.level), Some(ClaimLevel::None));
}

#[test]
fn failures_that_a_stall_explains_are_tried_again() {
    let stalled = Sessions { stalled_trials: 3, ..sessions() };
    let patient = run(&config(), &mut device(stalled.clone()));
    assert!(purposes(&patient, STALL_REPETITION) > 0);
    assert!(value(&patient, "session_rate") >= 0.98 * TRUTH, "{}", patient.answer);
    let strict = Config { repeat_stalled: 0, repeat_failed: 0, ..config() };
    let outcome = run(&strict, &mut device(stalled));
    assert_eq!(purposes(&outcome, STALL_REPETITION), 0);
    assert!(value(&outcome, "session_rate") < 0.98 * TRUTH, "{}", outcome.answer);
}

#[test]
fn every_trial_begins_on_an_empty_device() {
    // A table with room for one trial alone: without clearing it the second one would fail.
    let small = Sessions { capacity: 22_000, ..sessions() };
    let outcome = run(&config(), &mut device(small));
    assert!(value(&outcome, "session_rate") >= 0.98 * TRUTH, "{}", outcome.answer);
}

#[test]
fn too_few_sessions_hold_a_rate_for_a_shorter_time_and_that_is_told() {
    let few = Config { max_sessions: Some(5_000), ..config() };
    let outcome = run(&few, &mut device(sessions()));
    assert_eq!(value(&outcome, "sessions_opened"), 5_000.0);
    let told = outcome.validity.limits.iter().any(|limit| limit.what.contains("instead of"));
    assert!(told, "{:?}", outcome.validity);
    assert!(outcome.claims[0].reason.contains("too few sessions to hold"), "{:?}", outcome.claims);
}

#[test]
fn a_budget_that_runs_out_keeps_what_is_certain() {
    let few = Config { max_trials: 3, warm_up_sessions: 0, ..config() };
    let outcome = run(&few, &mut device(sessions()));
    assert!(outcome.validity.limits.iter().any(|limit| limit.what.contains("max-trials")));
    let short = Config { max_search_time: Seconds(4.0), ..config() };
    let mut device = device(sessions());
    let outcome = run(&short, &mut device);
    assert!(outcome.validity.limits.iter().any(|limit| limit.what.contains("max-search-time")));
    assert!(device.simulated() <= short.time_bound());
}

#[test]
fn without_sessions_or_a_way_to_clear_them_there_is_nothing_to_measure() {
    let error = config().run(&mut Simulated::fixed(1e6), &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");

    /// A device that never removes sessions.
    struct Stubborn;
    impl Measurer for Stubborn {
        fn measure(
            &mut self,
            _: measure::Load,
            _: Duration,
            _: &mut dyn measure::Watch,
        ) -> Result<measure::Trial, MeasureError> {
            Err(MeasureError::Device("it is never asked".into()))
        }

        fn sessions(&self) -> Option<SessionsThere> {
            Some(SessionsThere { open: 0, most: 10, closes: false })
        }
    }
    let error = config().run(&mut Stubborn, &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");
}

#[test]
fn keys_that_make_no_sense_are_named() {
    let key = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(key(Config { min_rate: 0.0, ..config() }), "min-rate");
    assert_eq!(key(Config { max_rate: 10.0, ..config() }), "max-rate");
    assert_eq!(key(Config { max_rate: f64::INFINITY, ..config() }), "max-rate");
    assert_eq!(key(Config { precision: Ratio(0.0), ..config() }), "precision");
    assert_eq!(key(Config { hold: Seconds(0.0), ..config() }), "hold");
    assert_eq!(key(Config { max_sessions: Some(0), ..config() }), "max-sessions");
    assert_eq!(key(Config { verify: Ratio(2.0), ..config() }), "verify");
    assert_eq!(key(Config { repeat_stalled: 11, ..config() }), "repeat-stalled");
    assert_eq!(key(Config { max_search_time: Seconds(1.0), ..config() }), "max-search-time");
}
