//! `loss-curve`: which share of the frames is lost at each load.
//!
//! **Goals.** The frame loss rate of RFC 2544 section 26.3: from 100 % of the maximum rate down in
//! steps of 10 % or less, until two successive trials have no loss. Or a linear sweep over every load
//! from 1 % to 100 % in steps of 1 %, as Cisco and EANTC ran it on virtual switches, which shows what
//! no search sees: devices that lose a little at 12 % and nothing at 13 %.
//!
//! **Non-goals.** A throughput: the highest load without loss is told as it was met, in one trial, on
//! a coarse grid. Repetitions and confidence; a scenario's `repetitions` give them.
//!
//! **How.** One trial at `max-rate` tells whether the tester can send that; where not, 100 % is what
//! it sends, and the answer says so. Then a trial at each load. A trial whose loss a stall of the
//! machine explains is repeated, all are kept, and the last one is in the curve. A load that the
//! tester did not reach stands in the curve at what it sent.

mod config;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, Column, Figure, Limit, LimitKind, Outcome, Series, Validity};
use measure::{Load, MeasureError, Measurer, Pps, Ratio, validity};
use serde_json::Value;

pub use config::{Config, Procedure};

use crate::claims::claim;
use crate::method::{STALL_REPEATS, STALL_REPETITION, Session, to_value};
use crate::reference::{self, Maximum};
use crate::{Entry, Method, Observer, Step};

/// The registry line.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "which share is lost at each load, from the maximum down or from 1 % up",
    standards: &[RFC2544],
    read: |value| crate::registry::read(value, Config::validate),
    schema: || schemars::schema_for!(Config),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Value {
        to_value(self)
    }

    fn time_bound(&self) -> Duration {
        let trials = self.loads().len() as u32 * (1 + STALL_REPEATS) + 1;
        self.duration.duration() * trials
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let (loads, each) = (self.loads(), self.duration.duration());
        let after = (loads.len(), each * loads.len() as u32);
        let maximum = reference::maximum(&mut session, self.max_rate, each, after)?;
        let mut points: Vec<Point> = Vec::new();
        for (at, load) in loads.iter().enumerate() {
            let left = loads.len() - at;
            let purpose = format!("loss at {}", Ratio(*load));
            let step = Step::new(purpose, left, each * left as u32, None);
            let offered = Load::PerInterface(Pps(maximum.pps * load));
            let trial = session.trial_unless_stalled(offered, each, step, STALL_REPEATS)?;
            let seconds = trial.effective.as_secs_f64();
            let interfaces = trial.directions.len().max(1) as f64;
            let short = validity::tester_fell_short(&trial);
            points.push(Point {
                load_pps: if short { reference::sent_pps(&trial) } else { maximum.pps * load },
                loss: trial.loss_ratio(),
                forwarded_pps: match seconds > 0.0 {
                    true => trial.received() as f64 / seconds / interfaces,
                    false => 0.0,
                },
                trial: session.records.len() - 1,
            });
            if self.procedure == Procedure::Rfc2544 && two_without_loss(&points) {
                break;
            }
        }
        Ok(self.outcome(session, maximum, points))
    }
}

/// What came of one load.
struct Point {
    /// What was offered on each interface.
    load_pps: f64,
    /// Lost frames as a fraction of those sent.
    loss: f64,
    /// What came back, on each interface.
    forwarded_pps: f64,
    /// Which trial it was.
    trial: usize,
}

/// Whether the two trials that were done last had no loss.
fn two_without_loss(points: &[Point]) -> bool {
    matches!(points, [.., a, b] if a.loss == 0.0 && b.loss == 0.0)
}

impl Config {
    fn outcome(&self, session: Session<'_>, maximum: Maximum, points: Vec<Point>) -> Outcome {
        let records = session.records;
        let counted: Vec<_> = points.iter().map(|point| &records[point.trial]).collect();
        let validity = Validity::from_limits(limits(validity::summarise(&counted)));
        let repeated = records.iter().filter(|r| r.purpose == STALL_REPETITION).count();
        let ended = two_without_loss(&points);
        let deviations = self.deviations(maximum, ended, repeated);
        // From the lowest load up, whatever the order of measuring.
        let mut curve = points;
        curve.sort_by(|a, b| a.load_pps.total_cmp(&b.load_pps));
        let claims: Vec<Claim> = vec![claim(RFC2544, validity.valid, &deviations)];
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(&curve, maximum),
            aggregation: "loads and forwarded rates on each interface that sends, the latter the \
                          mean over directions; loss over all directions together"
                .into(),
            figures: figures(&curve, maximum),
            series: vec![series(&curve, maximum)],
            trials: records,
            validity,
            claims,
            ..Outcome::default()
        }
    }

    fn deviations(&self, maximum: Maximum, ended: bool, repeated: usize) -> Vec<String> {
        let mut deviations = Vec::new();
        match self.procedure {
            Procedure::Linear => {
                deviations.push("every load upwards instead of from 100 % down".to_owned());
            }
            Procedure::Rfc2544 if !ended => {
                deviations.push("no two successive trials without loss".to_owned());
            }
            Procedure::Rfc2544 => {}
        }
        if self.step_ratio() > RFC2544_STEP_MAX {
            deviations.push(format!("steps of {} instead of 10 %", Ratio(self.step_ratio())));
        }
        if self.duration.0 < RFC2544_TRIAL_S {
            deviations.push(format!("trials of {} instead of {RFC2544_TRIAL_S} s", self.duration));
        }
        if repeated > 0 {
            deviations.push(format!("{repeated} trials repeated because of stalls"));
        }
        deviations.push(maximum.deviation());
        deviations.push("the waiting times of section 23 not kept".to_owned());
        deviations
    }
}

