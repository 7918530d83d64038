//! What figures must be for a bench to pass.
//!
//! A quantity is converted to the unit that its figure has in the record, so that whoever compares
//! the two needs no units.

use serde_json::{Map, Value};
use units::{BitsPerSec, Bytes, Nanos, Pps, Ratio, Seconds};

use super::benchmark::Benchmark;
use super::kind;
use super::plan::{in_record, remedy_for_unswept, swept};
use super::{Document, ScenarioError};
use keys::{nearest, remedy_for_unknown};

/// The keys of a threshold.
pub(crate) const KEYS: [&str; 6] = ["figure", "method", "of", "cells", "at-least", "at-most"];

/// Reads `thresholds`.
///
/// # Errors
/// A figure, method or cell that does not exist, or a quantity that does not fit the figure.
pub(super) fn read(
    document: &Document,
    benchmarks: &[Benchmark],
) -> Result<Vec<Threshold>, ScenarioError> {
    let list = match document.root.get("thresholds") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= THRESHOLDS_MAX => list,
        Some(Value::Array(_)) => {
            let what = format!("more than {THRESHOLDS_MAX} thresholds");
            return Err(document.error("thresholds", what, "keep only the important ones"));
        }
        Some(other) => {
            let what = format!("expected a list of thresholds, not {}", kind(other));
            return Err(document.error("thresholds", what, "begin each with `- figure: …`"));
        }
    };
    let each = list
        .iter()
        .enumerate()
        .map(|(at, value)| one(document, &format!("thresholds[{at}]"), value, benchmarks));
    each.collect()
}

fn one(
    document: &Document,
    path: &str,
    value: &Value,
    benchmarks: &[Benchmark],
) -> Result<Threshold, ScenarioError> {
    let Value::Object(keys) = value else {
        let what = format!("expected a mapping of keys to values, not {}", kind(value));
        return Err(document.error(path, what, "write `figure: …` and `at-least: …` below it"));
    };
    if let Some(key) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let remedy = remedy_for_unknown(key, &KEYS);
        return Err(document.error(
            &format!("{path}.{key}"),
            format!("unknown key `{key}`"),
            remedy,
        ));
    }
    let Some(figure) = text(document, path, keys, "figure")? else {
        let remedy = "add for example `figure: throughput`";
        return Err(document.error(path, "a threshold needs a figure", remedy));
    };
    let figures = methods::figures();
    let Some(unit) = figures.iter().find(|known| known.name == figure).map(|known| known.unit)
    else {
        let near = nearest(&figure, figures.iter().map(|known| known.name));
        let remedy = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "docs/scenarios.md lists all figures".to_owned(),
        };
        let what = format!("no method has a figure `{figure}`");
        return Err(document.error(&format!("{path}.figure"), what, remedy));
    };
    let method = method(document, path, keys, benchmarks)?;
    let quantity =
        |key: &str| quantity(document, &format!("{path}.{key}"), keys.get(key), &figure, unit);
    let (at_least, at_most) = (quantity("at-least")?, quantity("at-most")?);
    let text_of = [(">=", &at_least), ("<=", &at_most)]
        .into_iter()
        .filter_map(|(sign, bound)| bound.as_ref().map(|(_, text)| format!("{sign} {text}")))
        .collect::<Vec<_>>()
        .join(", ");
    if text_of.is_empty() {
        let remedy = "add `at-least: 5 Mpps` or `at-most: …`";
        return Err(document.error(path, "neither `at-least` nor `at-most`", remedy));
    }
    if let (Some((low, _)), Some((high, _))) = (&at_least, &at_most)
        && low > high
    {
        let what = "it is below `at-least`, so no value can meet both";
        return Err(document.error(&format!("{path}.at-most"), what, "swap both values"));
    }
    Ok(Threshold {
        method,
        figure,
        of: text(document, path, keys, "of")?,
        cells: cells(document, path, keys, benchmarks)?,
        at_least: at_least.map(|(value, _)| value),
        at_most: at_most.map(|(value, _)| value),
        text: text_of,
    })
}

fn method(
    document: &Document,
    path: &str,
    keys: &Map<String, Value>,
    benchmarks: &[Benchmark],
) -> Result<Option<String>, ScenarioError> {
    let Some(method) = text(document, path, keys, "method")? else { return Ok(None) };
    let used = benchmarks.iter().flat_map(|one| &one.methods).map(|one| one.method.name());
    let mut used: Vec<&str> = used.collect();
    used.sort_unstable();
    used.dedup();
    if used.contains(&method.as_str()) {
        return Ok(Some(method));
    }
    let what = format!("the scenario does not use the method `{method}`");
    let remedy = match nearest(&method, used.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its methods: {}", used.join(", ")),
    };
    Err(document.error(&format!("{path}.method"), what, remedy))
}

