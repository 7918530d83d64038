//! `capacity` on simulated devices whose capacity is known.

use measure::MeasureError;
use measure::record::{ClaimLevel, LimitKind, Outcome, TrialRecord};
use measure::{Measurer, TrialProgress, Watch};

use super::*;
use crate::simulated::{Changes, Simulated};
use crate::{Observer, Step, Unobserved};

fn run(device: &mut Simulated) -> Outcome {
    Config::default().run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn a_known_capacity_is_found_with_its_parts() {
    let mut device = Simulated::fixed(10e6);
    let outcome = run(&mut device);
    assert_eq!(device.trials(), 11, "a warm-up, and five repetitions with each kind of frames");
    // 250 TSC cycles per packet at 2.5 GHz; 70 % of them in the function, which takes twice as long
    // for cold frames.
    assert!((value(&outcome, "function_cold_pps") / (5e6 / 0.7) - 1.0).abs() < 1e-6);
    let cold: Vec<f64> = outcome.parts("ticks_cold_per_packet").map(|f| f.value).collect();
    assert_eq!(cold.len(), 2, "the stages of the function only");
    assert!((cold.iter().sum::<f64>() - 350.0).abs() < 1e-3, "{cold:?}");
    assert!((value(&outcome, "total_pps") / 10e6 - 1.0).abs() < 1e-6);
    assert!((value(&outcome, "function_pps") / (10e6 / 0.7) - 1.0).abs() < 1e-6);
    assert!((value(&outcome, "wall_clock_pps") / 10e6 - 1.0).abs() < 1e-6);
    assert!((value(&outcome, "ticks_per_packet") - 250.0).abs() < 1e-3);
    assert!((value(&outcome, "longest_batch") - 20_000.0).abs() < 1e-3, "50,000 ticks");
    assert!(outcome.validity.valid && outcome.validity.limits.is_empty());
    assert_eq!(outcome.claims[0].level, ClaimLevel::None);
    assert_eq!(
        outcome.answer,
        "One worker processes 7.14 Mpps of cold frames excluding Rx/Tx; of hot frames 10.0 Mpps \
         including generator and sink, at 250 TSC cycles per packet (14.3 Mpps excluding Rx/Tx)."
    );
}

#[test]
fn stages_add_up_to_the_total_even_where_one_sees_half_of_the_packets() {
    let outcome = run(&mut Simulated::fixed(10e6));
    let stages: f64 = outcome.parts("ticks_per_packet").map(|f| f.value).sum();
    assert!((stages - value(&outcome, "ticks_per_packet")).abs() < 1e-6);
    assert_eq!(outcome.parts("ns_per_packet").count(), 4);
}

#[test]
fn frames_are_only_those_that_are_wanted() {
    for (frames, there, absent) in [
        (Frames::Hot, "function_pps", "function_cold_pps"),
        (Frames::Cold, "function_cold_pps", "function_pps"),
    ] {
        let config = Config { frames: vec![frames], ..Config::default() };
        let mut device = Simulated::fixed(10e6);
        let outcome = config.run(&mut device, &mut Unobserved).expect("a simulated device");
        assert_eq!(device.trials(), 6, "a warm-up and five repetitions");
        assert!(outcome.figure(there).is_some() && outcome.figure(absent).is_none(), "{outcome:?}");
        assert!(outcome.answer.starts_with("One worker processes "), "{}", outcome.answer);
        assert!(outcome.validity.valid, "{:?}", outcome.validity);
    }
    let twice = Config { frames: vec![Frames::Hot, Frames::Hot], ..Config::default() };
    assert_eq!(crate::entry::refused(&twice).key, "frames");
    let none = Config { frames: Vec::new(), ..Config::default() };
    assert_eq!(crate::entry::refused(&none).key, "frames");
}

#[test]
fn a_device_without_cold_frames_is_measured_with_hot_ones_and_says_so() {
    struct Warm(Simulated);
    impl Measurer for Warm {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn Watch,
        ) -> Result<Trial, MeasureError> {
            self.0.measure(load, duration, watch)
        }

        fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
            match conditions.cold_frames {
                true => Err(MeasureError::Unsupported("it writes them just before")),
                false => self.0.set_conditions(conditions),
            }
        }

        fn has_cold_frames(&self) -> bool {
            false
        }
    }
    let mut device = Warm(Simulated::fixed(10e6));
    let outcome = Config::default().run(&mut device, &mut Unobserved).expect("hot frames");
    assert_eq!(device.0.trials(), 6, "a warm-up and five repetitions");
    assert!((value(&outcome, "function_pps") / (10e6 / 0.7) - 1.0).abs() < 1e-6);
    assert!(outcome.figure("function_cold_pps").is_none());
    assert!(outcome.answer.ends_with("cannot hand over cold ones."), "{}", outcome.answer);
    // Who wants cold frames alone is not given others.
    let cold = Config { frames: vec![Frames::Cold], ..Config::default() };
    let refused = cold.run(&mut device, &mut Unobserved).expect_err("there are none");
    assert!(refused.to_string().contains("cold frames"), "{refused}");
}

#[test]
fn a_device_is_as_before_after_cold_frames() {
    let mut device = Simulated::fixed(10e6);
    let config = Config { frames: vec![Frames::Hot, Frames::Cold], ..Config::default() };
    config.run(&mut device, &mut Unobserved).expect("a simulated device");
    let outcome = run(&mut device);
    assert!((value(&outcome, "function_pps") / (10e6 / 0.7) - 1.0).abs() < 1e-6);
}

