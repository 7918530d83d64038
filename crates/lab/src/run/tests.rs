//! Runs of a function that forwards everything, or fails as it is told.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use machine::clock::Clock;
use measure::record::{Cell, LimitKind, Outcome, Tool, TrialRecord};
use measure::{Load, MeasureError, Pps, Trial, TrialProgress, Watch};
use methods::{Observer, Step};
use serde_json::json;

use super::cache::Cache;
use super::measuring::crowding;
use super::*;
use crate::fake::FUNCTIONS;

/// An observer that logs all events.
#[derive(Default)]
struct Log(Vec<String>);

impl Watch for Log {
    fn at(&mut self, _: TrialProgress) {}
}

impl Observer for Log {
    fn starting(&mut self, _: &Step) {}

    fn finished(&mut self, trial: &TrialRecord) {
        self.0.push(format!("trial {}", trial.index));
    }
}

impl RunObserver for Log {
    fn planned(&mut self, measurements: usize, from_cache: usize) {
        if from_cache > 0 {
            self.0.push(format!("{from_cache} of {measurements} known"));
        }
    }

    fn measured(&mut self, finished: &Finished<'_>) {
        self.0.push(format!("measured {}/{}", finished.done, finished.measurements));
    }

    fn note(&mut self, what: &str) {
        self.0.push(format!("note {what}"));
    }

    fn cell_starting(&mut self, index: usize, count: usize, cell: &Cell) {
        self.0.push(format!("cell {}/{count} {}", index + 1, cell.id));
    }

    fn phase(&mut self, phase: Phase<'_>) {
        self.0.push(match phase {
            Phase::SettingUp => "set up".to_owned(),
            Phase::Checking => "check".to_owned(),
            Phase::Measuring { method, .. } => method.to_owned(),
        });
    }

    fn cell_finished(&mut self, cell: &Cell) {
        self.0.push(format!("finished {}", cell.id));
    }
}

fn scenario(behaviour: &str) -> Scenario {
    let text = format!(
        "function: {{name: fake, behaviour: {behaviour}}}\n\
         methods: [{{name: capacity, repetitions: 2, duration: 1, warm-up: 0, frames: [hot]}}]\n"
    );
    Scenario::parse("test.yaml", text, FUNCTIONS).expect("the scenario is good")
}

/// The scenario with a seed under which the cells are measured in the order of the file.
fn in_order(mut scenario: Scenario) -> Scenario {
    let is_sorted = |scenario: &Scenario| {
        plan::order(scenario).is_sorted_by_key(|one| (one.repetition, one.cell))
    };
    scenario.plan.seed = (0..1000)
        .find(|seed| {
            scenario.plan.seed = *seed;
            is_sorted(&scenario)
        })
        .expect("one in six is");
    scenario
}

fn host() -> Host {
    let tool = Tool { name: "plumbline".into(), version: "0".into(), commit: "none".into() };
    Host { tool, clock: Clock::with_rate(1e9), stop: Arc::default(), naming: Naming::default() }
}

/// Runs a scenario; returns its record, all records that were to be kept, and the log.
fn run(scenario: &Scenario) -> (RunRecord, Vec<RunRecord>, Vec<String>) {
    run_with(scenario, &Reuse::Nothing)
}

fn run_with(scenario: &Scenario, reuse: &Reuse) -> (RunRecord, Vec<RunRecord>, Vec<String>) {
    let (mut log, mut kept) = (Log::default(), Vec::new());
    let keep = &mut |record: &RunRecord| -> Result<(), std::convert::Infallible> {
        kept.push(record.clone());
        Ok(())
    };
    let Ok(record) = measure(scenario, &host(), reuse, &mut log, keep);
    (record, kept, log.0)
}

#[test]
fn a_good_cell_is_set_up_checked_and_measured_in_this_order() {
    let (record, kept, log) = run(&scenario("[good]"));
    let id = "behaviour=good";
    let expected = ["set up", "check", "capacity", "trial 0", "trial 1"];
    assert_eq!(log[0], format!("cell 1/1 {id}"));
    assert_eq!(log[1..6], expected);
    assert_eq!(log[6..], ["measured 1/1".to_owned(), format!("finished {id}")]);
    assert_eq!(kept[1], record);
    let cell = &record.cells[0];
    assert_eq!((cell.setup_seconds, cell.state_bytes), (Some(0.25), Some(128)));
    assert_eq!(cell.configuration["traffic"]["pkt-size"], 64);
    assert_eq!(cell.configuration["device"]["name"], "embedded");
    assert_eq!(cell.configuration["device"]["layout"], "flat");
    assert_eq!(cell.parameters["function.behaviour"], "good");
    assert_eq!(cell.outcomes[0].trials.len(), 2);
    assert_eq!(record.scenario.hash.len(), "blake3:".len() + 64);
}

