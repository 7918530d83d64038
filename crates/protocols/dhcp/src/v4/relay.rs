//! A relay agent of DHCPv4 (RFC 1542, RFC 3046) that knows sessions: the owner accepts a client
//! before servers hear of it, and an acknowledgement of a server reaches the client when the owner
//! has said that its packets pass.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use protocol_kit::{Arrival, Input, Machine, Output, Time};

use crate::access::{Heard, Line, Mac, Said};
use crate::asking::{Asking, SERVERS_MAX};
use crate::config::Config;
use crate::control::{Command, Report, Why};
use crate::lease::{Held, Holding, Stage};
use crate::leases::{Leases, Next, NotMade};
use crate::machines::Access;
use crate::pools::Return;
use crate::prefix::Prefix;
use crate::v4::clients::{ADDRESS, CLIENT_PORT, SERVER_PORT, check, client, destination, words};
use crate::v4::message::{Message, agent, code, kind};
use crate::v4::writer::{relayed, replace_address, returned};

/// How clients reach servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Clients know the servers: each asks all of them, and renews with its own directly.
    Relay,
    /// Servers are told to name the relay as the server (RFC 5107), so that clients renew by it.
    Override,
    /// The relay writes itself as the server into what they send, and clients know no other.
    Proxy,
}

/// The relay.
#[derive(Debug)]
pub struct Relay {
    leases: Leases,
    asking: Asking,
    address: Ipv4Addr,
    mode: Mode,
    /// The leases by the last transaction of their clients.
    transactions: BTreeMap<(u32, Mac), u32>,
}

impl Machine for Relay {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(Command::Heard(heard)) => self.hear(heard, now),
            Input::Command(Command::Name(line, circuit, remote)) => {
                self.asking.name(line, circuit, remote);
            }
            Input::Command(command) => match self.leases.obey(command, now) {
                // A client that is not accepted is not told so: servers alone tell such things.
                Next::Nothing | Next::Refuse(_) => {}
                Next::Process(heard) => self.process(heard, now),
            },
            Input::Arrival(Arrival::Datagram { from, bytes, .. }) => self.answer(from, bytes, now),
            Input::Arrival(Arrival::Failed { .. }) => self.asking.failed(now),
            Input::Arrival(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        self.asking.poll(now).or_else(|| self.leases.poll(now))
    }

    fn deadline(&self) -> Option<Time> {
        self.asking.deadline().into_iter().chain(self.leases.deadline()).min()
    }
}

impl Access for Relay {
    const PORT: u16 = SERVER_PORT;

    fn table(&self) -> &Leases {
        &self.leases
    }

    fn table_mut(&mut self) -> &mut Leases {
        &mut self.leases
    }
}

impl Relay {
    /// Creates a relay with an address of its own, which servers must have a pool for. The pools of
    /// the configuration keep what servers must not give.
    ///
    /// # Errors
    /// [`NotMade`].
    pub fn new(
        config: Config,
        address: Ipv4Addr,
        servers: &[Ipv4Addr],
        mode: Mode,
    ) -> Result<Relay, NotMade> {
        if !(1..=SERVERS_MAX).contains(&servers.len()) {
            return Err(NotMade::Servers(SERVERS_MAX));
        }
        let local = SocketAddr::new(address.into(), SERVER_PORT);
        let servers = servers.iter().map(|server| SocketAddr::new((*server).into(), SERVER_PORT));
        Ok(Relay {
            leases: Leases::new(config, false)?,
            asking: Asking::new(local, servers),
            address,
            mode,
            transactions: BTreeMap::new(),
        })
    }

    fn hear(&mut self, heard: Heard, now: Time) {
        if !self.leases.admit(heard.line, heard.mac, now) {
            return;
        }
        let counters = &mut self.leases.counters;
        if !check(&heard, self.leases.config.trusts_access_nodes, counters) {
            return;
        }
        let is_ethernet =
            Message::parse(&heard.bytes).is_ok_and(|message| message.chaddr() == heard.mac.0);
        if !is_ethernet {
            // Answers find their client by its MAC address.
            counters.identity += 1;
            return;
        }
        counters.received += 1;
        self.process(heard, now);
    }

