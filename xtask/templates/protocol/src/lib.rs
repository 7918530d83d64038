//! A protocol that answers every datagram with the same bytes (RFC 862).

use std::net::SocketAddr;

use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Protocol, Socket, Time};

/// The template as the list of protocols has it.
pub const PROTOCOL: Protocol =
    Protocol { name: "template", fuzz, examples: || vec![b"answer".to_vec()] };

/// The machine.
#[derive(Debug, Default)]
pub struct Template {
    is_open: bool,
    answer: Option<Departure>,
}

impl Machine for Template {
    type Command = ();
    type Report = ();

    fn input(&mut self, _now: Time, input: Input<'_, ()>) {
        if let Input::Arrival(Arrival::Datagram { socket, from, to, bytes, .. }) = input {
            let bytes = bytes.to_vec();
            let (interface, via, ttl) = (None, None, 64);
            let answer = Departure::Datagram { socket, interface, via, from: to, to: from, ttl, bytes };
            self.answer.get_or_insert(answer);
        }
    }

    fn poll(&mut self, _now: Time) -> Option<Output<()>> {
        if std::mem::replace(&mut self.is_open, true) {
            return self.answer.take().map(Output::Departure);
        }
        let local = SocketAddr::from(([0; 4], 7));
        let opening = Opening::Datagrams { local, interface: None };
        Some(Output::Departure(Departure::Open { socket: Socket(0), opening }))
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// The body of the fuzz target.
pub fn fuzz(bytes: &[u8]) {
    let mut machine = Template::default();
    let from = SocketAddr::from(([127, 0, 0, 1], 9));
    let (socket, interface) = (Socket(0), protocol_kit::Interface(0));
    let to = from.ip();
    let arrival = Arrival::Datagram { socket, interface, from, to, ttl: 64, bytes };
    machine.input(Time::ZERO, Input::Arrival(arrival));
    assert!(machine.poll(Time::ZERO).is_some() && machine.poll(Time::ZERO).is_some());
}
