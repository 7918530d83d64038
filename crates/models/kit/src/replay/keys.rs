//! The keys of a replay, in the `traffic` section of any function.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How captures are sent in place of made frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ReplayKeys {
    /// Capture of Ethernet frames, pcap or pcapng, that is sent over and over in place of made
    /// frames: a file, whose frames enter at the first port, or a file for each port
    /// (`{inside: a.pcap, outside: b.pcap}`). With it, the keys that describe made frames are
    /// left out. Not in TIPSY.
    pub pcap: Option<Captures>,
    /// Intervals between captured frames: even, or those of the capture, as much faster or slower
    /// as the load asks for. Bursts and loads that change within a trial are even. Not in TIPSY.
    pub pcap_timing: Timing,
    /// How much faster than captured frames are sent where a method is told to send them as
    /// captured (`soak` by `load: captured`). Not in TIPSY.
    #[schemars(range(min = 0.000_001, max = 1_000_000.0))]
    pub pcap_speed: f64,
    /// Destination addresses of captured frames: those of the device's ports, or as captured. By
    /// default as captured for a bridge, and of the device otherwise. Groups of stations are kept.
    /// Not in TIPSY.
    pub pcap_macs: Macs,
    /// Frames of each file that are read, from its beginning; 0 for all. Not in TIPSY.
    pub pcap_frames: u64,
}

impl Default for ReplayKeys {
    fn default() -> ReplayKeys {
        ReplayKeys {
            pcap: None,
            pcap_timing: Timing::Even,
            pcap_speed: 1.0,
            pcap_macs: Macs::Auto,
            pcap_frames: 0,
        }
    }
}

/// Files of captures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Captures {
    /// One file, whose frames enter at the first port.
    One(PathBuf),
    /// A file for each of some ports, by their names.
    ByPort(BTreeMap<String, PathBuf>),
}

impl Captures {
    /// Returns the files with the names of their ports; no name for the first port.
    pub fn files(&self) -> Vec<(Option<&str>, &Path)> {
        match self {
            Captures::One(path) => vec![(None, path)],
            Captures::ByPort(files) => {
                files.iter().map(|(port, path)| (Some(port.as_str()), path.as_path())).collect()
            }
        }
    }
}

/// Intervals between captured frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// Equal intervals.
    Even,
    /// Intervals of the capture.
    Captured,
}

/// Destination addresses of captured frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Macs {
    /// Addresses as captured for a bridge, and those of the device otherwise.
    Auto,
    /// Addresses of the device's ports.
    Device,
    /// Addresses as captured.
    Keep,
}

/// How the names of all keys begin; also the name of the one that names files.
pub(super) const PREFIX: &str = "pcap";
