//! Changes that were handed over and have no answer yet, by whose they are.

use std::collections::VecDeque;

use function_l3_router::Update;

/// Changes in their order: answers come in the same one.
#[derive(Default)]
pub(crate) struct Order {
    /// Whose the changes are, so many in a row.
    runs: VecDeque<(Whose, u64)>,
    /// The changes of addresses and neighbours among them.
    own: VecDeque<Update>,
    /// The number of the first.
    first: u64,
}

/// Who has made changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The routes.
    Routing,
    /// Addresses and neighbours.
    Own,
}

impl Order {
    /// Changes of routes were handed over.
    pub fn routes(&mut self, count: u64) {
        self.run(Whose::Routing, count);
    }

    /// Changes of addresses and neighbours were handed over.
    pub fn own(&mut self, updates: &[Update]) {
        self.own.extend(updates);
        self.run(Whose::Own, updates.len() as u64);
    }

    /// Changes of addresses and neighbours without an answer.
    pub fn open(&self) -> usize {
        self.own.len()
    }

    /// The next change before a number has its answer: whose it was.
    pub fn next_before(&mut self, end: u64) -> Option<(Whose, Option<Update>)> {
        if self.first >= end {
            return None;
        }
        let (whose, count) = self.runs.front_mut()?;
        let whose = *whose;
        *count -= 1;
        if *count == 0 {
            self.runs.pop_front();
        }
        self.first += 1;
        let update = if whose == Whose::Own { self.own.pop_front() } else { None };
        Some((whose, update))
    }

    fn run(&mut self, whose: Whose, count: u64) {
        if count > 0 {
            self.runs.push_back((whose, count));
        }
    }
}
