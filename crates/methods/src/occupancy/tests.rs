//! `occupancy` on simulated devices that hold and report so much.

use measure::Seconds;

use super::*;
use crate::Unobserved;
use crate::simulated::{Sessions, Simulated};

const POPULATION: Population = Population { clients: 1000, frames_per_s: 50_000.0 };

/// A device with a log message of 100 bytes per second and client in the first half, and of a tenth
/// of the clients later.
fn device() -> Simulated {
    Simulated::fixed(1e6).holding(Sessions::default()).populated(
        POPULATION,
        &[("sessions", 120_000), ("blocks", 2000)],
        [1000.0, 100.0],
    )
}

fn run(config: &Config, device: &mut Simulated) -> Result<Outcome, MeasureError> {
    keys::check("", &config).expect("a valid configuration");
    config.run(device, &mut Unobserved)
}

fn value(outcome: &Outcome, name: &str, of: Option<&str>) -> f64 {
    let found = outcome.figures.iter().find(|f| f.name == name && f.of.as_deref() == of);
    found.unwrap_or_else(|| panic!("no {name} of {of:?}: {}", outcome.answer)).value
}

#[test]
fn what_is_held_and_reported_is_told_by_client() {
    let config = Config { settle: Seconds(100.0), duration: Seconds(100.0), speed: 1.0 };
    let outcome = run(&config, &mut device()).expect("a simulated device does not fail");
    assert_eq!(value(&outcome, "offered_rate", None), 50_000.0);
    assert_eq!(value(&outcome, "entries", Some("sessions")), 120_000.0);
    assert_eq!(value(&outcome, "entries_per_client", Some("blocks")), 2.0);
    assert!((value(&outcome, "reports_rate", None) - 100.0).abs() < 1.0, "{:?}", outcome.figures);
    let day = value(&outcome, "report_bytes_per_client_day", None);
    assert!((day / (10.0 * 86_400.0) - 1.0).abs() < 0.01, "{day}");
    assert_eq!(value(&outcome, "lost_frames", None), 0.0);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    for words in
        ["1000 clients occupy", "120,000 sessions (120 sessions each)", "per client and day"]
    {
        assert!(outcome.answer.contains(words), "{}", outcome.answer);
    }
    assert_eq!(outcome.series[0].rows.len(), outcome.trials[0].reports.len());
    crate::figures::assert_known(&outcome);
}

#[test]
fn clients_that_hurry_are_counted_by_the_clock() {
    let config = Config { settle: Seconds(100.0), duration: Seconds(100.0), speed: 4.0 };
    let outcome = run(&config, &mut device()).expect("a simulated device does not fail");
    assert_eq!(value(&outcome, "offered_rate", None), 200_000.0);
    assert!((value(&outcome, "reports_rate", None) - 25.0).abs() < 0.3, "{:?}", outcome.figures);
}

#[test]
fn loss_is_remarked_and_a_device_that_tells_nothing_is_no_result() {
    let config = Config { settle: Seconds(1.0), duration: Seconds(1.0), speed: 1.0 };
    let mut small = Simulated::fixed(40_000.0).holding(Sessions::default()).populated(
        POPULATION,
        &[("sessions", 1)],
        [0.0; 2],
    );
    let outcome = run(&config, &mut small).expect("it runs");
    let said = |words: &str| outcome.validity.limits.iter().any(|limit| limit.what.contains(words));
    assert!(said("frames were lost"), "{:?}", outcome.validity);
    let mut silent =
        Simulated::fixed(1e6).holding(Sessions::default()).populated(POPULATION, &[], [0.0; 2]);
    let outcome = run(&config, &mut silent).expect("it runs");
    assert!(!outcome.validity.valid, "{:?}", outcome.validity);
}

#[test]
fn traffic_without_clients_leaves_nothing_to_measure() {
    let mut device = Simulated::fixed(1e6).holding(Sessions::default());
    let error = Config::default().run(&mut device, &mut Unobserved);
    assert!(matches!(error, Err(MeasureError::NothingToMeasure(_))), "{error:?}");
}

#[test]
fn keys_that_make_no_sense_are_named() {
    let key = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(key(Config { settle: Seconds(-1.0), ..Config::default() }), "settle");
    assert_eq!(key(Config { duration: Seconds(0.0), ..Config::default() }), "duration");
    assert_eq!(key(Config { speed: 11.0, ..Config::default() }), "speed");
}