#[test]
fn a_device_that_differs_from_the_oracle_is_not_measured() {
    let (record, ..) = run(&scenario("forwards-wrongly"));
    assert_eq!(record.status, Status::CheckFailed);
    assert!(record.cells[0].outcomes.is_empty());
}

#[test]
fn a_result_of_dropping_says_so_and_names_the_main_reason() {
    let (record, ..) = run(&scenario("[drops-most, good]"));
    let [dropping, good] = [0, 1].map(|index| &record.cells[index].outcomes[0]);
    assert!(dropping.answer.contains("dropped 99.9 % of the frames"), "{}", dropping.answer);
    assert!(dropping.answer.ends_with("as `usual`."), "{}", dropping.answer);
    let remark = |outcome: &Outcome| {
        outcome.validity.limits.iter().find(|limit| limit.kind == LimitKind::Drops).cloned()
    };
    assert!(remark(dropping).is_some_and(|limit| !limit.invalidates));
    assert_eq!(remark(good), None);
}

#[test]
fn a_capacity_tells_in_its_answer_what_other_methods_only_remark() {
    let (record, ..) = run(&scenario("[drops-most]"));
    for (method, is_told) in [("capacity", true), ("throughput", false)] {
        let mut outcome = record.cells[0].outcomes[0].clone();
        outcome.method = method.to_owned();
        outcome.answer = "An answer.".to_owned();
        // 2 % are dropped.
        for trial in &mut outcome.trials {
            trial.drops.truncate(1);
            trial.drops.iter_mut().for_each(|drop| drop.packets = 20_000);
            let received = if trial.drops.is_empty() { 0 } else { 980_000 };
            trial.directions.iter_mut().for_each(|one| one.received = 0);
            trial.directions[0].received = received;
        }
        super::drops::tell(&mut outcome);
        let told = "An answer. Note that the device dropped 2 % of the frames of all trials";
        assert_eq!(outcome.answer.starts_with(told), is_told, "{method}: {}", outcome.answer);
    }
}

#[test]
fn a_cell_that_fails_keeps_no_other_from_running() {
    let scenario = scenario("[has-no-memory, breaks-at-second-trial, good]");
    let (record, ..) = run(&scenario);
    assert_eq!(record.status, Status::Failed);
    assert!(record.cells[0].error.as_ref().is_some_and(|error| error.contains("1048576 MiB")));
    assert_eq!(record.cells[0].check, None);
    let broken = &record.cells[1];
    assert!(broken.error.as_ref().is_some_and(|error| error.contains("a worker ended")));
    assert_eq!(broken.outcomes[0].trials.len(), 1, "the finished trial is kept");
    assert!(!broken.outcomes[0].validity.valid);
    assert_eq!((record.cells[2].error.as_ref(), record.cells[2].outcomes.len()), (None, 1));
}

#[test]
fn a_stopped_run_keeps_what_is_finished() {
    let scenario = in_order(scenario("[good, stops-at-second-trial, has-no-memory]"));
    let (record, kept, _) = run(&scenario);
    assert_eq!(record.status, Status::Interrupted);
    assert_eq!(kept[2], record);
    assert_eq!(record.cells.len(), 2, "the third cell never began");
    assert_eq!(record.cells[0].error, None);
    assert_eq!(record.cells[1].outcomes[0].trials.len(), 1);
    assert!(record.cells[1].error.as_ref().is_some_and(|error| error.contains("interrupted")));
}

#[test]
fn a_run_stopped_before_it_began_has_no_cell() {
    let host = host();
    host.stop.store(true, Ordering::Relaxed);
    let record = check(&scenario("good"), &host, &mut Log::default());
    assert_eq!((record.status, record.cells.len()), (Status::Interrupted, 0));
}

