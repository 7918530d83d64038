//! What the kernel has told and holds, and the reports of it.

use std::collections::{BTreeMap, VecDeque, btree_map};
use std::net::IpAddr;

use protocol_kit::Interface;

use crate::message::{Known, Said};
use crate::route::{Destination, Key, Route, RouteChange};

/// What the machine says, in the order of the kernel's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The host has an address, or has it with another length.
    Address {
        /// Its interface.
        interface: Interface,
        /// The address.
        address: IpAddr,
        /// Length of the link's prefix in bits.
        len: u8,
    },
    /// It has an address no more.
    AddressGone {
        /// Its interface.
        interface: Interface,
        /// The address.
        address: IpAddr,
    },
    /// An operator has said, for as long as he does, which Ethernet address a neighbour has.
    Neighbour {
        /// The interface behind which it is.
        interface: Interface,
        /// Its address.
        address: IpAddr,
        /// Its Ethernet address.
        mac: [u8; 6],
    },
    /// What an operator had said of a neighbour does not hold any more.
    NeighbourGone {
        /// The interface behind which it is.
        interface: Interface,
        /// Its address.
        address: IpAddr,
    },
    /// A neighbour has answered the host.
    NeighbourHeard {
        /// The interface behind which it is.
        interface: Interface,
        /// Its address.
        address: IpAddr,
        /// Its Ethernet address.
        mac: [u8; 6],
    },
    /// Of routes, something else holds from now on.
    Routing(RouteChange),
    /// There is no room for what was told. It is said once for each list.
    Full(Limited),
    /// The lists were read to their ends: everything that holds was told.
    Settled,
}

/// What there is limited room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limited {
    /// Routes.
    Routes,
    /// Next hops and groups.
    NextHops,
    /// Neighbours that an operator has named.
    Neighbours,
    /// Addresses.
    Addresses,
}

/// Messages by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages.
    pub messages: u64,
    /// Times that messages were lost because they had not been taken in time.
    pub overruns: u64,
    /// Times that everything was read.
    pub readings: u64,
    /// Readings during which something was lost or changed, and which were begun again.
    pub torn: u64,
    /// What was not told again and is gone for it.
    pub swept: u64,
    /// Messages of other kinds.
    pub other: u64,
    /// Routes by their source or Type of Service, to the host itself, to groups.
    pub unsupported: u64,
    /// Messages whose attributes do not say what they have to.
    pub malformed: u64,
    /// Routes that give way to another one of their prefix with a lower metric.
    pub behind: u64,
    /// What there was no room for.
    pub refused: u64,
}

/// What was told. Reports of what holds are made when it changes; those of routes and next hops
/// whenever they are told.
#[derive(Debug)]
pub(crate) struct Ledger {
    held: BTreeMap<Subject, Held>,
    /// How many there are of each kind, and how many there may be.
    counts: [usize; 4],
    limits: [usize; 4],
    generation: u32,
    pub reports: VecDeque<Report>,
    pub counters: Counters,
    /// Where there was no room for something since [`Ledger::age`].
    is_full: [bool; 4],
    /// Whether something of these has gone since then.
    has_made_room: bool,
}

/// What something is told of. What leads to others is before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Route(Key),
    Object(u32),
    Neighbour(Interface, IpAddr),
    Address(Interface, IpAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    generation: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A route of this metric, and whether others of its prefix may stand behind it, or it has
    /// several next hops.
    Route {
        metric: u32,
        is_several: bool,
    },
    Object,
    Neighbour([u8; 6]),
    /// Of a link with a prefix of this length.
    Address(u8),
}

/// What a message has changed beside what is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// Routes may be gone without a message.
    MayHaveLostRoutes,
}

impl Ledger {
    /// For so many routes, next hops with groups, neighbours and addresses.
    pub fn new(limits: [usize; 4]) -> Ledger {
        Ledger {
            held: BTreeMap::new(),
            counts: [0; 4],
            limits,
            generation: 0,
            reports: VecDeque::new(),
            counters: Counters::default(),
            is_full: [false; 4],
            has_made_room: false,
        }
    }

    /// How many routes, next hops with groups, neighbours and addresses hold.
    pub fn counts(&self) -> [usize; 4] {
        self.counts
    }

    /// Whether there was room for everything since [`Ledger::age`].
    pub fn has_room(&self) -> bool {
        self.is_full == [false; 4]
    }

    /// Everything is read anew.
    pub fn age(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.is_full = [false; 4];
        self.has_made_room = false;
    }

    /// Whether there may be room now for something that was refused since [`Ledger::age`].
    pub fn has_made_room(&self) -> bool {
        self.has_made_room
    }

    /// Everything was read: what was not told again is gone.
    pub fn sweep(&mut self) {
        let is_stale = |held: &Held| held.generation != self.generation;
        let stale = self.held.iter().filter(|(_, held)| is_stale(held));
        let stale: Vec<Subject> = stale.map(|(subject, _)| *subject).collect();
        for subject in stale {
            self.counters.swept += 1;
            self.forget(subject);
        }
        self.reports.push_back(Report::Settled);
    }

