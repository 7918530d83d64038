//! A testpmd as the guest of a virtual switch: it moves frames between two ports of shared memory.
//!
//! Towards the switch it is what a virtual machine is: the driver's side of vhost-user, or a side
//! of memif. It stands for the forwarder in the machine (`l2fwd` of the published tests), without
//! the cost of a hypervisor. It dies with this process.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use netns::{Child, Namespace};

use super::output::Output;
use super::way::buffer_bytes;
use super::{Options, PATIENCE, POLL, PROGRAM, REMEDY, arguments};
use crate::driver::DriverError;

/// A running guest.
pub(crate) struct Guest {
    child: Child,
    output: Output,
}

/// A port of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuestPort {
    /// Driver side of vhost-user; the device listens at this path.
    Virtio(String),
    /// Memif side that listens at this path.
    MemifServer(String),
    /// Memif side that connects to this abstract name.
    MemifClient(String),
}

impl GuestPort {
    /// Returns the DPDK device name; `end` distinguishes the two ports.
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
    /// Starts a guest in a namespace, on these cores; `folder` is used by this guest only.
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
        let bytes = buffer_bytes(frame_bytes_max);
        let devices: Vec<String> =
            ports.iter().enumerate().map(|(end, port)| port.device(end, &options, bytes)).collect();
        let words = arguments::of_devices(&options, &devices, (cores, 1), frame_bytes_max);
        std::fs::create_dir_all(folder).map_err(|error| {
            let what =
                format!("cannot create the folder {} for a guest: {error}", folder.display());
            DriverError::new(what, "make room there, or set TMPDIR")
        })?;
        let mut command = Command::new(PROGRAM);
        command.args(&words).env("RUNTIME_DIRECTORY", folder);
        let mut child = device.spawn(command)?;
        let output = Output::of(&mut child);
        Ok(Guest { child, output })
    }

    /// Waits until the guest reports that it forwards.
    ///
    /// # Errors
    /// When it ends before, or does not start in time.
    pub fn wait(&mut self, stop: &AtomicBool) -> Result<(), DriverError> {
        let begun = Instant::now();
        while !self.output.forwards() {
            self.health()?;
            if stop.load(Ordering::Relaxed) {
                return Err(DriverError::new(
                    "stopped while a guest was being set up",
                    "start again",
                ));
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

    /// Checks that the guest runs.
    ///
    /// # Errors
    /// How it ended, with the last lines of its output.
    pub fn health(&mut self) -> Result<(), DriverError> {
        self.child.ended().map_or(Ok(()), |status| {
            let what = format!("a guest ended ({status}): {}", self.output.last());
            Err(DriverError::new(what, REMEDY))
        })
    }

    /// Returns the version that the guest reports: `DPDK 22.11.11`.
    pub fn version(&self) -> String {
        self.output.version()
    }
}

/// Longest ring of a virtio device in DPDK.
const VIRTIO_RING_MAX: u32 = 1024;
