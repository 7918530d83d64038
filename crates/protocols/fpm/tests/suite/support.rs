//! A machine that is driven by hand, and frames to feed it with.

use std::time::Duration;

use protocol_fpm::{Config, Fpm, Prefix, Report};
use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};

/// A machine with its time.
pub struct Driven {
    pub fpm: Fpm,
    pub now: Time,
    pub departures: Vec<Departure>,
}

impl Driven {
    /// A machine with little room.
    pub fn new(config: Config) -> Driven {
        let fpm = Fpm::new(config, 7).expect("little memory");
        let mut driven = Driven { fpm, now: Time::ZERO, departures: Vec::new() };
        assert_eq!(driven.poll(), []);
        driven
    }

    pub fn arrive(&mut self, arrival: Arrival<'_>) -> Vec<Report> {
        self.fpm.input(self.now, Input::Arrival(arrival));
        self.poll()
    }

    pub fn connect(&mut self, socket: u32) -> Vec<Report> {
        self.arrive(Arrival::Connected { socket: Socket(socket), local: None, peer: None })
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Report> {
        self.arrive(Arrival::Bytes { socket: Socket(1), bytes })
    }

    pub fn finish(&mut self) -> Vec<Report> {
        self.arrive(Arrival::Finished { socket: Socket(1) })
    }

    /// Lets time pass up to a moment before the machine's deadline is over, and then that.
    pub fn pass(&mut self, span: Duration) -> Vec<Report> {
        self.now = self.now.after(span);
        self.poll()
    }

    /// All reports; departures are kept.
    pub fn poll(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        while let Some(output) = self.fpm.poll(self.now) {
            match output {
                Output::Report(report) => reports.push(report),
                Output::Departure(departure) => self.departures.push(departure),
            }
        }
        reports
    }
}

/// A machine with room for this much.
pub fn config(routes_max: u32, next_hops_max: u32) -> Config {
    Config { routes_max, next_hops_max, ..Config::default() }
}

/// A prefix as people write it.
pub fn prefix(text: &str) -> Prefix {
    let (address, len) = text.split_once('/').expect("a length");
    let len = len.parse().expect("a number");
    Prefix::new(address.parse().expect("an address"), len).expect("a prefix")
}

/// A frame with messages in it.
pub fn frame(messages: &[Vec<u8>]) -> Vec<u8> {
    let all = messages.concat();
    let len = u16::try_from(all.len() + 4).expect("it fits");
    [&[1, 1], &len.to_be_bytes()[..], &all].concat()
}

/// A message of netlink.
pub fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = 16 + body.len() as u32;
    let head = [&len.to_le_bytes()[..], &kind.to_le_bytes(), &[0x01, 0x05], &[0; 8]];
    [&head.concat(), body].concat()
}

/// An attribute whose value needs no padding.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = value.len() as u16 + 4;
    [&len.to_le_bytes()[..], &kind.to_le_bytes(), value].concat()
}

/// A route of the main table to an IPv4 prefix by a numbered next hop, or its withdrawal.
pub fn route(kind: u16, [a, b, c, len]: [u8; 4], next_hop: u32) -> Vec<u8> {
    let head = [2, len, 0, 0, 254, 196, 0, 1, 0, 0, 0, 0];
    let destination = attribute(1, &[a, b, c, 0]);
    message(kind, &[&head[..], &destination, &attribute(30, &next_hop.to_le_bytes())].concat())
}

/// A next hop at an interface.
pub fn next_hop(id: u32) -> Vec<u8> {
    let attributes = [attribute(1, &id.to_le_bytes()), attribute(5, &3_u32.to_le_bytes())];
    message(NEW_NEXT_HOP, &[&[2, 0, 11, 0, 0, 0, 0, 0], &attributes.concat()[..]].concat())
}

/// A group of next hops.
pub fn group(id: u32, members: &[(u32, u8)]) -> Vec<u8> {
    let member = |(id, weight): &(u32, u8)| {
        let [a, b, c, d] = id.to_le_bytes();
        [a, b, c, d, weight - 1, 0, 0, 0]
    };
    let members: Vec<u8> = members.iter().flat_map(member).collect();
    let attributes = [attribute(1, &id.to_le_bytes()), attribute(2, &members)];
    message(NEW_NEXT_HOP, &[&[0, 0, 11, 0, 0, 0, 0, 0], &attributes.concat()[..]].concat())
}

/// A next hop or a group that is gone.
pub fn next_hop_gone(id: u32) -> Vec<u8> {
    message(105, &[&[0; 8][..], &attribute(1, &id.to_le_bytes())].concat())
}

pub const NEW_ROUTE: u16 = 24;
pub const DEL_ROUTE: u16 = 25;
pub const NEW_NEXT_HOP: u16 = 104;
