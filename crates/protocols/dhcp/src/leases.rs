//! All leases of a server or relay: found by their clients, ended by time, never more than there
//! may be.
//!
//! ```text
//!  known: new --> Asked --accept--> Granted: offered --start--> Starting --acknowledged--> held
//!                   |                  |  not taken                |  not acknowledged       |
//!                   +------------------+---------------------------+-------------------------+--> gone
//! ```
//! A message that has to wait for the owner is kept with its lease, the last one of a client, and
//! is processed again from its beginning when the owner has answered: by then the lease is one step
//! further. So servers and relays have no states of their own.

mod holdings;

mod kept;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use protocol_kit::{Departure, Output, Secret, Time};
use tables::hash::Keyed;
use tables::tagged::Tagged;
use tables::wheel::Wheel;
use wire::MacAddr;

use crate::access::{Heard, Line, Said};
use crate::config::{Class, Config};
use crate::control::{Client, Command, Grant, LeaseId, Report, Why, Words};
use crate::counters::Counters;
use crate::lease::{Held, Holding, Lease, Note, Stage};
use crate::limits::{Limits, Over};
use crate::pool::Unusable;
use crate::pools::{OWNERS_MAX, Pools, Return};
use crate::prefix::Prefix;
use crate::record::NotRestored;

/// Why there is no such server or relay.
#[derive(Debug, thiserror::Error)]
pub enum NotMade {
    /// The pools are not what they should be.
    #[error("pools of DHCP: {0}")]
    Pools(#[from] Unusable),
    /// The memory for the most leases there may be is not to be had.
    #[error("memory for leases of DHCP: {0}")]
    Memory(#[from] io::Error),
    /// No leases, or more than there may be.
    #[error("leases of DHCP: at least 1 and at most {OWNERS_MAX}")]
    Leases,
    /// A relay has no servers, or too many.
    #[error("servers of a relay: at least 1 and at most {0}")]
    Servers(usize),
}

/// Leases, pools, and what all servers and relays do alike.
#[derive(Debug)]
pub struct Leases {
    pub(crate) config: Config,
    pub(crate) counters: Counters,
    pub(crate) pools: Pools,
    slots: Vec<Slot>,
    free: Vec<u32>,
    index: Tagged,
    key: Secret<Keyed>,
    lines: BTreeMap<Line, u16>,
    wheel: Wheel,
    /// Leases with a message that waits.
    waiting: u32,
    limits: Limits,
    outputs: VecDeque<Output<Report>>,
    is_v6: bool,
    /// The class of clients whose class is not there.
    default_class: Class,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    lease: Option<Lease>,
}

/// What comes of a command.
pub(crate) enum Next {
    /// Nothing.
    Nothing,
    /// The message that has waited is processed again.
    Process(Heard),
    /// The message that has waited is refused.
    Refuse(Heard),
}

impl Leases {
    /// None yet.
    pub(crate) fn new(config: Config, is_v6: bool) -> Result<Leases, NotMade> {
        if !(1..=OWNERS_MAX).contains(&config.leases_max) {
            return Err(NotMade::Leases);
        }
        let [released, declined] = config.quarantine;
        let pools = Pools::new(config.pools.clone(), released, declined)?;
        let limit = config.leases_max as usize;
        Ok(Leases {
            counters: Counters::default(),
            pools,
            slots: Vec::new(),
            free: Vec::new(),
            // The tags of keys that others choose collide as they like, not as others like.
            index: Tagged::with_capacity(limit)?,
            key: Secret(Keyed::new([config.seed.0, u64::from(is_v6)])),
            lines: BTreeMap::new(),
            wheel: Wheel::new(limit, STEP_BITS),
            waiting: 0,
            limits: Limits::new(config.rates, config.seed),
            outputs: VecDeque::new(),
            is_v6,
            default_class: Class::new(DEFAULT_VALID),
            config,
        })
    }

    /// Whether a message may come in, by the rates and by what waits to be polled.
    pub(crate) fn admit(&mut self, line: Line, mac: MacAddr, now: Time) -> bool {
        let counter = match self.limits.admit(line, mac, now) {
            _ if self.outputs.len() >= OUTPUTS_MAX => &mut self.counters.busy,
            Ok(()) => return true,
            Err(Over::Line) => &mut self.counters.rate_line,
            Err(Over::Mac) => &mut self.counters.rate_mac,
            Err(Over::All) => &mut self.counters.rate_all,
        };
        *counter += 1;
        false
    }

    /// Sends a message to a line.
    pub(crate) fn say(&mut self, said: Said) {
        self.counters.sent += 1;
        self.report(Report::Said(said));
    }

    /// Tells the owner something.
    pub(crate) fn report(&mut self, report: Report) {
        self.outputs.push_back(Output::Report(report));
    }

    /// Wants something of the network.
    pub(crate) fn depart(&mut self, departure: Departure) {
        self.outputs.push_back(Output::Departure(departure));
    }

    /// The next output; time is judged when there is none.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if let Some(turn) = self.pools.poll(now) {
                return Some(Output::Report(Report::Pool(turn)));
            }
            let number = self.wheel.due(now.0)?;
            self.expire(number, now);
        }
    }

    /// When there is something to do.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if !self.outputs.is_empty() {
            return Some(Time::ZERO);
        }
        self.wheel.deadline().map(Time).into_iter().chain(self.pools.deadline()).min()
    }

    /// The number of leases, requests for one among them.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The lease of a number.
    pub(crate) fn lease(&self, number: u32) -> Option<&Lease> {
        self.slots.get(number as usize)?.lease.as_ref()
    }

    /// What a relay remembers of a lease.
    pub(crate) fn note_mut(&mut self, number: u32) -> Option<&mut Note> {
        self.slots.get_mut(number as usize)?.lease.as_mut().map(|lease| &mut lease.note)
    }

    /// The identifier of a number that is in use.
    pub(crate) fn id(&self, number: u32) -> LeaseId {
        let generation = self.slots.get(number as usize).map_or(0, |slot| slot.generation);
        LeaseId { number, generation }
    }

    /// The number of a lease that is still there.
    pub(crate) fn number(&self, id: LeaseId) -> Option<u32> {
        let slot = self.slots.get(id.number as usize)?;
        (slot.generation == id.generation && slot.lease.is_some()).then_some(id.number)
    }

    /// The lease of a client.
    pub(crate) fn find(&self, client: &Client) -> Option<u32> {
        self.index.find(self.hash(client), |number| {
            self.lease(number).is_some_and(|lease| lease.client == *client)
        })
    }

    /// The class of a lease.
    pub(crate) fn class(&self, number: u32) -> &Class {
        let grant = self.lease(number).and_then(|lease| lease.grant);
        grant.map_or(&self.default_class, |grant| self.class_of(grant.class))
    }

    /// A class, or the default one.
    pub(crate) fn class_of(&self, class: u16) -> &Class {
        self.config.classes.get(usize::from(class)).unwrap_or(&self.default_class)
    }

    /// The lease of a client that has the next turn, with its message; `None` when the message
    /// waits for the owner: that the client is accepted, or that a session is acknowledged.
    pub(crate) fn known(
        &mut self,
        client: Client,
        words: impl FnOnce() -> Words,
        heard: Heard,
        now: Time,
    ) -> Option<(u32, Heard)> {
        match self.find(&client) {
            None => {
                let words = words();
                self.open(client, words, heard, now);
                None
            }
            Some(number) => match self.lease(number)?.stage {
                Stage::Granted => Some((number, heard)),
                // The last message of a client is the one that it waits for; but what has begun to
                // start is not undone by the client's beginning anew.
                Stage::Asked => {
                    self.wait(number, heard);
                    None
                }
                Stage::Starting => {
                    self.counters.superseded += 1;
                    None
                }
            },
        }
    }

    /// Asks the owner for a client that is not known.
    fn open(&mut self, client: Client, words: Words, heard: Heard, now: Time) {
        if self.waiting >= self.config.waiting_max {
            self.counters.busy += 1;
            return;
        }
        let until = now.after(self.config.patience.answer);
        let Ok(number) = self.insert(client.clone(), Stage::Asked, until) else { return };
        self.wait(number, heard);
        self.settle(number);
        let id = self.id(number);
        self.report(Report::Wanted(id, client, words));
    }

    /// Takes a number for a client.
    fn insert(&mut self, client: Client, stage: Stage, until: Time) -> Result<u32, NotRestored> {
        let on_line = self.lines.get(&client.line).copied().unwrap_or(0);
        if on_line >= self.config.leases_per_line_max {
            self.counters.line_full += 1;
            return Err(NotRestored::Full);
        }
        let next = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        let is_room = next < self.config.leases_max;
        if !is_room || self.index.insert(self.hash(&client), next).is_err() {
            self.counters.full += 1;
            return Err(NotRestored::Full);
        }
        if self.free.pop().is_none() {
            self.slots.push(Slot::default());
        }
        self.lines.insert(client.line, on_line + 1);
        self.slots[next as usize].lease = Some(Lease {
            client,
            grant: None,
            holdings: Vec::new(),
            waiting: None,
            stage,
            until,
            note: Note::default(),
        });
        Ok(next)
    }

    /// Keeps a message with its lease, in place of an earlier one.
    pub(crate) fn wait(&mut self, number: u32, heard: Heard) {
        let lease = self.slots.get_mut(number as usize).and_then(|slot| slot.lease.as_mut());
        let Some(lease) = lease else { return };
        match lease.waiting.replace(Box::new(heard)) {
            None => self.waiting += 1,
            Some(_) => self.counters.superseded += 1,
        }
    }

    /// Does what the owner says.
    pub(crate) fn obey(&mut self, command: Command, now: Time) -> Next {
        match command {
            Command::Accept(id, grant) => self.accept(id, grant, now),
            Command::Reject(id) => {
                let Some(number) = self.number_at(id, Stage::Asked) else { return Next::Nothing };
                self.counters.rejected += 1;
                let heard = self.take_waiting(number);
                self.end(number, Return::Unused, Why::Rejected, now);
                heard.map_or(Next::Nothing, Next::Refuse)
            }
            Command::Acknowledged(id) => self.acknowledge(id, now),
            Command::End(id) => {
                if let Some(number) = self.number(id) {
                    self.end(number, Return::Released, Why::Ended, now);
                }
                Next::Nothing
            }
            // They are the machine's.
            Command::Heard(_) | Command::Name(..) => Next::Nothing,
        }
    }

    fn accept(&mut self, id: LeaseId, grant: Grant, now: Time) -> Next {
        let Some(number) = self.number_at(id, Stage::Asked) else { return Next::Nothing };
        let until = now.after(self.config.patience.offer);
        if let Some(lease) = &mut self.slots[number as usize].lease {
            (lease.grant, lease.stage, lease.until) = (Some(grant), Stage::Granted, until);
        }
        self.settle(number);
        self.take_waiting(number).map_or(Next::Nothing, Next::Process)
    }

    fn acknowledge(&mut self, id: LeaseId, now: Time) -> Next {
        let Some(number) = self.number_at(id, Stage::Starting) else { return Next::Nothing };
        if let Some(lease) = &mut self.slots[number as usize].lease {
            lease.stage = Stage::Granted;
            for holding in lease.holdings.iter_mut().filter(|one| one.stage == Held::Starting) {
                holding.stage = Held::Firm;
                holding.until = now.after(seconds(holding.valid_s));
            }
        }
        self.settle(number);
        self.take_waiting(number).map_or(Next::Nothing, Next::Process)
    }

    /// Takes things from a client; its lease ends with the last one.
    pub(crate) fn release(
        &mut self,
        number: u32,
        is_gone: impl Fn(&Holding) -> bool,
        (how, why): (Return, Why),
        now: Time,
    ) {
        let Some(lease) = self.slots.get_mut(number as usize).and_then(|slot| slot.lease.as_mut())
        else {
            return;
        };
        let session = lease.grant.map(|grant| grant.session);
        let mut gone = Vec::new();
        lease.holdings.retain(|one| {
            let is_gone = is_gone(one);
            if is_gone {
                gone.push(*one);
            }
            !is_gone
        });
        let is_last = lease.holdings.is_empty();
        if how == Return::Declined {
            let taken = gone.iter().filter(|one| one.stage != Held::Offered);
            self.counters.declined += taken.count() as u64;
        }
        for one in &gone {
            let how = if one.stage == Held::Offered { Return::Unused } else { how };
            self.pools.give_back(one.prefix, number, how, now);
        }
        let firm = gone.iter().filter(|one| one.stage != Held::Offered);
        let prefixes: Vec<Prefix> = firm.map(|one| one.prefix).collect();
        if is_last {
            self.remove(number, session, prefixes, why);
        } else {
            if !prefixes.is_empty() {
                let lease = self.id(number);
                self.report(Report::Gone { lease, session, prefixes, why, is_last });
            }
            self.settle(number);
        }
    }

    /// A client has taken another server's offer: what it was offered here is free again.
    pub(crate) fn refuse_offer(&mut self, client: &Client, now: Time) {
        if let Some(number) = self.find(client) {
            let how = (Return::Unused, Why::Elsewhere);
            self.release(number, |one| one.stage == Held::Offered, how, now);
        }
    }

    /// The class by which somebody is given options alone: that of its lease, or else the one for
    /// all; counted where there is none.
    pub(crate) fn stateless(&mut self, client: Option<&Client>) -> Option<u16> {
        let known = client.and_then(|client| self.find(client));
        let grant = known.and_then(|number| self.lease(number)?.grant);
        let class = grant.map(|grant| grant.class).or(self.config.stateless_class);
        self.counters.unknown += u64::from(class.is_none());
        class
    }

    /// Ends a lease.
    pub(crate) fn end(&mut self, number: u32, how: Return, why: Why, now: Time) {
        self.release(number, |_| true, (how, why), now);
    }

    fn expire(&mut self, number: u32, now: Time) {
        let Some(lease) = self.lease(number) else { return };
        match lease.stage {
            Stage::Asked => {
                self.counters.unanswered += 1;
                self.end(number, Return::Unused, Why::Unanswered, now);
            }
            Stage::Starting => {
                self.counters.unacknowledged += 1;
                drop(self.take_waiting(number));
                if let Some(lease) = &mut self.slots[number as usize].lease {
                    lease.stage = Stage::Granted;
                }
                let is_gone = |one: &Holding| one.stage == Held::Starting;
                self.release(number, is_gone, (Return::Released, Why::Unacknowledged), now);
            }
            Stage::Granted => {
                let is_held = lease.holdings.iter().any(|one| one.stage == Held::Firm);
                let why = if is_held { Why::Expired } else { Why::NotTaken };
                let is_gone = |one: &Holding| one.until <= now;
                self.release(number, is_gone, (Return::Released, why), now);
            }
        }
    }

    /// Forgets a lease that holds nothing any more.
    fn remove(&mut self, number: u32, session: Option<u64>, prefixes: Vec<Prefix>, why: Why) {
        drop(self.take_waiting(number));
        let lease = self.id(number);
        let Some(old) = self.slots[number as usize].lease.take() else { return };
        self.slots[number as usize].generation = lease.generation.wrapping_add(1);
        self.index.remove(self.hash(&old.client), number);
        if let Some(count) = self.lines.get_mut(&old.client.line) {
            *count -= 1;
            if *count == 0 {
                self.lines.remove(&old.client.line);
            }
        }
        self.wheel.cancel(number);
        self.free.push(number);
        self.report(Report::Gone { lease, session, prefixes, why, is_last: true });
    }

    fn take_waiting(&mut self, number: u32) -> Option<Heard> {
        let lease = self.slots.get_mut(number as usize)?.lease.as_mut()?;
        let heard = lease.waiting.take()?;
        self.waiting -= 1;
        Some(*heard)
    }

    fn number_at(&self, id: LeaseId, stage: Stage) -> Option<u32> {
        let number = self.number(id)?;
        self.lease(number).is_some_and(|lease| lease.stage == stage).then_some(number)
    }

    fn settle(&mut self, number: u32) {
        if let Some(lease) = self.lease(number) {
            let deadline = lease.deadline();
            self.wheel.set(number, deadline.0);
        }
    }

    fn hash(&self, client: &Client) -> u64 {
        let bytes = client.id.bytes();
        let [a, b, c, d, e, f] = client.mac.0;
        let mac = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let start = self.key.0.of4(u64::from(client.line.0), mac, bytes.len() as u64, 0);
        bytes.chunks(8).fold(start, |hash, part| {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.key.0.of2(hash, u64::from_be_bytes(word))
        })
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}

/// A step of the timers: 134 ms.
const STEP_BITS: u32 = 27;

/// Outputs that may wait to be polled before messages of clients are dropped.
const OUTPUTS_MAX: usize = 1 << 16;

/// For how long a lease is valid where the class is not there.
const DEFAULT_VALID: Duration = Duration::from_secs(600);
