//! Runs of a function that forwards everything, or fails as it is told.

use super::*;
use crate::fake::FUNCTIONS;

/// Remembers what it was told.
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
         methods: [{{name: capacity, repetitions: 2, duration: 1, warm-up: 0}}]\n"
    );
    Scenario::parse("test.yaml", text, FUNCTIONS).expect("the scenario is good")
}

fn host() -> Host {
    let tool = Tool { name: "plumbline".into(), version: "0".into(), commit: "none".into() };
    Host { tool, clock: Clock::with_rate(1e9), stop: Arc::default() }
}

/// The record of a run, all its versions that were to be kept, and the log.
fn run(scenario: &Scenario) -> (RunRecord, Vec<RunRecord>, Vec<String>) {
    let (mut log, mut kept) = (Log::default(), Vec::new());
    let keep = &mut |record: &RunRecord| -> Result<(), std::convert::Infallible> {
        kept.push(record.clone());
        Ok(())
    };
    let Ok(record) = measure(scenario, &host(), &mut log, keep);
    (record, kept, log.0)
}

#[test]
fn a_good_cell_is_set_up_checked_and_measured_in_this_order() {
    let (record, kept, log) = run(&scenario("[good]"));
    let id = "behaviour=good";
    let expected = ["set up", "check", "capacity", "trial 0", "trial 1"];
    assert_eq!(log[0], format!("cell 1/1 {id}"));
    assert_eq!(log[1..6], expected);
    assert_eq!(log[6], format!("finished {id}"));
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
    let scenario = scenario("[good, stops-at-second-trial, has-no-memory]");
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
    let (record, kept, _) = run(&scenario("[good, has-no-memory]"));
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
    assert_eq!(measure(&scenario, &host(), &mut log, keep), Err("the disk is full"));
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
    assert_eq!(crowding(&device(1)), None);
    assert_eq!(crowding(&json!({"worker-cores": [1]})), None);
    let limit = crowding(&device(2)).expect("two on one");
    assert_eq!(limit.what, "in an open loop 2 workers take turns on 1 core(s)");
}

#[test]
fn cores_are_shared_out_without_overlap() {
    let choice = scenario("good").benchmarks.remove(0).device;
    let options = options(&choice, &host());
    assert!(!options.worker_cores.is_empty());
    assert!(options.tester_core.is_none_or(|core| !options.worker_cores.contains(&core)));
}
