//! Changes of the gateway that are to be handed over, and those that have no answer yet, in order.

use std::collections::VecDeque;

use function_bng::Update;
use function_bng::config::Session;

/// A change of a session.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Number of the session.
    pub session: u32,
    /// Which session of that number.
    pub generation: u32,
    /// What the gateway had of it before.
    pub before: Option<Session>,
    pub update: Update,
}

impl Change {
    /// Whether it changes nothing.
    fn is_question(&self) -> bool {
        matches!(self.update, Update::TellUsage { .. })
    }
}

/// The account.
#[derive(Debug, Default)]
pub(crate) struct Account {
    waiting: VecDeque<Change>,
    open: VecDeque<Change>,
    /// The number of the first open one.
    first: u64,
    /// Changes that were refused.
    pub refused: u64,
}

impl Account {
    /// Adds a change; returns its number.
    pub fn add(&mut self, change: Change) -> u64 {
        self.waiting.push_back(change);
        self.first + (self.open.len() + self.waiting.len()) as u64 - 1
    }

    /// Takes what is to be handed over, as long as not too much has no answer: changes that are to
    /// be remembered, or questions, which are not.
    pub fn hand_over(&mut self) -> (bool, Vec<Update>) {
        let is_question = self.waiting.front().is_some_and(Change::is_question);
        let room = OPEN_MAX.saturating_sub(self.open.len());
        let alike = self.waiting.iter().take(room);
        let count = alike.take_while(|change| change.is_question() == is_question).count();
        let taken: Vec<Change> = self.waiting.drain(..count).collect();
        let updates = taken.iter().map(|change| change.update.clone()).collect();
        self.open.extend(taken);
        (is_question, updates)
    }

    /// Whether something is to be handed over.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.open.len() < OPEN_MAX
    }

    /// Changes without an answer.
    pub fn len(&self) -> usize {
        self.open.len() + self.waiting.len()
    }

    /// All changes before a number took effect; answers are in order. Returns the next of them with
    /// its number, until there is none.
    pub fn applied(&mut self, end: u64) -> Option<(u64, Change)> {
        if self.first >= end {
            return None;
        }
        let change = self.open.pop_front()?;
        self.first += 1;
        Some((self.first - 1, change))
    }

    /// The change of a number was refused, when those before it are [`Account::applied`].
    pub fn refuse(&mut self, number: u64) -> Option<Change> {
        if self.first != number {
            return None;
        }
        let change = self.open.pop_front()?;
        self.first += 1;
        self.refused += 1;
        Some(change)
    }
}

/// Most changes that are on their way to workers.
const OPEN_MAX: usize = 4096;
