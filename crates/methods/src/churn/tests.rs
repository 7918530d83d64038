//! `churn` on simulated devices whose changes have a known cost.

use measure::record::{Figure, LimitKind};
use measure::{Seconds, Trial, Watch};

use super::*;
use crate::Unobserved;
use crate::simulated::{Changes, Simulated};

/// Changes that take 10 µs of the worker each and lose nothing.
fn changes() -> Changes {
    Changes {
        cost_ns: 10e3,
        blackout_ns: 50_000,
        buffer_frames: 1e9,
        accepted_ns: 1_000..=3_000,
        visible_ns: 10_000..=30_000,
        most_per_s: 1e9,
    }
}

fn run(device: &mut Simulated) -> Outcome {
    Config::default().run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}")).value
}

/// The values of a column of the surface, by update rate.
fn column(outcome: &Outcome, name: &str) -> Vec<Option<f64>> {
    let surface = &outcome.series[0];
    let at = surface.columns.iter().position(|column| column.name == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}"));
    surface.rows.iter().map(|row| row[at]).collect()
}

#[test]
fn the_throughput_falls_as_the_changes_cost() {
    let mut device = Simulated::fixed(5e6).changing(changes());
    let outcome = run(&mut device);
    // 10 µs of each second and update: 0, 0.1 %, 1 % and 10 % of the capacity.
    let truth = [5e6, 4.995e6, 4.95e6, 4.5e6];
    for (found, truth) in column(&outcome, "throughput_pps").iter().zip(truth) {
        let error = 1.0 - found.expect("a load passed") / truth;
        assert!((0.0..=0.02).contains(&error), "{truth}: error {error}");
    }
    assert_eq!(column(&outcome, "updates_per_s").last(), Some(&Some(10_000.0)));
    crate::figures::assert_known(&outcome);
    assert!((value(&outcome, "throughput_kept_percent") - 90.0).abs() < 2.0);
    assert_eq!(outcome.parts("throughput").count(), 4);
    assert!(device.trials() <= 41, "{} trials: 9 a search, 4 holds, a probe", device.trials());
    assert!(device.simulated() <= Config::default().time_bound());
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
}

#[test]
fn known_times_of_changes_are_reported() {
    let outcome = run(&mut Simulated::fixed(5e6).changing(changes()));
    // Spread evenly from 1 to 3 µs, and from 10 to 30 µs; histograms hold three digits.
    for (name, truth) in [
        ("accepted_p50", 2_000.0),
        ("accepted_p99", 2_980.0),
        ("visible_p50", 20_000.0),
        ("visible_p99", 29_800.0),
        ("blackout_p99", 50_000.0),
        ("blackout_max", 50_000.0),
        ("achieved_updates", 10_000.0),
        ("late_frames", 500.0),
        ("refused_updates", 0.0),
    ] {
        let error = value(&outcome, name) / f64::max(truth, 1.0) - truth.min(1.0);
        assert!(error.abs() < 0.005, "{name}: {} for {truth}", value(&outcome, name));
    }
    assert_eq!(outcome.parts("blackout_p99").count(), 1);
    assert_eq!(column(&outcome, "visible_p50_ns")[0], None, "nothing changes at 0");
}

#[test]
fn the_blocked_time_is_what_a_change_blocks() {
    // 1 ms a change at 0 to 10 updates per second, without a buffer: every load loses.
    let rates = vec![5.0, 10.0];
    let config = Config { update_rates: rates, ..Config::default() };
    let blocking =
        Changes { cost_ns: 0.0, blackout_ns: 1_000_000, buffer_frames: 0.0, ..changes() };
    let outcome = config
        .run(&mut Simulated::fixed(1e6).changing(blocking), &mut Unobserved)
        .expect("simulated");
    let per_update = column(&outcome, "blocked_time_per_update_ns");
    assert_eq!(per_update[0], None);
    for found in &per_update[1..] {
        assert!((found.expect("held") / 1e6 - 1.0).abs() < 1e-3, "{found:?}");
    }
    // 50 changes of 1 ms in 5 s.
    let blocked = column(&outcome, "blocked_time_ns")[2].expect("held");
    assert!((blocked / 50e6 - 1.0).abs() < 1e-3, "{blocked}");
    assert_eq!(column(&outcome, "throughput_pps")[1..], [None, None]);
    assert!(outcome.validity.valid, "that nothing passes while it changes is a finding");
    assert!(
        outcome.answer.ends_with("with changes no load from 10.0 kpps passes."),
        "{}",
        outcome.answer
    );
}

#[test]
fn a_device_that_refuses_changes_shows_what_it_manages() {
    let slow = Changes { most_per_s: 2_000.0, ..changes() };
    let outcome = run(&mut Simulated::fixed(5e6).changing(slow));
    let achieved = column(&outcome, "achieved_updates_per_s");
    assert_eq!(achieved, [0.0, 100.0, 1000.0, 2000.0].map(Some));
    assert_eq!(value(&outcome, "refused_updates"), 40_000.0, "of 50,000 in 5 s");
}

#[test]
fn a_search_that_counts_subscribers_keeps_the_update_rate() {
    let goal = serde_json::json!({
        "throughput": {"goals": [{"conditions": ["policer-error <= 10 %"]}]},
        "update-rates": [1000],
    });
    let device = Simulated::fixed(5e6).changing(changes());
    let mut device = device.policing(10, 1e9, 1e6);
    let method = (ENTRY.read)(goal).unwrap_or_else(|error| panic!("{error}"));
    let outcome = method.run(&mut device, &mut Unobserved).expect("simulated");
    let counted: Vec<_> = outcome.trials.iter().filter(|t| !t.policed.is_empty()).collect();
    assert!(counted.len() > 4, "the goal counts subscribers");
    let changing = counted.iter().filter(|t| t.events.iter().any(|kind| kind.requested > 0));
    assert!(changing.count() > 2, "while it changes");
    assert_eq!(column(&outcome, "achieved_updates_per_s")[1], Some(1000.0));
}