    /// Passes a message of a client on, or one of a server, as far as its lease allows.
    fn process(&mut self, heard: Heard, now: Time) {
        let bytes = heard.bytes.clone();
        let Ok(message) = Message::parse(&bytes) else { return };
        if message.is_reply() {
            return self.hand_over(&message, heard, now);
        }
        let Some(client) = client(&message, &heard) else { return };
        let number = match message.kind() {
            kind::DISCOVER | kind::REQUEST => {
                let known = self.leases.known(client, || words(&message), heard.clone(), now);
                known.map(|(number, _)| number)
            }
            _ => {
                let found = self.leases.find(&client);
                let found = found.filter(|number| {
                    self.leases.lease(*number).is_some_and(|lease| lease.stage != Stage::Asked)
                });
                self.leases.counters.unknown += u64::from(found.is_none());
                found
            }
        };
        let Some(number) = number else { return };
        self.forward(&message, &heard, number, now);
        let is_gone = match message.kind() {
            kind::RELEASE => Some((message.ciaddr(), (Return::Released, Why::Released))),
            kind::DECLINE => {
                let address = message.address(code::REQUESTED_ADDRESS);
                address.map(|address| (address, (Return::Declined, Why::Declined)))
            }
            _ => None,
        };
        if let Some((address, how)) = is_gone {
            let gone = Prefix::host(address.into());
            let held = self.leases.lease(number).and_then(|lease| lease.held(ADDRESS.0, ADDRESS.1));
            if held == Some(gone) {
                self.leases.counters.declined += u64::from(how.0 == Return::Declined);
                self.leases.release(number, |one| one.prefix == gone, how, now);
            }
        }
    }

    fn forward(&mut self, message: &Message<'_>, heard: &Heard, number: u32, now: Time) {
        let Some(note) = self.leases.note_mut(number) else { return };
        let chosen = note.server;
        if let Some(old) = note.xid.replace(message.xid()) {
            self.transactions.remove(&(old, heard.mac));
        }
        if message.kind() == kind::DISCOVER {
            note.server = None;
        }
        self.transactions.insert((message.xid(), heard.mac), number);
        self.forget_old();
        let agent = self.agent(message, heard.line);
        let Some(mut bytes) = relayed(message, self.address, &agent) else {
            self.leases.counters.malformed += 1;
            return;
        };
        let is_own = message.address(code::SERVER) == Some(self.address);
        let is_mine = self.mode != Mode::Relay && message.kind() != kind::DISCOVER;
        let places = match chosen {
            // At last, when its own server has not answered, a client asks any (rebinding).
            Some(place) if is_mine && (is_own || !is_broadcast(heard)) => place..place + 1,
            None if is_mine && is_own => {
                self.leases.counters.unknown += 1;
                return;
            }
            _ => self.asking.places(),
        };
        if let (Mode::Proxy, true, Some(place)) = (self.mode, is_own, chosen)
            && let Some(IpAddr::V4(server)) = self.asking.address(place)
        {
            replace_address(&mut bytes, code::SERVER, server);
        }
        for place in places {
            if let Some(departure) = self.asking.ask(place, bytes.clone(), now) {
                self.leases.counters.forwarded += 1;
                self.leases.depart(departure);
            }
        }
    }

    /// The relay agent's option for a line: what a trusted access node has said comes first.
    fn agent(&self, message: &Message<'_>, line: Line) -> Vec<u8> {
        let (circuit, remote) = self.asking.names(line);
        let number = || line.0.to_be_bytes().to_vec();
        let circuit = if circuit.is_empty() { number() } else { circuit };
        let circuit = message.agent(agent::CIRCUIT).unwrap_or(circuit);
        let remote = message.agent(agent::REMOTE).unwrap_or(remote);
        let mut option = Vec::new();
        for (sub, value) in [(agent::CIRCUIT, circuit), (agent::REMOTE, remote)] {
            if !value.is_empty() {
                option.extend([sub, value.len() as u8]);
                option.extend(value);
            }
        }
        if self.mode == Mode::Override {
            option.extend([agent::SERVER_OVERRIDE, 4]);
            option.extend(self.address.octets());
        }
        option
    }

