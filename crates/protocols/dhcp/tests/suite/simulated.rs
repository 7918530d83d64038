//! Many clients and a server in a simulated network that loses, repeats and reorders, where nodes
//! hang and die and come back: nobody has what another has, whatever was up comes down, and in the
//! end nothing is left.
//!
//! Clients are written here from RFC 2131 section 4.4 and RFC 8415 section 18.2.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use protocol_dhcp::framed::{emit, parse};
use protocol_dhcp::{
    Access, Command, Config, Framed, LeaseId, Line, Place, Report, Said, Secret, v4, v6,
};
use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Random, Socket, Takes, Time,
};
use simulation::{Quality, Said as Told, Simulation, World, simulate};
use wire::MacAddr;

use crate::client4::{self, Message4};
use crate::client6::{self, Message6, association};
use crate::lines::{ANYBODY, ANYBODY6, GRANT, SERVER, SERVER_DUID, config4, config6, identity};

#[test]
fn nobody_has_what_another_has() {
    simulate::<Hosts>(SEEDS);
}

/// A node: a server with its owner, or a client.
pub enum Node {
    Server4(Box<Owned<v4::Server>>),
    Server6(Box<Owned<v6::Server>>),
    Client(Box<Client>),
}

/// What a node says.
#[derive(Clone, Debug)]
pub enum Event {
    /// A client has addresses and prefixes, or has not any more.
    Has(Vec<String>),
    Lost,
}

/// A server with an owner that takes its time, and keeps records over restarts.
pub struct Owned<M> {
    server: Framed<M>,
    random: Random,
    /// What the owner will say, and when.
    agenda: BTreeMap<(Time, u64), Command>,
    next: u64,
    disk: Disk,
    /// Sessions that are up.
    up: BTreeMap<LeaseId, Vec<protocol_dhcp::Prefix>>,
    record: fn(&M, LeaseId) -> Option<Vec<u8>>,
    /// How records are taken up again, until it is done.
    restore: Option<Restore<M>>,
}

type Restore<M> = fn(&mut M, Time, &[u8]) -> Option<LeaseId>;

type Disk = Rc<RefCell<BTreeMap<LeaseKey, Vec<u8>>>>;

/// By what a record is kept: the number of the server's life, and the lease.
type LeaseKey = (u32, u32, u32);

impl<M: Access> Owned<M> {
    fn new(
        server: M,
        lines: u32,
        (disk, seed): (Disk, u64),
        record: fn(&M, LeaseId) -> Option<Vec<u8>>,
        restore: Restore<M>,
    ) -> Owned<M> {
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        let places =
            (0..lines).map(|line| Place { interface: Interface(line), line: Line(line), mac });
        Owned {
            server: Framed::new(server, places.collect()),
            random: Random::new(seed),
            agenda: BTreeMap::new(),
            next: 0,
            disk,
            up: BTreeMap::new(),
            record,
            restore: Some(restore),
        }
    }

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        self.take_up(now);
        self.server.input(now, input);
    }

    fn later(&mut self, now: Time, command: Command) {
        // Now and then it does not answer at all.
        if self.random.below(50) > 0 {
            let delay = Duration::from_micros(self.random.below(20_000));
            self.next += 1;
            self.agenda.insert((now.after(delay), self.next), command);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Event>> {
        self.take_up(now);
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            let command = entry.remove();
            self.server.input(now, Input::Command(command));
        }
        while let Some(output) = self.server.poll(now) {
            let report = match output {
                Output::Departure(departure) => return Some(Output::Departure(departure)),
                Output::Report(report) => report,
            };
            match report {
                Report::Wanted(lease, ..) => self.later(now, Command::Accept(lease, GRANT)),
                Report::Up { lease, prefixes, .. } => {
                    self.up.insert(lease, prefixes);
                    // What is not on the disk is not acknowledged.
                    self.keep(lease);
                    self.later(now, Command::Acknowledged(lease));
                }
                Report::Gone { lease, is_last, prefixes, .. } => {
                    let up = self.up.get_mut(&lease);
                    let known = up.map(|up| up.retain(|one| !prefixes.contains(one)));
                    assert!(known.is_some() || prefixes.is_empty(), "{lease:?} was not up");
                    match is_last {
                        true => self.forget(lease),
                        false => self.keep(lease),
                    }
                }
                Report::Renewed(lease) => assert!(self.up.contains_key(&lease), "{lease:?}"),
                other => panic!("{other:?}"),
            }
        }
        None
    }

    fn keep(&mut self, lease: LeaseId) {
        if let Some(record) = (self.record)(self.server.machine(), lease) {
            self.disk.borrow_mut().insert((lease.number, lease.generation, 0), record);
        }
    }

    fn forget(&mut self, lease: LeaseId) {
        self.up.remove(&lease);
        self.disk.borrow_mut().remove(&(lease.number, lease.generation, 0));
    }

    /// Takes up what an earlier life has kept.
    fn take_up(&mut self, now: Time) {
        let Some(restore) = self.restore.take() else { return };
        let old = std::mem::take(&mut *self.disk.borrow_mut());
        for record in old.values() {
            let lease = restore(self.server.machine_mut(), now, record).expect("it was kept");
            // What it holds is told when it is gone.
            self.up.insert(lease, Vec::new());
            self.keep(lease);
        }
    }

    fn deadline(&self) -> Option<Time> {
        let first = self.agenda.first_key_value().map(|((time, _), _)| *time);
        first.into_iter().chain(self.server.deadline()).min()
    }
}