#[test]
fn every_trial_but_warm_ups_and_the_probe_is_in_the_loss_series() {
    let outcome = run(&mut Simulated::fixed(5e6).changing(changes()));
    let counted = outcome.trials.iter().filter(|t| !["warm-up", "probe"].contains(&&*t.purpose));
    assert_eq!(outcome.series[1].rows.len(), counted.count());
    let indices: Vec<usize> = outcome.trials.iter().map(|trial| trial.index).collect();
    assert!(indices.iter().copied().eq(0..outcome.trials.len()), "{indices:?}");
    let hold = outcome.trials.iter().filter(|trial| trial.purpose == "hold").count();
    assert_eq!(hold, 4);
}

#[test]
fn loss_without_changes_is_told_beside_the_blocked_time() {
    let config = Config { held_load: measure::Ratio(1.0), ..Config::default() };
    let mut told = 0;
    for seed in 0..10 {
        let stalling = Simulated::fixed(2e6).stalling(0.4, 9_000_000).seeded(seed);
        let mut device = stalling.changing(changes());
        let outcome = config.run(&mut device, &mut Unobserved).expect("simulated");
        let Some(Some(unchanged)) = column(&outcome, "blocked_time_ns").first().copied() else {
            continue;
        };
        let limit = outcome.validity.limits.iter().find(|limit| limit.kind == LimitKind::Spread);
        assert_eq!(limit.is_some(), unchanged > 0.0, "seed {seed}");
        told += usize::from(limit.is_some());
    }
    assert!((1..10).contains(&told), "four of ten holds meet a stall: {told}");
}

#[test]
fn nothing_that_changes_is_an_error_with_a_remedy() {
    let problem = |measurer: &mut dyn Measurer| {
        let ended = Config::default().run(measurer, &mut Unobserved);
        ended.expect_err("there is nothing to measure").to_string()
    };
    let text = problem(&mut Simulated::fixed(1e6));
    assert!(text.contains("nothing changed in 200 ms at 10000 updates per second"), "{text}");
    assert!(text.contains("`handover`"), "{text}");

    struct Rigid(Simulated);
    impl Measurer for Rigid {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn Watch,
        ) -> Result<Trial, MeasureError> {
            self.0.measure(load, duration, watch)
        }
    }
    let text = problem(&mut Rigid(Simulated::fixed(1e6).changing(changes())));
    assert!(text.contains("its own conditions only") && text.contains("choose another"), "{text}");
}

#[test]
fn a_device_that_forwards_nothing_ends_after_the_first_search() {
    let outcome = run(&mut Simulated::fixed(100.0).changing(changes()));
    assert_eq!(outcome.series[0].rows.len(), 1);
    assert!(!outcome.validity.valid);
    assert_eq!(outcome.answer, "No load passed, even without changes.");
}

#[test]
fn the_conditions_end_with_the_method_even_when_it_is_stopped() {
    let mut device = Simulated::fixed(5e6).changing(changes()).interrupted_after(20);
    let ended = Config::default().run(&mut device, &mut Unobserved);
    assert!(matches!(ended, Err(MeasureError::Interrupted)));
    let mut device = device.interrupted_after(usize::MAX);
    let after = device
        .measure(Load::PerInterface(Pps(1e3)), Duration::from_secs(1), &mut Unobserved)
        .expect("simulated");
    assert_eq!(after.events[0].requested, 0);
}

#[test]
fn keys_are_checked_down_to_the_search() {
    let wrong = |value| (ENTRY.read)(value).err().expect("it is refused").key;
    assert_eq!(wrong(serde_json::json!({"update-rates": [0]})), "update-rates");
    assert_eq!(wrong(serde_json::json!({"update-rates": [-1, 5]})), "update-rates[0]");
    assert_eq!(wrong(serde_json::json!({"throughput": {"precision": 0}})), "throughput.precision");
    assert_eq!(wrong(serde_json::json!({"held-load": 0})), "held-load");
    let unsorted = Config { update_rates: vec![10.0, 5.0, 10.0], ..Config::default() };
    assert_eq!(unsorted.rates(), [0.0, 5.0, 10.0]);
}

#[test]
fn the_answer_names_both_ends() {
    let outcome = run(&mut Simulated::fixed(5e6).changing(changes()));
    let figure = |name: &str| outcome.figures.iter().find(|figure: &&Figure| figure.name == name);
    assert!(figure("blocked_time_per_update").is_some_and(|figure| figure.value == 0.0));
    assert!(
        outcome.answer.starts_with("Without changes it forwards 5.00 Mpps per port and direction"),
        "{}",
        outcome.answer
    );
    assert!(
        outcome
            .answer
            .contains("half of the changes are applied within 2.00 µs and visible within 20.0 µs"),
        "{}",
        outcome.answer
    );
    assert!(outcome.answer.ends_with("no change loses a frame at 90 % of the throughput."));
    assert!(outcome.claims[0].level == ClaimLevel::None);
    let short = Config { hold_duration: Seconds(0.0), ..Config::default() };
    assert_eq!(crate::entry::refused(&short).key, "hold-duration");
}
