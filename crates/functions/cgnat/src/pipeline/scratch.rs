//! Where the packets of a batch are on their way through a NAT.

use std::net::Ipv6Addr;

use packet::{PortId, Slots};

use crate::sessions::table::{NONE, Number};
use crate::types::class::Shape;
use crate::types::flow::{Inside, Outside};
use crate::types::sides::INSIDE;

/// Where the packets of the current batch are, and what is known of each, by slot.
pub struct Scratch {
    /// From subscribers.
    pub from_inside: Slots,
    /// From the Internet.
    pub from_outside: Slots,
    /// Those whose session may be in another line of the index than usual.
    pub elsewhere: Slots,
    /// Packets from inside that have no session yet.
    pub new_inside: Slots,
    /// The same from outside.
    pub new_outside: Slots,
    /// Packets from inside of calls.
    pub calls: Slots,
    /// Fragments that may be followed.
    pub fragments: Slots,
    /// Packets that were dropped as they came in.
    pub pending_errors: Slots,
    /// What a packet from inside names its session by.
    pub inside: [Inside; 256],
    /// The same of one from outside.
    pub outside: [Outside; 256],
    /// Where things are in it.
    pub shape: [Shape; 256],
    /// The realm towards which it leaves, if it leaves inside; kept where there are VRFs or
    /// softwires.
    pub realm: [u16; 256],
    /// The B4 element of that, if the realm is one of softwires: as it came in that of its sender.
    pub b4: [Ipv6Addr; 256],
    /// The hash of its session's name.
    pub hash: [u64; 256],
    /// The number that its subscriber likely has, where a mapping is to be made.
    pub subscriber: [u32; 256],
    /// The number that its session likely has.
    pub number: [Number; 256],
    /// The port at which it came in, where that is more than its interface.
    pub came: [PortId; 256],
    /// The interface at which a frame came in that the host gets.
    pub came_by: [PortId; 256],
}

impl Scratch {
    /// No packets.
    pub fn new() -> Scratch {
        Scratch {
            from_inside: Slots::new(),
            from_outside: Slots::new(),
            elsewhere: Slots::new(),
            new_inside: Slots::new(),
            new_outside: Slots::new(),
            calls: Slots::new(),
            fragments: Slots::new(),
            pending_errors: Slots::new(),
            inside: [Inside::default(); 256],
            outside: [Outside::default(); 256],
            shape: [Shape::default(); 256],
            realm: [0; 256],
            b4: [Ipv6Addr::UNSPECIFIED; 256],
            hash: [0; 256],
            subscriber: [NONE; 256],
            number: [NONE; 256],
            came: [INSIDE; 256],
            came_by: [INSIDE; 256],
        }
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.from_inside.clear();
        self.from_outside.clear();
        self.new_inside.clear();
        self.new_outside.clear();
        self.calls.clear();
        self.fragments.clear();
        self.pending_errors.clear();
    }
}
