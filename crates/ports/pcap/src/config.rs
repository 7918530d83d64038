//! The keys of the port.

use std::path::{Path, PathBuf};

use engine::KeyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file to replay, a file to capture to, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PcapConfig {
    /// The file whose frames come in: pcap or pcapng.
    #[serde(default)]
    pub replay: Option<PathBuf>,
    /// When frames come.
    #[serde(default)]
    pub timing: Timing,
    /// How much faster than they were captured.
    #[serde(default = "one")]
    #[schemars(range(min = 0.000_001, max = 1_000_000.0))]
    pub speed: f64,
    /// How often the file is replayed; 0 is for ever.
    #[serde(default = "once")]
    pub repeat: u64,
    /// The file to which frames go; one that is there is replaced.
    #[serde(default)]
    pub capture: Option<PathBuf>,
    /// Its format; unless said otherwise, by the ending of its name.
    #[serde(default)]
    pub format: Option<Format>,
    /// Memory between a queue and the threads that read and write, in bytes for each way.
    #[serde(default = "default_ring_bytes")]
    #[schemars(range(min = 262_144, max = 1_073_741_824))]
    pub ring_bytes: u32,
}

/// When frames of a file come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// As far apart as they were captured.
    #[default]
    Kept,
    /// As fast as they are taken.
    Fast,
}

/// The format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Classic, with stamps in nanoseconds.
    Pcap,
    /// pcapng, with stamps in nanoseconds.
    Pcapng,
}

impl PcapConfig {
    pub(crate) fn validate(&self) -> Result<(), KeyError> {
        let wrong = |key: &str, what: String| Err(KeyError { key: key.to_owned(), what });
        if self.replay.is_none() && self.capture.is_none() {
            return wrong(
                "",
                "names neither a file to `replay` nor one to `capture` to".to_owned(),
            );
        }
        if self.replay.is_some() && self.replay == self.capture {
            return wrong("capture", "is the file that is replayed".to_owned());
        }
        if !(1e-6..=1e6).contains(&self.speed) {
            return wrong("speed", format!("{} is not from 0.000001 to 1000000", self.speed));
        }
        if !(RING_BYTES_MIN..=RING_BYTES_MAX).contains(&self.ring_bytes) {
            let what = format!(
                "{} is not from {RING_BYTES_MIN} to {RING_BYTES_MAX} bytes",
                self.ring_bytes
            );
            return wrong("ring-bytes", what);
        }
        Ok(())
    }

    /// The format in which to write to a file.
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

const RING_BYTES_MIN: u32 = 256 << 10;
const RING_BYTES_MAX: u32 = 1 << 30;