#[test]
fn every_version_that_is_kept_is_whole_and_not_called_complete() {
    let (record, kept, _) = run(&in_order(scenario("[good, has-no-memory]")));
    let cells: Vec<usize> = kept.iter().map(|version| version.cells.len()).collect();
    assert_eq!(cells, [0, 1, 2]);
    assert_eq!(kept[0].status, Status::Interrupted);
    assert_eq!(kept[1].status, Status::Interrupted);
    assert_eq!(kept[1].cells[0], record.cells[0]);
    assert_eq!(kept[2], record);
}

#[test]
fn a_record_that_cannot_be_kept_ends_the_run() {
    let mut log = Log::default();
    let scenario = scenario("[good, forwards-wrongly]");
    let keep = &mut |record: &RunRecord| match record.cells.len() {
        0 => Ok(()),
        _ => Err("the disk is full"),
    };
    let scenario = in_order(scenario);
    let lost = measure(&scenario, &host(), &Reuse::Nothing, &mut log, keep).expect_err("it is");
    assert_eq!(lost.error, "the disk is full");
    assert_eq!(lost.record.cells[0].outcomes.len(), 1, "what was measured is handed back");
    assert!(!log.0.iter().any(|line| line.contains("cell 2/2")), "{:?}", log.0);
}

#[test]
fn a_check_measures_nothing() {
    let mut log = Log::default();
    let record = check(&scenario("good"), &host(), &mut log);
    assert_eq!(record.status, Status::Passed);
    assert!(record.cells[0].check.as_ref().is_some_and(|check| check.passed));
    assert_eq!(log.0, ["cell 1/1 base", "set up", "check", "finished base"]);
}

#[test]
fn workers_that_share_a_core_are_told_so() {
    let device = |workers: u64| json!({"workers": workers, "worker-cores": [1]});
    let trial = |load| {
        let trial = Trial::new(load, Duration::from_secs(1), 1e9);
        TrialRecord::new(0, "repetition", &trial, Vec::new())
    };
    let (open, closed) = (trial(Load::PerInterface(Pps(1.0))), trial(Load::ClosedLoop));
    let among = [closed.clone(), open.clone()];
    assert_eq!(crowding(&among, &device(1)), None);
    assert_eq!(crowding(&among, &json!({"worker-cores": [1]})), None);
    let limit = crowding(&among, &device(2)).expect("two on one");
    assert_eq!(limit.what, "in an open loop 2 workers share 1 core(s)");
    assert_eq!(crowding(&[closed.clone(), closed], &device(2)), None, "no tester takes a core");
    assert_eq!(crowding(&[], &device(2)), None);
}

#[test]
fn cores_are_shared_out_without_overlap() {
    let choice = scenario("good").benchmarks.remove(0).devices.remove(0);
    let options = options(&choice, &host());
    assert!(!options.worker_cores.is_empty());
    assert!(options.tester_core.is_none_or(|core| !options.worker_cores.contains(&core)));
}

/// A cache in a temporary folder, with both ways to use it.
fn cache() -> (tempfile::TempDir, Reuse, Reuse) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::open(folder.path(), 1).expect("there is room");
    (folder, Reuse::Missing(cache.clone()), Reuse::Fresh(cache))
}

fn trials(log: &[String]) -> usize {
    log.iter().filter(|line| line.starts_with("trial ")).count()
}

#[test]
fn repetitions_become_one_outcome_with_all_of_them_behind_it() {
    let mut scenario = scenario("[good, drops-most]");
    scenario.plan.repetitions = 3;
    let (record, _, log) = run(&scenario);
    assert_eq!(record.status, Status::Passed);
    assert_eq!((record.plan.measurements, record.plan.repetitions), (6, 3));
    let mut positions = HashSet::new();
    for cell in &record.cells {
        let outcome = &cell.outcomes[0];
        assert_eq!((cell.outcomes.len(), outcome.repetitions.len()), (1, 3));
        assert_eq!(
            outcome.trials.iter().map(|t| t.repetition).collect::<Vec<_>>(),
            [0, 0, 1, 1, 2, 2]
        );
        assert!(!outcome.started.is_empty() && outcome.key.is_empty());
        assert!(outcome.figures.iter().all(|f| f.spread.is_some_and(|spread| spread.n == 3)));
        positions.extend(outcome.repetitions.iter().map(|one| one.position));
    }
    assert_eq!(positions, HashSet::from_iter(0..6));
    let times = |what: &str| log.iter().filter(|line| *line == what).count();
    assert_eq!((times("set up"), times("check")), (6, 2), "a check a cell, a set-up a repetition");
    let ids: Vec<&str> = record.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids, ["behaviour=good", "behaviour=drops-most"], "as in the scenario");
}

