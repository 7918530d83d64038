//! All of it in virtual time, from one seed.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use controller_bng::{Bng, Config};
use controller_kit::{Action, Alarm, Asked, Context, Controller, Event, Punt, Setup};

use function_bng::config::{Config as GatewayConfig, Session};
use function_bng::{BroadbandGateway, Update};
use function_kit::NetworkFunction;
use function_kit::erased::{AnyUpdate, configured};
use protocol_kit::{
    Arrival, Bytes, Departure, Input, Interface, Machine, Opening, Output, Random, Socket, Time,
};
use protocol_radius::{Code, List};
use serde_json::{Value, json};

use crate::external::External;
use crate::gateway::Gateway;
use crate::host::{Host, Kind};
use crate::server::{SECRET, Server};

/// What is yet to happen.
enum Happens {
    /// A frame reaches the gateway.
    Up(Vec<u8>),
    /// A frame reaches a host.
    Down(usize, Vec<u8>),
    /// A datagram reaches the server, or the controller.
    ToServer(Socket, SocketAddr, Vec<u8>),
    ToBng(Socket, SocketAddr, Vec<u8>),
    /// Changes reach the gateway.
    Apply(u64, Vec<Update>),
    Tell(Event),
    /// The disk has done something for the controller.
    Disk(Socket, Done),
}

#[derive(Clone, Copy)]
enum Done {
    Opened,
    Written(usize),
    Finished,
}

/// How long a disk takes.
const DISK: Duration = Duration::from_millis(5);

/// How bad the links are.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// Of a thousand.
    pub lost: u64,
    pub repeated: u64,
    /// Longest delay beside that of every link.
    pub delay: Duration,
}

/// All of it.
pub struct World {
    pub bng: Bng,
    pub now: Time,
    pub random: Random,
    pub gateway: Gateway,
    pub server: Server,
    pub external: External,
    pub hosts: Vec<Host>,
    pub faults: Faults,
    pub alarms: Vec<Alarm>,
    pub lines: Vec<String>,
    /// Frames that have come up, and those that have left for lines.
    pub heard: Vec<Vec<u8>>,
    pub sent: Vec<Vec<u8>>,
    /// So many volumes that the gateway tells next are lost.
    pub untold: u32,
    /// How long changes take, at the most.
    pub apply_time: Duration,
    /// What the controller keeps, and what is yet to appear as a whole.
    pub file: Vec<u8>,
    hidden: Option<Vec<u8>>,
    pub disk_is_full: bool,
    queue: BTreeMap<(Time, u64), Happens>,
    order: u64,
    /// The number of the next change.
    number: u64,
    /// The socket of servers' requests.
    dynamic: Option<(Socket, SocketAddr)>,
    /// When something was handed to the gateway last: its answers are in order.
    applied_at: Time,
}

/// The gateway's keys, and one profile more than it needs.
pub fn gateway() -> GatewayConfig {
    let mut config: GatewayConfig = serde_json::from_value(json!({
        "access-mac": "02:b0:00:00:00:01",
        "access-addresses": ["10.1.0.1", "2001:db8::1"],
        "session-capacity": 64,
        "profiles": [{"name": "default"}, {"name": "gold"}],
    }))
    .expect("keys");
    BroadbandGateway::validate(&mut config).expect("a gateway");
    config
}

/// Keys with a pool of each kind, and the server if `has_radius`.
pub fn keys(change: Value) -> Config {
    let mut keys = json!({
        "pools": [
            {"name": "home", "kind": "ipv4", "prefix": "10.1.0.0/26"},
            {"name": "na", "kind": "na", "prefix": "2001:db8:1::/112"},
            {"name": "slaac", "kind": "slaac", "prefix": "2001:db8:2::/56"},
            {"name": "pd", "kind": "delegated", "prefix": "2001:db8:100::/48", "length": 56},
        ],
        "dns": ["192.0.2.53"],
        "lease-time-s": 600,
        "quarantine-s": 60,
        "radius": {
            "servers": [{"address": "192.0.2.1", "local": "192.0.2.9", "secret": SECRET}],
            "dynamic": ["192.0.2.9:3799"],
            "interim-interval-s": 120,
        },
    });
    let Value::Object(change) = change else { panic!("keys are an object") };
    for (key, value) in change {
        keys[key] = value;
    }
    let mut config: Config = serde_json::from_value(keys).expect("keys");
    Bng::validate(&mut config).expect("they are good");
    config
}

