//! The keys of the `device` section that are this device's own.

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::MacAddr;

use crate::driver::{SECTION, device_key};

/// Keys of `device: {name: external}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// The tester's ports, in the order of the function's ports: each a port type with its keys,
    /// such as `{type: af-packet, interface: eth1}`.
    #[schemars(length(min = 1))]
    pub ports: Vec<Port>,
    /// Ethernet addresses of the device, in the order of the ports. By default they are resolved by
    /// ARP and Neighbor Discovery, if the function's ports have IP addresses.
    pub macs: Vec<String>,
    /// Description of the device for the record: `Vendor X, release 3.1`.
    pub version: String,
    /// File for the set-up sheet, which describes how the device must be configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// Verdicts of the oracle that the check ignores for this device: drop reasons, `punt` …
    // More than any function has verdicts.
    #[schemars(length(max = 100))]
    pub exceptions: Vec<String>,
    /// Time limit until a probe passes the device, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.1, max = 3600))]
    pub ready_within_s: Option<f64>,
}

/// A port of the tester: its type and keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// The port type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The keys of the port type.
    #[serde(flatten)]
    pub keys: Map<String, Value>,
}

impl Options {
    /// Reads the device's keys.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn read(options: &Map<String, Value>) -> Result<Options, Invalid> {
        let read: Options = keys::read(SECTION, options.clone())?;
        read.addresses()?;
        Ok(read)
    }

    /// The configured Ethernet addresses of the device.
    ///
    /// # Errors
    /// The first text that is none.
    pub fn addresses(&self) -> Result<Vec<MacAddr>, Invalid> {
        let read = |text: &String| {
            text.parse().map_err(|_| {
                let what = format!("`{text}` is not an Ethernet address");
                device_key("macs", what, "write it like 02:00:5e:10:00:01")
            })
        };
        self.macs.iter().map(read).collect()
    }
}