#[test]
fn the_warm_up_is_recorded_and_not_counted() {
    let outcome = run(&mut Simulated::fixed(1e6));
    assert_eq!(outcome.trials[0].purpose, "warm-up");
    let spread = outcome.figure("total_pps").and_then(|f| f.spread).expect("repeated");
    assert_eq!(spread.n, 5);
}

#[test]
fn noise_shows_as_spread_around_the_median() {
    let outcome = run(&mut Simulated::fixed(10e6).noisy(0.2).seeded(7));
    let spread = outcome.figure("total_pps").and_then(|f| f.spread).expect("repeated");
    assert!(spread.min < spread.median && spread.median < spread.max);
    assert!((spread.median / 10e6 - 1.0).abs() < 0.2);
    assert!(outcome.validity.limits.iter().any(|l| l.kind == LimitKind::Spread));
    assert!(outcome.validity.valid, "a spread is a remark");
}

#[test]
fn the_same_seed_gives_the_same_record() {
    let record = |seed| run(&mut Simulated::fixed(10e6).noisy(0.2).seeded(seed));
    assert_eq!(record(7), record(7));
    assert_ne!(record(7), record(8));
}

#[test]
fn a_device_that_counts_no_cycles_yields_no_valid_capacity() {
    struct Blind(Simulated);
    impl Measurer for Blind {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn Watch,
        ) -> Result<Trial, MeasureError> {
            let trial = self.0.measure(load, duration, watch)?;
            Ok(Trial { stages: Vec::new(), ..trial })
        }
        fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
            self.0.set_conditions(conditions)
        }
    }
    let outcome = Config::default()
        .run(&mut Blind(Simulated::fixed(1e6)), &mut Unobserved)
        .expect("it still measures");
    assert!(!outcome.validity.valid);
}

#[test]
fn an_interrupted_run_has_told_its_finished_trials() {
    #[derive(Default)]
    struct Keeper(Vec<Step>, Vec<TrialRecord>, usize);
    impl Watch for Keeper {
        fn at(&mut self, _: TrialProgress) {
            self.2 += 1;
        }
    }
    impl Observer for Keeper {
        fn starting(&mut self, step: &Step) {
            self.0.push(step.clone());
        }
        fn finished(&mut self, trial: &TrialRecord) {
            self.1.push(trial.clone());
        }
    }
    let mut keeper = Keeper::default();
    let error = Config::default()
        .run(&mut Simulated::fixed(1e6).interrupted_after(3), &mut keeper)
        .expect_err("it was stopped");
    assert!(matches!(error, MeasureError::Interrupted));
    assert_eq!((keeper.0.len(), keeper.1.len(), keeper.2), (4, 3, 3));
    assert_eq!(keeper.0[0].trials_expected, 11);
    assert_eq!(keeper.0[3].trials_expected, 8);
    assert_eq!(keeper.0[3].time_expected, Duration::from_secs(8));
}

#[test]
fn what_changes_leave_of_the_rate_is_found_in_pairs() {
    // 20,000 changes of 2 us each take 4 % of the worker's time.
    let changes = Changes {
        cost_ns: 2000.0,
        blackout_ns: 0,
        buffer_frames: 0.0,
        accepted_ns: 1000..=3000,
        visible_ns: 1000..=3000,
        most_per_s: 1e6,
    };
    let mut device = Simulated::fixed(10e6).changing(changes);
    let config = Config { update_rate: Some(20e3), ..Config::default() };
    let outcome = config.run(&mut device, &mut Unobserved).expect("a simulated device");
    assert_eq!(device.trials(), 20, "five times warm-up, cold, hot, and hot with changes");
    assert!(device.simulated() <= config.time_bound());
    let total = value(&outcome, "total_kept_percent");
    assert!((total - 96.0).abs() < 0.1, "{total}");
    let function = value(&outcome, "function_kept_percent");
    assert!((90.0..=96.1).contains(&function), "{function}");
    assert!((value(&outcome, "total_pps") / 10e6 - 1.0).abs() < 1e-6, "without changes");
    assert_eq!(value(&outcome, "achieved_updates"), 20e3);
    assert!((1000.0..=3100.0).contains(&value(&outcome, "accepted_p50")));
    assert!(outcome.answer.contains("With 20000 changes per second"), "{}", outcome.answer);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert_eq!(outcome.figures[0].name, "function_cold_pps");
    crate::figures::assert_known(&outcome);
}

#[test]
fn changes_that_are_not_made_are_no_result() {
    let changes = Changes {
        cost_ns: 100.0,
        blackout_ns: 0,
        buffer_frames: 0.0,
        accepted_ns: 1000..=3000,
        visible_ns: 1000..=3000,
        most_per_s: 1e3,
    };
    let config = Config { update_rate: Some(20e3), ..Config::default() };
    let mut device = Simulated::fixed(10e6).changing(changes);
    let outcome = config.run(&mut device, &mut Unobserved).expect("a simulated device");
    assert!(!outcome.validity.valid);
    assert!(outcome.validity.limits.iter().any(|l| l.what.contains("1000 changes per second")));
    let never = config.run(&mut Simulated::fixed(10e6), &mut Unobserved).expect("simulated");
    assert!(!never.validity.valid, "one that never changes shows nothing of changes");
    let wrong = Config { update_rate: Some(0.0), ..Config::default() };
    assert_eq!(crate::entry::refused(&wrong).key, "update-rate");
}
