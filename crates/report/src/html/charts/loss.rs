//! Loss against load: the small losses of a broad range, which a linear axis hides, with the best
//! and the worst trial of each load and the usual tolerances; and what was forwarded of what was
//! offered.

use measure::record::{RunRecord, Series};

use super::chart::{CHARTS_MAX, Chart, identifier, trimmed};
use super::curves::{Axis, Curve, Drawing, Look, Point, range};
use super::series::{Columns, table};
use crate::names::Names;
use crate::words::outcomes;

/// Two charts for each loss curve: the loss, and the forwarded rate.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record)
        .flat_map(|(cell, outcome)| outcome.series.iter().map(move |s| (cell, outcome, s)))
        .filter(|(_, _, series)| series.name == "loss-curve")
        .filter_map(|(cell, outcome, series)| {
            let name = names.of_cell(cell);
            let id = |kind: &str| identifier(kind, &[&cell.id, &outcome.method]);
            let seen = Seen::of(series)?;
            Some([Some(lost(&id("loss"), &name, &seen)), forwarded(&id("forwarded"), &name, &seen)])
        })
        .flatten()
        .flatten()
        .take(CHARTS_MAX)
        .collect()
}

/// The drawn values of a loss curve.
struct Seen<'a> {
    series: &'a Series,
    label: &'static str,
    /// Load and loss in percent; the median if there were several trials.
    loss: Vec<(f64, f64)>,
    /// The best and the worst trial, if there were several.
    extremes: Option<[Vec<f64>; 2]>,
    /// Load and rate in Mpps.
    forwarded: Vec<(f64, f64)>,
}

