//! The binary search of ETSI GS NFV-TST 009 over loads: clause 12.3.2, and with loss verification
//! clause 12.3.3.
//!
//! Until a step has passed, a trial is kept for the first one: a search that runs out of trials or
//! time tries it before it gives up.
//!
//! Every trial has the final duration, so nothing needs a confirmation; what passed has passed. A
//! trial that fails is repeated by the rules of the attempts: max(r) trials at most, none after one
//! that lost more than max(z) frames.

use std::time::Duration;

use measure::MeasureError;
use measure::record::Bounds;

use super::Grid;
use super::engine::{Engine, Found, Tried};
use super::goal::Goal;
use crate::Step;

/// Searches for one goal over the grid of equal steps.
pub(crate) fn search(
    mut engine: Engine<'_, '_>,
    goal: &Goal,
    step_pps: f64,
    duration: Duration,
) -> Result<Found, MeasureError> {
    let mut grid = Grid::new(step_pps, engine.settings.max_pps);
    // What the tester sent of loads that it could not send, and that passed.
    let mut short: Vec<f64> = Vec::new();
    let mut exhausted = None;
    while let Some(load) = grid.next() {
        let reserve = match grid.is_open_below() && engine.settings.trials_max > 1 {
            true => (duration, 1),
            false => (Duration::ZERO, 0),
        };
        let needed = (duration + reserve.0, 1 + reserve.1);
        if !engine.room_for(needed.0, needed.1) {
            exhausted = Some(engine.exhausted(needed));
            break;
        }
        let trials = grid.expected().min(engine.trials_left());
        let time = duration * trials as u32;
        let step = Step::new("search", trials, time, Some(grid.bounds()));
        match engine.try_load(goal, load, duration, &step, reserve)? {
            Tried::Passed => grid.passed(),
            Tried::Failed => grid.failed(),
            Tried::Short(sent) => {
                short.push(sent);
                grid.failed();
            }
        }
    }
    if exhausted.is_some() && grid.is_open_below() && engine.room_for(duration, 1) {
        let step = Step::new("search", 1, duration, Some(grid.bounds()));
        match engine.try_load(goal, grid.first(), duration, &step, (Duration::ZERO, 0))? {
            Tried::Passed => grid.first_passed(),
            Tried::Failed | Tried::Short(_) => grid.first_failed(),
        }
    }
    let over = grid.next().is_none();
    let bounds = bounds(&grid, over, &short);
    let why = match (bounds.lower_pps, bounds.upper_pps) {
        (None, Some(upper)) if upper <= grid.first() => "even the first step failed".to_owned(),
        (Some(_), None) if over => "even the last step passed".to_owned(),
        _ if over => "the grid was searched".to_owned(),
        _ => exhausted.unwrap_or_default(),
    };
    Ok(engine.found(bounds, bounds.lower_pps.is_some(), &why))
}

/// The bounds on the grid. The sent part of a load that the tester could not send is also a lower
/// bound if no lower load failed, but never makes a result regular.
fn bounds(grid: &Grid, over: bool, short: &[f64]) -> Bounds {
    let bounds = grid.bounds();
    let is_between = |sent: &f64| {
        bounds.lower_pps.is_none_or(|lower| *sent > lower)
            && bounds.upper_pps.is_none_or(|upper| *sent < upper)
    };
    let short = short.iter().copied().filter(is_between).max_by(f64::total_cmp);
    Bounds {
        lower_pps: short.or(bounds.lower_pps),
        regular: bounds.regular && over && short.is_none(),
        ..bounds
    }
}
