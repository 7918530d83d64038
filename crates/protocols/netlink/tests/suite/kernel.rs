//! A model of the kernel: what it has, how it tells that, and what it loses.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};
use protocol_netlink::{Config, Destination, Key, Netlink, Report, RouteChange};

/// What somebody has at interfaces: lengths of addresses, stations of neighbours, and the gateways
/// of routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Having {
    pub addresses: BTreeMap<(u32, IpAddr), u8>,
    pub neighbours: BTreeMap<(u32, IpAddr), u8>,
    pub routes: BTreeMap<Key, IpAddr>,
}

/// The kernel, and a machine that follows it.
pub struct Kernel {
    pub netlink: Netlink,
    pub now: Time,
    pub addresses: BTreeMap<(u32, IpAddr), u8>,
    pub neighbours: BTreeMap<(u32, IpAddr), u8>,
    /// Interface and gateway by destination and metric.
    pub routes: BTreeMap<(IpAddr, u32), (u32, IpAddr)>,
    /// What the machine has said.
    pub said: Having,
    pub reports: Vec<Report>,
    /// Messages that wait; beyond the room there is for them they are lost.
    queue: VecDeque<Vec<u8>>,
    pub room: usize,
    is_overrun: bool,
    is_open: bool,
    is_read: bool,
    /// Whether lists are said to have changed while they were read.
    pub is_torn: bool,
}

impl Kernel {
    pub fn new(config: Config) -> Kernel {
        Kernel {
            netlink: Netlink::new(config),
            now: Time::ZERO,
            addresses: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            routes: BTreeMap::new(),
            said: Having::default(),
            reports: Vec::new(),
            queue: VecDeque::new(),
            room: usize::MAX,
            is_overrun: false,
            is_open: false,
            is_read: true,
            is_torn: false,
        }
    }

    /// What the machine should have said by now.
    pub fn having(&self) -> Having {
        let mut routes = BTreeMap::new();
        for (&(to, _), &(_, gateway)) in &self.routes {
            routes.entry(key(to)).or_insert(gateway);
        }
        let (addresses, neighbours) = (self.addresses.clone(), self.neighbours.clone());
        Having { addresses, neighbours, routes }
    }

    /// Tells something to whoever listens.
    pub fn tell(&mut self, message: Vec<u8>) {
        if !self.is_open {
        } else if self.queue.len() < self.room {
            self.queue.push_back(message);
        } else {
            self.is_overrun = true;
        }
    }

    /// Lets the machine have a message, or hear that some were lost; false if there is nothing.
    pub fn deliver(&mut self) -> bool {
        self.poll();
        if !self.is_read {
            return false;
        }
        let socket = Socket(0);
        if std::mem::take(&mut self.is_overrun) {
            self.netlink.input(self.now, Input::Arrival(Arrival::Overrun { socket }));
        } else if let Some(bytes) = self.queue.pop_front() {
            self.arrive(&bytes);
        } else {
            return false;
        }
        self.poll();
        true
    }

    pub fn arrive(&mut self, bytes: &[u8]) {
        let arrival = Arrival::Netlink { socket: Socket(0), bytes };
        self.netlink.input(self.now, Input::Arrival(arrival));
    }

