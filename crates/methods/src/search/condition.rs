//! Conditions of a goal beyond the loss ratio: what else a trial must hold to pass.
//!
//! Written as people write them: `p99.9 <= 100 us`, `updates >= 99.9 %`. A trial in which a
//! condition cannot be judged (no latency was measured, no update was requested, no policer was
//! observed) misses it: conditions fail closed.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use measure::{Nanos, Policed, Ratio, Trial};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A condition on a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// Lost over sent frames, all directions together.
    Loss(Ratio),
    /// A percentile of latency (in percent) in the worst direction, in nanoseconds; 100 is the
    /// maximum.
    Latency(f64, Nanos),
    /// Frames that arrived behind a later frame, over frames received (RFC 4737 section 3).
    Reordered(Ratio),
    /// Duplicated frames over frames received.
    Duplicated(Ratio),
    /// Acknowledged events over requested events, as a lower limit.
    Updates(Ratio),
    /// Frames that showed the state before an acknowledged event, over frames received.
    Late(Ratio),
    /// Relative error of the rate that a policer let through, of the worst observed subscriber.
    PolicerError(Ratio),
}

impl Condition {
    /// The value that misses the condition, as text; none if the trial meets the condition.
    pub(crate) fn missed(self, trial: &Trial) -> Option<String> {
        match self {
            Self::Loss(max) => above("loss", Some(trial.loss_ratio()), max),
            Self::Latency(percent, max) => latency(trial, percent, max),
            Self::Reordered(max) => above("reordered", share(trial, |d| d.reordered), max),
            Self::Duplicated(max) => above("duplicated", share(trial, |d| d.duplicated), max),
            Self::Updates(min) => updates(trial, min),
            Self::Late(max) => {
                let late: u64 = trial.events.iter().map(|e| e.late_frames).sum();
                above("late", ratio(late, trial.received()), max)
            }
            Self::PolicerError(max) => above("policer-error", policer_error(trial), max),
        }
    }
}

/// Text for a ratio above its limit, or for an unknown ratio; none if the limit is met.
fn above(what: &str, value: Option<f64>, max: Ratio) -> Option<String> {
    match value {
        None => Some(format!("{what} could not be judged: nothing was observed")),
        Some(value) => exceeds(value, max).then(|| format!("{what} {}", Ratio(value))),
    }
}

/// Whether a ratio exceeds its limit. A small tolerance makes 10 of a million frames equal to `10
/// ppm` despite rounding. A limit of 0 is exact.
pub(super) fn exceeds(value: f64, max: Ratio) -> bool {
    value > max.0 * (1.0 + 1e-9)
}

fn latency(trial: &Trial, percent: f64, max: Nanos) -> Option<String> {
    let timed = trial.directions.iter().filter(|d| !d.latency_ns.is_empty());
    let worst = timed.map(|d| d.latency_ns.value_at_quantile(percent / 100.0)).max();
    match worst {
        None => Some("latency could not be judged: no frame was timed".into()),
        Some(ns) => (ns as f64 > max.0).then(|| format!("p{percent} {}", Nanos(ns as f64))),
    }
}

fn updates(trial: &Trial, min: Ratio) -> Option<String> {
    let requested = trial.events.iter().map(|e| e.requested).sum();
    let acknowledged = trial.events.iter().map(|e| e.acknowledged).sum();
    match ratio(acknowledged, requested) {
        None => Some("updates could not be judged: none was requested".into()),
        Some(value) => exceeds(min.0, Ratio(value)).then(|| format!("updates {}", Ratio(value))),
    }
}

