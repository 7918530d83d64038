//! What is held and reported, as figures, limits and words.

use measure::record::{
    Column, Figure, Limit, Outcome, ReportsRecord, Series, TrialRecord, Validity,
};
use measure::{Population, figure_words, validity};

use super::{Config, NAME};
use crate::Method;
use crate::figures::latency;

impl Config {
    pub(super) fn outcome(&self, records: Vec<TrialRecord>, population: Population) -> Outcome {
        let figures = records.last().map_or_else(Vec::new, |trial| self.figures(trial, population));
        let validity = Validity::from_limits(self.limits(&records, population));
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(&figures, population),
            aggregation: "all clients together, or per client; log messages are frames including \
                          their frame check sequence"
                .into(),
            series: records.last().map_or_else(Vec::new, |trial| self.series(trial)),
            figures,
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    /// The figures; log messages come first if there are any, then table entries.
    fn figures(&self, trial: &TrialRecord, population: Population) -> Vec<Figure> {
        let clients = population.clients as f64;
        let mut figures = Vec::new();
        if let Some((seconds, counted)) = self.counted(trial) {
            let by_the_clock = seconds * self.speed;
            let bytes = counted.bytes as f64 / by_the_clock;
            figures.extend([
                Figure::single("report_bytes_per_client_day", bytes / clients * DAY_S, "bytes"),
                Figure::single("report_bytes_per_s", bytes, "bytes"),
                Figure::single("reports_rate", counted.frames as f64 / by_the_clock, "1/s"),
            ]);
        }
        for table in &trial.tables {
            let entries = table.entries as f64;
            let each = Figure::single("entries_per_client", entries / clients, "entries");
            figures.push(each.of(&table.name));
            figures.push(Figure::single("entries", entries, "entries").of(&table.name));
        }
        let lost = trial.directions.iter().map(|direction| direction.lost as f64).sum();
        figures.extend([
            Figure::single("clients", clients, "clients"),
            Figure::single("offered_rate", self.rate(population).0, "pps"),
            Figure::single("lost_frames", lost, "frames"),
            Figure::single("loss_percent", trial.loss_percent, "percent"),
        ]);
        figures.extend(latency(trial));
        figures
    }

    /// Log messages after the settling time, and the number of seconds in which they were counted.
    fn counted(&self, trial: &TrialRecord) -> Option<(f64, ReportsRecord)> {
        let each = self.piece_s(trial)?;
        let settled = (self.settle.0 / each).ceil() as usize;
        let counted = trial.reports.get(settled..).filter(|pieces| !pieces.is_empty())?;
        let sum = |of: fn(&ReportsRecord) -> u64| counted.iter().map(of).sum();
        let all =
            ReportsRecord { frames: sum(|piece| piece.frames), bytes: sum(|piece| piece.bytes) };
        Some((each * counted.len() as f64, all))
    }

    /// Duration of an interval of counting, in seconds.
    fn piece_s(&self, trial: &TrialRecord) -> Option<f64> {
        let pieces = trial.reports.len();
        (pieces > 0).then(|| self.whole().as_secs_f64() / pieces as f64)
    }

    fn series(&self, trial: &TrialRecord) -> Vec<Series> {
        let Some(each) = self.piece_s(trial) else { return Vec::new() };
        let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
        let row = |(index, piece): (usize, &ReportsRecord)| {
            let time = each * (index as f64 + 1.0);
            vec![Some(time), Some(piece.frames as f64 / each), Some(piece.bytes as f64 / each)]
        };
        vec![Series {
            name: "reports".into(),
            title: "Log messages of the device in the course of the trial".into(),
            columns: vec![
                column("time", "s"),
                column("reports_rate", "1/s"),
                column("report_bytes_per_s", "bytes"),
            ],
            rows: trial.reports.iter().enumerate().map(row).collect(),
        }]
    }

    fn limits(&self, records: &[TrialRecord], population: Population) -> Vec<Limit> {
        let decisive: Vec<&TrialRecord> = records.iter().collect();
        let mut limits = validity::summarise(&decisive);
        let lost = records.iter().any(|trial| trial.directions.iter().any(|d| d.lost > 0));
        if lost {
            limits.push(Limit::of_search(
                false,
                "frames were lost; the loss of a session's first frame loses the whole session",
                "increase the function's tables, or lower the number of clients or speed",
            ));
        }
        if records.iter().all(|trial| trial.tables.is_empty()) {
            limits.push(Limit::of_search(
                true,
                format!(
                    "the device does not report the table entries of {} clients",
                    population.clients
                ),
                "choose another device",
            ));
        }
        limits
    }
}

fn answer(figures: &[Figure], population: Population) -> String {
    let of = |name: &str, table: &str| {
        let found = figures.iter().find(|f| f.name == name && f.of.as_deref() == Some(table));
        found.map(|figure| figure.value)
    };
    let tables = figures.iter().filter(|figure| figure.name == "entries").filter_map(|figure| {
        let table = figure.of.as_deref()?;
        let each = figure_words(of("entries_per_client", table)?, table);
        Some(format!("{} ({each} each)", figure_words(figure.value, table)))
    });
    let tables: Vec<String> = tables.collect();
    if tables.is_empty() {
        return "The device does not report its table entries.".into();
    }
    let day = figures.iter().find(|figure| figure.name == "report_bytes_per_client_day");
    let day = day.filter(|figure| figure.value > 0.0).map_or(String::new(), |figure| {
        format!("; it logs {} per client and day", figure_words(figure.value, "bytes"))
    });
    let clients = figure_words(population.clients as f64, "clients");
    format!("{clients} occupy {}{day}.", tables.join(", "))
}

const DAY_S: f64 = 86_400.0;
