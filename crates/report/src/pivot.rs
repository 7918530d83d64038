//! Results side by side: for each method one table with a row a cell, and one for the figures that
//! are of parts: stages as rows and cells as columns, or directions. Terminal and page show the
//! same tables.

use measure::record::{Cell, Figure, Outcome, RunRecord, Spread};

use crate::depth::{TOO_FEW, carries};
use crate::names::Names;
use crate::summary::{figure_name, headline, methods};
use crate::words::{distinct, outcomes};

/// A table; its first column names the row, all others are aligned right.
pub(crate) struct Pivot {
    pub(crate) caption: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Pivot {
    /// The table without its last column, which only fits on a page.
    pub(crate) fn without_last(mut self) -> Self {
        self.head.pop();
        for row in &mut self.rows {
            row.pop();
        }
        self
    }
}

/// The tables of a record, by method in the order of measurement.
pub(crate) fn pivots(record: &RunRecord) -> Vec<Pivot> {
    let all: Vec<(&Cell, &Outcome)> = outcomes(record).collect();
    let methods = methods(record);
    let cells = Names::of(record);
    let mut pivots = Vec::new();
    for method in methods {
        let of_method: Vec<_> = all.iter().copied().filter(|(_, o)| o.method == method).collect();
        pivots.push(whole(method, &of_method, &cells));
        pivots.extend(parts(method, &of_method, &cells));
    }
    pivots
}

/// Text that says whether the outcome's figures can be trusted.
pub(crate) fn validity_words(outcome: &Outcome) -> &'static str {
    match (outcome.validity.valid, outcome.validity.limits.is_empty()) {
        (true, false) if outcome.validity.imprecision().is_some() => "valid, imprecise",
        (true, true) => "valid",
        (true, false) => "valid, remarks",
        (false, _) => "NOT VALID",
    }
}

/// The range from minimum to maximum, in percent of the median.
fn spread_words(spread: &Spread) -> String {
    if spread.median <= 0.0 {
        return String::new();
    }
    let percent = |value: f64| (value / spread.median - 1.0) * 100.0;
    format!("{:+.1} .. {:+.1} %", percent(spread.min), percent(spread.max))
}

/// Half the width of the confidence interval of the mean; none for too few repetitions.
fn confidence_words(spread: &Spread) -> Option<String> {
    let [low, high] = spread.confidence_95.filter(|_| spread.mean > 0.0)?;
    Some(format!("± {:.1} %", (high - low) / 2.0 / spread.mean * 100.0))
}

/// The number of repetitions of the outcomes: `3`, or `3 to 5`.
fn repetitions_words(spreads: &[usize]) -> String {
    match (spreads.iter().min(), spreads.iter().max()) {
        (Some(min), Some(max)) if min < max => format!("{min} to {max}"),
        (Some(n), _) => n.to_string(),
        (None, _) => "1".into(),
    }
}

/// Name of the average of repetitions: the median, unless the method uses the mean.
fn middle_words(outcomes: &[(&Cell, &Outcome)]) -> &'static str {
    let is_mean = |(_, outcome): &(&Cell, &Outcome)| {
        let figure = headline(outcome);
        figure
            .and_then(|f| Some((f.value, f.spread?)))
            .is_some_and(|(value, spread)| value == spread.mean && value != spread.median)
    };
    if outcomes.iter().any(is_mean) { "means" } else { "medians" }
}

