//! `burst` on simulated devices: a buffer of `n` frames at capacity `c` takes a burst of
//! `n / (1 - c / rate)` frames at that rate.

use measure::record::{ClaimLevel, LimitKind, LoadRecord};
use measure::{Seconds, Watch};

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

/// The longest burst without loss, in frames: at 10 Mpps, a device of 4 Mpps with a buffer of
/// 30,000 takes 50,000.
const TRUTH: f64 = 50_000.0;

fn device() -> Simulated {
    Simulated::fixed(4e6).buffered(30_000)
}

fn config() -> Config {
    Config { max_rate: Pps(10e6), of: Some(Pps(4e6)), ..Config::default() }
}

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn a_known_buffer_is_found_within_a_step_in_at_most_17_trials_a_search() {
    let mut device = device();
    let config = Config { repeat_lossy: 0, ..config() };
    let outcome = run(&config, &mut device);
    let error = TRUTH - value(&outcome, "back_to_back_frames");
    assert!((0.0..=256.0).contains(&error), "error {error} frames");
    assert!(device.trials() <= 1 + 5 * 17, "{} trials", device.trials());
    assert!(device.simulated() <= config.time_bound());
    let implied = value(&outcome, "implied_buffer_time");
    assert!((implied / 5e6 - 1.0).abs() < 0.01, "5 ms at the maximum rate: {implied}");
    let corrected = value(&outcome, "corrected_buffer_time");
    assert!((corrected / 3e6 - 1.0).abs() < 0.01, "30,000 frames at 10 Mpps: {corrected}");
    let spread = outcome.figure("back_to_back_frames").and_then(|f| f.spread).expect("repeated");
    assert_eq!((spread.n, spread.deviation), (5, 0.0));
    assert_eq!(value(&outcome, "burst_searches"), 5.0);
    assert_eq!(value(&outcome, "burst_step"), 256.0);
    assert_eq!(value(&outcome, "burst_ceiling"), 300e6, "30 s at 10 Mpps");
    assert_eq!(outcome.series[0].rows.len(), 5);
    crate::figures::assert_known(&outcome);
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty(), "{outcome:?}");
    assert!(outcome.answer.starts_with("It passes bursts of 49"), "{}", outcome.answer);
}

#[test]
fn the_throughput_is_found_where_it_is_not_given() {
    let outcome = run(&Config { of: None, repetitions: 1, ..config() }, &mut device());
    let throughput = value(&outcome, "reference_throughput");
    assert!((0.98..=1.0).contains(&(throughput / 4e6)), "{throughput}");
    assert!((TRUTH - value(&outcome, "back_to_back_frames")).abs() <= 256.0);
}

#[test]
fn a_device_as_fast_as_the_maximum_rate_has_no_figure_and_says_why() {
    let config = Config { of: None, ..config() };
    let outcome = run(&config, &mut Simulated::fixed(12e6).buffered(30_000));
    assert!(outcome.figures.is_empty() && outcome.validity.valid, "{outcome:?}");
    assert!(outcome.answer.starts_with("The test does not apply"), "{}", outcome.answer);
    assert!(outcome.validity.limits.iter().any(|l| l.what.contains("nothing is buffered")));
    assert!(outcome.trials.iter().all(|t| t.purpose != "burst"));
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
}

#[test]
fn noise_of_the_capacity_spreads_the_searches_around_the_truth() {
    let outcome = run(&config(), &mut device().noisy(0.02).seeded(5));
    let spread = outcome.figure("back_to_back_frames").and_then(|f| f.spread).expect("repeated");
    assert!(spread.min < spread.max);
    assert!((spread.mean / TRUTH - 1.0).abs() < 0.03, "{spread:?}");
    // The table of RFC 9004 section 6.
    let table = ["frames", "min", "max", "deviation"];
    let table = table.map(|column| value(&outcome, &format!("back_to_back_{column}")));
    assert_eq!(table, [spread.mean, spread.min, spread.max, spread.deviation]);
    assert!(spread.deviation > 0.0 && outcome.answer.contains("standard deviation"));
}

#[test]
fn buffer_times_follow_the_formulas_of_rfc_9004() {
    let config = Config { actual_rate: Some(Pps(2e6)), ..config() };
    let outcome = run(&config, &mut device());
    let (frames, rate) = (value(&outcome, "back_to_back_frames"), 10e6);
    let implied = frames / rate;
    let corrected = implied - implied * 4e6 / rate;
    let near = |name: &str, seconds: f64| {
        let ns = value(&outcome, name);
        assert!((ns / (seconds * 1e9) - 1.0).abs() < 1e-9, "{name}: {ns} ns, {seconds} s");
    };
    near("implied_buffer_time", implied);
    near("corrected_buffer_time", corrected);
    near("actual_buffer_time", corrected * rate / 2e6);
    // 30,000 frames that wait take 15 ms to leave at 2 Mpps.
    assert!((value(&outcome, "actual_buffer_time") / 15e6 - 1.0).abs() < 0.01);
    let wrong = Config { actual_rate: Some(Pps(0.0)), ..Config::default() };
    assert_eq!(crate::entry::refused(&wrong).key, "actual-rate");
}

