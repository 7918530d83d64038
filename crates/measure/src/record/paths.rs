//! Dotted paths into a cell, as plots and tables name what they show.
//!
//! The words are TIPSY's: `pipeline.user`, `traffic.pkt-size`, `out.throughput.RX.PacketRate`;
//! beside them stand facts of a cell (`cell.setup_seconds`) and every figure of every method
//! (`capacity.function_pps`, `throughput.latency_p99.uplink`). Units are TIPSY's where the word is
//! TIPSY's: PacketRate is in Mpps, Mbit in Mbit/s of frames, `out.rfc2544` in Mbit/s on the wire,
//! latency in nanoseconds. Where several directions run, rates are summed over them, as each of
//! TIPSY's tests has one only.
//!
//! What a cell does not have is none, never zero. Deliberately absent: any drawing.

mod filter;
mod out;

use serde_json::{Map, Value};

use super::{Cell, Outcome};
use crate::value_words;

pub use filter::OPERATORS;

/// A path with a fixed meaning, for plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// The dotted path.
    pub path: &'static str,
    /// Unit of the values; empty for names.
    pub unit: &'static str,
    /// Meaning of the values.
    pub meaning: &'static str,
}

/// All paths with a fixed meaning. In addition, paths may be keys of `pipeline` (`function`),
/// `traffic`, `device`, `tester` and `sut`, and figures as `method.figure`.
pub const PATHS: &[KnownPath] = &[
    known("id", "", "the benchmark of the scenario"),
    known("pipeline.name", "", "the function"),
    known("sut.type", "", "the device"),
    known("device.name", "", "the device"),
    known("cell.setup_seconds", "s", "time to set up the device's state"),
    known("cell.state_bytes", "bytes", "memory of the function's state"),
    known(
        "cell.state_bytes_per_user",
        "bytes",
        "memory of the function's state per user or session",
    ),
    known("cell.resident_bytes", "bytes", "resident memory of the whole process after the set-up"),
    known("cell.sessions_open", "sessions", "sessions that are open in every trial of frames"),
    known("out.throughput.TX.PacketRate", "Mpps", "frames sent"),
    known("out.throughput.TX.Mbit", "Mbit/s", "bits of the frames sent"),
    known("out.throughput.RX.PacketRate", "Mpps", "frames received"),
    known("out.throughput.RX.Mbit", "Mbit/s", "bits of the frames received, by their sent length"),
    known("out.flood.TX.PacketRate", "Mpps", "frames sent at the maximum rate"),
    known("out.flood.TX.Mbit", "Mbit/s", "bits of the frames sent at the maximum rate"),
    known("out.flood.RX.PacketRate", "Mpps", "frames received at the maximum rate"),
    known("out.flood.RX.Mbit", "Mbit/s", "bits received at the maximum rate, by their sent length"),
    known("out.rfc2544.limit", "Mbit/s", "throughput on the wire"),
    known("out.rfc2544.tx", "Mbit/s", "rate sent on the wire in the confirming trial"),
    known("out.rfc2544.rx", "Mbit/s", "rate received on the wire in the confirming trial"),
    known("out.latency.Samples", "", "number of timed frames"),
    known("out.latency.Average", "ns", "mean latency"),
    known("out.latency.StdDev", "ns", "standard deviation of latency"),
    known("out.latency.1st_Quartiles", "ns", "first quartile of latency"),
    known("out.latency.2nd_Quartiles", "ns", "median latency"),
    known("out.latency.3rd_Quartiles", "ns", "third quartile of latency"),
];

const fn known(path: &'static str, unit: &'static str, meaning: &'static str) -> KnownPath {
    KnownPath { path, unit, meaning }
}

