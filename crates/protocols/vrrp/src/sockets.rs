//! The sockets that virtual routers share: which are wanted, and which are open.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use protocol_kit::{Departure, Interface, Opening, Socket};

use crate::config::Config;
use crate::frames::{GROUPS, TAKES};
use crate::packet::PROTOCOL_NUMBER;

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Frames to and from the groups, and announcements.
    Group(Interface),
    /// Announcements alone, where advertisements go to peers.
    Announce(Interface),
    /// Packets to and from peers, by this address.
    Peers(Interface, IpAddr),
}

/// All sockets.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    all: BTreeMap<Use, Shared>,
    numbers: BTreeMap<Socket, Use>,
    /// Those that are to be opened or closed.
    unsettled: BTreeSet<Use>,
}

#[derive(Debug)]
struct Shared {
    number: Socket,
    users: usize,
    is_open: bool,
    has_failed: bool,
}

impl Sockets {
    /// Notes that somebody wants it.
    pub fn want(&mut self, what: Use) {
        if let Some(shared) = self.all.get_mut(&what) {
            shared.users += 1;
        } else {
            let is_free = |number: &Socket| !self.numbers.contains_key(number);
            let number = (0..).map(Socket).find(is_free).unwrap_or(Socket(u32::MAX));
            self.numbers.insert(number, what);
            let shared = Shared { number, users: 1, is_open: false, has_failed: false };
            self.all.insert(what, shared);
        }
        self.unsettled.insert(what);
    }

    /// Notes that somebody who wanted it does not any more.
    pub fn release(&mut self, what: Use) {
        if let Some(shared) = self.all.get_mut(&what) {
            shared.users -= 1;
            self.unsettled.insert(what);
        }
    }

    /// Returns its number if it is open.
    pub fn open(&self, what: Use) -> Option<Socket> {
        self.all.get(&what).filter(|shared| shared.is_open).map(|shared| shared.number)
    }

    /// Whether it could not be opened the last time.
    pub fn has_failed(&self, what: Use) -> bool {
        self.all.get(&what).is_some_and(|shared| shared.has_failed)
    }

    /// Notes that a socket is closed by an error.
    pub fn fail(&mut self, number: Socket) {
        let shared = self.numbers.get(&number).and_then(|what| self.all.get_mut(what));
        if let Some(shared) = shared {
            (shared.is_open, shared.has_failed) = (false, true);
        }
    }

    /// Lets those that have failed be opened again.
    pub fn retry(&mut self) {
        for (what, shared) in self.all.iter_mut().filter(|(_, shared)| shared.has_failed) {
            shared.has_failed = false;
            self.unsettled.insert(*what);
        }
    }

    /// Whether one is to be opened or closed.
    pub fn is_due(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// Opens or closes the next one.
    pub fn next(&mut self) -> Option<Departure> {
        while let Some(what) = self.unsettled.pop_first() {
            let Some(shared) = self.all.get_mut(&what) else { continue };
            let (socket, was_open) = (shared.number, shared.is_open);
            if shared.users == 0 {
                self.numbers.remove(&socket);
                self.all.remove(&what);
                if was_open {
                    return Some(Departure::Close { socket });
                }
            } else if !was_open && !shared.has_failed {
                shared.is_open = true;
                return Some(Departure::Open { socket, opening: what.opening() });
            }
        }
        None
    }
}

impl Use {
    fn opening(self) -> Opening {
        match self {
            Use::Group(interface) => {
                let (takes, groups) = (TAKES.to_vec(), GROUPS.to_vec());
                Opening::Frames { interface, takes, groups }
            }
            Use::Announce(interface) => {
                Opening::Frames { interface, takes: Vec::new(), groups: Vec::new() }
            }
            Use::Peers(interface, local) => {
                let (protocol, interface) = (PROTOCOL_NUMBER, Some(interface));
                Opening::Packets { protocol, local, interface }
            }
        }
    }

    /// The socket by which a virtual router announces its addresses.
    pub fn of_announcements(config: &Config) -> Use {
        match config.peers.is_empty() {
            true => Use::Group(config.key.interface),
            false => Use::Announce(config.key.interface),
        }
    }

    /// The socket by which a virtual router advertises.
    pub fn of_advertisements(config: &Config) -> Use {
        match config.peers.is_empty() {
            true => Use::Group(config.key.interface),
            false => Use::Peers(config.key.interface, config.primary),
        }
    }

    /// Both of a virtual router.
    pub fn all_of(config: &Config) -> [Use; 2] {
        [Use::of_announcements(config), Use::of_advertisements(config)]
    }
}
