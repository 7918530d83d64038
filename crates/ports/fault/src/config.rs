//! The `fault` section of any port.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of fault injection at a port, for both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FaultConfig {
    /// Seed of the random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// Faults of received frames.
    #[serde(default)]
    pub receive: Faults,
    /// Faults of transmitted frames.
    #[serde(default)]
    pub transmit: Faults,
    /// Number of frames that each queue can hold back in each direction.
    #[serde(default = "default_held_frames")]
    #[schemars(range(min = 1024, max = 1_000_000))]
    pub held_frames: u32,
}

/// Faults of one direction. Probabilities are from 0 to 1 and independent of each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Faults {
    /// Probability that a frame is lost.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Probability that one bit of a frame is flipped.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub corruption: f64,
    /// Probability that a frame is duplicated.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplication: f64,
    /// Probability that a frame is delivered behind 1 to 8 later frames, or 10 ms later if fewer
    /// follow.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub reordering: f64,
    /// Delay of each frame, in microseconds.
    #[schemars(range(max = 10_000_000))]
    pub delay_us: u32,
    /// Largest additional random delay, in microseconds; it does not change the order of frames.
    #[schemars(range(max = 10_000_000))]
    pub jitter_us: u32,
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

fn one() -> u64 {
    1
}

fn default_held_frames() -> u32 {
    4096
}