fn share(trial: &Trial, count: fn(&measure::Direction) -> u64) -> Option<f64> {
    ratio(trial.directions.iter().map(count).sum(), trial.received())
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The error of the worst observed subscriber; none if no subscriber was observed. An exact policer
/// passes what was offered, up to its rate and one burst.
fn policer_error(trial: &Trial) -> Option<f64> {
    let seconds = trial.effective.as_secs_f64();
    let error = |p: &Policed| {
        let rate = p.configured_bytes_per_s * seconds;
        let offered = p.offered_bytes as f64;
        let (least, most) = (offered.min(rate), offered.min(rate + p.burst_bytes));
        let passed = p.passed_bytes as f64;
        let off = (least - passed).max(passed - most).max(0.0);
        if least > 0.0 { off / least } else { f64::from(u8::from(off > 0.0)) }
    };
    trial.policed.iter().map(error).max_by(f64::total_cmp)
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(max) => write!(f, "loss <= {max}"),
            Self::Latency(percent, max) => write!(f, "p{percent} <= {max}"),
            Self::Reordered(max) => write!(f, "reordered <= {max}"),
            Self::Duplicated(max) => write!(f, "duplicated <= {max}"),
            Self::Updates(min) => write!(f, "updates >= {min}"),
            Self::Late(max) => write!(f, "late <= {max}"),
            Self::PolicerError(max) => write!(f, "policer-error <= {max}"),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (at_most, (what, value)) = match (text.split_once("<="), text.split_once(">=")) {
            (Some(parts), None) => (true, parts),
            (None, Some(parts)) => (false, parts),
            _ => return Err(format!("`{text}` is not a condition; {KNOWN}")),
        };
        let (what, value) = (what.trim(), value.trim());
        let of = |error: measure::UnitError| format!("`{text}`: {error}");
        let ratio = || value.parse::<Ratio>().map_err(of);
        let condition = match what {
            "loss" => Self::Loss(ratio()?),
            "reordered" => Self::Reordered(ratio()?),
            "duplicated" => Self::Duplicated(ratio()?),
            "updates" => Self::Updates(ratio()?),
            "late" => Self::Late(ratio()?),
            "policer-error" => Self::PolicerError(ratio()?),
            _ => match what.strip_prefix('p').map(str::parse::<f64>) {
                Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => {
                    Self::Latency(percent, value.parse().map_err(of)?)
                }
                _ => return Err(format!("`{what}` is not a known quantity; {KNOWN}")),
            },
        };
        if at_most == matches!(condition, Self::Updates(_)) {
            let right = if at_most { ">=" } else { "<=" };
            return Err(format!("`{text}`: write `{what} {right} {value}`"));
        }
        Ok(condition)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Condition {
    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A condition on a trial, such as `p99.9 <= 100 us`.",
            "type": "string",
            "pattern": "^ *(loss|p[0-9.]+|reordered|duplicated|updates|late|policer-error) *(<=|>=)"
        })
    }
}

