//! `throughput` on simulated devices: search error and number of trials are stated here.

use measure::record::{ClaimLevel, Limit, LimitKind, TrialRecord};
use measure::{Ratio, Seconds, Trial};
use serde_json::json;

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn found(outcome: &Outcome) -> f64 {
    outcome.figure("throughput").expect("a load passed").value
}

#[test]
fn a_fixed_capacity_is_found_within_the_precision_in_at_most_nine_trials() {
    for capacity in [11e3, 123_456.0, 1e6, 3.3e6, 14.88e6, 19.9e6] {
        let mut device = Simulated::fixed(capacity);
        let outcome = run(&Config::default(), &mut device);
        let error = 1.0 - found(&outcome) / capacity;
        assert!((0.0..=0.02).contains(&error), "{capacity}: error {error}");
        assert!(device.trials() <= 9, "{capacity}: {} trials", device.trials());
        assert!(outcome.validity.valid, "{:?}", outcome.validity);
        assert!(outcome.bounds.is_some_and(|b| b.regular));
        assert_eq!(outcome.trials.last().map(|t| t.purpose.as_str()), Some("confirmation"));
    }
}

#[test]
fn without_a_warm_up_it_takes_more_trials_and_finds_the_same() {
    let config = Config { warm_up: Seconds(0.0), ..Config::default() };
    let mut device = Simulated::fixed(1e6);
    let error = 1.0 - found(&run(&config, &mut device)) / 1e6;
    assert!((0.0..=0.02).contains(&error), "error {error}");
    assert!((10..=25).contains(&device.trials()), "{} trials", device.trials());
}

#[test]
fn noise_costs_accuracy_but_the_result_is_one_that_was_passed() {
    for seed in 0..50 {
        let mut device = Simulated::fixed(1e6).noisy(0.05).seeded(seed);
        let outcome = run(&Config::default(), &mut device);
        let error = found(&outcome) / 1e6 - 1.0;
        assert!((-0.07..=0.05).contains(&error), "seed {seed}: error {error}");
        assert!(device.trials() <= 40, "seed {seed}: {} trials", device.trials());
        let lower = outcome.bounds.and_then(|b| b.lower_pps);
        let shown = outcome.trials.iter().rev().find(|t| t.load_pps() == lower);
        assert!(shown.is_some_and(|t| t.loss_fraction == 0.0 && t.intended_ns == 5_000_000_000));
    }
}

#[test]
fn loss_below_the_result_is_not_seen_as_documented() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).lossy_below(2e5, 0.001));
    assert!((0.98..=1.0).contains(&(found(&outcome) / 1e6)));
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).lossy_below(5e6, 0.001));
    assert_eq!(outcome.figure("throughput"), None);
    assert!(!outcome.validity.valid);
    let words = "No load passed, down to 10.0 kpps, the lowest one: even min-rate failed after 28 ";
    assert!(outcome.answer.starts_with(words), "{}", outcome.answer);
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
}

#[test]
fn a_tolerance_lets_a_lossy_device_pass() {
    let config = Config { loss_tolerance: Ratio(0.002), ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(1e6).lossy_below(5e6, 0.001));
    assert!((0.97..=1.0).contains(&(found(&outcome) / 1e6)), "{}", found(&outcome));
    assert!(
        outcome.answer.contains("with a loss of 0.1 % (tolerance 0.2 %)"),
        "{}",
        outcome.answer
    );
}

#[test]
fn repeating_lossy_trials_sees_through_stalls() {
    // One trial in three stalls for 9 ms, as shared machines do.
    let error = |repeat_lossy, seed| {
        let config = Config { repeat_lossy, repeat_stalled: 0, ..Config::default() };
        let mut device = Simulated::fixed(2e6).stalling(0.33, 9_000_000).seeded(seed);
        let outcome = run(&config, &mut device);
        (1.0 - outcome.figure("throughput").map_or(0.0, |f| f.value) / 2e6, device.trials())
    };
    let good = |repeat| (0..50).filter(|seed| error(repeat, *seed).0 <= 0.021).count();
    let (plain, verified) = (good(0), good(3));
    assert!(verified >= 46, "{verified} of 50 searches within the precision");
    assert!(plain <= 30, "plain search: {plain} of 50");
    assert!((0..50).all(|seed| error(3, seed).1 <= 40), "trials stay bounded");
}

