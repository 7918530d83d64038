//! `recovery` on simulated devices: one that drains a full buffer of `n` frames at capacity `c`
//! before it takes frames again loses them for `n / c` after the overload.

use measure::record::ClaimLevel;
use measure::{Seconds, Watch};

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut impl Measurer) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

fn given() -> Config {
    Config { of: Some(Pps(1e6)), ..Config::default() }
}

#[test]
fn a_backlog_that_must_drain_is_timed_exactly() {
    let mut device = Simulated::fixed(1e6).buffered(30_000).draining_first();
    let outcome = run(&given(), &mut device);
    assert_eq!(device.trials(), 5, "no search, five overloads");
    assert_eq!(device.simulated(), given().time_bound());
    assert_eq!(value(&outcome, "recovery_time"), 30e6, "30,000 frames at 1 Mpps are 30 ms");
    assert_eq!(outcome.parts("recovery_time").count(), 2);
    crate::figures::assert_known(&outcome);
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty(), "{outcome:?}");
    assert_eq!(
        outcome.answer,
        "The last frame is lost 30.0 ms after the overload (median of 5, 30.0 ms at most), when the \
         load falls from 110 % to 50 % of the configured 1.00 Mpps."
    );
}

#[test]
fn with_the_throughput_found_first_the_time_is_the_same() {
    let mut device = Simulated::fixed(1e6).buffered(30_000).draining_first();
    let outcome = run(&Config::default(), &mut device);
    assert_eq!(value(&outcome, "recovery_time"), 30e6);
    assert!((0.98..=1.0).contains(&(value(&outcome, "reference_throughput") / 1e6)));
    assert_eq!(outcome.trials.len(), device.trials());
}

#[test]
fn a_queue_that_only_overflows_recovers_at_once() {
    let outcome = run(&given(), &mut Simulated::fixed(1e6).buffered(30_000));
    assert_eq!(value(&outcome, "recovery_time"), 0.0);
    assert!(outcome.answer.starts_with("Frames are lost no longer than"), "{}", outcome.answer);
    assert!(outcome.validity.valid);
}

#[test]
fn noise_moves_the_time_as_it_moves_the_capacity() {
    let mut device = Simulated::fixed(1e6).buffered(30_000).draining_first().noisy(0.05).seeded(1);
    let outcome = run(&given(), &mut device);
    let spread = outcome.figure("recovery_time").and_then(|f| f.spread).expect("repeated");
    assert!(spread.min < spread.max && (spread.median / 30e6 - 1.0).abs() < 0.06, "{spread:?}");
}

#[test]
fn an_overload_that_is_none_yields_nothing() {
    let outcome = run(&given(), &mut Simulated::fixed(2e6).buffered(30_000));
    assert!(outcome.figures.is_empty() && !outcome.validity.valid);
    assert!(outcome.validity.limits.iter().any(|l| l.what.contains("was no overload")));
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn a_device_that_does_not_recover_is_a_lower_bound_and_not_valid() {
    let mut device = Simulated::fixed(1e6).buffered(500_000).draining_first();
    let config =
        Config { then_duration: Seconds(0.5), overload_duration: Seconds(20.0), ..given() };
    let outcome = run(&config, &mut device);
    assert_eq!(value(&outcome, "recovery_time"), 0.5e9);
    assert!(!outcome.validity.valid);
    assert!(outcome.answer.contains("still lost 500 ms"), "{}", outcome.answer);
}

/// A device that modifies every trial of another device.
struct Changed(Simulated, fn(usize, &mut Trial));

impl Measurer for Changed {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let mut trial = self.0.measure(load, duration, watch)?;
        (self.1)(self.0.trials(), &mut trial);
        Ok(trial)
    }
}

#[test]
fn a_late_stray_loss_leaves_the_median_alone() {
    let stray: fn(usize, &mut Trial) = |trials, trial| {
        if trials == 3 {
            trial.directions[0].last_lost_ns = Some(6_990_000_000);
        }
    };
    let device = Simulated::fixed(1e6).buffered(30_000).draining_first();
    let outcome = run(&given(), &mut Changed(device, stray));
    assert_eq!(value(&outcome, "recovery_time"), 30e6);
    assert!(outcome.validity.valid, "one of five is a remark");
    assert!(outcome.validity.limits.iter().any(|l| l.what.starts_with("in 1 of 5 trials")));
}

#[test]
fn a_tester_that_does_not_tell_when_makes_no_figure() {
    let silent: fn(usize, &mut Trial) =
        |_, trial| trial.directions.iter_mut().for_each(|d| d.last_lost_ns = None);
    let outcome = run(&given(), &mut Changed(Simulated::fixed(1e6), silent));
    assert!(outcome.figures.is_empty() && !outcome.validity.valid);
}

#[test]
fn a_device_without_steps_ends_with_a_clear_error() {
    struct Steady;
    impl Measurer for Steady {
        fn measure(
            &mut self,
            _: Load,
            _: Duration,
            _: &mut dyn Watch,
        ) -> Result<Trial, MeasureError> {
            Err(MeasureError::Unsupported("steps of the load"))
        }
    }
    let error = given().run(&mut Steady, &mut Unobserved).expect_err("it cannot");
    assert!(error.to_string().contains("steps of the load"), "{error}");
}

#[test]
fn claims_name_every_deviation() {
    let device = || Simulated::fixed(1e6).buffered(30_000).draining_first();
    let short = run(&given(), &mut device());
    assert!(short.claims[0].reason.contains("an overload of 5.00 s instead of 60 s"));
    assert!(short.claims[0].reason.contains("configured"));
    let config =
        Config { overload_duration: Seconds(60.0), then: Ratio(0.75), ..Config::default() };
    let long = run(&config, &mut device());
    assert_eq!(
        long.claims[0].reason,
        "then loaded with 75 % instead of 50 %; the median reported, the mean beside it"
    );
}

#[test]
fn wrong_keys_are_named() {
    let error = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(error(Config { overload: Ratio(1.0), ..Config::default() }), "overload");
    assert_eq!(error(Config { then: Ratio(1.0), ..Config::default() }), "then");
    assert_eq!(error(Config { repetitions: 0, ..Config::default() }), "repetitions");
}
