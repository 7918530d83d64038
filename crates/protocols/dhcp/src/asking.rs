//! The servers of a relay: one socket for all of them, which of them answer, and what they are told
//! of lines.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

use protocol_kit::{Departure, Opening, Output, Socket, Time};

use crate::access::Line;
use crate::control::Report;
use crate::leases::{Leases, NotMade};

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
    /// What it calls itself in its answers; empty before the first one.
    identifier: Vec<u8>,
    /// Since when it owes an answer and has sent none.
    since: Option<Time>,
    /// Whether it was told to be silent.
    is_silent: bool,
    /// Whether the owner is to be told that it is not any more.
    has_answered: bool,
}

/// Which servers a message is for.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    /// Those that it is sent to, by their places.
    pub to: Range<u16>,
    /// Those of them that have to answer it.
    pub owing: Range<u16>,
}

impl Asking {
    /// The servers with the socket from which they are asked.
    ///
    /// # Errors
    /// [`NotMade::Servers`].
    pub fn new(
        local: SocketAddr,
        servers: impl Iterator<Item = SocketAddr>,
    ) -> Result<Asking, NotMade> {
        let asked = |address| Asked {
            address,
            identifier: Vec::new(),
            since: None,
            is_silent: false,
            has_answered: false,
        };
        let servers: Vec<Asked> = servers.map(asked).collect();
        if !(1..=SERVERS_MAX).contains(&servers.len()) {
            return Err(NotMade::Servers(SERVERS_MAX));
        }
        let (open_at, names) = (Some(Time::ZERO), BTreeMap::new());
        Ok(Asking { local, servers, open_at, is_open: false, names })
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
    pub fn places(&self) -> Range<u16> {
        0..self.servers.len() as u16
    }

    /// The place of the server that sends from an address and a server's port.
    pub fn place(&self, from: SocketAddr) -> Option<u16> {
        let ends = |one: SocketAddr| (one.ip(), one.port());
        self.position(|one| ends(one.address) == ends(from))
    }

    /// The place of the server that has an address.
    pub fn at(&self, address: IpAddr) -> Option<u16> {
        self.position(|one| one.address.ip() == address)
    }

    /// The place of the server that calls itself so in its answers.
    pub fn called(&self, identifier: &[u8]) -> Option<u16> {
        self.position(|one| one.identifier == identifier)
    }

    fn position(&self, is_it: impl Fn(&Asked) -> bool) -> Option<u16> {
        self.servers.iter().position(is_it).map(|place| place as u16)
    }

    /// Whether there is a socket; what cannot be sent for want of it is counted.
    pub fn may_send(&self, leases: &mut Leases) -> bool {
        leases.counters.unsent += u64::from(!self.is_open);
        self.is_open
    }

    /// Sends a message to servers by the socket, as it is written for the address of each.
    pub fn forward(
        &mut self,
        targets: &Targets,
        written: impl Fn(IpAddr) -> Vec<u8>,
        leases: &mut Leases,
        now: Time,
    ) {
        for (place, server) in (0..).zip(&mut self.servers) {
            if targets.owing.contains(&place) {
                server.since.get_or_insert(now);
            }
            if targets.to.contains(&place) {
                leases.counters.forwarded += 1;
                leases.depart(Departure::Datagram {
                    socket: SOCKET,
                    interface: None,
                    via: None,
                    from: self.local.ip(),
                    to: server.address,
                    ttl: TTL,
                    bytes: written(server.address.ip()),
                });
            }
        }
    }

    /// A server has sent something in which it calls itself so; that it lives is known, whether or
    /// not somebody still waits for it.
    pub fn heard_of(&mut self, place: u16, identifier: Option<&[u8]>) {
        let Some(server) = self.servers.get_mut(usize::from(place)) else { return };
        server.since = None;
        server.has_answered |= std::mem::replace(&mut server.is_silent, false);
        if let Some(identifier) = identifier.filter(|one| *one != server.identifier) {
            server.identifier = identifier.to_vec();
        }
    }

    /// The socket is gone; it is opened again after a time. That servers are silent meanwhile is
    /// not their fault.
    pub fn failed(&mut self, now: Time) {
        self.is_open = false;
        self.open_at = Some(now.after(RETRY));
        self.servers.iter_mut().for_each(|server| server.since = None);
    }

    /// Bytes that names of lines take.
    pub fn bytes(&self) -> usize {
        let of_line = |(circuit, remote): &(Vec<u8>, Vec<u8>)| {
            2 * size_of::<(Line, (Vec<u8>, Vec<u8>))>() + circuit.capacity() + remote.capacity()
        };
        self.names.values().map(of_line).sum()
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
const SERVERS_MAX: usize = 64;

/// After so long without an answer that it owes, a server is told to be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// After so long a socket that has failed is opened again.
const RETRY: Duration = Duration::from_secs(1);

const TTL: u8 = 64;

/// Longest name of a line.
const NAME_MAX: usize = 120;

/// Most lines with names.
const NAMES_MAX: usize = 1 << 21;
