//! `rate-precision`: how exactly each subscriber's policer keeps its configured rate.
//!
//! **Goals.** For every counted subscriber and class: what passes of an overload against what is
//! configured, and whether traffic below the rate passes whole. The idea is that of the policing step
//! in the service configuration test of ITU-T Y.1564 section 8.1.2: offer more than the committed
//! rate, and see that the committed rate passes, no less and no more.
//!
//! **Non-goals.** Rates in steps, excess rates and colours, delay and availability of Y.1564; which
//! frame was dropped; how a policer behaves within milliseconds (its burst is taken from the
//! configuration, not measured).
//!
//! **How.** A short trial at a low load shows what share of it each subscriber gets (see `probe`);
//! from this follows the load at which every one is offered `overload` times its rate. Then, after a
//! warm-up, `repetitions` trials at that load and one in which each is offered `underload` times its
//! rate. In front of each a *refill*: a trial at a hundredth of the load, just long enough for an
//! empty bucket to fill up, so that every measured trial starts with full buckets.
//!
//! A trial during which a thread of the tester or the device had no core for more than the tolerance
//! is made again, twice at most, and kept as `disturbed`; if that does not help the result is not
//! valid.
//!
//! **The error** of a policer is `passed / (configured * seconds + burst) - 1` over all repetitions
//! together, in bytes as the policer counts them. The burst is in it because a full bucket (RFC 2697)
//! is passed at once, beside the rate; where a device starts a trial with empty buckets all the same,
//! the errors are lower by the burst's share, which is a figure of its own.
//!
//! **The error of the error.** Bytes pass as whole frames: at the end of a trial a policer may be
//! ahead or behind by one. With frames of *l* bytes an error is known to
//! `l * trials / (configured * seconds + burst)`. Example: 10 kB/s for 10 s and a burst of 2 kB are
//! 102 kB; a frame of 64 bytes is 0.06 % of it, one of 1518 bytes is 1.5 %, too much for a tolerance
//! of 1 %. *l* is the mean length on the wire, which is more than what a policer counts.

mod config;
mod figures;
mod probe;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{LimitKind, Outcome, TrialRecord, Validity};
use measure::{Conditions, Load, MeasureError, Measurer, Pps, Trial, validity};
use serde_json::Value;

pub use config::Config;

use crate::claims::claim;
use crate::method::{STALL_REPEATS, Session, to_value};
use crate::{Entry, Method, Observer, Step};
use table::Table;

/// The registry line.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "what each subscriber's policer lets through against its configured rate",
    standards: &[Y1564],
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
        let trials = self.repetitions + u32::from(self.underload > 0.0);
        let each = self.duration.duration().saturating_add(REFILL_MAX);
        probe::PROBING_MAX + self.warm_up.duration() + each.saturating_mul(trials)
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let conditions =
            Conditions { subscribers_counted: self.subscribers, ..Conditions::default() };
        session.conditions(&conditions, "bytes counted by subscriber")?;
        let measured = session.restoring(|session| Measured::make(self, session))?;
        Ok(measured.outcome(self, session.records))
    }
}

/// What the two phases showed.
struct Measured {
    load: Pps,
    /// The table of each repetition.
    repetitions: Vec<Table>,
    /// All of them together.
    overloaded: Table,
    underloaded: Option<Table>,
    /// Bytes of a mean frame on the wire.
    frame_bytes: f64,
    /// Whether a repetition stayed disturbed, however often it was tried.
    disturbed: bool,
}

/// A trial to come.
#[derive(Clone, Copy)]
struct Planned {
    purpose: &'static str,
    load: Pps,
    duration: Duration,
}

impl Measured {
    fn make(config: &Config, session: &mut Session<'_>) -> Result<Self, MeasureError> {
        let (load, probed) = probe::load(config, session)?;
        let mut measured = Self {
            load,
            repetitions: Vec::new(),
            overloaded: Table::default(),
            underloaded: None,
            frame_bytes: 0.0,
            disturbed: false,
        };
        let plan = plan(config, load, refill(&probed));
        for (at, planned) in plan.iter().enumerate() {
            let left = &plan[at..];
            let time = left.iter().map(|planned| planned.duration).sum();
            let step = Step::new(planned.purpose, left.len(), time, None);
            let load = Load::PerInterface(planned.load);
            let mut trial = session.trial(load, planned.duration, step.clone())?;
            for _ in 0..STALL_REPEATS {
                if planned.purpose != OVERLOAD || !is_disturbed(config, &trial) {
                    break;
                }
                session.records.iter_mut().next_back().into_iter().for_each(|r| {
                    r.purpose = DISTURBED.into();
                });
                trial = session.trial(load, planned.duration, step.clone())?;
            }
            measured.disturbed |= planned.purpose == OVERLOAD && is_disturbed(config, &trial);
            match planned.purpose {
                OVERLOAD => measured.overloaded(&trial),
                UNDERLOAD => measured.underloaded.get_or_insert_default().add(&trial),
                // Its counts by subscriber are in no figure, and they are many.
                _ => session.records.iter_mut().next_back().into_iter().for_each(|record| {
                    record.policed.clear();
                }),
            }
        }
        Ok(measured)
    }

