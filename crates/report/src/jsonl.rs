//! `run.jsonl`: a line of JSON for each run, outcome, figure, goal, point, trial and verdict.
//!
//! Made for pipelines (log shippers, databases, `jq`, data frames): every line is one flat object
//! that can be read without the others. `record` names its kind; `run`, `scenario` and `started`
//! say of which run it is, `cell`, `function`, `device` and `parameter.<swept key>` of which cell,
//! `method` of which outcome. Numbers are in the unit that ends their name or that stands in
//! `unit`. What is not known is left out. Histograms stay in `run.json`.

use measure::record::{
    Cell, DirectionRecord, Figure, LoadRecord, Outcome, RunRecord, Series, SessionsRecord, Spread,
    TrialRecord,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Exporter, ReportError};

/// The registry line.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "jsonl",
    file: "run.jsonl",
    summary: "one flat object a line, for pipelines",
    render,
};

/// The lines.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let mut lines = Lines { text: Vec::new() };
    let run = Flat::default()
        .with("run", record.name())
        .with("scenario", &record.scenario.name)
        .with("started", &record.started);
    lines.add("run", run_facts(record, run.clone()))?;
    for cell in &record.cells {
        let of_cell = cell_facts(cell, run.clone());
        lines.add("cell", cell_result(cell, of_cell.clone()))?;
        for outcome in &cell.outcomes {
            let of_outcome = of_cell.clone().with("method", &outcome.method);
            lines.outcome(outcome, &of_outcome)?;
        }
    }
    for one in &record.comparisons {
        lines.add("comparison", run.clone().all(one))?;
    }
    for one in &record.thresholds {
        lines.add("threshold", run.clone().all(one))?;
    }
    Ok(lines.text)
}

/// The text so far.
struct Lines {
    text: Vec<u8>,
}

impl Lines {
    fn add(&mut self, kind: &str, flat: Flat) -> Result<(), ReportError> {
        let mut object = Map::new();
        object.insert("record".into(), kind.into());
        object.extend(flat.0);
        serde_json::to_writer(&mut self.text, &object)
            .map_err(|e| ReportError::Format { format: "JSON lines", problem: e.to_string() })?;
        self.text.push(b'\n');
        Ok(())
    }

    fn outcome(&mut self, outcome: &Outcome, context: &Flat) -> Result<(), ReportError> {
        self.add("outcome", outcome_facts(outcome, context.clone()))?;
        for one in &outcome.figures {
            let valid = outcome.validity.valid;
            self.add("figure", figure(one, context.clone()).with("valid", valid))?;
        }
        for repetition in &outcome.repetitions {
            let valid = repetition.validity.valid;
            for one in &repetition.figures {
                let of = context.clone().with("repetition", repetition.index);
                let of = of.with("repetition_started", &repetition.started);
                self.add("repetition", figure(one, of).with("valid", valid))?;
            }
        }
        for goal in &outcome.goals {
            let facts = context.clone().with("goal", &goal.name).all(&goal.bounds);
            let facts = facts.with("conditional_pps", goal.conditional_pps);
            self.add("goal", facts.with("ended", &goal.ended))?;
        }
        for series in &outcome.series {
            for row in &series.rows {
                self.add("point", point(series, row, context.clone()))?;
            }
        }
        for one in &outcome.trials {
            self.add("trial", trial(one, context.clone()))?;
        }
        Ok(())
    }
}

/// A flat object under construction.
#[derive(Clone, Default)]
struct Flat(Map<String, Value>);

impl Flat {
    /// Adds a value unless it is null (unknown).
    fn with(mut self, key: &str, value: impl Serialize) -> Self {
        match json!(value) {
            Value::Null => {}
            value => {
                self.0.insert(key.into(), value);
            }
        }
        self
    }

    /// Adds the fields of a structure; a nested map or list is added as JSON text.
    fn all(mut self, fields: &impl Serialize) -> Self {
        if let Value::Object(fields) = json!(fields) {
            for (key, value) in fields {
                self = match value {
                    Value::Object(_) | Value::Array(_) => self.with(&key, value.to_string()),
                    value => self.with(&key, value),
                };
            }
        }
        self
    }
}