/// The cells to which a threshold applies: swept keys, each with one of its values.
fn cells(
    document: &Document,
    path: &str,
    keys: &Map<String, Value>,
    benchmarks: &[Benchmark],
) -> Result<Map<String, Value>, ScenarioError> {
    let place = format!("{path}.cells");
    let wanted = match keys.get("cells") {
        None | Some(Value::Null) => return Ok(Map::new()),
        Some(Value::Object(wanted)) => wanted,
        Some(other) => {
            let what = format!("expected a mapping of swept keys to values, not {}", kind(other));
            return Err(document.error(&place, what, "write for example `{function.user: 1000}`"));
        }
    };
    let known = swept(benchmarks);
    let mut cells = Map::new();
    for (written, value) in wanted {
        let key = in_record(written);
        let place = format!("{place}.{written}");
        if !known.contains(&key.as_str()) {
            let what = format!("`{written}` is not swept, so it selects no cell");
            return Err(document.error(&place, what, remedy_for_unswept(&key, &known)));
        }
        cells.insert(key, value.clone());
    }
    let meant = |cell: &super::sweep::Combination| {
        cells.iter().all(|(key, value)| cell.parameters.get(key) == Some(value))
    };
    if benchmarks.iter().flat_map(|one| &one.cells).any(meant) {
        return Ok(cells);
    }
    let what = "no cell of the scenario has these values";
    Err(document.error(&place, what, "use values of the swept lists"))
}

fn text(
    document: &Document,
    path: &str,
    keys: &Map<String, Value>,
    key: &str,
) -> Result<Option<String>, ScenarioError> {
    match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            let what = format!("expected a text, not {}", kind(other));
            Err(document.error(&format!("{path}.{key}"), what, "write one name"))
        }
    }
}

/// A limit in the unit of its figure, and its text in the file.
fn quantity(
    document: &Document,
    place: &str,
    value: Option<&Value>,
    figure: &str,
    unit: &str,
) -> Result<Option<(f64, String)>, ScenarioError> {
    let remedy =
        format!("`{figure}` is in {unit}: a number has this unit, a text contains its own");
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            let bound = number.as_f64().unwrap_or(f64::NAN);
            if bound.is_finite() {
                return Ok(Some((bound, format!("{number} {unit}"))));
            }
            Err(document.error(place, format!("{number} is not a usable number"), remedy))
        }
        Some(Value::String(text)) => match convert(text, unit) {
            Ok(bound) => Ok(Some((bound, text.clone()))),
            Err(what) => Err(document.error(place, what, remedy)),
        },
        Some(other) => {
            let what = format!("expected a quantity, not {}", kind(other));
            Err(document.error(place, what, remedy))
        }
    }
}

/// A quantity as a number in a unit of the record; errors and slopes may be negative.
fn convert(text: &str, unit: &str) -> Result<f64, String> {
    match text.trim().strip_prefix('-') {
        Some(positive) => unsigned(positive, unit).map(|value| -value),
        None => unsigned(text, unit),
    }
}

fn unsigned(text: &str, unit: &str) -> Result<f64, String> {
    fn parsed<T: std::str::FromStr<Err = units::UnitError>>(
        text: &str,
        number: fn(T) -> f64,
    ) -> Result<f64, String> {
        text.parse::<T>().map(number).map_err(|error| error.to_string())
    }
    match unit {
        "pps" => parsed(text, |rate: Pps| rate.0),
        "bit/s" => parsed(text, |rate: BitsPerSec| rate.0),
        "byte/s" => parsed(text, |rate: BitsPerSec| rate.0 / 8.0),
        "bytes" => parsed(text, |size: Bytes| size.0),
        "ns" => parsed(text, |time: Nanos| time.0),
        "us" | "µs" => parsed(text, |time: Nanos| time.0 * 1e-3),
        "ms" => parsed(text, |time: Nanos| time.0 * 1e-6),
        "s" | "seconds" => parsed(text, |time: Seconds| time.0),
        "fraction" => parsed(text, |ratio: Ratio| ratio.0),
        "percent" if !text.contains(|c: char| c == '%' || c.is_alphabetic()) => {
            parsed(text, |ratio: Ratio| ratio.0)
        }
        "percent" => parsed(text, |ratio: Ratio| ratio.0 * 100.0),
        _ => {
            let number = text.trim().strip_suffix(unit).unwrap_or(text).trim();
            let number = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            number.ok_or_else(|| format!("`{text}` is not a number of {unit}"))
        }
    }
}

