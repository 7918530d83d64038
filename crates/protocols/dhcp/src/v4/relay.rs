//! A relay agent of DHCPv4 (RFC 1542, RFC 3046) that knows sessions: the owner accepts a client
//! before servers hear of it, and an acknowledgement of a server reaches the client when the owner
//! has said that its packets pass.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use protocol_kit::{Input, Machine, Output, Time};
use wire::MacAddr;

use crate::access::{Heard, Line, Said};
use crate::asking::{Asking, Targets};
use crate::config::Config;
use crate::control::{Command, Report, Why};
use crate::lease::{Held, Holding, Stage};
use crate::leases::{Leases, NotMade};
use crate::machines::{self, Access, Steps};
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
    /// The address to which servers answer.
    address: Ipv4Addr,
    /// The address by which clients know the relay.
    on_lines: Ipv4Addr,
    mode: Mode,
    /// The leases by the last transaction of their clients; some are of leases that are gone.
    transactions: BTreeMap<(u32, MacAddr), u32>,
}

impl Machine for Relay {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        machines::input(self, now, input);
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

    fn bytes(&self) -> usize {
        let transactions = self.transactions.len() * 2 * size_of::<((u32, MacAddr), u32)>();
        self.leases.bytes() + self.asking.bytes() + transactions
    }
}

impl Steps for Relay {
    fn accepts(&mut self, heard: &Heard, _now: Time) -> bool {
        let counters = &mut self.leases.counters;
        if !check(heard, self.leases.config.trusts_access_nodes, counters) {
            return false;
        }
        let is_ethernet =
            Message::parse(&heard.bytes).is_ok_and(|message| message.chaddr() == heard.mac.0);
        // Answers find their client by its MAC address.
        counters.identity += u64::from(!is_ethernet);
        is_ethernet
    }

    /// Passes a message of a client on, or one of a server.
    fn process(&mut self, heard: Heard, now: Time) {
        let bytes = heard.bytes.clone();
        let Ok(message) = Message::parse(&bytes) else { return };
        if message.is_reply() {
            return self.hand_over(&message, heard, now);
        }
        let Some(client) = client(&message, &heard) else { return };
        match message.kind() {
            kind::DISCOVER | kind::REQUEST => {
                let known = self.leases.known(client, || words(&message), heard, now);
                if let Some((number, heard)) = known {
                    self.forward(&message, &heard, number, now);
                }
            }
            _ => {
                let found = self.leases.find(&client);
                let stage = found.and_then(|number| self.leases.lease(number)).map(|it| it.stage);
                match found.zip(stage) {
                    Some((number, Stage::Granted)) => {
                        self.forward_other(&message, &heard, number, now);
                    }
                    // An answer waits, whose transaction this one would end.
                    Some((_, Stage::Starting)) => self.leases.counters.superseded += 1,
                    _ => self.leases.counters.unknown += 1,
                }
            }
        }
    }

    fn asking_mut(&mut self) -> Option<&mut Asking> {
        Some(&mut self.asking)
    }

    fn answer(&mut self, from: SocketAddr, bytes: &[u8], now: Time) {
        let counters = &mut self.leases.counters;
        let Some(place) = self.asking.place(from) else {
            counters.stranger += 1;
            return;
        };
        let message = match Message::parse(bytes) {
            Ok(message) if message.is_reply() && message.giaddr() == self.address => message,
            Ok(_) => {
                // A request: somebody relays to this relay, or it hears itself. Or an answer for
                // another one.
                counters.loops += 1;
                return;
            }
            Err(_) => {
                counters.malformed += 1;
                return;
            }
        };
        // By RFC 5107 it calls itself as this relay.
        let identifier = message.option(code::SERVER);
        let identifier = identifier.as_deref().filter(|one| *one != self.on_lines.octets());
        self.asking.heard_of(place, identifier);
        let mac = message.chaddr().try_into().map(MacAddr).unwrap_or_default();
        let number = self.number(message.xid(), mac);
        let Some((number, lease)) = number.zip(number.and_then(|it| self.leases.lease(it))) else {
            self.leases.counters.unsolicited += 1;
            return;
        };
        let (line, stage) = (lease.client.line, lease.stage);
        self.leases.counters.answered += 1;
        if stage == Stage::Starting {
            // An answer waits already.
            self.leases.counters.superseded += 1;
            return;
        }
        if let Some(note) = self.leases.note_mut(number) {
            let is_other = note.server.is_some_and(|server| server != place);
            match message.kind() {
                kind::OFFER if is_other && self.mode != Mode::Relay => {
                    // A client that knows one server alone has one offer.
                    self.leases.counters.superseded += 1;
                    return;
                }
                kind::OFFER => note.server = Some(place),
                // To an INFORM anybody's will do, and it gives nothing.
                kind::ACK if !message.yiaddr().is_unspecified() => note.server = Some(place),
                _ => {}
            }
        }
        let heard =
            Heard { line, mac, from: from.ip(), to: self.address.into(), bytes: bytes.to_vec() };
        self.process(heard, now);
    }
}

