//! Recovery from overload (RFC 2544 section 26.5): how long after the load was lowered frames were
//! still lost, trial by trial.

use measure::record::{Cell, LoadRecord, Outcome, RunRecord, TrialRecord};

use super::chart::{CHARTS_MAX, Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Look, data};
use crate::names::Names;
use crate::words::outcomes;

/// One chart for each cell and method with several load steps.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record).filter_map(|(c, o)| chart(&names, c, o)).take(CHARTS_MAX).collect()
}

fn chart(names: &Names, cell: &Cell, outcome: &Outcome) -> Option<Chart> {
    let mut directions: Vec<&str> = Vec::new();
    for name in outcome.trials.iter().flat_map(|t| t.directions.iter().map(|d| d.name.as_str())) {
        if !directions.contains(&name) {
            directions.push(name);
        }
    }
    let curve = |name: &&str| {
        let steps = outcome.trials.iter().filter(|t| t.purpose != "warm-up");
        let points = steps.filter_map(|t| recovery_ms(t, name)).enumerate();
        Curve::new(name, Look::Measured, points.map(|(i, ms)| ((i + 1) as f64, ms)))
    };
    let curves: Vec<Curve> = directions.iter().map(curve).collect();
    if curves.iter().all(|c| c.points.len() < 2) {
        return None;
    }
    let ys: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.y)).collect();
    let trials = curves.iter().map(|c| c.points.len()).max().unwrap_or(0) as f64;
    let x = Axis { min: Some(0.0), max: Some(trials + 1.0), ..Axis::linear("trial") };
    let y = Axis::spanning("time until the last loss, ms", &ys).with_zero();
    let (plots, layout) = Drawing::new(x, y).of(&curves);
    Some(Chart::new(
        &identifier("recovery", &[&cell.id, &outcome.method]),
        &format!("Recovery from overload ({})", names.of_cell(cell)),
        "Time from the reduction of the load to the sending of the last lost frame; 0 if no frame \
         was lost after the reduction.",
        plots,
        layout,
        data("trial", "ms", &curves),
    ))
}

/// Time after the step during which a direction lost frames, in milliseconds.
fn recovery_ms(trial: &TrialRecord, direction: &str) -> Option<f64> {
    let LoadRecord::Step { after_ns, .. } = trial.load else { return None };
    let found = trial.directions.iter().find(|d| d.name == direction)?;
    let last = match (found.last_lost_ns, found.lost) {
        (Some(at), _) => at,
        (None, 0) => after_ns,
        // Frames were lost and the tester could not tell when.
        (None, _) => return None,
    };
    Some(last.saturating_sub(after_ns) as f64 * 1e-6)
}
