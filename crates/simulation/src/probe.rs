//! A machine for tests of drivers: it does what it is told, and says what arrives.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket, Time};

/// The machine. A command is what it wants of the network.
#[derive(Debug, Default)]
pub struct Probe {
    outputs: VecDeque<Output<Seen>>,
}

/// An [`Arrival`] that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are those of `Arrival`")]
pub enum Seen {
    Datagram {
        socket: Socket,
        interface: Interface,
        from: SocketAddr,
        to: IpAddr,
        ttl: u8,
        bytes: Vec<u8>,
    },
    Packet {
        socket: Socket,
        interface: Interface,
        from: IpAddr,
        to: IpAddr,
        ttl: u8,
        bytes: Vec<u8>,
    },
    Frame {
        socket: Socket,
        interface: Interface,
        bytes: Vec<u8>,
    },
    Netlink {
        socket: Socket,
        bytes: Vec<u8>,
    },
    Overrun {
        socket: Socket,
    },
    Connected {
        socket: Socket,
        local: Option<SocketAddr>,
        peer: Option<SocketAddr>,
    },
    Bytes {
        socket: Socket,
        bytes: Vec<u8>,
    },
    Taken {
        socket: Socket,
        count: usize,
    },
    Finished {
        socket: Socket,
    },
    Link {
        interface: Interface,
        is_up: bool,
    },
    Failed {
        socket: Socket,
    },
}

impl Machine for Probe {
    type Command = Departure;
    type Report = Seen;

    fn input(&mut self, _: Time, input: Input<'_, Departure>) {
        self.outputs.push_back(match input {
            Input::Command(departure) => Output::Departure(departure),
            Input::Arrival(arrival) => Output::Report(Seen::from(arrival)),
        });
    }

    fn poll(&mut self, _: Time) -> Option<Output<Seen>> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

impl From<Arrival<'_>> for Seen {
    fn from(arrival: Arrival<'_>) -> Seen {
        match arrival {
            Arrival::Datagram { socket, interface, from, to, ttl, bytes } => {
                Seen::Datagram { socket, interface, from, to, ttl, bytes: bytes.to_vec() }
            }
            Arrival::Packet { socket, interface, from, to, ttl, bytes } => {
                Seen::Packet { socket, interface, from, to, ttl, bytes: bytes.to_vec() }
            }
            Arrival::Frame { socket, interface, bytes } => {
                Seen::Frame { socket, interface, bytes: bytes.to_vec() }
            }
            Arrival::Netlink { socket, bytes } => Seen::Netlink { socket, bytes: bytes.to_vec() },
            Arrival::Overrun { socket } => Seen::Overrun { socket },
            Arrival::Connected { socket, local, peer } => Seen::Connected { socket, local, peer },
            Arrival::Bytes { socket, bytes } => Seen::Bytes { socket, bytes: bytes.to_vec() },
            Arrival::Taken { socket, count } => Seen::Taken { socket, count },
            Arrival::Finished { socket } => Seen::Finished { socket },
            Arrival::Link { interface, is_up } => Seen::Link { interface, is_up },
            Arrival::Failed { socket } => Seen::Failed { socket },
        }
    }
}
