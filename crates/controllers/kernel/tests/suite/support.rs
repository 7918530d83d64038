//! A controller that is driven by hand with a router, and messages of the kernel.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use controller_kernel::{Config, Kernel};
use controller_kit::{Action, Alarm, Controller, Event, Link, Setup};
use engine::Function;
use function_kit::erased::{AnyUpdate, configured};
use function_kit::{NetworkFunction, PortName, Shard};
use function_l3_router::config::{self as l3, Network, Port};
use function_l3_router::{L3Router, Pipeline, Said, Update};
use machine::clock::Clock;
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket, Time};
use serde_json::Value;
use wire::MacAddr;

/// A controller with its router and its time.
pub struct Driven {
    pub kernel: Kernel,
    pub router: Pipeline,
    pub config: l3::Config,
    pub now: Time,
    pub alarms: Vec<Alarm>,
    pub refused: Vec<Update>,
    /// What the kernel tells when it is asked for lists, by the kind of the question.
    pub lists: Vec<(u16, Vec<u8>)>,
    first: u64,
}

impl Driven {
    pub fn new() -> Driven {
        Driven::with(router(), Config::default())
    }

    pub fn with(mut router: l3::Config, config: Config) -> Driven {
        L3Router::validate(&mut router).expect("a router");
        let mut pipeline = Pipeline::new(&router, Clock::with_rate(1e9), 0).expect("a router");
        let room = packet::Room { headroom: 64, frame: 1514, long: 0 };
        pipeline.make_room(room).expect("memory");
        Driven::on(router, config, pipeline)
    }

    /// A controller of a router that runs already.
    pub fn on(router: l3::Config, config: Config, pipeline: Pipeline) -> Driven {
        let memory = L3Router::memory(&router, Shard::WHOLE, &pipeline, 0);
        let function = configured::<L3Router>(router.clone());
        let state = memory.into_iter().map(AnyUpdate::of).collect();
        let setup = Setup { function: Some(&*function), state, seed: 7 };
        Driven {
            kernel: Kernel::new(&config, setup).expect("they fit"),
            router: pipeline,
            config: router,
            now: Time::ZERO,
            alarms: Vec::new(),
            refused: Vec::new(),
            lists: Vec::new(),
            first: 0,
        }
    }

    /// The kernel's interfaces 3 and 4 are the router's two.
    pub fn link(&mut self) -> &mut Driven {
        self.links(&[(3, 0), (4, 1)])
    }

    pub fn links(&mut self, links: &[(u32, u16)]) -> &mut Driven {
        let link = |&(kernel, number): &(u32, u16)| Link {
            name: format!("r{number}"),
            kernel: Interface(kernel),
            number,
        };
        let links = links.iter().map(link).collect();
        self.kernel.input(self.now, Input::Command(Event::Links(links)));
        self.poll()
    }

    /// Lets the kernel tell something.
    pub fn tell(&mut self, messages: &[Vec<u8>]) -> &mut Driven {
        let (socket, bytes) = (Socket(0), messages.concat());
        let arrival = Arrival::Netlink { socket, bytes: &bytes };
        self.kernel.input(self.now, Input::Arrival(arrival));
        self.poll()
    }

    pub fn pass(&mut self, span: Duration) -> &mut Driven {
        self.now = self.now.after(span);
        self.poll()
    }

    /// Takes everything that comes out, applies changes and answers them, and answers questions for
    /// lists.
    pub fn poll(&mut self) -> &mut Driven {
        while let Some(output) = self.kernel.poll(self.now) {
            match output {
                Output::Departure(Departure::Netlink { bytes, .. }) => self.answer(&bytes),
                Output::Departure(_) => {}
                Output::Report(Action::Alarm(alarm)) => self.alarms.push(alarm),
                Output::Report(Action::Line(line)) => panic!("{line:?} is nobody's to tell"),
                Output::Report(Action::Inject(one)) => panic!("{one:?} is nobody's to send"),
                Output::Report(Action::Updates(updates)) => panic!("{updates:?} is remembered"),
                Output::Report(Action::Passing(updates)) => {
                    assert!(!updates.is_empty() && updates.len() <= 1024);
                    updates.iter().for_each(|update| self.apply(update));
                }
            }
        }
        let deadline = self.kernel.deadline();
        assert!(deadline.is_none_or(|time| time > self.now), "it is at rest: {deadline:?}");
        self
    }

    fn answer(&mut self, question: &[u8]) {
        let kind = u16::from_le_bytes([question[4], question[5]]);
        let sequence = [question[8], question[9], question[10], question[11]];
        let of_kind = self.lists.iter().filter(|(of, _)| *of == kind);
        let mut bytes: Vec<u8> = of_kind.flat_map(|(_, message)| message.clone()).collect();
        let mut done = message(3, &[0; 4]);
        done[8..12].copy_from_slice(&sequence);
        bytes.extend(done);
        let arrival = Arrival::Netlink { socket: Socket(0), bytes: &bytes };
        self.kernel.input(self.now, Input::Arrival(arrival));
    }

