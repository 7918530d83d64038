//! What a method found: figures, the trials behind them, whether they hold, and what they claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TrialRecord;

/// What one method found in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The method's name, `capacity`, `throughput` …
    pub method: String,
    /// Its configuration, all defaults filled in.
    pub configuration: Value,
    /// The result in one sentence.
    pub answer: String,
    /// How loads and rates are counted over interfaces and directions, in words.
    pub aggregation: String,
    /// The headline figures, most important first.
    pub figures: Vec<Figure>,
    /// Where a search ended; absent for methods that do not search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// What a search found for each of its goals, the first being the one that the headline is of;
    /// empty for methods that do not search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalRecord>,
    /// Curves and tables that the method measured, for charts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// What the tester alone was found to do, a wire in the device's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The repetitions of the measurement by their index, the only one included; `figures` holds
    /// the medians over them. Empty in records of before there were repetitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Repetition>,
    /// When the measurement began, RFC 3339 in UTC.
    #[serde(default)]
    pub started: String,
    /// How long it took, all repetitions together.
    #[serde(default)]
    pub seconds: f64,
    /// Hash of everything that the measurement depends on, `blake3:…`; equal keys, equal question.
    #[serde(default)]
    pub key: String,
    /// Every trial in the order of measuring.
    pub trials: Vec<TrialRecord>,
    /// Whether the figures may be relied on.
    pub validity: Validity,
    /// Which clauses of which standards the method followed.
    pub claims: Vec<Claim>,
}

/// What a search found for one goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalRecord {
    /// Its name: `ndr`, `pdr`, `0 ppm`, `p99.9 <= 100 us` …
    pub name: String,
    /// All its attributes, defaults filled in.
    pub configuration: Value,
    /// The relevant lower and upper bound; `regular` says whether the goal was reached.
    pub bounds: Bounds,
    /// The conditional throughput at the lower bound (MLRsearch draft), on each interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditional_pps: Option<f64>,
    /// Why the search for it ended, and which trials decided, in a sentence.
    pub ended: String,
}

/// A curve or a table of numbers with named columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What it is, the same in every run: `loss-curve`, `latency-by-load`, `churn-surface`,
    /// `policer-precision`, `soak-trend` …
    pub name: String,
    /// What it shows, as a caption.
    pub title: String,
    /// Its columns, the free variables first.
    pub columns: Vec<Column>,
    /// The numbers by row; as many in each row as there are columns, null for what is not known.
    pub rows: Vec<Vec<Option<f64>>>,
}

/// One column of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Its name, `snake_case`.
    pub name: String,
    /// Its unit, as in [`Figure::unit`].
    pub unit: String,
}

/// What the tester alone does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Frames a second that it sent and took back on each interface, a wire in the device's place.
    pub tester_pps: f64,
    /// The median latency of the wire, which every measured latency contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p50_ns: Option<f64>,
}

/// One repetition of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Which one, from 0.
    pub index: u32,
    /// Its place in the random order of the whole run, from 0.
    pub position: usize,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was taken from an earlier run, not measured in this one.
    pub from_cache: bool,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Where its search ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Whether it may be relied on.
    pub validity: Validity,
}

/// One figure of a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What it is, `throughput`, `cycles_per_packet` …; the same name in every run.
    pub name: String,
    /// Of which direction or stage, where there are several figures of one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The value.
    pub value: f64,
    /// Its unit: `pps`, `bit/s`, `ns`, `ticks`, `fraction`, `percent` …
    pub unit: String,
    /// How it spread over repetitions; absent when measured once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

/// How a figure spread over repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The smallest value.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The largest value.
    pub max: f64,
    /// How many values.
    pub n: usize,
    /// Their mean.
    #[serde(default)]
    pub mean: f64,
    /// Their standard deviation (n - 1); 0 for a single value.
    #[serde(default)]
    pub deviation: f64,
    /// The 95 % confidence interval of the mean (Student's t); absent for fewer than three values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_95: Option<[f64; 2]>,
}

/// Where a search ended, in packets per second on each interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The highest load that met the goal; absent when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_pps: Option<f64>,
    /// The lowest load above it that did not; absent when every load up to the maximum did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_pps: Option<f64>,
    /// Whether the search ended by itself, both bounds found and close enough.
    pub regular: bool,
}

/// Whether a result may be relied on, apart from its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// False when one of the limits invalidates the figures.
    pub valid: bool,
    /// What limited or disturbed the measurement.
    pub limits: Vec<Limit>,
}

/// Something that limited or disturbed a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Its kind, for programs.
    pub kind: LimitKind,
    /// Whether the figures cannot be relied on because of it.
    pub invalidates: bool,
    /// What was seen, with numbers.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}

impl Limit {
    /// What kept a search from an answer, or from a good one.
    pub fn of_search(
        invalidates: bool,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Limit {
        let (what, advice) = (what.into(), advice.into());
        Limit { kind: LimitKind::Search, invalidates, what, advice }
    }
}

/// The kinds of limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The tester sent less than it was asked to.
    Tester,
    /// The tester's own ring overflowed: it lost frames that the device had forwarded.
    TesterRing,
    /// The result is as much as the tester alone can do, so the device may do more.
    Baseline,
    /// The device's receive ring overflowed.
    RingFull,
    /// A thread did not get its core for some time.
    Stall,
    /// Somebody else used a worker's core.
    ForeignCpu,
    /// The clock is not to be trusted.
    Clock,
    /// Repetitions differ more than the figure's last digit promises.
    Spread,
    /// The search ended without both bounds, or the confirmation failed.
    Search,
    /// Frames came back where or in a form that nobody expected, or came twice.
    Forwarding,
    /// The device dropped frames, as its configuration has it.
    Drops,
    /// Too few frames for the precision asked for.
    TooFewFrames,
}

/// What a result claims of a standard's clause; anything relaxed makes it partial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// `rfc2544.26.1` …
    pub clause: String,
    /// How much of it was followed.
    pub level: ClaimLevel,
    /// Why not in full; empty when it was.
    pub reason: String,
}

/// How much of a clause was followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimLevel {
    /// All of it.
    #[default]
    Full,
    /// Its procedure, with the deviations that the reason names.
    Partial,
    /// The result does not satisfy it.
    None,
}

impl Outcome {
    /// The figure of that name that is not of a part, if the method gave one.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.name == name && f.of.is_none())
    }

    /// Adds limits that the method could not see, those of the host above all. A result that is not
    /// valid any more claims nothing.
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

    /// All figures of that name that are of a direction or stage.
    pub fn parts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Figure> + 'a {
        self.figures.iter().filter(move |f| f.name == name && f.of.is_some())
    }
}

impl Figure {
    /// A figure measured once.
    pub fn single(name: &str, value: f64, unit: &str) -> Self {
        Self { name: name.into(), of: None, value, unit: unit.into(), spread: None }
    }

    /// The same figure, of one direction or stage.
    pub fn of(mut self, part: &str) -> Self {
        self.of = Some(part.into());
        self
    }
}

impl Validity {
    /// Valid unless a limit invalidates.
    pub fn from_limits(limits: Vec<Limit>) -> Self {
        Self { valid: !limits.iter().any(|l| l.invalidates), limits }
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
