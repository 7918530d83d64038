//! What a method found: figures, the trials behind them, whether they hold, and what they claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Limit, TrialRecord, Validity};
use crate::figure_words;

/// The results of one method in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Name of the method: `capacity`, `throughput` …
    pub method: String,
    /// Configuration of the method, with all defaults.
    pub configuration: Value,
    /// The result in one sentence.
    pub answer: String,
    /// How loads and rates are counted over interfaces and directions, as a sentence.
    pub aggregation: String,
    /// The headline figures, the most important first.
    pub figures: Vec<Figure>,
    /// Bounds at the end of the search; absent for methods that do not search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Results of a search for each of its goals; the headline reports the first. Empty for methods
    /// that do not search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalRecord>,
    /// Curves and tables that the method measured, for charts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Maximum of the tester alone, with a wire in the device's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// All repetitions of the measurement by their index, even if there is only one; `figures`
    /// holds their medians. Empty in records of versions without repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Repetition>,
    /// Start of the measurement, RFC 3339 in UTC.
    #[serde(default)]
    pub started: String,
    /// Duration of all repetitions together, in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Hash of all inputs of the measurement, `blake3:…`; equal keys mean equal inputs.
    #[serde(default)]
    pub key: String,
    /// All trials in the order of measurement.
    pub trials: Vec<TrialRecord>,
    /// Whether the figures can be trusted.
    pub validity: Validity,
    /// Clauses of standards that the method followed.
    pub claims: Vec<Claim>,
}

/// Result of a search for one goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalRecord {
    /// Name of the goal: `ndr`, `pdr`, `0 ppm`, `p99.9 <= 100 us` …
    pub name: String,
    /// All attributes of the goal, with defaults.
    pub configuration: Value,
    /// The relevant lower and upper bound; `regular` says whether the goal was reached.
    pub bounds: Bounds,
    /// Conditional throughput at the lower bound (MLRsearch draft), in packets per second per port
    /// and direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditional_pps: Option<f64>,
    /// Why the search for this goal ended, and which trials decided, as a sentence.
    pub ended: String,
}

/// A curve or a table of numbers with named columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Name of the series, the same in every run: `loss-curve`, `latency-by-load`, `churn-surface`,
    /// `policer-precision`, `soak-trend` …
    pub name: String,
    /// Caption of the series.
    pub title: String,
    /// Columns of the series, free variables first.
    pub columns: Vec<Column>,
    /// Numbers by row; each row has one number per column, null if unknown.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// A column of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Name of the column, in `snake_case`.
    pub name: String,
    /// Unit of the column, as in [`Figure::unit`].
    pub unit: String,
}

/// Baseline: what the tester alone carries at a steady rate, with a wire in the device's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Frames per second per port and direction that the tester sent and received: the median at
    /// the highest load that came back.
    pub tester_pps: f64,
    /// Spread of this rate over its repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Median latency of the wire in nanoseconds, which every measured latency includes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p50_ns: Option<f64>,
}

/// A repetition of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Number of the repetition, from 0.
    pub index: u32,
    /// Position in the random order of the whole run, from 0.
    pub position: usize,
    /// Start of the repetition, RFC 3339 in UTC.
    pub started: String,
    /// Duration of the repetition, in seconds.
    pub seconds: f64,
    /// Whether it was reused from an earlier run instead of measured in this one.
    pub from_cache: bool,
    /// Figures of the repetition.
    pub figures: Vec<Figure>,
    /// Bounds at the end of the repetition's search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Whether the repetition can be trusted.
    pub validity: Validity,
}

/// A figure of a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Name of the figure: `throughput`, `cycles_per_packet` …; the same in every run.
    pub name: String,
    /// The direction or stage to which the figure belongs, if there are several figures of one
    /// name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Value of the figure, in its unit.
    pub value: f64,
    /// Unit of the figure: `pps`, `bit/s`, `ns`, `ticks`, `fraction`, `percent` …
    pub unit: String,
    /// Spread over repetitions; absent if measured once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What the value bounds, if it is no figure but what is known of one; absent for a figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
}

/// What is known of a figure that was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// It is not below the value.
    AtLeast,
}

/// Spread of a figure over repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The smallest value.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The largest value.
    pub max: f64,
    /// Number of values.
    pub n: usize,
    /// The mean.
    #[serde(default)]
    pub mean: f64,
    /// Standard deviation (n - 1); 0 for a single value.
    #[serde(default)]
    pub deviation: f64,
    /// 95 % confidence interval of the mean (Student's t); absent for fewer than three values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_95: Option<[f64; 2]>,
}

/// Bounds at the end of a search, in packets per second per port and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The highest load that met the goal; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_pps: Option<f64>,
    /// The lowest load above `lower_pps` that missed the goal; absent if every load up to the
    /// maximum met it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_pps: Option<f64>,
    /// Whether the search ended regularly: both bounds exist and are close enough.
    pub regular: bool,
}

/// The claim of a result on a standard's clause; any relaxation makes it partial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Identifier of the clause: `rfc2544.26.1` …
    pub clause: String,
    /// Extent to which the clause was followed.
    pub level: ClaimLevel,
    /// Reason for a partial claim; empty for a full claim.
    pub reason: String,
}

/// Extent to which a clause was followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimLevel {
    /// In full.
    #[default]
    Full,
    /// In part, with the deviations that the reason names.
    Partial,
    /// Not at all.
    None,
}

impl Outcome {
    /// The figure of this name for the whole; none if the method did not report it.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.name == name && f.of.is_none())
    }

    /// Adds limits that the method could not see, in particular those of the host. An invalid
    /// result makes no claims.
    pub fn add_limits(&mut self, limits: &[Limit]) {
        self.validity.limits.extend_from_slice(limits);
        self.validity = Validity::from_limits(std::mem::take(&mut self.validity.limits));
        if self.validity.valid {
            return;
        }
        for claim in self.claims.iter_mut().filter(|c| c.level != ClaimLevel::None) {
            claim.level = ClaimLevel::None;
            claim.reason = "the result is not valid".into();
        }
    }

    /// All figures of this name that belong to a direction or stage.
    pub fn parts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Figure> + 'a {
        self.figures.iter().filter(move |f| f.name == name && f.of.is_some())
    }
}

impl Figure {
    /// A figure that was measured once.
    pub fn single(name: &str, value: f64, unit: &str) -> Self {
        Self { name: name.into(), of: None, value, unit: unit.into(), spread: None, bound: None }
    }

    /// Assigns the figure to a direction or stage.
    pub fn of(mut self, part: &str) -> Self {
        self.of = Some(part.into());
        self
    }

    /// Says whether the value is a lower bound.
    pub fn at_least(mut self, is_bound: bool) -> Self {
        self.bound = is_bound.then_some(Bound::AtLeast);
        self
    }

    /// The value with its unit, and with its sign if it is a bound: `≥ 8.62 Mpps`.
    pub fn words(&self) -> String {
        let value = figure_words(self.value, &self.unit);
        match self.bound {
            None => value,
            Some(Bound::AtLeast) => format!("≥ {value}"),
        }
    }
}

impl std::fmt::Display for ClaimLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::None => "none",
        })
    }
}
