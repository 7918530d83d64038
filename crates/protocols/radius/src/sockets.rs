//! The sockets to servers and the identifiers of requests in them: 256 a socket, the one that is
//! free for longest first, so that late answers meet no other request.

use std::collections::VecDeque;
use std::net::SocketAddr;

use protocol_kit::{Departure, Opening, Socket};

use crate::config::Config;

/// All sockets: `sockets_max` numbers for each server, opened one by one as they are needed.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Of each server.
    per_server: usize,
    locals: Vec<SocketAddr>,
    all: Vec<One>,
    /// Sockets that are to be opened.
    opening: VecDeque<u32>,
}

#[derive(Debug, Default)]
struct One {
    state: State,
    /// Identifiers that are free, that which has been it for longest first.
    free: VecDeque<u8>,
    /// Who has each of the others.
    owners: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unused,
    Open,
    Failed,
}

impl Sockets {
    pub fn new(config: &Config) -> Sockets {
        let per_server = usize::from(config.sockets_max);
        let count = per_server * config.servers.len();
        let local = |number: usize| {
            let server = &config.servers[number / per_server];
            let port = match server.port_first {
                0 => 0,
                first => first + (number % per_server) as u16,
            };
            SocketAddr::new(server.local, port)
        };
        Sockets {
            per_server,
            locals: (0..count).map(local).collect(),
            all: (0..count).map(|_| One::default()).collect(),
            opening: VecDeque::new(),
        }
    }

    /// Takes a free identifier of a server; `None` if all are in use or no socket is open.
    pub fn take(&mut self, server: usize, owner: u32) -> Option<(u32, u8)> {
        let begin = server * self.per_server;
        for number in begin..begin + self.per_server {
            let one = &mut self.all[number];
            if one.state == State::Unused {
                one.state = State::Open;
                one.free = (0..=u8::MAX).collect();
                one.owners = vec![NOBODY; 256];
                self.opening.push_back(number as u32);
            }
            if one.state == State::Open
                && let Some(identifier) = one.free.pop_front()
            {
                one.owners[usize::from(identifier)] = owner;
                return Some((number as u32, identifier));
            }
        }
        None
    }

    /// Gives an identifier back.
    pub fn give_back(&mut self, (socket, identifier): (u32, u8)) {
        let one = &mut self.all[socket as usize];
        one.owners[usize::from(identifier)] = NOBODY;
        one.free.push_back(identifier);
    }

    /// Returns who has an identifier of a socket.
    pub fn owner(&self, socket: Socket, identifier: u8) -> Option<u32> {
        let owners = &self.all.get(socket.0 as usize)?.owners;
        owners.get(usize::from(identifier)).copied().filter(|owner| *owner != NOBODY)
    }

    /// Returns whose a socket is.
    pub fn server(&self, socket: Socket) -> Option<usize> {
        let number = socket.0 as usize;
        (number < self.all.len()).then(|| number / self.per_server)
    }

    /// Whether something can leave by it.
    pub fn is_open(&self, socket: u32) -> bool {
        self.all[socket as usize].state == State::Open
    }

    /// A socket was closed by an error. Requests keep their identifiers in it.
    pub fn fail(&mut self, socket: Socket) {
        if let Some(one) = self.all.get_mut(socket.0 as usize)
            && one.state == State::Open
        {
            one.state = State::Failed;
            self.opening.retain(|number| *number != socket.0);
        }
    }

    /// Lets those that have failed be opened again.
    pub fn retry(&mut self) {
        for (number, one) in (0..).zip(&mut self.all) {
            if one.state == State::Failed {
                one.state = State::Open;
                self.opening.push_back(number);
            }
        }
    }

    /// Whether one is to be opened.
    pub fn is_due(&self) -> bool {
        !self.opening.is_empty()
    }

    /// Opens the next one.
    pub fn next(&mut self) -> Option<Departure> {
        let number = self.opening.pop_front()?;
        let opening = Opening::Datagrams { local: self.locals[number as usize], interface: None };
        Some(Departure::Open { socket: Socket(number), opening })
    }
}

const NOBODY: u32 = u32::MAX;
