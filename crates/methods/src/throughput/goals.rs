//! The key `goals` of `throughput`: what to search for, as people write it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use keys::Invalid;
use measure::{Ratio, Seconds};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::search::condition::Condition;
use crate::search::{Attributes, Goal};

/// The goals of a search: a list, or the name of a predefined list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Goals(pub Vec<GoalConfig>);

/// A search goal: the conditions of a trial, and the attributes of a Search Goal of MLRsearch.
/// Absent attributes have the defaults of FD.io CSIT.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GoalConfig {
    /// Name of the goal in the record; by default the text of its conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Largest loss ratio at which a trial passes; by default that of `loss-tolerance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<Ratio>,
    /// Further conditions that a trial must meet: `p99.9 <= 100 us`, `reordered <= 1 ppm`,
    /// `duplicated <= 0`, `updates >= 99.9 %`, `late <= 0`, `policer-error <= 1 %`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// MLRsearch: duration of the trials that can show that a load passes; by default 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-9))]
    pub final_trial_duration: Option<Seconds>,
    /// MLRsearch: total duration of the trials at a load that decide it; by default 21 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_sum: Option<Seconds>,
    /// MLRsearch: fraction of this total that may miss the conditions; by default 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMaximum" = 1))]
    pub exceed_ratio: Option<Ratio>,
    /// MLRsearch: largest distance of the bounds, relative to the upper bound; by default 0.5 %,
    /// and not less than `loss-ratio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Ratio>,
    /// MLRsearch: duration of the first trials; by default that of the final trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-9))]
    pub initial_trial_duration: Option<Seconds>,
}

impl Goals {
    /// The two goals of FD.io CSIT: no drop rate (NDR), and a partial drop rate (PDR) of half a
    /// percent.
    fn ndr_pdr() -> Self {
        let goal = |name: &str, loss_ratio| GoalConfig {
            name: Some(name.to_owned()),
            loss_ratio: Some(Ratio(loss_ratio)),
            ..GoalConfig::default()
        };
        Self(vec![goal("ndr", 0.0), goal("pdr", 0.005)])
    }

    /// Resolves the goals for a search; without any, the loss tolerance is the only goal.
    pub(super) fn resolve(
        &self,
        tolerance: Ratio,
        is_mlr: bool,
        unsent_is_loss: bool,
    ) -> Vec<Goal> {
        let resolve = |goal: &GoalConfig| goal.resolve(tolerance, is_mlr, unsent_is_loss);
        match self.0.as_slice() {
            [] => vec![resolve(&GoalConfig::default())],
            goals => goals.iter().map(resolve).collect(),
        }
    }

    pub(super) fn validate(&self, tolerance: Ratio, is_mlr: bool) -> Result<(), Invalid> {
        for (index, goal) in self.0.iter().enumerate() {
            goal.validate(tolerance, is_mlr).map_err(|(key, problem)| {
                Invalid::new(format!("goals[{index}].{key}"), problem, "")
            })?;
        }
        let names: Vec<String> =
            self.resolve(tolerance, is_mlr, false).into_iter().map(|goal| goal.name).collect();
        let twice = (1..names.len()).find(|i| names[..*i].contains(&names[*i]));
        match twice {
            Some(i) => Err(Invalid::new(
                format!("goals[{i}].name"),
                format!("`{}` is also the name of another goal; names must differ", names[i]),
                "",
            )),
            None => Ok(()),
        }
    }
}

impl GoalConfig {
    fn resolve(&self, tolerance: Ratio, is_mlr: bool, unsent_is_loss: bool) -> Goal {
        let mut loss_ratio = self.loss_ratio.unwrap_or(tolerance);
        let mut conditions = Vec::new();
        for condition in &self.conditions {
            match condition {
                Condition::Loss(ratio) => loss_ratio = *ratio,
                other => conditions.push(*other),
            }
        }
        let attributes = is_mlr.then(|| {
            let final_trial = self.final_trial_duration.unwrap_or(FINAL_TRIAL).duration();
            let initial = self.initial_trial_duration.map_or(final_trial, Seconds::duration);
            Attributes {
                final_trial,
                duration_sum: self.sum(final_trial),
                exceed_ratio: self.exceed_ratio.unwrap_or(EXCEED_RATIO).0,
                width: self.width.unwrap_or(WIDTH).0.max(match self.width {
                    Some(_) => 0.0,
                    None => loss_ratio.0,
                }),
                initial_trial: initial,
            }
        });
        let mut goal =
            Goal { name: String::new(), loss_ratio, conditions, unsent_is_loss, attributes };
        goal.name = self.name.clone().unwrap_or_else(|| goal.words());
        goal
    }

    fn sum(&self, final_trial: Duration) -> Duration {
        self.duration_sum.map_or(DURATION_SUM.duration().max(final_trial), Seconds::duration)
    }

