//! Why frames are lost, and what the kernel knows of it.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError, Weak};

use engine::{PortCounts, PortDrop};
use rustix::net::sockopt::xdp_statistics;

use crate::bpf;

/// Drop reasons, in the order of the constants below.
pub(crate) const DROPS: &[PortDrop] = &[
    PortDrop::receive("no-free-chunk"),
    PortDrop::receive("ring-full"),
    PortDrop::receive("too-long"),
    PortDrop::receive("queue-without-worker"),
    PortDrop::receive("invalid-descriptor"),
    PortDrop::transmit("ring-full"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("too-short"),
    PortDrop::transmit("link-down"),
    PortDrop::transmit("refused-by-device"),
    PortDrop::transmit("interface-gone"),
    PortDrop::transmit("invalid-descriptor"),
];

pub(crate) const NO_FREE_CHUNK: usize = 0;
pub(crate) const RECEIVE_RING_FULL: usize = 1;
pub(crate) const RECEIVE_TOO_LONG: usize = 2;
pub(crate) const QUEUE_WITHOUT_WORKER: usize = 3;
pub(crate) const RECEIVE_INVALID: usize = 4;
pub(crate) const TRANSMIT_RING_FULL: usize = 5;
pub(crate) const TRANSMIT_TOO_LONG: usize = 6;
pub(crate) const TRANSMIT_TOO_SHORT: usize = 7;
pub(crate) const LINK_DOWN: usize = 8;
pub(crate) const REFUSED: usize = 9;
pub(crate) const INTERFACE_GONE: usize = 10;
pub(crate) const TRANSMIT_INVALID: usize = 11;

/// The kernel's counters of a port, summed over all interfaces that it had under its name.
#[derive(Default)]
pub(crate) struct KernelCounts(Mutex<Sockets>);

#[derive(Default)]
struct Sockets {
    /// Counts of interfaces that no longer exist.
    before: [u64; DROPS.len()],
    live: Vec<Weak<OwnedFd>>,
    passed: Weak<OwnedFd>,
    zero_copy: bool,
}

impl KernelCounts {
    /// Reads these sockets and this counter from now on; counts of the previous ones are kept.
    pub fn follow(&self, live: Vec<Weak<OwnedFd>>, passed: Weak<OwnedFd>, zero_copy: bool) {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.before = sockets.sum();
        (sockets.live, sockets.passed, sockets.zero_copy) = (live, passed, zero_copy);
    }

    /// Keeps the counts before the interface's sockets and counter are closed.
    pub fn leave(&self) {
        self.follow(Vec::new(), Weak::new(), false);
    }

    /// Keeps the counts of one socket before it is closed.
    pub fn retire(&self, socket: &Weak<OwnedFd>) {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = sockets.live.iter().position(|live| live.ptr_eq(socket)) {
            let mut before = sockets.before;
            sockets.add_socket(&mut before, socket);
            sockets.before = before;
            sockets.live.remove(place);
        }
    }

    /// Adds the kernel's counts to those of the queues.
    pub fn add_to(&self, counts: &mut PortCounts) {
        let sum = self.0.lock().unwrap_or_else(PoisonError::into_inner).sum();
        let drops = DROPS.iter().copied().zip(sum).collect();
        counts.add(&PortCounts { drops, ..PortCounts::default() });
    }
}

impl Sockets {
    fn sum(&self) -> [u64; DROPS.len()] {
        let mut sum = self.before;
        self.live.iter().for_each(|socket| self.add_socket(&mut sum, socket));
        if let Some(passed) = self.passed.upgrade() {
            sum[QUEUE_WITHOUT_WORKER] += bpf::count(&passed).unwrap_or(0);
        }
        sum
    }

    fn add_socket(&self, sum: &mut [u64; DROPS.len()], socket: &Weak<OwnedFd>) {
        let Some(socket) = socket.upgrade() else { return };
        let Ok(now) = xdp_statistics(&socket) else { return };
        // A kernel that copies counts each frame without a chunk in both; a driver that does not
        // copy counts looks at an empty ring instead of frames.
        let no_chunk = now.rx_fill_ring_empty_descs.filter(|_| !self.zero_copy).unwrap_or(0);
        let no_chunk = no_chunk.min(now.rx_dropped);
        sum[NO_FREE_CHUNK] += no_chunk;
        sum[RECEIVE_TOO_LONG] += now.rx_dropped - no_chunk;
        sum[RECEIVE_RING_FULL] += now.rx_ring_full.unwrap_or(0);
        sum[RECEIVE_INVALID] += now.rx_invalid_descs;
        sum[TRANSMIT_INVALID] += now.tx_invalid_descs;
    }
}
