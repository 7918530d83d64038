//! Keys of `throughput`.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use keys::Invalid;
use measure::{Pps, Ratio, Seconds};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::goals::Goals;
use crate::baseline;
use crate::search::mlr::Pace;
use crate::search::rfc2544::Lengths;
use crate::search::{Attempts, Goal, LossLimit, STEPS_MAX, Settings};

/// Its name in scenario files.
pub(super) const NAME: &str = "throughput";

/// Keys of the method `throughput`: the search range, the trials, and the conditions of a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Search algorithm: `rfc2544` bisects and confirms the result, `tst009` bisects a grid of
    /// equal steps, `mlrsearch` searches for several goals at once with many short trials.
    pub search: Search,
    /// Search goals: `ndr-pdr` (no drops, and a loss of at most 0.5 %), or a list of goals. Each
    /// goal is a line such as `loss <= 10 ppm and p99.9 <= 100 us`, or a mapping with `name`,
    /// `loss-ratio`, `conditions` and, for `mlrsearch`, `final-trial-duration`, `duration-sum`,
    /// `exceed-ratio`, `width` and `initial-trial-duration`. By default `loss-tolerance` is the
    /// goal. The headline reports the first goal.
    pub goals: Goals,
    /// Largest loss ratio at which a trial passes: `0` as in RFC 2544, `10 ppm`, `0.002 %` …
    #[schemars(extend("exclusiveMaximum" = 1))]
    pub loss_tolerance: Ratio,
    /// Whether requested frames that the tester did not send count as lost, as the MLRsearch draft
    /// recommends. Otherwise the load that was sent is a lower bound, and the result says "at
    /// least".
    pub unsent_is_loss: bool,
    /// Lowest load that is tried, on each interface; `tst009` begins at its first step.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub min_rate: Pps,
    /// Highest load that is tried, on each interface.
    pub max_rate: Pps,
    /// Largest distance of the bounds, as a fraction of the upper bound (`rfc2544`).
    #[schemars(extend("minimum" = 1e-6, "maximum" = 0.5))]
    pub precision: Ratio,
    /// Step of the grid of loads (`tst009`); `max-rate` is a multiple of it.
    pub step_rate: Pps,
    /// Duration of a trial of the search (`rfc2544`).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub trial_duration: Seconds,
    /// Duration of the trial that confirms the result (`rfc2544`), or of every trial (`tst009`);
    /// RFC 2544 requires at least 60 s.
    pub final_duration: Seconds,
    /// Number of times that a failed trial is repeated before the failure counts (loss verification
    /// of TST009, max(r) - 1); 0 gives the search of RFC 2544. Useful on a shared machine.
    #[schemars(range(max = 100))]
    pub repeat_lossy: u32,
    /// Loss above which a trial is not repeated, because no disturbance explains that much: a
    /// ratio, or a number such as `5000 frames`, which is max(z) of TST009.
    pub repeat_lossy_up_to: LossUpTo,
    /// Number of trials at each step, of which the best decides; replaces `repeat-lossy`. 1
    /// disables it.
    #[schemars(range(min = 1, max = 100))]
    pub best_of: u32,
    /// Number of trials at each step, of which the worst decides; replaces `repeat-lossy`. 1
    /// disables it.
    #[schemars(range(min = 1, max = 100))]
    pub worst_of: u32,
    /// Number of times that a trial is repeated if its loss fits into the time in which a thread of
    /// the tester or the device did not run, 0 to 10. All trials are in the record; the last one
    /// counts.
    #[schemars(range(max = 10))]
    pub repeat_stalled: u32,
    /// Number of coarser targets before each goal, each with bounds twice as wide and a shorter
    /// duration sum (`mlrsearch`).
    #[schemars(range(max = 10))]
    pub preceding_targets: u32,
    /// Factor by which the distance to the next load grows while a bound is missing
    /// (`mlrsearch`).
    #[schemars(range(min = 1.0, max = 100.0))]
    pub expansion_coefficient: f64,
    /// Whether a goal that fails at `min-rate` ends the search for all goals (`mlrsearch`).
    pub fail_fast: bool,
    /// Duration of a trial at `max-rate` before the search; its forwarded rate is the first load of
    /// the search. 0 omits it.
    pub warm_up: Seconds,
    /// Duration of the baseline trials before the warm-up: the tester alone, with a wire in place
    /// of the device, if the device supports it. Up to 15 trials find and repeat the highest load
    /// that comes back; those of the search take half as long. 0 omits them.
    pub tester_alone: Seconds,
    /// Number of subscribers that are observed if a goal has a `policer-error`.
    #[schemars(range(min = 1, max = 100_000))]
    pub subscribers_counted: u32,
    /// Largest number of trials, including confirmations and repetitions after loss; for each goal
    /// separately, with `mlrsearch` for all goals together. As many again may be repetitions of
    /// trials whose loss a stall explains.
    #[schemars(range(min = 2, max = 10_000))]
    pub max_trials: u32,
    /// Largest total duration of the trials, counted like `max-trials`. Time for a confirmation is
    /// always reserved, and time for `min-rate` until a load has passed.
    pub max_search_time: Seconds,
}