#[test]
fn stalls_that_explain_the_loss_of_the_bound_are_remarked() {
    let config = Config { repeat_lossy: 0, repeat_stalled: 0, ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(2e6).stalling(1.0, 20_000_000));
    let kinds: Vec<LimitKind> = outcome.validity.limits.iter().map(|l| l.kind).collect();
    assert!(kinds.contains(&LimitKind::Stall), "{kinds:?}");
}

#[test]
fn a_tester_that_is_the_limit_makes_the_result_a_lower_bound() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(10e6).tester_limited(2e6));
    assert!((0.97..=1.0).contains(&(found(&outcome) / 2e6)), "{}", found(&outcome));
    assert!(outcome.validity.valid, "what was forwarded was forwarded");
    assert!(outcome.answer.starts_with("It forwards at least "), "{}", outcome.answer);
    let limit = outcome.validity.limits.iter().find(|l| l.kind == LimitKind::Tester);
    assert!(limit.is_some_and(|l| l.advice.contains("max-rate")));
    assert_eq!(outcome.claims[0].level, ClaimLevel::None, "claims fail closed");
}

#[test]
fn a_device_faster_than_the_range_is_reported_as_at_least() {
    let mut device = Simulated::fixed(100e6);
    let outcome = run(&Config::default(), &mut device);
    assert_eq!(device.trials(), 3, "warm-up, max-rate, confirmation");
    assert_eq!(found(&outcome), 20e6);
    assert!(outcome.answer.starts_with("It forwards at least 20.0 Mpps on each of 2 ports"));
    assert!(outcome.validity.valid);
}

#[test]
fn a_confirmation_that_keeps_failing_ends_with_the_trials_and_claims_nothing() {
    let config = Config { repeat_lossy: 0, max_trials: 12, ..Config::default() };
    let mut device = Simulated::fixed(1e6).stalling(0.9, 50_000_000).seeded(3);
    let outcome = run(&config, &mut device);
    let repeated = outcome.trials.iter().filter(|t| t.purpose == "stall-repetition").count();
    assert!(outcome.trials.len() - repeated <= 12 && repeated <= 12, "{repeated}");
    assert!(!outcome.validity.valid, "{}", outcome.answer);
}

#[test]
fn rare_stalls_that_only_long_trials_meet_lower_the_result_in_few_confirmations() {
    // Every long trial stalls for 2 ms: the ring takes up 4096 frames of it, so that 2.048 Mpps and
    // less pass although short trials pass up to 5 Mpps.
    struct LongTrialsStall(Simulated, Simulated);
    impl Measurer for LongTrialsStall {
        fn measure(
            &mut self,
            load: Load,
            duration: Duration,
            watch: &mut dyn measure::Watch,
        ) -> Result<Trial, MeasureError> {
            let device = if duration.as_secs() >= 5 { &mut self.1 } else { &mut self.0 };
            device.measure(load, duration, watch)
        }
    }
    let quiet = Simulated::fixed(5e6);
    let mut device = LongTrialsStall(quiet.clone(), quiet.stalling(1.0, 2_000_000));
    let outcome = Config::default().run(&mut device, &mut Unobserved).expect("simulated");
    assert!((0.85..=1.0).contains(&(found(&outcome) / 2.048e6)), "{}", found(&outcome));
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    let time = |stalled: bool| -> u64 {
        let of = outcome.trials.iter().filter(|t| (t.purpose == "stall-repetition") == stalled);
        of.map(|trial| trial.intended_ns).sum()
    };
    let spent = [time(false), time(true)].map(|ns| ns / 1_000_000_000);
    assert!(spent.iter().all(|seconds| *seconds <= 120), "{spent:?} s");
}

