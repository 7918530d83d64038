//! Finds the load at which every counted subscriber is offered the overload.
//!
//! A method knows neither the frames nor how the workload spreads them over subscribers. A trial at
//! a low load shows both: what a subscriber was offered is proportional to the load. Of a single
//! subscriber a short trial shows too few frames, so those of a class are taken as exchangeable:
//! the mean over the class is scaled until it reaches the overload of the largest rate in it. Where
//! the workload prefers some subscribers, the others are offered less; the figures leave them out
//! and a limit says so.

use std::time::Duration;

use measure::{Load, MeasureError, Pps};

use super::Config;
use super::measured::frame_len_bytes;
use super::table::Table;
use crate::Step;
use crate::method::Session;

/// The load per port and direction for the overload, and the policers found by probing.
pub(super) fn load(
    config: &Config,
    session: &mut Session<'_>,
) -> Result<(Pps, Table), MeasureError> {
    let highest = config.load.unwrap_or(config.max_rate).0;
    let mut load = LOAD.min(highest);
    let mut left = TRIALS_MAX;
    loop {
        left -= 1;
        let step = Step::new("probe", left as usize + 1, DURATION * (left + 1), None);
        let trial = session.trial(Load::PerInterface(Pps(load)), DURATION, step)?;
        session.records.iter_mut().for_each(|record| record.policed.clear());
        let mut table = Table::default();
        table.add(&trial);
        if let Some(load) = config.load {
            return limited(&table).map(|()| (load, table));
        }
        let frames = frames_of_least_class(&table, frame_len_bytes(&trial));
        if frames >= FRAMES_MIN || left == 0 || load >= highest {
            limited(&table)?;
            return needed(config, load, &table).map(|load| (load, table));
        }
        // Half as much again, so that the next one is enough in spite of scatter.
        let more = (1.5 * FRAMES_MIN / frames.max(1.0)).clamp(2.0, 100.0);
        load = (load * more).min(highest);
    }
}

/// Checks that there is a policer to measure.
fn limited(table: &Table) -> Result<(), MeasureError> {
    match (table.rows.is_empty(), table.rows.iter().any(|row| row.configured > 0.0)) {
        (true, _) => Err(nothing(
            "the device reports no policers: choose a workload whose subscribers have a rate limit",
        )),
        (false, false) => {
            Err(nothing("no subscriber has a rate limit: configure one to measure it"))
        }
        (false, true) => Ok(()),
    }
}

/// The load that is needed, given the traffic of the counted subscribers at `offered_pps`.
fn needed(config: &Config, offered_pps: f64, table: &Table) -> Result<Pps, MeasureError> {
    let mut needed: f64 = 0.0;
    for class in 0..table.classes.len() {
        let rows = || table.rows.iter().filter(|row| row.class == class);
        let rate = rows().map(|row| row.configured).fold(0.0, f64::max);
        let seconds: f64 = rows().map(|row| row.seconds).sum();
        let offered: f64 = rows().map(|row| row.offered as f64).sum();
        if rate > 0.0 && offered <= 0.0 {
            return Err(nothing(
                "hardly any frame belonged to a counted subscriber: count more (`subscribers`), or \
                 reduce the subscribers of the workload",
            ));
        }
        if rate > 0.0 {
            needed = needed.max(offered_pps * config.overload * rate * seconds / offered);
        }
    }
    if needed > config.max_rate.0 {
        return Err(nothing(&format!(
            "{} times the rate of each subscriber need {} per port and direction, more than \
             max-rate ({}): lower the rate limit, use fewer subscribers or longer frames, or raise max-rate",
            config.overload,
            Pps(needed),
            config.max_rate,
        )));
    }
    Ok(Pps(needed))
}

/// Frames of counted subscribers in the class with the fewest; infinite without any class.
fn frames_of_least_class(table: &Table, frame_bytes: f64) -> f64 {
    let of = |class| {
        let rows = table.rows.iter().filter(|row| row.class == class);
        rows.map(|row| row.offered as f64).sum::<f64>() / frame_bytes.max(1.0)
    };
    (0..table.classes.len()).map(of).fold(f64::INFINITY, f64::min)
}

fn nothing(what: &str) -> MeasureError {
    MeasureError::NothingToMeasure(format!("rate-precision has nothing to measure: {what}"))
}

/// The first load in packets per second, low enough for any device.
const LOAD: f64 = 10e3;
const DURATION: Duration = Duration::from_millis(500);
const TRIALS_MAX: u32 = 4;

/// Upper bound of the duration of probing.
pub(super) const PROBING_MAX: Duration = Duration::from_millis(500 * TRIALS_MAX as u64);

/// Number of random frames whose mean is known to 2 %.
const FRAMES_MIN: f64 = 2500.0;
