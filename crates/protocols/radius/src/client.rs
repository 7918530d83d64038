//! The client: requests, each with exactly one answer, to the first of its servers that gives one.
//!
//! ```text
//!  Ask --> waiting --> on its way to a server: sent, repeated (RFC 5080) --> Answer
//!             ^               | all tries are used
//!             +---------------+  the next server, with another identifier; none is left: TimedOut
//! ```
//! A request keeps identifier, authenticator and bytes while it is repeated. When a server is found
//! dead, what is on its way to it goes to another one at once, if one is alive.

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::{
    Arrival, Content, Departure, Input, Machine, Neighbour, Output, Random, Socket, Time, Trace,
};
use tables::wheel::Wheel;

use crate::config::{Config, Order, Unusable, Wall};
use crate::control::{Answer, Command, Refusal, Report, Request};
use crate::packet::{Code, Packet};
use crate::pending::{Pending, Wants, Way, jittered, write};
use crate::redact::redact;
use crate::seal::{self, Forged, Unforeseen};
use crate::servers::{Known, State, View};
use crate::sockets::Sockets;

/// The machine of a client. Its memory follows from its configuration: a request has at most twice
/// the bytes of a packet, and an answer that was not polled yet those of one.
pub struct Client {
    servers: Vec<Known>,
    order: Order,
    patience: Duration,
    requests_max: usize,
    wall: Wall,
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    /// A timer for each slot, one for each server, and one for sockets that have failed.
    wheel: Wheel,
    sockets: Sockets,
    unforeseen: Unforeseen,
    random: Random,
    outputs: VecDeque<Output<Report>>,
    /// The server whose turn it is.
    turn: usize,
    refused: u64,
    /// Whether something may have become possible since the last look at what waits.
    is_restless: bool,
}

