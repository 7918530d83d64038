//! Addresses, secrets, and a server that is a function.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Secret, Socket, Time};
use protocol_radius::attributes::kind;
use protocol_radius::{Code, Config, Credentials, List, Packet, Request, Server, seal};

/// The own address.
pub const OWN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// The address of a server by its place.
pub fn far(place: u8) -> SocketAddr {
    SocketAddr::new([192, 0, 2, 100 + place].into(), 1812)
}

/// The secret of all.
pub fn secret() -> Secret {
    Secret(b"xyzzy5461".to_vec())
}

/// A configuration of this many servers.
pub fn config(servers: u8) -> Config {
    let server = |place| Server::new(far(place), OWN, secret());
    Config::new((0..servers).map(server).collect(), [1; 32])
}

/// A time in milliseconds.
pub fn ms(count: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(count))
}

/// Whether somebody has access.
pub fn access(name: &str) -> Request {
    let mut attributes = List::new();
    attributes.put(kind::USER_NAME, name.as_bytes()).expect("it fits");
    let credentials = Credentials::Password(Secret(b"arctangent".to_vec()));
    Request::Access { credentials, attributes }
}

/// What leaves a machine, and what it says, until it has nothing more.
pub fn outputs<M: Machine>(machine: &mut M, now: Time) -> (Vec<Sent>, Vec<M::Report>) {
    let (mut sent, mut said) = (Vec::new(), Vec::new());
    while let Some(output) = machine.poll(now) {
        match output {
            Output::Departure(Departure::Datagram { socket, to, bytes, .. }) => {
                sent.push(Sent { socket, to, bytes });
            }
            Output::Departure(_) => {}
            Output::Report(report) => said.push(report),
        }
    }
    (sent, said)
}

/// A datagram that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// By this socket.
    pub socket: Socket,
    /// To this server.
    pub to: SocketAddr,
    /// What.
    pub bytes: Vec<u8>,
}

impl Sent {
    /// What it is.
    pub fn packet(&self) -> Packet<'_> {
        Packet::parse(&self.bytes).expect("a packet")
    }

    /// The answer of a server to it.
    pub fn answer(&self, code: Code) -> Vec<u8> {
        let list = List::new();
        seal::answer(code, &self.packet(), &secret(), list.attributes()).expect("it fits")
    }

    /// Hands a machine an answer to it, from the server that it went to.
    pub fn answer_by<M: Machine>(&self, machine: &mut M, bytes: &[u8], now: Time) {
        deliver(machine, self.socket, self.to, bytes, now);
    }
}

/// Hands a machine a datagram.
pub fn deliver<M: Machine>(
    machine: &mut M,
    socket: Socket,
    from: SocketAddr,
    bytes: &[u8],
    now: Time,
) {
    let (interface, to, ttl) = (Interface(1), OWN, 64);
    let arrival = Arrival::Datagram { socket, interface, from, to, ttl, bytes };
    machine.input(now, Input::Arrival(arrival));
}