impl Relay {
    /// Creates a relay with an address of its own, which servers must have a pool for. The pools of
    /// the configuration keep what servers must not give. Datagrams that come to its socket from
    /// lines are to be kept from it, as [`crate::Framed`] does.
    ///
    /// # Errors
    /// [`NotMade`].
    pub fn new(
        config: Config,
        address: Ipv4Addr,
        servers: &[Ipv4Addr],
        mode: Mode,
    ) -> Result<Relay, NotMade> {
        let local = SocketAddr::new(address.into(), SERVER_PORT);
        let servers = servers.iter().map(|server| SocketAddr::new((*server).into(), SERVER_PORT));
        Ok(Relay {
            leases: Leases::new(config, false)?,
            asking: Asking::new(local, servers)?,
            address,
            on_lines: address,
            mode,
            transactions: BTreeMap::new(),
        })
    }

    /// The same with another address on lines: clients hear from it, and renew by it. Servers are
    /// told it as the link by which they choose their pools (RFC 3527); they answer to the former.
    #[must_use]
    pub fn on_lines(self, address: Ipv4Addr) -> Relay {
        Relay { on_lines: address, ..self }
    }

    /// Passes a message on that asks for no address. What a client gives up has to be its own: by
    /// another one's identifier it could have a server take what that one has. Where no server
    /// hears of it, a release counts all the same, because the client is gone; but an address that
    /// somebody else uses stays the client's, so that nobody else is given it.
    fn forward_other(&mut self, message: &Message<'_>, heard: &Heard, number: u32, now: Time) {
        let (address, how) = match message.kind() {
            kind::RELEASE => (Some(message.ciaddr()), (Return::Released, Why::Released)),
            kind::DECLINE => {
                let address = message.address(code::REQUESTED_ADDRESS);
                (address, (Return::Declined, Why::Declined))
            }
            _ => {
                self.forward(message, heard, number, now);
                return;
            }
        };
        let gone = address.map(|address| Prefix::host(address.into()));
        let held = self.leases.lease(number).and_then(|lease| lease.held(ADDRESS.0, ADDRESS.1));
        let Some(gone) = gone.filter(|gone| held == Some(*gone)) else {
            self.leases.counters.unknown += 1;
            return;
        };
        let is_sent = self.forward(message, heard, number, now);
        if is_sent || message.kind() == kind::RELEASE {
            self.leases.release(number, |one| one.prefix == gone, how, now);
        }
    }

    /// Passes a message on; whether it was sent. One that was not leaves everything as it was.
    fn forward(&mut self, message: &Message<'_>, heard: &Heard, number: u32, now: Time) -> bool {
        let transaction = (message.xid(), heard.mac);
        if self.number(transaction.0, transaction.1).is_some_and(|other| other != number) {
            // Of the same host on another line, or of somebody who would like to have its answer.
            self.leases.counters.superseded += 1;
            return false;
        }
        let Some(chosen) = self.leases.lease(number).map(|lease| lease.note.server) else {
            return false;
        };
        let agent = self.agent(message, heard.line);
        let Some(bytes) = relayed(message, self.address, &agent) else {
            self.leases.counters.malformed += 1;
            return false;
        };
        let Some(targets) = self.targets(message, heard, chosen) else {
            self.leases.counters.unknown += 1;
            return false;
        };
        if !self.asking.may_send(&mut self.leases) {
            return false;
        }
        let Some(note) = self.leases.note_mut(number) else { return false };
        if let Some(old) = note.xid.replace(transaction.0) {
            self.transactions.remove(&(old, heard.mac));
        }
        if message.kind() == kind::DISCOVER {
            note.server = None;
        }
        self.transactions.insert(transaction, number);
        self.forget_old();
        let is_proxied = self.mode == Mode::Proxy && self.is_named(message);
        let written = |server| {
            let mut bytes = bytes.clone();
            if let (true, IpAddr::V4(server)) = (is_proxied, server) {
                replace_address(&mut bytes, code::SERVER, server);
            }
            bytes
        };
        self.asking.forward(&targets, written, &mut self.leases, now);
        true
    }