fn run_facts(record: &RunRecord, flat: Flat) -> Flat {
    flat.with("schema_version", record.schema_version)
        .with("finished", &record.finished)
        .with("seconds", record.seconds)
        .with("status", record.status)
        .with("message", &record.message)
        .with("tags", record.tags.join(","))
        .with("scenario_file", &record.scenario.file)
        .with("scenario_hash", &record.scenario.hash)
        .with("seed", record.plan.seed)
        .with("tool", &record.tool.name)
        .with("tool_version", &record.tool.version)
        .with("commit", &record.tool.commit)
        .with("hostname", &record.host.hostname)
        .with("kernel", &record.host.kernel)
        .with("cpu_model", &record.host.cpu_model)
        .with("cores", record.host.cores)
        .with("memory_bytes", record.host.memory_bytes)
}

fn cell_facts(cell: &Cell, flat: Flat) -> Flat {
    let mut flat = flat.with("cell", &cell.id).with("function", &cell.function);
    flat = flat.with("device", &cell.device);
    if !cell.benchmark.is_empty() {
        flat = flat.with("benchmark", &cell.benchmark);
    }
    for (key, value) in &cell.parameters {
        flat = flat.with(&format!("parameter.{key}"), value);
    }
    flat
}

fn cell_result(cell: &Cell, flat: Flat) -> Flat {
    let check = cell.check.as_ref();
    flat.with("device_version", &cell.device_version)
        .with("seed", cell.seed)
        .with("state_bytes", cell.state_bytes)
        .with("resident_bytes", cell.resident_bytes)
        .with("sessions_open", cell.sessions_open)
        .with("setup_seconds", cell.setup_seconds)
        .with("check_passed", check.map(|check| check.passed))
        .with("check_frames", check.map(|check| check.frames))
        .with("check_mismatches", check.map(|check| check.mismatch_count))
        .with("check_claim", check.map(|check| check.claim))
        .with("check_skipped", check.map(|check| check.skipped))
        .with("error", cell.trouble())
}

fn outcome_facts(outcome: &Outcome, flat: Flat) -> Flat {
    let limits: Vec<&str> = outcome.validity.limits.iter().map(|l| l.what.as_str()).collect();
    let claims: Vec<String> =
        outcome.claims.iter().map(|c| format!("{}: {}", c.clause, c.level)).collect();
    let flat = match &outcome.bounds {
        Some(bounds) => flat.all(bounds),
        None => flat,
    };
    flat.with("answer", &outcome.answer)
        .with("valid", outcome.validity.valid)
        .with("limits", limits.join("; "))
        .with("claims", claims.join("; "))
        .with("tester_alone_pps", outcome.baseline.as_ref().map(|baseline| baseline.tester_pps))
        .with("trials", outcome.trials.len())
        .with("seconds", outcome.seconds)
}

fn figure(figure: &Figure, flat: Flat) -> Flat {
    let flat = flat.with("figure", &figure.name).with("of", &figure.of);
    let flat = flat.with("value", figure.value).with("unit", &figure.unit);
    match &figure.spread {
        None => flat,
        Some(spread) => spread_facts(spread, flat),
    }
}

fn spread_facts(spread: &Spread, flat: Flat) -> Flat {
    flat.with("min", spread.min)
        .with("median", spread.median)
        .with("max", spread.max)
        .with("mean", spread.mean)
        .with("deviation", spread.deviation)
        .with("n", spread.n)
        .with("confidence_95_low", spread.confidence_95.map(|[low, _]| low))
        .with("confidence_95_high", spread.confidence_95.map(|[_, high]| high))
}

/// A row of a series: `value.<column>` and `unit.<column>`.
fn point(series: &Series, row: &[Option<f64>], flat: Flat) -> Flat {
    let mut flat = flat.with("series", &series.name);
    for (column, value) in series.columns.iter().zip(row) {
        flat = flat.with(&format!("value.{}", column.name), value);
        flat = flat.with(&format!("unit.{}", column.name), &column.unit);
    }
    flat
}

