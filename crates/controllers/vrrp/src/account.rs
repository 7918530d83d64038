//! Changes that are to be handed over, and those that have no answer yet, in order.

use std::collections::VecDeque;

use function_l3_router::Update;

/// A change, and the virtual router for which it is.
#[derive(Clone, Copy)]
struct Entry {
    router: u32,
    update: Update,
}

/// The account.
#[derive(Default)]
pub(crate) struct Account {
    waiting: VecDeque<Entry>,
    open: VecDeque<Entry>,
    /// The number of the first open one.
    first: u64,
    /// Changes that were refused, but for addresses that were gone already.
    pub refused: u64,
}

impl Account {
    /// Adds changes for a virtual router.
    pub fn add(&mut self, router: u32, updates: impl Iterator<Item = Update>) {
        self.waiting.extend(updates.map(|update| Entry { router, update }));
    }

    /// Whether something is to be handed over.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes what is to be handed over.
    pub fn hand_over(&mut self) -> Vec<Update> {
        let updates = self.waiting.iter().map(|entry| entry.update).collect();
        self.open.append(&mut self.waiting);
        updates
    }

    /// All changes before a number took effect; answers are in order.
    pub fn applied(&mut self, end: u64) {
        let count = end.saturating_sub(self.first).min(self.open.len() as u64);
        self.open.drain(..count as usize);
        self.first += count;
    }

    /// The change of a number was refused; returns whose address the router does not take.
    pub fn refuse(&mut self, number: u64) -> Option<u32> {
        self.applied(number);
        let entry = self.open.pop_front()?;
        self.first += 1;
        // One that is not there need not go.
        let is_set = matches!(entry.update, Update::SetVirtual { .. });
        self.refused += u64::from(is_set);
        is_set.then_some(entry.router)
    }
}
