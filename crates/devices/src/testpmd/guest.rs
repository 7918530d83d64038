//! A testpmd as the guest of a virtual switch: it moves frames between two ports of shared memory.
//!
//! Towards the switch it is what a virtual machine is: the driver's side of vhost-user, or a side of
//! memif. It stands for the forwarder in the machine (`l2fwd` of the published tests), without the cost
//! of a hypervisor. It dies with this process.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use netns::{Child, Namespace};

use super::output::Output;
use super::{Options, PATIENCE, POLL, PROGRAM, REMEDY, arguments};
use crate::driver::DriverError;

/// A guest that runs.
pub(crate) struct Guest {
    child: Child,
    output: Output,
}

/// One of its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuestPort {
    /// The driver's side of vhost-user, whose device listens at this path.
    Virtio(String),
    /// The side of memif that listens at this path.
    MemifServer(String),
    /// The side of memif that connects to this abstract name.
    MemifClient(String),
}

impl GuestPort {
    /// As DPDK names it; `end` tells the two apart.
    fn device(&self, end: usize, options: &Options, buffer_bytes: usize) -> String {
        let log2 = options.ring_size.ilog2();
        let memif = |role: &str, socket: &str, is_abstract: &str| {
            format!(
                "net_memif{end},role={role},id=0,socket={socket},socket-abstract={is_abstract},\
                 rsize={log2},bsize={buffer_bytes}"
            )
        };
        match self {
            GuestPort::Virtio(path) => format!(
                "virtio_user{end},path={path},queues=1,queue_size={}",
                options.ring_size.min(VIRTIO_RING_MAX)
            ),
            GuestPort::MemifServer(path) => memif("server", path, "no"),
            GuestPort::MemifClient(name) => memif("client", name, "yes"),
        }
    }
}

impl Guest {
    /// Starts one in a namespace, on these cores; `folder` is its own.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        device: &Namespace,
        folder: &Path,
        ports: &[GuestPort; 2],
        cores: &[usize],
        frame_bytes_max: usize,
    ) -> Result<Guest, DriverError> {
        let options = Options::default();
        let bytes = arguments::buffer_bytes(frame_bytes_max);
        let devices: Vec<String> =
            ports.iter().enumerate().map(|(end, port)| port.device(end, &options, bytes)).collect();
        let words = arguments::of_devices(&options, &devices, (cores, 1), frame_bytes_max);
        std::fs::create_dir_all(folder).map_err(|error| {
            let what = format!("no folder {} for a guest: {error}", folder.display());
            DriverError::new(what, "make room there, or set TMPDIR")
        })?;
        let mut command = Command::new(PROGRAM);
        command.args(&words).env("RUNTIME_DIRECTORY", folder);
        let mut child = device.spawn(command)?;
        let output = Output::of(&mut child);
        Ok(Guest { child, output })
    }

    /// Waits until it says that it forwards.
    ///
    /// # Errors
    /// When it ends before, or does not come up.
    pub fn wait(&mut self, stop: &AtomicBool) -> Result<(), DriverError> {
        let begun = Instant::now();
        while !self.output.forwards() {
            self.health()?;
            if stop.load(Ordering::Relaxed) {
                return Err(DriverError::new("stopped while a guest was set up", "start again"));
            }
            if begun.elapsed() > PATIENCE {
                let last = self.output.last();
                let what = format!("the guest is not ready after {PATIENCE:?}: {last}");
                return Err(DriverError::new(what, REMEDY));
            }
            std::thread::park_timeout(POLL);
        }
        Ok(())
    }

    /// Whether it runs.
    ///
    /// # Errors
    /// How it ended, with the last it said.
    pub fn health(&mut self) -> Result<(), DriverError> {
        self.child.ended().map_or(Ok(()), |status| {
            let what = format!("a guest ended ({status}): {}", self.output.last());
            Err(DriverError::new(what, REMEDY))
        })
    }

    /// `DPDK 22.11.11`, as it says itself.
    pub fn version(&self) -> String {
        self.output.version()
    }
}

/// The longest ring of a virtio device in DPDK.
const VIRTIO_RING_MAX: u32 = 1024;