/// A table of figures of the whole: one row per cell, one column per figure.
fn whole(method: &str, outcomes: &[(&Cell, &Outcome)], cells: &Names) -> Pivot {
    let mut names = names(outcomes, |f| f.of.is_none());
    // The headline leads, whatever its place in the record.
    let lead = outcomes.iter().find_map(|(_, outcome)| headline(outcome)).map(|f| f.name.as_str());
    names.sort_by_key(|name| Some(*name) != lead);
    let spread = |o: &Outcome| headline(o).and_then(|f| f.spread).filter(|s| s.n > 1);
    let spreads = outcomes.iter().any(|(_, o)| spread(o).is_some());
    let sure = outcomes.iter().any(|(_, o)| spread(o).is_some_and(|s| s.confidence_95.is_some()));
    let mut head = vec!["cell".to_string()];
    head.extend(names.iter().map(|name| figure_name(name)));
    head.extend(spreads.then(|| "spread".into()));
    head.extend(sure.then(|| "95 % CI".into()));
    head.push("result".into());
    let row =
        |(cell, outcome): &(&Cell, &Outcome)| {
            let mut row = vec![cells.of_cell(cell)];
            row.extend(names.iter().map(|name| {
                outcome.figure(name).map_or("none".into(), |f| carried_words(outcome, f))
            }));
            let spread = spread(outcome);
            if spreads {
                row.push(spread.as_ref().map_or(String::new(), spread_words));
            }
            if sure {
                row.push(spread.as_ref().and_then(confidence_words).unwrap_or_default());
            }
            row.push(validity_words(outcome).into());
            row
        };
    let counts: Vec<usize> = outcomes.iter().filter_map(|(_, o)| Some(spread(o)?.n)).collect();
    let of = format!("{} of {}", middle_words(outcomes), repetitions_words(&counts));
    let repeated = match (spreads, sure) {
        (false, _) => String::new(),
        (true, false) => format!(", {of}; spread of the first figure"),
        (true, true) => {
            format!(", {of}; spread of the first figure, and 95 % confidence interval of its mean")
        }
    };
    Pivot { caption: format!("{method}{repeated}"), head, rows: outcomes.iter().map(row).collect() }
}

/// Tables of figures of parts, with a row per part: one of each figure by stage, with a column per
/// cell, and one of all others, with a column per figure.
fn parts(method: &str, outcomes: &[(&Cell, &Outcome)], cells: &Names) -> Vec<Pivot> {
    let names = names(outcomes, |f| f.of.is_some());
    let (of_stages, others): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| STAGES.contains(name));
    let parts = |of: &[&str]| {
        let figures = outcomes.iter().flat_map(|(_, outcome)| &outcome.figures);
        let figures = figures.filter(|figure| of.contains(&figure.name.as_str()));
        distinct(figures.filter_map(|figure| figure.of.as_deref()))
    };
    let table = |name: &&str| stages(method, outcomes, cells, name, &parts(&[name]));
    let mut tables: Vec<Pivot> = of_stages.iter().map(table).collect();
    if !others.is_empty() {
        tables.push(directions(method, outcomes, cells, &others, &parts(&others)));
    }
    tables
}

fn stages(
    method: &str,
    outcomes: &[(&Cell, &Outcome)],
    cells: &Names,
    name: &str,
    parts: &[&str],
) -> Pivot {
    let by = cells.only_key().map_or(String::new(), |key| format!(" and {key}"));
    let mut head = vec!["stage".to_string()];
    head.extend(outcomes.iter().map(|(cell, _)| cells.heading(cell)));
    let row = |part: &&str| {
        let mut row = vec![part.to_string()];
        row.extend(outcomes.iter().map(|(_, outcome)| bare(figure_of(outcome, name, part))));
        row
    };
    let is_idle = |part: &&&str| {
        outcomes.iter().all(|(_, o)| figure_of(o, name, part).is_none_or(|f| f.value == 0.0))
    };
    let (idle, busy): (Vec<&&str>, Vec<&&str>) = parts.iter().partition(is_idle);
    let idle: Vec<&str> = idle.into_iter().copied().collect();
    let none = match idle.is_empty() {
        true => String::new(),
        false => format!("; none in {}", idle.join(", ")),
    };
    Pivot {
        caption: format!("{method}: {} by stage{by}{none}", figure_name(name)),
        head,
        rows: busy.into_iter().map(row).collect(),
    }
}

