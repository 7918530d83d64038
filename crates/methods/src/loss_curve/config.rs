//! Keys of `loss-curve`.

use measure::{Pps, Ratio, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::STALL_REPEATS;

/// Its name in scenario files.
pub(super) const NAME: &str = "loss-curve";

/// Keys of the method `loss-curve`: the loads, and the trials at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Order of the loads, and the condition that ends it.
    pub procedure: Procedure,
    /// Load that is 100 %, per port and direction. If the tester cannot send it, 100 % is the
    /// tester's maximum, found by a first trial.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_rate: Pps,
    /// Distance between two loads as a fraction of 100 %; by default 10 % for `rfc2544`, which is
    /// its largest permitted value, and 1 % for `linear`.
    #[schemars(extend("minimum" = 0.001, "maximum" = 0.5))]
    pub step: Option<Ratio>,
    /// Duration of the trial at each load; RFC 2544 requires 60 s.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub duration: Seconds,
    /// Number of trials at each load; the record has the best, the median and the worst of them.
    #[schemars(range(min = 1, max = 100))]
    pub repetitions: u32,
    /// Loss ratios for which the highest load is reported below which no load loses more.
    #[schemars(length(max = 16))]
    #[schemars(extend("items" = {"$ref": "#/$defs/Ratio", "exclusiveMaximum": 1}))]
    pub loss_tolerances: Vec<Ratio>,
    /// Number of times that a trial is repeated if a stall of the machine explains its loss; with 0
    /// the curve includes losses caused by the machine.
    #[schemars(range(max = 10))]
    pub repeat_stalled: u32,
}

/// Order of the loads of a loss curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Procedure {
    /// From 100 % down, until two successive trials have no loss (RFC 2544 section 26.3).
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
    /// Distance between two loads as a fraction of 100 %.
    pub(super) fn step_ratio(&self) -> f64 {
        let usual = match self.procedure {
            Procedure::Rfc2544 => 0.1,
            Procedure::Linear => 0.01,
        };
        self.step.map_or(usual, |step| step.0)
    }

    /// All loads as fractions of 100 %, in the order of measurement.
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
}
