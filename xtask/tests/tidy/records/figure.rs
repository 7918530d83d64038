//! A figure of a cell in words: what a term says, from a record.
//!
//! Terms are `function_pps`, `latency_p50 of uplink`, `loss_percent by forwarding-rate`,
//! `longest_batch least`, `function_pps in RUN` (the same cell there), `ratio function_pps to RUN`
//! (own divided by the other's, of one host), `key traffic.pkt-size`, and words for what cells have
//! besides: `name`, `device`, `state`, `state per user`, `resident`, `setup`, `tester`, `stall` and
//! `valid`.

use measure::figure_words;
use measure::record::{Cell, Figure, Outcome, RunRecord};
use serde_json::Value;

use super::source;

/// What stands where a cell does not have a figure.
pub const NONE: &str = "–";

/// What a term says of a cell.
///
/// # Errors
/// When no cell of the record could have it, so that the term is a mistake.
pub fn words(record: &RunRecord, cell: &Cell, term: &str) -> Result<String, String> {
    let bytes = |n: Option<u64>| n.map_or(NONE.into(), |n| figure_words(n as f64, "bytes"));
    if let Some(path) = term.strip_prefix("key ") {
        return Ok(cell.parameters.get(path).map_or(NONE.into(), value_words));
    }
    if let Some(of) = term.strip_prefix("ratio ") {
        return ratio_words(record, cell, of);
    }
    Ok(match term {
        "name" => name(cell),
        "device" => cell.device.clone(),
        "state" => bytes(cell.state_bytes),
        "state per user" => {
            cell.state_bytes_per_user.map_or(NONE.into(), |bytes| figure_words(bytes, "bytes"))
        }
        "resident" => bytes(cell.resident_bytes),
        "setup" => cell.setup_seconds.map_or(NONE.into(), |s| figure_words(s * 1e9, "ns")),
        "stall" => stall_words(cell),
        _ if term.starts_with("tester") => {
            let outcome = outcome(cell, term.split_once(" by ").map(|(_, method)| method));
            let tester = outcome.and_then(|outcome| outcome.baseline);
            tester.map_or(NONE.into(), |tester| figure_words(tester.tester_pps, "pps"))
        }
        "valid" if cell.outcomes.iter().all(|outcome| outcome.validity.valid) => "valid".into(),
        "valid" => "not valid".into(),
        _ => return figure_of(record, cell, term),
    })
}

/// A term of a figure, taken apart.
struct Term<'a> {
    figure: &'a str,
    of: Option<&'a str>,
    method: Option<&'a str>,
    run: Option<&'a str>,
    least: bool,
}

impl<'a> Term<'a> {
    fn read(term: &'a str) -> Term<'a> {
        let (rest, least) = term.strip_suffix(" least").map_or((term, false), |rest| (rest, true));
        let cut = |text: &'a str, word: &str| match text.split_once(word) {
            Some((before, behind)) => (before, Some(behind)),
            None => (text, None),
        };
        let (rest, run) = cut(rest, " in ");
        let (rest, method) = cut(rest, " by ");
        let (figure, of) = cut(rest, " of ");
        Term { figure, of, method, run, least }
    }

    fn find<'b>(&self, cell: &'b Cell) -> Option<&'b Figure> {
        let mut outcomes =
            cell.outcomes.iter().filter(|o| self.method.is_none_or(|name| o.method == name));
        outcomes.find_map(|outcome| {
            let mut figures = outcome.figures.iter();
            figures.find(|f| f.name == self.figure && f.of.as_deref() == self.of)
        })
    }
}

fn figure_of(record: &RunRecord, cell: &Cell, term: &str) -> Result<String, String> {
    let read = Term::read(term);
    let other = read.run.map(source::run).transpose()?;
    let (of_record, of_cell) = match &other {
        Some(other) => (&**other, other.cells.iter().find(|one| one.id == cell.id)),
        None => (record, Some(cell)),
    };
    match of_cell.and_then(|cell| read.find(cell)) {
        Some(figure) if read.least => {
            let least = figure.spread.map_or(figure.value, |spread| spread.min);
            Ok(figure_words(least, &figure.unit))
        }
        Some(figure) => Ok(with_spread(figure)),
        None if of_record.cells.iter().any(|cell| read.find(cell).is_some()) => Ok(NONE.into()),
        None => Err(format!("no cell of {} has `{term}`", of_record.name())),
    }
}

/// A figure with its extremes, if it was measured several times.
pub fn with_spread(figure: &Figure) -> String {
    match figure.spread.filter(|spread| spread.n > 1) {
        Some(spread) if figure.bound.is_none() => {
            range_words(figure.value, spread.min, spread.max, &figure.unit)
        }
        _ => figure.words(),
    }
}

/// `43.2 (42.4 to 43.5) Mpps`, with a unit for each where they differ.
pub fn range_words(value: f64, min: f64, max: f64, unit: &str) -> String {
    let all = [value, min, max].map(|value| figure_words(value, unit));
    let parts = all.each_ref().map(|words| words.split_once(' '));
    match parts {
        [Some((value, unit)), Some((min, one)), Some((max, other))]
            if unit == one && unit == other =>
        {
            format!("{value} ({min} to {max}) {unit}")
        }
        _ => format!("{} ({} to {})", all[0], all[1], all[2]),
    }
}

