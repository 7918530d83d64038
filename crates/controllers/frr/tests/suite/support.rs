//! A controller that is driven by hand with a router, and messages of zebra.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use controller_frr::{Config, Frr};
use controller_kit::{Action, Alarm, Controller, Event, Link, Setup};
use engine::Function;
use function_kit::NetworkFunction;
use function_kit::erased::{AnyUpdate, configured};
use function_kit::{PortName, Shard};
use function_l3_router::config::{self as l3, GROUPS, NextHop};
use function_l3_router::{L3Router, Pipeline, Said, Update};
use machine::clock::Clock;
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket, Time};
use serde_json::Value;

/// A controller with its router and its time.
pub struct Driven {
    pub frr: Frr,
    pub router: Pipeline,
    pub config: l3::Config,
    pub now: Time,
    pub departures: Vec<Departure>,
    pub alarms: Vec<Alarm>,
    /// All changes, and those among them that were refused.
    pub changes: Vec<Update>,
    pub refused: Vec<Update>,
    /// Whether the router answers.
    pub answers: bool,
    /// The number of the first change without an answer.
    first: u64,
    /// What the answers would have been.
    unanswered: Vec<Event>,
}

impl Driven {
    /// A controller with a router of room for much.
    pub fn new() -> Driven {
        Driven::with(router(), Config::default())
    }

    pub fn with(mut router: l3::Config, config: Config) -> Driven {
        L3Router::validate(&mut router).expect("a router");
        let pipeline = Pipeline::new(&router, Clock::with_rate(1e9), 0).expect("a router");
        Driven::on(router, config, pipeline)
    }

    /// A controller of a router that runs already.
    pub fn on(router: l3::Config, config: Config, pipeline: Pipeline) -> Driven {
        let memory = L3Router::memory(&router, Shard::WHOLE, &pipeline, 0);
        let function = configured::<L3Router>(router.clone());
        let state = memory.into_iter().map(AnyUpdate::of).collect();
        let setup = Setup { function: Some(&*function), state, seed: 7 };
        let mut driven = Driven {
            frr: Frr::new(&config, setup).expect("they fit"),
            router: pipeline,
            config: router,
            now: Time::ZERO,
            departures: Vec::new(),
            alarms: Vec::new(),
            changes: Vec::new(),
            refused: Vec::new(),
            answers: true,
            first: 0,
            unanswered: Vec::new(),
        };
        driven.poll();
        driven
    }

    /// The same router with a controller that begins.
    pub fn restarted(self, config: Config) -> Driven {
        Driven::on(self.config, config, self.router)
    }

    pub fn event(&mut self, event: Event) -> &mut Driven {
        self.frr.input(self.now, Input::Command(event));
        self.poll();
        self
    }

    pub fn arrive(&mut self, arrival: Arrival<'_>) -> &mut Driven {
        self.frr.input(self.now, Input::Arrival(arrival));
        self.poll();
        self
    }

    pub fn connect(&mut self) -> &mut Driven {
        self.arrive(Arrival::Connected { socket: Socket(1), local: None, peer: None })
    }

    pub fn finish(&mut self) -> &mut Driven {
        self.arrive(Arrival::Finished { socket: Socket(1) })
    }

    /// Feeds messages, a frame each.
    pub fn tell(&mut self, messages: &[Vec<u8>]) -> &mut Driven {
        let bytes: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
        self.arrive(Arrival::Bytes { socket: Socket(1), bytes: &bytes })
    }

    /// The kernel's interfaces 3 and 4 are the router's two, and 5 that of a VLAN.
    pub fn link(&mut self) -> &mut Driven {
        self.links(&[(3, 0), (4, 1), (5, 2)])
    }

    pub fn links(&mut self, links: &[(u32, u16)]) -> &mut Driven {
        let link = |&(kernel, number): &(u32, u16)| Link {
            name: format!("tap{number}"),
            kernel: Interface(kernel),
            number,
        };
        self.event(Event::Links(links.iter().map(link).collect()))
    }

    pub fn pass(&mut self, span: Duration) -> &mut Driven {
        self.now = self.now.after(span);
        self.poll();
        self
    }

    /// Takes everything that comes out, applies changes and answers them.
    pub fn poll(&mut self) {
        while let Some(output) = self.frr.poll(self.now) {
            match output {
                Output::Departure(departure) => self.departures.push(departure),
                Output::Report(Action::Alarm(alarm)) => self.alarms.push(alarm),
                Output::Report(Action::Line(line)) => panic!("{line:?} is nobody's to tell"),
                Output::Report(Action::Inject(one)) => panic!("{one:?} is nobody's to send"),
                Output::Report(Action::Passing(updates)) => panic!("{updates:?} are routes"),
                Output::Report(Action::Updates(updates)) => {
                    assert!(!updates.is_empty() && updates.len() <= 1024);
                    self.apply(&updates);
                    if self.answers {
                        self.answer();
                    }
                }
            }
        }
        let deadline = self.frr.deadline();
        assert!(deadline.is_none_or(|time| time > self.now), "it is at rest: {deadline:?}");
    }

