//! The outermost level of a record: what ran, when, where, and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Cell, HostFacts};

/// Everything that is kept of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Version of this format; a reader refuses what is newer than itself.
    pub schema_version: u32,
    /// Names the run, as its folder is named; empty in records of version 1.
    #[serde(default)]
    pub id: String,
    /// The program that measured.
    pub tool: Tool,
    /// What it was asked.
    pub scenario: Scenario,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// When the record was last written, RFC 3339 in UTC.
    pub finished: String,
    /// From one to the other.
    #[serde(default)]
    pub seconds: f64,
    /// Words by which runs are found again, given when the run was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The machine, and how quiet it was.
    pub host: HostFacts,
    /// How the measurements were repeated and ordered.
    #[serde(default)]
    pub plan: PlanRecord,
    /// One entry for each combination of swept keys, in the order of the scenario.
    pub cells: Vec<Cell>,
    /// Differences between two values of a key, where the scenario asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// Thresholds of the scenario and whether they were met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdVerdict>,
    /// Plots that the scenario asks for (TIPSY's `visualize`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<Plot>,
    /// How the run ended.
    pub status: Status,
    /// What keeps the run from having passed, in a sentence; empty where it passed.
    #[serde(default)]
    pub message: String,
}

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `plumbline`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from, with `-dirty` if the tree was changed; `unknown` outside git.
    pub commit: String,
}

/// The scenario as it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The path it was read from.
    pub file: String,
    /// What it says of itself.
    pub description: String,
    /// Which published figures stand beside its own, by the beginnings of their names; all of the
    /// function's where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// The file, byte for byte.
    pub text: String,
    /// Hash of the text, with the algorithm in front: `blake3:…`.
    pub hash: String,
}

/// How the measurements of a run were repeated and ordered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// What the order was drawn from.
    pub seed: u64,
    /// How often each cell was measured.
    pub repetitions: u32,
    /// The key whose values were measured in pairs, side by side, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
    /// Measurements to make, all repetitions of all methods of all cells.
    pub measurements: usize,
    /// Of these, taken from an earlier run.
    pub from_cache: usize,
}

/// One figure under two values of a key, measured in pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The key, dotted from the top of the scenario (of two runs: `run`).
    pub key: String,
    /// The value that is compared.
    pub a: Value,
    /// The value it is compared with.
    pub b: Value,
    /// The other swept keys and their values.
    pub parameters: Map<String, Value>,
    /// The method.
    pub method: String,
    /// The figure, as [`super::Figure::name`].
    pub figure: String,
    /// The unit of the figure.
    pub unit: String,
    /// How many pairs.
    pub pairs: usize,
    /// The figure of `a` over that of `b`, the geometric mean over pairs.
    pub ratio: f64,
    /// Its 95 % confidence interval; absent for fewer than three pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_95: Option<[f64; 2]>,
    /// Whether the two differ by more than the noise.
    pub is_change: bool,
    /// The result in one sentence: `A is 1.17 ± 0.04 times B`.
    pub answer: String,
}

/// A threshold of the scenario and whether a result met it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdVerdict {
    /// The cell's id.
    pub cell: String,
    /// The method.
    pub method: String,
    /// The figure.
    pub figure: String,
    /// The threshold as the scenario has it: `>= 5 Mpps`.
    pub condition: String,
    /// What was measured, in the unit of the figure; absent when there is no valid figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether it was met; what was not measured is not met.
    pub met: bool,
    /// The verdict in one sentence.
    pub answer: String,
}

/// A plot that the scenario asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plot {
    /// Its kind.
    pub kind: PlotKind,
    /// Its title, placeholders `{pipeline.name}` not yet filled in.
    pub title: String,
    /// Dotted path of the horizontal axis: `pipeline.user`, `out.throughput.RX.PacketRate`.
    pub x_axis: String,
    /// Dotted paths of the vertical axis (columns, in a table).
    pub y_axis: Vec<String>,
    /// Dotted path of the colour of a contour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub z_axis: Option<String>,
    /// One curve for each combination of these.
    pub group_by: Vec<String>,
    /// Which results to take: a path and the value it must have, or `{"$lt": …}`, `{"$gt": …}`,
    /// `{"$not": …}`.
    pub filter: Map<String, Value>,
    /// The scales of the axes.
    pub axis_type: AxisType,
}

/// Kinds of plots, as TIPSY has them.
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

/// Scales of the axes of a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AxisType {
    /// Both linear.
    #[default]
    Normal,
    /// The horizontal one logarithmic.
    SemilogX,
    /// The vertical one logarithmic.
    SemilogY,
    /// Both logarithmic.
    LogLog,
}

/// How a run ended; the exit code follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Every cell was checked and measured, and every measurement is valid.
    Passed,
    /// The functional check found a difference, so figures are withheld.
    CheckFailed,
    /// Measured, but at least one measurement is not valid (its limits say why), or a device cannot
    /// run on this machine.
    Invalid,
    /// Measured and valid, but a threshold of the scenario was not met.
    ThresholdMissed,
    /// A device or a method failed.
    Failed,
    /// The user stopped it; the finished cells are whole.
    Interrupted,
}

impl RunRecord {
    /// The version this code writes, and the newest it reads.
    pub const SCHEMA_VERSION: u32 = 2;

    /// The run's identifier; for a record that has none, what its folder is called.
    pub fn name(&self) -> String {
        if !self.id.is_empty() {
            return self.id.clone();
        }
        let second = self.started.split(['.', 'Z']).next().unwrap_or_default();
        format!("{}-{}Z", self.scenario.name, second.replace(['-', ':'], ""))
    }

    /// Sets the message to what keeps the run from having passed: the first thing of the kind that
    /// its status names.
    pub fn set_message(&mut self) {
        self.message = self.why().unwrap_or_default();
    }

    fn why(&self) -> Option<String> {
        let cells = || self.cells.iter();
        match self.status {
            Status::Passed => None,
            Status::CheckFailed => cells().find_map(|cell| {
                let check = cell.check.as_ref().filter(|check| !check.passed)?;
                let (differ, frames) = (check.mismatch_count, check.frames);
                Some(format!(
                    "{}: {differ} of {frames} frames differ from the oracle",
                    cell.label()
                ))
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
            Status::Interrupted => Some("stopped before the last measurement".to_owned()),
        }
    }
}

impl Status {
    /// What the cells amount to; `interrupted` when the user stopped the run. The worst thing that
    /// happened names the status: a wrong output outweighs a missing figure.
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

/// The JSON Schema of `run.json`.
pub fn record_schema() -> schemars::Schema {
    schemars::schema_for!(RunRecord)
}
