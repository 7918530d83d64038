//! A reflector with what is around it, without a network: peers that say what a test says, a disk,
//! and a collector.

use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::{Action, Alarm, Controller, Event, Setup};
use controller_route_reflector::{Config, RouteReflector};
use protocol_bgp::attributes::push;
use protocol_bgp::capabilities::Capability;
use protocol_bgp::families::{FAMILIES, Family};
use protocol_bgp::message::{HEADER_LEN, write_keepalive};
use protocol_bgp::nlri::emit;
use protocol_bgp::open::Open;
use protocol_bgp::path;
use protocol_kit::{
    Arrival, Departure, Endpoint, FileOpening, Input, Machine, Opening, Output, Socket, Time,
};
use serde_json::{Value, json};

use crate::sessions::config;

/// A reflector and its surroundings.
pub struct Bench {
    pub reflector: RouteReflector,
    pub now: Time,
    /// Files by name.
    pub files: BTreeMap<String, Vec<u8>>,
    open: BTreeMap<Socket, FileOpening>,
    /// Whether the disk does what it is asked.
    pub disk: Disk,
    /// What the collector was told in its present session.
    pub told: Vec<u8>,
    /// Whether it takes connections, and bytes.
    pub collector: Collector,
    sessions: u32,
    pub alarms: Vec<Alarm>,
    /// Bytes for peers, by their connections.
    pub peers: BTreeMap<Socket, Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    Fine,
    /// Nothing is answered.
    Hangs,
    /// There is no room.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    Fine,
    /// It takes no bytes.
    Stalls,
    /// It is not there.
    Absent,
}

impl Bench {
    /// A reflector to which hosts of 192.0.2.0/24 may connect, with more keys.
    pub fn new(more: &Value) -> Bench {
        let config = Bench::config(more);
        let setup = Setup { function: None, state: Vec::new(), seed: 1 };
        let mut reflector = RouteReflector::new(&config, setup).expect("it may be");
        let began = Event::TimeOfDay(Duration::from_secs(BEGAN_S));
        reflector.input(Time::ZERO, Input::Command(began));
        let mut bench = Bench {
            reflector,
            now: Time(1),
            files: BTreeMap::new(),
            open: BTreeMap::new(),
            disk: Disk::Fine,
            told: Vec::new(),
            collector: Collector::Fine,
            sessions: 0,
            alarms: Vec::new(),
            peers: BTreeMap::new(),
        };
        bench.settle();
        bench
    }

    /// What its file says, with more keys.
    pub fn config(more: &Value) -> Config {
        let families = ["ipv4-unicast", "ipv6-unicast", "vpnv4"];
        let mut keys = json!({"dynamic": [{"network": "192.0.2.0/24"}], "families": families});
        keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
        let mut config = config(keys);
        RouteReflector::validate(&mut config).expect("it can be used");
        config
    }

    pub fn arrive(&mut self, arrival: Arrival<'_>) {
        self.reflector.input(self.now, Input::Arrival(arrival));
    }

    /// Does what the reflector wants.
    pub fn take(&mut self, output: Output<Action>) {
        match output {
            Output::Departure(departure) => self.depart(departure),
            Output::Report(Action::Alarm(alarm)) => self.alarms.push(alarm),
            Output::Report(Action::Line(_)) => {}
            Output::Report(other) => panic!("{other:?}"),
        }
    }