#[test]
fn figures_state_interface_aggregate_layers_and_latency() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6));
    let load = found(&outcome);
    let value = |name: &str| outcome.figure(name).expect("stated").value;
    assert_eq!(value("throughput_aggregate"), 2.0 * load);
    assert!((value("throughput_aggregate_l2") - 2.0 * load * 512.0).abs() < 1.0);
    assert!((value("throughput_aggregate_l1") - 2.0 * load * 672.0).abs() < 1.0);
    assert_eq!(outcome.parts("latency_p99_9").count(), 2);
    let percentiles: Vec<f64> = ["latency_min", "latency_p50", "latency_p99", "latency_max"]
        .iter()
        .map(|name| outcome.parts(name).next().expect("uplink").value)
        .collect();
    assert!(percentiles.is_sorted() && percentiles[0] < percentiles[3], "{percentiles:?}");
    assert!((1_000.0..1e6).contains(&percentiles[1]), "{percentiles:?}");
}

#[test]
fn claims_name_every_deviation() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6));
    let rfc = &outcome.claims[0];
    assert_eq!((rfc.clause.as_str(), rfc.level), ("rfc2544.26.1", ClaimLevel::Partial));
    for part in ["5.00 s instead of 60 s", "repeated up to 2 times", "section 23"] {
        assert!(rfc.reason.contains(part), "{part} is missing in {}", rfc.reason);
    }
    assert_eq!(outcome.claims[1].clause, "tst009.12.3.3");
}

#[test]
fn the_same_seed_gives_the_same_record() {
    let record =
        |seed| run(&Config::default(), &mut Simulated::fixed(1e6).noisy(0.05).seeded(seed));
    assert_eq!(record(5), record(5));
}

/// Parses a configuration as in a scenario.
fn read(keys: serde_json::Value) -> Config {
    let config: Config = serde_json::from_value(keys).expect("known keys");
    keys::check("", &config).expect("valid values");
    config
}

fn level(outcome: &Outcome, clause: &str) -> (ClaimLevel, String) {
    let claim = outcome.claims.iter().find(|claim| claim.clause == clause).expect(clause);
    (claim.level, claim.reason.clone())
}

#[test]
fn tst009_claims_its_clause_in_full_with_its_durations() {
    let config = read(json!({"search": "tst009", "final-duration": 60, "max-search-time": 3600,
        "repeat-lossy": 0}));
    let outcome = run(&config, &mut Simulated::fixed(1e6));
    assert_eq!(level(&outcome, "tst009.12.3.2"), (ClaimLevel::Full, String::new()));
    assert_eq!(level(&outcome, "rfc2544.26.1").0, ClaimLevel::Partial);
    assert!(outcome.trials[1..].iter().all(|t| t.intended_ns == 60_000_000_000));

    let verified = Config { repeat_lossy: 2, ..config.clone() };
    let (partial, why) = level(&run(&verified, &mut Simulated::fixed(1e6)), "tst009.12.3.3");
    assert_eq!(partial, ClaimLevel::Partial);
    assert!(why.contains("max(z) is 2 % of the frames"), "{why}");
    let frames = read(json!({"search": "tst009", "final-duration": 60, "max-search-time": 3600,
        "repeat-lossy-up-to": "5000 frames"}));
    let outcome = run(&frames, &mut Simulated::fixed(1e6));
    assert_eq!(level(&outcome, "tst009.12.3.3").0, ClaimLevel::Full);

    let brief = Config { final_duration: Seconds(10.0), ..config };
    let (partial, why) = level(&run(&brief, &mut Simulated::fixed(1e6)), "tst009.12.3.2");
    assert_eq!(partial, ClaimLevel::Partial);
    assert!(why.contains("10.0 s instead of 60 s"), "{why}");
}

