//! What was seen at each load, from the lowest up: the median of its trials, the best and the worst.

use measure::statistics::median;
use measure::{Trial, validity};

use crate::reference;

/// What came of one load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// What was offered on each interface, in frames a second.
    pub load_pps: f64,
    /// The median of what its trials lost, as a fraction of what they sent.
    pub loss: f64,
    /// The least that one of them lost.
    pub best: f64,
    /// The most that one of them lost.
    pub worst: f64,
    /// What came back on each interface, in frames a second; the median.
    pub forwarded_pps: f64,
    /// Which trials they were.
    pub trials: Vec<usize>,
}

/// One of the losses of a point.
pub(super) type Loss = fn(&Point) -> f64;

impl Point {
    /// The trials of one load, each with its index; none without trials.
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

/// The highest load up to which no load lost more than `tolerance`; the curve goes upwards.
pub(super) fn tolerated(curve: &[Point], loss: Loss, tolerance: f64) -> Option<&Point> {
    curve.iter().take_while(|point| loss(point) <= tolerance).last()
}

/// The highest load up to which no trial lost anything.
pub(super) fn lossless(curve: &[Point]) -> Option<&Point> {
    tolerated(curve, |point| point.worst, 0.0)
}

/// Loads with loss below one without.
pub(super) fn inversions(curve: &[Point]) -> &[Point] {
    let first = curve.iter().position(|point| point.worst > 0.0);
    let last = curve.iter().rposition(|point| point.worst == 0.0);
    match (first, last) {
        (Some(first), Some(last)) if first < last => &curve[first..last],
        _ => &[],
    }
}

/// From the lowest load at which a trial lost something to the highest at which the median is still
/// small: the range over which the device loses a little.
pub(super) fn lossy_range(curve: &[Point]) -> Option<[f64; 2]> {
    let small = |point: &&Point| point.worst > 0.0 && point.loss <= LITTLE;
    let first = curve.iter().find(small)?;
    let last = curve.iter().rfind(small)?;
    Some([first.load_pps, last.load_pps])
}

/// Up to this fraction a loss is a little one: ten times what the loosest usual tolerance allows.
pub(super) const LITTLE: f64 = 1e-3;
