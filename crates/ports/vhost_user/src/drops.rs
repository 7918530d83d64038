//! Why this port loses frames: the list, and the place of each reason in it.

use engine::PortDrop;

/// All drop reasons; the README describes them.
pub const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("too-short"),
    PortDrop::receive("too-many-pieces"),
    PortDrop::receive("offload"),
    PortDrop::receive("broken-ring"),
    PortDrop::receive("segments"),
    PortDrop::transmit("no-peer"),
    PortDrop::transmit("ring-full"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("broken-ring"),
    PortDrop::transmit("segments"),
];

/// Receive: longer than the request or the batch permits.
pub const TOO_LONG: usize = 0;
/// Receive: shorter than an Ethernet header.
pub const TOO_SHORT: usize = 1;
/// Receive: more pieces than [`crate::walk::PIECES_MAX`].
pub const TOO_MANY_PIECES: usize = 2;
/// Receive: requests a checksum or segmentation that was not negotiated.
pub const OFFLOAD: usize = 3;
/// Receive: the buffer for which a ring was stopped.
pub const BROKEN: usize = 4;
/// Receive: to be cut or completed, and not what its header says of it.
pub const SEGMENTS: usize = 5;
/// Transmit: there is no peer, or the queue is not enabled.
pub const NO_PEER: usize = 6;
/// Transmit: the peer offers no buffer.
pub const RING_FULL: usize = 7;
/// Transmit: no buffer of the peer, or of the ring, is long enough.
pub const TRANSMIT_TOO_LONG: usize = 8;
/// Transmit: the ring was stopped.
pub const TRANSMIT_BROKEN: usize = 9;
/// Transmit: a long segment that cannot be cut, or of a kind that a new peer does not take.
pub const TRANSMIT_SEGMENTS: usize = 10;

/// Violation of the standard by a ring, which is not used again until it is set up anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// An index is ahead by more than the size of the ring.
    #[error("its index is ahead of the ring")]
    Index,
    /// A descriptor does not exist, or was not made available.
    #[error("it contains a descriptor that was not made available")]
    Head,
    /// A chain does not end, or continues outside of its table.
    #[error("a chain of descriptors does not end")]
    Chain,
    /// An indirect table is inside another one, empty, or of invalid length.
    #[error("an indirect table of descriptors is malformed")]
    Indirect,
    /// A buffer is not in shared memory.
    #[error("a buffer is not in shared memory")]
    Address,
    /// A buffer to read is marked for writing or vice versa, or has no room.
    #[error("a buffer has the wrong direction or no room")]
    Kind,
}
