//! Made records: what becomes a line, a point and a step.

use measure::record::{
    Bound, Cell, Figure, Limit, LimitKind, Outcome, PlanRecord, Scenario, Spread, Status, Tool,
};

use super::*;
use crate::trend_page as page;

/// A run with one result.
fn record(number: usize, value: f64) -> RunRecord {
    let figure = Figure {
        name: "throughput".into(),
        of: None,
        value,
        unit: "pps".into(),
        spread: Some(Spread { min: value * 0.99, max: value * 1.01, n: 3, ..Spread::default() }),
        bound: None,
    };
    let outcome =
        Outcome { method: "throughput".into(), figures: vec![figure], ..Outcome::default() };
    let mut record = RunRecord {
        started: format!("2026-11-{:02}T10:00:00Z", number + 1),
        cells: vec![Cell { outcomes: vec![outcome], ..Cell::default() }],
        schema_version: RunRecord::SCHEMA_VERSION,
        id: String::new(),
        tool: Tool::default(),
        scenario: Scenario::default(),
        finished: String::new(),
        seconds: 1.0,
        tags: Vec::new(),
        host: HostFacts::default(),
        plan: PlanRecord::default(),
        comparisons: Vec::new(),
        thresholds: Vec::new(),
        plots: Vec::new(),
        status: Status::Passed,
        message: String::new(),
    };
    record.cells[0].outcomes[0].validity.valid = true;
    record.scenario.name = "mine".into();
    record.tool.version = "1.0".into();
    record.tool.commit = if number < 6 { "aaaaaaaaaaaaaa" } else { "bbbbbbbbbbbbbb-dirty" }.into();
    record.host.cpu_model = "A CPU".into();
    record.host.cores = 2;
    record.host.tsc.ticks_per_second = 1e9;
    record
}

fn trend(records: &[RunRecord]) -> Trend {
    let mut trend = Trend { scenario: "mine".into(), runs: records.len(), ..Trend::default() };
    let mut hosts = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let tags = if number == 2 { vec!["baseline.main".to_owned(), "x".into()] } else { vec![] };
        trend.add(&mut hosts, &format!("run-{number}"), &tags, record);
    }
    trend.mark();
    trend
}

/// Twelve runs, of which the last six are slower.
fn slower() -> Vec<RunRecord> {
    let value = |number: usize| {
        let level = if number < 6 { 10e6 } else { 8e6 };
        level + 1e4 * ((number * 7) % 5) as f64
    };
    (0..12).map(|number| record(number, value(number))).collect()
}

#[test]
fn a_step_names_the_programs_before_and_behind_it() {
    let trend = trend(&slower());
    let line = &trend.lines[0];
    assert_eq!((trend.lines.len(), line.points.len(), line.steps.len()), (1, 12, 1));
    let step = &line.steps[0];
    assert_eq!(step.at, 6);
    assert_eq!(step.programs, ["1.0 aaaaaaaaaa", "1.0 bbbbbbbbbb-dirty"]);
    assert!(!step.is_other_scenario);
    assert_eq!(line.points[2].baselines, ["main"]);
    let text = table(&trend);
    for part in [
        "mine: 12 runs, 1 step.",
        "A CPU, 2 CPUs",
        "step at run-6: 10.0 Mpps to 8.02 Mpps",
        "from 1.0 aaaaaaaaaa to 1.0 bbbbbbbbbb-dirty",
        "baseline main",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let mut other = slower();
    other[6..].iter_mut().for_each(|record| record.scenario.hash = "blake3:other".into());
    let other = self::trend(&other);
    assert!(other.lines[0].steps[0].is_other_scenario);
}

#[test]
fn another_host_makes_another_line() {
    let mut records = slower();
    records[6..].iter_mut().for_each(|record| record.host.cpu_model = "Another CPU".into());
    let trend = trend(&records);
    let lines: Vec<_> = trend.lines.iter().map(|line| (&*line.host, line.points.len())).collect();
    assert_eq!(lines, [("A CPU, 2 CPUs", 6), ("Another CPU, 2 CPUs", 6)]);
    assert!(trend.lines.iter().all(|line| line.steps.is_empty()), "it is the host that differs");
    let mut twins = slower();
    twins[6..].iter_mut().for_each(|record| record.host.tsc.ticks_per_second = 2e9);
    let trend = self::trend(&twins);
    assert_eq!(trend.lines[1].host, "A CPU, 2 CPUs (host 2)");
}

#[test]
fn neither_a_bound_nor_what_is_not_valid_makes_a_step() {
    let mut records = slower();
    for record in &mut records[6..] {
        record.cells[0].outcomes[0].figures[0].bound = Some(Bound::AtLeast);
    }
    let bounds = trend(&records);
    assert_eq!(bounds.lines[0].steps, []);
    assert!(table(&bounds).contains("≥ 8.0"), "it bears its sign");
    let mut records = slower();
    records[6..].iter_mut().for_each(|record| record.cells[0].outcomes[0].validity.valid = false);
    let invalid = trend(&records);
    assert_eq!((invalid.lines[0].steps.len(), invalid.lines[0].points[7].is_sure()), (0, false));
    assert!(table(&invalid).contains("not valid"));
}

#[test]
fn the_page_draws_hollow_points_and_arrows_and_marks_steps() {
    let mut records = slower();
    let plain = String::from_utf8(page(&trend(&records))).expect("text");
    records[3].cells[0].outcomes[0].validity.valid = false;
    records[9].cells[0].outcomes[0].figures[0].bound = Some(Bound::AtLeast);
    records[4].cells[0].outcomes[0].validity.limits.push(Limit {
        kind: LimitKind::Spread,
        invalidates: false,
        what: "the repetitions differ".into(),
        advice: String::new(),
    });
    let trend = trend(&records);
    let marked = String::from_utf8(page(&trend)).expect("text");
    assert!(plain.contains("Trend of mine") && plain.contains("1 step."));
    assert!(!plain.contains("fill-opacity=\"0\""), "all are filled");
    assert!(marked.contains("fill-opacity=\"0\""), "some are hollow");
    let arrows = |page: &str| page.matches("<polygon").count() + page.matches("<path").count();
    assert!(arrows(&marked) > arrows(&plain), "a bound is an arrowhead");
    assert!(marked.contains("step at run-6") && marked.contains("≥ 8.0"));
}

#[test]
fn what_is_left_out_is_told() {
    let trend = Trend { runs: 230, older: 30, further: 2, ..trend(&slower()) };
    let text = table(&trend);
    assert!(text.contains("the 30 oldest are left out") && text.contains("2 further results"));
}
