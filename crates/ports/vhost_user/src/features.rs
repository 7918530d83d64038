//! What is offered to the other side, and what of its offer is taken.

use vhost::vhost_user::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};

/// A frame may be spread over several receive buffers (Virtio 1.2, 5.1.3).
pub const MRG_RXBUF: u64 = 1 << 15;
/// Several pairs of queues (5.1.3). The control queue that it needs is the peer process's.
pub const MQ: u64 = 1 << 22;
/// A buffer may be a table of descriptors (6).
pub const INDIRECT_DESC: u64 = 1 << 28;
/// Notifications by index (6).
pub const EVENT_IDX: u64 = 1 << 29;
/// Any layout of a frame in a chain; implied by version 1.
pub const ANY_LAYOUT: u64 = 1 << 27;
/// Not a legacy device (6).
pub const VERSION_1: u64 = 1 << 32;
/// Buffers are used in order (6).
pub const IN_ORDER: u64 = 1 << 35;

/// That further negotiation follows (vhost-user's own bit).
pub const PROTOCOL: u64 = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();

/// What the device offers. No checksum or segmentation offload, so that frames are always whole.
pub fn offered(pairs: usize) -> u64 {
    let several = if pairs > 1 { MQ } else { 0 };
    MRG_RXBUF | INDIRECT_DESC | EVENT_IDX | ANY_LAYOUT | VERSION_1 | IN_ORDER | PROTOCOL | several
}

/// What the driver takes of an offer. Not the order: a device may then answer for several buffers
/// at once, and nothing is gained here.
pub const DRIVER: u64 = MRG_RXBUF | MQ | EVENT_IDX | VERSION_1 | PROTOCOL;

/// What the protocol itself may do.
pub fn protocol() -> VhostUserProtocolFeatures {
    VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK
}

/// Names of those that matter to a reader, for the record.
pub fn names(features: u64) -> String {
    let known = [
        (VERSION_1, "version-1"),
        (MRG_RXBUF, "mrg-rxbuf"),
        (MQ, "mq"),
        (EVENT_IDX, "event-idx"),
        (INDIRECT_DESC, "indirect-desc"),
        (IN_ORDER, "in-order"),
    ];
    let names = known.iter().filter(|(bit, _)| features & bit != 0).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(" ")
}