impl Machine for Node {
    type Command = Command;
    type Report = Event;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match self {
            Node::Server4(owned) => owned.input(now, input),
            Node::Server6(owned) => owned.input(now, input),
            Node::Client(client) => {
                if let Input::Arrival(Arrival::Frame { bytes, .. }) = input {
                    client.hear(bytes, now);
                }
            }
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Event>> {
        match self {
            Node::Server4(owned) => owned.poll(now),
            Node::Server6(owned) => owned.poll(now),
            Node::Client(client) => client.poll(now),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Server4(owned) => owned.deadline(),
            Node::Server6(owned) => owned.deadline(),
            Node::Client(client) => Some(client.wake),
        }
    }
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Init,
    Selecting,
    Requesting,
    Bound,
}

/// A client of either version.
pub struct Client {
    is_v6: bool,
    interface: Interface,
    mac: [u8; 6],
    random: Random,
    state: State,
    xid: u8,
    /// What was offered, or is had: the address and, of version 6, the prefix.
    offered: Option<Held>,
    /// When what is had is renewed, and when it is over.
    times: (Time, Time, Time),
    wake: Time,
    tries: u32,
    /// What it is about, and when its first message left.
    exchange: Option<Step>,
    asked: Time,
    outputs: VecDeque<Output<Event>>,
    is_open: bool,
    /// When it is unplugged; its clock may begin anywhere.
    stops_at: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    address: [u8; 16],
    prefix: Option<[u8; 16]>,
    valid: Duration,
}

impl Held {
    fn names(&self) -> Vec<String> {
        let all = [Some(self.address), self.prefix].into_iter().flatten();
        all.map(|octets| format!("{octets:02x?}")).collect()
    }
}

impl Client {
    fn new(is_v6: bool, number: u32, seed: u64) -> Client {
        let mut random = Random::new(seed);
        Client {
            is_v6,
            interface: Interface(number),
            mac: [2, 1, 0, 0, 0, number as u8],
            state: State::Init,
            xid: random.bits() as u8,
            offered: None,
            times: Default::default(),
            wake: Time::ZERO,
            tries: 0,
            exchange: None,
            asked: Time::ZERO,
            outputs: VecDeque::new(),
            is_open: false,
            stops_at: None,
            random,
        }
    }

    /// What it believes to have.
    fn has(&self, now: Time) -> Vec<String> {
        let is_bound = self.state == State::Bound && now < self.times.2;
        self.offered.iter().filter(|_| is_bound).flat_map(Held::names).collect()
    }

    fn poll(&mut self, now: Time) -> Option<Output<Event>> {
        if !self.is_open {
            self.is_open = true;
            let ether_type = if self.is_v6 { 0x86dd } else { 0x0800 };
            let takes = vec![Takes { ether_type, protocol: Some(17) }];
            let (interface, groups) = (self.interface, vec![]);
            let opening = Opening::Frames { interface, takes, groups };
            return Some(Output::Departure(Departure::Open { socket: Socket(0), opening }));
        }
        if self.outputs.is_empty() && self.wake <= now {
            self.step(now);
        }
        self.outputs.pop_front()
    }

