//! What each client was told, exactly and for little: the tester must cost far less than a device.
//!
//! Most clients of a device are told the same bytes. The messages that the leading one has had are
//! a chain, with the state of a table behind each; every other client is a place in it, and what it
//! receives is compared with the bytes that stand there. A client that is told something else gets
//! a table of its own, of a bit for each route in the plain case, by replay of the chain up to its
//! place. Each different message is read once, whoever gets it. KEEPALIVEs and UPDATEs without
//! routes stand in no chain: clients get them at different places.
//!
//! The files in reading order: `values` numbers routes and what they have, `codes` and `table` are
//! what a client has, `store` has each message once, `chain` several behind each other, `framing`
//! finds messages, `client` is where a client is, `changes` waits for single routes, and
//! `differences` tells what is wrong.

mod values;

mod codes;

mod table;

mod store;

mod chain;

mod framing;

mod client;

mod changes;

mod differences;

use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use protocol_bgp::Notification;
use protocol_bgp::message::{EXTENDED_LEN_MAX, HEADER_LEN, LEN_MAX};

use crate::heard::chain::{Chain, State, apply};
use crate::heard::changes::Changes;
use crate::heard::client::{Client, Own};
use crate::heard::store::{ASIDE, Identified, Store};
use crate::heard::table::Table;
use crate::heard::values::Values;
use crate::known::{Expected, Known};

pub use crate::heard::client::Counts;

/// What the clients of a device were told.
#[derive(Debug)]
pub struct Heard {
    values: Values,
    store: Store,
    chains: Vec<Chain>,
    clients: Vec<Client>,
    len_max: usize,
    changes: Option<Changes>,
    /// Messages of each chain that all its clients have had, while changes are under way.
    passed: Vec<usize>,
}

impl Heard {
    /// Begins with clients that were told nothing. Different messages of at most this many bytes
    /// are kept.
    pub fn new(known: Arc<Known>, clients: usize, bytes_max: usize) -> Heard {
        let mut heard = Heard {
            values: Values::new(known),
            store: Store::new(bytes_max),
            chains: Vec::new(),
            clients: Vec::new(),
            len_max: LEN_MAX,
            changes: None,
            passed: Vec::new(),
        };
        heard.clients.resize_with(clients, Client::default);
        heard.begin_chain();
        heard
    }

    /// Lets messages have up to 65,535 bytes (RFC 8654).
    pub fn take_extended_messages(&mut self) {
        self.len_max = EXTENDED_LEN_MAX;
    }

    /// Sessions that begin from now on are compared with each other, and with none of before.
    pub fn begin_chain(&mut self) {
        let fed = self.values.known().fed();
        let table = Table::new(fed.routes().count(), fed.tellers());
        self.chains.push(Chain::new(self.store.add_arena(), table));
    }

    /// A client has a new session, and nothing was told to it yet.
    pub fn begin_session(&mut self, client: usize) {
        let one = &mut self.clients[client];
        let Client { counts, expected, .. } = *one;
        let chain = self.chains.len() - 1;
        *one = Client { is_up: true, chain, counts, expected, ..Client::default() };
        self.settle(client, false, Instant::now());
    }

    /// A client has lost its session.
    pub fn end_session(&mut self, client: usize, now: Instant) {
        self.clients[client].is_up = false;
        self.clients[client].done = None;
        let is_own = self.clients[client].own.is_some();
        if let Some(changes) = self.changes.as_mut().filter(|_| is_own) {
            changes.observer_goes(client, now);
        }
    }

    /// Says what a client is to have, by its hash; none while nobody knows.
    pub fn expect(&mut self, client: usize, hash: Option<u128>) {
        let one = &mut self.clients[client];
        one.expected = hash;
        one.done = None;
        let now = one.changed.unwrap_or_else(Instant::now);
        self.settle(client, false, now);
    }

