//! What is offered to the other side, and what of its offer is taken.

use vhost::vhost_user::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};

/// A frame may span several receive buffers (Virtio 1.2, 5.1.3).
pub const MRG_RXBUF: u64 = 1 << 15;
/// Several pairs of queues (5.1.3). The required control queue is provided by the peer process.
pub const MQ: u64 = 1 << 22;
/// A buffer may be an indirect table of descriptors (6).
pub const INDIRECT_DESC: u64 = 1 << 28;
/// Notifications are by index (6).
pub const EVENT_IDX: u64 = 1 << 29;
/// A frame may have any layout in a chain; implied by version 1.
pub const ANY_LAYOUT: u64 = 1 << 27;
/// The device is not a legacy device (6).
pub const VERSION_1: u64 = 1 << 32;
/// Buffers are used in order (6).
pub const IN_ORDER: u64 = 1 << 35;

/// Protocol features are negotiated (a vhost-user bit).
pub const PROTOCOL: u64 = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();

/// Returns the features that the device offers. Checksum and segmentation offload are not offered,
/// so that frames are always complete.
pub fn offered(pairs: usize) -> u64 {
    let several = if pairs > 1 { MQ } else { 0 };
    MRG_RXBUF | INDIRECT_DESC | EVENT_IDX | ANY_LAYOUT | VERSION_1 | IN_ORDER | PROTOCOL | several
}

/// Features that the driver accepts. IN_ORDER is not accepted: a device could then return several
/// buffers with one entry, which has no benefit here.
pub const DRIVER: u64 = MRG_RXBUF | MQ | EVENT_IDX | VERSION_1 | PROTOCOL;

/// Returns the supported protocol features.
pub fn protocol() -> VhostUserProtocolFeatures {
    VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK
}

/// Returns the names of relevant features, for the record.
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
