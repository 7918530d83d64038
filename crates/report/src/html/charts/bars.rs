//! Results side by side as bars with their intervals: compared devices, mixes of sizes, and
//! whatever else cells differ in that is no number.
//!
//! A bar is a length of the page, no drawing, so that names and figures stay as large as text on a
//! telephone and on paper. A bound ends in an arrow; a result that is not valid has no bar.

use maud::{Markup, html};
use measure::record::{Cell, Figure, Outcome, RunRecord};

use super::chart::{Chart, Data, identifier, left_out_words};
use super::curves::number;
use crate::names::Names;
use crate::summary::{figure_name, headline, methods};
use crate::sweeps::{self, Sweep, bar};
use crate::words::{outcomes, sentence_start};

/// One chart for each method whose cells were compared, or have no place on the axis of a number.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    methods(record).into_iter().filter_map(|method| chart(record, method)).collect()
}

fn chart(record: &RunRecord, method: &str) -> Option<Chart> {
    let names = Names::of(record);
    let all: Vec<(&Cell, &Outcome)> =
        outcomes(record).filter(|(_, o)| o.method == method).collect();
    let first = all.iter().find_map(|(_, outcome)| headline(outcome))?;
    let found: Vec<Bar> =
        all.iter().map(|(cell, outcome)| Bar::of(names.of_cell(cell), outcome, first)).collect();
    let is_side_by_side = record.plan.compare.is_some() || !has_axes(record);
    let most = found.iter().filter_map(Bar::end).fold(0.0, f64::max);
    if found.len() < 2 || !is_side_by_side || most <= 0.0 {
        return None;
    }
    let (shown, more) = found.split_at(found.len().min(BARS_MAX));
    let what = figure_name(&first.name);
    let has = |is_so: fn(&Bar) -> bool| shown.iter().any(is_so);
    let mut caption = sentence_start(&format!("{what}, one bar for each cell."));
    if has(|bar| bar.interval.is_some()) {
        caption += " The line over a bar is the 95 % confidence interval of the mean, or minimum \
                    and maximum for fewer than three repetitions.";
    }
    if has(|bar| bar.is_bound) {
        caption += " An arrow is a lower bound: the device may do more.";
    }
    caption += &left_out_words(more.len());
    Some(Chart::drawn(
        &identifier("bars", &[method]),
        &format!("{method}, side by side"),
        &caption,
        drawn(shown, most),
        Data {
            head: ["cell".into(), format!("{what}, {}", first.unit), "from".into(), "to".into()]
                .into(),
            rows: found.iter().map(Bar::row).collect(),
        },
    ))
}

/// Whether every cell has a place on the axis of a swept number, so that curves show it.
fn has_axes(record: &RunRecord) -> bool {
    let sweeps = sweeps::of(&record.cells);
    let is_drawn = |cell: &Cell| sweeps.iter().flat_map(Sweep::cells).any(|one| one.id == cell.id);
    record.cells.iter().all(is_drawn)
}

/// A result as a bar.
struct Bar {
    name: String,
    /// The value as text, or why there is none.
    words: String,
    /// None if the result is not valid or has no such figure.
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    is_bound: bool,
}

impl Bar {
    fn of(name: String, outcome: &Outcome, first: &Figure) -> Self {
        let figure = outcome.figure(&first.name).filter(|f| f.value.is_finite() && f.value >= 0.0);
        let words = match (figure, outcome.validity.valid) {
            (_, false) => "not valid".into(),
            (None, true) => "none".into(),
            (Some(figure), true) => figure.words(),
        };
        let figure = figure.filter(|_| outcome.validity.valid);
        let is_drawn = |[low, high]: &[f64; 2]| low.is_finite() && high.is_finite();
        Self {
            name,
            words,
            value: figure.map(|figure| figure.value),
            interval: figure.and_then(bar).filter(is_drawn),
            is_bound: figure.is_some_and(|figure| figure.bound.is_some()),
        }
    }

    /// How far the bar or its interval reaches.
    fn end(&self) -> Option<f64> {
        let high = self.interval.map_or(0.0, |[_, high]| high);
        self.value.map(|value| value.max(high))
    }

    fn row(&self) -> Vec<String> {
        let sign = if self.is_bound { "≥ " } else { "" };
        let value = self.value.map(|value| format!("{sign}{}", number(value)));
        let [low, high] = self.interval.map_or_else(Default::default, |ends| ends.map(number));
        vec![self.name.clone(), value.unwrap_or_else(|| self.words.clone()), low, high]
    }
}

fn drawn(bars: &[Bar], most: f64) -> Markup {
    let percent = |value: f64| format!("{:.2}%", (value / most * 100.0).clamp(0.0, 100.0));
    html! {
        ul class="bars" {
            @for bar in bars {
                li {
                    span class="name" { (bar.name) }
                    span class="track" aria-hidden="true" {
                        @if let Some(value) = bar.value {
                            span class=(if bar.is_bound { "bar bound" } else { "bar" })
                                style={ "width:" (percent(value)) } {}
                        }
                        @if let Some([low, high]) = bar.interval {
                            span class="interval" style={
                                "left:" (percent(low)) ";width:" (percent(high - low.max(0.0)))
                            } {}
                        }
                    }
                    span class="value" { (bar.words) }
                }
            }
        }
    }
}

/// The most bars of a chart.
const BARS_MAX: usize = 24;
