//! What was seen at each load, from the lowest up: the median of its trials, the best and the
//! worst.

use measure::statistics::median;
use measure::{Trial, validity};

use crate::reference;

/// Results at one load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// Offered load per port and direction, in frames per second.
    pub load_pps: f64,
    /// Median loss of the trials, as a fraction of sent frames.
    pub loss: f64,
    /// Smallest loss of a trial, as a fraction of sent frames.
    pub best: f64,
    /// Largest loss of a trial, as a fraction of sent frames.
    pub worst: f64,
    /// Median forwarded rate per port and direction, in frames per second.
    pub forwarded_pps: f64,
    /// Indices of the trials.
    pub trials: Vec<usize>,
}

/// A function that reads one of the losses of a point.
pub(super) type Loss = fn(&Point) -> f64;

impl Point {
    /// The point of one load from its trials with their indices; none without trials.
    pub(super) fn of(load_pps: f64, trials: &[(usize, Trial)]) -> Option<Point> {
        let of = |value: fn(&Trial) -> f64| -> Vec<f64> {
            trials.iter().map(|(_, trial)| value(trial)).collect()
        };
        let losses = of(Trial::loss_ratio);
        // What the tester did not reach stands where it was.
        let reached = |(_, trial): &(usize, Trial)| match validity::tester_fell_short(trial) {
            true => reference::sent_pps(trial),
            false => load_pps,
        };
        let reached: Vec<f64> = trials.iter().map(reached).collect();
        Some(Point {
            load_pps: median(&reached)?,
            loss: median(&losses)?,
            best: losses.iter().copied().min_by(f64::total_cmp)?,
            worst: losses.iter().copied().max_by(f64::total_cmp)?,
            forwarded_pps: median(&of(forwarded_pps))?,
            trials: trials.iter().map(|(index, _)| *index).collect(),
        })
    }
}

fn forwarded_pps(trial: &Trial) -> f64 {
    let seconds = trial.effective.as_secs_f64();
    let interfaces = trial.directions.len().max(1) as f64;
    if seconds > 0.0 { trial.received() as f64 / seconds / interfaces } else { 0.0 }
}

/// The highest load up to which no load lost more than `tolerance`; the curve is in rising order.
pub(super) fn tolerated(curve: &[Point], loss: Loss, tolerance: f64) -> Option<&Point> {
    curve.iter().take_while(|point| loss(point) <= tolerance).last()
}

/// The highest load up to which no trial lost a frame.
pub(super) fn lossless(curve: &[Point]) -> Option<&Point> {
    tolerated(curve, |point| point.worst, 0.0)
}

/// Loads with loss below a load without.
pub(super) fn inversions(curve: &[Point]) -> &[Point] {
    let first = curve.iter().position(|point| point.worst > 0.0);
    let last = curve.iter().rposition(|point| point.worst == 0.0);
    match (first, last) {
        (Some(first), Some(last)) if first < last => &curve[first..last],
        _ => &[],
    }
}

/// The range over which the device loses a little: from the lowest load at which a trial lost
/// frames to the highest at which the median is still small.
pub(super) fn lossy_range(curve: &[Point]) -> Option<[f64; 2]> {
    let small = |point: &&Point| point.worst > 0.0 && point.loss <= LITTLE;
    let first = curve.iter().find(small)?;
    let last = curve.iter().rfind(small)?;
    Some([first.load_pps, last.load_pps])
}

/// Largest fraction that counts as small loss: ten times the loosest common tolerance.
pub(super) const LITTLE: f64 = 1e-3;
