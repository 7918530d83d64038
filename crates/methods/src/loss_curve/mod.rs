//! `loss-curve`: which share of the frames is lost at each load.
//!
//! **Goals.** The frame loss rate of RFC 2544 section 26.3: from 100 % of the maximum rate down in
//! steps of 10 % or less, until two successive trials have no loss. Or a linear sweep over every
//! load from 1 % to 100 % in steps of 1 %, as Cisco and EANTC ran it on virtual switches, which
//! shows what no search sees: devices that lose a little at 12 % and nothing at 13 %.
//!
//! With `repetitions` each load has several trials, whose best and worst stand beside the median:
//! the best-of-N and worst-of-N of the same report, for every load instead of for the steps of a
//! search.
//!
//! **Non-goals.** A throughput: the highest load without loss, or with a tolerated one, is told as
//! it was met, on a coarse grid.
//!
//! **How.** One trial at `max-rate` tells whether the tester can send that; where not, 100 % is
//! what it sends, and the answer says so. Then a trial at each load. A trial whose loss a stall of
//! the machine explains is repeated, all are kept, and the last one is in the curve
//! (`repeat-stalled: 0` leaves such loss in it). A load that the tester did not reach stands in the
//! curve at what it sent.

mod config;
mod curve;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, Limit, LimitKind, Outcome, Validity};
use measure::{Load, MeasureError, Measurer, Pps, Ratio, Subject, validity};
use serde_json::Value;

use config::NAME;
pub use config::{Config, Procedure};
use curve::Point;

use crate::claims::claim;
use crate::figures::{KnownFigure, known};
use crate::method::{STALL_REPETITION, Session, to_value};
use crate::reference::{self, Maximum};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "frame loss ratio at each load, from the maximum down or from 1 % up",
    subject: Subject::Frames,
    standards: &[RFC2544],
    figures: FIGURES,
    read: |value| crate::entry::read(value, |_: &Config| Ok(())),
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
        let loads = self.loads().len() as u32;
        let trials = loads.saturating_mul(self.repetitions * (1 + self.repeat_stalled)) + 1;
        self.duration.duration().saturating_mul(trials)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let (loads, each) = (self.loads(), self.duration.duration());
        let all = loads.len() as u32 * self.repetitions;
        let after = (all as usize, each.saturating_mul(all));
        let maximum = reference::maximum(&mut session, self.max_rate, each, after)?;
        let mut points: Vec<Point> = Vec::new();
        for (at, load) in loads.iter().enumerate() {
            let left = all - at as u32 * self.repetitions;
            points.extend(self.point(&mut session, *load, maximum, left)?);
            if self.procedure == Procedure::Rfc2544 && two_without_loss(&points) {
                break;
            }
        }
        Ok(self.outcome(session, maximum, points))
    }
}

impl Config {
    /// Makes the trials of one load; `left` is the number of expected trials from here on.
    fn point(
        &self,
        session: &mut Session<'_>,
        load: f64,
        maximum: Maximum,
        left: u32,
    ) -> Result<Option<Point>, MeasureError> {
        let each = self.duration.duration();
        let offered = maximum.pps * load;
        let mut trials = Vec::new();
        for done in 0..self.repetitions {
            let left = left - done;
            let purpose = format!("loss at {}", Ratio(load));
            let step = Step::new(purpose, left as usize, each.saturating_mul(left), None);
            let load = Load::PerInterface(Pps(offered));
            let trial = session.trial_unless_stalled(load, each, step, self.repeat_stalled)?;
            trials.push((session.records.len() - 1, trial));
        }
        Ok(Point::of(offered, &trials))
    }

    fn outcome(&self, session: Session<'_>, maximum: Maximum, points: Vec<Point>) -> Outcome {
        let records = session.records;
        let counted: Vec<_> =
            points.iter().flat_map(|point| &point.trials).map(|index| &records[*index]).collect();
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
            answer: report::answer(&curve, maximum),
            aggregation: "loads and forwarded rates per port and direction that sends, the latter \
                          the mean over directions; loss over all directions together, the median \
                          of the trials of a load"
                .into(),
            figures: report::figures(self, &curve, maximum),
            series: vec![report::series(&curve, maximum, self.repetitions)],
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
        if self.repetitions > 1 {
            deviations.push(format!("the median of {} trials at each load", self.repetitions));
        }
        if repeated > 0 {
            deviations.push(format!("{repeated} trials repeated because of stalls"));
        }
        deviations.push(maximum.deviation());
        deviations.push("the waiting times of section 23 not kept".to_owned());
        deviations
    }
}

/// Whether no trial of the last two loads had loss.
fn two_without_loss(points: &[Point]) -> bool {
    matches!(points, [.., a, b] if a.worst == 0.0 && b.worst == 0.0)
}

/// Adapts limits to a loss curve: loss is expected, and a load that the tester did not reach is
/// drawn where it was.
fn limits(mut of_trials: Vec<Limit>) -> Vec<Limit> {
    of_trials.retain(|limit| limit.kind != LimitKind::RingFull);
    for limit in of_trials.iter_mut().filter(|limit| limit.kind == LimitKind::Tester) {
        limit.invalidates = false;
        limit.advice =
            "the curve ends at the tester's maximum; these loads appear at the rate that \
                        was sent. Lower max-rate, or give the tester a core of its own"
                .into();
    }
    of_trials
}

const RFC2544: &str = "rfc2544.26.3";

/// The largest step of RFC 2544 section 26.3, with a tolerance for rounding.
const RFC2544_STEP_MAX: f64 = 0.1 + 1e-9;

/// The shortest trial of RFC 2544 section 24, in seconds.
const RFC2544_TRIAL_S: f64 = 60.0;

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("forwarding_rate", "pps"),
    known("forwarding_rate_max", "pps"),
    known("little_loss_from", "pps"),
    known("little_loss_range_percent", "percent"),
    known("little_loss_to", "pps"),
    known("loss_inversions", "loads"),
    known("lossless_rate", "pps"),
    known("maximum_rate", "pps"),
    known("tolerated_rate", "pps"),
    known("tolerated_rate_best", "pps"),
    known("tolerated_rate_worst", "pps"),
];
