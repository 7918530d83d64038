//! The keys of the port.

use std::path::{Path, PathBuf};

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of a pcap port: a file to replay, a file to capture to, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PcapConfig {
    /// File to replay: pcap or pcapng.
    #[serde(default)]
    pub replay: Option<PathBuf>,
    /// Timing of the replay.
    #[serde(default)]
    pub timing: Timing,
    /// Factor by which the replay is faster than the capture.
    #[serde(default = "one")]
    #[schemars(range(min = 0.000_001, max = 1_000_000.0))]
    pub speed: f64,
    /// Number of replays of the file; 0 repeats for ever.
    #[serde(default = "once")]
    pub repeat: u64,
    /// File to capture to; an existing file is replaced.
    #[serde(default)]
    pub capture: Option<PathBuf>,
    /// Format of the capture; by default it follows the file extension.
    #[serde(default)]
    pub format: Option<Format>,
    /// Size of the ring between a queue and the reading or writing thread, in bytes for each
    /// direction.
    #[serde(default = "default_ring_bytes")]
    #[schemars(range(min = 262_144, max = 1_073_741_824))]
    pub ring_bytes: u32,
}

/// Timing of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// With the intervals of the capture.
    #[default]
    Kept,
    /// As fast as the worker receives.
    Fast,
}

/// The format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Classic pcap with nanosecond timestamps.
    Pcap,
    /// pcapng with nanosecond timestamps.
    Pcapng,
}

impl PcapConfig {
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let wrong = |key: &str, what: &str| Err(Invalid::new(key, what, ""));
        if self.replay.is_none() && self.capture.is_none() {
            return wrong("", "has neither a file to `replay` nor a file to `capture` to");
        }
        if self.replay.is_some() && self.replay == self.capture {
            return wrong("capture", "is also the file to replay");
        }
        Ok(())
    }

    /// Returns the format of a capture to `path`.
    pub(crate) fn format_of(&self, path: &Path) -> Format {
        let ending = path.extension().is_some_and(|ending| ending == "pcapng");
        self.format.unwrap_or(if ending { Format::Pcapng } else { Format::Pcap })
    }
}

fn one() -> f64 {
    1.0
}

fn once() -> u64 {
    1
}

fn default_ring_bytes() -> u32 {
    4 << 20
}
