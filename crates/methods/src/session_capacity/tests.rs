//! `session-capacity` on simulated devices of known room, good and bad when they are full.

use measure::record::ClaimLevel;
use measure::{Ratio, Seconds};

use super::*;
use crate::simulated::{Sessions, Simulated, WhenFull};
use crate::{STALL_REPETITION, Unobserved};

/// Number of sessions that the device holds.
const TRUTH: u64 = 54_321;

fn sessions() -> Sessions {
    Sessions { capacity: TRUTH, most: 200_000, ..Sessions::default() }
}

fn device(sessions: Sessions) -> Simulated {
    Simulated::fixed(1e6).holding(sessions)
}

fn config() -> Config {
    Config { start: 1_000, beyond: 2_000, ..Config::default() }
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
fn a_known_room_is_found_with_its_memory_and_a_full_device_loses_none() {
    let mut device = device(sessions());
    let outcome = run(&config(), &mut device);
    assert_eq!(value(&outcome, "session_capacity"), TRUTH as f64);
    let upper = value(&outcome, "session_capacity_failed");
    assert!(upper > TRUTH as f64 && upper <= TRUTH as f64 * 1.02, "{upper}");
    assert_eq!(value(&outcome, "session_memory"), 80.0);
    let resident = value(&outcome, "session_memory_resident");
    assert!((resident - (80.0 + 100e6 / TRUTH as f64)).abs() < 1.0, "{resident}");
    assert_eq!(value(&outcome, "sessions_verified"), TRUTH as f64, "all of them");
    assert_eq!(value(&outcome, "lost_when_exhausted"), 0.0);
    assert_eq!(value(&outcome, "opened_when_exhausted"), 0.0);
    assert!(value(&outcome, "refused_when_exhausted") > 2_000.0);
    assert_eq!(value(&outcome, "sessions_held"), TRUTH as f64);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    let words = "It holds 54,321 sessions, with 80.0 B of memory each; when full, it refuses ";
    assert!(outcome.answer.starts_with(words), "{}", outcome.answer);
    assert_eq!(device.sessions_open(), 0, "it leaves none behind");
    crate::figures::assert_known(&outcome);
    let levels: Vec<ClaimLevel> = outcome.claims.iter().map(|claim| claim.level).collect();
    assert_eq!(levels, [ClaimLevel::Partial, ClaimLevel::Full], "{:?}", outcome.claims);
}

#[test]
fn steps_add_to_what_is_open_until_one_fails() {
    let outcome = run(&config(), &mut device(sessions()));
    let loads: Vec<(u64, u64)> = outcome
        .trials
        .iter()
        .filter(|trial| trial.purpose == "search")
        .filter_map(|trial| match trial.load {
            measure::record::LoadRecord::Sessions { first, count, .. } => Some((first, count)),
            _ => None,
        })
        .collect();
    let doublings = [
        (0, 1_000),
        (1_000, 1_000),
        (2_000, 2_000),
        (4_000, 4_000),
        (8_000, 8_000),
        (16_000, 16_000),
        (32_000, 32_000),
    ];
    assert_eq!(loads[..7], doublings);
    assert_eq!(loads[7], (0, TRUTH), "filled anew, with as many as fitted");
}

#[test]
fn the_search_ends_after_few_trials_at_any_precision_worth_asking_for() {
    for (precision, steps_most) in [(0.01, 10), (0.001, 10), (0.1, 10)] {
        let config = Config { precision: Ratio(precision), ..config() };
        let outcome = run(&config, &mut device(sessions()));
        // Seven doublings and what they had not opened, then the room itself and a hair more.
        let steps = outcome.series[0].rows.len();
        assert!(steps <= steps_most, "{precision}: {steps} steps");
        assert!(outcome.trials.len() <= steps * 5 + 4, "{} trials", outcome.trials.len());
    }
    // Without that hint it halves: no more often than the precision asks for.
    let evicting = Sessions { when_full: WhenFull::Evicts, ..sessions() };
    let outcome = run(&Config { verify: Ratio(1.0), ..config() }, &mut device(evicting));
    let steps = outcome.series[0].rows.len();
    assert!(steps <= 7 + 8, "{steps} steps");
    assert!(outcome.trials.len() <= steps * 2 + 4, "{} trials", outcome.trials.len());
}

#[test]
fn a_device_that_loses_others_when_it_is_full_is_told() {
    let bad = Sessions { when_full: WhenFull::LosesOthers, ..sessions() };
    let outcome = run(&config(), &mut device(bad));
    let found = value(&outcome, "session_capacity");
    assert!(found <= TRUTH as f64 && found >= TRUTH as f64 * 0.98, "{found}");
    assert!(value(&outcome, "lost_when_exhausted") > 0.0, "{}", outcome.answer);
    assert!(has_limit(&outcome, "that were open were lost"), "{:?}", outcome.validity);
    assert!(outcome.answer.contains("it loses "), "{}", outcome.answer);
}

#[test]
fn a_device_that_evicts_is_found_out_by_its_proofs() {
    let bad = Sessions { when_full: WhenFull::Evicts, ..sessions() };
    let outcome = run(&Config { verify: Ratio(1.0), ..config() }, &mut device(bad));
    let found = value(&outcome, "session_capacity");
    assert!(found <= TRUTH as f64 && found >= TRUTH as f64 * 0.98, "{found}");
    assert_eq!(value(&outcome, "refused_when_exhausted"), 0.0);
    assert!(value(&outcome, "lost_when_exhausted") > 0.0);
    assert!(has_limit(&outcome, "beyond the capacity failed"), "{:?}", outcome.validity);
}

#[test]
fn a_sample_too_small_to_see_a_loss_is_made_up_for_at_the_end() {
    let bad = Sessions { forgets_one_in: 9_999, ..sessions() };
    let blind = Config { verify: Ratio(0.0), ..config() };
    let outcome = run(&blind, &mut device(bad));
    assert!(!outcome.validity.valid, "{}", outcome.answer);
    assert!(has_limit(&outcome, "used did not work"), "{:?}", outcome.validity);
}

#[test]
fn a_device_with_more_room_than_there_are_sessions_is_told_as_at_least() {
    let roomy = Sessions { capacity: u64::MAX, ..sessions() };
    let outcome = run(&config(), &mut device(roomy.clone()));
    assert_eq!(value(&outcome, "session_capacity"), 200_000.0);
    assert!(outcome.figure("lost_when_exhausted").is_none(), "it was never full");
    assert!(outcome.answer.contains("at least"), "{}", outcome.answer);
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
    let most = Config { max_sessions: Some(3_000), ..config() };
    assert_eq!(value(&run(&most, &mut device(roomy)), "session_capacity"), 3_000.0);
}

#[test]
fn a_device_that_holds_none_has_no_figure() {
    let outcome = run(&config(), &mut device(Sessions { capacity: 0, ..sessions() }));
    assert!(outcome.figures.is_empty() && !outcome.validity.valid);
    assert!(has_limit(&outcome, "did not hold"), "{:?}", outcome.validity);
}

#[test]
fn stalls_are_no_lack_of_room_and_a_slow_device_is_no_small_one() {
    let stalled = Sessions { stalled_trials: 2, ..sessions() };
    let paced = Config { rate: Some(50_000.0), ..config() };
    let outcome = run(&paced, &mut device(stalled));
    assert_eq!(value(&outcome, "session_capacity"), TRUTH as f64, "{}", outcome.answer);
    assert!(outcome.trials.iter().any(|trial| trial.purpose == STALL_REPETITION));
    let slow = Sessions { rate_max: 5_000.0, ..sessions() };
    let outcome = run(&config(), &mut device(slow));
    assert_eq!(value(&outcome, "session_capacity"), TRUTH as f64);
    assert!((value(&outcome, "session_filling_rate") / 5_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn time_that_runs_out_keeps_what_was_held() {
    let slow = Sessions { rate_max: 5_000.0, ..sessions() };
    let short = Config { max_search_time: Seconds(2.0), ..config() };
    let outcome = run(&short, &mut device(slow));
    assert!((2_000.0..20_000.0).contains(&value(&outcome, "session_capacity")));
    assert!(has_limit(&outcome, "max-search-time"), "{:?}", outcome.validity);
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn keys_that_make_no_sense_are_named() {
    let key = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(key(Config { rate: Some(0.0), ..config() }), "rate");
    assert_eq!(key(Config { start: 0, ..config() }), "start");
    assert_eq!(key(Config { max_sessions: Some(0), ..config() }), "max-sessions");
    assert_eq!(key(Config { verify: Ratio(1.5), ..config() }), "verify");
    assert_eq!(key(Config { verify_final: Ratio(0.0), ..config() }), "verify-final");
    assert_eq!(key(Config { wait: Seconds(0.0), ..config() }), "wait");
}
