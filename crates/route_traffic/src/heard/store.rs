//! Each different message once: its bytes, and what it does to a table.

use std::collections::HashMap;

use crate::attributes;
use crate::heard::table::{Run, WITHDRAWN};
use crate::heard::values::Values;
use crate::nlri;
use crate::update::Update;

/// Messages by numbers.
#[derive(Debug)]
pub(crate) struct Store {
    /// Bytes of messages: first of those that no chain has, then of each chain.
    arenas: Vec<Vec<u8>>,
    messages: Vec<Message>,
    runs: Vec<Run>,
    index: HashMap<u64, u32>,
    bytes_max: usize,
}

/// A message with routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    place: Option<Place>,
    len: u32,
    first_run: usize,
    runs: u32,
    /// The hash of the routes if all of them have first views and are there once.
    sum: Option<u128>,
    /// Routes that it announces or withdraws.
    pub routes: u32,
    /// Routes that it withdraws.
    pub withdrawn: u32,
    /// The message that came behind it to a client.
    next: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    arena: u32,
    start: usize,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identified {
    /// It has routes, and this number.
    Message(u32),
    /// It says nothing of routes that are looked at.
    Idle,
}

impl Store {
    /// A store of at most this many bytes of messages.
    pub fn new(bytes_max: usize) -> Store {
        let (messages, runs, index) = (Vec::new(), Vec::new(), HashMap::new());
        Store { arenas: vec![Vec::new()], messages, runs, index, bytes_max }
    }

    /// Makes room for the bytes of a further chain; returns its number.
    pub fn add_arena(&mut self) -> usize {
        self.arenas.push(Vec::new());
        self.arenas.len() - 1
    }

    pub fn arena(&self, arena: usize) -> &[u8] {
        &self.arenas[arena]
    }

    /// Takes the bytes of a chain out; they have to come back.
    pub fn take_arena(&mut self, arena: usize) -> Vec<u8> {
        std::mem::take(&mut self.arenas[arena])
    }

    pub fn put_arena(&mut self, arena: usize, bytes: Vec<u8>) {
        self.arenas[arena] = bytes;
    }

    pub fn message(&self, message: u32) -> Message {
        self.messages[message as usize]
    }

    pub fn runs(&self, message: u32) -> &[Run] {
        let Message { first_run, runs, .. } = self.messages[message as usize];
        &self.runs[first_run..first_run + runs as usize]
    }

    /// The hash of the routes of a message that can be added as a whole.
    pub fn sum(&self, message: u32) -> Option<u128> {
        self.messages[message as usize].sum
    }

    /// The bytes of a message.
    pub fn bytes(&self, message: u32) -> &[u8] {
        let Message { place, len, .. } = self.messages[message as usize];
        let Some(Place { arena, start }) = place else { return &[] };
        self.arenas[arena as usize].get(start..start + len as usize).unwrap_or(&[])
    }

    /// The message that came behind another one, if bytes begin with it.
    pub fn expected(&self, before: u32, bytes: &[u8]) -> Option<u32> {
        let next = self.messages[before as usize].next?;
        let message = self.bytes(next);
        (!message.is_empty() && bytes.starts_with(message)).then_some(next)
    }

    /// Notes that a message came behind another one, unless one did before.
    pub fn follow(&mut self, before: u32, next: u32) {
        self.messages[before as usize].next.get_or_insert(next);
    }

    /// Finds a message by its bytes, or reads it.
    ///
    /// # Errors
    /// In words, when it cannot be read, or there is no room for it.
    pub fn identify(&mut self, bytes: &[u8], values: &mut Values) -> Result<Identified, String> {
        let hash = values.known().hashes().message(bytes);
        if let Some(message) = self.index.get(&hash)
            && self.bytes(*message) == bytes
        {
            return Ok(Identified::Message(*message));
        }
        let first_run = self.runs.len();
        let read = self.read(bytes, values);
        let (sum, routes, withdrawn) = read.inspect_err(|_| self.runs.truncate(first_run))?;
        if routes == 0 {
            return Ok(Identified::Idle);
        }
        let message = self.messages.len() as u32;
        self.messages.push(Message {
            place: None,
            len: bytes.len() as u32,
            first_run,
            runs: (self.runs.len() - first_run) as u32,
            sum,
            routes,
            withdrawn,
            next: None,
        });
        self.index.entry(hash).or_insert(message);
        Ok(Identified::Message(message))
    }

