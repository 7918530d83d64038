//! The runs of a scenario in the order of time: each headline figure as a line, with its steps.
//!
//! Runs of two hosts are never in one line, and neither are results of two cells or methods. A
//! bound is no point, but is shown; what is not valid is shown and counts for no step. The records
//! are read one after the other, and only these figures are kept.

mod steps;
mod words;

use measure::record::{HostFacts, RunRecord};
use serde::Serialize;

pub use self::words::table;
pub(crate) use self::words::{heading, range_words, step_words, title};
use crate::archive::{Listing, record_file};
use crate::json::{self, RECORD_BYTES_MAX};
use crate::names::Names;
use crate::summary::{figure_name, headline};
use crate::words::outcomes;

/// The runs of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trend {
    /// Name of the scenario.
    pub scenario: String,
    /// Names of all scenarios of which there are runs, sorted.
    pub scenarios: Vec<String>,
    /// Number of its runs.
    pub runs: usize,
    /// Number of older runs that were left out, beyond the newest [`RUNS_MAX`].
    pub older: usize,
    /// Number of lines that were left out, beyond [`LINES_MAX`].
    pub further: usize,
    /// Lines, those of a host in succession.
    pub lines: Vec<Line>,
}

/// A headline figure over the runs of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The host: `AMD EPYC 9R14, 8 CPUs`.
    pub host: String,
    /// The cell, as reports name it.
    pub cell: String,
    /// The method.
    pub method: String,
    /// The figure: `throughput`.
    pub figure: String,
    /// Its unit, as in records.
    pub unit: String,
    /// The results, in the order of time.
    pub points: Vec<Point>,
    /// Where its level changes.
    pub steps: Vec<Step>,
}

/// A result in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the run's folder.
    pub run: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Version and commit of the program.
    pub program: String,
    /// Hash of the scenario's text.
    pub scenario_hash: String,
    /// The value, in the line's unit.
    pub value: f64,
    /// The value as text, with the sign of a bound.
    pub words: String,
    /// Smallest and largest value of the repetitions; `None` if measured once.
    pub range: Option<[f64; 2]>,
    /// Whether the value is a lower bound.
    pub is_bound: bool,
    /// Validity as text: `valid`, `valid, imprecise`, `not valid`.
    pub validity: &'static str,
    /// Names of the baselines that the run is.
    pub baselines: Vec<String>,
}

/// A change of a line's level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the first point behind it.
    pub at: usize,
    /// Median of the level before it.
    pub before: f64,
    /// Median of the level behind it.
    pub after: f64,
    /// Share of shuffles of the line that differ as much.
    pub p: f64,
    /// Program before and behind it.
    pub programs: [String; 2],
    /// Whether the text of the scenario changed, too.
    pub is_other_scenario: bool,
}

/// Reads the runs of a list. Without a name, those of the newest run's scenario; a scenario is
/// known by its name. A run that cannot be read any more is left out.
pub fn read(listing: Listing, scenario: Option<&str>) -> Trend {
    read_within(listing, scenario, RECORD_BYTES_MAX)
}

/// The same of runs whose records have at most `bytes_max`.
pub fn read_within(mut listing: Listing, scenario: Option<&str>, bytes_max: u64) -> Trend {
    let mut scenarios: Vec<String> = listing.runs.iter().map(|run| run.scenario.clone()).collect();
    let newest = scenarios.first().cloned();
    scenarios.sort();
    scenarios.dedup();
    let scenario = scenario.map(str::to_owned).or(newest).unwrap_or_default();
    listing.runs.retain(|run| run.scenario == scenario);
    let mut trend = Trend { scenario, scenarios, runs: listing.runs.len(), ..Trend::default() };
    trend.older = listing.runs.len().saturating_sub(RUNS_MAX);
    listing.runs.truncate(RUNS_MAX);
    let mut hosts = Vec::new();
    for run in listing.runs.iter().rev() {
        // It may have been removed since it was listed.
        let Ok(record) = json::read_within(&record_file(&run.path), bytes_max) else { continue };
        trend.add(&mut hosts, &run.name, &run.tags, &record);
    }
    trend.mark();
    trend
}

