//! How a figure grows with workers, with the fit of the universal scalability law where there are
//! enough of them - and the reason where there is no fit.

use measure::record::RunRecord;
use measure::statistics::Usl;

use super::chart::{Chart, identifier, short_count, trimmed};
use super::curves::{Axis, Curve, Drawing, Look, data, range};
use super::swept::{RATES, bar_words};
use crate::sweeps::{self, Sweep, is_workers};

/// One chart for each method that was measured with several numbers of workers.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let sweeps = sweeps::of(&record.cells);
    let counts: Vec<_> = sweeps.iter().filter(|s| is_workers(&s.key)).collect();
    let of_method = |(method, figures): &(&str, &[(&str, &str)])| {
        let charts = counts.iter().filter_map(|sweep| chart(method, figures, sweep));
        charts.collect::<Vec<_>>()
    };
    RATES.iter().flat_map(of_method).collect()
}

fn chart(method: &str, figures: &[(&str, &str)], sweep: &Sweep<'_>) -> Option<Chart> {
    // The first figure alone: the others follow it.
    let measured: Vec<Curve> = figures
        .iter()
        .take(1)
        .flat_map(|(f, name)| sweep.curves(method, f, name, 1e-6))
        .take(CURVES_MAX)
        .collect();
    if measured.is_empty() {
        return None;
    }
    let (curves, laws) = with_laws(&measured);
    let xs: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.x)).collect();
    let x = Axis { min: Some(0.0), max: Some(range(&xs).1 + 0.5), ..Axis::linear("workers") };
    let (plots, layout) = Drawing::new(x, Axis::linear("Mpps").with_zero()).of(&curves);
    let bars = bar_words(&measured);
    Some(Chart::new(
        &identifier("workers", &[method, &sweep.key]),
        &format!("{method} by workers"),
        &format!("Universal scalability law: {}.{bars}", laws.join("; ")),
        plots,
        layout,
        data("workers", "Mpps", &measured),
    ))
}

/// The curves, each followed by its fitted law, and the parameters of the fits.
pub(super) fn with_laws(measured: &[Curve]) -> (Vec<Curve>, Vec<String>) {
    let (mut curves, mut words) = (Vec::new(), Vec::new());
    for curve in measured {
        // A law of bounds would be one of the tester.
        let known = curve.points.iter().filter(|p| !p.is_bound && p.y.is_finite());
        let points: Vec<(f64, f64)> = known.map(|p| (p.x, p.y)).collect();
        curves.push(curve.clone());
        let place = curves.len() - 1;
        let found = Usl::fit(&points);
        let name = if curve.name.is_empty() { "all" } else { &curve.name };
        words.push(match &found {
            Ok(law) => format!("{name}: {}", law_words(law)),
            Err(reason) => format!("{name}: no fit, {reason}"),
        });
        if let Ok(law) = found {
            let last = range(&curve.points.iter().map(|p| p.x).collect::<Vec<_>>()).1;
            let steps = (0..=STEPS).map(|s| 1.0 + (last - 1.0) * f64::from(s) / f64::from(STEPS));
            // The measured points stand on the law's curve; a line between them would hide it.
            curves[place].look = Look::Marks;
            let law = Curve::new("", Look::Law, steps.map(|n| (n, law.throughput(n))));
            curves.push(Curve { like: Some(place), ..law });
        }
    }
    (curves, words)
}

/// The parameters of a law, its maximum, and the quality of the fit.
fn law_words(law: &Usl) -> String {
    let end = match law.n_max() {
        Some(n) => format!("maximum at {n:.0} workers"),
        None => "no maximum within these points".into(),
    };
    let quality = match law.is_exact {
        true => "three numbers of workers only, so the quality of the fit is unknown".into(),
        false => format!("R² {:.4}", law.r_squared),
    };
    format!(
        "λ {}, σ {}, κ {}, {end} ({quality})",
        short_count(law.lambda),
        trimmed(law.sigma),
        trimmed(law.kappa)
    )
}

/// Largest number of measured curves, each of which gets a law.
const CURVES_MAX: usize = 4;

/// Number of points of a law's curve.
const STEPS: u32 = 48;