#[test]
fn ndr_and_pdr_are_found_in_one_search_and_recorded_with_all_attributes() {
    let config = read(json!({"search": "mlrsearch", "goals": "ndr-pdr"}));
    let outcome = run(&config, &mut Simulated::fixed(1e6));
    let [ndr, pdr] = outcome.goals.as_slice() else { panic!("{:?}", outcome.goals) };
    assert_eq!((ndr.name.as_str(), pdr.name.as_str()), ("ndr", "pdr"));
    assert!(ndr.bounds.regular && pdr.bounds.regular);
    assert_eq!(outcome.bounds, Some(ndr.bounds), "the first goal is the headline");
    let conditional = pdr.conditional_pps.expect("regular");
    assert!((conditional / 1e6 - 1.0).abs() < 1e-3, "forwarded of what was offered: {conditional}");
    assert!(pdr.bounds.lower_pps > ndr.bounds.lower_pps);
    assert_eq!(
        pdr.configuration,
        json!({"name": "pdr", "loss-ratio": 0.005, "conditions": [], "unsent-is-loss": false,
            "final-trial-duration": 1.0, "duration-sum": 21.0, "exceed-ratio": 0.5, "width": 0.005,
            "initial-trial-duration": 1.0})
    );
    assert!(ndr.ended.starts_with("the bounds were within the width after "), "{}", ndr.ended);
    assert!(ndr.ended.contains("11 of 11 trials passed at 999 kpps"), "{}", ndr.ended);
    assert_eq!(level(&outcome, "draft-ietf-bmwg-mlrsearch-15").0, ClaimLevel::Full);
    assert_eq!(level(&outcome, "rfc2544.26.1").0, ClaimLevel::Partial);
    assert!(outcome.answer.ends_with(" For pdr 1.00 Mpps."), "{}", outcome.answer);
    let of_goals: Vec<f64> = outcome.parts("goal_throughput").map(|f| f.value).collect();
    assert_eq!(of_goals.len(), 2);
    assert_eq!(of_goals[0], found(&outcome));
}

#[test]
fn mlrsearch_with_the_goal_of_rfc_2544_finds_what_a_single_long_trial_shows() {
    let goal = json!({"final-trial-duration": 60, "duration-sum": 60, "exceed-ratio": 0,
        "loss-ratio": 0, "width": "2 %"});
    let config = read(json!({"search": "mlrsearch", "goals": [goal], "preceding-targets": 0,
        "max-search-time": 7200}));
    let outcome = run(&config, &mut Simulated::fixed(1e6));
    let searched = &outcome.trials[1..];
    let mut loads: Vec<f64> = searched.iter().filter_map(TrialRecord::load_pps).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    assert_eq!(loads.len(), searched.len(), "one trial a load");
    let goal = &outcome.goals[0];
    assert_eq!(goal.conditional_pps, goal.bounds.lower_pps, "both are the throughput");
    let plain = run(
        &Config { final_duration: Seconds(60.0), ..Config::default() },
        &mut Simulated::fixed(1e6),
    );
    assert!((found(&outcome) / found(&plain) - 1.0).abs() < 0.02);
    let (partial, why) = level(&outcome, "rfc2544.26.1");
    assert_eq!(
        (partial, why.as_str()),
        (ClaimLevel::Partial, "the waiting times of section 23 not kept")
    );
}

#[test]
fn mlrsearch_with_the_goal_of_tst009_tries_a_load_twice_at_most() {
    let goal = json!({"final-trial-duration": 60, "duration-sum": 120, "exceed-ratio": 0.5,
        "loss-ratio": 0, "width": "2 %"});
    let config = read(json!({"search": "mlrsearch", "goals": [goal], "preceding-targets": 0,
        "max-search-time": 7200}));
    let outcome = run(&config, &mut Simulated::fixed(1e6).noisy(0.03).seeded(4));
    // The initial trial at the highest load need not decide it.
    for trial in &outcome.trials[2..] {
        let same: Vec<_> = outcome.trials[2..].iter().filter(|t| t.load == trial.load).collect();
        let passed = same.iter().filter(|t| t.loss_fraction == 0.0).count();
        match same.as_slice() {
            [only] => assert_eq!(only.loss_fraction, 0.0, "a trial with loss is repeated"),
            [first, _] => assert!(first.loss_fraction > 0.0 && passed <= 1, "{same:?}"),
            more => panic!("{} trials at a load", more.len()),
        }
    }
    assert!(outcome.bounds.is_some_and(|b| b.regular));
}