    fn validate(&self, tolerance: Ratio, is_mlr: bool) -> Result<(), (&'static str, String)> {
        let only_mlr = [
            ("final-trial-duration", self.final_trial_duration.is_some()),
            ("duration-sum", self.duration_sum.is_some()),
            ("exceed-ratio", self.exceed_ratio.is_some()),
            ("width", self.width.is_some()),
            ("initial-trial-duration", self.initial_trial_duration.is_some()),
        ];
        if let Some((key, _)) = only_mlr.into_iter().find(|(_, given)| *given && !is_mlr) {
            let problem = "only `search: mlrsearch` has it; the other searches have the method's \
                           own trial-duration, final-duration and precision";
            return Err((key, problem.to_owned()));
        }
        if self.name.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err(("name", "must not be empty; remove it instead".to_owned()));
        }
        let losses = self.conditions.iter().filter(|c| matches!(c, Condition::Loss(_))).count();
        if losses + usize::from(self.loss_ratio.is_some()) > 1 {
            return Err(("loss-ratio", "the loss is given twice".to_owned()));
        }
        let goal = self.resolve(tolerance, is_mlr, false);
        if goal.loss_ratio.0 >= 1.0 {
            return Err(("loss-ratio", "must be below 1 (100 %)".to_owned()));
        }
        let Some(a) = goal.attributes else { return Ok(()) };
        if a.initial_trial > a.final_trial {
            let problem = "must not be longer than final-trial-duration";
            return Err(("initial-trial-duration", problem.to_owned()));
        }
        if a.duration_sum < a.final_trial {
            let problem = "must not be shorter than final-trial-duration: one trial is the least";
            return Err(("duration-sum", problem.to_owned()));
        }
        if a.duration_sum > a.final_trial * TRIALS_A_LOAD_MAX {
            let problem = format!("at most {TRIALS_A_LOAD_MAX} times final-trial-duration");
            return Err(("duration-sum", problem));
        }
        if !(1e-6..=0.5).contains(&a.width) {
            return Err(("width", "must be between 1 ppm and 50 %".to_owned()));
        }
        Ok(())
    }

    /// Parses a goal in one line: conditions joined by `and`, or a loss ratio alone.
    fn from_line(line: &str) -> Result<Self, String> {
        if let Ok(ratio) = line.parse::<Ratio>() {
            return Ok(Self { loss_ratio: Some(ratio), ..Self::default() });
        }
        let conditions = line.split(" and ").map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { conditions, ..Self::default() })
    }
}

impl<'de> Deserialize<'de> for Goals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrList;
        impl<'de> Visitor<'de> for NameOrList {
            type Value = Goals;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of goals, or `ndr-pdr`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Goals, E> {
                match name {
                    "ndr-pdr" => Ok(Goals::ndr_pdr()),
                    _ => Err(E::custom(format!(
                        "`{name}` is not a list of goals; write `ndr-pdr`, or a list such as \
                         `[loss <= 0, loss <= 0.5 % and p99.9 <= 100 us]`"
                    ))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Goals, A::Error> {
                let entries = Vec::<Entry>::deserialize(SeqAccessDeserializer::new(list))?;
                Ok(Goals(entries.into_iter().map(|Entry(goal)| goal).collect()))
            }
        }
        deserializer.deserialize_any(NameOrList)
    }
}

impl JsonSchema for Goals {
    fn schema_name() -> Cow<'static, str> {
        "Goals".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let goal = generator.subschema_for::<GoalConfig>();
        json_schema!({
            "description": "A list of goals, or `ndr-pdr`.",
            "anyOf": [
                { "const": "ndr-pdr" },
                {
                    "type": "array",
                    "maxItems": GOALS_MAX,
                    "items": { "anyOf": [goal, { "type": ["string", "number"] }] }
                }
            ]
        })
    }
}

/// A goal as a line or as a mapping in the configuration.
struct Entry(GoalConfig);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineOrKeys;
        impl<'de> Visitor<'de> for LineOrKeys {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a goal such as `loss <= 0.5 % and p99.9 <= 100 us`, or its keys")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Entry, E> {
                GoalConfig::from_line(line).map(Entry).map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, ratio: f64) -> Result<Entry, E> {
                self.visit_str(&ratio.to_string())
            }

            fn visit_u64<E: de::Error>(self, ratio: u64) -> Result<Entry, E> {
                self.visit_str(&ratio.to_string())
            }

            fn visit_i64<E: de::Error>(self, ratio: i64) -> Result<Entry, E> {
                self.visit_str(&ratio.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                GoalConfig::deserialize(MapAccessDeserializer::new(map)).map(Entry)
            }
        }
        deserializer.deserialize_any(LineOrKeys)
    }
}

/// Largest number of goals; each goal costs trials.
const GOALS_MAX: usize = 16;
/// Largest number of trials at one load that a search may need to decide it.
const TRIALS_A_LOAD_MAX: u32 = 1000;

const FINAL_TRIAL: Seconds = Seconds(1.0);
const DURATION_SUM: Seconds = Seconds(21.0);
const EXCEED_RATIO: Ratio = Ratio(0.5);
const WIDTH: Ratio = Ratio(0.005);