impl World {
    pub fn new(config: &Config, seed: u64) -> World {
        World::with_state(config, seed, Vec::new())
    }

    /// The same at a gateway that has sessions of an earlier life.
    pub fn with_state(config: &Config, seed: u64, state: Vec<AnyUpdate>) -> World {
        let function = configured::<BroadbandGateway>(gateway());
        let setup = Setup { function: Some(&*function), state, seed };
        let mut world = World {
            bng: Bng::new(config, setup).expect("a controller"),
            now: Time::ZERO,
            random: Random::new(seed ^ 0x5eed),
            gateway: Gateway::default(),
            server: Server::default(),
            external: External { valid_s: 600, ..External::default() },
            hosts: Vec::new(),
            faults: Faults::default(),
            alarms: Vec::new(),
            lines: Vec::new(),
            heard: Vec::new(),
            sent: Vec::new(),
            untold: 0,
            apply_time: Duration::from_millis(2),
            file: Vec::new(),
            hidden: None,
            disk_is_full: false,
            queue: BTreeMap::new(),
            order: 0,
            number: 0,
            dynamic: None,
            applied_at: Time::ZERO,
        };
        let day = Duration::from_secs(1_700_000_000);
        world.bng.input(Time::ZERO, Input::Command(Event::TimeOfDay(day)));
        world
    }

    /// The controller begins again, at the gateway as it is.
    pub fn restart(&mut self, config: &Config, seed: u64) {
        let function = configured::<BroadbandGateway>(gateway());
        let sessions = self.gateway.sessions.values();
        let state = sessions.map(|(session, _)| AnyUpdate::of(Update::AddSession(*session)));
        let setup = Setup { function: Some(&*function), state: state.collect(), seed };
        self.bng = Bng::new(config, setup).expect("a controller");
        self.bng.restore(&self.file).expect("its own file");
        self.number = 0;
        let is_its = |happens: &Happens| {
            !matches!(
                happens,
                Happens::Apply(..) | Happens::Tell(_) | Happens::ToBng(..) | Happens::Disk(..)
            )
        };
        self.queue.retain(|_, happens| is_its(happens));
        let day = Duration::from_secs(1_700_000_000);
        self.bng.input(self.now, Input::Command(Event::TimeOfDay(day)));
    }

    /// Adds a host; returns its number.
    pub fn add(&mut self, host: Host) -> usize {
        self.hosts.push(host);
        self.hosts.len() - 1
    }

    pub fn begin(&mut self, host: usize) {
        self.hosts[host].begin(self.now);
    }

    pub fn end(&mut self, host: usize, says_so: bool) {
        for frame in self.hosts[host].end(says_so, self.now) {
            self.send(Happens::Up(frame));
        }
    }

    /// A host finds its address used by somebody else.
    pub fn decline(&mut self, host: usize) {
        for frame in self.hosts[host].decline(self.now) {
            self.send(Happens::Up(frame));
        }
    }

    /// A server asks for a change or an end of a session.
    pub fn ask(&mut self, code: Code, identifier: u8, attributes: &List) {
        let secret = Server::secret();
        let attributes = attributes.attributes();
        let bytes = protocol_radius::seal::dynamic_request((code, identifier), &secret, attributes);
        let (socket, _) = self.dynamic.expect("a socket");
        let from = "192.0.2.1:3799".parse().expect("an address");
        self.at(Duration::from_millis(1), Happens::ToBng(socket, from, bytes.expect("it fits")));
    }

    /// A host whose frames a test makes sends one, from its EtherType on; returns those that come
    /// back in a second.
    pub fn exchange(&mut self, host: usize, kind: u16, payload: &[u8]) -> Vec<Vec<u8>> {
        let Host { line, mac, .. } = self.hosts[host];
        let to = [0x33, 0x33, 0, 0, 0, 2];
        self.send(Happens::Up(crate::host::frame((line, mac), to, kind, payload)));
        self.run(seconds(1));
        match &mut self.hosts[host].kind {
            Kind::Bare(heard) => std::mem::take(heard),
            _ => Vec::new(),
        }
    }