impl Cell {
    /// The value at a path, as in the scenario file or in the method's result; none if the cell has
    /// no such value.
    pub fn value_at(&self, path: &str) -> Option<Value> {
        let (head, rest) = path.split_once('.').unwrap_or((path, ""));
        match (head, rest) {
            ("id", "") => Some(self.benchmark.clone().into()),
            ("pipeline" | "function", "name") => Some(self.function.clone().into()),
            ("sut", "type") | ("device", "name") => Some(self.device.clone().into()),
            ("pipeline" | "function", key) => self.configured("function", key),
            ("traffic" | "device" | "tester" | "sut", key) => self.configured(head, key),
            ("cell", "setup_seconds") => number(self.setup_seconds?),
            ("cell", "state_bytes") => Some(self.state_bytes?.into()),
            ("cell", "state_bytes_per_user") => number(self.state_bytes_per_user?),
            ("cell", "resident_bytes") => Some(self.resident_bytes?.into()),
            ("cell", "sessions_open") => Some(self.sessions_open?.into()),
            ("out", what) => number(out::value(self, what)?),
            (method, figure) => number(self.figure_at(method, figure)?),
        }
    }

    /// The value at a path as a number; none if it is not a number.
    pub fn number_at(&self, path: &str) -> Option<f64> {
        self.value_at(path)?.as_f64()
    }

    /// Whether the value at a path is a lower bound.
    pub fn is_bound_at(&self, path: &str) -> bool {
        let (method, figure) = path.split_once('.').unwrap_or((path, ""));
        match (method, figure) {
            ("out", what) => out::is_bound(self, what),
            _ => self.find(method, figure).is_some_and(|figure| figure.bound.is_some()),
        }
    }

    /// Whether the cell passes a plot's filter: each path has the wanted value, or meets its
    /// condition (`$lt`, `$lte`, `$gt`, `$gte`, `$ne`, `$in`, `$not`).
    pub fn passes(&self, filter: &Map<String, Value>) -> bool {
        filter.iter().all(|(path, wanted)| {
            self.value_at(path).is_some_and(|value| filter::holds(&value, wanted))
        })
    }

    /// A title in which each `{path}` is replaced by its value in this cell, or by a dash.
    pub fn fill(&self, title: &str) -> String {
        let mut filled = String::new();
        let mut rest = title;
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((path, after)) = behind.split_once('}') else { break };
            filled += before;
            filled += &match self.value_at(path) {
                Some(value @ (Value::Object(_) | Value::Array(_))) => value_words(&value),
                Some(Value::String(text)) => text,
                Some(other) => other.to_string(),
                None => "–".to_owned(),
            };
            rest = after;
        }
        filled + rest
    }

    /// Unit of the values at a path; empty if there is none or it is unknown.
    pub fn unit_at(&self, path: &str) -> &str {
        if let Some(known) = PATHS.iter().find(|known| known.path == path) {
            return known.unit;
        }
        let (method, figure) = path.split_once('.').unwrap_or((path, ""));
        self.find(method, figure).map_or("", |figure| figure.unit.as_str())
    }

    fn configured(&self, section: &str, key: &str) -> Option<Value> {
        let section = self.configuration.get(section)?;
        key.split('.').try_fold(section, |value, key| value.get(key)).cloned()
    }

    fn figure_at(&self, method: &str, figure: &str) -> Option<f64> {
        self.find(method, figure).map(|figure| figure.value)
    }

    /// Looks up a figure by `figure` or `figure.of`.
    fn find(&self, method: &str, figure: &str) -> Option<&super::Figure> {
        let of_method = |outcome: &&Outcome| outcome.method == method;
        self.outcomes.iter().filter(of_method).find_map(|outcome| {
            let (name, of) = match figure.split_once('.') {
                Some((name, of)) => (name, Some(of)),
                None => (figure, None),
            };
            outcome.figures.iter().find(|one| one.name == name && one.of.as_deref() == of)
        })
    }
}

/// A number as JSON; none if JSON cannot represent it.
fn number(value: f64) -> Option<Value> {
    serde_json::Number::from_f64(value).map(Value::Number)
}

#[cfg(test)]
mod tests;
