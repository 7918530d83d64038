//! An access concentrator with PPP behind it, and hosts, in a simulated network that loses,
//! repeats, delays and reorders, and whose nodes die: at the end each host has one session, and
//! nobody has more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Opening, Output, Random, Secret, Socket, Takes,
    Time,
};
use protocol_ppp::{self as ppp, Answer, Identity, Keepalive, Method, Network, Ppp, V4, V6};
use protocol_pppoe::client::{self, Client};
use protocol_pppoe::packet::{Packet, TYPE_DISCOVERY, TYPE_SESSION, code};
use protocol_pppoe::{self as pppoe, AccessConcentrator, Line, Origin};
use simulation::{Quality, Said, Simulation, World, simulate, simulate_once};
use wire::ethernet::MacAddr;

use crate::clients::wanted;

/// A node of the world.
enum Node {
    Server(Box<Server>),
    Host(Box<Host>),
}

/// An access concentrator: a line for each link.
struct Server {
    ac: AccessConcentrator,
    ppp: Ppp,
    config: Arc<ppp::Config>,
    links: u32,
    /// Of each session its line, host and Session-ID.
    sessions: BTreeMap<u32, (Line, MacAddr, u16)>,
    opened: u32,
    frames: VecDeque<(u32, Vec<u8>)>,
}

/// A host, which looks for a session again a second after it has lost one.
struct Host {
    mac: MacAddr,
    link: u32,
    client: Client,
    ppp: Ppp,
    config: Arc<ppp::Config>,
    is_open: bool,
    session: Option<(MacAddr, u16)>,
    begins: Option<Time>,
    frames: VecDeque<Vec<u8>>,
}

/// What the world hears.
#[derive(Debug)]
enum Heard {
    Opened(MacAddr, Ipv4Addr),
    Strange(String),
}

const AC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xac]);

fn frame(to: MacAddr, from: MacAddr, kind: u16, packet: &[u8]) -> Vec<u8> {
    [&to.0[..], &from.0, &kind.to_be_bytes(), packet].concat()
}

/// Destination, source, type and what follows.
fn read(frame: &[u8]) -> Option<(MacAddr, MacAddr, u16, &[u8])> {
    let (to, rest) = frame.split_first_chunk()?;
    let (from, rest) = rest.split_first_chunk()?;
    let (kind, rest) = rest.split_first_chunk()?;
    Some((MacAddr(*to), MacAddr(*from), u16::from_be_bytes(*kind), rest))
}

fn sockets(interface: u32) -> Output<Heard> {
    let takes = [TYPE_DISCOVERY, TYPE_SESSION];
    let takes = takes.map(|ether_type| Takes { ether_type, protocol: None }).to_vec();
    let opening = Opening::Frames { interface: Interface(interface), takes, groups: vec![] };
    Output::Departure(Departure::Open { socket: Socket(interface), opening })
}

impl Machine for Node {
    type Command = ();
    type Report = Heard;

