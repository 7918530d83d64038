//! Keys of `loss-curve`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ConfigError;
use crate::method::STALL_REPEATS;

/// Which loads to try, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Which loads are tried, and when that ends.
    pub procedure: Procedure,
    /// What 100 % is, on each interface. Where the tester cannot send as much, 100 % is what it
    /// sends of it, found by a first trial.
    pub max_rate: Pps,
    /// The distance between two loads as a fraction of 100 %; the default is 10 % for `rfc2544`,
    /// which allows no more, and 1 % for `linear`.
    pub step: Option<Ratio>,
    /// How long the trial at each load lasts; RFC 2544 asks for 60 s.
    pub duration: Seconds,
    /// How many trials each load has: the best and the worst of them stand beside the median.
    pub repetitions: u32,
    /// For each of these loss ratios, the highest load up to which no load loses more.
    pub loss_tolerances: Vec<Ratio>,
    /// How often a trial is repeated whose loss a stall of the machine explains; with 0 what the
    /// machine costs stands in the curve.
    pub repeat_stalled: u32,
}

/// Which loads are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Procedure {
    /// From 100 % down, until two successive trials had no loss (RFC 2544 section 26.3).
    #[default]
    Rfc2544,
    /// Every load from the first step up to 100 %.
    Linear,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            procedure: Procedure::Rfc2544,
            max_rate: Pps(20e6),
            step: None,
            duration: Seconds(1.0),
            repetitions: 1,
            loss_tolerances: vec![Ratio(4e-6), Ratio(1e-5), Ratio(2e-5), Ratio(1e-4)],
            repeat_stalled: STALL_REPEATS,
        }
    }
}

impl Config {
    /// The distance between two loads as a fraction of 100 %.
    pub(super) fn step_ratio(&self) -> f64 {
        let usual = match self.procedure {
            Procedure::Rfc2544 => 0.1,
            Procedure::Linear => 0.01,
        };
        self.step.map_or(usual, |step| step.0)
    }

    /// All loads as fractions of 100 %, in the order of measuring.
    pub(super) fn loads(&self) -> Vec<f64> {
        let step = self.step_ratio();
        // Rounding must not lose the last step, nor add one.
        let count = (1.0 / step + 1e-9).floor() as u32;
        match self.procedure {
            Procedure::Linear => {
                let mut loads: Vec<f64> = (1..=count).map(|n| f64::from(n) * step).collect();
                if loads.last().is_some_and(|last| *last < 1.0 - 1e-9) {
                    loads.push(1.0);
                }
                loads
            }
            Procedure::Rfc2544 => {
                let down = (0..=count).map(|n| 1.0 - f64::from(n) * step);
                down.filter(|load| *load > 1e-9).collect()
            }
        }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        if self.max_rate.0 <= 0.0 {
            return Err(ConfigError::new("max-rate", "must be more than 0, `20 Mpps` is usual"));
        }
        if !(STEP_MIN..=0.5).contains(&self.step_ratio()) {
            return Err(ConfigError::new("step", "must be between 0.1 % and 50 %"));
        }
        if self.duration.0 <= 0.0 {
            return Err(ConfigError::new("duration", "must be more than 0, `1 s` is usual"));
        }
        if !(1..=100).contains(&self.repetitions) {
            return Err(ConfigError::new("repetitions", "must be 1 to 100, 5 is usual"));
        }
        let is_ratio = |ratio: &Ratio| (0.0..1.0).contains(&ratio.0);
        if self.loss_tolerances.len() > 16 || !self.loss_tolerances.iter().all(is_ratio) {
            let problem = "must be at most 16 ratios below 1 (100 %), such as `[4 ppm, 100 ppm]`";
            return Err(ConfigError::new("loss-tolerances", problem));
        }
        if self.repeat_stalled > 10 {
            return Err(ConfigError::new("repeat-stalled", "must be 0 to 10"));
        }
        Ok(())
    }
}

/// A thousand loads are enough for every curve.
const STEP_MIN: f64 = 0.001;