impl Machine for Client {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(Command::Ask { token, request }) => self.ask(token, request, now),
            Input::Command(Command::SetWall(wall)) => self.wall = wall,
            Input::Arrival(Arrival::Datagram { socket, from, bytes, .. }) => {
                let Some(server) = self.sockets.server(socket) else { return };
                if from == self.servers[server].config.address {
                    self.receive(server, socket, bytes, now);
                } else {
                    self.servers[server].counters.stranger += 1;
                }
            }
            Input::Arrival(Arrival::Failed { socket }) => {
                self.sockets.fail(socket);
                self.wheel.set(self.retry_timer(), now.after(RETRY).0);
            }
            Input::Arrival(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        loop {
            if let Some(departure) = self.sockets.next() {
                return Some(Output::Departure(departure));
            }
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if let Some(timer) = self.wheel.due(now.0) {
                self.expire(timer, now);
            } else if !self.dispatch(now) {
                return None;
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let is_waiting = !self.outputs.is_empty() || self.sockets.is_due() || self.is_restless;
        if is_waiting { Some(Time::ZERO) } else { self.wheel.deadline().map(Time) }
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.servers.iter().map(|server| server.neighbour(now)).collect()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(Trace { protocol: "radius", content: Content::Redacted(redact) })
    }
}

impl Client {
    /// Creates a client.
    ///
    /// # Errors
    /// What of the configuration cannot be used.
    pub fn new(config: &Config) -> Result<Client, Unusable> {
        config.check()?;
        let servers = config.servers.len();
        // A request of somebody, or one of Status-Server to each.
        let slots = config.requests_max as usize + servers;
        let unforeseen = Unforeseen::new(config.key);
        Ok(Client {
            servers: config.servers.iter().cloned().map(Known::new).collect(),
            order: config.order,
            patience: config.patience,
            requests_max: config.requests_max as usize,
            wall: config.wall,
            slots: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            wheel: Wheel::new(slots + servers + 1, STEP_BITS),
            sockets: Sockets::new(config),
            random: Random::new(unforeseen.seed()),
            unforeseen,
            outputs: VecDeque::new(),
            turn: 0,
            refused: 0,
            is_restless: false,
        })
    }

    /// Returns what a person sees of each server.
    pub fn views(&self) -> Vec<View> {
        self.servers.iter().map(Known::view).collect()
    }

    /// Returns how many requests wait or are on their way; those of Status-Server are none.
    pub fn pending(&self) -> usize {
        let probes = self.servers.iter().filter_map(Known::status).count();
        self.slots.len() - self.free.len() - probes
    }

    /// Returns how many requests were refused because of a limit.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn ask(&mut self, token: u64, request: Request, now: Time) {
        let refusal = if self.pending() >= self.requests_max {
            Some(Refusal::Full)
        } else {
            // Whether it can be written depends on nothing that is not known yet.
            let server = &self.servers[0].config;
            let written = write(&request, 0, &[0; 16], &server.secret, 0);
            written.err().map(|_| Refusal::Unwritable)
        };
        if let Some(why) = refusal {
            self.refused += 1;
            self.say(Report::Answer { token, answer: Answer::Refused(why) });
            return;
        }
        let end = now.after(self.patience);
        let wants = Wants::Ask { token, request };
        let slot = self.insert(Pending { wants, end, tried: 0, way: None });
        self.wheel.set(slot, end.0);
        if self.waiting.len() > 2 * self.requests_max {
            // Those that have ended while they waited leave when they would be sent.
            let slots = &self.slots;
            let waits = |it: &Pending| it.way.is_none();
            self.waiting.retain(|slot| slots[*slot as usize].as_ref().is_some_and(waits));
            let mut seen = vec![false; slots.len()];
            self.waiting.retain(|slot| !std::mem::replace(&mut seen[*slot as usize], true));
        }
        self.waiting.push_back(slot);
        self.is_restless = true;
    }

    fn insert(&mut self, pending: Pending) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(pending);
                slot
            }
            None => {
                self.slots.push(Some(pending));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Sends what waits and can leave; true if something did.
    fn dispatch(&mut self, now: Time) -> bool {
        if !std::mem::take(&mut self.is_restless) {
            return false;
        }
        let mut has_sent = false;
        while let Some(&slot) = self.waiting.front() {
            // One that has ended while it waited.
            let Some(pending) = &self.slots[slot as usize] else {
                self.waiting.pop_front();
                continue;
            };
            if pending.way.is_some() {
                self.waiting.pop_front();
                continue;
            }
            let tried = pending.tried;
            if tried != 0 && !self.has_other(tried) {
                self.waiting.pop_front();
                self.end(slot, Answer::TimedOut);
                has_sent = true;
                continue;
            }
            let Some(server) = self.choose(tried) else { break };
            let (slot, place) = match self.servers[server].state {
                State::ToBeTried => self.youngest(server).unwrap_or((slot, 0)),
                _ => (slot, 0),
            };
            let Some(at) = self.sockets.take(server, slot) else { break };
            self.waiting.remove(place);
            self.begin(slot, server, at, now);
            has_sent = true;
        }
        has_sent
    }

    /// The request that can wait longest for a server of which nobody knows whether it is there,
    /// and its place among those that wait. The oldest one would end before it could tell.
    fn youngest(&self, server: usize) -> Option<(u32, usize)> {
        let fits = |(_, slot): &(usize, &u32)| {
            let pending = self.slots[**slot as usize].as_ref();
            pending.is_some_and(|it| it.way.is_none() && it.tried >> server & 1 == 0)
        };
        let found = self.waiting.iter().enumerate().rev().find(fits);
        found.map(|(place, slot)| (*slot, place))
    }

    /// Whether a server that was not tried may answer.
    fn has_other(&self, tried: u32) -> bool {
        let is_other =
            |(number, server): (usize, &Known)| tried >> number & 1 == 0 && server.takes();
        self.servers.iter().enumerate().any(is_other)
    }

    /// The server that a request goes to now; `None` while it has to wait.
    fn choose(&mut self, tried: u32) -> Option<usize> {
        let count = self.servers.len();
        let first = if self.order == Order::InTurn { self.turn } else { 0 };
        let may = |number: &usize| tried >> *number & 1 == 0 && self.servers[*number].takes();
        let chosen = (first..first + count).map(|number| number % count).find(may)?;
        self.turn = (chosen + 1) % count;
        Some(chosen)
    }

    /// Sends a request to a server for the first time.
    fn begin(&mut self, slot: u32, server: usize, at: (u32, u8), now: Time) {
        let authenticator = self.unforeseen.draw();
        let Some(pending) = &mut self.slots[slot as usize] else { return };
        let known = &mut self.servers[server];
        let secret = &known.config.secret;
        let written = pending.wants.write(at.1, &authenticator, secret, self.wall.seconds(now));
        let Ok(bytes) = written else {
            self.sockets.give_back(at);
            self.end(slot, Answer::Refused(Refusal::Unwritable));
            return;
        };
        if known.state == State::ToBeTried {
            known.probe = Some(slot);
            known.enter(State::Tried, now);
        }
        known.ask(now);
        let timeout = jittered(known.config.timeout, &mut self.random);
        // The authenticator of an accounting request is made of its bytes.
        let own = Packet::parse(&bytes).map_or(authenticator, |packet| *packet.authenticator);
        let (since, sent) = (now, now);
        pending.way =
            Some(Way { server, at, authenticator: own, bytes, tries: 1, timeout, since, sent });
        let due = now.after(timeout).min(pending.end);
        self.wheel.set(slot, due.0);
        self.send(slot);
    }

    /// Sends what is on its way once more, the same bytes.
    fn send(&mut self, slot: u32) {
        let Some(way) = self.slots[slot as usize].as_ref().and_then(|it| it.way.as_ref()) else {
            return;
        };
        let config = &self.servers[way.server].config;
        if self.sockets.is_open(way.at.0) {
            self.outputs.push_back(Output::Departure(Departure::Datagram {
                socket: Socket(way.at.0),
                interface: None,
                via: None,
                from: config.local,
                to: config.address,
                ttl: TTL,
                bytes: way.bytes.clone(),
            }));
        }
    }

    fn expire(&mut self, timer: u32, now: Time) {
        let slots = self.requests_max + self.servers.len();
        if (timer as usize) < slots {
            self.expire_slot(timer, now);
        } else if let Some(server) =
            Some(timer as usize - slots).filter(|it| *it < self.servers.len())
        {
            self.try_again(server, now);
        } else {
            self.sockets.retry();
            self.is_restless = true;
        }
    }

    /// Time has passed for a request: it is repeated, goes elsewhere, or ends.
    fn expire_slot(&mut self, slot: u32, now: Time) {
        let Some(pending) = self.slots[slot as usize].as_mut() else { return };
        let Some(way) = &mut pending.way else {
            self.end(slot, Answer::TimedOut);
            return;
        };
        let known = &mut self.servers[way.server];
        let config = &known.config;
        if now < pending.end && way.tries < config.tries {
            way.tries += 1;
            way.sent = now;
            let doubled = (way.timeout * 2).min(config.timeout_max);
            way.timeout = jittered(doubled, &mut self.random);
            let due = now.after(way.timeout).min(pending.end);
            known.counters.repeated += 1;
            self.wheel.set(slot, due.0);
            self.send(slot);
            return;
        }
        let (server, is_over, was_up) = (way.server, now >= pending.end, known.state == State::Up);
        let had_time = way.had_time(config.tries, self.patience, now)
            || known.was_silent_for(self.patience / 2, now);
        if known.miss(slot, had_time, now) {
            self.rest(server, now);
            if was_up {
                self.say(Report::Server { server, is_up: false });
            }
            self.leave(server);
        }
        self.withdraw(slot);
        if is_over {
            self.end(slot, Answer::TimedOut);
        }
    }

    /// Leaves a dead server alone for its time.
    fn rest(&mut self, server: usize, now: Time) {
        let timer = (self.requests_max + self.servers.len() + server) as u32;
        self.wheel.set(timer, now.after(self.servers[server].config.dead_time).0);
    }

    /// Lets requests that are on their way to a dead server go to another one, if one is alive.
    fn leave(&mut self, server: usize) {
        for slot in 0..self.slots.len() as u32 {
            let pending = self.slots[slot as usize].as_ref();
            let is_there = |it: &&Pending| it.way.as_ref().is_some_and(|way| way.server == server);
            if let Some(pending) = pending.filter(is_there)
                && self.has_other(pending.tried | 1 << server)
            {
                self.withdraw(slot);
            }
        }
    }

    /// Takes a request from the server that it was sent to; it waits in front of all others.
    fn withdraw(&mut self, slot: u32) {
        let Some(pending) = &mut self.slots[slot as usize] else { return };
        let Some(way) = pending.way.take() else { return };
        self.is_restless = true;
        pending.tried |= 1 << way.server;
        self.sockets.give_back(way.at);
        if matches!(pending.wants, Wants::Status) {
            self.drop_slot(slot);
        } else {
            self.wheel.set(slot, pending.end.0);
            self.waiting.push_front(slot);
        }
    }

    /// A server was dead for its time.
    fn try_again(&mut self, server: usize, now: Time) {
        let known = &mut self.servers[server];
        if known.state != State::Dead {
            return;
        }
        self.is_restless = true;
        known.enter(State::ToBeTried, now);
        if known.config.has_status {
            let end = Time(u64::MAX);
            let slot = self.insert(Pending { wants: Wants::Status, end, tried: 0, way: None });
            match self.sockets.take(server, slot) {
                Some(at) => self.begin(slot, server, at, now),
                // All identifiers are in use by requests that nobody answers.
                None => {
                    self.drop_slot(slot);
                    self.servers[server].enter(State::Dead, now);
                    self.rest(server, now);
                }
            }
        }
    }

    /// Frees a slot of which nobody hears.
    fn drop_slot(&mut self, slot: u32) {
        self.wheel.cancel(slot);
        self.slots[slot as usize] = None;
        self.free.push(slot);
    }

    fn receive(&mut self, server: usize, socket: Socket, bytes: &[u8], now: Time) {
        let known = &mut self.servers[server];
        let Ok(packet) = Packet::parse(bytes) else {
            known.counters.malformed += 1;
            return;
        };
        known.hear();
        let slot = self.sockets.owner(socket, packet.identifier);
        let pending = slot.and_then(|slot| self.slots[slot as usize].as_ref());
        let way = pending.and_then(|pending| pending.way.as_ref());
        let (Some(slot), Some(pending), Some(way)) = (slot, pending, way) else {
            known.counters.unexpected += 1;
            return;
        };
        let Some(answer) = pending.wants.answer(&packet) else {
            known.counters.code += 1;
            return;
        };
        let secret = &known.config.secret;
        let needs_signature = packet.code != Code::AccountingResponse;
        let checked = seal::check_answer(&packet, &way.authenticator, secret, needs_signature);
        if let Err(why) = checked {
            let counter = match why {
                Forged::Authenticator => &mut known.counters.authenticator,
                Forged::Unsigned | Forged::Signature => &mut known.counters.signature,
            };
            *counter += 1;
            return;
        }
        let status = known.status().filter(|status| *status != slot);
        if known.answer(now.since(way.sent), now) {
            self.say(Report::Server { server, is_up: true });
        }
        // What any answer has found out needs no probe any more.
        if let Some(status) = status {
            self.end(status, Answer::TimedOut);
        }
        self.end(slot, answer);
    }

    /// Ends a request with its answer.
    fn end(&mut self, slot: u32, answer: Answer) {
        let Some(pending) = self.slots[slot as usize].take() else { return };
        self.wheel.cancel(slot);
        self.free.push(slot);
        if let Some(way) = pending.way {
            self.sockets.give_back(way.at);
        }
        self.is_restless = true;
        if let Wants::Ask { token, .. } = pending.wants {
            self.say(Report::Answer { token, answer });
        }
    }

    fn retry_timer(&self) -> u32 {
        (self.requests_max + 2 * self.servers.len()) as u32
    }

    fn say(&mut self, report: Report) {
        self.outputs.push_back(Output::Report(report));
    }
}

impl std::fmt::Debug for Client {
    /// What is to be sent may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Client");
        shown.field("servers", &self.servers).field("pending", &self.pending());
        shown.field("refused", &self.refused).finish_non_exhaustive()
    }
}

/// Timers are exact to 2^20 ns, a millisecond.
const STEP_BITS: u32 = 20;

/// Time until a socket that has failed is opened again.
const RETRY: Duration = Duration::from_secs(1);

/// Time To Live of requests.
const TTL: u8 = 64;