    fn input(&mut self, now: Time, input: Input<'_, ()>) {
        let Input::Arrival(Arrival::Frame { interface, bytes, .. }) = input else { return };
        let Some((to, from, kind, bytes)) = read(bytes) else { return };
        match self {
            Node::Server(server) => server.receive(now, interface.0, (to, from, kind), bytes),
            Node::Host(host) => host.receive(now, (to, from, kind), bytes),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Heard>> {
        match self {
            Node::Server(server) => server.poll(now),
            Node::Host(host) => host.poll(now),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Server(server) if server.opened < server.links => Some(Time::ZERO),
            Node::Server(server) => {
                [server.ac.deadline(), server.ppp.deadline()].into_iter().flatten().min()
            }
            Node::Host(host) if !host.is_open => Some(Time::ZERO),
            Node::Host(host) => {
                let all = [host.client.deadline(), host.ppp.deadline(), host.begins];
                all.into_iter().flatten().min()
            }
        }
    }
}

impl Server {
    fn receive(&mut self, now: Time, link: u32, frame: (MacAddr, MacAddr, u16), bytes: &[u8]) {
        let (to, from, kind) = frame;
        let line = Line { port: link, ..Line::default() };
        let is_to_group = to.is_multicast();
        if !is_to_group && to != AC {
            return;
        }
        if kind == TYPE_DISCOVERY {
            self.ac.receive(now, Origin { line, from, is_to_group }, bytes);
        } else if let Ok(packet) = Packet::parse(bytes) {
            let key = (line, from, packet.session_id);
            let found = self.sessions.iter().find(|(_, one)| **one == key);
            if let Some((number, _)) = found {
                self.ppp.receive(now, *number, packet.payload);
            }
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Heard>> {
        if self.opened < self.links {
            self.opened += 1;
            return Some(sockets(self.opened - 1));
        }
        loop {
            if let Some((link, bytes)) = self.frames.pop_front() {
                let departure = Departure::Frame { socket: Socket(link), bytes };
                return Some(Output::Departure(departure));
            }
            if let Some(Output::Report(report)) = self.ac.poll(now) {
                if let Some(strange) = self.hear_ac(report, now) {
                    return Some(Output::Report(strange));
                }
                continue;
            }
            let Some(Output::Report(report)) = self.ppp.poll(now) else { return None };
            if let Some(strange) = self.hear_ppp(report, now) {
                return Some(Output::Report(strange));
            }
        }
    }

    fn hear_ac(&mut self, report: pppoe::Report, now: Time) -> Option<Heard> {
        match report {
            pppoe::Report::Send { line, to, packet } => {
                self.frames.push_back((line.port, frame(to, AC, TYPE_DISCOVERY, &packet)));
            }
            pppoe::Report::Opened { session, opened } => {
                let key = (opened.line, opened.host, opened.session_id);
                if self.sessions.insert(session, key).is_some() {
                    return Some(Heard::Strange(format!("{session} twice")));
                }
                let (config, mru) = (self.config.clone(), opened.max_payload);
                let command = ppp::Command::Open { session, config, mru };
                self.ppp.input(now, Input::Command(command));
            }
            pppoe::Report::Closed { session, .. } => {
                self.sessions.remove(&session);
                if self.ppp.view(session).is_some() {
                    self.ppp.input(now, Input::Command(ppp::Command::Down { session }));
                }
            }
            pppoe::Report::Refused { why } => return Some(Heard::Strange(why.to_string())),
        }
        None
    }

    fn hear_ppp(&mut self, report: ppp::Report, now: Time) -> Option<Heard> {
        match report {
            ppp::Report::Send { session, payload } => {
                // What was said before a session was over has no way any more.
                let (line, host, session_id) = *self.sessions.get(&session)?;
                let packet = Packet { code: code::SESSION, session_id, payload: &payload }.emit();
                self.frames.push_back((line.port, frame(host, AC, TYPE_SESSION, &packet)));
            }
            ppp::Report::Asked { session, question, credentials, .. } => {
                if !credentials.prove(b"right") {
                    return Some(Heard::Strange(format!("{credentials:?}")));
                }
                let remote = Ipv4Addr::new(10, 0, 1, session as u8);
                let v4 = V4 { local: Ipv4Addr::new(10, 0, 0, 1), remote, ..V4::default() };
                let given = Network { v4: Some(v4), v6: Some(V6::default()) };
                let answer = Answer::Accept(given);
                let command = ppp::Command::Answer { session, question, answer };
                self.ppp.input(now, Input::Command(command));
            }
            ppp::Report::V4Up { session, addresses, .. } => {
                let (_, host, _) = *self.sessions.get(&session)?;
                return Some(Heard::Opened(host, addresses.remote));
            }
            ppp::Report::Ended { session, .. } if self.sessions.contains_key(&session) => {
                let command = pppoe::Command::Close { session, why: vec![] };
                self.ac.input(now, Input::Command(command));
            }
            ppp::Report::Refused { why, .. } => return Some(Heard::Strange(why.to_string())),
            _ => {}
        }
        None
    }
}

impl Host {
    fn receive(&mut self, now: Time, frame: (MacAddr, MacAddr, u16), bytes: &[u8]) {
        let (to, from, kind) = frame;
        if to != self.mac {
            return;
        }
        if kind == TYPE_DISCOVERY {
            self.client.receive(now, from, bytes);
        } else if let Ok(packet) = Packet::parse(bytes)
            && self.session == Some((from, packet.session_id))
        {
            self.ppp.receive(now, 0, packet.payload);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Heard>> {
        if !std::mem::replace(&mut self.is_open, true) {
            self.begins = Some(now);
            return Some(sockets(self.link));
        }
        if self.begins.take_if(|begins| *begins <= now).is_some() {
            self.client.input(now, Input::Command(client::Command::Begin));
        }
        loop {
            if let Some(bytes) = self.frames.pop_front() {
                let departure = Departure::Frame { socket: Socket(self.link), bytes };
                return Some(Output::Departure(departure));
            }
            if let Some(Output::Report(report)) = self.client.poll(now) {
                self.hear_client(report, now);
                continue;
            }
            let Some(Output::Report(report)) = self.ppp.poll(now) else { return None };
            match report {
                ppp::Report::Send { payload, .. } => {
                    let Some((to, session_id)) = self.session else { continue };
                    let packet =
                        Packet { code: code::SESSION, session_id, payload: &payload }.emit();
                    self.frames.push_back(frame(to, self.mac, TYPE_SESSION, &packet));
                }
                ppp::Report::Ended { .. } if self.session.is_some() => {
                    self.client.input(now, Input::Command(client::Command::End));
                }
                _ => {}
            }
        }
    }

    fn hear_client(&mut self, report: client::Report, now: Time) {
        match report {
            client::Report::Send { to, packet } => {
                self.frames.push_back(frame(to, self.mac, TYPE_DISCOVERY, &packet));
            }
            client::Report::Opened { concentrator, session_id, max_payload } => {
                self.session = Some((concentrator, session_id));
                let config = self.config.clone();
                let command = ppp::Command::Open { session: 0, config, mru: max_payload };
                self.ppp.input(now, Input::Command(command));
            }
            client::Report::Closed(_) => {
                self.session = None;
                self.begins = Some(now.after(Duration::from_secs(1)));
                if self.ppp.view(0).is_some() {
                    self.ppp.input(now, Input::Command(ppp::Command::Down { session: 0 }));
                }
            }
        }
    }
}

struct Access {
    hosts: usize,
    /// Hosts that were up at some time.
    were_up: BTreeSet<MacAddr>,
}

#[test]
fn each_host_has_a_session_at_the_end() {
    simulate::<Access>(SEEDS);
}

#[test]
fn a_protocol_that_ended_on_both_sides_begins_anew() {
    // Of this run's faults one takes all requests of a network protocol, while the other one is up.
    simulate_once::<Access>(398);
}

impl Simulation for Access {
    type Machine = Node;
    const NAME: &'static str = "pppoe";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = Duration::from_secs(40);
    const QUIET: Duration = Duration::from_secs(60);

    fn world(seed: u64) -> (World<Node>, Access) {
        let mut world = World::new(seed);
        let hosts = 1 + world.random().below(3) as usize;
        let usual = ppp::Config {
            restart: Duration::from_millis(300),
            setup_time: Duration::from_secs(8),
            keepalive: Some(Keepalive { interval: Duration::from_secs(1), failures: 3 }),
            ..ppp::Config::new()
        };
        let methods = vec![[Method::ChapMd5, Method::Pap][world.random().below(2) as usize]];
        let server = Arc::new(ppp::Config { requires: methods.clone(), ..usual.clone() });
        world.add_node(move |random| {
            let config = pppoe::Config { max_payload: 1500, ..pppoe::Config::new(b"ac") };
            let ac = AccessConcentrator::new(config, seed_of(random)).expect("it can be used");
            let server = Server {
                ac,
                ppp: Ppp::new(16, seed_of(random)),
                config: server.clone(),
                links: hosts as u32,
                sessions: BTreeMap::new(),
                opened: 0,
                frames: VecDeque::new(),
            };
            (Node::Server(Box::new(server)), vec![])
        });
        let (name, secret) = (b"me".to_vec(), Secret(b"right".to_vec()));
        let identity = Some(Identity { methods, name, secret });
        let network = Some(Network { v4: Some(V4::default()), v6: Some(V6::default()) });
        let host = ppp::Config { requires: vec![], identity, network, ..usual };
        let host = Arc::new(host);
        for number in 0..hosts {
            let (config, max_payload) = (host.clone(), 1492 + 8 * (number as u16 % 2));
            let node = world.add_node(move |random| {
                let host_uniq = random.bits().to_be_bytes().to_vec();
                let wanted = client::Wanted { host_uniq, max_payload, ..wanted() };
                let host = Host {
                    mac: MacAddr([2, 0, 0, 0, 1, number as u8]),
                    link: number as u32,
                    client: Client::new(wanted),
                    ppp: Ppp::new(1, seed_of(random)),
                    config: config.clone(),
                    is_open: false,
                    session: None,
                    begins: None,
                    frames: VecDeque::new(),
                };
                (Node::Host(Box::new(host)), vec![])
            });
            let address = |last: usize| IpAddr::from([10, 0, number as u8, last as u8]);
            let quality = Quality { jitter: Duration::from_millis(2), ..Quality::GOOD };
            world.add_link([(0, address(1)), (node, address(2))], quality);
        }
        (world, Access { hosts, were_up: BTreeSet::new() })
    }

    fn judge(&mut self, _: &mut World<Node>, said: Option<&Said<Heard>>) -> Result<(), String> {
        match said {
            Some(Said { at, node, report: Heard::Strange(what) }) => {
                Err(format!("node {node} at {at}: {what}"))
            }
            Some(Said { at, report: Heard::Opened(host, address), .. }) => {
                self.were_up.insert(*host);
                match address.octets() {
                    [10, 0, 1, last] if last < 16 => Ok(()),
                    _ => Err(format!("{host} at {at} has {address}")),
                }
            }
            None => Ok(()),
        }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let Some(Node::Server(server)) = world.machine(0) else {
            return Err("the server is dead at the end".to_owned());
        };
        let counters = server.ac.counters();
        let lives = (counters.opened - counters.closed) as usize;
        let all = [server.ac.sessions(), server.sessions.len(), lives];
        if all != [self.hosts; 3] {
            return Err(format!("{all:?} sessions of {} hosts, {counters:?}", self.hosts));
        }
        if self.were_up.len() != self.hosts {
            return Err(format!("up were {:?}", self.were_up));
        }
        let hosts: BTreeSet<MacAddr> = server.sessions.values().map(|one| one.1).collect();
        if hosts.len() != self.hosts {
            return Err(format!("{:?}", server.sessions));
        }
        for (number, (line, host, id)) in &server.sessions {
            let Some(Node::Host(far)) = world.machine(1 + line.port as usize) else {
                return Err(format!("host {host} is dead at the end"));
            };
            let views = [server.ppp.view(*number), far.ppp.view(0)];
            let are_up =
                views.iter().all(|view| view.is_some_and(|one| one.is_v4_up && one.is_v6_up));
            let mtu = 1492 + 8 * (line.port as u16 % 2);
            let has_mtu = views.iter().all(|view| view.is_some_and(|one| one.link.mtu == mtu));
            if !are_up || !has_mtu || far.session != Some((AC, *id)) {
                return Err(format!("host {host}: {views:?}, {:?} and {id}", far.session));
            }
        }
        Ok(())
    }
}

fn seed_of(random: &mut Random) -> [u8; 32] {
    let mut seed = [0; 32];
    seed.chunks_mut(8).for_each(|part| part.copy_from_slice(&random.bits().to_be_bytes()));
    seed
}

/// Seeds of a run in CI.
const SEEDS: u64 = 200;
