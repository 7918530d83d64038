//! What the stages hand on to one another: which packets of a batch are still on their way, and
//! what is known of each.

use packet::Slots;

use super::known::KnownOf;

/// Where the packets of the current batch are, and what is known of each, by slot.
pub(super) struct Scratch {
    /// The packets of IPv4 that are still on their way.
    pub ipv4: Slots,
    /// Those of IPv6.
    pub ipv6: Slots,
    /// Where each goes.
    pub destination: [u32; 256],
    /// The same for IPv6.
    pub destination_ipv6: [u128; 256],
    /// The number of its next hop.
    pub hop: [u32; 256],
    /// The number of the interface by which it came in.
    pub interface: [u16; 256],
    /// Packets that are looked at one by one.
    pub odd: Slots,
    /// The ports of fragments.
    pub known: KnownOf,
}

impl Scratch {
    /// Of no packet.
    pub fn new() -> Scratch {
        Scratch {
            ipv4: Slots::new(),
            ipv6: Slots::new(),
            destination: [0; 256],
            destination_ipv6: [0; 256],
            hop: [0; 256],
            interface: [0; 256],
            odd: Slots::new(),
            known: KnownOf::new(),
        }
    }
}