#[test]
fn what_was_measured_is_not_measured_again() {
    let (_folder, missing, fresh) = cache();
    let mut small = scenario("[good]");
    small.plan.repetitions = 2;
    let (first, _, log) = run_with(&small, &missing);
    assert_eq!((trials(&log), first.plan.from_cache), (4, 0));
    let key = &first.cells[0].outcomes[0].key;
    assert!(key.starts_with("blake3:"), "{key}");
    // Another scenario with the same cell in it knows it again.
    let mut large = scenario("[drops-most, good]");
    large.plan.repetitions = 2;
    let (second, _, log) = run_with(&large, &missing);
    assert_eq!((log[0].as_str(), trials(&log)), ("2 of 4 known", 4));
    assert_eq!(second.plan.from_cache, 2);
    let [old, new] = [&first.cells[0], &second.cells[1]];
    assert_eq!((&old.check, &old.configuration), (&new.check, &new.configuration));
    let (old, new) = (&old.outcomes[0], &new.outcomes[0]);
    assert_eq!((&old.key, &old.started, &old.trials), (&new.key, &new.started, &new.trials));
    assert!(new.repetitions.iter().all(|one| one.from_cache));
    assert!(second.cells[0].outcomes[0].repetitions.iter().all(|one| !one.from_cache));
    let (third, _, log) = run_with(&large, &fresh);
    assert_eq!((trials(&log), third.plan.from_cache), (8, 0));
    let (last, _, log) = run_with(&large, &missing);
    assert_eq!((trials(&log), last.plan.from_cache), (0, 4));
    assert_eq!(last.cells[0].outcomes[0].started, third.cells[0].outcomes[0].started, "replaced");
}

#[test]
fn a_torn_measurement_is_measured_again_and_told() {
    let (folder, missing, _) = cache();
    run_with(&scenario("[good]"), &missing);
    let files = std::fs::read_dir(folder.path().join(cache::FOLDER)).expect("made");
    let path = files.map(|entry| entry.expect("readable").path()).next().expect("one");
    let text = std::fs::read(&path).expect("written");
    std::fs::write(&path, &text[..text.len() / 2]).expect("writable");
    let (record, _, log) = run_with(&scenario("[good]"), &missing);
    assert!(log[0].starts_with("note ") && log[0].contains("measured again"), "{log:?}");
    assert_eq!((trials(&log), record.plan.from_cache), (2, 0));
    assert_eq!(run_with(&scenario("[good]"), &missing).0.plan.from_cache, 1, "it is whole again");
}

#[test]
fn a_failed_check_withholds_what_earlier_runs_measured() {
    let (_folder, missing, _) = cache();
    let mut scenario = scenario("[fails-its-second-check]");
    run_with(&scenario, &missing);
    scenario.plan.repetitions = 2;
    let (record, ..) = run_with(&scenario, &missing);
    assert_eq!((record.status, record.plan.from_cache), (Status::CheckFailed, 1));
    assert!(record.cells[0].outcomes.is_empty());
}

#[test]
fn compared_values_are_measured_together_or_not_taken_at_all() {
    let (_folder, missing, _) = cache();
    let mut scenario = scenario("[good, drops-most]");
    scenario.plan.repetitions = 3;
    scenario.plan.compare = Some("function.behaviour".into());
    let (record, ..) = run_with(&scenario, &missing);
    let compared: Vec<_> =
        record.comparisons.iter().map(|one| (one.pairs, one.method.as_str())).collect();
    assert!(
        !compared.is_empty() && compared.iter().all(|one| *one == (3, "capacity")),
        "{compared:?}"
    );
    assert_eq!(record.comparisons[0].a, "drops-most");
    for repetition in 0..3 {
        let at = |cell: usize| record.cells[cell].outcomes[0].repetitions[repetition].position;
        assert_eq!(at(0).abs_diff(at(1)), 1, "side by side");
    }
    let (again, ..) = run_with(&scenario, &missing);
    assert_eq!((again.plan.from_cache, &again.comparisons), (6, &record.comparisons));
    // One of a pair is gone, so the other has nothing to stand beside.
    let key = &record.cells[0].outcomes[0].key;
    let Reuse::Missing(cache) = &missing else { panic!("it is") };
    let path = cache.partial(&key::of_repetition(key, 1));
    let path = path.to_str().expect("plain").replace(".partial.jsonl", ".json");
    std::fs::remove_file(path).expect("kept");
    let (third, ..) = run_with(&scenario, &missing);
    assert_eq!(third.plan.from_cache, 4);
}

