//! Why this port loses frames: the list, and the place of each reason in it.

use engine::PortDrop;

/// All reasons; their rows are in the README.
pub const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("too-short"),
    PortDrop::receive("too-many-pieces"),
    PortDrop::receive("offload"),
    PortDrop::receive("broken-ring"),
    PortDrop::transmit("no-peer"),
    PortDrop::transmit("ring-full"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("broken-ring"),
];

/// Received: longer than the request or the batch allows.
pub const TOO_LONG: usize = 0;
/// Received: no Ethernet header fits.
pub const TOO_SHORT: usize = 1;
/// Received: in more pieces than [`crate::walk::PIECES_MAX`].
pub const TOO_MANY_PIECES: usize = 2;
/// Received: asks for a checksum or segmentation that was not negotiated.
pub const OFFLOAD: usize = 3;
/// Received: the buffer for which a ring was stopped.
pub const BROKEN: usize = 4;
/// To transmit: nobody is there, or the queue is not enabled.
pub const NO_PEER: usize = 5;
/// To transmit: the other side offers no buffer.
pub const RING_FULL: usize = 6;
/// To transmit: no buffer of the other side, or of the ring, is that long.
pub const TRANSMIT_TOO_LONG: usize = 7;
/// To transmit: the ring was stopped.
pub const TRANSMIT_BROKEN: usize = 8;

/// A ring that contradicts the standard, and is not touched again until it is set up anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// An index is ahead by more than the ring holds.
    #[error("its index runs ahead of the ring")]
    Index,
    /// A descriptor that does not exist, or was not given away.
    #[error("it names a descriptor that it may not")]
    Head,
    /// A chain that does not end, or continues outside of its table.
    #[error("a chain of descriptors does not end")]
    Chain,
    /// A table of descriptors within another, empty, or of a broken length.
    #[error("an indirect table of descriptors is malformed")]
    Indirect,
    /// A buffer that is not in shared memory.
    #[error("a buffer is not in shared memory")]
    Address,
    /// A buffer for reading that should be written, or the other way round, or without room.
    #[error("a buffer is of the wrong kind")]
    Kind,
}