    /// Takes what a client has received.
    ///
    /// # Errors
    /// In words, when that cannot be read: nothing more of this client is looked at.
    pub fn receive(&mut self, client: usize, bytes: &[u8], now: Instant) -> Result<(), String> {
        let one = &mut self.clients[client];
        one.counts.bytes += bytes.len() as u64;
        if let Some(trouble) = &one.trouble {
            return Err(trouble.clone());
        }
        let before = one.counts.updates;
        let mut part = std::mem::take(&mut one.part);
        let taken = self.take(client, bytes, &mut part, now);
        self.advance(client);
        let one = &mut self.clients[client];
        one.part = part;
        if let Err(why) = &taken {
            one.trouble = Some(why.clone());
        }
        let has_changed = one.counts.updates != before;
        self.settle(client, has_changed, now);
        taken
    }

    /// Since when a client has what it is to have.
    pub fn done(&self, client: usize) -> Option<Instant> {
        self.clients[client].done
    }

    /// When the table of a client last changed.
    pub fn changed(&self, client: usize) -> Option<Instant> {
        self.clients[client].changed
    }

    /// How much a client was told.
    pub fn counts(&self, client: usize) -> Counts {
        self.clients[client].counts
    }

    /// The NOTIFICATION with which the session of a client has ended, in words.
    pub fn notified(&self, client: usize) -> Option<&str> {
        self.clients[client].notified.as_deref()
    }

    /// How many clients have a table of their own.
    pub fn own_tables(&self) -> usize {
        self.clients.iter().filter(|client| client.own.is_some()).count()
    }

    /// The hash of a client's table.
    pub fn hash(&self, client: usize) -> u128 {
        let one = &self.clients[client];
        match &one.own {
            Some(own) => own.table.hash(),
            None => self.chains[one.chain].state(one.index).hash,
        }
    }

    /// Where the last chain ends now: its number, its bytes and the hash of its table.
    pub fn leading(&self) -> (usize, usize, u128) {
        let chain = self.chains.len() - 1;
        let State { end, hash, .. } = self.chains[chain].last();
        (chain, end, hash)
    }

    /// Takes the bytes of a chain out, which have to come back before anything else happens.
    pub fn lend(&mut self, chain: usize) -> Vec<u8> {
        self.store.take_arena(self.chains[chain].arena)
    }

    /// Takes the bytes of a chain back.
    pub fn give_back(&mut self, chain: usize, bytes: Vec<u8>) {
        self.store.put_arena(self.chains[chain].arena, bytes);
    }

    /// Says in a few words what a client has that it is not to have, and the other way round; none
    /// if that is nothing. A feeder is not told its own, and a client with route targets those
    /// alone.
    pub fn difference(
        &mut self,
        client: usize,
        expected: &Expected,
        (own, targets): (Option<u16>, Option<&[u32]>),
    ) -> Option<String> {
        let one = &self.clients[client];
        if let Some(trouble) = &one.trouble {
            return Some(trouble.clone());
        }
        let replayed = match &one.own {
            Some(_) => None,
            None => Some(self.chains[one.chain].replay(one.index, &self.store, &mut self.values)),
        };
        let own_table = self.clients[client].own.as_ref().map(|own| &own.table);
        let table = replayed.as_ref().or(own_table)?;
        differences::words(table, &self.values, expected, (own, targets))
    }

    /// From now on changes of single routes are waited for. Clients in `apart` get tables of their
    /// own.
    pub fn begin_changes(&mut self, apart: impl IntoIterator<Item = usize>) {
        for client in apart {
            self.diverge(client);
        }
        self.changes = Some(Changes::new());
        self.passed = self.chains.iter().map(|chain| chain.messages().len()).collect();
    }

    /// A feeder has changed a route to a view of which all clients but one are to hear. No other
    /// change of the route is under way.
    pub fn change(&mut self, route: u32, view: u32, but: Option<usize>, now: Instant) {
        let own = |(at, client): (usize, &Client)| {
            client.is_up && client.own.is_some() && Some(at) != but
        };
        let owns = self.clients.iter().enumerate().filter(|one| own(*one)).count();
        let chains = (0..self.chains.len()).filter(|chain| self.last_of(*chain).is_some()).count();
        let value = self.values.canonical(view);
        if let Some(changes) = &mut self.changes {
            changes.add(route, value, (owns + chains) as u32, now);
        }
    }

