//! An external server behind relays: a server of ours with a socket of its own.
//!
//! Ours takes nothing of relay agents of version 4. So what a relay has put into a message is taken
//! out before, and put into the answer.

use std::net::{IpAddr, Ipv4Addr};

use protocol_dhcp::{Access, Command, Heard, Line, Report, Said};
use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};
use wire::MacAddr;

use super::owned::Around;
use crate::client4::Message4;
use crate::client6::read_options;
use crate::lines::ANYBODY6;

/// The server, and the socket around it.
pub struct Far<M> {
    server: M,
    own: IpAddr,
    relay: IpAddr,
    is_open: bool,
}

impl<M: Access> Far<M> {
    pub fn new(server: M, own: IpAddr, relay: IpAddr) -> Far<M> {
        Far { server, own, relay, is_open: false }
    }

    /// A message as a server has it from the line itself.
    fn heard(&self, from: IpAddr, bytes: &[u8]) -> Heard {
        let mut bytes = bytes.to_vec();
        let IpAddr::V4(relay) = self.relay else {
            // The line and the MAC address lie in the Interface-Id.
            let all = read_options(&bytes[34..]);
            let (_, place) = all.iter().find(|(code, _)| *code == 18).expect("an interface");
            let line = Line(u32::from_be_bytes(place[..4].try_into().expect("four")));
            let mac = MacAddr(place[4..10].try_into().expect("six"));
            return Heard { line, mac, from, to: ANYBODY6.1, bytes };
        };
        let message = Message4::read(&bytes);
        assert_eq!((message.giaddr, message.hops), (relay.octets(), 1));
        let circuit = message.option(82)[2..6].try_into().expect("the number of a line");
        bytes[3] = 0;
        bytes[24..28].fill(0);
        let (line, mac) = (Line(u32::from_be_bytes(circuit)), MacAddr(message.chaddr));
        Heard { line, mac, from: Ipv4Addr::UNSPECIFIED.into(), to: self.own, bytes }
    }

    /// An answer as it goes to the relay.
    fn departure(&self, mut said: Said) -> Departure {
        if let IpAddr::V4(relay) = self.relay {
            said.bytes[24..28].copy_from_slice(&relay.octets());
        }
        Departure::Datagram {
            socket: Socket(0),
            interface: None,
            via: None,
            from: self.own,
            to: (self.relay, M::PORT).into(),
            ttl: 64,
            bytes: said.bytes,
        }
    }
}

impl<M: Access> Machine for Far<M> {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        let command = match input {
            Input::Arrival(Arrival::Datagram { from, bytes, .. }) => {
                Command::Heard(self.heard(from.ip(), bytes))
            }
            Input::Arrival(_) => return,
            Input::Command(command) => command,
        };
        self.server.input(now, Input::Command(command));
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if !std::mem::replace(&mut self.is_open, true) {
            let opening = Opening::Datagrams { local: (self.own, M::PORT).into(), interface: None };
            return Some(Output::Departure(Departure::Open { socket: Socket(0), opening }));
        }
        match self.server.poll(now)? {
            Output::Report(Report::Said(said)) => Some(Output::Departure(self.departure(said))),
            output => Some(output),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.server.deadline()
    }
}

impl<M: Access> Around for Far<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        &self.server
    }

    fn inner_mut(&mut self) -> &mut M {
        &mut self.server
    }
}