#[test]
fn several_goals_are_searched_one_by_one_without_mlrsearch() {
    let config = read(json!({"goals": [0, "0.5 %", "loss <= 0 and p99.9 <= 100 us"]}));
    let outcome = run(&config, &mut Simulated::fixed(1e6));
    let names: Vec<&str> = outcome.goals.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["loss <= 0", "loss <= 0.5 %", "loss <= 0 and p99.9 <= 100 \u{b5}s"]);
    let lower: Vec<f64> = outcome.goals.iter().filter_map(|g| g.bounds.lower_pps).collect();
    assert!((0.98e6..=1e6).contains(&lower[0]), "{lower:?}");
    assert!((0.98e6..=1.006e6).contains(&lower[1]), "{lower:?}");
    assert!((0.82e6..=0.8465e6).contains(&lower[2]), "{lower:?}");
    assert!(outcome.goals[2].ended.contains("failed at"), "{}", outcome.goals[2].ended);
    assert!(outcome.goals[2].ended.contains("p99.9 "), "{}", outcome.goals[2].ended);
    assert!(outcome.claims.iter().all(|c| c.level != ClaimLevel::Full));
}

#[test]
fn a_condition_that_no_trial_can_show_fails_and_says_why() {
    let config = read(json!({"goals": ["updates >= 99 %"], "repeat-lossy": 0}));
    let outcome = run(&config, &mut Simulated::fixed(1e6));
    assert!(!outcome.validity.valid);
    assert!(outcome.goals[0].ended.contains("none was requested"), "{}", outcome.goals[0].ended);
    let config = read(json!({"goals": ["policer-error <= 1 %"]}));
    let refused = config.run(&mut Simulated::fixed(1e6), &mut Unobserved);
    assert!(refused.is_err_and(|e| e.to_string().contains("by subscriber")), "it cannot watch");
}

#[test]
fn stalls_are_repeated_kept_and_named_in_the_claims() {
    let config = Config { repeat_lossy: 0, ..Config::default() };
    let mut device = Simulated::fixed(2e6).stalling(0.33, 9_000_000).seeded(5);
    let outcome = run(&config, &mut device);
    let repeated = outcome.trials.iter().filter(|t| t.purpose == "stall-repetition").count();
    let told = format!("{repeated} of {} trials are repetitions", outcome.trials.len());
    assert!(outcome.validity.limits.iter().any(|l| l.what.starts_with(&told)), "{told}");
    assert!(repeated > 0 && (1.96e6..=2e6).contains(&found(&outcome)), "{}", found(&outcome));
    let (_, why) = level(&outcome, "rfc2544.26.1");
    assert!(why.contains(&format!("{repeated} trials repeated because a stall")), "{why}");

    let config = read(json!({"search": "mlrsearch"}));
    let outcome = run(&config, &mut device);
    let (partial, why) = level(&outcome, "draft-ietf-bmwg-mlrsearch-15");
    assert_eq!(partial, ClaimLevel::Partial);
    assert!(why.contains("excluded from the classification"), "{why}");
}

#[test]
fn a_pass_after_lossy_trials_is_called_so() {
    let answer = |keys, device: Simulated| run(&read(keys), &mut device.seeded(7)).answer;
    let fixed = || Simulated::fixed(1e6);
    let plain = answer(json!({"repeat-lossy": 0}), fixed());
    assert!(plain.contains("in all, without loss; latency"), "{plain}");
    let default = answer(json!({}), fixed());
    assert!(default.contains("without loss in the best of up to 3 trials at a load;"), "{default}");
    let worst = answer(json!({"worst-of": 3}), fixed());
    assert!(worst.contains("without loss in each of 3 trials at a load"), "{worst}");
    // With 5 % of noise the best of three passes where single trials do not.
    let best = answer(json!({"best-of": 3}), fixed().noisy(0.05));
    assert!(best.contains("at this one did not pass)"), "{best}");
}