    /// Takes in what a server has sent.
    fn answer(&mut self, from: SocketAddr, bytes: &[u8], now: Time) {
        let counters = &mut self.leases.counters;
        let Some(place) = self.asking.place(from) else {
            counters.stranger += 1;
            return;
        };
        let message = match Message::parse(bytes) {
            Ok(message) if message.is_reply() => message,
            Ok(_) => {
                // A request: somebody relays to this relay, or it hears itself.
                counters.loops += 1;
                return;
            }
            Err(_) => {
                counters.malformed += 1;
                return;
            }
        };
        if message.giaddr() != self.address {
            counters.loops += 1;
            return;
        }
        let mac = message.chaddr().try_into().map(Mac).unwrap_or_default();
        let found = self.transactions.get(&(message.xid(), mac)).copied();
        let lease = found.and_then(|number| self.leases.lease(number));
        let lease =
            lease.filter(|lease| (lease.note.xid, lease.client.mac) == (Some(message.xid()), mac));
        let Some((number, line)) = found.zip(lease.map(|lease| lease.client.line)) else {
            self.leases.counters.unsolicited += 1;
            return;
        };
        self.asking.answered(place);
        self.leases.counters.answered += 1;
        if self.leases.lease(number).is_some_and(|lease| lease.stage == Stage::Starting) {
            // An answer waits already.
            self.leases.counters.superseded += 1;
            return;
        }
        if let Some(note) = self.leases.note_mut(number) {
            let is_other = note.server.is_some_and(|server| server != place);
            if message.kind() == kind::OFFER && is_other && self.mode != Mode::Relay {
                // A client that knows one server alone has one offer.
                self.leases.counters.superseded += 1;
                return;
            }
            note.server = Some(place);
        }
        let heard =
            Heard { line, mac, from: from.ip(), to: self.address.into(), bytes: bytes.to_vec() };
        self.process(heard, now);
    }

    /// Hands a message of a server to its client: an acknowledgement when its session is up.
    fn hand_over(&mut self, message: &Message<'_>, heard: Heard, now: Time) {
        let Some(&number) = self.transactions.get(&(message.xid(), heard.mac)) else { return };
        let yiaddr = Some(message.yiaddr()).filter(|address| !address.is_unspecified());
        match (message.kind(), yiaddr) {
            (kind::OFFER, Some(_)) => self.pass(message, &heard, yiaddr),
            (kind::ACK, Some(address)) => {
                let prefix = Prefix::host(address.into());
                let Some(valid) = message.number(code::LEASE_TIME).filter(|valid| *valid > 0)
                else {
                    self.leases.counters.malformed += 1;
                    return;
                };
                if !self.leases.hold(number, ADDRESS, (prefix, valid), now) {
                    return;
                }
                let Some(heard) = self.leases.start(number, &[ADDRESS], heard, now) else { return };
                let is_other = |one: &Holding| one.prefix != prefix;
                let how = (Return::Released, Why::Withdrawn);
                self.leases.release(number, is_other, how, now);
                self.leases.renew(number, ADDRESS, None, valid, now);
                self.leases.renewed(number);
                self.done(number);
                self.pass(message, &heard, yiaddr);
            }
            // To an INFORM.
            (kind::ACK, None) => {
                self.done(number);
                self.pass(message, &heard, None);
            }
            (kind::NAK, _) => {
                self.done(number);
                self.leases.counters.refused += 1;
                let how = (Return::Released, Why::Withdrawn);
                self.leases.release(number, |one| one.stage != Held::Starting, how, now);
                self.pass(message, &heard, None);
            }
            _ => self.leases.counters.unsupported += 1,
        }
    }

    /// A transaction is over: more answers to it were not asked for.
    fn done(&mut self, number: u32) {
        let mac = self.leases.lease(number).map(|lease| lease.client.mac).unwrap_or_default();
        if let Some(xid) = self.leases.note_mut(number).and_then(|note| note.xid.take()) {
            self.transactions.remove(&(xid, mac));
        }
    }

    fn pass(&mut self, message: &Message<'_>, heard: &Heard, yiaddr: Option<Ipv4Addr>) {
        let mut bytes = returned(message);
        if self.mode == Mode::Proxy {
            replace_address(&mut bytes, code::SERVER, self.address);
        }
        let (mac, to) = match message.kind() {
            kind::NAK => (Mac::BROADCAST, Ipv4Addr::BROADCAST),
            _ => destination(message, heard, yiaddr),
        };
        let (line, from) = (heard.line, self.address.into());
        self.leases.say(Said { line, mac, from, to: to.into(), port: CLIENT_PORT, bytes });
    }

    /// Forgets transactions of leases that are gone, when there are more than leases by far.
    fn forget_old(&mut self) {
        if self.transactions.len() > 2 * self.leases.len() + TRANSACTIONS_SPARE {
            let leases = &self.leases;
            self.transactions.retain(|(xid, mac), number| {
                leases
                    .lease(*number)
                    .is_some_and(|lease| (lease.note.xid, lease.client.mac) == (Some(*xid), *mac))
            });
        }
    }
}

fn is_broadcast(heard: &Heard) -> bool {
    heard.to == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Transactions beyond those of leases before old ones are looked for.
const TRANSACTIONS_SPARE: usize = 1024;
