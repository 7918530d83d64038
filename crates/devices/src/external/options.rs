//! The keys of the `device` section that are this device's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wire::MacAddr;

use crate::driver::DriverError;

/// Keys of `device: {name: external}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// The tester's ports, in the order of the function's: each a kind of port with its keys, like
    /// `{type: af-packet, interface: eth1}`.
    #[schemars(length(min = 1))]
    pub ports: Vec<Port>,
    /// The Ethernet addresses of the box, in the same order; else they are asked for by ARP and
    /// neighbour discovery, where the function's ports have IP addresses.
    pub macs: Vec<String>,
    /// What the box is, for the record: `Vendor X, release 3.1`.
    pub version: String,
    /// A file for the set-up sheet: what the box must be configured with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// Verdicts of the oracle that the box is not to be held to: drop reasons, `punt` …
    pub exceptions: Vec<String>,
    /// How long the box may take until a probe comes through, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.1, max = 3600))]
    pub ready_within_s: Option<f64>,
}

/// A port of the tester.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// Which kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The keys of that kind.
    #[serde(flatten)]
    pub keys: Map<String, Value>,
}

impl Options {
    /// Reads the keys.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn read(options: &Map<String, Value>) -> Result<Options, DriverError> {
        let remedy = "see `plumbline schema` for what each key takes";
        let read: Options = serde_json::from_value(Value::Object(options.clone()))
            .map_err(|error| DriverError::new(format!("device: {error}"), remedy))?;
        read.addresses()?;
        if read.ready_within_s.is_some_and(|time| !(0.1..=3600.0).contains(&time)) {
            let what = "device.ready-within-s: must be from 0.1 to 3600 seconds";
            return Err(DriverError::new(what, "remove the key for ten seconds"));
        }
        if read.exceptions.len() > EXCEPTIONS_MAX {
            let what = format!("device.exceptions: more than {EXCEPTIONS_MAX} verdicts");
            return Err(DriverError::new(what, "name each verdict once"));
        }
        Ok(read)
    }

    /// The box's Ethernet addresses, as far as they are given.
    pub fn addresses(&self) -> Result<Vec<MacAddr>, DriverError> {
        let read = |text: &String| {
            text.parse().map_err(|_| {
                let what = format!("device.macs: `{text}` is no Ethernet address");
                DriverError::new(what, "write it like 02:00:5e:10:00:01")
            })
        };
        self.macs.iter().map(read).collect()
    }
}

/// More than any function has.
const EXCEPTIONS_MAX: usize = 100;
