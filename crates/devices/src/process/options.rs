//! The keys of the device beside those that all devices have.

use std::path::PathBuf;

use daemon::config::Rest;
use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::{DriverError, SECTION, device_key};

/// Keys of `device: {name: process}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// Port type of the daemon and of the tester.
    pub ports: Ports,
    /// With `ports: af-packet`: type of the receive ring, of the daemon and of the tester.
    pub ring: Ring,
    /// The program to start; by default this program.
    pub program: Option<PathBuf>,
    /// Components between the tester and the function.
    pub topology: Topology,
    /// Cores of the guests; by default those of the workers.
    pub guest_cores: Vec<usize>,
    /// What the workers do while no packet arrives; by default they poll, and beside guests on
    /// their cores they yield.
    pub idle: Option<Rest>,
}

/// Components between the tester and the function, after the topologies of published tests of
/// virtual switches. Their fourth topology, a guest without a switch, is the device `testpmd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// The switch alone.
    #[default]
    Direct,
    /// A guest on each side: the switch connects two virtual machines. The tester reaches the
    /// guests directly, by memif.
    VmToVm,
    /// A guest in the middle: every frame passes the switch, a virtual machine and the switch
    /// again. Two daemons act as the switch, one for each pass.
    FullPath,
}

impl Topology {
    /// Number of guests in the topology.
    pub(super) fn guests(self) -> usize {
        match self {
            Topology::Direct => 0,
            Topology::VmToVm => 2,
            Topology::FullPath => 1,
        }
    }
}

/// Port type of the daemon and of the tester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// AF_PACKET sockets on virtual Ethernet.
    #[default]
    AfPacket,
    /// AF_XDP sockets on virtual Ethernet.
    AfXdp,
    /// memif; the daemon is the slave, which owns the memory.
    Memif,
    /// vhost-user; the daemon is the device, the tester acts as a virtual machine.
    VhostUser,
    /// vhost-user with swapped roles: the daemon is the driver, the tester the device.
    VirtioUser,
}

/// Type of the receive ring of packet sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ring {
    /// Single frames, without delay.
    #[default]
    Frames,
    /// Blocks of frames: least CPU time, but a single frame waits up to 1 ms.
    Blocks,
}

impl Options {
    /// Reads the device's keys.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn read(options: &Map<String, Value>) -> Result<Options, Invalid> {
        let read: Options = keys::read(SECTION, options.clone())?;
        let is_shared = matches!(read.ports, Ports::Memif | Ports::VhostUser);
        if read.topology.guests() > 0 && !is_shared {
            let what = "a guest is connected to the switch by `memif` or `vhost-user` ports";
            return Err(device_key("ports", what.to_owned(), "set `ports: vhost-user`"));
        }
        Ok(read)
    }

    /// What workers do while no packet arrives. Workers that share their cores with guests, which
    /// always poll, or with the workers of another daemon, must yield the core first: a worker that
    /// polls would delay every packet until the end of its own time slice.
    pub(super) fn rest(&self) -> Rest {
        let shares_cores = self.topology.guests() > 0 && self.guest_cores.is_empty();
        self.idle.unwrap_or(if shares_cores { Rest::Yield } else { Rest::Poll })
    }

    /// Path of the program to start.
    ///
    /// # Errors
    /// When there is no program at the configured path.
    pub(super) fn program(&self) -> Result<PathBuf, DriverError> {
        let unknown = |what: String| DriverError::new(what, "set its path in `program`");
        match &self.program {
            Some(path) if path.is_file() => Ok(path.clone()),
            Some(path) => Err(unknown(format!("the program {} does not exist", path.display()))),
            None => std::env::current_exe()
                .map_err(|error| unknown(format!("the path of this program is unknown: {error}"))),
        }
    }
}

impl Ports {
    /// The port type's `type` in configurations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Ports::AfPacket => "af-packet",
            Ports::AfXdp => "af-xdp",
            Ports::Memif => "memif",
            Ports::VhostUser | Ports::VirtioUser => "vhost-user",
        }
    }
}