#[test]
fn a_trial_waits_for_the_burst_to_come_through_and_then_for_the_silence() {
    // A buffer without an end, so that bursts grow to the ceiling of 3 s.
    let config = Config { max_burst: Seconds(3.0), repetitions: 1, ..config() };
    let outcome = run(&config, &mut Simulated::fixed(4e6).buffered(u64::MAX / 4));
    let mut longest = Duration::ZERO;
    for trial in &outcome.trials {
        let LoadRecord::Burst { frames, .. } = trial.load else { continue };
        let seconds = |pps: f64| Duration::from_secs_f64(frames as f64 / pps);
        let least = seconds(10e6) + seconds(4e6) + seconds(10e6).max(Duration::from_secs(2));
        assert!(Duration::from_nanos(trial.intended_ns) >= least - Duration::from_nanos(10));
        longest = longest.max(least);
    }
    assert!(longest > Duration::from_secs(13), "3 s of 30 million frames: {longest:?}");
    assert!(outcome.answer.contains("at least"), "{}", outcome.answer);
}

#[test]
fn repeating_bursts_with_a_little_loss_sees_through_stalls() {
    // One burst in three meets a stall of 0.2 ms, which costs 800 frames of service.
    let error = |repeat_lossy, seed| {
        let config = Config { repeat_lossy, repetitions: 1, ..config() };
        let mut device = device().stalling(0.33, 200_000).seeded(seed);
        (TRUTH - value(&run(&config, &mut device), "back_to_back_frames")).abs()
    };
    let good = |repeat| (0..40).filter(|seed| error(repeat, *seed) <= 300.0).count();
    let (plain, verified) = (good(0), good(3));
    assert!(verified >= 35, "{verified} of 40");
    assert!(plain < verified, "{plain} and {verified} of 40");
}

#[test]
fn a_ceiling_makes_the_result_a_lower_bound() {
    let config = Config { max_burst: Seconds(0.001), ..config() };
    let outcome = run(&config, &mut device());
    assert!((value(&outcome, "back_to_back_frames") / 10_000.0 - 1.0).abs() < 0.03);
    assert!(outcome.answer.contains("at least"), "{}", outcome.answer);
    assert!(outcome.validity.valid);
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
}

#[test]
fn time_that_runs_out_keeps_the_searches_that_were_finished() {
    let config = Config {
        max_search_time: Seconds(90.0),
        max_burst: Seconds(1.0),
        repeat_lossy: 0,
        ..config()
    };
    let mut device = device();
    let outcome = run(&config, &mut device);
    let n = outcome.figure("back_to_back_frames").and_then(|f| f.spread).expect("some").n;
    assert!((1..5).contains(&n), "{n} searches");
    assert!(outcome.validity.limits.iter().any(|l| l.what.contains("max-search-time")));
    assert!(device.simulated() <= config.time_bound());
}

#[test]
fn a_tester_slower_than_the_maximum_rate_sets_it() {
    let outcome = run(&config(), &mut device().tester_limited(8e6));
    assert_eq!(value(&outcome, "maximum_rate"), 8e6);
    let truth = 30_000.0 / (1.0 - 4.0 / 8.0);
    assert!((truth - value(&outcome, "back_to_back_frames")).abs() <= 256.0);
}

#[test]
fn bursts_that_are_sent_too_slowly_are_repeated_and_then_remarked() {
    struct Slow(Simulated);
    impl Measurer for Slow {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn Watch,
        ) -> Result<Trial, MeasureError> {
            let mut trial = self.0.measure(load, duration, watch)?;
            if matches!(load, Load::Burst { .. }) {
                trial.effective = trial.effective * 2 + Duration::from_millis(1);
            }
            Ok(trial)
        }
    }
    let config = Config { repetitions: 1, ..config() };
    let outcome = config.run(&mut Slow(device()), &mut Unobserved).expect("simulated");
    assert!(outcome.trials.iter().any(|t| t.purpose == "verification"));
    assert!(outcome.validity.limits.iter().any(|l| l.kind == LimitKind::Tester));
}

#[test]
fn a_device_without_bursts_ends_with_a_clear_error() {
    struct Steady(Simulated);
    impl Measurer for Steady {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn Watch,
        ) -> Result<Trial, MeasureError> {
            match load {
                Load::Burst { .. } => Err(MeasureError::Unsupported("bursts of frames")),
                _ => self.0.measure(load, duration, watch),
            }
        }
    }
    let error = config().run(&mut Steady(device()), &mut Unobserved).expect_err("it cannot");
    assert!(error.to_string().contains("choose another method or device"), "{error}");
}

#[test]
fn claims_name_every_deviation() {
    let config = Config { depletion: Seconds(0.5), max_burst: Seconds(1.0), ..config() };
    let outcome = run(&config, &mut device());
    let claim = &outcome.claims[0];
    assert_eq!((claim.clause.as_str(), claim.level), ("rfc9004.6", ClaimLevel::Partial));
    for part in ["configured", "instead of 30 s", "instead of 2 s", "doubled"] {
        assert!(claim.reason.contains(part), "{part} is missing in {}", claim.reason);
    }
    let wrong = Config { step: 0, ..Config::default() };
    assert_eq!(crate::entry::refused(&wrong).key, "step");
}