    /// Something is due.
    fn step(&mut self, now: Time) {
        if now >= *self.stops_at.get_or_insert(now.after(STOPS)) {
            // It is unplugged: what it has is no more.
            if self.state == State::Bound {
                self.lose();
            }
            self.wake = Time(u64::MAX);
            return;
        }
        let (t1, t2, end) = self.times;
        match self.state {
            State::Init => {
                self.exchange = None;
                self.state = State::Selecting;
                self.tries = 0;
                self.send(Step::Discover, now);
            }
            State::Selecting | State::Requesting if self.tries >= 4 => {
                self.state = State::Init;
                self.wake = now.after(Duration::from_millis(self.random.below(2000)));
            }
            State::Selecting => self.send(Step::Discover, now),
            State::Requesting => self.send(Step::Request, now),
            State::Bound if now >= end => self.lose(),
            State::Bound if now >= t2 => self.send(Step::Rebind, now),
            State::Bound if now >= t1 => self.send(Step::Renew, now),
            // Between: it may go, or find that somebody else has its address.
            State::Bound => match self.random.below(20) {
                gone @ (0 | 1) => {
                    self.send(if gone == 0 { Step::Release } else { Step::Decline }, now);
                    self.lose();
                    // What it begins next must not overtake that.
                    self.wake = now.after(Duration::from_millis(500));
                }
                _ => self.wake = now.after(Duration::from_millis(500)).min(t1),
            },
        }
    }

    fn lose(&mut self) {
        self.state = State::Init;
        self.offered = None;
        self.wake = Time::ZERO;
        self.outputs.push_back(Output::Report(Event::Lost));
    }

    fn send(&mut self, step: Step, now: Time) {
        self.tries += 1;
        let back = Duration::from_millis(200 << self.tries.min(4));
        self.wake = now.after(back + Duration::from_millis(self.random.below(200)));
        // An exchange has a transaction of its own, and what it brings counts from its first
        // message (RFC 2131 section 4.4.1, RFC 8415 sections 15 and 16.1).
        if self.exchange.replace(step) != Some(step) {
            self.asked = now;
            if step != Step::Request {
                self.xid = self.xid.wrapping_add(1);
            }
        }
        let own = self.offered.as_ref();
        let (bytes, (from, to)) = match self.is_v6 {
            false => self.message4(step, own),
            true => (self.message6(step, own), ANYBODY6),
        };
        let port = if self.is_v6 { 547 } else { 67 };
        let mac =
            if step == Step::Renew { MacAddr([2, 0, 0, 0, 0, 1]) } else { MacAddr::BROADCAST };
        let said = Said { line: Line(0), mac, from, to, port, bytes };
        let bytes = emit(MacAddr(self.mac), &said, port - 1).expect("a frame");
        self.outputs.push_back(Output::Departure(Departure::Frame { socket: Socket(0), bytes }));
    }

    fn message4(&self, step: Step, own: Option<&Held>) -> (Vec<u8>, (IpAddr, IpAddr)) {
        let address: [u8; 4] = own.map_or([0; 4], |own| own.address[..4].try_into().expect("four"));
        let new = |kind| Message4::new(kind, u32::from(self.xid), self.mac).with(55, &[1, 3]);
        let mut message = match step {
            Step::Discover => new(client4::DISCOVER),
            Step::Request => new(client4::REQUEST).with(50, &address).with(54, &SERVER),
            Step::Renew | Step::Rebind => new(client4::REQUEST),
            Step::Release => new(client4::RELEASE).with(54, &SERVER),
            Step::Decline => new(client4::DECLINE).with(50, &address).with(54, &SERVER),
        };
        if matches!(step, Step::Renew | Step::Rebind | Step::Release) {
            message.ciaddr = address;
        }
        let ends = match step {
            Step::Renew | Step::Release => (address.into(), SERVER.into()),
            _ => ANYBODY,
        };
        (message.bytes(), ends)
    }