    /// Whether a change of a route is under way.
    pub fn is_changing(&self, route: u32) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.has(route))
    }

    /// How many changes are under way.
    pub fn changes_under_way(&self) -> usize {
        self.changes.as_ref().map_or(0, Changes::under_way)
    }

    /// Looks what all clients of a chain have heard by now.
    pub fn hear_changes(&mut self, now: Instant) {
        if self.changes.is_none() {
            return;
        }
        for chain in 0..self.chains.len() {
            let Some(last) = self.last_of(chain) else { continue };
            let passed = std::mem::replace(&mut self.passed[chain], last);
            let observer = self.clients.len() + chain;
            for at in passed..last {
                self.hear_message(observer, self.chains[chain].messages()[at], now);
            }
        }
    }

    /// Ends that, and returns how long each change took until the last client had heard it, in
    /// nanoseconds.
    pub fn end_changes(&mut self) -> Option<Histogram<u64>> {
        self.changes.take().map(|changes| changes.took_ns().clone())
    }

    /// How many messages the last client of a chain has had; none without a client.
    fn last_of(&self, chain: usize) -> Option<usize> {
        let is_on = |one: &&Client| one.is_up && one.chain == chain && one.own.is_none();
        let sound = self.clients.iter().filter(is_on).filter(|one| one.trouble.is_none());
        sound.map(|one| one.index).min()
    }

    fn hear_message(&mut self, observer: usize, message: u32, now: Instant) {
        let Some(changes) = &mut self.changes else { return };
        for run in self.store.runs(message) {
            for route in run.first..run.first + run.count {
                changes.hear(observer, route, run.value, now);
            }
        }
    }

    fn take(
        &mut self,
        client: usize,
        bytes: &[u8],
        part: &mut Vec<u8>,
        now: Instant,
    ) -> Result<(), String> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if part.is_empty() && self.skip(client, &mut rest, part, now) {
                continue;
            }
            let mut taken = rest;
            let Some(message) = framing::take(part, &mut taken, self.len_max)? else { break };
            self.handle(client, message, now)?;
            rest = &rest[rest.len() - taken.len()..];
            part.clear();
        }
        Ok(())
    }

    /// Skips what is expected of the next bytes; returns whether to try so again. Of a message that
    /// is not what was expected, what was skipped is put back.
    fn skip(&mut self, client: usize, rest: &mut &[u8], part: &mut Vec<u8>, now: Instant) -> bool {
        let one = &mut self.clients[client];
        let Some(own) = &mut one.own else {
            let chain = &self.chains[one.chain];
            let bytes = self.store.arena(chain.arena);
            let same = common(rest, &bytes[one.at..]);
            one.at += same;
            *rest = &rest[same..];
            if rest.is_empty() {
                return true;
            }
            self.advance(client);
            let one = &mut self.clients[client];
            let chain = &self.chains[one.chain];
            let start = chain.state(one.index).end;
            part.extend(&self.store.arena(chain.arena)[start..one.at]);
            one.at = start;
            return false;
        };
        let Some(last) = own.last else { return false };
        let Some(next) = self.store.expected(last, rest) else { return false };
        *rest = &rest[self.store.bytes(next).len()..];
        self.apply_own(client, next, now);
        true
    }

    fn handle(&mut self, client: usize, message: &[u8], now: Instant) -> Result<(), String> {
        match framing::kind(message) {
            framing::UPDATE => self.update(client, message, now),
            framing::OPEN => Err("it sends an OPEN within a session".into()),
            framing::NOTIFICATION => {
                let said = Notification::read(&message[HEADER_LEN..]);
                let said = said.map_or_else(|| "nothing".to_owned(), |said| said.to_string());
                self.clients[client].notified = Some(said);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn update(&mut self, client: usize, message: &[u8], now: Instant) -> Result<(), String> {
        let one = &self.clients[client];
        if one.own.is_none() {
            let chain = &self.chains[one.chain];
            if self.store.arena(chain.arena)[one.at..].starts_with(message) {
                self.clients[client].at += message.len();
                self.advance(client);
                return Ok(());
            }
        }
        let identified = self.store.identify(message, &mut self.values)?;
        let Identified::Message(number) = identified else { return Ok(()) };
        let one = &mut self.clients[client];
        if one.own.is_none() {
            let chain = &mut self.chains[one.chain];
            if one.at == chain.last().end {
                chain.push(number, message, &mut self.store, &mut self.values)?;
                one.at += message.len();
                self.advance(client);
                return Ok(());
            }
            self.diverge(client);
            if let Some(changes) = &mut self.changes {
                changes.observer_comes();
                let Client { chain, index, .. } = self.clients[client];
                for at in self.passed[chain]..index {
                    self.hear_message(client, self.chains[chain].messages()[at], now);
                }
                let gone = self.clients.len() + chain;
                if self.last_of(chain).is_none()
                    && let Some(changes) = &mut self.changes
                {
                    changes.observer_goes(gone, now);
                }
            }
        }
        self.store.keep(number, ASIDE, message)?;
        let last = self.clients[client].own.as_ref().and_then(|own| own.last);
        if let Some(last) = last {
            self.store.follow(last, number);
        }
        self.apply_own(client, number, now);
        Ok(())
    }

    fn apply_own(&mut self, client: usize, message: u32, now: Instant) {
        let one = &mut self.clients[client];
        let Some(own) = &mut one.own else { return };
        apply(&mut own.table, message, &self.store, &mut self.values);
        own.last = Some(message);
        let row = self.store.message(message);
        one.counts.updates += 1;
        one.counts.routes += u64::from(row.routes);
        one.counts.withdrawn += u64::from(row.withdrawn);
        if self.changes.is_some() {
            self.hear_message(client, message, now);
        }
    }

    /// Gives a client a table of its own, as its place in the chain is.
    fn diverge(&mut self, client: usize) {
        let one = &mut self.clients[client];
        if one.own.is_some() {
            return;
        }
        let chain = &self.chains[one.chain];
        let table = chain.replay(one.index, &self.store, &mut self.values);
        let last = one.index.checked_sub(1).map(|last| chain.messages()[last]);
        one.own = Some(Box::new(Own { table, last }));
        // What it had of a message that the others have gone on with comes as a whole.
        one.part.extend(&self.store.arena(chain.arena)[chain.state(one.index).end..one.at]);
    }

    /// Counts the whole messages of a chain that a client has come by.
    fn advance(&mut self, client: usize) {
        let one = &mut self.clients[client];
        if one.own.is_some() {
            return;
        }
        let chain = &self.chains[one.chain];
        let index = chain.whole(one.at, one.index);
        let (before, after) = (chain.state(one.index), chain.state(index));
        one.counts.updates += (index - one.index) as u64;
        one.counts.routes += after.routes - before.routes;
        one.counts.withdrawn += after.withdrawn - before.withdrawn;
        one.index = index;
    }

    /// Notes whether a client has what it is to have.
    fn settle(&mut self, client: usize, has_changed: bool, now: Instant) {
        let hash = self.hash(client);
        let one = &mut self.clients[client];
        if has_changed {
            one.changed = Some(now);
        }
        match one.expected == Some(hash) && one.is_up && one.trouble.is_none() {
            true => one.done = one.done.or(Some(now)),
            false => one.done = None,
        }
    }
}

/// How many bytes are the same at the beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    let len = one.len().min(other.len());
    let (one, other) = (&one[..len], &other[..len]);
    let chunks = one.chunks(CHUNK).zip(other.chunks(CHUNK));
    let whole = chunks.take_while(|(one, other)| one == other).count() * CHUNK;
    let start = whole.min(len);
    let behind = one[start..].iter().zip(&other[start..]);
    start + behind.take_while(|(one, other)| one == other).count()
}

/// Bytes that are compared at once.
const CHUNK: usize = 1024;
