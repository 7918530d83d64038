//! The curve as figures, as a series and in words.

use measure::Ratio;
use measure::record::{Column, Figure, Series};

use super::curve::{self, Loss, Point};
use super::{Config, NAME};
use crate::reference::Maximum;

pub(super) fn series(curve: &[Point], maximum: Maximum, repetitions: u32) -> Series {
    let column = |(name, unit): (&str, &str)| Column { name: name.into(), unit: unit.into() };
    let mut columns = vec![
        ("load_percent", "percent"),
        ("load_pps", "pps"),
        ("loss_percent", "percent"),
        ("forwarded_pps", "pps"),
    ];
    let several = repetitions > 1;
    if several {
        columns.extend([("loss_percent_best", "percent"), ("loss_percent_worst", "percent")]);
    }
    let row = |point: &Point| {
        let mut row = vec![
            point.load_pps / maximum.pps * 100.0,
            point.load_pps,
            point.loss * 100.0,
            point.forwarded_pps,
        ];
        if several {
            row.extend([point.best * 100.0, point.worst * 100.0]);
        }
        row.into_iter().map(Some).collect()
    };
    Series {
        name: NAME.into(),
        title: format!("Loss against load; 100 % is {}", maximum.words()),
        columns: columns.into_iter().map(column).collect(),
        rows: curve.iter().map(row).collect(),
    }
}

pub(super) fn figures(config: &Config, curve: &[Point], maximum: Maximum) -> Vec<Figure> {
    let mut figures = Vec::new();
    let lossless = curve::lossless(curve);
    figures.extend(lossless.map(|p| Figure::single("lossless_rate", p.load_pps, "pps")));
    if let Some(top) = curve.last() {
        figures.push(Figure::single("loss_percent", top.loss * 100.0, "percent"));
        figures.push(Figure::single("loss_fraction", top.loss, "fraction"));
        figures.push(Figure::single("forwarding_rate", top.forwarded_pps, "pps"));
    }
    let most = curve.iter().map(|point| point.forwarded_pps).max_by(f64::total_cmp);
    figures.extend(most.map(|pps| Figure::single("forwarding_rate_max", pps, "pps")));
    figures.push(Figure::single("maximum_rate", maximum.pps, "pps"));
    let inverted = curve::inversions(curve).iter().filter(|point| point.worst > 0.0).count();
    figures.push(Figure::single("loss_inversions", inverted as f64, "loads"));
    figures.extend(tolerated(config, curve));
    if let Some([low, high]) = curve::lossy_range(curve) {
        let wide = (high - low) / maximum.pps * 100.0;
        figures.push(Figure::single("little_loss_from", low, "pps"));
        figures.push(Figure::single("little_loss_to", high, "pps"));
        figures.push(Figure::single("little_loss_range_percent", wide, "percent"));
    }
    figures
}

/// The rate at each tolerance: by the median, and by the best and the worst of the trials.
fn tolerated(config: &Config, curve: &[Point]) -> Vec<Figure> {
    let kinds: &[(&str, Loss)] = &[
        ("tolerated_rate", |point| point.loss),
        ("tolerated_rate_best", |point| point.best),
        ("tolerated_rate_worst", |point| point.worst),
    ];
    let kinds = if config.repetitions > 1 { kinds } else { &kinds[..1] };
    let of = |tolerance: &Ratio| {
        let part = format!("loss <= {tolerance}");
        let tolerance = tolerance.0;
        kinds.iter().filter_map(move |(name, loss)| {
            let point = curve::tolerated(curve, *loss, tolerance)?;
            Some(Figure::single(name, point.load_pps, "pps").of(&part))
        })
    };
    config.loss_tolerances.iter().flat_map(of).collect()
}

pub(super) fn answer(curve: &[Point], maximum: Maximum) -> String {
    let percent = |pps: f64| Ratio(pps / maximum.pps);
    let Some(top) = curve.last() else { return "No load was tried.".to_owned() };
    let most = maximum.words();
    let inversions = curve::inversions(curve);
    if top.worst == 0.0 && inversions.is_empty() {
        return format!("No frame is lost at any load up to 100 % of {most}.");
    }
    let below = match curve::lossless(curve) {
        Some(point) => format!("Up to {} of {most}, no frame is lost", percent(point.load_pps)),
        None => format!("Frames are lost even at {} of {most}", percent(curve[0].load_pps)),
    };
    let inverted = match inversions {
        [] => String::new(),
        [first, ..] => format!(
            ". Loss also occurs below the capacity: at {} {} is lost, and none at a higher load",
            percent(first.load_pps),
            Ratio(first.worst)
        ),
    };
    let little = match curve::lossy_range(curve) {
        Some([low, high]) if high > low => format!(
            ". From {} to {} loss is small (at most {})",
            percent(low),
            percent(high),
            Ratio(curve::LITTLE)
        ),
        _ => String::new(),
    };
    let spread = match top.best < top.worst {
        true => format!(" ({} to {})", Ratio(top.best), Ratio(top.worst)),
        false => String::new(),
    };
    format!(
        "{below}; at {} it is {}{spread}{inverted}{little}.",
        percent(top.load_pps),
        Ratio(top.loss)
    )
}
