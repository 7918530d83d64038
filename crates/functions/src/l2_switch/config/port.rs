//! The ports of a switch.

use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A port of the bridge.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Port {
    /// Towards users.
    Downlink,
    /// Towards the Internet.
    Uplink,
    /// A further port.
    #[serde(rename = "port-3")]
    Port3,
    /// A further port.
    #[serde(rename = "port-4")]
    Port4,
    /// A further port.
    #[serde(rename = "port-5")]
    Port5,
    /// A further port.
    #[serde(rename = "port-6")]
    Port6,
    /// A further port.
    #[serde(rename = "port-7")]
    Port7,
    /// A further port.
    #[serde(rename = "port-8")]
    Port8,
}

impl Port {
    /// The two between which the tester's traffic goes, in the order of their numbers.
    pub const ALL: [Port; 2] = [Port::Downlink, Port::Uplink];

    /// All that there can be, in the order of their numbers.
    pub const EVERY: [Port; PORT_NAMES.len()] = [
        Port::Downlink,
        Port::Uplink,
        Port::Port3,
        Port::Port4,
        Port::Port5,
        Port::Port6,
        Port::Port7,
        Port::Port8,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        PORT_NAMES[self as usize]
    }

    /// Its number.
    pub const fn id(self) -> PortId {
        PortId(self as u8)
    }

    /// The port of a number.
    pub const fn of(id: PortId) -> Port {
        Port::EVERY[id.0 as usize & (PORT_NAMES.len() - 1)]
    }

    /// The other one of two.
    pub const fn other(self) -> Port {
        match self {
            Port::Uplink => Port::Downlink,
            _ => Port::Uplink,
        }
    }
}

/// The names of all ports that there can be; a power of two, so that a number is masked.
pub const PORT_NAMES: &[&str; 8] =
    &["downlink", "uplink", "port-3", "port-4", "port-5", "port-6", "port-7", "port-8"];
