//! The keys of the `device` section that are this device's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::DriverError;
use crate::wires::TesterPorts;

/// Keys of `device: {name: linux}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How the tester sends and receives on its ends of the links: `af-packet`, `af-xdp`, or a mapping
    /// with `type` and more keys of that kind of port.
    pub ports: TesterPorts,
    /// Where the kernel forwards.
    pub forwarding: Forwarding,
    /// Whether a gateway limits each user's rate, by meters of nftables.
    pub policers: bool,
    /// Whether the device answers with ICMP where it cannot forward; else it is as silent as a
    /// router whose error rate is limited to none.
    pub icmp: bool,
}

/// Where the kernel forwards what arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// On a kernel thread for each port, which stays on the device's cores and whose CPU time is told.
    #[default]
    Threaded,
    /// In soft interrupts of the device's cores, spread over them by flow (receive packet steering).
    Rps,
    /// In soft interrupts of the core that sends: the tester's. For comparison.
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
    /// Reads the keys.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn read(options: &Map<String, Value>) -> Result<Options, DriverError> {
        serde_json::from_value(Value::Object(options.clone())).map_err(|error| {
            let remedy = "see `plumbline schema` for what each key takes";
            DriverError::new(format!("device: {error}"), remedy)
        })
    }
}

impl Forwarding {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Forwarding::Threaded => "threaded",
            Forwarding::Rps => "rps",
            Forwarding::Softirq => "softirq",
        }
    }
}
