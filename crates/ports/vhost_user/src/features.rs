//! What is offered to the other side, and what of its offer is taken.

use engine::Kinds;
use offload::{Gso, Header};
use vhost::vhost_user::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};

/// The driver may leave checksums to the device, and begin them alone (Virtio 1.2, 5.1.3).
pub const CSUM: u64 = 1 << 0;
/// The device may leave checksums to the driver (5.1.3).
pub const GUEST_CSUM: u64 = 1 << 1;
/// The device may send long segments of TCP over IPv4 (5.1.3).
pub const GUEST_TSO4: u64 = 1 << 7;
/// The device may send long segments of TCP over IPv6 (5.1.3).
pub const GUEST_TSO6: u64 = 1 << 8;
/// The driver may send long segments of TCP over IPv4 (5.1.3).
pub const HOST_TSO4: u64 = 1 << 11;
/// The driver may send long segments of TCP over IPv6 (5.1.3).
pub const HOST_TSO6: u64 = 1 << 12;
/// The device may send long segments of UDP over IPv4 (5.1.3).
pub const GUEST_USO4: u64 = 1 << 54;
/// The device may send long segments of UDP over IPv6 (5.1.3).
pub const GUEST_USO6: u64 = 1 << 55;
/// The driver may send long segments of UDP (5.1.3).
pub const HOST_USO: u64 = 1 << 56;
/// A frame may span several receive buffers (5.1.3).
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

/// What a driver may send that lacks something.
const TO_DEVICE: u64 = CSUM | HOST_TSO4 | HOST_TSO6 | HOST_USO;
/// What a device may send that lacks something.
const TO_DRIVER: u64 = GUEST_CSUM | GUEST_TSO4 | GUEST_TSO6 | GUEST_USO4 | GUEST_USO6;

/// Returns the features that the device offers.
pub fn offered(pairs: usize, offloads: bool) -> u64 {
    let several = if pairs > 1 { MQ } else { 0 };
    let lacking = if offloads { TO_DEVICE | TO_DRIVER } else { 0 };
    MRG_RXBUF
        | INDIRECT_DESC
        | EVENT_IDX
        | ANY_LAYOUT
        | VERSION_1
        | IN_ORDER
        | PROTOCOL
        | several
        | lacking
}

/// Features that the driver accepts. IN_ORDER is not accepted: a device could then return several
/// buffers with one entry, which has no benefit here.
const DRIVER: u64 = MRG_RXBUF | MQ | EVENT_IDX | VERSION_1 | PROTOCOL;

/// Returns the features that the driver accepts of those that a device offers; `holds_long` says
/// whether its rings hold long segments to receive and to send. None is accepted without what it
/// requires (5.1.3.1): whoever sends long segments begins their checksums alone.
pub fn accepted(offered: u64, offloads: bool, holds_long: [bool; 2]) -> u64 {
    let mut features = offered & (DRIVER | TO_DEVICE | TO_DRIVER);
    let [receives_long, sends_long] = holds_long;
    if !offloads || features & CSUM == 0 || !sends_long {
        features &= !TO_DEVICE;
    }
    // Without buffers that may be joined each would have to hold the longest.
    if !offloads || features & GUEST_CSUM == 0 || !receives_long || features & MRG_RXBUF == 0 {
        features &= !TO_DRIVER;
    }
    features
}

/// What a frame on a ring may lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Its checksum may be begun alone.
    pub checksums: bool,
    /// It may be a long segment of these kinds.
    pub kinds: Kinds,
}

impl Offloads {
    /// Returns what frames of the driver may lack.
    pub fn to_device(features: u64) -> Offloads {
        let has = |feature| features & (CSUM | feature) == CSUM | feature;
        let kinds =
            Kinds { tcp_ipv4: has(HOST_TSO4), tcp_ipv6: has(HOST_TSO6), udp: has(HOST_USO) };
        Offloads { checksums: has(0), kinds }
    }

    /// Returns what frames of the device may lack.
    pub fn to_driver(features: u64) -> Offloads {
        let has = |feature| features & (GUEST_CSUM | feature) == GUEST_CSUM | feature;
        let udp = has(GUEST_USO4 | GUEST_USO6);
        let kinds = Kinds { tcp_ipv4: has(GUEST_TSO4), tcp_ipv6: has(GUEST_TSO6), udp };
        Offloads { checksums: has(0), kinds }
    }

    /// Returns true if a frame may lack this.
    pub fn permit(self, lacks: &Header) -> bool {
        let is_begun = lacks.flags & Header::NEEDS_CHECKSUM != 0;
        (self.checksums || !is_begun) && (lacks.gso == Gso::None || self.kinds.have(lacks.gso))
    }
}

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
        (CSUM, "csum"),
        (HOST_TSO4, "host-tso4"),
        (HOST_TSO6, "host-tso6"),
        (HOST_USO, "host-uso"),
        (GUEST_CSUM, "guest-csum"),
        (GUEST_TSO4, "guest-tso4"),
        (GUEST_TSO6, "guest-tso6"),
        (GUEST_USO4, "guest-uso4"),
        (GUEST_USO6, "guest-uso6"),
    ];
    let names = known.iter().filter(|(bit, _)| features & bit != 0).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_accepted_without_what_it_requires() {
        let all = offered(1, true);
        let both = [true, true];
        let has = |features, bits| features & bits == bits;
        assert!(has(accepted(all, true, both), TO_DEVICE | TO_DRIVER));
        assert_eq!(accepted(all, false, both) & (TO_DEVICE | TO_DRIVER), 0);
        assert_eq!(offered(1, false) & (TO_DEVICE | TO_DRIVER), 0);
        for (lacking, holds, accepts) in [
            (CSUM, both, TO_DRIVER),
            (GUEST_CSUM, both, TO_DEVICE),
            (MRG_RXBUF, both, TO_DEVICE),
            (0, [false, true], TO_DEVICE),
            (0, [true, false], TO_DRIVER),
        ] {
            let features = accepted(all & !lacking, true, holds);
            assert_eq!(features & (TO_DEVICE | TO_DRIVER), accepts, "{lacking:x}");
        }
        let few = accepted(all & !GUEST_USO6 & !HOST_TSO6, true, both);
        assert_eq!(Offloads::to_driver(few).kinds, Kinds { udp: false, ..Kinds::ALL });
        let kinds = Offloads::to_device(few).kinds;
        assert_eq!(kinds, Kinds { tcp_ipv6: false, ..Kinds::ALL });
        // A driver that does not keep to it.
        assert_eq!(Offloads::to_device(HOST_TSO4), Offloads::default());
    }

    #[test]
    fn a_frame_lacks_what_was_agreed_on() {
        let offloads = Offloads::to_device(CSUM | HOST_TSO4);
        let begun = Header { flags: Header::NEEDS_CHECKSUM, ..Header::default() };
        let long = |gso| Header { gso, segment_len: 1448, ..begun };
        assert!(offloads.permit(&begun) && offloads.permit(&long(Gso::TcpIpv4)));
        assert!(!offloads.permit(&long(Gso::Udp)) && !offloads.permit(&long(Gso::Other(3))));
        let none = Offloads::default();
        assert!(none.permit(&Header::default()) && !none.permit(&begun));
        assert!(none.permit(&Header { flags: 2, ..begun }), "that it is right");
    }
}
