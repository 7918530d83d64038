//! What joins testpmd and the tester: shared memory by a socket, or virtual Ethernet.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Opened, PortRequest};
use netns::Namespace;
use packet::PortId;
use serde_json::{Value, json};

use super::options::{MemifRole, Options, Ports};
use crate::driver::{DriverError, Limitation, Start};
use crate::wires::Wires;

/// The two links between testpmd and the tester.
pub(super) enum Way {
    /// Names in the abstract socket namespace of the device's network namespace.
    Memif([String; 2]),
    /// Unix sockets in the device's folder.
    Vhost([PathBuf; 2]),
    /// Pairs of virtual Ethernet interfaces.
    Wires(Wires),
}

impl Way {
    /// Creates the interfaces or socket paths, which both sides need before they start.
    pub fn make(
        options: &Options,
        device: &Namespace,
        folder: &Path,
        request: &Start<'_>,
    ) -> Result<Way, DriverError> {
        Ok(match options.ports {
            Ports::Memif => {
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                let name = |end| format!("plumbline-{}-{number}-{end}", std::process::id());
                Way::Memif([name(0), name(1)])
            }
            Ports::VhostUser | Ports::VirtioUser => {
                Way::Vhost([0, 1].map(|end| folder.join(format!("vhost{end}"))))
            }
            Ports::AfPacket | Ports::AfXdp => {
                // The kernel is to say nothing of its own on testpmd's interfaces.
                device.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
                let wires = Wires::join(device, 2, request.frame_bytes_max)?;
                for near in wires.near() {
                    device.ip(&format!("link set {near} arp off"))?;
                }
                Way::Wires(wires)
            }
        })
    }

    /// Opens the tester's ends.
    pub fn open(
        &self,
        options: &Options,
        device: &Namespace,
        request: &Start<'_>,
    ) -> Result<Vec<Opened>, DriverError> {
        let rate = request.clock.ticks_per_second();
        let one = |end: usize, kind: &'static str, keys: Value| {
            let port = PortRequest {
                name: format!("tester's {kind}"),
                id: PortId(end as u8),
                queues: 1,
                frame_bytes_max: request.frame_bytes_max,
                ticks_per_second: rate,
            };
            open(kind, keys, &port)
        };
        let both = |one: &(dyn Fn(usize) -> Result<Opened, DriverError> + Sync)| {
            // Abstract names belong to a network namespace.
            device.run(|| (0..2).map(one).collect())?
        };
        match self {
            Way::Wires(wires) => wires.open(&options.tester_ports, rate),
            Way::Memif(names) => both(&|end| {
                let role = match options.memif_role {
                    MemifRole::Master => "slave",
                    MemifRole::Slave => "master",
                };
                let socket = format!("@{}", names[end]);
                let bytes = buffer_bytes(request.frame_bytes_max);
                let keys = json!({
                    "socket": socket, "role": role, "ring-size": options.ring_size,
                    "buffer-bytes": bytes,
                });
                one(end, "memif", keys)
            }),
            Way::Vhost(paths) => both(&|end| {
                let keys = match options.ports {
                    Ports::VirtioUser => json!({ "path": paths[end], "role": "backend" }),
                    _ => json!({
                        "path": paths[end], "role": "frontend", "ring-size": options.ring_size,
                    }),
                };
                one(end, "vhost-user", keys)
            }),
        }
    }

    /// Returns the DPDK devices of testpmd's ports.
    pub fn devices(&self, options: &Options, buffer_bytes: usize) -> Vec<String> {
        let ring_size = options.ring_size;
        match self {
            Way::Memif(names) => {
                let role = match options.memif_role {
                    MemifRole::Master => "server",
                    MemifRole::Slave => "client",
                };
                let log2 = ring_size.ilog2();
                let of = |(end, name)| {
                    format!(
                        "net_memif{end},role={role},id=0,socket={name},socket-abstract=yes,\
                         rsize={log2},bsize={buffer_bytes}"
                    )
                };
                names.iter().enumerate().map(of).collect()
            }
            Way::Vhost(paths) => {
                let of = |(end, path): (usize, &PathBuf)| match options.ports {
                    Ports::VirtioUser => format!(
                        "virtio_user{end},path={},queues=1,queue_size={ring_size}",
                        path.display()
                    ),
                    _ => format!("net_vhost{end},iface={},queues=1", path.display()),
                };
                paths.iter().enumerate().map(of).collect()
            }
            Way::Wires(wires) => {
                let of = |(end, name): (usize, &str)| match options.ports {
                    Ports::AfXdp => {
                        format!("net_af_xdp{end},iface={name},start_queue=0,queue_count=1")
                    }
                    _ => format!(
                        "net_af_packet{end},iface={name},qpairs=1,qdisc_bypass=1,\
                         framecnt={ring_size}"
                    ),
                };
                wires.near().into_iter().enumerate().map(of).collect()
            }
        }
    }
}

fn open(kind: &'static str, keys: Value, request: &PortRequest) -> Result<Opened, DriverError> {
    let known = ports::find(kind).ok_or_else(|| {
        let what = format!("this program has no port type {kind}");
        DriverError::new(what, "choose one of `plumbline list`")
    })?;
    known.available()?;
    let port = known.read(keys).map_err(|error| {
        DriverError::new(format!("device: tester's {kind}: {error}"), "choose other values")
    })?;
    Ok(port.open(request)?)
}

/// Returns what these ports do not carry.
pub(super) fn limitation(ports: Ports) -> Option<Limitation> {
    matches!(ports, Ports::AfPacket | Ports::AfXdp).then(|| Limitation {
        what: "virtual Ethernet carries no frame without a complete header".to_owned(),
        verdicts: vec!["truncated"],
        ..Limitation::default()
    })
}

/// Number of the next device of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns the size of a buffer for the longest frame in bytes; DPDK's default if that is
/// sufficient.
pub(super) fn buffer_bytes(frame_bytes_max: usize) -> usize {
    frame_bytes_max.next_multiple_of(1024).clamp(2048, 16_384)
}
