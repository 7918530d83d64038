//! When lists are read: at first, and whenever messages may be missing.

use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};

use crate::ledger::{Counters, Effect, Ledger, Report};
use crate::message::{Said, Unread, read};
use crate::wire::{ERROR, Message, message, split_message, u32_at};

/// What is followed, and for how much there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What is followed.
    pub follows: Follows,
    /// Most routes.
    pub routes_max: usize,
    /// Most next hops and groups.
    pub next_hops_max: usize,
    /// Most neighbours that an operator has named.
    pub neighbours_max: usize,
    /// Most addresses.
    pub addresses_max: usize,
    /// Reports that may wait; while there are more, nothing is read.
    pub waiting_max: usize,
}

/// What of the kernel's is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follows {
    /// Addresses.
    pub addresses: bool,
    /// Neighbours.
    pub neighbours: bool,
    /// Routes, next hops and groups.
    pub routes: bool,
}

/// The machine. Its memory follows from its configuration and from how many bytes a driver hands
/// over at once.
#[derive(Debug)]
pub struct Netlink {
    config: Config,
    ledger: Ledger,
    phase: Phase,
    /// When everything is read anew.
    read_at: Option<Time>,
    /// The number of the question.
    sequence: u32,
    /// Whether the socket is read.
    is_read: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The socket is to be opened at this time.
    Closed(Time),
    /// Nothing is asked.
    Idle,
    /// A list is asked for, by its place, and was heard of last at a time.
    Asking { list: usize, is_asked: bool, is_torn: bool, heard: Time },
    /// The socket hears nothing any more, and is to be closed.
    Deaf,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            follows: Follows { addresses: true, neighbours: true, routes: true },
            routes_max: 2_000_000,
            next_hops_max: 65_536,
            neighbours_max: 65_536,
            addresses_max: 4_096,
            waiting_max: 4_096,
        }
    }
}

impl Machine for Netlink {
    /// There is nothing to say to it.
    type Command = std::convert::Infallible;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Self::Command>) {
        let Input::Arrival(arrival) = input;
        match arrival {
            Arrival::Netlink { socket: SOCKET, bytes } => self.receive(bytes, now),
            Arrival::Overrun { socket: SOCKET } => {
                self.ledger.counters.overruns += 1;
                match &mut self.phase {
                    Phase::Asking { is_torn, .. } => *is_torn = true,
                    _ => self.read_by(now.after(PAUSE)),
                }
            }
            Arrival::Failed { socket: SOCKET } => self.phase = Phase::Closed(now.after(AGAIN)),
            _ => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if let Some(departure) = self.depart(now) {
            return Some(Output::Departure(departure));
        }
        self.ledger.reports.pop_front().map(Output::Report)
    }

    fn deadline(&self) -> Option<Time> {
        if !self.ledger.reports.is_empty() {
            return Some(Time::ZERO);
        }
        match self.phase {
            Phase::Closed(until) => Some(until),
            Phase::Deaf | Phase::Asking { is_asked: false, .. } => Some(Time::ZERO),
            Phase::Asking { heard, .. } => Some(heard.after(SILENCE_MAX)),
            Phase::Idle => self.read_at,
        }
    }
}

