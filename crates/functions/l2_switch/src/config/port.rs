//! The ports of a switch.

use std::borrow::Cow;

use function_kit::PortName;
use packet::PortId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A port of the bridge, by its number; files have `downlink`, `uplink`, `port-3` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "PortName", into = "PortName")]
pub struct Port(u8);

impl Port {
    /// The first one, towards users.
    pub const DOWNLINK: Port = Port(0);

    /// The second one, towards the Internet.
    pub const UPLINK: Port = Port(1);

    /// The two between which the tester's traffic goes, in the order of their numbers.
    pub const ALL: [Port; 2] = [Port::DOWNLINK, Port::UPLINK];

    /// The first ports, in the order of their numbers.
    pub fn first(count: u8) -> impl Iterator<Item = Port> {
        (0..count).map(Port)
    }

    /// Its name.
    pub fn name(self) -> PortName {
        match self.0 {
            0 => DOWNLINK,
            1 => UPLINK,
            number => PortName::numbered(FURTHER, u16::from(number) + 1),
        }
    }

    /// Its number.
    pub const fn id(self) -> PortId {
        PortId(self.0)
    }

    /// The port of a number.
    pub const fn of(id: PortId) -> Port {
        Port(id.0)
    }

    /// The other one of two.
    pub const fn other(self) -> Port {
        match self {
            Port::UPLINK => Port::DOWNLINK,
            _ => Port::UPLINK,
        }
    }
}

impl From<Port> for PortName {
    fn from(port: Port) -> PortName {
        port.name()
    }
}

impl TryFrom<PortName> for Port {
    type Error = String;

    fn try_from(name: PortName) -> Result<Port, String> {
        let found = Port::first(PORTS_MAX).find(|port| port.name() == name);
        found.ok_or_else(|| {
            format!(
                "`{name}` is not a port of a switch: downlink, uplink, port-3 to port-{PORTS_MAX}"
            )
        })
    }
}

impl JsonSchema for Port {
    fn schema_name() -> Cow<'static, str> {
        "Port".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(downlink|uplink|port-[0-9]+)$",
            "description": "A port of the bridge: `downlink`, `uplink`, `port-3` and so on.",
        })
    }
}

/// Most ports.
pub const PORTS_MAX: u8 = 128;

const DOWNLINK: PortName = PortName::new("downlink");
const UPLINK: PortName = PortName::new("uplink");

/// What the names of further ports begin with.
const FURTHER: &str = "port-";
