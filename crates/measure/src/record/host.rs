//! Facts of the host that a reader needs to judge a figure.
//!
//! Only facts: what they mean for the figures is the work of `validity`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine, and how quiet it was before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Host name, if the user wants it recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Kernel name and release.
    pub kernel: String,
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// CPUs this process may use.
    pub cores: usize,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Huge pages reserved and the setting of transparent ones, as text.
    pub huge_pages: String,
    /// The time-stamp counter.
    pub tsc: Tsc,
    /// CPU flags that the data path can make use of and that are present.
    pub cpu_flags: Vec<String>,
    /// Gaps that a busy loop saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_probe: Option<StallProbe>,
    /// A cache line going back and forth between two cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_to_core_probe: Option<CoreToCoreProbe>,
    /// Random loads from arrays of several sizes.
    #[serde(default)]
    pub random_access_probe: Vec<RandomAccess>,
}

/// The time-stamp counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tsc {
    /// Whether it ticks at one rate in all power states.
    pub invariant: bool,
    /// Its calibrated rate.
    pub ticks_per_second: f64,
}

/// Gaps that a busy loop saw in its own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallProbe {
    /// How long the loop ran.
    pub duration_ns: u64,
    /// What counts as a gap.
    pub threshold_ns: u64,
    /// Gaps seen.
    pub count: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The longest one.
    pub longest_ns: u64,
}

/// A cache line going back and forth between two cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreToCoreProbe {
    /// The two cores.
    pub cores: [usize; 2],
    /// The fastest round trip.
    pub round_trip_ns_min: f64,
    /// The median round trip.
    pub round_trip_ns_median: f64,
}

/// Random loads from one array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RandomAccess {
    /// Size of the array.
    pub bytes: u64,
    /// Loads in flight at a time: 1 is a chain, each address coming from the load before.
    pub in_flight: u32,
    /// Mean time a load takes, which falls as more are in flight.
    pub ns_per_access: f64,
}