#[test]
fn the_same_method_twice_has_two_answers() {
    let (_folder, missing, _) = cache();
    let text = "function: {name: fake}\nmethods: [&m {name: capacity, repetitions: 1, frames: [hot], \
                duration: 1, warm-up: 0}, *m]\n";
    let scenario = Scenario::parse("test.yaml", text.into(), FUNCTIONS).expect("good");
    let (record, _, log) = run_with(&scenario, &missing);
    assert_eq!((trials(&log), record.cells[0].outcomes.len()), (2, 2));
    assert_ne!(record.cells[0].outcomes[0].key, record.cells[0].outcomes[1].key);
    assert_eq!(run_with(&scenario, &missing).0.plan.from_cache, 2);
}

#[test]
fn thresholds_decide_the_status_of_a_run_that_is_valid() {
    let mut scenario = scenario("[good]");
    let threshold = |least| crate::scenario::Threshold {
        method: None,
        figure: "wall_clock_pps".into(),
        of: None,
        cells: Default::default(),
        at_least: Some(least),
        at_most: None,
        text: format!(">= {least} pps"),
    };
    scenario.thresholds = vec![threshold(1.0)];
    let (record, ..) = run(&scenario);
    assert_eq!((record.status, record.thresholds[0].met), (Status::Passed, true));
    scenario.thresholds = vec![threshold(1.0), threshold(1e12)];
    let (record, ..) = run(&scenario);
    assert_eq!((record.status, record.thresholds[1].met), (Status::ThresholdMissed, false));
}

/// A method of four trials, of which each run of a stopped device finishes one more.
struct Slow;

impl methods::Method for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn configuration(&self) -> serde_json::Value {
        json!({})
    }

    fn time_bound(&self) -> Duration {
        Duration::from_secs(4)
    }

    fn resumes(&self) -> bool {
        true
    }

    fn run(
        &self,
        measurer: &mut dyn measure::Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        self.resume(&mut std::iter::empty(), measurer, observer)
    }

    fn resume(
        &self,
        finished: &mut dyn Iterator<Item = TrialRecord>,
        measurer: &mut dyn measure::Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        struct Silent;
        impl Watch for Silent {
            fn at(&mut self, _: TrialProgress) {}
        }
        let mut trials: Vec<TrialRecord> = finished.collect();
        for index in trials.len()..4 {
            let load = measure::Load::ClosedLoop;
            let trial = measurer.measure(load, Duration::from_secs(1), &mut Silent)?;
            let record = TrialRecord::new(index, "slow", &trial, Vec::new());
            observer.finished(&record);
            trials.push(record);
        }
        let validity = measure::record::Validity::from_limits(Vec::new());
        Ok(Outcome { method: "slow".into(), trials, validity, ..Outcome::default() })
    }
}

#[test]
fn a_method_that_can_goes_on_where_it_was_stopped() {
    let (folder, missing, _) = cache();
    let mut scenario = scenario("[stops-at-second-trial]");
    scenario.benchmarks[0].methods[0].method = Box::new(Slow);
    for finished in 0..3 {
        let (record, _, log) = run_with(&scenario, &missing);
        assert_eq!(record.status, Status::Interrupted, "{log:?}");
        let told = format!("note {finished} finished trials are reused");
        assert_eq!(log.contains(&told), finished > 0, "{log:?}");
        assert!(log.contains(&format!("trial {finished}")), "{log:?}");
    }
    let (record, _, log) = run_with(&scenario, &missing);
    assert_eq!((record.status, trials(&log)), (Status::Passed, 1));
    let outcome = &record.cells[0].outcomes[0];
    assert_eq!(outcome.trials.iter().map(|t| t.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(outcome.seconds >= 3.0, "the three seconds of before count: {}", outcome.seconds);
    let left = std::fs::read_dir(folder.path().join(cache::FOLDER)).expect("made").count();
    assert_eq!(left, 1, "the measurement, and no trials beside it");
}
