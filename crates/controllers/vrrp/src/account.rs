//! Changes that are to be handed over, and those that have no answer yet, in order.

use std::collections::VecDeque;

use function_kit::erased::AnyUpdate;

/// A change, and the virtual router to which it gives an address; none of others.
struct Entry {
    router: Option<u32>,
    update: AnyUpdate,
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
    /// Adds changes that give a virtual router its addresses.
    pub fn give(&mut self, router: u32, updates: &[AnyUpdate]) {
        let given = |update: &AnyUpdate| Entry { router: Some(router), update: update.clone() };
        self.waiting.extend(updates.iter().map(given));
    }

    /// Adds other changes.
    pub fn add(&mut self, updates: &[AnyUpdate]) {
        let other = |update: &AnyUpdate| Entry { router: None, update: update.clone() };
        self.waiting.extend(updates.iter().map(other));
    }

    /// Whether something is to be handed over.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether something that was handed over has no answer yet.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes what is to be handed over.
    pub fn hand_over(&mut self) -> Vec<AnyUpdate> {
        let updates = self.waiting.iter().map(|entry| entry.update.clone()).collect();
        self.open.append(&mut self.waiting);
        updates
    }

    /// All changes before a number took effect; answers are in order.
    pub fn applied(&mut self, end: u64) {
        let count = end.saturating_sub(self.first).min(self.open.len() as u64);
        self.open.drain(..count as usize);
        self.first += count;
    }

    /// The change of a number was refused; returns whose address the function does not take.
    pub fn refuse(&mut self, number: u64) -> Option<u32> {
        self.applied(number);
        let entry = self.open.pop_front()?;
        self.first += 1;
        // One that is not there need not go.
        self.refused += u64::from(entry.router.is_some());
        entry.router
    }
}