impl Netlink {
    /// Creates the machine.
    pub fn new(config: Config) -> Netlink {
        let Config { routes_max, next_hops_max, neighbours_max, addresses_max, .. } = config;
        Netlink {
            config,
            ledger: Ledger::new([routes_max, next_hops_max, neighbours_max, addresses_max]),
            phase: Phase::Closed(Time::ZERO),
            read_at: None,
            sequence: 0,
            is_read: true,
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.ledger.counters
    }

    /// Returns how many routes, next hops with groups, named neighbours and addresses hold.
    pub fn held(&self) -> [usize; 4] {
        self.ledger.counts()
    }

    /// Returns whether there is room for everything that was told since lists are read.
    pub fn has_room(&self) -> bool {
        self.ledger.has_room()
    }

    /// Returns the next thing that it wants of the network, and no report: for somebody who has no
    /// room for one. It stops to be read when too many wait.
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        match self.phase {
            Phase::Closed(until) if until <= now => {
                self.phase = Phase::Idle;
                (self.read_at, self.is_read) = (Some(now), true);
                let groups = self.config.follows.groups();
                return Some(Departure::Open {
                    socket: SOCKET,
                    opening: Opening::Netlink { groups },
                });
            }
            Phase::Deaf => {
                self.phase = Phase::Closed(now.after(AGAIN));
                return Some(Departure::Close { socket: SOCKET });
            }
            Phase::Asking { heard, is_asked: true, .. }
                if self.is_read && heard.after(SILENCE_MAX) <= now =>
            {
                self.ledger.counters.torn += 1;
                self.phase = Phase::Deaf;
                return self.depart(now);
            }
            Phase::Idle if self.read_at.is_some_and(|at| at <= now) => {
                self.read_at = None;
                self.ledger.age();
                self.ledger.counters.readings += 1;
                self.phase = Phase::Asking { list: 0, is_asked: false, is_torn: false, heard: now };
                return self.depart(now);
            }
            Phase::Asking { list, is_asked: false, is_torn, .. } => {
                self.phase = Phase::Asking { list, is_asked: true, is_torn, heard: now };
                match self.config.follows.lists().nth(list) {
                    Some((kind, family, len)) => {
                        self.sequence = self.sequence.wrapping_add(1).max(1);
                        let mut body = [0; REQUEST_MAX];
                        body[0] = family;
                        let bytes = message(kind, DUMP, self.sequence, &body[..len]);
                        return Some(Departure::Netlink { socket: SOCKET, bytes });
                    }
                    None => self.finish(is_torn, now),
                }
            }
            _ => {}
        }
        let waiting = self.ledger.reports.len();
        let is_wanted = match self.is_read {
            true => waiting <= self.config.waiting_max,
            false => waiting <= self.config.waiting_max / 2,
        };
        let is_open = !matches!(self.phase, Phase::Closed(_) | Phase::Deaf);
        if !is_open || is_wanted == self.is_read {
            return None;
        }
        self.is_read = is_wanted;
        if let Phase::Asking { heard, .. } = &mut self.phase {
            *heard = now;
        }
        Some(Departure::Read { socket: SOCKET, is_wanted })
    }

    /// All lists were read.
    fn finish(&mut self, is_torn: bool, now: Time) {
        self.phase = Phase::Idle;
        if is_torn {
            self.ledger.counters.torn += 1;
            self.read_by(now.after(PAUSE));
        } else {
            self.ledger.sweep();
            self.look_for_room(now);
        }
    }

    /// Everything is read anew, but not at once: what makes it necessary comes in swarms.
    fn read_by(&mut self, at: Time) {
        self.read_at = Some(self.read_at.map_or(at, |before| before.min(at)));
    }

    /// What was refused is read anew, after a while: whatever is full stays so, mostly.
    fn look_for_room(&mut self, now: Time) {
        if self.ledger.has_made_room() {
            self.read_by(now.after(FULL_PAUSE));
        }
    }

    fn receive(&mut self, mut bytes: &[u8], now: Time) {
        while !bytes.is_empty() {
            let Some(message) = split_message(&mut bytes) else {
                self.ledger.counters.malformed += 1;
                // What else was in it nobody knows.
                return self.read_by(now.after(PAUSE));
            };
            self.ledger.counters.messages += 1;
            self.take(message, now);
        }
    }

