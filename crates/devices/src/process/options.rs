//! The keys of the device beside those that all devices have.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::DriverError;

/// The keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// The kind of ports, the daemon's and the tester's.
    pub ports: Ports,
    /// With `ports: af-packet`: how frames are handed over, the daemon's and the tester's.
    pub ring: Ring,
    /// The program to start; this one unless it is said.
    pub program: Option<PathBuf>,
    /// What stands between the tester and the function.
    pub topology: Topology,
    /// The cores of the guests; the workers' unless they are given.
    pub guest_cores: Vec<usize>,
}

/// What stands between the tester and the function, after the topologies of published tests of virtual
/// switches. The fourth of them, a guest without a switch, is the device `testpmd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Nothing: the switch alone.
    #[default]
    Direct,
    /// A guest on each side: the switch joins two virtual machines. Frames reach the guests past the
    /// switch, by memif.
    VmToVm,
    /// A guest in the middle: every frame goes through the switch, a virtual machine and the switch
    /// again, which is two daemons here, one for each way past it.
    FullPath,
}

impl Topology {
    /// How many guests it has.
    pub(super) fn guests(self) -> usize {
        match self {
            Topology::Direct => 0,
            Topology::VmToVm => 2,
            Topology::FullPath => 1,
        }
    }
}

/// A kind of port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// Packet sockets on virtual Ethernet.
    #[default]
    AfPacket,
    /// Sockets of the express data path on virtual Ethernet.
    AfXdp,
    /// Shared memory; the daemon is the slave, which owns it.
    Memif,
    /// Shared memory as of a virtual machine, which the tester plays.
    VhostUser,
    /// The same the other way round: the daemon is the driver's side, the tester the device.
    VirtioUser,
}

/// How packet sockets hand frames over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ring {
    /// One by one, as they come.
    #[default]
    Frames,
    /// In blocks: least work, but a lone frame waits up to 1 ms.
    Blocks,
}

impl Options {
    /// Reads the keys.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub fn read(options: &Map<String, Value>) -> Result<Options, DriverError> {
        let remedy = "see `plumbline schema` for what each key takes";
        let read: Options = serde_json::from_value(Value::Object(options.clone()))
            .map_err(|error| DriverError::new(format!("device: {error}"), remedy))?;
        let is_shared = matches!(read.ports, Ports::Memif | Ports::VhostUser);
        if read.topology.guests() > 0 && !is_shared {
            let what = "device: a guest is joined to the switch by `memif` or `vhost-user` ports";
            return Err(DriverError::new(what, "set `ports: vhost-user`"));
        }
        Ok(read)
    }

    /// The program to start.
    ///
    /// # Errors
    /// When there is none at that path.
    pub(super) fn program(&self) -> Result<PathBuf, DriverError> {
        let unknown = |what: String| DriverError::new(what, "name it in `program`");
        match &self.program {
            Some(path) if path.is_file() => Ok(path.clone()),
            Some(path) => Err(unknown(format!("there is no program {}", path.display()))),
            None => std::env::current_exe()
                .map_err(|error| unknown(format!("this program's file is not known: {error}"))),
        }
    }
}

impl Ports {
    /// The `type` in configurations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Ports::AfPacket => "af-packet",
            Ports::AfXdp => "af-xdp",
            Ports::Memif => "memif",
            Ports::VhostUser | Ports::VirtioUser => "vhost-user",
        }
    }
}