fn trial(trial: &TrialRecord, flat: Flat) -> Flat {
    let kind = match trial.load {
        LoadRecord::ClosedLoop => "closed-loop",
        LoadRecord::PerInterface { .. } => "per-interface",
        LoadRecord::Burst { .. } => "burst",
        LoadRecord::Step { .. } => "step",
        LoadRecord::Sessions { .. } => "sessions",
    };
    let limits: Vec<&str> = trial.limits.iter().map(|limit| limit.what.as_str()).collect();
    let mut flat = flat
        .with("trial", trial.index)
        .with("repetition", trial.repetition)
        .with("purpose", &trial.purpose)
        .with("load", kind)
        .with("load_pps", trial.load_pps())
        .with("intended_ns", trial.intended_ns)
        .with("effective_ns", trial.effective_ns)
        .with("loss_fraction", trial.loss_fraction)
        .with("resident_bytes", trial.resident_bytes)
        .with("tester_ring_full", trial.tester_ring_full)
        .with("packets", trial.workers.iter().map(|w| w.packets).sum::<u64>())
        .with("cpu_ns", trial.workers.iter().map(|w| w.cpu_ns).sum::<u64>())
        .with("wall_ns", trial.workers.iter().map(|w| w.wall_ns).sum::<u64>())
        .with("stalls_total_ns", trial.stalls.iter().map(|s| s.total_ns).sum::<u64>())
        .with("limits", limits.join("; "));
    if let Some(counts) = &trial.sessions {
        flat = sessions(counts, flat);
    }
    for one in &trial.directions {
        flat = direction(one, flat);
    }
    for stage in &trial.stages {
        flat = flat.with(&format!("stage.{}.ticks_per_packet", stage.name), stage.ticks_per_packet);
    }
    for drop in &trial.drops {
        flat = flat.with(&format!("drop.{}", drop.reason), drop.packets);
    }
    for events in &trial.events {
        let key = |what: &str| format!("event.{}.{what}", events.kind);
        let p99 = |times: &Option<measure::record::Distribution>| times.as_ref().map(|t| t.p99_ns);
        flat = flat
            .with(&key("requested"), events.requested)
            .with(&key("acknowledged"), events.acknowledged)
            .with(&key("refused"), events.refused)
            .with(&key("late_frames"), events.late_frames)
            .with(&key("accepted_p99_ns"), p99(&events.accepted))
            .with(&key("visible_p99_ns"), p99(&events.visible))
            .with(&key("blackout_p99_ns"), p99(&events.blackout));
    }
    flat
}

/// Adds the results of sessions.
fn sessions(counts: &SessionsRecord, flat: Flat) -> Flat {
    let answered = counts.answered.as_ref();
    flat.with("sessions_action", counts.action)
        .with("sessions_asked", counts.asked)
        .with("sessions_attempted", counts.attempted)
        .with("sessions_succeeded", counts.succeeded)
        .with("sessions_failed", counts.failed)
        .with("sessions_wrong", counts.wrong)
        .with("sessions_attempted_per_s", counts.attempted_per_s)
        .with("sessions_succeeded_per_s", counts.succeeded_per_s)
        .with("sessions_held", counts.held)
        .with("sessions_answered_p50_ns", answered.map(|times| times.p50_ns))
        .with("sessions_answered_p99_ns", answered.map(|times| times.p99_ns))
        .with("sessions_answered_max_ns", answered.map(|times| times.max_ns))
}

fn direction(direction: &DirectionRecord, flat: Flat) -> Flat {
    let key = |what: &str| format!("{}.{what}", direction.name);
    let flat = flat
        .with(&key("intended"), direction.intended)
        .with(&key("sent"), direction.sent)
        .with(&key("received"), direction.received)
        .with(&key("lost"), direction.lost)
        .with(&key("ring_full"), direction.ring_full)
        .with(&key("duplicated"), direction.duplicated)
        .with(&key("reordered"), direction.reordered)
        .with(&key("misdelivered"), direction.misdelivered)
        .with(&key("sent_bytes"), direction.sent_bytes);
    let Some(latency) = &direction.latency else { return flat };
    flat.with(&key("latency_min_ns"), latency.min_ns)
        .with(&key("latency_mean_ns"), latency.mean_ns)
        .with(&key("latency_p50_ns"), latency.p50_ns)
        .with(&key("latency_p90_ns"), latency.p90_ns)
        .with(&key("latency_p99_ns"), latency.p99_ns)
        .with(&key("latency_p99_9_ns"), latency.p99_9_ns)
        .with(&key("latency_max_ns"), latency.max_ns)
}