/// Search algorithm of the method `throughput`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// RFC 2544 section 26.1: geometric bisection, and a longer trial that confirms.
    #[default]
    Rfc2544,
    /// ETSI GS NFV-TST 009 clauses 12.3.2 and 12.3.3: a grid of equal steps.
    Tst009,
    /// MLRsearch (draft-ietf-bmwg-mlrsearch-15).
    Mlrsearch,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            search: Search::Rfc2544,
            goals: Goals::default(),
            loss_tolerance: Ratio(0.0),
            unsent_is_loss: false,
            min_rate: Pps(10e3),
            max_rate: Pps(20e6),
            precision: Ratio(0.02),
            step_rate: Pps(10e3),
            trial_duration: Seconds(1.0),
            final_duration: Seconds(5.0),
            repeat_lossy: 2,
            repeat_lossy_up_to: LossUpTo(LossLimit::Ratio(Ratio(0.02))),
            best_of: 1,
            worst_of: 1,
            repeat_stalled: 2,
            preceding_targets: 2,
            expansion_coefficient: 2.0,
            fail_fast: true,
            warm_up: Seconds(0.5),
            tester_alone: Seconds(0.5),
            subscribers_counted: 100,
            max_trials: 300,
            max_search_time: Seconds(120.0),
        }
    }
}

impl Config {
    /// The resolved goals, with defaults filled in.
    pub(super) fn resolved(&self) -> Vec<Goal> {
        self.goals.resolve(self.loss_tolerance, self.is_mlr(), self.unsent_is_loss)
    }

    pub(super) fn attempts(&self) -> Attempts {
        match (self.best_of, self.worst_of) {
            (n, _) if n > 1 => Attempts::BestOf(n),
            (_, n) if n > 1 => Attempts::WorstOf(n),
            _ => {
                Attempts::Verified { repeats: self.repeat_lossy, up_to: self.repeat_lossy_up_to.0 }
            }
        }
    }

    pub(super) fn settings(&self, guess_pps: f64) -> Settings {
        Settings {
            min_pps: self.min_rate.0,
            max_pps: self.max_rate.0,
            guess_pps,
            trials_max: self.max_trials as usize,
            time_max: self.max_search_time.duration(),
            stall_repeats: self.repeat_stalled,
            attempts: self.attempts(),
        }
    }

    pub(super) fn lengths(&self) -> Lengths {
        Lengths {
            brief: self.trial_duration.duration(),
            confirming: self.final_duration.duration(),
            precision: self.precision.0,
        }
    }

    pub(super) fn pace(&self) -> Pace {
        Pace {
            preceding_targets: self.preceding_targets,
            expansion: self.expansion_coefficient,
            fail_fast: self.fail_fast,
        }
    }

    pub(super) fn is_mlr(&self) -> bool {
        self.search == Search::Mlrsearch
    }