    fn apply(&mut self, updates: &[AnyUpdate]) {
        for update in updates {
            let update = update.typed::<Said>().expect("one of the router").numbered();
            self.changes.push(update);
            let (first, at) = (self.first, self.now);
            self.first += 1;
            self.unanswered.push(match self.router.apply(update.said(), 0) {
                Ok(()) => Event::Applied { first, count: 1, at },
                Err(why) => {
                    self.refused.push(update);
                    Event::Refused { number: first, why }
                }
            });
        }
    }

    /// Hands the answers over.
    pub fn answer(&mut self) {
        for event in std::mem::take(&mut self.unanswered) {
            self.frr.input(self.now, Input::Command(event));
        }
    }

    /// The changes since this was asked last.
    pub fn changed(&mut self) -> Vec<Update> {
        std::mem::take(&mut self.changes)
    }

    /// To what a route leads: the addresses of its next hops with weights, or `nowhere`; `None`
    /// without a route of this prefix.
    pub fn route(&self, vrf: u16, prefix: &str) -> Option<String> {
        let state = self.router.state();
        let prefix: l3::Prefixed<IpAddr> = prefix.to_owned().try_into().expect("a prefix");
        let number = state.get(l3::Network::of(vrf, prefix))?;
        let Some(group) = number.checked_sub(GROUPS) else {
            return Some(self.hop(number));
        };
        let groups = state.groups.as_ref().expect("groups");
        let members = groups.members().filter(|(of, ..)| *of == group);
        let members: Vec<String> =
            members.map(|(_, hop, weight)| format!("{}*{weight}", self.hop(hop))).collect();
        let mut members = if members.is_empty() { vec!["nowhere".to_owned()] } else { members };
        members.sort();
        Some(members.join(" "))
    }

    /// To what a route of the main table leads; a dash without one.
    pub fn to(&self, prefix: &str) -> String {
        self.route(0, prefix).unwrap_or_else(|| "-".to_owned())
    }

    fn hop(&self, number: u32) -> String {
        let Some(hop) = self.router.state().neighbours.get(&number) else {
            return "gone".to_owned();
        };
        let NextHop { ip, ipv6, vlan, .. } = *hop;
        let address = ip.map(IpAddr::from).or(ipv6.map(IpAddr::from)).expect("an address");
        let vlan = vlan.map_or(String::new(), |vlan| format!("@{vlan}"));
        format!("{address}{vlan}")
    }

    /// A figure that it shows, by its path.
    pub fn shown(&self, path: &str) -> Value {
        let shown = self.frr.show();
        shown.pointer(path).unwrap_or_else(|| panic!("no {path} in {shown}")).clone()
    }

    /// The next hops and group members that the router has beyond its configuration.
    pub fn beyond(&self) -> [usize; 2] {
        let state = self.router.state();
        let members = state.groups.as_ref().map_or(0, |groups| groups.members().count());
        let configured = self.config.next_hops.len();
        [state.neighbours.len() - configured, members - self.config.all_members().count()]
    }
}

/// A router with a VLAN in VRF 1, and a next hop and a route of its own.
pub fn router() -> l3::Config {
    let prefixed = |text: &str| text.to_owned().try_into().expect("a prefix");
    let vlan = l3::Interface {
        port: l3::UPLINK,
        vlan: Some(7),
        vrf: 1,
        ip: Some(l3::Prefixed { address: Ipv4Addr::new(10, 7, 0, 1), len: 16 }),
        ipv6: None,
        mtu: 0,
        urpf: l3::ReversePath::None,
        vxlan: None,
        host_interface: None,
    };
    let next_hop = NextHop { ip: Some(Ipv4Addr::new(10, 1, 0, 9)), ..bare(l3::UPLINK) };
    l3::Config {
        ipv6: true,
        resolve: true,
        vrfs: 2,
        interfaces: vec![vlan],
        next_hops: vec![next_hop],
        routes: vec![l3::Route {
            prefix: prefixed("203.0.113.0/24"),
            next_hop: Some(0.into()),
            group: None,
            vrf: 0,
        }],
        ecmp_capacity: 8,
        ..l3::Config::default()
    }
}

fn bare(port: PortName) -> NextHop {
    let mac = l3::Mac(wire::MacAddr::ZERO);
    NextHop { port, vlan: None, mac, source: None, ip: None, ipv6: None, bfd: None, name: None }
}

