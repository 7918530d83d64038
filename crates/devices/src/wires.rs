//! Links from the tester to a device in a network namespace: pairs of virtual Ethernet.
//!
//! The tester's ends stand in a namespace of their own, where no protocol answers, and are opened
//! as ports of a kind that the user chooses. Interfaces have names that no other process here uses,
//! so that the kernel's threads can be told by them. Everything vanishes with [`Wires`], or with
//! this process.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine::{Opened, PortError, PortRequest};
use netns::Namespace;
use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::DriverError;

/// Port type of the tester on virtual Ethernet, with or without keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`ports` must be `af-packet` or `af-xdp`, or a mapping with one of them as `type` \
                 and its keys"
)]
pub enum TesterPorts {
    /// A port type with its defaults.
    Kind(TesterPort),
    /// A port type with keys.
    Keys {
        /// The port type.
        #[serde(rename = "type")]
        kind: TesterPort,
        /// The keys of the port type, without `interface`.
        #[serde(flatten)]
        keys: Map<String, Value>,
    },
}

/// A port type that works on virtual Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TesterPort {
    /// AF_PACKET sockets with rings.
    #[default]
    AfPacket,
    /// AF_XDP sockets.
    AfXdp,
}

impl Default for TesterPorts {
    fn default() -> TesterPorts {
        TesterPorts::Kind(TesterPort::default())
    }
}

/// Links between a device's namespace and the tester's namespace.
pub struct Wires {
    tester: Namespace,
    /// Interface names of each link, the device's end first.
    pairs: Vec<[String; 2]>,
    frame_bytes_max: usize,
}

impl Wires {
    /// Connects `count` ports of a device to the tester, for frames of up to the given length in
    /// bytes (without frame check sequence), and waits until all links are up.
    ///
    /// # Errors
    /// When the process may not create namespaces, or the required programs are missing.
    pub fn join(
        device: &Namespace,
        count: usize,
        frame_bytes_max: usize,
    ) -> Result<Wires, DriverError> {
        let tester = Namespace::new()?;
        // Nobody here but the tester's ports speaks.
        tester.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
        let mut wires = Wires { tester, pairs: Vec::new(), frame_bytes_max };
        let mtu = frame_bytes_max.saturating_sub(wire::ethernet::HEADER_LEN).max(MTU_MIN);
        for _ in 0..count {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let [near, far] = ["d", "t"].map(|end| format!("{end}{}x{number}", std::process::id()));
            device.veth(&near, &wires.tester, &far)?;
            device.ip(&format!("link set {near} mtu {mtu}"))?;
            wires.tester.ip(&format!("link set {far} mtu {mtu} arp off"))?;
            wires.pairs.push([near, far]);
        }
        for [near, far] in &wires.pairs {
            device.wait_until_up(near, PATIENCE)?;
            wires.tester.wait_until_up(far, PATIENCE)?;
        }
        Ok(wires)
    }

    /// The device's ends of the links, in the order of its ports.
    pub fn near(&self) -> Vec<&str> {
        self.pairs.iter().map(|[near, _]| near.as_str()).collect()
    }

    /// The tester's ends of the links, in the order of the device's ports.
    pub fn far(&self) -> Vec<&str> {
        self.pairs.iter().map(|[_, far]| far.as_str()).collect()
    }

    /// The namespace of the tester's ends.
    pub fn tester(&self) -> &Namespace {
        &self.tester
    }

    /// Opens the tester's ends, each with one queue.
    ///
    /// # Errors
    /// When this port type cannot be used here; the text is the port's own.
    pub fn open(
        &self,
        choice: &TesterPorts,
        ticks_per_second: f64,
    ) -> Result<Vec<Opened>, DriverError> {
        let far = self.far();
        let open = || -> Result<Vec<Opened>, DriverError> {
            let numbers = (0_u8..).map(PortId);
            let open_one = |(interface, id): (&&str, PortId)| {
                let request = PortRequest {
                    name: format!("tester's {}", choice.name()),
                    id,
                    queues: 1,
                    frame_bytes_max: self.frame_bytes_max,
                    ticks_per_second,
                };
                choice.open(interface, &request)
            };
            far.iter().zip(numbers).map(open_one).collect()
        };
        self.tester.run(open)?
    }
}

impl TesterPorts {
    /// The port type's `type` in configurations.
    pub fn name(&self) -> &'static str {
        let (TesterPorts::Kind(kind) | TesterPorts::Keys { kind, .. }) = self;
        match kind {
            TesterPort::AfPacket => "af-packet",
            TesterPort::AfXdp => "af-xdp",
        }
    }

    /// Checks that this port type can be used on this machine.
    ///
    /// # Errors
    /// The missing requirement, and the remedy.
    pub fn available(&self) -> Result<(), PortError> {
        self.kind()?.available()
    }

    fn kind(&self) -> Result<&'static dyn ports::Kind, PortError> {
        let name = self.name();
        ports::find(name).ok_or_else(|| {
            PortError::new(
                format!("there is no port type {name}"),
                "choose one of `plumbline list`",
            )
        })
    }

    fn open(&self, interface: &str, request: &PortRequest) -> Result<Opened, DriverError> {
        let mut keys = match self {
            TesterPorts::Kind(_) => Map::new(),
            TesterPorts::Keys { keys, .. } => keys.clone(),
        };
        keys.insert("interface".to_owned(), interface.into());
        if self.name() == "af-packet" && !keys.contains_key("ring") {
            // In blocks, a lone frame would wait up to 1 ms before it is seen.
            keys.insert("ring".to_owned(), "frames".into());
        }
        let kind = self.kind()?;
        let port = kind.read(Value::Object(keys)).map_err(|error| {
            let what = format!("device.ports: {error}");
            DriverError::new(what, "see the keys of this port type in its README")
        })?;
        Ok(port.open(request)?)
    }
}

/// Number of the next link of this process, for unique interface names.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Smallest MTU of a link: the payload of an ordinary Ethernet frame, in bytes (IEEE 802.3 clause
/// 3.2.7).
const MTU_MIN: usize = 1500;

/// Time limit for a link to come up.
const PATIENCE: Duration = Duration::from_secs(10);
