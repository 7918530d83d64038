//! Changes on their way to the router, and what became of them.

use std::collections::{BTreeMap, VecDeque};

use controller_kit::Refusal;
use function_l3_router::Update;

use crate::router::Network;

/// Changes by their numbers: those that wait to be handed over, and those without an answer.
#[derive(Default)]
pub(crate) struct Account {
    /// All without an answer, in order.
    open: VecDeque<Update>,
    /// How many of them were handed over.
    handed: usize,
    /// The number of the first of them.
    first: u64,
    /// The last change of each route among them.
    last: BTreeMap<Network, u64>,
    /// Changes that took effect.
    pub applied: u64,
    /// Changes that were refused, by cause.
    pub refused: [u64; CAUSES.len()],
}

impl Account {
    /// Adds a change.
    pub fn push(&mut self, update: Update) {
        if let Some(network) = route_of(&update) {
            self.last.insert(network, self.first + self.open.len() as u64);
        }
        self.open.push_back(update);
    }

    /// Whether no more changes are to be made until some are answered.
    pub fn is_full(&self) -> bool {
        self.open.len() >= OPEN_MAX
    }

    /// Changes that wait to be handed over.
    pub fn waiting(&self) -> usize {
        self.open.len() - self.handed
    }

    /// Changes without an answer.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Hands over the next changes.
    pub fn hand_over(&mut self) -> Vec<Update> {
        let batch: Vec<Update> = self.open.range(self.handed..).take(BULK_MAX).copied().collect();
        self.handed += batch.len();
        batch
    }

    /// The next change up to this number took effect; `None` if there is none without an answer.
    pub fn next_applied(&mut self, before: u64) -> Option<Update> {
        if self.first >= before {
            return None;
        }
        let (update, _) = self.take()?;
        self.applied += 1;
        Some(update)
    }

    /// A change was refused. Returns it, unless a later one decides about the same route.
    pub fn refuse(&mut self, number: u64, why: Refusal) -> Option<Update> {
        if number != self.first {
            return None;
        }
        let (update, is_last) = self.take()?;
        self.refused[cause(why)] += 1;
        is_last.then_some(update)
    }

    /// Takes the first change; whether no other one follows of its route.
    fn take(&mut self) -> Option<(Update, bool)> {
        if self.handed == 0 {
            return None;
        }
        let update = self.open.pop_front()?;
        self.handed -= 1;
        let number = self.first;
        self.first += 1;
        let Some(network) = route_of(&update) else { return Some((update, true)) };
        let is_last = self.last.get(&network) == Some(&number);
        if is_last {
            self.last.remove(&network);
        }
        Some((update, is_last))
    }
}

fn route_of(update: &Update) -> Option<Network> {
    match *update {
        Update::SetRoute { prefix, vrf, .. } | Update::RemoveRoute { prefix, vrf } => {
            Some(Network::of(vrf, prefix))
        }
        _ => None,
    }
}

/// The place of why a change is refused among [`CAUSES`].
fn cause(why: Refusal) -> usize {
    match why {
        Refusal::NotFound => 0,
        Refusal::Exists => 1,
        Refusal::Full | Refusal::Exceeds(_) => 2,
        Refusal::Invalid => 3,
    }
}

/// Why changes are refused.
pub(crate) const CAUSES: [&str; 4] = ["not-found", "exists", "full", "invalid"];

/// Most changes without an answer.
const OPEN_MAX: usize = 16_384;

/// Most changes that are handed over at once.
const BULK_MAX: usize = 1024;
