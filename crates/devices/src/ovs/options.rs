//! The keys of the `device` section that are this device's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::DriverError;
use crate::wires::TesterPorts;

/// Keys of `device: {name: ovs}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How the tester sends and receives on its ends of virtual Ethernet: `af-packet`, `af-xdp`, or a
    /// mapping with `type` and more keys of that kind of port.
    pub ports: TesterPorts,
    /// What forwards.
    pub datapath: Datapath,
    /// How the switch receives and sends at its ends.
    pub interfaces: Interfaces,
    /// Whether a gateway limits each user's rate, by meters.
    pub policers: bool,
}

/// What forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Datapath {
    /// The switch's own datapath in user space.
    #[default]
    Netdev,
    /// The same, in the switch that is built with DPDK.
    Dpdk,
    /// The kernel's module `openvswitch`.
    System,
}

/// How the switch receives and sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interfaces {
    /// `af-xdp`; with the datapath `system`, what the kernel does.
    #[default]
    Auto,
    /// AF_XDP sockets on virtual Ethernet, which a thread for each core polls.
    AfXdp,
    /// Packet sockets on virtual Ethernet; with `dpdk` its driver for these.
    AfPacket,
    /// Rings in shared memory (vhost-user), with `dpdk` only; the tester's ports are their other ends.
    VhostUser,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ports: TesterPorts::default(),
            datapath: Datapath::default(),
            interfaces: Interfaces::default(),
            policers: true,
        }
    }
}

impl Options {
    /// Reads the keys.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn read(options: &Map<String, Value>) -> Result<Options, DriverError> {
        let read: Options =
            serde_json::from_value(Value::Object(options.clone())).map_err(|error| {
                let remedy = "see `plumbline schema` for what each key takes";
                DriverError::new(format!("device: {error}"), remedy)
            })?;
        let what = match (read.datapath, read.interfaces) {
            (Datapath::System, Interfaces::AfXdp | Interfaces::VhostUser) => {
                "the kernel's datapath"
            }
            (Datapath::Netdev, Interfaces::VhostUser) => "a switch without DPDK",
            _ => return Ok(read),
        };
        Err(DriverError::new(
            format!("device.interfaces: {what} has none of this kind"),
            "leave out `interfaces`, or set `datapath: dpdk`",
        ))
    }

    /// The kind of interfaces that `auto` stands for.
    pub fn interfaces(&self) -> Interfaces {
        match (self.interfaces, self.datapath) {
            (Interfaces::Auto, Datapath::System) => Interfaces::AfPacket,
            (Interfaces::Auto, _) => Interfaces::AfXdp,
            (interfaces, _) => interfaces,
        }
    }
}

impl Datapath {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Datapath::Netdev => "netdev",
            Datapath::Dpdk => "dpdk",
            Datapath::System => "system",
        }
    }

    /// As the switch's database calls it.
    pub(super) fn datapath_type(self) -> &'static str {
        match self {
            Datapath::Netdev | Datapath::Dpdk => "netdev",
            Datapath::System => "system",
        }
    }
}

impl Interfaces {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Interfaces::Auto => "auto",
            Interfaces::AfXdp => "af-xdp",
            Interfaces::AfPacket => "af-packet",
            Interfaces::VhostUser => "vhost-user",
        }
    }
}
