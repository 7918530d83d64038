//! What a client has of each route, with a hash of all of it.

use std::collections::HashMap;

use crate::heard::codes::Codes;
use crate::heard::values::Values;

/// Routes with the same value whose numbers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first of them.
    pub first: u32,
    pub count: u32,
    /// Their value; [`WITHDRAWN`] for none.
    pub value: u32,
}

/// A value that takes a route away.
pub(crate) const WITHDRAWN: u32 = u32::MAX;

/// A table: for each route one number that says which teller's first view it has, and beside that a
/// map of what it has otherwise. For most clients that map is empty.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    codes: Codes,
    routes: u32,
    others: HashMap<u32, u32>,
    hash: u128,
}

impl Table {
    /// An empty table of a number of routes with this many tellers each.
    pub fn new(routes: u32, tellers: u16) -> Table {
        Table { codes: Codes::new(routes, tellers), routes, others: HashMap::new(), hash: 0 }
    }

    /// The hash of all that is there.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    /// The value of a route.
    pub fn get(&self, route: u32, values: &Values) -> Option<u32> {
        let code = if route < self.routes { self.codes.get(route) } else { 0 };
        match code {
            0 => self.others.get(&route).copied(),
            teller => Some(values.known().fed().told(route, u16::from(teller) - 1)),
        }
    }

    /// All routes that no feeder has told, or not with the value that is here.
    pub fn others(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.others.iter().map(|(route, value)| (*route, *value))
    }

    /// Applies runs that all have first views and of which no two have a route in common, if no
    /// route of theirs is there yet; the hash is that of all of them.
    pub fn add(&mut self, runs: &[Run], hash: u128, values: &Values) -> bool {
        let is_absent = |run: &Run| self.codes.are_clear(run.first..run.first + run.count);
        if !self.others.is_empty() || !runs.iter().all(is_absent) {
            return false;
        }
        for run in runs {
            let teller = values.known().fed().teller_of(run.value);
            self.codes.fill(run.first..run.first + run.count, teller as u8 + 1);
        }
        self.hash = self.hash.wrapping_add(hash);
        true
    }

    /// Applies any runs, in their order.
    pub fn apply(&mut self, runs: &[Run], values: &mut Values) {
        for run in runs {
            for route in run.first..run.first + run.count {
                self.put(route, Some(run.value).filter(|value| *value != WITHDRAWN), values);
            }
        }
    }

    fn put(&mut self, route: u32, value: Option<u32>, values: &mut Values) {
        let before = self.get(route, values);
        if before == value {
            return;
        }
        if let Some(before) = before {
            self.hash = self.hash.wrapping_sub(values.hash(route, before));
        }
        let mut code = 0;
        let mut other = None;
        if let Some(value) = value {
            self.hash = self.hash.wrapping_add(values.hash(route, value));
            match values.teller(route, value) {
                Some(teller) => code = teller as u8 + 1,
                None => other = Some(value),
            }
        }
        if route < self.routes {
            self.codes.set(route, code);
        }
        match other {
            Some(value) => self.others.insert(route, value),
            None => self.others.remove(&route),
        };
    }
}