impl Trend {
    /// Adds the headline figures of a run, which is later than those before; `hosts` are the hosts
    /// so far.
    fn add(&mut self, hosts: &mut Vec<HostFacts>, run: &str, tags: &[String], record: &RunRecord) {
        let at = hosts.iter().position(|host| host.is_like(&record.host)).unwrap_or_else(|| {
            hosts.push(record.host.clone());
            hosts.len() - 1
        });
        let names = Names::of(record);
        for (cell, outcome) in outcomes(record) {
            let Some(figure) = headline(outcome) else { continue };
            let host = host_words(hosts, at);
            let line = Line {
                host,
                cell: names.of_cell(cell),
                method: outcome.method.clone(),
                figure: figure_name(&figure.name),
                unit: figure.unit.clone(),
                points: Vec::new(),
                steps: Vec::new(),
            };
            let Some(place) = self.place(line) else { continue };
            let baselines = tags.iter().filter_map(|tag| tag.strip_prefix(BASELINE));
            self.lines[place].points.push(Point {
                run: run.to_owned(),
                started: record.started.clone(),
                program: format!("{} {}", record.tool.version, short(&record.tool.commit)),
                scenario_hash: record.scenario.hash.clone(),
                value: figure.value,
                words: figure.words(),
                range: figure.spread.map(|spread| [spread.min, spread.max]),
                is_bound: figure.bound.is_some(),
                validity: outcome.validity.words(),
                baselines: baselines.map(str::to_owned).collect(),
            });
        }
    }

    /// The place of the line that is equal but for its points; a new one at the end of its host's.
    fn place(&mut self, line: Line) -> Option<usize> {
        let same = |one: &Line| {
            let of = |one: &Line| {
                [&one.host, &one.cell, &one.method, &one.figure, &one.unit].map(String::clone)
            };
            of(one) == of(&line)
        };
        if let Some(found) = self.lines.iter().position(same) {
            return Some(found);
        }
        if self.lines.len() >= LINES_MAX {
            self.further += 1;
            return None;
        }
        let last = self.lines.iter().rposition(|one| one.host == line.host);
        let at = last.map_or(self.lines.len(), |last| last + 1);
        self.lines.insert(at, line);
        Some(at)
    }

    /// Finds the steps of all lines.
    fn mark(&mut self) {
        for line in &mut self.lines {
            let points = &line.points;
            let counts: Vec<usize> = (0..points.len()).filter(|at| points[*at].counts()).collect();
            let values: Vec<f64> = counts.iter().map(|at| points[*at].value).collect();
            let step = |change: steps::Change| {
                let (before, at) = (&points[counts[change.at - 1]], counts[change.at]);
                Step {
                    at,
                    before: change.before,
                    after: change.after,
                    p: change.p,
                    programs: [before.program.clone(), points[at].program.clone()],
                    is_other_scenario: before.scenario_hash != points[at].scenario_hash,
                }
            };
            line.steps = steps::steps(&values).into_iter().map(step).collect();
        }
    }
}

impl Point {
    /// Whether steps are sought in it.
    fn counts(&self) -> bool {
        !self.is_bound && self.validity != NOT_VALID && self.value.is_finite()
    }

    /// Whether it is valid and precise.
    pub(crate) fn is_sure(&self) -> bool {
        self.validity == VALID
    }
}

/// A host as text; of several that read alike, by its number.
fn host_words(hosts: &[HostFacts], at: usize) -> String {
    let words = |host: &HostFacts| format!("{}, {} CPUs", host.cpu_model, host.cores);
    let this = words(&hosts[at]);
    match hosts[..at].iter().filter(|host| words(host) == this).count() {
        0 => this,
        before => format!("{this} (host {})", before + 1),
    }
}

fn short(commit: &str) -> String {
    let (hash, rest) = commit
        .split_once('-')
        .map_or((commit, String::new()), |(hash, rest)| (hash, format!("-{rest}")));
    format!("{}{rest}", hash.chars().take(COMMIT_CHARS).collect::<String>())
}

/// Most runs of a scenario that are shown, the newest.
pub const RUNS_MAX: usize = 200;

/// Most lines that are shown.
pub const LINES_MAX: usize = 100;

const VALID: &str = "valid";
const NOT_VALID: &str = "not valid";

/// What the tags of baselines begin with.
const BASELINE: &str = "baseline.";

/// Displayed length of a commit.
const COMMIT_CHARS: usize = 10;

#[cfg(test)]
mod tests;
