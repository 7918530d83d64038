//! What was measured at each load, and its figures.

use measure::record::{Column, Figure, Series};
use measure::{Direction, Trial};

use super::NAME;
use crate::figures::{LATENCIES, Reading, over_repetitions};
use crate::reference::Throughput;

/// A load and its trials.
pub(super) struct Point {
    /// Label of the load: `no load`, `50 %` …
    pub label: String,
    /// Load per port and direction, in packets per second.
    pub load_pps: f64,
    /// Load in percent of the throughput.
    pub load_percent: f64,
    /// Indices of the counting trials.
    pub trials: Vec<usize>,
    /// Lost frames as a fraction of sent frames, by trial.
    pub loss: Vec<f64>,
    /// Readings by direction.
    directions: Vec<Readings>,
}

/// Readings of one direction.
struct Readings {
    name: String,
    /// Values by trial, in the order of [`READINGS`].
    values: Vec<[f64; READINGS.len()]>,
}

impl Point {
    pub(super) fn new(label: String, load_pps: f64, throughput_pps: f64) -> Self {
        let load_percent = load_pps / throughput_pps * 100.0;
        Self {
            label,
            load_pps,
            load_percent,
            trials: Vec::new(),
            loss: Vec::new(),
            directions: Vec::new(),
        }
    }

    /// Adds the readings of the trial with number `index`.
    pub(super) fn add(&mut self, trial: &Trial, index: usize) {
        self.trials.push(index);
        self.loss.push(trial.loss_ratio());
        for direction in trial.directions.iter().filter(|d| !d.latency_ns.is_empty()) {
            let values = READINGS.map(|(_, read)| read(direction));
            match self.directions.iter_mut().find(|d| d.name == direction.name) {
                Some(readings) => readings.values.push(values),
                None => {
                    let name = direction.name.clone();
                    self.directions.push(Readings { name, values: vec![values] });
                }
            }
        }
    }

    pub(super) fn interfaces(&self) -> usize {
        self.directions.len()
    }

    /// The median over repetitions in the direction with the larger value.
    pub(super) fn worst(&self, name: &str) -> Option<f64> {
        let of = |direction: &Readings| direction.figure(name).map(|figure| figure.value);
        self.directions.iter().filter_map(of).max_by(f64::total_cmp)
    }
}

impl Readings {
    fn figure(&self, name: &str) -> Option<Figure> {
        let index = READINGS.iter().position(|(known, _)| *known == name)?;
        let values: Vec<f64> = self.values.iter().map(|values| values[index]).collect();
        over_repetitions(name, "ns", &values)
    }
}

/// The figures: the headline for the highest load in its slower direction, then every load and
/// direction.
pub(super) fn figures(points: &[Point], throughput: &Throughput) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Some(top) = points.last() {
        for name in ["latency_p50", "latency_p99_9", "latency_pdv"] {
            let each = top.directions.iter().filter_map(|direction| direction.figure(name));
            figures.extend(each.max_by(|a, b| a.value.total_cmp(&b.value)));
        }
    }
    let reference = throughput.pps.map(|pps| Figure::single("reference_throughput", pps, "pps"));
    figures.extend(reference);
    for point in points {
        let loss: Vec<f64> = point.loss.iter().map(|loss| loss * 100.0).collect();
        figures
            .extend(over_repetitions("loss_percent", "percent", &loss).map(|f| f.of(&point.label)));
        for direction in &point.directions {
            let part = format!("{}, {}", point.label, direction.name);
            let named = READINGS.iter().filter_map(|(name, _)| direction.figure(name));
            figures.extend(named.map(|figure| figure.of(&part)));
        }
    }
    figures
}

/// A series with one row per load and direction.
pub(super) fn series(points: &[Point], throughput: &Throughput) -> Series {
    let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
    let mut columns = vec![
        column("load_percent", "percent"),
        column("load_pps", "pps"),
        column("direction", "index"),
    ];
    let plain = |name: &str| name.trim_start_matches("latency_").to_owned();
    columns.extend(READINGS.iter().map(|(name, _)| column(&plain(name), "ns")));
    let mut rows = Vec::new();
    for point in points {
        for (index, direction) in point.directions.iter().enumerate() {
            let mut row = vec![Some(point.load_percent), Some(point.load_pps), Some(index as f64)];
            let value = |(name, _): &(&str, Reading)| direction.figure(name).map(|f| f.value);
            row.extend(READINGS.iter().map(value));
            rows.push(row);
        }
    }
    let names: Vec<String> = points.first().map_or_else(Vec::new, |point| {
        let numbered = point.directions.iter().enumerate();
        numbered.map(|(index, direction)| format!("{index} is {}", direction.name)).collect()
    });
    Series {
        name: "latency-by-load".into(),
        title: format!(
            "{NAME} by load; 100 % is {}; direction {}",
            throughput.words(),
            names.join(", ")
        ),
        columns,
        rows,
    }
}

/// Readings of each direction in each trial: those of RFC 8219, and further common ones.
const READINGS: [(&str, Reading); LATENCIES.len() + 2] = [
    LATENCIES[0],
    LATENCIES[1],
    LATENCIES[2],
    LATENCIES[3],
    LATENCIES[4],
    LATENCIES[5],
    ("latency_mean", |d: &Direction| d.latency_ns.mean()),
    ("latency_pdv", |d: &Direction| {
        d.latency_ns.value_at_quantile(0.999).saturating_sub(d.latency_ns.min()) as f64
    }),
];
