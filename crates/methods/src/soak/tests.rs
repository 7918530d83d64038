//! `soak` on simulated devices that age at a known rate, and interrupted at any slice.

use measure::record::{ClaimLevel, LimitKind};
use measure::{Ratio, Seconds, TrialProgress, Watch};
use serde_json::json;

use super::*;
use crate::Unobserved;
use crate::simulated::{Ageing, Simulated};

/// A soak of an hour at 1 Mpps in slices of 10 s.
fn config() -> Config {
    Config { load: HeldLoad::Rate(Pps(1e6)), ..Config::default() }
}

/// Ageing by a leak of 1 kB/s and 0.01 ns/s more latency, with some noise, and a loss of 500 frames
/// per direction every 1000 s.
fn ageing() -> Ageing {
    Ageing {
        resident_bytes: 100_000_000,
        leak_bytes_per_s: 1000.0,
        slower_ns_per_s: 0.01,
        wandering_ns: 40.0,
        burst_every: Duration::from_secs(1000),
        burst_frames: 500,
    }
}

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Stores all events, as a caller does that wants to resume.
#[derive(Default)]
struct Keeper(Vec<TrialRecord>, Vec<Step>);

impl Watch for Keeper {
    fn at(&mut self, _: TrialProgress) {}
}

impl Observer for Keeper {
    fn starting(&mut self, step: &Step) {
        self.1.push(step.clone());
    }

    fn finished(&mut self, trial: &TrialRecord) {
        self.0.push(trial.clone());
    }
}

#[test]
fn a_device_that_does_not_age_is_steady_and_lossless() {
    let mut device = Simulated::fixed(5e6).ageing(Ageing {
        resident_bytes: 50_000_000,
        wandering_ns: 40.0,
        ..Ageing::default()
    });
    let outcome = run(&config(), &mut device);
    assert_eq!(device.trials(), 361, "a warm-up and 360 slices");
    assert_eq!(value(&outcome, "loss_fraction"), 0.0);
    assert_eq!(value(&outcome, "lossless_longest"), 3600.0);
    assert_eq!(value(&outcome, "memory_slope"), 0.0);
    let ends =
        [value(&outcome, "latency_p50_slope_low"), value(&outcome, "latency_p50_slope_high")];
    assert!(ends[0] <= 0.0 && ends[1] >= 0.0 && ends[1] - ends[0] < 30.0, "{ends:?}");
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty());
    assert!(
        outcome.answer.starts_with(
            "At 1.00 Mpps per port and direction it forwards for 60.0 min without loss; the median \
             latency is steady"
        ),
        "{}",
        outcome.answer
    );
    assert_eq!(outcome.claims[0].level, ClaimLevel::Partial);
    assert!(outcome.claims[0].reason.contains("3.60 ks instead of 15 min"), "{:?}", outcome.claims);
}

#[test]
fn known_trends_lie_in_their_intervals() {
    let mut held = 0;
    for seed in 0..6 {
        let mut device = Simulated::fixed(5e6).ageing(ageing()).seeded(seed);
        let outcome = run(&config(), &mut device);
        // 0.01 ns a second are 36 ns an hour, 1 kB a second 3.6 MB.
        let within = |name: &str, truth: f64, error: f64| {
            let ends = ["low", "high"].map(|end| value(&outcome, &format!("{name}_{end}")));
            assert!((value(&outcome, name) - truth).abs() <= error, "seed {seed}: {name} {ends:?}");
            ends[0] <= truth && truth <= ends[1]
        };
        held += usize::from(within("latency_p50_slope", 36.0, 15.0));
        assert!(within("memory_slope", 3.6e6, 1.0), "a leak without noise");
    }
    assert!(held >= 5, "the interval of 95 % holds the truth in {held} of 6");
}

