//! What each policer let through against what it is to let through, over several trials.

use std::collections::HashMap;

use measure::record::{Column, Series};
use measure::{Trial, statistics};

/// The sums of one subscriber in one class.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub subscriber: u64,
    /// The number of its class in [`Table::classes`].
    pub class: usize,
    /// Bytes a second; 0 where there is no limit.
    pub configured: f64,
    pub seconds: f64,
    pub offered: u64,
    pub passed: u64,
    /// What an exact policer with a full bucket at the start of each trial lets through, in bytes.
    pub allowed: f64,
    /// Of that, the bursts.
    pub bursts: f64,
    /// Trials that are summed.
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
    /// Adds what a trial tells. A rate that is no positive number is no limit.
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

    /// The rows whose policers were put to the test.
    pub fn judged(&self, overload: f64) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.is_judged(overload))
    }

    /// The errors in percent of those, of one class or of all.
    pub fn errors_percent(&self, overload: f64, class: Option<usize>) -> Vec<f64> {
        let wanted = move |row: &&Row| class.is_none_or(|class| row.class == class);
        self.judged(overload).filter(wanted).map(Row::error_percent).collect()
    }

    /// The series of the record: a row a subscriber and class.
    pub fn series(&self, overload: f64) -> Series {
        let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
        let mut columns = vec![
            column("subscriber", ""),
            column("configured_bytes_per_s", "B/s"),
            column("offered_bytes_per_s", "B/s"),
            column("passed_bytes_per_s", "B/s"),
            column("error_percent", "percent"),
        ];
        let mut title = "What each policer let through against its configured rate".to_owned();
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
    /// Whether it was offered so much that its policer had to drop: at least half of the intended
    /// excess over its rate, and more than an exact policer lets through.
    fn is_judged(&self, overload: f64) -> bool {
        let rate = self.configured * self.seconds;
        let offered = self.offered as f64;
        rate > 0.0 && offered >= rate * (1.0 + overload) / 2.0 && offered > self.allowed
    }

    /// What passed against what was to pass, less 1.
    pub fn error_percent(&self) -> f64 {
        (self.passed as f64 / self.allowed - 1.0) * 100.0
    }

    /// How much of what was to pass one frame at the end of each trial is.
    pub fn uncertainty(&self, frame_bytes: f64) -> f64 {
        frame_bytes * f64::from(self.trials) / self.allowed
    }

    /// Bytes that an exact policer would have let through and this one did not, where not more was
    /// offered than conforms.
    pub fn wrongly_dropped(&self) -> f64 {
        (self.conforming() - self.passed as f64).max(0.0)
    }

    /// Of what was offered, at most what conforms.
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