    /// Keeps the bytes of a message at the end of a chain, or of those that no chain has.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn keep(&mut self, message: u32, arena: usize, bytes: &[u8]) -> Result<(), String> {
        let is_kept = self.messages[message as usize].place.is_some();
        if arena == ASIDE && is_kept {
            return Ok(());
        }
        let all: usize = self.arenas.iter().map(Vec::len).sum();
        let of_runs = self.runs.len() * size_of::<Run>();
        if all + of_runs + bytes.len() > self.bytes_max {
            return Err(format!(
                "it tells more than {} bytes of different messages, far more than the feeders",
                self.bytes_max
            ));
        }
        let start = self.arenas[arena].len();
        self.arenas[arena].extend(bytes);
        if !is_kept {
            self.messages[message as usize].place = Some(Place { arena: arena as u32, start });
        }
        Ok(())
    }

    /// Appends the runs of a message; returns the hash of all routes, if it has first views alone
    /// and each route once, and the numbers of routes and of withdrawn ones.
    fn read(
        &mut self,
        bytes: &[u8],
        values: &mut Values,
    ) -> Result<(Option<u128>, u32, u32), String> {
        let update = Update::read(bytes.get(protocol_bgp::message::HEADER_LEN..).unwrap_or(&[]))?;
        let (mut sum, mut is_simple) = (0_u128, true);
        let (mut routes, mut withdrawn) = (0, 0);
        let first_run = self.runs.len();
        for (family, field) in &update.withdrawn {
            if !values.has(*family) {
                continue;
            }
            nlri::each(*family, field, |key, _| {
                let route = values.route(*family, key)?;
                push(&mut self.runs, first_run, route, WITHDRAWN);
                withdrawn += 1;
                Ok(())
            })?;
        }
        let mut set = Vec::new();
        for (family, field, next_hop) in &update.announced {
            if !values.has(*family) {
                continue;
            }
            set.clear();
            attributes::normalise(update.attributes, next_hop, &mut set)?;
            let value = values.value(&set)?;
            nlri::each(*family, field, |key, wire| {
                let route = values.route(*family, key)?;
                let (value, hash) = values.of_route(route, wire, value)?;
                is_simple &= values.teller(route, value).is_some();
                sum = sum.wrapping_add(hash);
                push(&mut self.runs, first_run, route, value);
                routes += 1;
                Ok(())
            })?;
        }
        let is_simple = is_simple && withdrawn == 0 && are_apart(&self.runs[first_run..]);
        Ok((is_simple.then_some(sum), routes + withdrawn, withdrawn))
    }
}

/// Appends a route, to the last run of this message if it goes on.
fn push(runs: &mut Vec<Run>, first_run: usize, route: u32, value: u32) {
    match runs[first_run..].last_mut() {
        Some(last) if last.value == value && last.first + last.count == route => last.count += 1,
        _ => runs.push(Run { first: route, count: 1, value }),
    }
}

/// Whether no two runs have a route in common.
fn are_apart(runs: &[Run]) -> bool {
    let follows = |two: &[Run]| two[0].first + two[0].count <= two[1].first;
    if runs.windows(2).all(follows) {
        return true;
    }
    let mut sorted = runs.to_vec();
    sorted.sort_unstable_by_key(|run| run.first);
    sorted.windows(2).all(follows)
}

/// The arena of messages that no chain has.
pub(crate) const ASIDE: usize = 0;