/// Loss is what is asked for here, and a load that the tester did not reach stands where it was.
fn limits(mut of_trials: Vec<Limit>) -> Vec<Limit> {
    of_trials.retain(|limit| limit.kind != LimitKind::RingFull);
    for limit in of_trials.iter_mut().filter(|limit| limit.kind == LimitKind::Tester) {
        limit.invalidates = false;
        limit.advice = "the curve ends at what the tester sends; these loads stand in it at what \
                        was sent. Lower max-rate, or give the tester a core of its own"
            .into();
    }
    of_trials
}

fn series(curve: &[Point], maximum: Maximum) -> Series {
    let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
    let row = |point: &Point| {
        let values = [
            point.load_pps / maximum.pps * 100.0,
            point.load_pps,
            point.loss * 100.0,
            point.forwarded_pps,
        ];
        values.map(Some).to_vec()
    };
    Series {
        name: NAME.into(),
        title: format!("Loss against load; 100 % is {}", maximum.words()),
        columns: vec![
            column("load_percent", "percent"),
            column("load_pps", "pps"),
            column("loss_percent", "percent"),
            column("forwarded_pps", "pps"),
        ],
        rows: curve.iter().map(row).collect(),
    }
}

/// The highest load up to which nothing was lost at any load; the curve goes upwards.
fn lossless(curve: &[Point]) -> Option<&Point> {
    curve.iter().take_while(|point| point.loss == 0.0).last()
}

/// Loads with loss below one without.
fn inversions(curve: &[Point]) -> &[Point] {
    let first = curve.iter().position(|point| point.loss > 0.0);
    let last = curve.iter().rposition(|point| point.loss == 0.0);
    match (first, last) {
        (Some(first), Some(last)) if first < last => &curve[first..last],
        _ => &[],
    }
}

fn figures(curve: &[Point], maximum: Maximum) -> Vec<Figure> {
    let mut figures = Vec::new();
    figures.extend(lossless(curve).map(|p| Figure::single("lossless_rate", p.load_pps, "pps")));
    if let Some(top) = curve.last() {
        figures.push(Figure::single("loss_percent", top.loss * 100.0, "percent"));
        figures.push(Figure::single("loss_fraction", top.loss, "fraction"));
        figures.push(Figure::single("forwarding_rate", top.forwarded_pps, "pps"));
    }
    let most = curve.iter().map(|point| point.forwarded_pps).max_by(f64::total_cmp);
    figures.extend(most.map(|pps| Figure::single("forwarding_rate_max", pps, "pps")));
    figures.push(Figure::single("maximum_rate", maximum.pps, "pps"));
    let inverted = inversions(curve).iter().filter(|point| point.loss > 0.0).count();
    figures.push(Figure::single("loss_inversions", inverted as f64, "loads"));
    figures
}

fn answer(curve: &[Point], maximum: Maximum) -> String {
    let percent = |point: &Point| Ratio(point.load_pps / maximum.pps);
    let Some(top) = curve.last() else { return "No load was tried.".to_owned() };
    let most = maximum.words();
    if top.loss == 0.0 && inversions(curve).is_empty() {
        return format!("Nothing is lost at any load up to 100 % of {most}.");
    }
    let below = match lossless(curve) {
        Some(point) => format!("Up to {} of {most}, nothing is lost", percent(point)),
        None => format!("Frames are lost even at {} of {most}", percent(&curve[0])),
    };
    let inverted = match inversions(curve) {
        [] => String::new(),
        [first, ..] => format!(
            ". Loss is not only above the capacity: at {} {} is lost, and nothing at a higher load",
            percent(first),
            Ratio(first.loss)
        ),
    };
    format!("{below}; at {} it is {}{inverted}.", percent(top), Ratio(top.loss))
}

const NAME: &str = "loss-curve";
const RFC2544: &str = "rfc2544.26.3";

/// The longest step of RFC 2544 section 26.3; the hair is for rounding.
const RFC2544_STEP_MAX: f64 = 0.1 + 1e-9;

/// The shortest trial of RFC 2544 section 24, in seconds.
const RFC2544_TRIAL_S: f64 = 60.0;