    fn message6(&self, step: Step, own: Option<&Held>) -> Vec<u8> {
        let kind = match step {
            Step::Discover => client6::SOLICIT,
            Step::Request => client6::REQUEST,
            Step::Renew => client6::RENEW,
            Step::Rebind => client6::REBIND,
            Step::Release => client6::RELEASE,
            Step::Decline => client6::DECLINE,
        };
        let one: Vec<_> = own.iter().map(|own| client6::address(own.address)).collect();
        let net = own.and_then(|own| own.prefix).map(|net| client6::prefix(net, 56));
        let net: Vec<_> = net.into_iter().collect();
        let mut message = Message6::new(kind, self.xid, &[&[0, 3, 0, 1][..], &self.mac].concat());
        message = message.with(3, &association(1, &one)).with(25, &association(2, &net));
        if !matches!(step, Step::Discover | Step::Rebind) {
            message = message.with(2, &SERVER_DUID);
        }
        message.bytes()
    }

    fn hear(&mut self, frame: &[u8], now: Time) {
        let port = if self.is_v6 { 546 } else { 68 };
        let Some(heard) = parse(frame, Line(0), port) else { return };
        if self.stops_at.is_some_and(|at| at <= now) {
            return;
        }
        let (kind, held) = match self.is_v6 {
            false => self.read4(&heard.bytes),
            true => self.read6(&heard.bytes),
        };
        match (kind, held, self.state) {
            (Kind::Offer, Some(held), State::Selecting) => {
                self.offered = Some(held);
                self.state = State::Requesting;
                self.tries = 0;
                self.wake = now;
                self.send(Step::Request, now);
            }
            (Kind::Ack, Some(held), State::Requesting | State::Bound) => {
                // What is not the same was not asked for; of version 4 it never is.
                if self.state == State::Bound && self.offered.as_ref() != Some(&held) {
                    return self.lose();
                }
                self.bind(held);
            }
            // Nothing was given, or less than there was.
            (Kind::Nak | Kind::Ack, _, State::Requesting) => self.lose(),
            (Kind::Nak | Kind::Ack, _, State::Bound) if now >= self.times.0 => self.lose(),
            _ => {}
        }
    }

    fn bind(&mut self, held: Held) {
        let valid = held.valid;
        let at = |share: u32| self.asked.after(valid * share / 8);
        self.times = (at(4), at(7), at(8));
        let is_new = self.state != State::Bound;
        self.exchange = None;
        self.state = State::Bound;
        self.tries = 0;
        self.wake = self.asked.after(Duration::from_millis(500)).min(self.times.0);
        if is_new {
            self.outputs.push_back(Output::Report(Event::Has(held.names())));
        }
        self.offered = Some(held);
    }

    fn read4(&self, bytes: &[u8]) -> (Kind, Option<Held>) {
        let message = Message4::read(bytes);
        if (message.xid, message.chaddr) != (u32::from(self.xid), self.mac) {
            return (Kind::Other, None);
        }
        let kind = match message.kind() {
            client4::OFFER => Kind::Offer,
            client4::ACK => Kind::Ack,
            client4::NAK => Kind::Nak,
            _ => Kind::Other,
        };
        let mut address = [0; 16];
        address[..4].copy_from_slice(&message.yiaddr);
        let valid = message.option(51).try_into().map_or(0, u32::from_be_bytes);
        let valid = Duration::from_secs(valid.into());
        (kind, (valid > Duration::ZERO).then_some(Held { address, prefix: None, valid }))
    }

    fn read6(&self, bytes: &[u8]) -> (Kind, Option<Held>) {
        let message = Message6::read(bytes);
        let own = [&[0, 3, 0, 1][..], &self.mac].concat();
        if message.xid[2] != self.xid || message.option(1) != own {
            return (Kind::Other, None);
        }
        let kind = match message.kind {
            client6::ADVERTISE => Kind::Offer,
            // A release and a decline are answered by a status.
            client6::REPLY if message.status(0).is_some() => Kind::Other,
            client6::REPLY => Kind::Ack,
            _ => Kind::Other,
        };
        let address = message.address().filter(|(_, _, valid)| *valid > 0);
        let prefix = message.prefix().filter(|(_, _, valid)| *valid > 0);
        let held = address.zip(prefix).map(|((address, _, valid), (prefix, ..))| {
            let valid = Duration::from_secs(valid.into());
            Held { address, prefix: Some(prefix), valid }
        });
        (kind, held)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Discover,
    Request,
    Renew,
    Rebind,
    Release,
    Decline,
}

enum Kind {
    Offer,
    Ack,
    Nak,
    Other,
}

/// Some clients around a server, which is the first node.
pub struct Hosts {
    clients: Vec<usize>,
    bound: usize,
}

impl Simulation for Hosts {
    type Machine = Node;
    const NAME: &'static str = "dhcp";
    const FAULTS_BELOW: u64 = 10;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Hosts) {
        let mut world = World::new(seed);
        let is_v6 = world.random().below(2) == 0;
        let count = 2 + world.random().below(8) as u32;
        let disk = Disk::default();
        let server = world.add_node(move |random| {
            let disk = (Rc::clone(&disk), random.bits());
            (server(is_v6, count, disk), vec![])
        });
        let mut clients = Vec::new();
        for number in 0..count {
            let client = world.add_node(move |random| {
                (Node::Client(Box::new(Client::new(is_v6, number, random.bits()))), vec![])
            });
            let quality = Quality::draw(world.random(), 100_000);
            let address = |last| IpAddr::from([10, 0, 1, last]);
            world.add_link([(server, address(1)), (client, address(2))], quality);
            clients.push(client);
        }
        (world, Hosts { clients, bound: 0 })
    }