#[test]
fn a_result_near_what_the_tester_does_alone_is_at_least_that() {
    let mut device = Simulated::fixed(1.97e6).tester_limited(2e6);
    let outcome = run(&Config::default(), &mut device);
    assert!(outcome.baseline.is_some_and(|b| (1.9e6..=2e6).contains(&b.tester_pps)));
    let words = outcome.figure("throughput").expect("found").words();
    assert!(words.starts_with("≥ 1.9"), "{words}");
    let limit = outcome.validity.limits.iter().find(|l| l.kind == LimitKind::Baseline);
    let told = |l: &Limit| !l.invalidates && l.advice.contains("alone it sends ");
    assert!(limit.is_some_and(told), "{limit:?}");
    assert!(outcome.answer.starts_with("It forwards at least "), "{}", outcome.answer);
    let without = Config { tester_alone: Seconds(0.0), ..Config::default() };
    assert_eq!(run(&without, &mut device).baseline, None);
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).tester_limited(2e6));
    assert!(outcome.baseline.is_some() && outcome.validity.limits.is_empty());
}

#[test]
fn mlrsearch_that_the_tester_limits_is_irregular_and_claims_nothing() {
    let config = read(json!({"search": "mlrsearch"}));
    let outcome = run(&config, &mut Simulated::fixed(10e6).tester_limited(2e6));
    assert!(outcome.bounds.is_some_and(|b| !b.regular));
    assert!(found(&outcome) <= 2e6, "{}", found(&outcome));
    assert!(outcome.answer.starts_with("It forwards at least "), "{}", outcome.answer);
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
    assert!(outcome.goals[0].ended.contains("the tester could not send"), "{:?}", outcome.goals);
}

#[test]
fn a_search_that_runs_out_of_time_is_irregular_and_says_so() {
    let config = read(json!({"search": "mlrsearch", "max-search-time": 25}));
    let outcome = run(&config, &mut Simulated::fixed(1e6).noisy(0.05));
    assert!(outcome.bounds.is_some_and(|b| !b.regular));
    assert!(outcome.goals[0].ended.contains("max-search-time (25 s)"), "{:?}", outcome.goals);
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
    assert!(outcome.validity.limits.iter().any(|l| l.kind == LimitKind::Search));
}

#[test]
fn a_search_that_ends_before_any_load_passed_tries_the_lowest_one_and_says_how_far_it_came() {
    // Few trials in steps from the guess do not come down to the lowest load by themselves.
    let goal = json!({"final-trial-duration": 1, "duration-sum": 1, "exceed-ratio": 0});
    for (keys, lowest) in [
        (json!({"max-trials": 5}), 10e3),
        (json!({"search": "tst009", "max-trials": 8, "repeat-lossy": 0}), 10e3),
        (json!({"search": "tst009", "max-trials": 8, "step-rate": "50 kpps"}), 50e3),
        (json!({"search": "mlrsearch", "max-trials": 6, "goals": [goal]}), 10e3),
        (json!({"search": "mlrsearch", "max-search-time": 22}), 10e3),
    ] {
        let lossy = || Simulated::fixed(1e6).lossy_below(5e6, 0.001);
        let outcome = run(&read(keys.clone()), &mut lossy());
        assert_eq!(outcome.trials.last().and_then(|t| t.load_pps()), Some(lowest), "{keys}");
        assert!(!outcome.validity.valid && outcome.figure("throughput").is_none(), "{keys}");
        let limit = outcome.validity.limits.iter().find(|l| l.kind == LimitKind::Search);
        let said = [&outcome.answer, &limit.expect("it found nothing").what];
        let words = Pps(lowest).to_string();
        assert!(
            said.iter().all(|text| text.contains(&words) && text.contains("trials")),
            "{said:?}"
        );
        assert!(!outcome.answer.contains("20.0 Mpps"), "of other loads it says nothing: {said:?}");

        // A device that takes only that is found with the same few trials.
        let outcome = run(&read(keys.clone()), &mut Simulated::fixed(lowest));
        assert_eq!(outcome.bounds.and_then(|b| b.lower_pps), Some(lowest), "{keys}");
        assert!(outcome.validity.valid, "{keys}: {:?}", outcome.validity);
    }
    let config = read(json!({"search": "mlrsearch", "max-trials": 2}));
    let outcome = run(&config, &mut Simulated::fixed(1e6).lossy_below(5e6, 0.001));
    let words = ["down to 10.0 kpps, the lowest one", "max-trials (2) was reached after 2 trials"];
    assert!(words.iter().all(|words| outcome.answer.contains(words)), "{}", outcome.answer);
}