impl<'a> Seen<'a> {
    fn of(series: &'a Series) -> Option<Seen<'a>> {
        let columns = Columns(series);
        let (x, label, factor) = match columns.place("load_pps") {
            Some(column) => (column, "load per port and direction, Mpps", 1e-6),
            None => (columns.place("load_percent")?, "load, % of the maximum", 1.0),
        };
        let scaled = |name: &str, by: f64| {
            let points = columns.pairs(x, columns.place(name)?);
            Some(points.into_iter().map(|(x, y)| (x * factor, y * by)).collect::<Vec<_>>())
        };
        let loss = scaled("loss_percent", 1.0).filter(|loss| !loss.is_empty())?;
        let values = |name: &str| {
            let points = scaled(name, 1.0)?;
            (points.len() == loss.len()).then(|| points.into_iter().map(|p| p.1).collect())
        };
        let extremes = values("loss_percent_best").zip(values("loss_percent_worst"));
        let rates = scaled("forwarded_pps", 1e-6).filter(|_| factor != 1.0);
        Some(Seen {
            series,
            label,
            extremes: extremes.map(|(best, worst)| [best, worst]),
            forwarded: rates.unwrap_or_default(),
            loss,
        })
    }

    fn x_axis(&self) -> Axis {
        let xs: Vec<f64> = self.loss.iter().map(|p| p.0).collect();
        Axis { max: Some(range(&xs).1 * 1.04), ..Axis::linear(self.label).with_zero() }
    }

    /// The range of loads in which trials lose frames and the median stays small.
    fn little(&self) -> Option<[f64; 2]> {
        let worst = |at: usize| self.extremes.as_ref().map_or(self.loss[at].1, |e| e[1][at]);
        let is_small = |at: &usize| worst(*at) > 0.0 && self.loss[*at].1 <= LITTLE;
        let all = || 0..self.loss.len();
        let (first, last) = (all().find(is_small)?, all().rfind(is_small)?);
        (first < last).then(|| [self.loss[first].0, self.loss[last].0])
    }

    /// The axis of loss: from no loss to the largest loss or tolerance.
    fn y_axis(&self) -> Axis {
        let worst = self.extremes.iter().flat_map(|e| e[1].iter().copied());
        let most = worst.chain(self.loss.iter().map(|p| p.1)).fold(LEAST_TOP, f64::max);
        let y = Axis { min: Some(FLOOR / 2.0), max: Some(most * 2.0), ..Axis::log("frames lost") };
        y.in_words(loss_words)
    }
}

/// Draws the loss, on a logarithmic axis that separates small losses from none.
fn lost(id: &str, name: &str, seen: &Seen<'_>) -> Chart {
    let floored = |loss: f64| loss.max(FLOOR);
    let points = seen.loss.iter().map(|(x, loss)| (*x, floored(*loss)));
    let mut curves = vec![Curve::new(
        if seen.extremes.is_some() { "median of the trials" } else { "lost" },
        Look::Measured,
        points,
    )];
    if let Some([best, worst]) = &seen.extremes {
        let ends = best.iter().zip(worst).map(|(best, worst)| [floored(*best), floored(*worst)]);
        let point = |((x, loss), bar): (&(f64, f64), [f64; 2])| Point {
            x: *x,
            y: floored(*loss),
            bar: Some(bar),
            is_bound: false,
        };
        curves.push(Curve {
            name: String::new(),
            points: seen.loss.iter().zip(ends).map(point).collect(),
            look: Look::Band,
            like: Some(0),
        });
    }
    let little = seen.little();
    let y = seen.y_axis();
    let decades = (y.max.unwrap_or(1.0) / FLOOR).log10();
    let drawing = Drawing {
        height: HEIGHT_AROUND + decades * HEIGHT_OF_DECADE,
        band_x: little,
        at_y: TOLERANCES.map(|(percent, name)| (percent, name.to_owned())).to_vec(),
        ..Drawing::new(seen.x_axis(), y)
    };
    let (plots, layout) = drawing.of(&curves);
    let band = match seen.extremes {
        Some(_) => {
            " The band around the median extends from the best to the worst trial of a load."
        }
        None => "",
    };
    let range = little.map_or(String::new(), |[from, to]| {
        format!(
            " In the shaded range from {} to {} ({}) loss is small: a trial loses frames, and the \
             median is at most 0.1 %.",
            trimmed((from * 1000.0).round() / 1000.0),
            trimmed((to * 1000.0).round() / 1000.0),
            seen.label
        )
    });
    Chart::new(
        id,
        &format!("Loss against load ({name})"),
        &format!(
            "Loss at each load, on a logarithmic axis that separates small losses from none; the \
             dashed lines are common tolerances.{band}{range}"
        ),
        plots,
        layout,
        table(seen.series),
    )
}

/// Draws the forwarded rate against the offered rate; none if rates are unknown.
fn forwarded(id: &str, name: &str, seen: &Seen<'_>) -> Option<Chart> {
    if seen.forwarded.is_empty() {
        return None;
    }
    let curves = [
        Curve::new("forwarded", Look::Measured, seen.forwarded.iter().copied()),
        Curve::new("offered", Look::Law, seen.loss.iter().map(|p| (p.0, p.0))),
    ];
    let (plots, layout) = Drawing::new(seen.x_axis(), Axis::linear("Mpps").with_zero()).of(&curves);
    Some(Chart::new(
        id,
        &format!("Forwarded against offered ({name})"),
        "Forwarded rate against offered rate, per port and direction.",
        plots,
        layout,
        table(seen.series),
    ))
}

fn loss_words(percent: f64) -> String {
    match percent {
        p if p <= FLOOR * 1.5 => "0 ppm".into(),
        p if p < 0.0999 => format!("{} ppm", trimmed(p * 1e4)),
        p => format!("{} %", trimmed(p)),
    }
}

/// Loss tolerances of published reports, in percent. The tolerance of zero is drawn at the floor of
/// the axis, which names it.
const TOLERANCES: [(f64, &str); 5] =
    [(FLOOR, "0 ppm"), (4e-4, "4 ppm"), (1e-3, "10 ppm"), (2e-3, "20 ppm"), (1e-2, "100 ppm")];

/// Position of zero loss, in percent: a tenth of a frame in a million.
const FLOOR: f64 = 1e-5;

/// Smallest upper end of the axis, in percent.
const LEAST_TOP: f64 = 0.1;

/// Largest median loss that counts as small, in percent.
const LITTLE: f64 = 0.1;

/// Height of a decade of the axis, so that the labels of tolerances do not overlap.
const HEIGHT_OF_DECADE: f64 = 72.0;
const HEIGHT_AROUND: f64 = 120.0;