    fn apply(&mut self, update: &AnyUpdate) {
        let update = update.typed::<Said>().expect("one of the router").numbered();
        let (first, at) = (self.first, self.now);
        self.first += 1;
        let event = match self.router.apply(update.said(), 0) {
            Ok(()) => Event::Applied { first, count: 1, at },
            Err(why) => {
                self.refused.push(update);
                Event::Refused { number: first, why }
            }
        };
        self.kernel.input(self.now, Input::Command(event));
    }

    /// Whether an address is the router's own.
    pub fn is_own(&self, address: &str) -> bool {
        match address.parse().expect("an address") {
            IpAddr::V4(address) => self.router.state().is_own_ipv4(0, address.to_bits()),
            IpAddr::V6(address) => self.router.state().is_own_ipv6(0, address.to_bits()),
        }
    }

    /// Whether there is a route, to anything.
    pub fn has(&self, prefix: &str) -> bool {
        let prefix: l3::Prefixed<IpAddr> = prefix.to_owned().try_into().expect("a prefix");
        self.router.state().get(Network::of(0, prefix)).is_some()
    }

    /// A figure that it shows, by its path.
    pub fn shown(&self, path: &str) -> Value {
        let shown = self.kernel.show();
        shown.pointer(path).unwrap_or_else(|| panic!("no {path} in {shown}")).clone()
    }

    /// The changes by which the router has more than its configuration.
    pub fn memory(&self) -> Vec<Update> {
        let memory = L3Router::memory(&self.config, Shard::WHOLE, &self.router, 0);
        memory.into_iter().map(Said::numbered).collect()
    }
}

/// A router of two ports that the host has, too; the second one without an address.
pub fn router() -> l3::Config {
    let port = |number: u8, ip: Option<[u8; 4]>| Port {
        name: PortName::new(&format!("p{number}")),
        mac: l3::Mac(MacAddr([2, 0, 0, 0, 0, number])),
        ip: ip.map(|ip| l3::Prefixed { address: Ipv4Addr::from(ip), len: 24 }),
        ipv6: None,
        host_interface: Some(function_kit::HostPlace::Here(PortName::new(&format!("r{number}")))),
    };
    l3::Config {
        ipv6: true,
        resolve: true,
        ecmp_capacity: 8,
        ports: vec![port(0, Some([10, 0, 0, 1])), port(1, None)],
        ..l3::Config::default()
    }
}

pub fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = 16 + body.len() as u32;
    let head = [&len.to_le_bytes()[..], &kind.to_le_bytes(), &[0; 10]].concat();
    [&head[..], body].concat()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = value.len() as u16 + 4;
    let mut bytes = [&len.to_le_bytes()[..], &kind.to_le_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn octets(address: &str) -> Vec<u8> {
    match address.parse().expect("an address") {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn family(octets: &[u8]) -> u8 {
    if octets.len() == 4 { 2 } else { 10 }
}

/// An address that comes (20) or goes (21).
pub fn address(kind: u16, interface: u32, prefix: &str) -> Vec<u8> {
    let (address, len) = prefix.split_once('/').expect("a length");
    let (address, len) = (octets(address), len.parse().expect("a number"));
    let head = [family(&address), len, 128, 0];
    let body = [&head[..], &interface.to_le_bytes(), &attribute(1, &address)].concat();
    message(kind, &body)
}

/// A neighbour of which something is known (28) or no more (29).
pub fn neighbour(kind: u16, interface: u32, address: &str, state: u8) -> Vec<u8> {
    let address = octets(address);
    let head = [&[family(&address), 0, 0, 0][..], &interface.to_le_bytes(), &[state, 0, 0, 1]];
    let mac = [2, 0, 0, 0, 0, 0x77];
    message(kind, &[&head.concat()[..], &attribute(1, &address), &attribute(2, &mac)].concat())
}

/// A route that comes (24) or goes (25).
pub fn route(kind: u16, table: u8, prefix: &str, gateway: &str, interface: u32) -> Vec<u8> {
    let (address, len) = prefix.split_once('/').expect("a length");
    let address = octets(address);
    let len = len.parse().expect("a number");
    let head = [family(&address), len, 0, 0, table, 3, 0, 1, 0, 0, 0, 0];
    let rest = [
        attribute(1, &address),
        attribute(5, &octets(gateway)),
        attribute(4, &interface.to_le_bytes()),
    ];
    message(kind, &[&head[..], &rest.concat()].concat())
}
