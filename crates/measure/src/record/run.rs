//! The outermost level of a record: what ran, when, where, and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Cell, HostFacts};

/// The complete record of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of the record's format; a reader refuses newer versions.
    pub schema_version: u32,
    /// Identifier of the run, the same as its folder's name; empty in records of version 1.
    #[serde(default)]
    pub id: String,
    /// The program that made the run.
    pub tool: Tool,
    /// The scenario of the run.
    pub scenario: Scenario,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Time of the last write of the record, RFC 3339 in UTC.
    pub finished: String,
    /// Duration of the run, in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Tags given when the run was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Facts of the machine, and its noise.
    pub host: HostFacts,
    /// Repetitions and order of the measurements.
    #[serde(default)]
    pub plan: PlanRecord,
    /// One entry per combination of swept keys, in the order of the scenario.
    pub cells: Vec<Cell>,
    /// Comparisons of the values of a key, if the scenario requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// Thresholds of the scenario, and whether they were met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdVerdict>,
    /// Plots that the scenario requests (TIPSY's `visualize`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<Plot>,
    /// Status of the run.
    pub status: Status,
    /// Why the run did not pass, as a sentence; empty if it passed.
    #[serde(default)]
    pub message: String,
}

/// The program that made the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Name of the program: `plumbline`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Commit from which the program was built, with `-dirty` for a modified tree; `unknown`
    /// outside git.
    pub commit: String,
}

/// The scenario as it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// Path from which the scenario was read.
    pub file: String,
    /// Description of the scenario.
    pub description: String,
    /// Prefixes of the names of published figures that the report shows; empty for all figures of
    /// the function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Text of the file, byte for byte.
    pub text: String,
    /// Hash of the text, with the name of the algorithm: `blake3:…`.
    pub hash: String,
}

/// Repetitions and order of the measurements of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// Seed of the order.
    pub seed: u64,
    /// Number of repetitions of each cell.
    pub repetitions: u32,
    /// The key whose values were measured in pairs, side by side; absent without comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
    /// Number of measurements: all repetitions of all methods of all cells.
    pub measurements: usize,
    /// Number of measurements that were reused from earlier runs.
    pub from_cache: usize,
}

/// A comparison of one figure under two values of a key, over pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The key, as a dotted path from the top of the scenario; `run` for two runs.
    pub key: String,
    /// The compared value.
    pub a: Value,
    /// The reference value.
    pub b: Value,
    /// The benchmark of the compared cells, if the scenario has several and it is not the key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub benchmark: String,
    /// The other swept keys and their values.
    pub parameters: Map<String, Value>,
    /// Name of the method.
    pub method: String,
    /// Name of the figure, as [`super::Figure::name`].
    pub figure: String,
    /// Unit of the figure.
    pub unit: String,
    /// Number of pairs.
    pub pairs: usize,
    /// Ratio of the figure of `a` to that of `b`, as the geometric mean over pairs.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio; absent for fewer than three pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_95: Option<[f64; 2]>,
    /// Whether the difference exceeds the noise, and the margin within which figures are the same.
    pub is_change: bool,
    /// What is shown; records of before have none, and their answers say it.
    #[serde(default)]
    pub verdict: Verdict,
    /// The result in one sentence: `A is 1.17 times B (1.13 to 1.21)`.
    pub answer: String,
}

/// What a comparison shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figure of `a` is the higher one.
    Higher,
    /// The figure of `a` is the lower one.
    Lower,
    /// They are the same, within a margin.
    Same,
    /// The noise hides which of these holds, or there are too few repetitions to know it.
    #[default]
    Inconclusive,
}

/// The verdict on a threshold of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdVerdict {
    /// Identifier of the cell.
    pub cell: String,
    /// Name of the method.
    pub method: String,
    /// Name of the figure.
    pub figure: String,
    /// The threshold as written in the scenario: `>= 5 Mpps`.
    pub condition: String,
    /// The measured value, in the unit of the figure; absent if there is no valid figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether the threshold was met; a value that was not measured does not meet it.
    pub met: bool,
    /// The verdict in one sentence.
    pub answer: String,
}

/// A plot that the scenario requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plot {
    /// Kind of the plot.
    pub kind: PlotKind,
    /// Title of the plot, with placeholders such as `{pipeline.name}` not replaced.
    pub title: String,
    /// Dotted path of the horizontal axis: `pipeline.user`, `out.throughput.RX.PacketRate`.
    pub x_axis: String,
    /// Dotted paths of the vertical axis (columns, in a table).
    pub y_axis: Vec<String>,
    /// Dotted path of the colour of a contour plot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub z_axis: Option<String>,
    /// Paths whose combinations of values get one curve each.
    pub group_by: Vec<String>,
    /// Selection of results: paths and their required values, or `{"$lt": …}`, `{"$gt": …}`,
    /// `{"$not": …}`.
    pub filter: Map<String, Value>,
    /// Scales of the axes.
    pub axis_type: AxisType,
}

