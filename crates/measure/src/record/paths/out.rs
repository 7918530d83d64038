//! What TIPSY calls `out`: the results of a test, from the trials that decided an outcome.
//!
//! A trial that confirms a result decides it; where none does, all repetitions do; else the last
//! trial that was no warm-up. Of several that decide, the median is taken.

use hdrhistogram::Histogram;

use super::super::{Cell, DirectionRecord, Outcome, TrialRecord};

/// The value at a path below `out`.
pub fn value(cell: &Cell, path: &str) -> Option<f64> {
    let mut parts = path.split('.');
    match (parts.next()?, parts.next()?, parts.next(), parts.next()) {
        ("throughput", side, Some(what), None) => rate(outcome(cell, &RATES)?, side, what),
        ("flood", side, Some(what), None) => rate(outcome(cell, &FLOODS)?, side, what),
        ("rfc2544", "limit", None, None) => {
            let limit = outcome(cell, &SEARCHES)?.figure("throughput_aggregate_l1")?;
            Some(limit.value * 1e-6)
        }
        ("rfc2544", "tx", None, None) => median(outcome(cell, &SEARCHES)?, |trial| {
            Some(sum(trial, |d, s| wire_bits(d.sent, d, s)))
        }),
        ("rfc2544", "rx", None, None) => median(outcome(cell, &SEARCHES)?, |trial| {
            Some(sum(trial, |d, s| wire_bits(d.received, d, s)))
        }),
        ("latency", what, None, None) => {
            LATENCIES.iter().find_map(|method| latency(of_method(cell, method)?, what))
        }
        _ => None,
    }
}

/// Whether the value at a path below `out` is a lower bound.
pub fn is_bound(cell: &Cell, path: &str) -> bool {
    let limit = || outcome(cell, &SEARCHES)?.figure("throughput_aggregate_l1");
    path == "rfc2544.limit" && limit().is_some_and(|limit| limit.bound.is_some())
}

/// Methods that report a rate, the closest to TIPSY's test first.
const RATES: [&str; 3] = ["forwarding-rate", "throughput", "capacity"];
const FLOODS: [&str; 2] = ["forwarding-rate", "capacity"];
const SEARCHES: [&str; 1] = ["throughput"];
const LATENCIES: [&str; 3] = ["latency", "throughput", "forwarding-rate"];

fn of_method<'a>(cell: &'a Cell, method: &str) -> Option<&'a Outcome> {
    cell.outcomes.iter().find(|outcome| outcome.method == method)
}

fn outcome<'a>(cell: &'a Cell, methods: &[&str]) -> Option<&'a Outcome> {
    methods.iter().find_map(|method| of_method(cell, method))
}

fn rate(outcome: &Outcome, side: &str, what: &str) -> Option<f64> {
    let one: fn(&DirectionRecord, f64) -> f64 = match (side, what) {
        ("TX", "PacketRate") => |d, seconds| d.sent as f64 / seconds * 1e-6,
        ("RX", "PacketRate") => |d, seconds| d.received as f64 / seconds * 1e-6,
        ("TX", "Mbit") => |d, seconds| bits(d.sent, d, seconds),
        ("RX", "Mbit") => |d, seconds| bits(d.received, d, seconds),
        _ => return None,
    };
    median(outcome, |trial| Some(sum(trial, one)))
}

fn latency(outcome: &Outcome, what: &str) -> Option<f64> {
    let read: fn(&Histogram<u64>) -> f64 = match what {
        "Samples" => |all| all.len() as f64,
        "Average" => |all| all.mean(),
        "StdDev" => |all| all.stdev(),
        "1st_Quartiles" => |all| all.value_at_quantile(0.25) as f64,
        "2nd_Quartiles" => |all| all.value_at_quantile(0.5) as f64,
        "3rd_Quartiles" => |all| all.value_at_quantile(0.75) as f64,
        _ => return None,
    };
    median(outcome, |trial| histogram(trial).map(|all| read(&all)))
}

/// The latency of all directions of a trial together.
fn histogram(trial: &TrialRecord) -> Option<Histogram<u64>> {
    let mut each = trial.directions.iter().filter_map(|d| d.latency.as_ref()?.histogram());
    let mut all = each.next()?;
    // Histograms of one trial have one range; what does not fit would only be left out.
    each.for_each(|one| {
        let _ = all.add(one);
    });
    Some(all)
}

/// The median of a value over the trials that decided an outcome.
fn median(outcome: &Outcome, read: impl Fn(&TrialRecord) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = deciding(outcome).into_iter().filter_map(read).collect();
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The deciding trials of each repetition of the measurement.
fn deciding(outcome: &Outcome) -> Vec<&TrialRecord> {
    let mut counted: Vec<(&str, &TrialRecord)> = Vec::new();
    for trial in &outcome.trials {
        match (trial.purpose.as_str(), counted.last_mut()) {
            // A disturbed trial was made again, and the new one counts in its place.
            ("stall-repetition", Some((_, disturbed))) => *disturbed = trial,
            (purpose, _) => counted.push((purpose, trial)),
        }
    }
    counted.retain(|(purpose, _)| *purpose != "warm-up");
    if counted.iter().any(|(purpose, _)| purpose.starts_with(LATENCY)) {
        return at_highest_load(counted);
    }
    let mut chosen = Vec::new();
    for part in counted.chunk_by(|(_, one), (_, other)| one.repetition == other.repetition) {
        let of = |wanted: &'static str| part.iter().filter(move |(purpose, _)| *purpose == wanted);
        match of("confirmation").next_back() {
            Some((_, confirmation)) => chosen.push(*confirmation),
            None if of("repetition").next().is_some() => {
                chosen.extend(of("repetition").map(|(_, trial)| *trial));
            }
            None => chosen.extend(part.last().map(|(_, trial)| *trial)),
        }
    }
    chosen
}

/// Of the trials of `latency`, those at the highest load, as TIPSY measures at its limit.
fn at_highest_load<'a>(mut trials: Vec<(&'a str, &'a TrialRecord)>) -> Vec<&'a TrialRecord> {
    trials.retain(|(purpose, _)| purpose.starts_with(LATENCY));
    let load = |trial: &TrialRecord| trial.load_pps().unwrap_or(0.0);
    let highest = trials.iter().map(|(_, trial)| load(trial)).fold(0.0, f64::max);
    let chosen = trials.into_iter().filter(|(_, trial)| load(trial) >= highest * 0.999);
    chosen.map(|(_, trial)| trial).collect()
}

/// Prefix of the purpose of `latency`'s trials, followed by their load.
const LATENCY: &str = "latency ";

fn sum(trial: &TrialRecord, one: impl Fn(&DirectionRecord, f64) -> f64) -> f64 {
    let seconds = trial.effective_ns as f64 * 1e-9;
    trial.directions.iter().map(|direction| one(direction, seconds)).sum()
}

/// Rate in Mbit/s of `frames` with the mean length of the frames sent.
fn bits(frames: u64, direction: &DirectionRecord, seconds: f64) -> f64 {
    frames as f64 * frame_bytes(direction) * 8.0 / seconds * 1e-6
}

/// Rate in Mbit/s of `frames` including the 20 bytes of preamble, start delimiter and gap of each
/// frame.
fn wire_bits(frames: u64, direction: &DirectionRecord, seconds: f64) -> f64 {
    frames as f64 * (frame_bytes(direction) + 20.0) * 8.0 / seconds * 1e-6
}

fn frame_bytes(direction: &DirectionRecord) -> f64 {
    direction.sent_bytes as f64 / direction.sent.max(1) as f64
}
