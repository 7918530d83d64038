//! Facts of the host that a reader needs to judge a figure.
//!
//! Only facts: what they mean for the figures is the work of `validity`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts of the machine, and its noise before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Host name, if the user wants it recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Kernel name and release.
    pub kernel: String,
    /// CPU model as the kernel names it, with family, model and stepping (of Arm implementer and
    /// part): generations of one name differ.
    pub cpu_model: String,
    /// Number of CPUs that this process may use.
    pub cores: usize,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Number of reserved huge pages and the setting of transparent huge pages, as text.
    pub huge_pages: String,
    /// The time-stamp counter.
    pub tsc: Tsc,
    /// CPU flags that the data path can use and that are present.
    pub cpu_flags: Vec<String>,
    /// Gaps seen by a busy loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_probe: Option<StallProbe>,
    /// Round trips of a cache line between two cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_to_core_probe: Option<CoreToCoreProbe>,
    /// Random loads from arrays of several sizes.
    #[serde(default)]
    pub random_access_probe: Vec<RandomAccess>,
}

impl HostFacts {
    /// Whether two records may be of one host: the same processor, cores and counter. What tells
    /// two machines of one kind apart is not recorded.
    pub fn is_like(&self, other: &HostFacts) -> bool {
        let [one, another] = [self, other].map(|host| host.tsc.ticks_per_second);
        // Each run calibrates the counter anew.
        let same_counter = (one - another).abs() <= 0.01 * one.max(another);
        self.cpu_model == other.cpu_model && self.cores == other.cores && same_counter
    }
}

/// The time-stamp counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tsc {
    /// Whether the counter ticks at a constant rate in all power states.
    pub invariant: bool,
    /// Calibrated rate, in ticks per second.
    pub ticks_per_second: f64,
}

/// Gaps in its own time that a busy loop saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallProbe {
    /// Duration of the probe, in nanoseconds.
    pub duration_ns: u64,
    /// Shortest gap that is counted, in nanoseconds.
    pub threshold_ns: u64,
    /// Number of gaps.
    pub count: u64,
    /// Sum of the gaps, in nanoseconds.
    pub total_ns: u64,
    /// The longest gap, in nanoseconds.
    pub longest_ns: u64,
}

/// Round trips of a cache line between two cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreToCoreProbe {
    /// The two cores.
    pub cores: [usize; 2],
    /// The fastest round trip, in nanoseconds.
    pub round_trip_ns_min: f64,
    /// The median round trip, in nanoseconds.
    pub round_trip_ns_median: f64,
}

/// Random loads from one array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RandomAccess {
    /// Size of the array, in bytes.
    pub bytes: u64,
    /// Number of loads in flight; 1 is a chain, in which each address comes from the load before.
    pub in_flight: u32,
    /// Mean time per load in nanoseconds, which falls as more are in flight.
    pub ns_per_access: f64,
}
