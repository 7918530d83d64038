//! Where the packets of a batch are on their way through, and what is known of each, by slot.

use packet::{Slot, Slots};

use super::parse::Packet;

/// The packets of the current batch.
pub(super) struct Way {
    /// From subscribers.
    pub up: Slots,
    /// To subscribers.
    pub down: Slots,
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
        self.up.push(slot);
    }

    /// A packet for a subscriber goes on.
    #[inline(always)]
    pub fn enter_down(&mut self, slot: Slot, packet: Packet) {
        self.packets[usize::from(slot)] = packet;
        self.down.push(slot);
    }

    /// What a control plane is told of a punted packet: its line and its session.
    pub fn note(&mut self, slot: Slot, line: u32, session: u32) {
        self.packets[usize::from(slot)].line = line;
        self.session[usize::from(slot)] = session;
    }
}