    /// A peer of PPP sends a packet of IPv6; returns those that come back in a second.
    pub fn exchange_within(&mut self, host: usize, packet: &[u8]) -> Vec<Vec<u8>> {
        let Host { line, mac, .. } = self.hosts[host];
        let id = self.hosts[host].pppoe().expect("a session");
        let len = packet.len() as u16 + 2;
        let head = [&[0x11, 0][..], &[id, len].map(u16::to_be_bytes).concat(), &[0, 0x57]];
        let payload = [&head.concat(), packet].concat();
        let to = [2, 0xb0, 0, 0, 0, 1];
        self.sent.clear();
        self.send(Happens::Up(crate::host::frame((line, mac), to, 0x8864, &payload)));
        self.run(seconds(1));
        // One tag, and the header of PPPoE.
        let within = self.sent.iter().filter(|frame| frame[16..18] == [0x88, 0x64]);
        let within = within.filter(|frame| frame[24..26] == [0x00, 0x57]);
        within.map(|frame| frame[26..].to_vec()).collect()
    }

    /// A packet of a host; whether it passes.
    pub fn pass(&mut self, host: usize, bytes: u64) -> bool {
        let Host { line, mac, .. } = self.hosts[host];
        let pppoe = self.hosts[host].pppoe();
        let (ipv4, na) = (self.hosts[host].address(), self.hosts[host].na());
        let has_it = |it: &&Session| match ipv4 {
            Some(_) => it.ipv4 == ipv4,
            None => na.is_some() && it.na == na,
        };
        let session = self.gateway.of(line, mac, pppoe).filter(has_it);
        let Some(number) = session.map(|session| session.number) else { return false };
        let which = if ipv4.is_some() { 0 } else { 2 };
        self.gateway.pass(number, which, bytes);
        self.gateway.pass(number, which + 1, 2 * bytes);
        true
    }

    /// Entries of a table.
    pub fn table(&self, table: &str, filters: &[(&str, &str)]) -> Vec<Value> {
        let filters = filters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let filters = filters.collect();
        let asked = Asked { table, from: 0, limit: 1000, filters: &filters };
        self.bng.table_page(&asked, self.now).expect("a page").entries
    }

    /// Units of pools that are in use.
    pub fn used(&self) -> Vec<u64> {
        let pools = self.table("pools", &[]);
        pools.iter().map(|pool| pool["used"].as_u64().expect("a number")).collect()
    }

    /// An operator's command.
    pub fn command(&mut self, name: &str, keys: Value) -> Result<Value, String> {
        let keys = keys.as_object().expect("keys");
        let done = self.bng.command(name, keys, self.now);
        done.map(Value::Object).map_err(|why| format!("{}; {}", why.what, why.remedy))
    }