#[test]
fn every_loss_is_listed_with_its_time() {
    let outcome = run(&config(), &mut Simulated::fixed(5e6).ageing(ageing()));
    crate::figures::assert_known(&outcome);
    let losses = &outcome.series[1];
    assert_eq!(losses.name, "soak-loss");
    // The warm-up took the first of the device's seconds.
    let times: Vec<f64> = losses.rows.iter().filter_map(|row| row[0]).collect();
    assert_eq!(times, [999.0, 1999.0, 2999.0]);
    assert!(losses.rows.iter().all(|row| row[1] == Some(1000.0) && row[3] == Some(0.0)));
    assert_eq!(value(&outcome, "lost_frames"), 3000.0);
    assert!((value(&outcome, "loss_fraction") - 3000.0 / 7.2e9).abs() < 1e-15);
    assert_eq!(value(&outcome, "lossless_longest"), 990.0, "to a slice");
    assert!(outcome.answer.contains("loses 3000 of 7200000000 frames (0.417 ppm)"));
    assert!(outcome.answer.contains("memory rises by 3.60 MB per hour"), "{}", outcome.answer);
}

#[test]
fn a_soak_interrupted_at_any_slice_goes_on_where_it_stopped() {
    let config = Config { duration: Seconds(95.0), warm_up: Seconds(2.0), ..config() };
    let whole = run(&config, &mut Simulated::fixed(5e6).ageing(ageing()));
    let slices = |outcome: &Outcome| outcome.series[0].rows.len();
    assert_eq!(slices(&whole), 10, "the last one is shorter");
    for stop in 0..11 {
        let mut device = Simulated::fixed(5e6).ageing(ageing()).interrupted_after(stop);
        let mut keeper = Keeper::default();
        let ended = config.run(&mut device, &mut keeper);
        assert!(matches!(ended, Err(MeasureError::Interrupted)), "stopped after {stop}");
        keeper.1.clear();
        let mut device = device.restarted().interrupted_after(usize::MAX);
        let before = device.trials();
        let told = std::mem::take(&mut keeper.0);
        let done = told.iter().filter(|record| record.purpose.starts_with("slice")).count();
        let outcome =
            config.resume(&mut told.into_iter(), &mut device, &mut keeper).expect("it goes on");
        assert_eq!(device.trials() - before, 1 + 10 - done, "a warm-up and what was left");
        assert_eq!(slices(&outcome), 10);
        assert_eq!(value(&outcome, "duration"), 95.0);
        assert_eq!(value(&outcome, "restarts"), f64::from(u8::from(done > 0)));
        assert_eq!(keeper.1[0].index, stop, "indices go on");
        assert_eq!(keeper.1.last().map(|step| step.trials_expected), Some(1));
    }
}

#[test]
fn a_restart_is_no_trend() {
    let mut device = Simulated::fixed(5e6).ageing(ageing()).interrupted_after(181);
    let mut keeper = Keeper::default();
    config().run(&mut device, &mut keeper).expect_err("it is stopped");
    let mut device = device.restarted().interrupted_after(usize::MAX);
    let outcome = config()
        .resume(&mut keeper.0.into_iter(), &mut device, &mut Unobserved)
        .expect("it goes on");
    // Half an hour of leaking was lost with the old device; across it memory would not have grown.
    assert!((value(&outcome, "memory_slope") - 3.6e6).abs() < 1.0);
    assert_eq!(value(&outcome, "lossless_longest"), 990.0);
    let limit = outcome.validity.limits.iter().find(|limit| limit.kind == LimitKind::Spread);
    assert!(limit.is_some_and(|limit| limit.what.contains("interrupted 1 times")));
    assert!(outcome.validity.valid);
}

#[test]
fn a_soak_that_is_complete_measures_nothing_more() {
    let config = Config { duration: Seconds(50.0), ..config() };
    let mut keeper = Keeper::default();
    let mut device = Simulated::fixed(5e6).ageing(ageing());
    let whole = config.run(&mut device, &mut keeper).expect("simulated");
    let mut idle = Simulated::fixed(5e6);
    let again = config
        .resume(&mut keeper.0.into_iter(), &mut idle, &mut Unobserved)
        .expect("nothing is left");
    assert_eq!(idle.trials(), 0);
    assert_eq!(again, whole);
}