/// The quotient of a figure by that of the same cell of another run of the same host.
fn ratio_words(record: &RunRecord, cell: &Cell, term: &str) -> Result<String, String> {
    let (figure, run) = term.split_once(" to ").ok_or("a ratio is `ratio FIGURE to RUN`")?;
    let other = source::run(run)?;
    source::same_host(record, &other)?;
    let term = Term::read(figure);
    let found = other.cells.iter().find(|one| one.id == cell.id).and_then(|one| term.find(one));
    Ok(quotient(term.find(cell), found).map_or(NONE.into(), |ratio| format!("{ratio:.2}")))
}

/// The quotients of a figure over all cells that two runs of one host have: the least and the most.
///
/// # Errors
/// When they are of two hosts, or have no such cell.
pub fn ratios(record: &RunRecord, other: &RunRecord, figure: &str) -> Result<String, String> {
    source::same_host(record, other)?;
    let term = Term::read(figure);
    let mut all: Vec<f64> = Vec::new();
    for cell in &record.cells {
        let same = other.cells.iter().find(|one| one.id == cell.id);
        all.extend(quotient(term.find(cell), same.and_then(|same| term.find(same))));
    }
    all.sort_by(f64::total_cmp);
    match (all.first(), all.last()) {
        (Some(one), Some(_)) if all.len() == 1 => Ok(format!("{one:.2}")),
        (Some(least), Some(most)) => Ok(format!("{least:.2} to {most:.2}")),
        _ => Err(format!("{} and {} share no {figure}", record.name(), other.name())),
    }
}

/// Nothing is divided by a bound, and no bound by anything.
fn quotient(one: Option<&Figure>, other: Option<&Figure>) -> Option<f64> {
    let (one, other) = (one?, other?);
    let is_figure = one.bound.is_none() && other.bound.is_none() && other.value != 0.0;
    is_figure.then(|| one.value / other.value)
}

fn outcome<'a>(cell: &'a Cell, method: Option<&str>) -> Option<&'a Outcome> {
    let mut outcomes = cell.outcomes.iter();
    outcomes.find(|outcome| method.map_or(outcome.baseline.is_some(), |m| outcome.method == m))
}

/// The longest time that a thread of the measurement was without its core.
fn stall_words(cell: &Cell) -> String {
    let trials = cell.outcomes.iter().flat_map(|outcome| &outcome.trials);
    let stalls = trials.flat_map(|trial| &trial.stalls).map(|stalls| stalls.longest_ns);
    stalls.max().map_or(NONE.into(), |longest| figure_words(longest as f64, "ns"))
}

/// The benchmark and the swept keys: `all, 1 worker: user 50`.
fn name(cell: &Cell) -> String {
    let one = |(key, value): (&String, &Value)| {
        let key = key.strip_suffix(".name").unwrap_or(key);
        format!("{} {}", key.rsplit('.').next().unwrap_or(key), value_words(value))
    };
    let swept = cell.parameters.iter().map(one).collect::<Vec<_>>().join(", ");
    let parts = [cell.benchmark.clone(), swept].into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { cell.function.clone() } else { parts.join(": ") }
}

/// A value of a key as people write it.
pub fn value_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => grouped(whole),
            None => number.to_string(),
        },
        Value::Object(keys) => {
            let each = keys.iter().map(|(key, value)| format!("{key} {}", value_words(value)));
            each.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", grouped(number / 1_000), number % 1_000)
}

#[cfg(test)]
mod tests {
    use measure::record::Spread;

    use super::*;

    #[test]
    fn a_figure_bears_its_extremes_and_its_sign() {
        let spread = Spread { min: 42.4e6, median: 43.2e6, max: 43.5e6, n: 5, ..Spread::default() };
        let single = Figure::single("throughput", 43.2e6, "pps");
        let figure = Figure { spread: Some(spread), ..single.clone() };
        assert_eq!(with_spread(&figure), "43.2 (42.4 to 43.5) Mpps");
        assert_eq!(with_spread(&single.clone().at_least(true)), "≥ 43.2 Mpps");
        assert_eq!(quotient(Some(&single.clone().at_least(true)), Some(&figure)), None);
        assert_eq!(range_words(36.4e6, 5.83e6, 36.9e6, "pps"), "36.4 (5.83 to 36.9) Mpps");
        assert_eq!(range_words(1.0e6, 0.9e6, 1.1e6, "ns"), "1.00 ms (900 µs to 1.10 ms)");
    }

    #[test]
    fn terms_name_figure_part_method_and_run() {
        let term =
            Term::read("latency_p50 of 50 % of throughput, uplink by latency in a-run least");
        assert_eq!((term.figure, term.of), ("latency_p50", Some("50 % of throughput, uplink")));
        assert_eq!((term.method, term.run, term.least), (Some("latency"), Some("a-run"), true));
        let record = source::run("cgnat-capacity-20261124T081712Z").expect("the record is there");
        let problem = words(&record, &record.cells[0], "function_bps").expect_err("no such figure");
        assert!(problem.contains("function_bps"), "{problem}");
        let other = "ratio function_pps to cgnat-capacity-20261123T065559Z";
        let problem = words(&record, &record.cells[0], other).expect_err("of another host");
        assert!(problem.contains("two hosts"), "{problem}");
        assert_eq!(grouped(1_002_003), "1,002,003");
    }
}