const THRESHOLDS_MAX: usize = 1_000;

/// A threshold for a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Name of the method; none for any method that reports the figure.
    pub method: Option<String>,
    /// Name of the figure in the record.
    pub figure: String,
    /// The direction or stage.
    pub of: Option<String>,
    /// The cells to which the threshold applies: swept keys and their required values; empty for
    /// all.
    pub cells: Map<String, Value>,
    /// Smallest permitted value, in the figure's unit.
    pub at_least: Option<f64>,
    /// Largest permitted value, in the figure's unit.
    pub at_most: Option<f64>,
    /// The threshold as in the file: `>= 5 Mpps`.
    pub text: String,
}

impl Threshold {
    /// Whether it is about the cell with these parameters.
    pub fn is_about(&self, parameters: &Map<String, Value>) -> bool {
        self.cells.iter().all(|(key, value)| parameters.get(key) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_become_numbers_in_the_unit_of_the_figure() {
        for (text, unit, expected) in [
            ("5 Mpps", "pps", 5e6),
            ("10 Gbit/s", "bit/s", 1e10),
            ("100 us", "ns", 100_000.0),
            ("100 us", "s", 1e-4),
            ("100 us", "us", 100.0),
            ("0.1 %", "fraction", 0.001),
            ("0.1 %", "percent", 0.1),
            ("10 ppm", "percent", 0.001),
            ("0.5", "percent", 0.5),
            ("1.5 GiB", "bytes", 1_610_612_736.0),
            ("300 ticks", "ticks", 300.0),
            ("300", "frames", 300.0),
            ("-1 %", "percent", -1.0),
            ("- 50 us", "ns", -50_000.0),
        ] {
            let got = convert(text, unit).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!((got - expected).abs() <= expected.abs() * 1e-9, "{text} in {unit}: {got}");
        }
        for (text, unit) in [
            ("5 Mbit/s", "pps"),
            ("5 Mpps", "ns"),
            ("fast", "ticks"),
            ("--5", "ticks"),
            ("1e999", "frames"),
            ("", "percent"),
        ] {
            assert!(convert(text, unit).is_err(), "{text} in {unit}");
        }
    }

    struct Silent;

    impl measure::Watch for Silent {
        fn at(&mut self, _: measure::TrialProgress) {}
    }

    impl methods::Observer for Silent {
        fn starting(&mut self, _: &methods::Step) {}
        fn finished(&mut self, _: &measure::record::TrialRecord) {}
    }

    #[test]
    fn every_figure_of_every_method_is_known_with_its_unit() {
        let host = crate::unit::OpenOptions {
            tester_core: None,
            worker_cores: vec![0],
            clock: machine::clock::Clock::with_rate(1e9),
            stop: std::sync::Arc::default(),
        };
        let known = methods::figures();
        let (mut gave, mut unknown) = (0, Vec::new());
        let of_frames = |entry: &&methods::Entry| entry.subject == measure::Subject::Frames;
        for entry in methods::METHODS.iter().filter(of_frames) {
            let text = format!("function: fake\nmethods: {}\n", entry.name);
            let scenario = super::super::Scenario::parse("a.yaml", text, crate::fake::FUNCTIONS);
            let scenario = scenario.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            let benchmark = &scenario.benchmarks[0];
            let configured = benchmark.configure(&benchmark.cells[0]).expect("it was before");
            let mut device = benchmark
                .unit
                .open(&*configured, &benchmark.devices[0], &host)
                .expect("it needs nothing");
            // The device of this test has no policers and no events; methods of these say so.
            let outcome = benchmark.methods[0].method.run(device.measurer(), &mut Silent);
            for figure in outcome.into_iter().flat_map(|outcome| outcome.figures) {
                let is_it = |known: &methods::KnownFigure| {
                    known.name == figure.name && known.unit == figure.unit
                };
                if !known.iter().any(is_it) {
                    unknown.push(format!("{}: {} in {}", entry.name, figure.name, figure.unit));
                }
                gave += 1;
            }
        }
        assert!(unknown.is_empty(), "no method lists {unknown:#?}");
        assert!(gave > 10, "only {gave} figures");
    }
}