    /// Which servers a message is for, where `chosen` is the one that the client has its address
    /// of; `None` if it takes an offer of a server that is not known any more.
    fn targets(
        &self,
        message: &Message<'_>,
        heard: &Heard,
        chosen: Option<u16>,
    ) -> Option<Targets> {
        let (all, kind) = (self.asking.places(), message.kind());
        if kind == kind::DISCOVER {
            return Some(Targets { to: all.clone(), owing: all });
        }
        let is_request = kind == kind::REQUEST;
        let is_answered = is_request || kind == kind::INFORM;
        let is_named = self.is_named(message);
        let meant = match message.option(code::SERVER) {
            Some(_) if is_named => chosen,
            Some(identifier) => {
                let by_address = || self.asking.at(message.address(code::SERVER)?.into());
                let named = self.asking.called(&identifier).or_else(by_address);
                named.or_else(|| chosen.filter(|_| !is_request))
            }
            None => self.asking.at(heard.to).or(chosen),
        };
        if is_request && is_named && meant.is_none() {
            return None;
        }
        let meant = meant.map(|place| place..place + 1);
        // All hear whose offer is taken; and at last, when its own server has not answered, a
        // client asks any (rebinding).
        let is_for_all = is_answered && !is_named && is_broadcast(heard);
        let owing = meant.clone().filter(|_| is_answered).unwrap_or(0..0);
        Some(Targets { to: meant.filter(|_| !is_for_all).unwrap_or(all), owing })
    }

    /// Whether a client names the relay as its server.
    fn is_named(&self, message: &Message<'_>) -> bool {
        message.address(code::SERVER) == Some(self.on_lines)
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
            option.extend(self.on_lines.octets());
        }
        if self.on_lines != self.address {
            option.extend([agent::LINK_SELECTION, 4]);
            option.extend(self.on_lines.octets());
        }
        option
    }

    /// Hands a message of a server to its client: an acknowledgement when its session is up.
    fn hand_over(&mut self, message: &Message<'_>, heard: Heard, now: Time) {
        let Some(number) = self.number(message.xid(), heard.mac) else {
            self.leases.counters.unsolicited += 1;
            return;
        };
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
            replace_address(&mut bytes, code::SERVER, self.on_lines);
        }
        let (mac, to) = match message.kind() {
            kind::NAK => (MacAddr::BROADCAST, Ipv4Addr::BROADCAST),
            _ => destination(message, heard, yiaddr),
        };
        let (line, from) = (heard.line, self.on_lines.into());
        self.leases.say(Said { line, mac, from, to: to.into(), port: CLIENT_PORT, bytes });
    }

    /// The lease that a transaction is of.
    fn number(&self, xid: u32, mac: MacAddr) -> Option<u32> {
        let number = self.transactions.get(&(xid, mac)).copied()?;
        is_of(&self.leases, number, (xid, mac)).then_some(number)
    }

    /// Forgets transactions of leases that are gone, when there are more than leases by far.
    fn forget_old(&mut self) {
        if self.transactions.len() > 2 * self.leases.len() + TRANSACTIONS_SPARE {
            let leases = &self.leases;
            self.transactions.retain(|transaction, number| is_of(leases, *number, *transaction));
        }
    }
}

fn is_of(leases: &Leases, number: u32, (xid, mac): (u32, MacAddr)) -> bool {
    let lease = leases.lease(number);
    lease.is_some_and(|lease| (lease.note.xid, lease.client.mac) == (Some(xid), mac))
}

fn is_broadcast(heard: &Heard) -> bool {
    heard.to == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Transactions beyond those of leases before old ones are looked for.
const TRANSACTIONS_SPARE: usize = 1024;
