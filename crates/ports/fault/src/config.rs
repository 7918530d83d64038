//! The `fault` section of any port.

use engine::KeyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Faults of a port, in each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FaultConfig {
    /// From which all chances follow.
    #[serde(default = "one")]
    pub seed: u64,
    /// To frames on their way in.
    #[serde(default)]
    pub receive: Faults,
    /// To frames on their way out.
    #[serde(default)]
    pub transmit: Faults,
    /// How many frames each queue may hold back in each direction.
    #[serde(default = "default_held_frames")]
    #[schemars(range(min = 1024, max = 1_000_000))]
    pub held_frames: u32,
}

/// What happens to frames of one direction; chances from 0 to 1, each drawn for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Faults {
    /// Chance that a frame is lost.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Chance that one bit of a frame is turned.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub corruption: f64,
    /// Chance that a frame comes twice.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplication: f64,
    /// Chance that a frame comes behind 1 to 8 that followed it, or 10 ms later if fewer follow.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub reordering: f64,
    /// Delay of each frame, in microseconds.
    #[schemars(range(max = 10_000_000))]
    pub delay_us: u32,
    /// On top of it, up to so many microseconds at random, without changing the order.
    #[schemars(range(max = 10_000_000))]
    pub jitter_us: u32,
}

impl FaultConfig {
    /// Checks what the types of the keys cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), KeyError> {
        for (way, faults) in [("receive", &self.receive), ("transmit", &self.transmit)] {
            faults.validate(way)?;
        }
        if !(HELD_FRAMES_MIN..=HELD_FRAMES_MAX).contains(&self.held_frames) {
            let what = format!(
                "{} is not from {HELD_FRAMES_MIN} to {HELD_FRAMES_MAX} frames",
                self.held_frames
            );
            return Err(KeyError { key: "held-frames".to_owned(), what });
        }
        Ok(())
    }
}

impl Default for FaultConfig {
    fn default() -> FaultConfig {
        FaultConfig {
            seed: one(),
            receive: Faults::default(),
            transmit: Faults::default(),
            held_frames: default_held_frames(),
        }
    }
}

impl Faults {
    fn validate(&self, way: &str) -> Result<(), KeyError> {
        let wrong = |key: &str, what: String| Err(KeyError { key: format!("{way}.{key}"), what });
        for (key, chance) in [
            ("loss", self.loss),
            ("corruption", self.corruption),
            ("duplication", self.duplication),
            ("reordering", self.reordering),
        ] {
            if !(0.0..=1.0).contains(&chance) {
                return wrong(key, format!("{chance} is not from 0 to 1"));
            }
        }
        for (key, span) in [("delay-us", self.delay_us), ("jitter-us", self.jitter_us)] {
            if span > SPAN_US_MAX {
                return wrong(key, format!("{span} is above {SPAN_US_MAX} microseconds"));
            }
        }
        Ok(())
    }
}

fn one() -> u64 {
    1
}

fn default_held_frames() -> u32 {
    4096
}

const HELD_FRAMES_MIN: u32 = 1024;
const HELD_FRAMES_MAX: u32 = 1_000_000;
const SPAN_US_MAX: u32 = 10_000_000;