    fn take(&mut self, message: Message<'_>, now: Time) {
        let is_answer = message.sequence == self.sequence;
        if let Phase::Asking { is_torn, heard, is_asked, list } = &mut self.phase
            && is_answer
        {
            *heard = now;
            *is_torn |= message.flags & INTERRUPTED != 0;
            let is_failed = message.kind == ERROR && u32_at(message.body, 0) != Some(0);
            // A kernel without numbered next hops has no list of them.
            let is_missing = u32_at(message.body, 0) == Some(NOT_SUPPORTED);
            if message.kind == DONE || is_failed {
                *is_torn |= is_failed && !is_missing;
                (*list, *is_asked) = (*list + 1, false);
                return;
            }
        }
        if matches!(message.kind, DONE | ERROR | NOTHING) {
            return;
        }
        let said = match read(message) {
            Ok(said) if self.config.follows.has(&said) => said,
            Ok(_) | Err(Unread::Other) => return self.ledger.counters.other += 1,
            Err(Unread::Unsupported) => return self.ledger.counters.unsupported += 1,
            Err(Unread::Malformed) => return self.ledger.counters.malformed += 1,
        };
        let effect = self.ledger.take(said);
        if effect == Effect::MayHaveLostRoutes && self.config.follows.routes {
            self.read_by(now.after(PAUSE));
        }
        self.look_for_room(now);
    }
}

impl Follows {
    /// The groups of netlink that tell of it, as bits.
    fn groups(self) -> u32 {
        let of = |is_followed: bool, groups: u32| if is_followed { groups } else { 0 };
        of(self.addresses, ADDRESSES)
            | of(self.neighbours, NEIGHBOURS)
            | of(self.routes, ROUTES | ADDRESSES | LINKS)
    }

    /// The lists that tell all of it: the kind of the question, the family, and the bytes of its
    /// fixed part.
    fn lists(self) -> impl Iterator<Item = (u16, u8, usize)> {
        let all = [
            (self.addresses, (GET_ADDRESS, ANY, 8)),
            (self.neighbours, (GET_NEIGHBOUR, ANY, 12)),
            (self.routes, (GET_NEXT_HOP, ANY, 8)),
            (self.routes, (GET_ROUTE, INET, 12)),
            (self.routes, (GET_ROUTE, INET6, 12)),
        ];
        all.into_iter().filter_map(|(is_followed, list)| is_followed.then_some(list))
    }

    /// Whether something said belongs to it.
    fn has(self, said: &Said) -> bool {
        match said {
            Said::Neighbour { .. } => self.neighbours,
            // An address that goes takes routes with it.
            Said::Address { is_there, .. } => self.addresses || self.routes && !is_there,
            _ => self.routes,
        }
    }
}

const SOCKET: Socket = Socket(0);

/// Time after which a socket that could not be opened is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Time before everything is read anew.
const PAUSE: Duration = Duration::from_millis(200);

/// The same where there is room for what was refused.
const FULL_PAUSE: Duration = Duration::from_secs(10);

/// A list that is silent for so long never ends.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Kinds of messages (`linux/netlink.h`, `linux/rtnetlink.h`).
const NOTHING: u16 = 1;
const DONE: u16 = 3;
const GET_ADDRESS: u16 = 22;
const GET_ROUTE: u16 = 26;
const GET_NEIGHBOUR: u16 = 30;
const GET_NEXT_HOP: u16 = 106;

/// The flags of a question for a list: `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;

/// The flag of a list that has changed while it was read.
const INTERRUPTED: u16 = 0x10;

/// `-EOPNOTSUPP`.
const NOT_SUPPORTED: u32 = -95_i32 as u32;

/// Bytes of the longest question.
const REQUEST_MAX: usize = 12;

/// Families of addresses.
const ANY: u8 = 0;
const INET: u8 = 2;
const INET6: u8 = 10;

/// Groups, as bits.
const LINKS: u32 = 0x1;
const NEIGHBOURS: u32 = 0x4;
const ADDRESSES: u32 = 0x10 | 0x100;
/// Of both families, and numbered next hops.
const ROUTES: u32 = 0x40 | 0x400 | 1 << 31;
