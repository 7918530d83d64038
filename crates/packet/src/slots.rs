//! Lists of packets within a batch: what a stage works on.

/// Index of a packet in its batch. It has eight bits, so that indexing an array of 256 needs no
/// check.
pub type Slot = u8;

/// A list of packets of a batch, in order; at most 256.
#[derive(Clone, Debug)]
pub struct Slots {
    slots: [Slot; 256],
    len: usize,
}

impl Slots {
    /// Creates an empty list.
    pub const fn new() -> Slots {
        Slots { slots: [0; 256], len: 0 }
    }

    /// Removes all packets.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a packet. A 257th one overwrites the last: a batch has no more than 256.
    #[inline(always)]
    pub fn push(&mut self, slot: Slot) {
        self.push_if(true, slot);
    }

    /// Appends a packet if `wanted`, without a branch, because random traffic cannot be predicted.
    #[inline(always)]
    pub fn push_if(&mut self, wanted: bool, slot: Slot) {
        debug_assert!(self.len < 256 || !wanted, "a packet is in a list twice");
        self.slots[self.len & 255] = slot;
        self.len += usize::from(wanted);
    }

    /// Keeps, in order, the packets for which `wanted` returns true.
    #[inline(always)]
    pub fn retain(&mut self, mut wanted: impl FnMut(Slot) -> bool) {
        let mut kept = 0;
        for index in 0..self.len() {
            let slot = self.slots[index];
            self.slots[kept & 255] = slot;
            kept += usize::from(wanted(slot));
        }
        self.len = kept;
    }

    /// Returns the packets.
    #[inline(always)]
    pub fn as_slice(&self) -> &[Slot] {
        &self.slots[..self.len.min(256)]
    }

    /// Returns the number of packets.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len.min(256)
    }

    /// Returns true if there are no packets.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_what_was_wanted_in_order() {
        let mut even = Slots::new();
        for slot in 0..=255 {
            even.push_if(slot % 2 == 0, slot);
        }
        assert_eq!(even.len(), 128);
        assert!(even.as_slice().iter().copied().eq((0..=255).step_by(2)));
        even.retain(|slot| slot % 4 == 0);
        assert!(even.as_slice().iter().copied().eq((0..=255).step_by(4)));
        even.clear();
        assert!(even.is_empty());
    }

    #[test]
    fn a_list_holds_a_whole_batch() {
        let mut all = Slots::new();
        (0..=255).for_each(|slot| all.push(slot));
        assert_eq!(all.as_slice().len(), 256);
    }
}
