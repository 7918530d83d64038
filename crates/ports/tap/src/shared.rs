//! What the queues and whoever reads the counters share.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Link, Monitor, PortCounts, PortDrop, QueueCounters};

use crate::config::TapConfig;
use crate::sys;

/// Drop reasons, in the order of the counters.
pub(crate) const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("segments"),
    PortDrop::transmit("link-down"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("too-short"),
    PortDrop::transmit("refused"),
    PortDrop::transmit("segments"),
];
pub(crate) const TOO_LONG: usize = 0;
pub(crate) const SEGMENTS: usize = 1;
pub(crate) const LINK_DOWN: usize = 2;
pub(crate) const SENT_TOO_LONG: usize = 3;
pub(crate) const TOO_SHORT: usize = 4;
pub(crate) const REFUSED: usize = 5;
pub(crate) const SENT_SEGMENTS: usize = 6;

/// Drop reason of frames that the kernel dropped and counted.
const KERNEL_QUEUE_FULL: PortDrop = PortDrop::receive("kernel-queue-full");

/// State of a port that all its threads share.
pub(crate) struct Shared {
    pub(crate) config: TapConfig,
    pub(crate) counters: Vec<Arc<QueueCounters>>,
    /// Socket for requests in the namespace in which the port was opened.
    pub(crate) socket: OwnedFd,
    pub(crate) kernel: Mutex<Kernel>,
    pub(crate) has_many: bool,
}

/// The kernel's own count of frames dropped because its queue was full.
pub(crate) struct Kernel {
    /// `/proc/net/dev` of the namespace in which the port was opened.
    pub(crate) devices: File,
    pub(crate) seen: u64,
    pub(crate) sum: u64,
}

impl Kernel {
    /// Returns all drops so far, including those of deleted interfaces of the name.
    fn read(&mut self, name: &str) -> u64 {
        let now = self.dropped(name).unwrap_or(0);
        // An interface that was made anew begins at nothing.
        self.sum += now.checked_sub(self.seen).unwrap_or(now);
        self.seen = now;
        self.sum
    }

    fn dropped(&mut self, name: &str) -> Option<u64> {
        let mut text = String::new();
        self.devices.seek(SeekFrom::Start(0)).ok()?;
        self.devices.read_to_string(&mut text).ok()?;
        let mut lines = text.lines().filter_map(|line| line.trim_start().split_once(':'));
        let (_, numbers) = lines.find(|(interface, _)| *interface == name)?;
        numbers.split_whitespace().nth(DROPPED_OUT)?.parse().ok()
    }
}

impl Monitor for Shared {
    fn counts(&self) -> PortCounts {
        let mut counts = PortCounts::sum(&self.counters);
        let mut kernel = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        counts.drops.insert(0, (KERNEL_QUEUE_FULL, kernel.read(&self.config.interface)));
        counts
    }

    fn link(&self) -> Link {
        let name = &self.config.interface;
        match sys::flags(&self.socket, name) {
            Err(_) => Link::Down(format!("{name} was deleted")),
            Ok(flags) if flags & libc::IFF_UP == 0 => {
                Link::Down(format!("{name} is down: run `ip link set {name} up`"))
            }
            Ok(flags) if flags & libc::IFF_RUNNING == 0 => {
                Link::Down(format!("{name} has no carrier"))
            }
            Ok(_) => Link::Up,
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mtu = sys::mtu(&self.socket, &self.config.interface);
        let mtu = mtu.map_or_else(|_| self.config.mtu_bytes.to_string(), |mtu| mtu.to_string());
        vec![
            ("interface", self.config.interface.clone()),
            ("mtu-bytes", mtu),
            ("mode", if self.has_many { "multi-queue" } else { "one queue" }.to_owned()),
        ]
    }
}

/// Column of net/dev for frames dropped on transmission by the kernel.
const DROPPED_OUT: usize = 11;
