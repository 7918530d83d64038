//! The keys of the port.

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of an af-packet port: an interface of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AfPacketConfig {
    /// Name of the interface, as shown by `ip link`.
    pub interface: String,
    /// Distribution of frames among the queues of several workers.
    #[serde(default)]
    pub fanout: Fanout,
    /// Receive frames for all addresses, not only for the interface's own.
    #[serde(default = "yes")]
    pub promiscuous: bool,
    /// Bypass the kernel's queueing discipline on transmission; long segments never do.
    #[serde(default = "yes")]
    pub qdisc_bypass: bool,
    /// Type of the receive ring.
    #[serde(default)]
    pub ring: Ring,
    /// Size of the receive ring of each queue, in bytes.
    #[serde(default = "default_ring_bytes")]
    #[schemars(range(min = 262_144, max = 1_073_741_824))]
    pub ring_bytes: u32,
}

/// Distribution of frames among queues (`PACKET_FANOUT`, packet(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fanout {
    /// By the hash of addresses and ports: a flow stays on its queue.
    #[default]
    Hash,
    /// Round robin.
    LoadBalance,
    /// By the core on which the kernel received the frame.
    Cpu,
    /// By the interface's own receive queue.
    QueueMapping,
    /// The first queue with a free slot.
    Rollover,
    /// A random queue.
    Random,
}

/// Type of the receive ring (packet(7), packet_mmap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ring {
    /// Blocks of several frames (TPACKET_V3): the least CPU time, but a single frame waits up to a
    /// millisecond until its block is closed.
    #[default]
    Blocks,
    /// Single frames (TPACKET_V2): no delay, a slot of fixed size for each frame.
    Frames,
}

impl AfPacketConfig {
    /// Returns the configuration of an interface with all defaults.
    pub fn new(interface: &str) -> AfPacketConfig {
        AfPacketConfig {
            interface: interface.to_owned(),
            fanout: Fanout::default(),
            promiscuous: true,
            qdisc_bypass: true,
            ring: Ring::default(),
            ring_bytes: default_ring_bytes(),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let name = self.interface.as_bytes();
        if name.is_empty() || name.len() > NAME_LEN_MAX || name.contains(&0) || name.contains(&b'/')
        {
            let what = format!("{:?} is not a valid interface name", self.interface);
            return Err(Invalid::new("interface", what, ""));
        }
        Ok(())
    }
}

impl Fanout {
    /// Returns the kernel's number of the fanout mode.
    pub(crate) fn number(self) -> u32 {
        match self {
            Fanout::Hash => libc::PACKET_FANOUT_HASH,
            Fanout::LoadBalance => libc::PACKET_FANOUT_LB,
            Fanout::Cpu => libc::PACKET_FANOUT_CPU,
            Fanout::QueueMapping => libc::PACKET_FANOUT_QM,
            Fanout::Rollover => libc::PACKET_FANOUT_ROLLOVER,
            Fanout::Random => libc::PACKET_FANOUT_RND,
        }
    }

    /// Returns the name of the fanout mode in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fanout::Hash => "hash",
            Fanout::LoadBalance => "load-balance",
            Fanout::Cpu => "cpu",
            Fanout::QueueMapping => "queue-mapping",
            Fanout::Rollover => "rollover",
            Fanout::Random => "random",
        }
    }
}

fn yes() -> bool {
    true
}

fn default_ring_bytes() -> u32 {
    8 << 20
}

/// Largest length of an interface name: IFNAMSIZ without its terminating zero.
const NAME_LEN_MAX: usize = 15;