#[test]
fn a_lower_bound_is_never_above_what_was_sent() {
    for search in ["rfc2544", "tst009", "mlrsearch"] {
        // The tester sends 0.3 % less than a step above its maximum, which is within its tolerance.
        let config = read(json!({"search": search}));
        let outcome = run(&config, &mut Simulated::fixed(10e6).tester_limited(2e6));
        let bounds = outcome.bounds.expect("a search");
        assert_eq!(bounds.lower_pps, Some(2e6), "{search}: {bounds:?}");
        assert_eq!(found(&outcome), 2e6, "{search}");
        let passed = format!("passed at {}", Pps(2e6));
        assert!(outcome.goals[0].ended.contains(&passed), "{}", outcome.goals[0].ended);
    }
}

#[test]
fn goals_are_read_as_they_are_written_and_wrong_ones_are_named() {
    let line = read(json!({"goals": ["0.5 %", "p50 <= 1 ms and loss <= 10 ppm"]}));
    let goals = line.resolved();
    assert_eq!(goals[0].loss_ratio, Ratio(0.005));
    assert!((goals[1].loss_ratio.0 - 1e-5).abs() < 1e-12 && goals[1].conditions.len() == 1);
    let again: Config = serde_json::from_value(to_value(&line)).expect("it reads what it writes");
    assert_eq!(again, line);

    let error = |keys: serde_json::Value| match (ENTRY.read)(keys.clone()) {
        Ok(_) => panic!("accepted {keys}"),
        Err(error) => error,
    };
    for (keys, key, part) in [
        (json!({"goals": "ndr"}), "goals", "write `ndr-pdr`"),
        (json!({"goals": ["jitter <= 1"]}), "goals[0]", "`jitter` is not a known quantity"),
        (json!({"goals": [{"los-ratio": 0}]}), "goals[0].los-ratio", "`loss-ratio`"),
        (json!({"goals": [{"width": "1 %"}]}), "goals[0].width", "only `search: mlrsearch`"),
        (json!({"goals": [0, 0.0]}), "goals[1].name", "`loss <= 0` is also the name of another"),
        (json!({"goals": [1]}), "goals[0].loss-ratio", "below 1"),
        (
            json!({"search": "mlrsearch", "goals": [{"duration-sum": "500 ms"}]}),
            "goals[0].duration-sum",
            "not be shorter than final-trial-duration",
        ),
        (
            json!({"search": "mlrsearch", "goals": [{"exceed-ratio": 1}]}),
            "goals[0].exceed-ratio",
            "less than 1",
        ),
        (
            json!({"search": "mlrsearch", "goals": [{"final-trial-duration": 0}]}),
            "goals[0].final-trial-duration",
            "at least 0.000000001",
        ),
        (json!({"goals": vec!["loss <= 0"; 17]}), "goals", "from 0 to 16 entries, not 17"),
        (json!({"search": "mlrsearch", "precision": "1 %"}), "precision", "does not use it"),
        (json!({"preceding-targets": 3}), "preceding-targets", "only `search: mlrsearch`"),
        (json!({"search": "binary"}), "search", "`mlrsearch`"),
        (json!({"search": "tst009", "max-rate": "1.005 Mpps"}), "max-rate", "such as 1.00 Mpps"),
        (json!({"best-of": 2, "worst-of": 2}), "worst-of", "exclude each other"),
        (json!({"repeat-lossy-up-to": "many frames"}), "repeat-lossy-up-to", "`5000 frames`"),
        (json!({"search": "mlrsearch", "max-search-time": 20}), "max-search-time", "duration-sum"),
    ] {
        let error = error(keys);
        let said = format!("{} {}", error.what, error.remedy);
        assert!(error.key == key && said.contains(part), "{key}: {error}");
    }
}
