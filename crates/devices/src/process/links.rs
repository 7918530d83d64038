//! What joins the daemon and the tester: virtual Ethernet, or memory shared by a socket.

use std::path::{Path, PathBuf};

use engine::{Opened, PortRequest};
use netns::Namespace;
use packet::PortId;
use serde_json::{Value, json};

use super::options::{Options, Ports, Ring};
use crate::driver::{DeviceFacts, DriverError, Running, Start, Usage};
use crate::wires::Wires;

/// Links between the daemon and the tester, by port.
pub(super) struct Links {
    kind: Ports,
    ring: Ring,
    /// Paths of the sockets of shared memory.
    sockets: Vec<PathBuf>,
    /// Pairs of virtual Ethernet interfaces.
    wires: Option<Wires>,
}

impl Links {
    /// Creates the interfaces or socket paths, which both sides need before they start.
    pub fn make(
        options: &Options,
        device: &Namespace,
        folder: &Path,
        count: usize,
        request: &Start<'_>,
    ) -> Result<Links, DriverError> {
        let Options { ports: kind, ring, .. } = *options;
        let sockets = (0..count).map(|at| folder.join(format!("port{at}"))).collect();
        let wires = match kind {
            Ports::Memif | Ports::VhostUser | Ports::VirtioUser => None,
            Ports::AfPacket | Ports::AfXdp => {
                // The kernel is to say nothing of its own on the daemon's interfaces.
                device.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
                let wires = Wires::join(device, count, request.frame_bytes_max)?;
                for near in wires.near() {
                    device.ip(&format!("link set {near} arp off"))?;
                }
                Some(wires)
            }
        };
        Ok(Links { kind, ring, sockets, wires })
    }

    /// Returns the daemon's end of a link, as in its configuration file.
    pub fn near(&self, at: usize) -> Value {
        let mut keys = match &self.wires {
            Some(wires) => self.interface(wires.near()[at]),
            None => self.near_socket(at),
        };
        keys["type"] = self.kind.name().into();
        keys
    }

    fn interface(&self, name: &str) -> Value {
        match self.kind {
            Ports::AfPacket => json!({"interface": name, "ring": self.ring}),
            _ => json!({"interface": name}),
        }
    }

    fn near_socket(&self, at: usize) -> Value {
        near_socket(self.kind, &self.sockets[at])
    }

    /// Creates links with given socket paths, for components between the daemon and the tester.
    pub fn of_sockets(options: &Options, sockets: Vec<PathBuf>) -> Links {
        Links { kind: options.ports, ring: options.ring, sockets, wires: None }
    }

    /// Opens the tester's ends.
    pub fn open(&self, request: &Start<'_>) -> Result<Vec<Opened>, DriverError> {
        let Some(wires) = &self.wires else {
            return (0..self.sockets.len()).map(|at| self.open_socket(at, request)).collect();
        };
        let far = wires.far();
        let open_one =
            |(at, name): (usize, &&str)| open_port(self.kind, self.interface(name), at, request);
        let open = || far.iter().enumerate().map(open_one).collect();
        wires.tester().run(open)?
    }

    /// Opens the tester's end of shared memory.
    pub fn open_socket(&self, at: usize, request: &Start<'_>) -> Result<Opened, DriverError> {
        let keys = match self.kind {
            Ports::VhostUser => json!({"path": self.sockets[at], "role": "frontend"}),
            Ports::VirtioUser => json!({"path": self.sockets[at], "role": "backend"}),
            _ => json!({"socket": self.sockets[at], "role": "master"}),
        };
        open_port(self.kind, keys, at, request)
    }
}

/// Returns the daemon's end of shared memory, as in its configuration file.
fn near_socket(kind: Ports, path: &Path) -> Value {
    match kind {
        Ports::VhostUser => json!({"path": path, "role": "backend"}),
        Ports::VirtioUser => json!({"path": path, "role": "frontend"}),
        _ => json!({"socket": path, "role": "slave"}),
    }
}

/// Opens one of the tester's ports in the network namespace of the current thread.
pub(super) fn open_port(
    kind: Ports,
    keys: Value,
    at: usize,
    request: &Start<'_>,
) -> Result<Opened, DriverError> {
    let name = kind.name();
    let entry = ports::find(name).ok_or_else(|| {
        DriverError::new(format!("there is no port type {name}"), "choose another port type")
    })?;
    entry.available()?;
    let read = entry.read(keys)?;
    let request = PortRequest {
        name: format!("tester's port {at}"),
        id: PortId(at as u8),
        queues: match kind {
            // Memory that a worker shares with nobody takes no frame.
            Ports::Memif | Ports::VhostUser | Ports::VirtioUser => request.workers,
            Ports::AfPacket | Ports::AfXdp => 1,
        },
        frame_bytes_max: request.frame_bytes_max,
        ticks_per_second: request.clock.ticks_per_second(),
    };
    Ok(read.open(&request)?)
}

/// Two ports of the tester that are connected to each other.
pub(super) struct Wire {
    ports: Vec<Opened>,
    _links: Links,
    _device: Namespace,
    _folder: tempfile::TempDir,
}

impl Wire {
    /// Creates a wire with the same port type as the daemon's links.
    pub fn make(options: &Options, request: &Start<'_>) -> Result<Wire, DriverError> {
        let device = Namespace::new()?;
        let folder = super::child::folder()?;
        let links = Links::make(options, &device, folder.path(), 1, request)?;
        let mut keys = links.near(0);
        keys.as_object_mut().map(|keys| keys.shift_remove("type"));
        let near = device.run(|| open_port(options.ports, keys, 1, request))??;
        let mut ports = links.open(request)?;
        ports.push(near);
        let monitors: Vec<_> = ports.iter().map(|port| port.monitor.clone()).collect();
        let begun = std::time::Instant::now();
        while monitors.iter().any(|monitor| monitor.link() != engine::Link::Up) {
            if begun.elapsed() > PATIENCE {
                return Err(DriverError::new(
                    "two ports of the tester do not connect",
                    "try again",
                ));
            }
            std::thread::park_timeout(POLL);
        }
        Ok(Wire { ports, _links: links, _device: device, _folder: folder })
    }
}

impl Running for Wire {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        DeviceFacts { version: "a wire".to_owned(), details: Vec::new() }
    }

    fn usage(&mut self) -> Usage {
        Usage::default()
    }

    fn health(&mut self) -> Result<(), DriverError> {
        Ok(())
    }
}

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const POLL: std::time::Duration = std::time::Duration::from_millis(2);
