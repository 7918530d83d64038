//! Keys of `throughput`.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use measure::{Pps, Ratio, Seconds};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::goals::Goals;
use crate::ConfigError;
use crate::search::mlr::Pace;
use crate::search::rfc2544::Lengths;
use crate::search::{Attempts, Goal, LossLimit, STEPS_MAX, Settings};

/// Where to search, how long to try, and what counts as a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// How to search: `rfc2544` by bisection with a confirmation, `tst009` by bisection of a grid
    /// of equal steps, `mlrsearch` for several goals at once by many short trials.
    pub search: Search,
    /// What to search for: `ndr-pdr` (no drops, and a loss of at most 0.5 %), or a list of goals, each
    /// a line such as `loss <= 10 ppm and p99.9 <= 100 us` or a mapping with `name`, `loss-ratio`,
    /// `conditions` and, for `mlrsearch`, `final-trial-duration`, `duration-sum`, `exceed-ratio`,
    /// `width` and `initial-trial-duration`. Without any, `loss-tolerance` is the goal. The headline
    /// is of the first.
    pub goals: Goals,
    /// Loss ratio up to which a trial passes: `0` as RFC 2544 has it, `10 ppm`, `0.002 %` …
    pub loss_tolerance: Ratio,
    /// Whether frames that the tester was asked for and did not send count as lost, as the MLRsearch
    /// draft recommends; otherwise what it did send is a lower bound, and the result says "at least".
    pub unsent_is_loss: bool,
    /// The lowest load that is tried, on each interface; `tst009` begins at its first step.
    pub min_rate: Pps,
    /// The highest load that is tried, on each interface.
    pub max_rate: Pps,
    /// How close the bounds must come, as a fraction of the upper one (`rfc2544`).
    pub precision: Ratio,
    /// The step of the grid of loads (`tst009`); `max-rate` is a multiple of it.
    pub step_rate: Pps,
    /// How long a trial of the search lasts (`rfc2544`).
    pub trial_duration: Seconds,
    /// How long the trial lasts that confirms the result (`rfc2544`), or every trial (`tst009`); RFC
    /// 2544 asks for 60 s or more.
    pub final_duration: Seconds,
    /// How many more times a trial that fails is repeated before that counts (loss verification of
    /// TST009, max(r) - 1); 0 is the search of RFC 2544. Useful where the machine is shared.
    pub repeat_lossy: u32,
    /// Loss above which a trial is not repeated, because no disturbance explains so much: a ratio,
    /// or `5000 frames` as TST009 has it, max(z).
    pub repeat_lossy_up_to: LossUpTo,
    /// Every step tries its load so many times and passes if the best of them does; replaces
    /// `repeat-lossy`. 1 for not.
    pub best_of: u32,
    /// Every step tries its load so many times and passes if the worst of them does; replaces
    /// `repeat-lossy`. 1 for not.
    pub worst_of: u32,
    /// How often a load's trials are repeated whose loss fits into the time in which a thread of the
    /// tester or the device did not run; all are in the record, the last one counts. 0 to 10.
    pub repeat_stalled: u32,
    /// How many coarser targets precede each goal, with wider bounds and shorter sums (`mlrsearch`).
    pub preceding_targets: u32,
    /// By which factor these are wider each, and distances to the next load grow (`mlrsearch`).
    pub expansion_coefficient: f64,
    /// Whether a goal that is missed at `min-rate` ends the search for all (`mlrsearch`).
    pub fail_fast: bool,
    /// How long to run at `max-rate` before the search; the rate that comes through is where the
    /// search begins. 0 leaves it out.
    pub warm_up: Seconds,
    /// How long to run the tester alone at `max-rate` before that, a wire in the device's place,
    /// where the device has one; 0 leaves it out.
    pub tester_alone: Seconds,
    /// How many subscribers are watched where a goal has a `policer-error`.
    pub subscribers_counted: u32,
    /// The most trials that are done, repetitions and confirmations included; for each goal, except
    /// that `mlrsearch` does them for all together.
    pub max_trials: u32,
    /// The longest that the trials may take together, counted as `max-trials` is; a confirmation is
    /// always left time for.
    pub max_search_time: Seconds,
}

/// How to search.
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
    /// The goals, those of defaults alone filled in.
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

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let checks = [
            (self.loss_tolerance.0 < 1.0, "loss-tolerance", "must be below 1 (100 %)"),
            (self.min_rate.0 > 0.0, "min-rate", "must be more than 0"),
            (self.max_rate >= self.min_rate, "max-rate", "must not be below min-rate"),
            (
                (1e-6..=0.5).contains(&self.precision.0),
                "precision",
                "must be between 1 ppm and 50 %",
            ),
            (self.trial_duration.0 > 0.0, "trial-duration", "must be more than 0"),
            (
                self.final_duration >= self.trial_duration,
                "final-duration",
                "must not be shorter than trial-duration",
            ),
            (self.repeat_lossy <= 100, "repeat-lossy", "must be 0 to 100"),
            ((1..=100).contains(&self.best_of), "best-of", "must be 1 to 100"),
            ((1..=100).contains(&self.worst_of), "worst-of", "must be 1 to 100"),
            (
                self.best_of == 1 || self.worst_of == 1,
                "worst-of",
                "best-of and worst-of exclude each other; sweep over them to have both",
            ),
            (self.repeat_stalled <= 10, "repeat-stalled", "must be 0 to 10"),
            (self.preceding_targets <= 10, "preceding-targets", "must be 0 to 10"),
            (
                (1.0..=100.0).contains(&self.expansion_coefficient),
                "expansion-coefficient",
                "must be 1 to 100",
            ),
            (
                (1..=100_000).contains(&self.subscribers_counted),
                "subscribers-counted",
                "must be 1 to 100000",
            ),
            ((2..=10_000).contains(&self.max_trials), "max-trials", "must be 2 to 10000"),
        ];
        if let Some((_, key, problem)) = checks.into_iter().find(|(holds, ..)| !holds) {
            return Err(ConfigError::new(key, problem));
        }
        self.goals.validate(self.loss_tolerance, self.is_mlr())?;
        self.validate_search()
    }

    /// What only one of the searches asks for, and keys that it would not look at.
    fn validate_search(&self) -> Result<(), ConfigError> {
        let wrong = |key, problem: &str| Err(ConfigError::new(key, problem));
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
                let problem = format!("must be a multiple of step-rate, such as {below}");
                return Err(ConfigError::new("max-rate", problem));
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
                let problem = "`search: mlrsearch` does not look at it; its goals have \
                               final-trial-duration, duration-sum, exceed-ratio and width";
                wrong(key, problem)
            }
            Some((key, _)) => wrong(key, "only `search: mlrsearch` looks at it"),
            None => Ok(()),
        }
    }

    /// The longest that all trials can take.
    pub(super) fn time_bound(&self) -> Duration {
        let searches = if self.is_mlr() { 1 } else { self.resolved().len() as u32 };
        let all = self.max_search_time.duration().saturating_mul(searches);
        all.saturating_add(self.tester_alone.duration())
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
                    Some(frames) => frames
                        .trim()
                        .replace('_', "")
                        .parse()
                        .map(LossLimit::Frames)
                        .map_err(|_| {
                        E::custom(format!("`{text}` is no number of frames; write `5000 frames`"))
                    })?,
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
