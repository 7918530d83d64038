//! The keys of the `device` section that are this device's own.

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::SECTION;
use crate::wires::TesterPorts;

/// Keys of `device: {name: linux}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// Port type of the tester at its ends of the links: `af-packet`, `af-xdp`, or a mapping with
    /// `type` and further keys of that port type.
    pub ports: TesterPorts,
    /// Context in which the kernel forwards frames.
    pub forwarding: Forwarding,
    /// Whether a gateway limits each user's rate, with meters of nftables.
    pub policers: bool,
    /// Whether the device sends ICMP errors for packets that it cannot forward. Without them it
    /// behaves like a router with an ICMP error rate limit of 0.
    pub icmp: bool,
}

/// Context in which the kernel forwards frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// In a kernel thread for each port, pinned to the device's cores, with known CPU time.
    #[default]
    Threaded,
    /// In softirqs of the device's cores, distributed by flow (receive packet steering).
    Rps,
    /// In softirqs of the sending core, which is the tester's; for comparison.
    Softirq,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ports: TesterPorts::default(),
            forwarding: Forwarding::default(),
            policers: true,
            icmp: false,
        }
    }
}

impl Options {
    /// Reads the device's keys.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn read(options: &Map<String, Value>) -> Result<Options, Invalid> {
        keys::read(SECTION, options.clone())
    }
}

impl Forwarding {
    /// The value's name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Forwarding::Threaded => "threaded",
            Forwarding::Rps => "rps",
            Forwarding::Softirq => "softirq",
        }
    }
}
