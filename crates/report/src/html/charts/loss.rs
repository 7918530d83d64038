//! Loss against load: the whole range beside the small losses, which a linear axis hides.

use measure::record::{Cell, Outcome, RunRecord, Series};

use super::curves::{Axis, Curve, Drawing, Look};
use super::series::{Columns, table};
use super::{CHARTS_MAX, Chart, identifier, trimmed};
use crate::names::Names;
use crate::summary::outcomes;

/// One chart for each loss curve.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record)
        .flat_map(|(cell, outcome)| outcome.series.iter().map(move |s| (cell, outcome, s)))
        .filter(|(_, _, series)| series.name == "loss-curve")
        .filter_map(|(cell, outcome, series)| chart(&names, cell, outcome, series))
        .take(CHARTS_MAX)
        .collect()
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome, series: &Series) -> Option<Chart> {
    let columns = Columns(series);
    let (x, label, factor) = match columns.place("load_pps") {
        Some(column) => (column, "load on each interface, Mpps", 1e-6),
        None => (columns.place("load_percent")?, "load, % of the highest", 1.0),
    };
    let loss = columns.pairs(x, columns.place("loss_percent")?);
    let loss: Vec<(f64, f64)> = loss.into_iter().map(|(x, loss)| (x * factor, loss)).collect();
    if loss.is_empty() {
        return None;
    }
    let xs: Vec<f64> = loss.iter().map(|p| p.0).collect();
    let x_axis = || Axis {
        max: Some(super::curves::range(&xs).1 * 1.04),
        ..Axis::linear(label).with_zero()
    };
    let forwarded = columns.place("forwarded_pps").map(|y| columns.pairs(x, y)).unwrap_or_default();
    let linear = if forwarded.is_empty() || factor == 1.0 {
        let lost = Curve::new("lost", Look::Measured, loss.iter().copied());
        Drawing::new(x_axis(), Axis::linear("frames lost, %").with_zero()).half().of(&[lost])
    } else {
        let forwarded = forwarded.into_iter().map(|(x, y)| (x * 1e-6, y * 1e-6));
        let curves = [
            Curve::new("forwarded", Look::Measured, forwarded),
            Curve::new("offered", Look::Law, xs.iter().map(|x| (*x, *x))),
        ];
        Drawing::new(x_axis(), Axis::linear("Mpps").with_zero()).half().of(&curves)
    };
    let (log, more) = small_losses(&columns, (x, factor), x_axis(), &loss);
    Some(Chart::panels(
        &identifier("loss", &[&cell.id, &outcome.method]),
        &format!("Loss against load ({})", names.of_cell(cell)),
        &format!(
            "To the left what was forwarded of what was offered, to the right what was lost, on a \
             logarithmic axis that keeps small losses apart from none{more}."
        ),
        vec![linear, log],
        table(series),
    ))
}

/// The drawing on a logarithmic axis, and what the caption says of it: the median alone, or between
/// the best and the worst of the trials of each load.
fn small_losses(
    columns: &Columns<'_>,
    (x, factor): (usize, f64),
    x_axis: Axis,
    loss: &[(f64, f64)],
) -> ((Vec<kuva::prelude::Plot>, kuva::prelude::Layout), &'static str) {
    let y = Axis { min: Some(FLOOR / 2.0), max: Some(200.0), ..Axis::log("frames lost") };
    let drawing = Drawing {
        at_y: TOLERANCES.map(|percent| (percent, false)).to_vec(),
        ..Drawing::new(x_axis, y.in_words(loss_words)).half()
    };
    let shown = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        points.iter().map(|(x, loss)| (*x, loss.max(FLOOR))).collect()
    };
    let extreme = |name: &str| {
        let points = columns.pairs(x, columns.place(name)?);
        Some(points.into_iter().map(|(x, y)| (x * factor, y)).collect::<Vec<_>>())
    };
    let extremes = extreme("loss_percent_worst").zip(extreme("loss_percent_best"));
    let Some((worst, best)) = extremes else {
        let curves = [Curve::new("lost", Look::Measured, shown(loss))];
        return (drawing.of(&curves), "; dashed lines are 4 and 100 ppm");
    };
    let curves = [
        Curve::new("median", Look::Measured, shown(loss)),
        Curve::new("worst trial", Look::Law, shown(&worst)),
        Curve::new("best trial", Look::Law, shown(&best)),
    ];
    (
        drawing.of(&curves),
        ", with the worst and the best trial of each load; dashed lines are 4 and 100 ppm",
    )
}

fn loss_words(percent: f64) -> String {
    match percent {
        p if p <= FLOOR * 1.5 => "none".into(),
        p if p < 0.0999 => format!("{} ppm", trimmed(p * 1e4)),
        p => format!("{} %", trimmed(p)),
    }
}

/// The tolerances of published reports, in percent: 4 and 100 ppm.
const TOLERANCES: [f64; 2] = [4e-4, 1e-2];

/// Where no loss is drawn, in percent: a tenth of a frame in a million.
const FLOOR: f64 = 1e-5;
