//! A cell: one combination of swept keys, its functional check and its measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClaimLevel, Outcome};

/// One combination of swept keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Unique in the run and stable for the same parameters.
    pub id: String,
    /// The benchmark of the scenario that it belongs to; empty where there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub benchmark: String,
    /// The swept keys, dotted from the top of the scenario, and their values in this cell.
    pub parameters: Map<String, Value>,
    /// The function, `mobile-gateway` …
    pub function: String,
    /// The device that implements it, `embedded` …
    pub device: String,
    /// The device's version; that of the tool where the device is part of it.
    #[serde(default)]
    pub device_version: String,
    /// The whole configuration of the cell, all defaults filled in.
    pub configuration: Value,
    /// What every random choice of the cell was drawn from.
    pub seed: u64,
    /// Memory of the function's state; absent when the device does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_bytes: Option<u64>,
    /// The same for each user or session, where the function has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_bytes_per_user: Option<f64>,
    /// Memory of the whole process once the state was built, where the device is this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Sessions that are open in every trial of frames, where the traffic has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_open: Option<u64>,
    /// Time to build the device's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_seconds: Option<f64>,
    /// The functional check; absent when the cell failed before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// One entry a method, none when the check failed.
    pub outcomes: Vec<Outcome>,
    /// Why the cell has no (or not all) outcomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the device cannot run on this machine, where it cannot: the cell then has nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<Unavailable>,
}

/// A device that cannot run on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// What is missing.
    pub why: String,
    /// What would enable it.
    pub remedy: String,
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the device cannot run here: {}", self.why)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

/// The comparison of the device with the oracle, frame by frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Whether every frame came out as the oracle says.
    pub passed: bool,
    /// Frames compared.
    pub frames: u64,
    /// Frames that differ.
    pub mismatch_count: u64,
    /// The first of them, limited in number.
    pub mismatches: Vec<Mismatch>,
    /// How many frames exercised each verdict and each drop reason.
    pub coverage: Vec<Covered>,
    /// Verdicts and drop reasons that the sample did not exercise.
    pub uncovered: Vec<String>,
    /// Whether the device was held to all of the sample: in part where something was left out, not at
    /// all where it failed.
    #[serde(default = "in_full")]
    pub claim: ClaimLevel,
    /// Frames and changes of the sample that were left out, as the limitations have it.
    #[serde(default)]
    pub skipped: u64,
    /// What the device cannot do, or does otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limitations: Vec<CheckLimitation>,
    /// Frames that the device sent in its own name: questions for addresses, errors told to senders.
    #[serde(default)]
    pub own_frames: u64,
    /// Frames whose verdict depends on the moment at which the device sees them, as a policer's does:
    /// either of two was accepted.
    #[serde(default)]
    pub either: u64,
}

/// Something that a device was not held to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckLimitation {
    /// In words: `no policer: rates are not limited`.
    pub what: String,
    /// The verdicts of the oracle that were left out.
    pub verdicts: Vec<String>,
    /// How many frames or changes of the sample that were.
    pub skipped: u64,
}

/// Checks of before devices could be limited were of everything.
fn in_full() -> ClaimLevel {
    ClaimLevel::Full
}

/// A frame that did not come out as the oracle says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Which frame of the sample, from 0.
    pub frame: u64,
    /// What differs, in words.
    pub what: String,
    /// The oracle's output: hexadecimal bytes (limited) or a verdict.
    pub expected: String,
    /// The device's output in the same form.
    pub got: String,
}

/// How often one verdict or drop reason was exercised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Covered {
    /// `forward uplink`, or the drop reason.
    pub name: String,
    /// Frames of the sample that ended so.
    pub frames: u64,
}

impl Cell {
    /// Why the cell has no (or not all) outcomes: it failed, or the device cannot run here.
    pub fn trouble(&self) -> Option<String> {
        self.error.clone().or_else(|| self.unavailable.as_ref().map(ToString::to_string))
    }

    /// The parameters as `key=value, key=value`; the function's name when nothing is swept.
    pub fn label(&self) -> String {
        if self.parameters.is_empty() {
            return self.function.clone();
        }
        let one = |(key, value): (&String, &Value)| match value {
            Value::String(text) => format!("{key}={text}"),
            other => format!("{key}={other}"),
        };
        self.parameters.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl Check {
    /// What was left out, in words: nothing where the device was held to all of the sample.
    pub fn left_out(&self) -> Option<String> {
        let one = |limitation: &CheckLimitation| match limitation.skipped {
            0 => limitation.what.clone(),
            skipped => format!("{} ({skipped} left out)", limitation.what),
        };
        let all: Vec<String> = self.limitations.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

impl Mismatch {
    /// The longest `expected` or `got`, in bytes of the frame.
    pub const FRAME_BYTES_MAX: usize = 256;

    /// The bytes of a frame as hexadecimal text, cut at [`Self::FRAME_BYTES_MAX`].
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
