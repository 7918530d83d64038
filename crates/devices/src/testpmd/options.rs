//! The keys of the `device` section that are this device's own.

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::{SECTION, device_key};
use crate::wires::TesterPorts;

/// Keys of `device: {name: testpmd}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// Type of testpmd's two ports.
    pub ports: Ports,
    /// Role of testpmd on memif ports; the tester has the other role.
    pub memif_role: MemifRole,
    /// Port type of the tester if testpmd's ports are on virtual Ethernet.
    pub tester_ports: TesterPorts,
    /// Number of descriptors of each ring; at most 1024 except for memif.
    #[schemars(extend("enum" = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]))]
    pub ring_size: u32,
    /// Largest number of frames that testpmd processes at once.
    #[schemars(range(min = 1, max = 512))]
    pub burst: u16,
    /// Whether testpmd's memory is in huge pages, which must be reserved before.
    pub huge_pages: bool,
}

/// Type of testpmd's ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// DPDK's `net_memif`.
    #[default]
    Memif,
    /// DPDK's `net_af_packet` on virtual Ethernet.
    AfPacket,
    /// DPDK's `net_af_xdp` on virtual Ethernet.
    AfXdp,
    /// DPDK's `net_vhost`: testpmd is the device, the tester its driver.
    VhostUser,
    /// DPDK's `virtio_user`: testpmd is the driver, the tester the device.
    VirtioUser,
}

/// Role of a memif port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemifRole {
    /// Listens on the socket, and uses the tester's memory.
    Master,
    /// Connects to the socket, and owns the memory.
    #[default]
    Slave,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ports: Ports::default(),
            memif_role: MemifRole::default(),
            tester_ports: TesterPorts::default(),
            ring_size: 1024,
            burst: 32,
            huge_pages: false,
        }
    }
}

impl Options {
    /// Reads and checks the device's keys.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn read(options: &Map<String, Value>) -> Result<Options, Invalid> {
        let read: Options = keys::read(SECTION, options.clone())?;
        if read.ports != Ports::Memif && read.ring_size > 1024 {
            let what = "must be at most 1024 for this type of ports".to_owned();
            return Err(device_key("ring-size", what, ""));
        }
        Ok(read)
    }
}