    /// Lets time pass.
    pub fn run(&mut self, span: Duration) {
        let end = self.now.after(span);
        loop {
            self.drain();
            let queued = self.queue.keys().next().map(|(at, _)| *at);
            let hosts = self.hosts.iter().filter_map(Host::deadline);
            let next = hosts.chain(queued).chain(self.bng.deadline()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            while let Some(entry) = self.queue.first_entry().filter(|it| it.key().0 <= self.now) {
                let happens = entry.remove();
                self.happen(happens);
            }
        }
        self.now = end;
    }

    fn drain(&mut self) {
        for host in 0..self.hosts.len() {
            for frame in self.hosts[host].poll(self.now) {
                self.send(Happens::Up(frame));
            }
        }
        while let Some(output) = self.bng.poll(self.now) {
            match output {
                Output::Departure(departure) => self.depart(departure),
                Output::Report(Action::Updates(updates) | Action::Passing(updates)) => {
                    let updates = updates.iter().map(|it| it.typed().cloned().expect("its own"));
                    let updates: Vec<Update> = updates.collect();
                    let first = self.number;
                    self.number += updates.len() as u64;
                    let at = self.now.after(self.apply_time).max(self.applied_at);
                    self.applied_at = at;
                    self.order += 1;
                    self.queue.insert((at, self.order), Happens::Apply(first, updates));
                }
                Output::Report(Action::Inject(injection)) => self.inject(&injection.frame),
                Output::Report(Action::Alarm(alarm)) => self.alarms.push(alarm),
                Output::Report(Action::Line(line)) => self.lines.push(line.text),
            }
        }
    }

    /// A frame leaves for a line. What tells a host that it is up may do so only if it is.
    fn inject(&mut self, frame: &[u8]) {
        self.sent.push(frame.to_vec());
        let tags = [(0x88, 0xa8), (0x81, 0x00)];
        let (mut at, mut vlans) = (12, Vec::new());
        while tags.contains(&(frame[at], frame[at + 1])) {
            vlans.push(u16::from_be_bytes([frame[at + 2], frame[at + 3]]));
            at += 4;
        }
        let line = match *vlans {
            [outer, inner] => (outer, inner),
            [inner] => (0, inner),
            _ => (0, 0),
        };
        let payload = &frame[at + 2..];
        let place = function_bng::config::Line { outer: line.0, inner: line.1 };
        // A Reply with an address, whose option has 24 bytes.
        if frame[at..at + 2] == [0x86, 0xdd]
            && (payload[6], payload[48]) == (17, 7)
            && let Some(at) = payload.windows(4).position(|it| *it == [0, 5, 0, 24])
        {
            let session = self.gateway.of(place, frame[..6].try_into().expect("six"), None);
            let address = <[u8; 16]>::try_from(&payload[at + 4..at + 20]).expect("sixteen");
            let has_it = session.and_then(|session| session.na);
            assert_eq!(has_it, Some(address.into()), "told before its packets pass");
        }
        if frame[at..at + 2] == [0x08, 0x00] && payload[28 + 236 + 4..].starts_with(&[53, 1, 5]) {
            let message = &payload[28..];
            let address = Ipv4Addr::from(<[u8; 4]>::try_from(&message[16..20]).expect("four"));
            let chaddr: [u8; 6] = message[28..34].try_into().expect("six");
            let session = self.gateway.of(place, chaddr, None);
            let has_it = session.and_then(|session| session.ipv4);
            assert_eq!(has_it, Some(address), "acknowledged before its packets pass");
        }
        for host in 0..self.hosts.len() {
            let Host { line: place, mac, .. } = self.hosts[host];
            let is_its =
                (place.outer, place.inner) == line && (frame[..6] == mac || frame[0] & 1 == 1);
            if is_its {
                self.send(Happens::Down(host, frame.to_vec()));
            }
        }
    }

    fn depart(&mut self, departure: Departure) {
        match departure {
            Departure::Open { socket, opening: Opening::Datagrams { local, .. } } => {
                if local.port() == 3799 {
                    self.dynamic = Some((socket, local));
                }
            }
            Departure::Datagram { socket, to, bytes, .. } => {
                self.send(Happens::ToServer(socket, to, bytes));
            }
            Departure::Open { socket, opening: Opening::File(file) } => {
                self.hidden = file.appears_whole.then(Vec::new);
                self.at(DISK, Happens::Disk(socket, Done::Opened));
            }
            Departure::Bytes { socket, bytes } => {
                if !self.disk_is_full {
                    self.hidden.as_mut().unwrap_or(&mut self.file).extend_from_slice(&bytes);
                }
                self.at(DISK, Happens::Disk(socket, Done::Written(bytes.len())));
            }
            Departure::Finish { socket } => {
                self.file = self.hidden.take().expect("a whole one");
                self.at(DISK, Happens::Disk(socket, Done::Finished));
            }
            Departure::Close { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    /// Something takes its way over a link.
    fn send(&mut self, happens: Happens) {
        let copies = match self.random.below(1000) {
            draw if draw < self.faults.lost => 0,
            draw if draw < self.faults.lost + self.faults.repeated => 2,
            _ => 1,
        };
        let copy = |happens: &Happens| match happens {
            Happens::Up(frame) => Happens::Up(frame.clone()),
            Happens::Down(host, frame) => Happens::Down(*host, frame.clone()),
            Happens::ToServer(socket, to, bytes) => Happens::ToServer(*socket, *to, bytes.clone()),
            Happens::ToBng(socket, from, bytes) => Happens::ToBng(*socket, *from, bytes.clone()),
            Happens::Apply(..) | Happens::Tell(_) | Happens::Disk(..) => {
                panic!("they take no link")
            }
        };
        for _ in 0..copies {
            let extra = self.random.below(1 + self.faults.delay.as_nanos() as u64);
            let delay = Duration::from_millis(1) + Duration::from_nanos(extra);
            self.at(delay, copy(&happens));
        }
    }

    fn at(&mut self, delay: Duration, happens: Happens) {
        self.order += 1;
        self.queue.insert((self.now.after(delay), self.order), happens);
    }

    fn happen(&mut self, happens: Happens) {
        match happens {
            Happens::Up(frame) => {
                if let Some(reason) = self.reason(&frame) {
                    self.heard.push(frame.clone());
                    let (now, frame) = (self.now, Bytes::from(frame));
                    let context = Context::default();
                    let punt = Punt { worker: 0, reason, port: 0, context, at: now, frame };
                    self.bng.input(now, Input::Command(Event::Punted(punt)));
                }
            }
            Happens::Down(host, frame) => self.hosts[host].hear(&frame, self.now),
            Happens::ToServer(socket, to, bytes) => {
                let answer = match to.port() {
                    67 | 547 => self.external.hear(to, &bytes),
                    _ => self.server.hear(&bytes),
                };
                if let Some(answer) = answer {
                    self.send(Happens::ToBng(socket, to, answer));
                }
            }
            Happens::ToBng(socket, from, bytes) => {
                let to: IpAddr = "192.0.2.9".parse().expect("an address");
                let interface = Interface(0);
                let bytes = &bytes[..];
                let arrival = Arrival::Datagram { socket, interface, from, to, ttl: 64, bytes };
                self.bng.input(self.now, Input::Arrival(arrival));
            }
            Happens::Apply(first, updates) => self.apply(first, &updates),
            Happens::Tell(event) => self.bng.input(self.now, Input::Command(event)),
            Happens::Disk(socket, done) => {
                let arrival = match done {
                    _ if self.disk_is_full => Arrival::Failed { socket },
                    Done::Opened => Arrival::Connected { socket, local: None, peer: None },
                    Done::Written(count) => Arrival::Taken { socket, count },
                    Done::Finished => Arrival::Finished { socket },
                };
                self.bng.input(self.now, Input::Arrival(arrival));
            }
        }
    }

    fn apply(&mut self, first: u64, updates: &[Update]) {
        let at = self.now;
        for (number, update) in (first..).zip(updates) {
            let event = match self.gateway.apply(update, at) {
                Ok(told) => {
                    let lost = told.len().min(std::mem::take(&mut self.untold) as usize);
                    for event in told.into_iter().skip(lost) {
                        let delay = Duration::from_nanos(self.random.below(5_000_000));
                        self.at(delay, Happens::Tell(event));
                    }
                    Event::Applied { first: number, count: 1, at }
                }
                Err(why) => Event::Refused { number, why },
            };
            self.bng.input(at, Input::Command(event));
        }
    }

    /// Why a worker would punt a frame.
    pub fn reason(&self, frame: &[u8]) -> Option<&'static str> {
        let mut at = 12;
        let mut vlans = [0; 2];
        let mut count = 0;
        while matches!(frame[at..at + 2], [0x88, 0xa8] | [0x81, 0x00]) {
            vlans[count] = u16::from_be_bytes([frame[at + 2], frame[at + 3]]);
            (at, count) = (at + 4, count + 1);
        }
        let [outer, inner] = if count == 2 { vlans } else { [0, vlans[0]] };
        let line = function_bng::config::Line { outer, inner };
        let payload = &frame[at + 2..];
        match frame[at..at + 2] {
            [0x08, 0x00] => Some("dhcpv4"),
            [0x86, 0xdd] if payload[6] == 17 => Some("dhcpv6"),
            [0x86, 0xdd] => Some("router-solicitation"),
            [0x88, 0x63] => Some("pppoe-discovery"),
            _ => {
                let id = u16::from_be_bytes([payload[2], payload[3]]);
                let mac = frame[6..12].try_into().expect("six");
                let reason = match payload[6..8] {
                    [0x00, 0x57] if payload[8 + 6] == 17 => "dhcpv6",
                    [0x00, 0x57] => "router-solicitation",
                    _ => "ppp",
                };
                self.gateway.of(line, mac, Some(id)).map(|_| reason)
            }
        }
    }

    /// The client of DHCP of a host.
    pub fn dhcp(&mut self, host: usize) -> &mut crate::host::Dhcp {
        match &mut self.hosts[host].kind {
            Kind::Dhcp(dhcp) => dhcp,
            Kind::Dhcp6(_) | Kind::Dialled(_) | Kind::Bare(_) => panic!("it is no such client"),
        }
    }

    /// The client of PPPoE of a host.
    pub fn dialled(&mut self, host: usize) -> &mut crate::host::Dialled {
        match &mut self.hosts[host].kind {
            Kind::Dialled(dialled) => dialled,
            Kind::Dhcp(_) | Kind::Dhcp6(_) | Kind::Bare(_) => panic!("it does not dial"),
        }
    }
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