    /// Lets everything happen that is going to without a change.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.deliver() {
                continue;
            }
            match self.netlink.deadline() {
                Some(deadline) => self.now = self.now.max(deadline),
                None => return,
            }
        }
        panic!("it never comes to rest");
    }

    /// Takes what the machine wants and says.
    pub fn poll(&mut self) {
        while let Some(output) = self.netlink.poll(self.now) {
            match output {
                Output::Report(report) => self.hear(report),
                Output::Departure(Departure::Open { .. }) => {
                    assert!(!std::mem::replace(&mut self.is_open, true));
                    self.is_read = true;
                }
                Output::Departure(Departure::Close { .. }) => {
                    assert!(std::mem::replace(&mut self.is_open, false));
                    self.queue.clear();
                    self.is_overrun = false;
                }
                Output::Departure(Departure::Read { is_wanted, .. }) => self.is_read = is_wanted,
                Output::Departure(Departure::Netlink { bytes, .. }) => self.answer(&bytes),
                Output::Departure(other) => panic!("{other:?}"),
            }
        }
    }

    /// A list, which there is always room for: its messages are made as they are read.
    fn answer(&mut self, question: &[u8]) {
        let sequence = u32::from_le_bytes([question[8], question[9], question[10], question[11]]);
        let (kind, family) = (u16::from_le_bytes([question[4], question[5]]), question[16]);
        let all: Vec<Vec<u8>> = match (kind, family) {
            (22, 0) => self.addresses.iter().map(|(at, len)| address(20, *at, *len)).collect(),
            (30, 0) => {
                self.neighbours.iter().map(|(at, mac)| neighbour(28, *at, *mac, FIXED)).collect()
            }
            (26, 2) => {
                self.routes.iter().map(|(to, by)| route(24, to.0, to.1, by.0, by.1)).collect()
            }
            (26, 10) => Vec::new(),
            // A kernel that has no such list.
            (106, 0) => {
                return self.queue.push_back(numbered(2, &(-95_i32).to_le_bytes(), sequence, 0));
            }
            other => panic!("nobody has {other:?}"),
        };
        let flags = if std::mem::take(&mut self.is_torn) { 0x12 } else { 2 };
        for message in all {
            let (kind, body) = (u16::from_le_bytes([message[4], message[5]]), &message[16..]);
            self.queue.push_back(numbered(kind, body, sequence, flags));
        }
        self.queue.push_back(numbered(3, &[0; 4], sequence, flags));
    }

    fn hear(&mut self, report: Report) {
        let said = &mut self.said;
        match &report {
            Report::Address { interface, address, len } => {
                said.addresses.insert((interface.0, *address), *len);
            }
            Report::AddressGone { interface, address } => {
                assert!(said.addresses.remove(&(interface.0, *address)).is_some());
            }
            Report::Neighbour { interface, address, mac } => {
                said.neighbours.insert((interface.0, *address), mac[5]);
            }
            Report::NeighbourGone { interface, address } => {
                assert!(said.neighbours.remove(&(interface.0, *address)).is_some());
            }
            Report::Routing(RouteChange::Route(route)) => {
                let Destination::Hops(hops) = &route.destination else { panic!("{route:?}") };
                let gateway = hops[0].gateway.expect("a gateway");
                said.routes.insert(route.key(), gateway);
            }
            Report::Routing(RouteChange::Withdrawn(key)) => {
                assert!(said.routes.remove(key).is_some())
            }
            _ => {}
        }
        self.reports.push(report);
    }

    pub fn add_address(&mut self, at: (u32, IpAddr), len: u8) {
        self.addresses.insert(at, len);
        self.tell(address(20, at, len));
    }

    /// With the address, the routes by its interface go without a word.
    pub fn remove_address(&mut self, at: (u32, IpAddr)) {
        let Some(len) = self.addresses.remove(&at) else { return };
        self.routes.retain(|_, (interface, _)| *interface != at.0);
        self.tell(address(21, at, len));
    }

    pub fn set_neighbour(&mut self, at: (u32, IpAddr), mac: u8) {
        self.neighbours.insert(at, mac);
        self.tell(neighbour(28, at, mac, FIXED));
    }

    pub fn remove_neighbour(&mut self, at: (u32, IpAddr)) {
        if let Some(mac) = self.neighbours.remove(&at) {
            self.tell(neighbour(29, at, mac, FIXED));
        }
    }

    pub fn add_route(&mut self, to: IpAddr, metric: u32, interface: u32, gateway: IpAddr) {
        self.routes.insert((to, metric), (interface, gateway));
        self.tell(route(24, to, metric, interface, gateway));
    }

    pub fn remove_route(&mut self, to: IpAddr, metric: u32) {
        if let Some((interface, gateway)) = self.routes.remove(&(to, metric)) {
            self.tell(route(25, to, metric, interface, gateway));
        }
    }
}

/// The state of a neighbour that an operator has named.
pub const FIXED: u16 = 0x80;

pub fn ip(a: u8, b: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, a, b).into()
}

pub fn key(to: IpAddr) -> Key {
    let prefix = protocol_netlink::Prefix::new(to, 24).expect("a prefix");
    Key { table: 254, prefix }
}

pub fn address(kind: u16, (interface, address): (u32, IpAddr), len: u8) -> Vec<u8> {
    let body = [&[2, len, 128, 0][..], &interface.to_le_bytes(), &attribute(2, &octets(address))];
    numbered(kind, &body.concat(), 0, 0)
}

pub fn neighbour(kind: u16, (interface, address): (u32, IpAddr), mac: u8, state: u16) -> Vec<u8> {
    let [low, high] = state.to_le_bytes();
    let head = [&[2, 0, 0, 0][..], &interface.to_le_bytes(), &[low, high, 0, 1]].concat();
    let body = [head, attribute(1, &octets(address)), attribute(2, &[2, 0, 0, 0, 0, mac])];
    numbered(kind, &body.concat(), 0, 0)
}

pub fn route(kind: u16, to: IpAddr, metric: u32, interface: u32, gateway: IpAddr) -> Vec<u8> {
    let body = [
        vec![2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0],
        attribute(1, &octets(to)),
        attribute(6, &metric.to_le_bytes()),
        attribute(4, &interface.to_le_bytes()),
        attribute(5, &octets(gateway)),
    ];
    numbered(kind, &body.concat(), 0, 0)
}

pub fn numbered(kind: u16, body: &[u8], sequence: u32, flags: u16) -> Vec<u8> {
    let len = 16 + body.len() as u32;
    let head = [&len.to_le_bytes()[..], &kind.to_le_bytes(), &flags.to_le_bytes()].concat();
    [&head[..], &sequence.to_le_bytes(), &[0; 4], body].concat()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = value.len() as u16 + 4;
    let mut bytes = [&len.to_le_bytes()[..], &kind.to_le_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
