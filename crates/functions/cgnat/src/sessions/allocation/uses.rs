//! What subscribers have of outside addresses: blocks, or ports where there are no blocks.

/// What subscribers have of each outside address, and have had most.
pub(super) struct Uses {
    /// By address.
    pub used: Vec<u32>,
    pub high: Vec<u32>,
}

impl Uses {
    pub fn new(addresses: u32) -> Uses {
        let none = vec![0; addresses as usize];
        Uses { used: none.clone(), high: none }
    }

    pub fn take(&mut self, address: u32) {
        let used = &mut self.used[address as usize];
        *used += 1;
        let high = &mut self.high[address as usize];
        *high = (*high).max(*used);
    }

    pub fn give_back(&mut self, address: u32) {
        let used = &mut self.used[address as usize];
        *used = used.saturating_sub(1);
    }
}
