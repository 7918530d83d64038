//! The keys of the `device` section that are this device's own.

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::{SECTION, device_key};
use crate::wires::TesterPorts;

/// Keys of `device: {name: ovs}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// Port type of the tester at its ends of virtual Ethernet: `af-packet`, `af-xdp`, or a mapping
    /// with `type` and further keys of that port type.
    pub ports: TesterPorts,
    /// Datapath of the switch.
    pub datapath: Datapath,
    /// Type of the switch's interfaces.
    pub interfaces: Interfaces,
    /// Whether a gateway limits each user's rate, with meters.
    pub policers: bool,
}

/// Datapath of the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Datapath {
    /// The switch's own datapath in user space.
    #[default]
    Netdev,
    /// The switch's own datapath in user space, in the switch built with DPDK.
    Dpdk,
    /// The kernel module `openvswitch`.
    System,
}

/// Type of the switch's interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interfaces {
    /// `af-xdp`; with the datapath `system`, the kernel's own.
    #[default]
    Auto,
    /// AF_XDP sockets on virtual Ethernet, polled by one thread per core.
    AfXdp,
    /// Packet sockets on virtual Ethernet; with `dpdk`, DPDK's driver for them.
    AfPacket,
    /// Rings in shared memory (vhost-user), with `dpdk` only; the tester's ports are the other
    /// ends.
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
    /// Reads the device's keys.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn read(options: &Map<String, Value>) -> Result<Options, Invalid> {
        let read: Options = keys::read(SECTION, options.clone())?;
        let what = match (read.datapath, read.interfaces) {
            (Datapath::System, Interfaces::AfXdp | Interfaces::VhostUser) => {
                "the kernel's datapath"
            }
            (Datapath::Netdev, Interfaces::VhostUser) => "a switch without DPDK",
            _ => return Ok(read),
        };
        let what = format!("{what} does not support this type");
        let remedy = "remove `interfaces`, or set `datapath: dpdk`";
        Err(device_key("interfaces", what, remedy))
    }

    /// The interface type that `auto` resolves to.
    pub fn interfaces(&self) -> Interfaces {
        match (self.interfaces, self.datapath) {
            (Interfaces::Auto, Datapath::System) => Interfaces::AfPacket,
            (Interfaces::Auto, _) => Interfaces::AfXdp,
            (interfaces, _) => interfaces,
        }
    }
}

impl Datapath {
    /// The datapath's name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Datapath::Netdev => "netdev",
            Datapath::Dpdk => "dpdk",
            Datapath::System => "system",
        }
    }

    /// The datapath type in the switch's database.
    pub(super) fn datapath_type(self) -> &'static str {
        match self {
            Datapath::Netdev | Datapath::Dpdk => "netdev",
            Datapath::System => "system",
        }
    }
}

impl Interfaces {
    /// The interface type's name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Interfaces::Auto => "auto",
            Interfaces::AfXdp => "af-xdp",
            Interfaces::AfPacket => "af-packet",
            Interfaces::VhostUser => "vhost-user",
        }
    }
}