    /// Lets the reflector do all that it wants now.
    pub fn settle(&mut self) {
        loop {
            while let Some(output) = self.reflector.poll(self.now) {
                self.take(output);
            }
            // What it looks at in turns goes on.
            if self.reflector.deadline().is_none_or(|at| at > self.now) {
                return;
            }
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(at) = self.reflector.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    fn depart(&mut self, departure: Departure) {
        match departure {
            Departure::Open { socket, opening: Opening::File(file) } => {
                assert!(self.open.insert(socket, file).is_none(), "it is open");
                match self.disk {
                    Disk::Hangs => {}
                    _ => self.arrive(Arrival::Connected { socket, local: None, peer: None }),
                }
            }
            Departure::Open { socket, opening: Opening::Stream { to, .. } } => {
                assert_eq!(to, Endpoint::Tcp(([192, 0, 2, 200], 5000).into()));
                self.told.clear();
                match self.collector {
                    Collector::Absent => self.arrive(Arrival::Failed { socket }),
                    _ => {
                        self.sessions += 1;
                        self.arrive(Arrival::Connected { socket, local: None, peer: None });
                    }
                }
            }
            Departure::Bytes { socket, bytes } if self.open.contains_key(&socket) => {
                let FileOpening { name, .. } = &self.open[&socket];
                match self.disk {
                    Disk::Fine => {
                        self.files.entry(name.clone()).or_default().extend(&bytes[..]);
                        self.arrive(Arrival::Taken { socket, count: bytes.len() });
                    }
                    Disk::Hangs => {}
                    Disk::Full => {
                        self.open.remove(&socket);
                        self.arrive(Arrival::Failed { socket });
                    }
                }
            }
            Departure::Bytes { socket, bytes } if socket.0 < 1 << 8 => {
                self.told.extend(&bytes[..]);
                if self.collector == Collector::Fine {
                    self.arrive(Arrival::Taken { socket, count: bytes.len() });
                }
            }
            Departure::Bytes { socket, bytes } => {
                self.peers.entry(socket).or_default().extend(&bytes[..]);
                self.arrive(Arrival::Taken { socket, count: bytes.len() });
            }
            Departure::Finish { socket } if self.open.remove(&socket).is_some() => {
                self.arrive(Arrival::Finished { socket });
            }
            _ => {}
        }
    }

    /// How many sessions with the collector there were.
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// A client with the last number of its address and a capability for path identifiers comes.
    pub fn client(&mut self, last: u8, capabilities: Vec<Capability>) -> Socket {
        self.client_by(Socket((1 << 20) + u32::from(last)), last, capabilities)
    }

    /// The same by a connection.
    pub fn client_by(&mut self, socket: Socket, last: u8, capabilities: Vec<Capability>) -> Socket {
        let peer = Some(([192, 0, 2, last], 40_000).into());
        let local = Some(([192, 0, 2, 1], 179).into());
        self.arrive(Arrival::Connected { socket, local, peer });
        let mut hello = Vec::new();
        let families = FAMILIES.iter().map(|row| Capability::Multiprotocol(row.afi, row.safi));
        let own = [Capability::FourOctetAs(64_500)];
        let capabilities = families.chain(own).chain(capabilities).collect();
        let open = Open { asn: 64_500, hold_time_s: 0, identifier: last.into(), capabilities };
        open.write(&mut hello);
        write_keepalive(&mut hello);
        self.say(socket, &hello);
        socket
    }

    pub fn say(&mut self, socket: Socket, bytes: &[u8]) {
        self.arrive(Arrival::Bytes { socket, bytes });
        self.settle();
    }

    /// What is shown of a part.
    pub fn shown(&self, part: &str) -> Value {
        self.reflector.show()[part].clone()
    }
}

/// An UPDATE that tells routes of IPv4, with what stands in front of each, and a MED.
pub fn update(routes: &[u8], med: u32) -> Vec<u8> {
    let mut value = Vec::new();
    path::push(path::SEQUENCE, [64_501, 64_502].into_iter(), &mut value);
    let mut attributes = Vec::new();
    push(0x40, 1, &[0], &mut attributes);
    push(0x40, 2, &value, &mut attributes);
    push(0x40, 3, &[10, 0, 0, 1], &mut attributes);
    push(0x80, 4, &med.to_be_bytes(), &mut attributes);
    let len = (attributes.len() as u16).to_be_bytes();
    message(&[&[0, 0][..], &len, &attributes, routes].concat())
}

/// One that withdraws routes of IPv4.
pub fn withdraw(routes: &[u8]) -> Vec<u8> {
    message(&[&(routes.len() as u16).to_be_bytes()[..], routes, &[0, 0]].concat())
}

/// One that tells a route of a VPN with a label.
pub fn vpn(label: u8) -> Vec<u8> {
    let mut reach = vec![0, 1, 128, 12, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1, 0];
    let key = [72, 0, 0, 0xfb, 0xf4, 0, 0, 0, 1, 10];
    emit(Family::VpnV4, &key, &[0, label, 0x11], &mut reach);
    let mut attributes = Vec::new();
    push(0x40, 1, &[0], &mut attributes);
    push(0x40, 2, &[], &mut attributes);
    push(0x80, 14, &reach, &mut attributes);
    message(&[&[0, 0][..], &(attributes.len() as u16).to_be_bytes(), &attributes].concat())
}

fn message(body: &[u8]) -> Vec<u8> {
    let len = ((HEADER_LEN + body.len()) as u16).to_be_bytes();
    [&[0xff; 16][..], &len, &[2], body].concat()
}

/// When the reflector began: 2026-11-28 16:00:10.
pub const BEGAN_S: u64 = 1_795_881_610;