#[test]
fn slices_of_another_soak_are_refused() {
    let mut keeper = Keeper::default();
    let config = Config { duration: Seconds(50.0), ..config() };
    config.run(&mut Simulated::fixed(5e6), &mut keeper).expect("simulated");
    let other_load = Config { load: HeldLoad::Rate(Pps(2e6)), ..config.clone() };
    let other_slice = Config { slice: Seconds(5.0), ..config.clone() };
    let shorter = Config { duration: Seconds(40.0), ..config };
    for other in [other_load, other_slice, shorter] {
        let mut records = keeper.0.clone().into_iter();
        let ended = other.resume(&mut records, &mut Simulated::fixed(5e6), &mut Unobserved);
        let text = ended.expect_err("they do not belong to it").to_string();
        assert!(text.contains("another soak") && text.contains("measure afresh"), "{text}");
    }
}

#[test]
fn a_share_of_the_throughput_is_searched_once_even_if_interrupted() {
    let config =
        Config { load: HeldLoad::Share(Ratio(0.5)), duration: Seconds(100.0), ..Config::default() };
    let mut device = Simulated::fixed(4e6).interrupted_after(14);
    let mut keeper = Keeper::default();
    config.run(&mut device, &mut keeper).expect_err("it is stopped");
    assert!(keeper.0.iter().any(|record| record.purpose == START), "in the slices");
    let mut device = device.interrupted_after(usize::MAX);
    let outcome =
        config.resume(&mut keeper.0.into_iter(), &mut device, &mut Unobserved).expect("it goes on");
    assert!((0.97..=1.0).contains(&(value(&outcome, "load") / 2e6)));
    let confirmations = outcome.trials.iter().filter(|t| t.purpose == "confirmation").count();
    assert_eq!(confirmations, 1);
    let indices: Vec<usize> = outcome.trials.iter().map(|trial| trial.index).collect();
    assert!(indices.is_sorted(), "{indices:?}");
    let ended = config.run(&mut Simulated::fixed(100.0), &mut Unobserved);
    let text = ended.expect_err("there is no throughput").to_string();
    assert!(text.contains("no throughput to soak 50 % of: No load"), "{text}");
}

#[test]
fn a_day_in_slices_stays_small() {
    let day = Seconds(86_400.0);
    let config = Config { duration: day, slice: Seconds(60.0), slices_kept: 5, ..config() };
    let outcome = run(&config, &mut Simulated::fixed(5e6).ageing(ageing()));
    assert_eq!(outcome.series[0].rows.len(), 1440);
    assert_eq!(outcome.series[1].rows.len(), 86, "every loss is listed");
    // Warm-up, first slice, five with loss, last slice.
    assert_eq!(outcome.trials.len(), 8);
    assert!((value(&outcome, "memory_slope") - 3.6e6).abs() < 1.0, "in 600 groups");
    assert!(outcome.parts("latency_max").count() == 2);
    assert!(outcome.answer.contains("forwards for 24.0 h"), "{}", outcome.answer);
    assert!(!outcome.claims[0].reason.contains("instead of 15 min"));
}

#[test]
fn stalls_are_named_beside_the_loss_and_invalidate_only_as_a_rule() {
    let mut stalling = Simulated::fixed(5e6).stalling(0.1, 9_000_000).seeded(3);
    let outcome = run(&config(), &mut stalling);
    let losses = &outcome.series[1];
    assert!(losses.rows.len() > 10 && losses.rows.iter().all(|row| row[3] == Some(1.0)));
    let mut slow = Simulated::fixed(5e6).tester_limited(0.5e6);
    let outcome = run(&config(), &mut slow);
    assert!(!outcome.validity.valid, "every slice was offered half of the load");
    assert_eq!(outcome.validity.limits[0].kind, LimitKind::Tester);
}

#[test]
fn keys_are_checked() {
    let wrong = |value| (ENTRY.read)(value).err().expect("it is refused").key;
    assert_eq!(wrong(json!({"load": 0})), "load");
    assert_eq!(wrong(json!({"load": "150 %"})), "load");
    assert_eq!(wrong(json!({"slice": 0.01})), "slice");
    assert_eq!(wrong(json!({"duration": "1000 h", "slice": 1})), "slice");
    assert_eq!(wrong(json!({"duration": 5})), "duration");
    assert_eq!(wrong(json!({"throughput": {"precision": 0}})), "throughput.precision");
    assert!((ENTRY.read)(json!({"load": "1 Mpps", "duration": "24 h"})).is_ok());
    assert!((ENTRY.read)(json!({})).is_ok_and(|method| method.resumes()));
}