    /// The lowest load of the search on each interface.
    pub(super) fn lowest(&self) -> Pps {
        if self.search == Search::Tst009 { self.step_rate } else { self.min_rate }
    }

    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let checks = [
            (self.max_rate >= self.min_rate, "max-rate", "must not be below min-rate"),
            (
                self.final_duration >= self.trial_duration,
                "final-duration",
                "must not be shorter than trial-duration",
            ),
            (
                self.best_of == 1 || self.worst_of == 1,
                "worst-of",
                "best-of and worst-of exclude each other; sweep over them to get both",
            ),
        ];
        if let Some((_, key, what)) = checks.into_iter().find(|(holds, ..)| !holds) {
            return Err(Invalid::new(key, what, ""));
        }
        self.goals.validate(self.loss_tolerance, self.is_mlr())?;
        self.validate_search()
    }

    /// Checks the keys that only one search uses, and refuses keys that the chosen search ignores.
    fn validate_search(&self) -> Result<(), Invalid> {
        let wrong = |key, what: &str| Err(Invalid::new(key, what, ""));
        let longest = match self.search {
            Search::Rfc2544 => self.trial_duration.duration() + self.final_duration.duration(),
            Search::Tst009 => self.final_duration.duration(),
            Search::Mlrsearch => {
                let sums = self.resolved().into_iter().filter_map(|goal| goal.attributes);
                sums.map(|a| a.duration_sum).max().unwrap_or_default()
            }
        };
        if self.max_search_time.duration() < self.warm_up.duration().saturating_add(longest) {
            return wrong(
                "max-search-time",
                match self.search {
                    Search::Rfc2544 => "must leave time for a warm-up, a trial and the final trial",
                    Search::Tst009 => "must leave time for a warm-up and a trial",
                    Search::Mlrsearch => "must leave time for a warm-up and a duration-sum",
                },
            );
        }
        if self.search == Search::Tst009 {
            let steps = self.max_rate.0 / self.step_rate.0;
            if !(1.0..=STEPS_MAX).contains(&steps) {
                return wrong("step-rate", "must be more than 0 and at most max-rate");
            }
            if (steps - steps.round()).abs() > 1e-9 * steps {
                let below = Pps(steps.floor() * self.step_rate.0);
                let what = format!("must be a multiple of step-rate, such as {below}");
                return Err(Invalid::new("max-rate", what, ""));
            }
        }
        let plain = Self::default();
        let unused: &[(&'static str, bool)] = match self.search {
            Search::Mlrsearch => &[
                ("precision", self.precision != plain.precision),
                ("trial-duration", self.trial_duration != plain.trial_duration),
                ("final-duration", self.final_duration != plain.final_duration),
                ("repeat-lossy", self.repeat_lossy != plain.repeat_lossy),
                ("repeat-lossy-up-to", self.repeat_lossy_up_to != plain.repeat_lossy_up_to),
                ("best-of", self.best_of != plain.best_of),
                ("worst-of", self.worst_of != plain.worst_of),
            ],
            _ => &[
                ("preceding-targets", self.preceding_targets != plain.preceding_targets),
                (
                    "expansion-coefficient",
                    self.expansion_coefficient != plain.expansion_coefficient,
                ),
            ],
        };
        match unused.iter().find(|(_, set)| *set) {
            Some((key, _)) if self.is_mlr() => {
                let problem = "`search: mlrsearch` does not use it; its goals have \
                               final-trial-duration, duration-sum, exceed-ratio and width";
                wrong(key, problem)
            }
            Some((key, _)) => wrong(key, "only `search: mlrsearch` uses it"),
            None => Ok(()),
        }
    }

    /// Upper bound of the duration of all trials.
    pub(super) fn time_bound(&self) -> Duration {
        let searches = if self.is_mlr() { 1 } else { self.resolved().len() as u32 };
        // What a stall had repeated has a budget of its own, as large as the search's.
        let budgets = if self.repeat_stalled > 0 { 2 } else { 1 };
        let all = self.max_search_time.duration().saturating_mul(searches * budgets);
        all.saturating_add(baseline::time(self.tester_alone.duration()))
    }
}

/// A loss as a ratio or as a number of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossUpTo(pub(super) LossLimit);

impl fmt::Display for LossUpTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            LossLimit::Ratio(ratio) => ratio.fmt(f),
            LossLimit::Frames(frames) => write!(f, "{frames} frames"),
        }
    }
}

impl Serialize for LossUpTo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            LossLimit::Ratio(ratio) => ratio.serialize(serializer),
            LossLimit::Frames(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for LossUpTo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RatioOrFrames;
        impl Visitor<'_> for RatioOrFrames {
            type Value = LossUpTo;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a ratio such as `2 %`, or a number of frames such as `5000 frames`")
            }

            fn visit_f64<E: de::Error>(self, ratio: f64) -> Result<LossUpTo, E> {
                self.visit_str(&ratio.to_string())
            }

            fn visit_u64<E: de::Error>(self, ratio: u64) -> Result<LossUpTo, E> {
                self.visit_str(&ratio.to_string())
            }

            fn visit_i64<E: de::Error>(self, ratio: i64) -> Result<LossUpTo, E> {
                self.visit_str(&ratio.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LossUpTo, E> {
                let limit = match text.trim().strip_suffix("frames") {
                    Some(frames) => {
                        frames.trim().replace('_', "").parse().map(LossLimit::Frames).map_err(
                            |_| {
                                E::custom(format!(
                                    "`{text}` is not a number of frames; write `5000 frames`"
                                ))
                            },
                        )?
                    }
                    None => LossLimit::Ratio(text.parse().map_err(E::custom)?),
                };
                Ok(LossUpTo(limit))
            }
        }
        deserializer.deserialize_any(RatioOrFrames)
    }
}

impl JsonSchema for LossUpTo {
    fn schema_name() -> Cow<'static, str> {
        "LossUpTo".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A ratio such as `2 %`, or a number of frames such as `5000 frames`.",
            "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }]
        })
    }
}
