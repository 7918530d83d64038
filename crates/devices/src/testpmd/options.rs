//! The keys of the `device` section that are this device's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::DriverError;
use crate::wires::TesterPorts;

/// Keys of `device: {name: testpmd}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// The kind of both its ports.
    pub ports: Ports,
    /// Its role on memif ports; the tester has the other one.
    pub memif_role: MemifRole,
    /// How the tester sends and receives where the ports are on virtual Ethernet.
    pub tester_ports: TesterPorts,
    /// Descriptors of each ring, a power of two from 64 to 16,384; up to 1024 but for memif.
    pub ring_size: u32,
    /// Most frames that it takes at once, 1 to 512.
    pub burst: u16,
    /// Whether its memory is in huge pages, which must have been reserved.
    pub huge_pages: bool,
}

/// Kinds of ports.
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
    /// DPDK's `net_vhost`: the device's side, the tester is its driver.
    VhostUser,
    /// DPDK's `virtio_user`: the driver's side, the tester is the device.
    VirtioUser,
}

/// A side of memif.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemifRole {
    /// Listens, and uses the tester's memory.
    Master,
    /// Connects, and owns the memory.
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
    /// Reads and checks the keys.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn read(options: &Map<String, Value>) -> Result<Options, DriverError> {
        let wrong = |what: String| {
            DriverError::new(
                format!("device: {what}"),
                "see `plumbline schema` for what each key takes",
            )
        };
        let read: Options = serde_json::from_value(Value::Object(options.clone()))
            .map_err(|error| wrong(error.to_string()))?;
        let largest = if read.ports == Ports::Memif { 16_384 } else { 1024 };
        if !read.ring_size.is_power_of_two() || !(64..=largest).contains(&read.ring_size) {
            return Err(wrong(format!("ring-size: a power of two from 64 to {largest} is needed")));
        }
        if !(1..=512).contains(&read.burst) {
            return Err(wrong("burst: 1 to 512 frames are possible".to_owned()));
        }
        Ok(read)
    }
}
