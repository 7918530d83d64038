//! Where the packets of a batch are on their way through, and what is known of each, by slot.

use packet::{Slot, Slots};

use super::parse::Packet;

/// The packets of the current batch.
pub(super) struct Way {
    /// From subscribers: those of IPv4, then those of IPv6, so that the processor can tell what
    /// comes next.
    pub up: Slots,
    /// To subscribers, in the same order.
    pub down: Slots,
    /// Those of IPv6 that are still to come.
    up_ipv6: Slots,
    down_ipv6: Slots,
    /// For the gateway itself, of sessions that are known.
    pub local: Slots,
    /// Whose time to live ends here.
    pub spent: Slots,
    /// That have no route, or nobody has their address.
    pub lost: Slots,
    /// That are too long for the link by which they leave.
    pub long: Slots,
    /// Of which no session is found yet.
    pub sought: Slots,
    pub packets: [Packet; 256],
    pub hash: [u64; 256],
    pub candidate: [Option<u32>; 256],
    /// The number of its session; 0 for none.
    pub session: [u32; 256],
    /// Its list, and whether both ends are its session's.
    pub list: [(u16, bool); 256],
    /// Its policer, then its next hop; or its queue.
    pub place: [u32; 256],
    /// The code point that it gets.
    pub mark: [u8; 256],
}

impl Way {
    pub fn new() -> Way {
        Way {
            up: Slots::new(),
            down: Slots::new(),
            up_ipv6: Slots::new(),
            down_ipv6: Slots::new(),
            local: Slots::new(),
            spent: Slots::new(),
            lost: Slots::new(),
            long: Slots::new(),
            sought: Slots::new(),
            packets: [Packet::NONE; 256],
            hash: [0; 256],
            candidate: [None; 256],
            session: [0; 256],
            list: [(0, false); 256],
            place: [0; 256],
            mark: [0; 256],
        }
    }

    pub fn clear(&mut self) {
        for slots in [
            &mut self.up,
            &mut self.down,
            &mut self.up_ipv6,
            &mut self.down_ipv6,
            &mut self.local,
            &mut self.spent,
            &mut self.lost,
            &mut self.long,
        ] {
            slots.clear();
        }
    }

    /// A packet of a subscriber goes on.
    #[inline(always)]
    pub fn enter_up(&mut self, slot: Slot, packet: Packet) {
        self.packets[usize::from(slot)] = packet;
        self.up.push_if(!packet.is_ipv6, slot);
        self.up_ipv6.push_if(packet.is_ipv6, slot);
    }

    /// A packet for a subscriber goes on.
    #[inline(always)]
    pub fn enter_down(&mut self, slot: Slot, packet: Packet) {
        self.packets[usize::from(slot)] = packet;
        self.down.push_if(!packet.is_ipv6, slot);
        self.down_ipv6.push_if(packet.is_ipv6, slot);
    }

    /// All packets have entered.
    pub fn order(&mut self) {
        let Way { up, down, up_ipv6, down_ipv6, .. } = self;
        up_ipv6.as_slice().iter().for_each(|&slot| up.push(slot));
        down_ipv6.as_slice().iter().for_each(|&slot| down.push(slot));
    }

    /// What a control plane is told of a punted packet: its line and its session.
    pub fn note(&mut self, slot: Slot, line: u32, session: u32) {
        self.packets[usize::from(slot)].line = line;
        self.session[usize::from(slot)] = session;
    }
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toward {
    /// To the Internet.
    Internet,
    /// To the subscriber.
    Subscriber,
}