/// The conditions that can be written, for error messages.
const KNOWN: &str = "known are `loss <= 10 ppm`, `p99.9 <= 100 us` (any percentile, p100 is the \
                     maximum), `reordered <= 1 ppm`, `duplicated <= 0`, `updates >= 99.9 %`, \
                     `late <= 0`, `policer-error <= 1 %`";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hdrhistogram::Histogram;
    use measure::{Events, Load, Pps};

    use super::*;
    use crate::simulated::Simulated;

    /// A trial at 0.9 of a capacity, without loss.
    fn trial() -> Trial {
        use measure::Measurer;
        let load = Load::PerInterface(Pps(0.9e6));
        Simulated::fixed(1e6)
            .measure(load, Duration::from_secs(1), &mut crate::Unobserved)
            .expect("simulated")
    }

    fn missed(condition: &str, trial: &Trial) -> Option<String> {
        condition.parse::<Condition>().expect("a condition").missed(trial)
    }

    #[test]
    fn conditions_are_written_as_they_are_read() {
        for text in [
            "loss <= 0",
            "loss <= 10 ppm",
            "p99.9 <= 100 µs",
            "p50 <= 1.00 ms",
            "reordered <= 1 ppm",
            "duplicated <= 0",
            "updates >= 99.9 %",
            "late <= 0",
            "policer-error <= 1 %",
        ] {
            let condition: Condition = text.parse().expect(text);
            assert_eq!(condition.to_string().parse(), Ok(condition), "{text}");
        }
        assert_eq!("p99.9<=100us".parse(), Ok(Condition::Latency(99.9, Nanos(100e3))));
    }

    #[test]
    fn a_wrong_condition_says_what_would_be_right() {
        let error = |text: &str| text.parse::<Condition>().expect_err(text);
        assert!(error("jitter <= 1 us").contains("`p99.9 <= 100 us`"), "{}", error("jitter <= 1"));
        assert!(error("p101 <= 1 us").contains("known are"));
        assert!(error("loss < 1").contains("known are"));
        assert!(error("loss >= 1 %").contains("`loss <= 1 %`"));
        assert!(error("updates <= 1 %").contains("`updates >= 1 %`"));
        assert!(error("loss <= 3 us").contains("ppm"));
    }

    #[test]
    fn latency_is_that_of_the_worst_direction() {
        let mut trial = trial();
        // A mean of 20 us in the queue and 1 us on the way: the median is 14.8 us.
        assert_eq!(missed("p50 <= 15 us", &trial), None);
        assert_eq!(missed("p50 <= 14 us", &trial).as_deref(), Some("p50 14.8 µs"));
        trial.directions[1].latency_ns.saturating_record_n(5_000_000, 10_000);
        assert_eq!(missed("p50 <= 1 ms", &trial).as_deref(), Some("p50 5.00 ms"));
        trial.directions.clear();
        assert!(missed("p50 <= 1 s", &trial).is_some_and(|why| why.contains("no frame was timed")));
    }

    #[test]
    fn frames_out_of_order_or_repeated_are_shares_of_those_received() {
        let mut trial = trial();
        assert_eq!(missed("reordered <= 0", &trial), None);
        trial.directions[0].reordered = 18;
        trial.directions[0].duplicated = 180;
        assert_eq!(missed("reordered <= 10 ppm", &trial), None);
        assert_eq!(missed("reordered <= 9 ppm", &trial).as_deref(), Some("reordered 10 ppm"));
        assert_eq!(missed("duplicated <= 0", &trial).as_deref(), Some("duplicated 100 ppm"));
        assert_eq!(missed("duplicated <= 0.01 %", &trial), None);
    }

    #[test]
    fn updates_count_over_all_kinds_and_none_is_no_success() {
        let mut trial = trial();
        assert!(missed("updates >= 0", &trial).is_some(), "nothing was requested");
        let events = |requested, acknowledged, late_frames| {
            let none = || Histogram::new(3).expect("3 digits are allowed");
            Events {
                kind: "handover".into(),
                requested,
                acknowledged,
                refused: requested - acknowledged,
                late_frames,
                accepted_ns: none(),
                visible_ns: none(),
                blackout_ns: none(),
            }
        };
        trial.events = vec![events(900, 900, 0), events(100, 98, 9)];
        assert_eq!(missed("updates >= 99.8 %", &trial), None);
        assert_eq!(missed("updates >= 99.9 %", &trial).as_deref(), Some("updates 99.8 %"));
        assert_eq!(missed("late <= 5 ppm", &trial), None);
        assert_eq!(missed("late <= 0", &trial).as_deref(), Some("late 5 ppm"));
    }

    #[test]
    fn a_policer_errs_in_both_directions_and_its_burst_is_no_error() {
        let mut trial = trial();
        assert!(missed("policer-error <= 1", &trial).is_some(), "nothing was observed");
        let policed = |offered_bytes, passed_bytes| Policed {
            subscriber: 0,
            class: "uplink".into(),
            configured_bytes_per_s: 1e6,
            burst_bytes: 10e3,
            offered_bytes,
            passed_bytes,
        };
        for (offered, passed, error) in [
            (2_000_000, 1_000_000, 0.0),
            (2_000_000, 1_010_000, 0.0),
            (2_000_000, 1_020_000, 0.01),
            (2_000_000, 980_000, 0.02),
            (500_000, 500_000, 0.0),
            (500_000, 400_000, 0.2),
            (0, 0, 0.0),
            (0, 5, 1.0),
        ] {
            trial.policed = vec![policed(1, 1), policed(offered, passed)];
            let found = policer_error(&trial).expect("observed");
            assert!((found - error).abs() < 1e-9, "{passed} of {offered}: {found}");
        }
    }
}
