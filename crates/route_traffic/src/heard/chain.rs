//! The messages that a leading client has had, one behind the other.

use crate::heard::store::Store;
use crate::heard::table::Table;
use crate::heard::values::Values;

/// A chain of messages, and the table that they lead to.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Where its bytes are.
    pub arena: usize,
    /// What is true behind so many messages; behind none in the first place.
    states: Vec<State>,
    messages: Vec<u32>,
    pub table: Table,
}

/// What is true behind some messages of a chain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// Bytes of the messages.
    pub end: usize,
    /// The hash of the table.
    pub hash: u128,
    /// Routes that were announced or withdrawn.
    pub routes: u64,
    /// Routes that were withdrawn.
    pub withdrawn: u64,
}

impl Chain {
    pub fn new(arena: usize, table: Table) -> Chain {
        Chain { arena, states: vec![State::default()], messages: Vec::new(), table }
    }

    pub fn messages(&self) -> &[u32] {
        &self.messages
    }

    pub fn state(&self, messages: usize) -> State {
        self.states[messages]
    }

    pub fn last(&self) -> State {
        self.states[self.messages.len()]
    }

    /// How many whole messages so many bytes are, of which at least these are known to be.
    pub fn whole(&self, bytes: usize, known: usize) -> usize {
        // A client mostly is a few messages further: look near first.
        let mut step = 1;
        let mut low = known;
        while low + step < self.states.len() && self.states[low + step].end <= bytes {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(self.states.len());
        low + self.states[low..high].partition_point(|state| state.end <= bytes) - 1
    }

    /// Appends a message.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn push(
        &mut self,
        message: u32,
        bytes: &[u8],
        store: &mut Store,
        values: &mut Values,
    ) -> Result<(), String> {
        store.keep(message, self.arena, bytes)?;
        apply(&mut self.table, message, store, values);
        let (last, row) = (self.last(), store.message(message));
        self.messages.push(message);
        self.states.push(State {
            end: last.end + bytes.len(),
            hash: self.table.hash(),
            routes: last.routes + u64::from(row.routes),
            withdrawn: last.withdrawn + u64::from(row.withdrawn),
        });
        Ok(())
    }

    /// The table behind some messages.
    pub fn replay(&self, messages: usize, store: &Store, values: &mut Values) -> Table {
        let fed = values.known().fed();
        let mut table = Table::new(fed.routes().count(), fed.tellers());
        for message in &self.messages[..messages] {
            apply(&mut table, *message, store, values);
        }
        table
    }
}

/// Applies a message to a table.
pub(crate) fn apply(table: &mut Table, message: u32, store: &Store, values: &mut Values) {
    let runs = store.runs(message);
    let is_added = store.sum(message).is_some_and(|sum| table.add(runs, sum, values));
    if !is_added {
        table.apply(runs, values);
    }
}
