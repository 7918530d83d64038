//! What a fragment's datagram has shown of its ports.

use packet::Slot;

/// What the first fragment of a datagram showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The transport protocol.
    pub protocol: u8,
    /// Source and destination port, if it has such.
    pub ports: Option<[u8; 4]>,
}

/// What is known of the fragments of a batch, by slot.
pub(super) struct KnownOf {
    any: bool,
    of: [Option<Known>; 256],
}

impl KnownOf {
    pub fn new() -> KnownOf {
        KnownOf { any: false, of: [None; 256] }
    }

    /// Whether anything is known of any packet.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        self.any
    }

    /// What is known of one.
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<Known> {
        self.of[usize::from(slot)]
    }

    pub fn clear(&mut self) {
        if self.any {
            *self = KnownOf::new();
        }
    }

    pub fn note(&mut self, slot: Slot, known: Known) {
        self.any = true;
        self.of[usize::from(slot)] = Some(known);
    }
}
