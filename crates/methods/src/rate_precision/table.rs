//! What each policer let through against what it is to let through, over several trials.

use std::collections::HashMap;

use measure::record::{Column, Series};
use measure::{Trial, statistics};

/// The sums of one subscriber in one class.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub subscriber: u64,
    /// Index of the class in [`Table::classes`].
    pub class: usize,
    /// Configured rate in bytes per second; 0 without a limit.
    pub configured: f64,
    pub seconds: f64,
    pub offered: u64,
    pub passed: u64,
    /// Bytes that an exact policer passes, with a full bucket at the start of each trial.
    pub allowed: f64,
    /// Bytes of the bursts within `allowed`.
    pub bursts: f64,
    /// Number of summed trials.
    pub trials: u32,
}

/// All counted subscribers.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub classes: Vec<String>,
    pub rows: Vec<Row>,
    at: HashMap<(usize, u64), usize>,
}

impl Table {
    /// Adds the counters of a trial. A rate that is not a positive number means no limit.
    pub fn add(&mut self, trial: &Trial) {
        let seconds = trial.effective.as_secs_f64();
        for policed in &trial.policed {
            let class = self.class(&policed.class);
            let rate = policed.configured_bytes_per_s;
            let configured = if rate.is_finite() { rate.max(0.0) } else { 0.0 };
            let burst = if policed.burst_bytes.is_finite() { policed.burst_bytes } else { 0.0 };
            let at = *self.at.entry((class, policed.subscriber)).or_insert(self.rows.len());
            if at == self.rows.len() {
                self.rows.push(Row {
                    subscriber: policed.subscriber,
                    class,
                    configured,
                    seconds: 0.0,
                    offered: 0,
                    passed: 0,
                    allowed: 0.0,
                    bursts: 0.0,
                    trials: 0,
                });
            }
            let row = &mut self.rows[at];
            row.seconds += seconds;
            row.offered += policed.offered_bytes;
            row.passed += policed.passed_bytes;
            row.allowed += configured * seconds + burst;
            row.bursts += burst;
            row.trials += 1;
        }
    }

    /// The rows whose policers were loaded enough to be judged.
    pub fn judged(&self, overload: f64) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.is_judged(overload))
    }

    /// The errors of the judged policers in percent, of one class or of all.
    pub fn errors_percent(&self, overload: f64, class: Option<usize>) -> Vec<f64> {
        let wanted = move |row: &&Row| class.is_none_or(|class| row.class == class);
        self.judged(overload).filter(wanted).map(Row::error_percent).collect()
    }

    /// The series of the record, with one row per subscriber and class.
    pub fn series(&self, overload: f64) -> Series {
        let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
        let mut columns = vec![
            column("subscriber", ""),
            column("configured_bytes_per_s", "B/s"),
            column("offered_bytes_per_s", "B/s"),
            column("passed_bytes_per_s", "B/s"),
            column("error_percent", "percent"),
        ];
        let mut title = "Rate passed by each policer against its configured rate".to_owned();
        let several = self.classes.len() > 1;
        if several {
            columns.push(column("class_index", ""));
            let named = self.classes.iter().enumerate().map(|(at, name)| format!("{at} {name}"));
            title += &format!("; classes: {}", named.collect::<Vec<_>>().join(", "));
        }
        let row = |row: &Row| {
            let per_s = |bytes: u64| (row.seconds > 0.0).then(|| bytes as f64 / row.seconds);
            let error = row.is_judged(overload).then(|| row.error_percent());
            let limit = (row.configured > 0.0).then_some(row.configured);
            let mut values = vec![
                Some(row.subscriber as f64),
                limit,
                per_s(row.offered),
                per_s(row.passed),
                error,
            ];
            values.extend(several.then_some(Some(row.class as f64)));
            values
        };
        let rows = self.rows.iter().map(row).collect();
        Series { name: "policer-precision".into(), title, columns, rows }
    }

    fn class(&mut self, name: &str) -> usize {
        if let Some(at) = self.classes.iter().position(|known| known == name) {
            return at;
        }
        self.classes.push(name.to_owned());
        self.classes.len() - 1
    }
}

impl Row {
    /// Whether the subscriber was offered enough for its policer to drop: at least half of the
    /// intended excess over its rate, and more than an exact policer passes.
    fn is_judged(&self, overload: f64) -> bool {
        let rate = self.configured * self.seconds;
        let offered = self.offered as f64;
        rate > 0.0 && offered >= rate * (1.0 + overload) / 2.0 && offered > self.allowed
    }

    /// Passed traffic divided by that of an exact policer, minus 1, in percent.
    pub fn error_percent(&self) -> f64 {
        (self.passed as f64 / self.allowed - 1.0) * 100.0
    }

    /// Size of one frame at the end of each trial, as a fraction of the traffic of an exact
    /// policer.
    pub fn uncertainty(&self, frame_bytes: f64) -> f64 {
        frame_bytes * f64::from(self.trials) / self.allowed
    }

    /// Bytes that an exact policer would have passed and this one dropped, if the offered traffic
    /// conforms.
    pub fn wrongly_dropped(&self) -> f64 {
        (self.conforming() - self.passed as f64).max(0.0)
    }

    /// Bytes of the offered traffic that conform at most.
    pub fn conforming(&self) -> f64 {
        if self.configured > 0.0 { (self.offered as f64).min(self.allowed) } else { 0.0 }
    }
}

/// The value farthest from 0, with its sign.
pub(super) fn worst(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))
}

/// The median.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    statistics::median(values)
}