    fn judge(&mut self, world: &mut World<Node>, told: Option<&Told<Event>>) -> Result<(), String> {
        let Some(Told { node, report: Event::Has(names), .. }) = told else { return Ok(()) };
        self.bound += 1;
        for other in self.clients.iter().filter(|other| *other != node) {
            let now = world.local(*other);
            let Some(Node::Client(client)) = world.machine(*other) else { continue };
            let has = client.has(now);
            if has.iter().any(|one| names.contains(one)) {
                return Err(format!("nodes {node} and {other} have {has:?}"));
            }
        }
        Ok(())
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let (leases, held, used, up) = match world.machine(0) {
            Some(Node::Server4(owned)) => {
                left(owned, |one| (one.leases(), one.pools().held(), one.pools().usage(0)))
            }
            Some(Node::Server6(owned)) => {
                left(owned, |one| (one.leases(), one.pools().held(), one.pools().usage(0)))
            }
            _ => return Err("the server is dead at the end".to_owned()),
        };
        if (leases, held, used, up) != (0, 0, 0, 0) {
            return Err(format!("left are {leases} leases, {held} units, {used} used, {up} up"));
        }
        if self.bound == 0 { Err("nobody had anything".to_owned()) } else { Ok(()) }
    }
}

fn left<M: Access>(
    owned: &Owned<M>,
    of: impl Fn(&M) -> (usize, usize, Option<protocol_dhcp::pools::Usage>),
) -> (usize, usize, u32, usize) {
    let (leases, held, usage) = of(owned.server.machine());
    (leases, held, usage.map_or(0, |usage| usage.used), owned.up.len())
}

/// Few addresses for many clients, and short times.
fn server(is_v6: bool, lines: u32, disk: (Disk, u64)) -> Node {
    let mut config: Config = if is_v6 { config6() } else { config4() };
    let second = Duration::from_secs(1);
    (config.classes[0].valid, config.classes[0].preferred) = (VALID, VALID);
    config.quarantine = [2 * second, 5 * second];
    (config.patience.answer, config.patience.offer) = (2 * second, 3 * second);
    config.patience.start = second;
    config.seed = Secret(disk.1);
    match is_v6 {
        false => {
            let made = v4::Server::new(config, SERVER.into()).expect("a server");
            let restore =
                |server: &mut v4::Server, now, record: &[u8]| server.restore(now, record).ok();
            Node::Server4(Box::new(Owned::new(made, lines, disk, v4::Server::record, restore)))
        }
        true => {
            let made = v6::Server::new(config, identity()).expect("a server");
            let restore =
                |server: &mut v6::Server, now, record: &[u8]| server.restore(now, record).ok();
            Node::Server6(Box::new(Owned::new(made, lines, disk, v6::Server::record, restore)))
        }
    }
}

/// For how long leases are valid.
const VALID: Duration = Duration::from_secs(12);

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(60);

/// Clients stop at this time of their clocks, each life anew.
const STOPS: Duration = Duration::from_secs(80);

/// Long enough for the last life of a client to stop, and for what it had to end.
const QUIET: Duration = Duration::from_secs(130);

/// Seeds of a run in CI.
const SEEDS: u64 = 1000;