fn frame(messages: &[u8]) -> Vec<u8> {
    let len = u16::try_from(messages.len() + 4).expect("it fits");
    [&[1, 1], &len.to_be_bytes()[..], messages].concat()
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = 16 + body.len() as u32;
    let head = [&len.to_le_bytes()[..], &kind.to_le_bytes(), &[0x01, 0x05], &[0; 8]];
    [&head.concat(), body].concat()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = value.len() as u16 + 4;
    [&len.to_le_bytes()[..], &kind.to_le_bytes(), value].concat()
}

fn octets(address: &str) -> Vec<u8> {
    match address.parse().expect("an address") {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// What a route says beside its prefix: its type, and attributes.
fn route_of(message_kind: u16, kind: u8, table: u32, prefix: &str, rest: &[u8]) -> Vec<u8> {
    let (address, len) = prefix.split_once('/').expect("a length");
    let address = octets(address);
    let family = if address.len() == 4 { 2 } else { 10 };
    let head = [family, len.parse().expect("a number"), 0, 0, 0, 196, 0, kind, 0, 0, 0, 0];
    let table = attribute(15, &table.to_le_bytes());
    message(message_kind, &[&head[..], &attribute(1, &address), &table, rest].concat())
}

/// A route of the main table to a number of zebra's.
pub fn route(prefix: &str, id: u32) -> Vec<u8> {
    route_in(254, prefix, id)
}

pub fn route_in(table: u32, prefix: &str, id: u32) -> Vec<u8> {
    route_of(24, 1, table, prefix, &attribute(30, &id.to_le_bytes()))
}

/// A route of the main table whose type says that packets go nowhere: 6 to 8.
pub fn dropping(prefix: &str, kind: u8) -> Vec<u8> {
    route_of(24, kind, 254, prefix, &[])
}

/// A route of the main table to one of several next hops: gateway, interface, weight.
pub fn route_by(prefix: &str, hops: &[(&str, u32, u8)]) -> Vec<u8> {
    let hop = |&(gateway, interface, weight): &(&str, u32, u8)| {
        let gateway = attribute(5, &octets(gateway));
        let len = gateway.len() as u16 + 8;
        let interface = interface.to_le_bytes();
        [&len.to_le_bytes()[..], &[0, weight - 1], &interface, &gateway].concat()
    };
    let hops: Vec<u8> = hops.iter().flat_map(hop).collect();
    route_of(24, 1, 254, prefix, &attribute(9, &hops))
}

/// A route of the main table to an interface.
pub fn route_at(prefix: &str, interface: u32) -> Vec<u8> {
    route_of(24, 1, 254, prefix, &attribute(4, &interface.to_le_bytes()))
}

/// A route that wants another header.
pub fn encapsulated(prefix: &str, id: u32) -> Vec<u8> {
    let rest = [attribute(30, &id.to_le_bytes()), attribute(21, &[1, 0, 0, 0])].concat();
    route_of(24, 1, 254, prefix, &rest)
}

pub fn withdrawn(prefix: &str) -> Vec<u8> {
    route_of(25, 1, 254, prefix, &[])
}

/// A next hop by gateway and interface; without an interface if that is 0.
pub fn next_hop(id: u32, gateway: &str, interface: u32) -> Vec<u8> {
    let mut all = [attribute(1, &id.to_le_bytes()), attribute(6, &octets(gateway))].concat();
    if interface > 0 {
        all.extend(attribute(5, &interface.to_le_bytes()));
    }
    message(104, &[&[2, 0, 11, 0, 0, 0, 0, 0], &all[..]].concat())
}

pub fn blackhole(id: u32) -> Vec<u8> {
    let all = [attribute(1, &id.to_le_bytes()), attribute(4, &[])].concat();
    message(104, &[&[2, 0, 11, 0, 0, 0, 0, 0], &all[..]].concat())
}

pub fn group(id: u32, members: &[(u32, u8)]) -> Vec<u8> {
    let member = |(id, weight): &(u32, u8)| {
        let [a, b, c, d] = id.to_le_bytes();
        [a, b, c, d, weight - 1, 0, 0, 0]
    };
    let members: Vec<u8> = members.iter().flat_map(member).collect();
    let all = [attribute(1, &id.to_le_bytes()), attribute(2, &members)].concat();
    message(104, &[&[0, 0, 11, 0, 0, 0, 0, 0], &all[..]].concat())
}

pub fn next_hop_gone(id: u32) -> Vec<u8> {
    message(105, &[&[0; 8][..], &attribute(1, &id.to_le_bytes())].concat())
}