fn directions(
    method: &str,
    outcomes: &[(&Cell, &Outcome)],
    cells: &Names,
    names: &[&str],
    parts: &[&str],
) -> Pivot {
    let mut rows = Vec::new();
    for (cell, outcome) in outcomes {
        for part in parts {
            let mut row = vec![format!("{}, {part}", cells.of_cell(cell))];
            row.extend(names.iter().map(|name| {
                let figure = figure_of(outcome, name, part);
                figure.map_or(String::new(), |f| carried_words(outcome, f))
            }));
            if row.iter().skip(1).any(|text| !text.is_empty()) {
                rows.push(row);
            }
        }
    }
    // What all columns are stands in the caption.
    let is_latency = names.iter().all(|name| name.starts_with(LATENCY));
    let short = |name: &&str| figure_name(name.strip_prefix(LATENCY).unwrap_or(name));
    let head = |name: &&str| if is_latency { short(name) } else { figure_name(name) };
    let is_direction = |part: &&str| {
        let trials = outcomes.iter().flat_map(|(_, o)| &o.trials);
        trials.flat_map(|t| &t.directions).any(|d| d.name == **part)
    };
    let what = match (is_latency, parts.iter().all(is_direction)) {
        (true, true) => ": latency by direction",
        (true, false) => ": latency",
        (false, true) => ", by direction",
        (false, false) => ", in parts",
    };
    Pivot {
        caption: format!("{method}{what}"),
        head: std::iter::once("cell".into()).chain(names.iter().map(head)).collect(),
        rows,
    }
}

/// A figure as text; a percentile that its samples do not carry is none.
pub(crate) fn carried_words(outcome: &Outcome, figure: &Figure) -> String {
    let samples = || {
        let is_of = |direction: &str| {
            figure
                .of
                .as_deref()
                .is_none_or(|of| of == direction || of.ends_with(&format!(", {direction}")))
        };
        let trials = outcome.trials.iter().flat_map(|trial| &trial.directions);
        let of = trials.filter(|direction| is_of(&direction.name));
        of.filter_map(|direction| Some(direction.latency.as_ref()?.samples)).max()
    };
    match quantile(&figure.name).zip(samples()) {
        Some((quantile, samples)) if !carries(quantile, samples) => TOO_FEW.into(),
        // The head of the column says the unit.
        _ if STAGES.contains(&figure.name.as_str()) => bare(Some(figure)),
        _ => figure.words(),
    }
}

/// The quantile in the name of a latency: `latency_p99_9` is 0.999.
fn quantile(name: &str) -> Option<f64> {
    let percent = name.strip_prefix(LATENCY)?.strip_prefix('p')?.replace('_', ".");
    percent.parse::<f64>().ok().map(|percent| percent / 100.0)
}

fn figure_of<'a>(outcome: &'a Outcome, name: &str, part: &str) -> Option<&'a Figure> {
    outcome.figures.iter().find(|f| f.name == name && f.of.as_deref() == Some(part))
}

/// A figure without its unit, which is in the caption.
fn bare(figure: Option<&Figure>) -> String {
    figure.map_or(String::new(), |f| match f.unit.as_str() {
        "ticks" => format!("{:.1}", f.value),
        _ => f.words(),
    })
}

/// Names of the figures that fit into a summary, in order.
fn names<'a>(outcomes: &[(&Cell, &'a Outcome)], wanted: fn(&Figure) -> bool) -> Vec<&'a str> {
    distinct(
        outcomes
            .iter()
            .flat_map(|(_, o)| &o.figures)
            .filter(|f| wanted(f) && !LEFT_OUT.contains(&f.name.as_str()))
            .map(|f| f.name.as_str()),
    )
}

/// Figures by stage, which add up.
const STAGES: &[&str] = &["ticks_cold_per_packet", "ticks_per_packet", "ns_per_packet"];

/// Prefix of the names of all latency figures.
const LATENCY: &str = "latency_";

/// Figures that the summary omits because they repeat others in another unit or are less important;
/// the record and the full table of the page have them.
const LEFT_OUT: &[&str] = &[
    "wall_clock_pps",
    "ns_per_packet",
    "loss_fraction",
    "throughput_aggregate_l1",
    "throughput_l1",
    "throughput_l2",
    "latency_min",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_stands_in_the_name() {
        let is = |name, expected: f64| {
            quantile(name).is_some_and(|found| (found - expected).abs() < 1e-12)
        };
        assert!(is("latency_p99_9", 0.999) && is("latency_p50", 0.5));
        assert_eq!(["latency_max", "latency_mean", "throughput"].map(quantile), [None; 3]);
    }
}
