//! The servers of a relay: one socket for all of them, which of them answer, and what they are told
//! of lines.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Departure, Opening, Output, Socket, Time};

use crate::access::Line;
use crate::control::Report;

/// The servers, by their places.
#[derive(Debug)]
pub(crate) struct Asking {
    local: SocketAddr,
    servers: Vec<Asked>,
    /// When the socket is to be opened; `None` while it is open.
    open_at: Option<Time>,
    is_open: bool,
    /// Circuit and remote identifier of lines that have names.
    names: BTreeMap<Line, (Vec<u8>, Vec<u8>)>,
}

#[derive(Debug)]
struct Asked {
    address: SocketAddr,
    /// Since when it has answered nothing that it was asked.
    since: Option<Time>,
    /// Whether it was told to be silent.
    is_silent: bool,
    /// Whether the owner is to be told that it is not any more.
    has_answered: bool,
}

impl Asking {
    /// The servers with the socket from which they are asked.
    pub fn new(local: SocketAddr, servers: impl Iterator<Item = SocketAddr>) -> Asking {
        let asked = |address| Asked { address, since: None, is_silent: false, has_answered: false };
        let servers = servers.map(asked).collect();
        Asking { local, servers, open_at: Some(Time::ZERO), is_open: false, names: BTreeMap::new() }
    }

    /// Gives a line names, unless they are too long or too many lines have some.
    pub fn name(&mut self, line: Line, circuit: Vec<u8>, remote: Vec<u8>) {
        let fits = circuit.len().max(remote.len()) <= NAME_MAX;
        if fits && (self.names.len() < NAMES_MAX || self.names.contains_key(&line)) {
            self.names.insert(line, (circuit, remote));
        }
    }

    /// Circuit and remote identifier of a line; empty if it has none.
    pub fn names(&self, line: Line) -> (Vec<u8>, Vec<u8>) {
        self.names.get(&line).cloned().unwrap_or_default()
    }

    /// The places of all.
    pub fn places(&self) -> std::ops::Range<u16> {
        0..self.servers.len() as u16
    }

    /// The place of the server that has an address and sends from a server's port.
    pub fn place(&self, from: SocketAddr) -> Option<u16> {
        let found = self.servers.iter().position(|one| one.address.ip() == from.ip());
        found.map(|place| place as u16)
    }

    /// The address of a server.
    pub fn address(&self, place: u16) -> Option<IpAddr> {
        Some(self.servers.get(usize::from(place))?.address.ip())
    }

    /// A message to a server; `None` while there is no socket.
    pub fn ask(&mut self, place: u16, bytes: Vec<u8>, now: Time) -> Option<Departure> {
        let server = self.servers.get_mut(usize::from(place)).filter(|_| self.is_open)?;
        server.since.get_or_insert(now);
        let (from, to) = (self.local.ip(), server.address);
        let departure = Departure::Datagram {
            socket: SOCKET,
            interface: None,
            via: None,
            from,
            to,
            ttl: TTL,
            bytes,
        };
        Some(departure)
    }

    /// A server has answered.
    pub fn answered(&mut self, place: u16) {
        if let Some(server) = self.servers.get_mut(usize::from(place)) {
            server.since = None;
            server.has_answered = std::mem::replace(&mut server.is_silent, false);
        }
    }

    /// The socket is gone; it is opened again after a time.
    pub fn failed(&mut self, now: Time) {
        self.is_open = false;
        self.open_at = Some(now.after(RETRY));
    }

    /// The socket, and what is to be told of servers.
    pub fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if self.open_at.take_if(|at| *at <= now).is_some() {
            self.is_open = true;
            let opening = Opening::Datagrams { local: self.local, interface: None };
            return Some(Output::Departure(Departure::Open { socket: SOCKET, opening }));
        }
        for (place, server) in (0..).zip(&mut self.servers) {
            if std::mem::take(&mut server.has_answered) {
                return Some(Output::Report(Report::Server(place, true)));
            }
            let is_late = server.since.is_some_and(|since| since.after(SILENCE) <= now);
            if is_late && !std::mem::replace(&mut server.is_silent, true) {
                return Some(Output::Report(Report::Server(place, false)));
            }
        }
        None
    }

    /// When there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        let of_server = |server: &Asked| match server {
            Asked { has_answered: true, .. } => Some(Time::ZERO),
            Asked { is_silent: true, .. } => None,
            Asked { since, .. } => since.map(|since| since.after(SILENCE)),
        };
        self.servers.iter().filter_map(of_server).chain(self.open_at).min()
    }
}

/// The socket for servers.
pub(crate) const SOCKET: Socket = Socket(0);

/// Most servers of a relay.
pub(crate) const SERVERS_MAX: usize = 64;

/// After so long without an answer a server is told to be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// After so long a socket that has failed is opened again.
const RETRY: Duration = Duration::from_secs(1);

const TTL: u8 = 64;

/// Longest name of a line.
const NAME_MAX: usize = 120;

/// Most lines with names.
const NAMES_MAX: usize = 1 << 21;
