//! What follows the probing: a warm-up, overloads, and an underload.
//!
//! In front of each measured trial stands a refill, so that it starts with full buckets. A measured
//! trial that a stall disturbed is made again, refill and all; the last one counts.

use std::time::Duration;

use measure::{Load, MeasureError, Pps, Trial};

use super::Config;
use super::table::Table;
use crate::Step;
use crate::method::{STALL_REPEATS, Session};

/// Phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The warm-up, which is in no figure.
    WarmUp,
    /// Each subscriber is offered more than its rate.
    Overload,
    /// Each subscriber is offered less than its rate.
    Underload,
}

impl Phase {
    /// Purpose of the phase's trials in the record.
    pub fn purpose(self) -> &'static str {
        match self {
            Phase::WarmUp => "warm-up",
            Phase::Overload => "overload",
            Phase::Underload => "underload",
        }
    }

    /// Whether trials with this purpose are in the figures.
    pub fn counts(purpose: &str) -> bool {
        [Phase::Overload, Phase::Underload].iter().any(|phase| phase.purpose() == purpose)
    }
}

/// Makes all trials at the load of the overload, and passes on those that count, with whether a
/// stall disturbed them in every attempt.
pub(super) fn carry_out(
    config: &Config,
    load: Pps,
    probed: &Table,
    session: &mut Session<'_>,
    mut each: impl FnMut(Phase, &Trial, bool),
) -> Result<(), MeasureError> {
    let (phases, refill) = (phases(config), refill(probed));
    for (at, &phase) in phases.iter().enumerate() {
        let mut trial = one(config, load, refill, session, &phases[at..])?;
        for _ in 0..STALL_REPEATS {
            if !is_disturbed(config, phase, &trial) {
                break;
            }
            if let Some(record) = session.records.last_mut() {
                record.purpose = DISTURBED.into();
            }
            trial = one(config, load, refill, session, &phases[at..])?;
        }
        each(phase, &trial, is_disturbed(config, phase, &trial));
    }
    Ok(())
}

/// Upper bound of the duration of all trials.
pub(super) fn time_bound(config: &Config) -> Duration {
    let time = |&phase: &Phase| match phase {
        Phase::WarmUp => config.warm_up.duration(),
        _ => REFILL_MAX.saturating_add(config.duration.duration()) * (1 + STALL_REPEATS),
    };
    phases(config).iter().map(time).fold(Duration::ZERO, Duration::saturating_add)
}

/// The phases in order.
fn phases(config: &Config) -> Vec<Phase> {
    let warm_up = (config.warm_up.0 > 0.0).then_some(Phase::WarmUp);
    let underload = (config.underload > 0.0).then_some(Phase::Underload);
    let overloads = (0..config.repetitions).map(|_| Phase::Overload);
    warm_up.into_iter().chain(overloads).chain(underload).collect()
}

/// Makes the trial of the first of the remaining phases, after its refill.
fn one(
    config: &Config,
    overload: Pps,
    refill: Duration,
    session: &mut Session<'_>,
    left: &[Phase],
) -> Result<Trial, MeasureError> {
    let (phase, load, duration) = match left.first() {
        None | Some(Phase::WarmUp) => (Phase::WarmUp, overload, config.warm_up.duration()),
        Some(Phase::Overload) => (Phase::Overload, overload, config.duration.duration()),
        Some(Phase::Underload) => {
            let load = Pps(overload.0 * config.underload / config.overload);
            (Phase::Underload, load, config.duration.duration())
        }
    };
    let refills = left.iter().filter(|phase| **phase != Phase::WarmUp).count();
    let own = left.iter().map(|phase| match phase {
        Phase::WarmUp => config.warm_up.duration(),
        _ => config.duration.duration(),
    });
    let own: Duration = own.sum();
    let time = own + refill * refills as u32;
    if phase != Phase::WarmUp {
        let step = Step::new("refill", left.len() + refills, time, None);
        let low = Pps((load.0 * REFILL_LOAD).max(1.0));
        session.trial(Load::PerInterface(low), refill, step)?;
        forget_subscribers(session);
    }
    let refills_left = refills - usize::from(phase != Phase::WarmUp);
    let step = Step::new(phase.purpose(), left.len() + refills_left, time, None);
    let trial = session.trial(Load::PerInterface(load), duration, step)?;
    if phase == Phase::WarmUp {
        forget_subscribers(session);
    }
    Ok(trial)
}

/// Removes counters by subscriber from trials that are in no figure, because they are many.
fn forget_subscribers(session: &mut Session<'_>) {
    if let Some(record) = session.records.last_mut() {
        record.policed.clear();
    }
}

/// Whether a thread lost its core for so long in a measured trial that its policers cannot be
/// judged within the tolerance. The tokens of a full bucket are lost in the meantime, and late
/// frames arrive at once, which is not the policer's fault.
fn is_disturbed(config: &Config, phase: Phase, trial: &Trial) -> bool {
    let longest = trial.stalls.iter().map(|stalls| stalls.total_ns).max().unwrap_or(0);
    let tolerated = config.tolerance.0 * trial.intended.as_secs_f64();
    phase != Phase::WarmUp && longest as f64 * 1e-9 > tolerated
}

/// Time in which the slowest bucket fills, with a margin for the tokens used in the meantime.
fn refill(probed: &Table) -> Duration {
    let limited = probed.rows.iter().filter(|row| row.configured > 0.0);
    let seconds = limited.map(|row| row.bursts / f64::from(row.trials) / row.configured);
    let longest = seconds.fold(0.0, f64::max) * 1.05;
    Duration::try_from_secs_f64(longest).unwrap_or(REFILL_MAX).clamp(REFILL_MIN, REFILL_MAX)
}

/// Purpose of a measured trial that was repeated.
pub(super) const DISTURBED: &str = "disturbed";

/// Load while buckets fill, as a fraction of the following load: it uses few tokens.
const REFILL_LOAD: f64 = 0.01;
const REFILL_MIN: Duration = Duration::from_millis(10);
const REFILL_MAX: Duration = Duration::from_secs(10);