    fn overloaded(&mut self, trial: &Trial) {
        let mut table = Table::default();
        table.add(trial);
        self.repetitions.push(table);
        self.overloaded.add(trial);
        self.frame_bytes = frame_len_bytes(trial);
    }

    fn outcome(self, config: &Config, trials: Vec<TrialRecord>) -> Outcome {
        let measured: Vec<&TrialRecord> =
            trials.iter().filter(|t| [OVERLOAD, UNDERLOAD].contains(&t.purpose.as_str())).collect();
        let mut limits = validity::summarise(&measured);
        for limit in limits.iter_mut().filter(|limit| limit.kind == LimitKind::Tester) {
            // Each policer is judged by what it was offered, not by what was to be offered.
            limit.invalidates = false;
        }
        limits.extend(figures::limits(config, &self));
        let validity = Validity::from_limits(limits);
        let deviations = [
            "of the procedure only policing and conforming traffic, not the steps of the rate, \
             delay and availability"
                .to_owned(),
            format!("each subscriber in place of a service, at {} times its rate", config.overload),
        ];
        Outcome {
            method: NAME.into(),
            configuration: config.configuration(),
            answer: figures::answer(config, &self),
            aggregation: "bytes as the policer counts them, all repetitions together; the load on \
                          each interface that sends"
                .into(),
            figures: figures::figures(config, &self),
            series: vec![self.overloaded.series(config.overload)],
            claims: vec![claim(Y1564, validity.valid, &deviations)],
            validity,
            trials,
            ..Outcome::default()
        }
    }
}

/// Whether a thread had no core for so much of a trial that the rate of its policers cannot be told
/// to the tolerance: what a full bucket earns meanwhile is lost, by no fault of the policer.
fn is_disturbed(config: &Config, trial: &Trial) -> bool {
    let longest = trial.stalls.iter().map(|stalls| stalls.total_ns).max().unwrap_or(0);
    longest as f64 * 1e-9 > config.tolerance.0 * trial.intended.as_secs_f64()
}

/// The trials behind the probing, in order.
fn plan(config: &Config, load: Pps, refill: Duration) -> Vec<Planned> {
    let measured = |purpose, load: f64| {
        let low = Pps((load * REFILL_LOAD).max(1.0));
        [
            Planned { purpose: "refill", load: low, duration: refill },
            Planned { purpose, load: Pps(load), duration: config.duration.duration() },
        ]
    };
    let mut plan = vec![Planned { purpose: "warm-up", load, duration: config.warm_up.duration() }];
    for _ in 0..config.repetitions {
        plan.extend(measured(OVERLOAD, load.0));
    }
    if config.underload > 0.0 {
        plan.extend(measured(UNDERLOAD, load.0 * config.underload / config.overload));
    }
    plan.retain(|planned| !planned.duration.is_zero());
    plan
}

/// How long the slowest bucket takes to fill up, with a little to spare for what is taken out
/// meanwhile.
fn refill(probed: &Table) -> Duration {
    let limited = probed.rows.iter().filter(|row| row.configured > 0.0);
    let seconds = limited.map(|row| row.bursts / f64::from(row.trials) / row.configured);
    let longest = seconds.fold(0.0, f64::max) * 1.05;
    Duration::try_from_secs_f64(longest).unwrap_or(REFILL_MAX).clamp(REFILL_MIN, REFILL_MAX)
}

/// The mean length of the frames of a trial on the wire, in bytes.
fn frame_len_bytes(trial: &Trial) -> f64 {
    let bytes: u64 = trial.directions.iter().map(|d| d.sent_bytes).sum();
    bytes as f64 / trial.sent().max(1) as f64
}

const NAME: &str = "rate-precision";
const Y1564: &str = "y1564.8.1.2";

/// Purposes of the trials that count.
const OVERLOAD: &str = "overload";
const UNDERLOAD: &str = "underload";

/// The purpose of an overload that did not count.
const DISTURBED: &str = "disturbed";

/// The load while buckets fill up, as a fraction of the overload: little is taken out of them.
const REFILL_LOAD: f64 = 0.01;
const REFILL_MIN: Duration = Duration::from_millis(10);
const REFILL_MAX: Duration = Duration::from_secs(10);
