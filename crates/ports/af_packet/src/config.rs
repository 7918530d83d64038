//! The keys of the port.

use engine::KeyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interface of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AfPacketConfig {
    /// Name of the interface, as `ip link` shows it.
    pub interface: String,
    /// How frames are shared among the queues of several workers.
    #[serde(default)]
    pub fanout: Fanout,
    /// Receives frames to all addresses, not only to the interface's own.
    #[serde(default = "yes")]
    pub promiscuous: bool,
    /// Sends past the kernel's queueing discipline.
    #[serde(default = "yes")]
    pub qdisc_bypass: bool,
    /// How the kernel hands frames over.
    #[serde(default)]
    pub ring: Ring,
    /// Memory of the receive ring of each queue, in bytes.
    #[serde(default = "default_ring_bytes")]
    #[schemars(range(min = 262_144, max = 1_073_741_824))]
    pub ring_bytes: u32,
}

/// How frames are shared among queues (`PACKET_FANOUT`, packet(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fanout {
    /// By the hash of addresses and ports: a flow stays on its queue.
    #[default]
    Hash,
    /// To each in turn.
    LoadBalance,
    /// By the core on which the kernel received the frame.
    Cpu,
    /// By the interface's own receive queue.
    QueueMapping,
    /// The first that has room.
    Rollover,
    /// At random.
    Random,
}

/// How the kernel hands frames over (packet(7), packet_mmap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ring {
    /// In blocks of many (TPACKET_V3): the least work, but a lone frame waits up to a millisecond
    /// until its block is closed.
    #[default]
    Blocks,
    /// One by one (TPACKET_V2): no wait, a place of fixed size for each.
    Frames,
}

impl AfPacketConfig {
    /// An interface with all defaults.
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

    pub(crate) fn validate(&self) -> Result<(), KeyError> {
        let wrong = |key: &str, what: String| Err(KeyError { key: key.to_owned(), what });
        let name = self.interface.as_bytes();
        if name.is_empty() || name.len() > NAME_LEN_MAX || name.contains(&0) || name.contains(&b'/')
        {
            return wrong(
                "interface",
                format!("{:?} cannot be an interface's name", self.interface),
            );
        }
        if !(RING_BYTES_MIN..=RING_BYTES_MAX).contains(&self.ring_bytes) {
            let what = format!(
                "{} is not from {RING_BYTES_MIN} to {RING_BYTES_MAX} bytes",
                self.ring_bytes
            );
            return wrong("ring-bytes", what);
        }
        Ok(())
    }
}

impl Fanout {
    /// Its number at the kernel.
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

    /// Its name, as configured.
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

/// IFNAMSIZ without its final zero.
const NAME_LEN_MAX: usize = 15;
const RING_BYTES_MIN: u32 = 256 << 10;
const RING_BYTES_MAX: u32 = 1 << 30;