/// Kind of a plot, with TIPSY's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PlotKind {
    /// Curves.
    #[default]
    #[serde(rename = "simple")]
    Simple,
    /// A table.
    #[serde(rename = "table")]
    Table,
    /// A surface over two keys.
    #[serde(rename = "contour")]
    Contour,
    /// Curves with the fit of the universal scalability law.
    #[serde(rename = "USL")]
    Usl,
}

/// Scales of a plot's axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AxisType {
    /// Both linear.
    #[default]
    Normal,
    /// Horizontal axis logarithmic.
    SemilogX,
    /// Vertical axis logarithmic.
    SemilogY,
    /// Both logarithmic.
    LogLog,
}

/// Status of a run; it determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every cell was checked and measured, and every measurement is valid.
    Passed,
    /// The functional check found a difference; figures are withheld.
    CheckFailed,
    /// A measurement is not valid (its limits say why), or a device cannot run on this machine.
    Invalid,
    /// All measurements are valid, but a threshold of the scenario was not met.
    ThresholdMissed,
    /// A device or a method failed.
    Failed,
    /// The user stopped the run; finished cells are complete.
    Interrupted,
}

impl RunRecord {
    /// Version of the record's format that this code writes, and the newest version that it reads.
    pub const SCHEMA_VERSION: u32 = 2;

    /// Identifier of the run; for a record without one, the name of its folder.
    pub fn name(&self) -> String {
        if !self.id.is_empty() {
            return self.id.clone();
        }
        let second = self.started.split(['.', 'Z']).next().unwrap_or_default();
        format!("{}-{}Z", self.scenario.name, second.replace(['-', ':'], ""))
    }

    /// Sets `message` to the first cause of the status.
    pub fn set_message(&mut self) {
        self.message = self.why().unwrap_or_default();
    }

    fn why(&self) -> Option<String> {
        let cells = || self.cells.iter();
        match self.status {
            Status::Passed => None,
            Status::CheckFailed => cells().find_map(|cell| {
                let check = cell.check.as_ref().filter(|check| !check.passed)?;
                let (differ, all, what) = (check.mismatch_count, check.frames, check.of.plural());
                Some(format!("{}: {differ} of {all} {what} differ from the oracle", cell.label()))
            }),
            Status::Failed => {
                cells().find_map(|cell| Some(format!("{}: {}", cell.label(), cell.error.as_ref()?)))
            }
            Status::Invalid => cells().find_map(|cell| {
                if let Some(unavailable) = &cell.unavailable {
                    return Some(format!("{}: {unavailable}", cell.label()));
                }
                let mut limits = cell.outcomes.iter().flat_map(|outcome| {
                    outcome.validity.limits.iter().map(move |limit| (&outcome.method, limit))
                });
                let (method, limit) = limits.find(|(_, limit)| limit.invalidates)?;
                Some(format!("{}, {method}: {}", cell.label(), limit.what))
            }),
            Status::ThresholdMissed => {
                self.thresholds.iter().find(|one| !one.met).map(|one| one.answer.clone())
            }
            Status::Interrupted => Some("interrupted before the last measurement".to_owned()),
        }
    }
}

impl Status {
    /// The status that follows from the cells, or `Interrupted` if the user stopped the run. The
    /// worst event determines it: a wrong output outweighs a missing figure.
    pub fn of(cells: &[Cell], interrupted: bool) -> Self {
        if cells.iter().any(|c| c.check.as_ref().is_some_and(|check| !check.passed)) {
            Self::CheckFailed
        } else if cells.iter().any(|c| c.error.is_some()) {
            Self::Failed
        } else if interrupted {
            Self::Interrupted
        } else if cells.iter().any(|c| c.unavailable.is_some())
            || cells.iter().flat_map(|c| &c.outcomes).any(|o| !o.validity.valid)
        {
            Self::Invalid
        } else {
            Self::Passed
        }
    }
}

/// JSON Schema of `run.json`: of what this version writes, and of what earlier ones wrote. Objects
/// have no other keys than those that it names, so that a misspelt one does not pass.
pub fn record_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(RunRecord);
    close(&mut schema);
    schema
}

/// Closes every object with known keys.
fn close(schema: &mut schemars::Schema) {
    schemars::transform::transform_subschemas(&mut close, schema);
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}
