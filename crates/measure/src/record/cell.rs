//! A cell: one combination of swept keys, its functional check and its measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClaimLevel, Outcome};
use crate::{Subject, value_words};

/// The results of one cell: one combination of swept keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Identifier of the cell, unique in the run and stable for the same parameters.
    pub id: String,
    /// The benchmark of the scenario to which the cell belongs; empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub benchmark: String,
    /// The swept keys, as dotted paths from the top of the scenario, and their values in this cell.
    pub parameters: Map<String, Value>,
    /// Name of the function: `mobile-gateway` …
    pub function: String,
    /// Name of the device: `embedded` …
    pub device: String,
    /// Version of the device; the tool's version if the device is part of the tool.
    #[serde(default)]
    pub device_version: String,
    /// The complete configuration of the cell, with all defaults.
    pub configuration: Value,
    /// Seed of all random choices in the cell.
    pub seed: u64,
    /// Memory of the function's state in bytes; absent if the device does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_bytes: Option<u64>,
    /// Memory of the function's state per user or session in bytes, if the function has users or
    /// sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_bytes_per_user: Option<f64>,
    /// Resident memory of the whole process after the set-up in bytes, if the device is this
    /// process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Number of sessions that are open in every trial of frames, if the traffic has sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_open: Option<u64>,
    /// Time to set up the device's state, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_seconds: Option<f64>,
    /// Result of the functional check; absent if the cell failed before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// One outcome per method; empty if the check failed.
    pub outcomes: Vec<Outcome>,
    /// Why the cell has no outcomes, or not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the device cannot run on this machine; the cell then has no further contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<Unavailable>,
}

/// Why a device cannot run on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// The missing requirement.
    pub why: String,
    /// How to meet the requirement.
    pub remedy: String,
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the device cannot run here: {}", self.why)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

/// Result of the functional check: the comparison of the device with the oracle, frame by frame, or
/// route by route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was compared and is counted here, where this says "frames".
    #[serde(default, skip_serializing_if = "Subject::is_frames")]
    pub of: Subject,
    /// Whether all frames matched the oracle.
    pub passed: bool,
    /// Number of compared frames.
    pub frames: u64,
    /// Number of frames that differ from the oracle.
    pub mismatch_count: u64,
    /// The first differing frames; their number is limited.
    pub mismatches: Vec<Mismatch>,
    /// Number of frames for each verdict and each drop reason.
    pub coverage: Vec<Covered>,
    /// Verdicts and drop reasons that the sample did not exercise.
    pub uncovered: Vec<String>,
    /// Extent of the check: partial if something was excluded, none if the check failed.
    #[serde(default = "in_full")]
    pub claim: ClaimLevel,
    /// Number of frames and changes of the sample that were excluded because of limitations.
    #[serde(default)]
    pub skipped: u64,
    /// What the device cannot do, or does differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limitations: Vec<CheckLimitation>,
    /// Number of frames that the device sent in its own name, such as address resolution and ICMP
    /// errors.
    #[serde(default)]
    pub own_frames: u64,
    /// Number of frames whose verdict depends on when the device sees them, as with a policer; two
    /// verdicts were accepted for each.
    #[serde(default)]
    pub either: u64,
    /// Verdicts on the first frames of the captures that are sent; empty if none are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captured: Vec<Covered>,
}

/// A limitation of the device that excluded part of the check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckLimitation {
    /// Description of the limitation: `no policer: rates are not limited`.
    pub what: String,
    /// Verdicts of the oracle that were excluded.
    pub verdicts: Vec<String>,
    /// Number of frames or changes of the sample that were excluded.
    pub skipped: u64,
}

/// The claim of checks in old records, which knew no limitations.
fn in_full() -> ClaimLevel {
    ClaimLevel::Full
}

/// A frame that differs from the oracle's output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Number of the frame in the sample, from 0.
    pub frame: u64,
    /// Description of the difference.
    pub what: String,
    /// The oracle's output: hexadecimal bytes (limited) or a verdict.
    pub expected: String,
    /// The device's output: hexadecimal bytes (limited) or a verdict.
    pub got: String,
}

/// How often a verdict or drop reason was exercised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Covered {
    /// Name of the verdict, such as `forward uplink`, or the drop reason.
    pub name: String,
    /// Number of frames of the sample with this verdict.
    pub frames: u64,
}

impl Cell {
    /// Why the cell has no outcomes or not all: an error, or an unavailable device; none otherwise.
    pub fn trouble(&self) -> Option<String> {
        self.error.clone().or_else(|| self.unavailable.as_ref().map(ToString::to_string))
    }

    /// The parameters as `key=value, key=value`, or the function's name if nothing is swept.
    pub fn label(&self) -> String {
        if self.parameters.is_empty() {
            return self.function.clone();
        }
        let one = |(key, value): (&String, &Value)| match value {
            Value::Object(_) | Value::Array(_) => format!("{key}={}", value_words(value)),
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        self.parameters.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl Check {
    /// Returns the name of a difference: the number of a frame and what differs, or the route.
    pub fn named(&self, mismatch: &Mismatch) -> String {
        match self.of {
            Subject::Frames => format!("frame {}: {}", mismatch.frame, mismatch.what),
            Subject::Routes => mismatch.what.clone(),
        }
    }

    /// Description of what the check excluded; none if nothing was excluded.
    pub fn left_out(&self) -> Option<String> {
        let one = |limitation: &CheckLimitation| match limitation.skipped {
            0 => limitation.what.clone(),
            skipped => format!("{} ({skipped} excluded)", limitation.what),
        };
        let all: Vec<String> = self.limitations.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

impl Mismatch {
    /// Largest length of `expected` and `got`, in bytes of the frame.
    pub const FRAME_BYTES_MAX: usize = 256;

    /// The bytes of a frame as hexadecimal text, truncated to [`Self::FRAME_BYTES_MAX`].
    pub fn hex(frame: &[u8]) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for byte in frame.iter().take(Self::FRAME_BYTES_MAX) {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        if frame.len() > Self::FRAME_BYTES_MAX {
            let _ = write!(text, "… ({} bytes)", frame.len());
        }
        text
    }
}
