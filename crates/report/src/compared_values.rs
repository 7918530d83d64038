//! The comparisons of a scenario in one table with a verdict above it, for the terminal and the
//! page: a row for each cell and value, whatever their number.

use measure::record::{BENCHMARKS, Cell, Comparison, Figure, RunRecord};

use crate::names::Names;
use crate::pivot::Pivot;
use crate::summary::{figure_name, headline};
use crate::verdicts::{tally, times, verdict};
use crate::words::{distinct, leaf, value_words};

/// The comparisons of a run.
pub(crate) struct Compared {
    /// A sentence for each method: how many are faster, slower, the same, inconclusive.
    pub(crate) verdicts: Vec<String>,
    /// The headline figures.
    pub(crate) headlines: Pivot,
    /// All figures, if there are others.
    pub(crate) all: Option<Pivot>,
}

/// The comparisons of a record; none if its scenario compares nothing.
pub(crate) fn of(record: &RunRecord) -> Option<Compared> {
    let mut all: Vec<&Comparison> = record.comparisons.iter().collect();
    let order: Vec<(&str, &str)> = all.iter().map(|c| (&*c.method, &*c.figure)).collect();
    all.sort_by_key(|c| order.iter().position(|known| *known == (&*c.method, &*c.figure)));
    let is_headline = |one: &&Comparison| {
        let figure = cell(record, one, &one.a).and_then(|cell| headline_of(cell, &one.method));
        figure.is_some_and(|figure| figure.name == one.figure)
    };
    let mut first: Vec<&Comparison> = all.iter().copied().filter(is_headline).collect();
    if first.is_empty() {
        first.clone_from(&all);
    }
    let methods = distinct(first.iter().map(|one| one.method.as_str()));
    let key = leaf(&first.first()?.key);
    let sentence = |method: &&str| {
        let of_method = || first.iter().filter(|one| one.method == **method);
        let figures = distinct(of_method().map(|one| one.figure.as_str()));
        let figures: Vec<String> = figures.into_iter().map(figure_name).collect();
        let comparisons: Vec<Comparison> = of_method().map(|one| (*one).clone()).collect();
        let is_short = of_method().all(|one| one.confidence_95.is_none());
        let why = if is_short { " (too few repetitions to rule out noise, or bounds)" } else { "" };
        format!(
            "{method}, {}, {key} against {}: {}{why}.",
            figures.join(" and "),
            references(&comparisons),
            tally(&comparisons)
        )
    };
    Some(Compared {
        verdicts: methods.iter().map(sentence).collect(),
        headlines: table(record, &first, "Comparison"),
        all: (all.len() > first.len()).then(|| table(record, &all, "All compared figures")),
    })
}

/// The values with which others are compared.
fn references(all: &[Comparison]) -> String {
    let words: Vec<String> = all.iter().map(|one| value_words(&one.b)).collect();
    distinct(words.iter().map(String::as_str)).join(" and ")
}

fn table(record: &RunRecord, all: &[&Comparison], what: &str) -> Pivot {
    let key = all.first().map_or("", |one| leaf(&one.key));
    let methods = distinct(all.iter().map(|one| one.method.as_str()));
    // A method with one figure needs no column for it: the sentence above the table names it.
    let figures = methods.iter().any(|method| {
        let of_method = all.iter().filter(|one| one.method == *method);
        distinct(of_method.map(|one| one.figure.as_str())).len() > 1
    });
    let methods = methods.len() > 1;
    let owned: Vec<Comparison> = all.iter().map(|one| (*one).clone()).collect();
    let reference = references(&owned);
    let places: Vec<Option<String>> = all.iter().map(|one| place(record, one)).collect();
    let has_places = places.iter().any(Option::is_some);
    let row = |(one, place): (&&Comparison, &Option<String>)| {
        let words = |value| {
            figure(record, one, value).map_or_else(|| "none".into(), measure::record::Figure::words)
        };
        let name = value_words(&one.a);
        let mut row = vec![match place {
            Some(place) if has_places => format!("{place}, {name}"),
            _ => name,
        }];
        row.extend(methods.then(|| one.method.clone()));
        row.extend(figures.then(|| figure_name(&one.figure)));
        row.extend([words(&one.b), words(&one.a), times(one), verdict(one).to_owned()]);
        row
    };
    let mut head = vec![if has_places { format!("cell, {key}") } else { key.to_owned() }];
    head.extend(methods.then(|| "method".into()));
    head.extend(figures.then(|| "figure".into()));
    head.extend([reference, "compared".into(), "ratio".into(), "verdict".into()]);
    Pivot {
        caption: format!("{what} by {key}: ratio with its 95 % confidence interval"),
        head,
        rows: all.iter().zip(&places).map(row).collect(),
    }
}

/// The cell of a comparison without the compared key; none if there is only one.
fn place(record: &RunRecord, one: &Comparison) -> Option<String> {
    let found = cell(record, one, &one.a)?;
    let names = Names::of(record);
    if one.key == BENCHMARKS {
        let names = Names::of_cells(&of_benchmark(record, &found.benchmark));
        let is_several = of_benchmark(record, &found.benchmark).len() > 1;
        return is_several.then(|| names.without(found, "")).flatten();
    }
    names.without(found, &one.key)
}

fn of_benchmark<'a>(record: &'a RunRecord, name: &str) -> Vec<&'a Cell> {
    record.cells.iter().filter(|cell| cell.benchmark == name).collect()
}

/// The cell with a value of the compared key.
fn cell<'a>(
    record: &'a RunRecord,
    one: &Comparison,
    value: &serde_json::Value,
) -> Option<&'a Cell> {
    record.cells.iter().find(|cell| {
        if one.key == BENCHMARKS {
            return value.as_str() == Some(&cell.benchmark) && cell.parameters == one.parameters;
        }
        let others = cell.parameters.iter().filter(|(key, _)| **key != one.key);
        let is_same = others.clone().count() == one.parameters.len()
            && others.into_iter().all(|(key, value)| one.parameters.get(key) == Some(value));
        let is_benchmark = one.benchmark.is_empty() || cell.benchmark == one.benchmark;
        is_same && is_benchmark && cell.parameters.get(&one.key) == Some(value)
    })
}

/// The compared figure under a value of the key.
fn figure<'a>(
    record: &'a RunRecord,
    one: &Comparison,
    value: &serde_json::Value,
) -> Option<&'a Figure> {
    let cell = cell(record, one, value)?;
    let of_method = cell.outcomes.iter().filter(|outcome| outcome.method == one.method);
    of_method.filter_map(|outcome| outcome.figure(&one.figure)).next()
}

fn headline_of<'a>(cell: &'a Cell, method: &str) -> Option<&'a Figure> {
    cell.outcomes.iter().find(|outcome| outcome.method == method).and_then(headline)
}
