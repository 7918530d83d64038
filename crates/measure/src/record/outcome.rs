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
    /// Every trial in the order of measuring.
    pub trials: Vec<TrialRecord>,
    /// Whether the figures may be relied on.
    pub validity: Validity,
    /// Which clauses of which standards the method followed.
    pub claims: Vec<Claim>,
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

/// The kinds of limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The tester sent less than it was asked to.
    Tester,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimLevel {
    /// All of it.
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