    /// Takes in what a message says.
    pub fn take(&mut self, said: Said) -> Effect {
        match said {
            Said::Route(route) => return self.route(route),
            Said::Withdrawn { key, metric } => return self.withdraw(key, metric),
            Said::NextHop { id, next_hop, is_encapsulated } => {
                if self.note(Subject::Object(id), What::Object).is_some() {
                    self.reports.push_back(Report::Routing(RouteChange::NextHop {
                        id,
                        next_hop,
                        is_encapsulated,
                    }));
                }
            }
            Said::Group { id, members } => {
                if self.note(Subject::Object(id), What::Object).is_some() {
                    self.reports.push_back(Report::Routing(RouteChange::Group { id, members }));
                }
            }
            Said::NextHopGone { id } => {
                // With it, routes go without a word.
                self.forget(Subject::Object(id));
                return Effect::MayHaveLostRoutes;
            }
            Said::Address { interface, address, len, is_there: true } => {
                let subject = Subject::Address(interface, address);
                if self.note(subject, What::Address(len)) == Some(true) {
                    self.reports.push_back(Report::Address { interface, address, len });
                }
            }
            Said::Address { interface, address, .. } => {
                self.forget(Subject::Address(interface, address));
                return Effect::MayHaveLostRoutes;
            }
            Said::Neighbour { interface, address, known } => {
                self.neighbour(interface, address, known);
            }
            Said::Link { is_up: false, .. } => return Effect::MayHaveLostRoutes,
            Said::Link { .. } => {}
        }
        Effect::None
    }

    fn neighbour(&mut self, interface: Interface, address: IpAddr, known: Known) {
        let subject = Subject::Neighbour(interface, address);
        match known {
            Known::Fixed(mac) => {
                if self.note(subject, What::Neighbour(mac)) == Some(true) {
                    self.reports.push_back(Report::Neighbour { interface, address, mac });
                }
            }
            Known::Reachable(mac) => {
                self.forget_held(subject);
                self.reports.push_back(Report::NeighbourHeard { interface, address, mac });
            }
            Known::Nothing => self.forget_held(subject),
            Known::Gone => self.forget(subject),
        }
    }

    /// Of the routes of a prefix, that with the lowest metric holds.
    fn route(&mut self, route: Route) -> Effect {
        // Of the host's own links, which its addresses tell.
        if route.protocol == OF_KERNEL {
            return Effect::None;
        }
        let subject = Subject::Route(route.key());
        let metric = route.metric;
        let mut is_several =
            matches!(&route.destination, Destination::Hops(hops) if hops.len() > 1);
        if let Some(Held { generation, what: What::Route { metric: before, is_several: others } }) =
            self.held.get(&subject).copied()
            && generation == self.generation
        {
            if metric > before {
                self.counters.behind += 1;
                self.note(subject, What::Route { metric: before, is_several: true });
                return Effect::None;
            }
            is_several |= others || metric < before;
        }
        if self.note(subject, What::Route { metric, is_several }).is_some() {
            self.reports.push_back(Report::Routing(RouteChange::Route(route)));
        }
        Effect::None
    }

    fn withdraw(&mut self, key: Key, metric: u32) -> Effect {
        let subject = Subject::Route(key);
        match self.held.get(&subject).map(|held| held.what) {
            // Another one comes forward, or one of its next hops is left.
            Some(What::Route { is_several: true, .. }) => Effect::MayHaveLostRoutes,
            Some(What::Route { metric: held, .. }) if held != metric => Effect::None,
            _ => {
                self.forget(subject);
                Effect::None
            }
        }
    }

    /// Notes that something was told: whether it is new or another than before; `None` if there is
    /// no room for it.
    fn note(&mut self, subject: Subject, what: What) -> Option<bool> {
        let kind = subject.kind() as usize;
        let is_full = self.counts[kind] >= self.limits[kind];
        let now = Held { generation: self.generation, what };
        match self.held.entry(subject) {
            btree_map::Entry::Occupied(mut place) => {
                let before = place.insert(now);
                Some(before.what != what)
            }
            btree_map::Entry::Vacant(_) if is_full => {
                self.counters.refused += 1;
                if !std::mem::replace(&mut self.is_full[kind], true) {
                    self.reports.push_back(Report::Full(subject.kind()));
                }
                None
            }
            btree_map::Entry::Vacant(place) => {
                place.insert(now);
                self.counts[kind] += 1;
                Some(true)
            }
        }
    }

    /// Something is gone: it, or what was refused, makes room.
    fn forget(&mut self, subject: Subject) {
        self.has_made_room |= self.is_full[subject.kind() as usize];
        self.forget_held(subject);
    }

    /// Something is gone, which is reported if it was there.
    fn forget_held(&mut self, subject: Subject) {
        if self.held.remove(&subject).is_none() {
            return;
        }
        self.has_made_room |= self.is_full[subject.kind() as usize];
        self.counts[subject.kind() as usize] -= 1;
        self.reports.push_back(match subject {
            Subject::Route(key) => Report::Routing(RouteChange::Withdrawn(key)),
            Subject::Object(id) => Report::Routing(RouteChange::NextHopGone { id }),
            Subject::Neighbour(interface, address) => Report::NeighbourGone { interface, address },
            Subject::Address(interface, address) => Report::AddressGone { interface, address },
        });
    }
}

impl Subject {
    fn kind(&self) -> Limited {
        match self {
            Subject::Route(_) => Limited::Routes,
            Subject::Object(_) => Limited::NextHops,
            Subject::Neighbour(..) => Limited::Neighbours,
            Subject::Address(..) => Limited::Addresses,
        }
    }
}

/// Who has made a route of a link (`/etc/iproute2/rt_protos`).
const OF_KERNEL: u8 = 2;
