//! What was told and holds, and the reports of it.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use protocol_kit::Random;
use protocol_netlink::{Key, Route, RouteChange, Said, Unread, read, split_message};

use crate::framing::Malformed;
use crate::keys::{self, Keys};
use crate::objects::{Kind, Objects};

/// What the machine says. What zebra has told is in the order of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Zebra has connected. It tells everything again; until then what it told before holds.
    Connected {
        /// Its end.
        peer: Option<SocketAddr>,
    },
    /// The connection is gone. What was told holds for a time.
    Lost {
        /// Why.
        why: Lost,
    },
    /// A second connection was closed, while the first one stands.
    Rejected {
        /// Its far end.
        peer: Option<SocketAddr>,
    },
    /// Of routes, something else holds from now on.
    Routing(RouteChange),
    /// There is no room for what was told, and for more that may follow. It is said once in a
    /// connection.
    Full(Limited),
    /// Zebra has told everything again that it still has: nothing is stale any more.
    Settled {
        /// Routes, next hops and groups that were withdrawn because it has not told them again.
        swept: u64,
    },
}

/// Why a connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Zebra has closed it, or has ended.
    Closed,
    /// It was closed because of what came.
    Malformed(Malformed),
}

/// What there is limited room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Routes.
    Routes,
    /// Next hops and groups.
    NextHops,
}

/// Messages and connections by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections of zebra.
    pub connections: u64,
    /// Connections closed because another one stood.
    pub rejected: u64,
    /// Connections closed because of a frame of another version or kind.
    pub malformed_header: u64,
    /// Connections closed because of a frame shorter than its header.
    pub malformed_length: u64,
    /// Connections closed because messages did not fill their frame.
    pub malformed_messages: u64,
    /// Frames.
    pub frames: u64,
    /// Routes told.
    pub routes: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// Next hops and groups told.
    pub next_hops: u64,
    /// Next hops and groups that are gone.
    pub next_hops_gone: u64,
    /// What is gone and had not been told, or was refused.
    pub unknown: u64,
    /// Routes, next hops and groups that were not told again and were withdrawn for it.
    pub swept: u64,
    /// Messages of other kinds: labels of MPLS, stations of a bridge.
    pub other: u64,
    /// Routes by their source or Type of Service, and those of types that zebra does not install.
    pub unsupported: u64,
    /// Messages whose attributes do not say what they have to.
    pub malformed: u64,
    /// Routes, next hops and groups told that want another header, which is not read.
    pub encapsulated: u64,
    /// Routes refused for want of room.
    pub refused_routes: u64,
    /// Next hops and groups refused for want of room.
    pub refused_next_hops: u64,
}

/// What was told.
#[derive(Debug)]
pub(crate) struct Told {
    keys: Keys,
    objects: Objects,
    pub reports: VecDeque<Report>,
    pub counters: Counters,
    /// Whether the want of room was said, of routes and of next hops.
    is_full: [bool; 2],
    /// Whether something stale was told again since somebody looked.
    pub is_renewed: bool,
}

impl Told {
    pub fn new(routes_max: u32, next_hops_max: u32, seed: u64) -> io::Result<Told> {
        Ok(Told {
            keys: Keys::new(routes_max, &mut Random::new(seed))?,
            objects: Objects::new(next_hops_max),
            reports: VecDeque::new(),
            counters: Counters::default(),
            is_full: [false; 2],
            is_renewed: false,
        })
    }

    /// Routes, and next hops with groups, that hold.
    pub fn held(&self) -> [usize; 2] {
        [self.keys.len(), self.objects.len()]
    }

    /// What holds and was not told in this connection.
    pub fn stale(&self) -> usize {
        self.keys.stale() + self.objects.stale()
    }

    /// Makes everything stale.
    pub fn age(&mut self) {
        self.keys.age();
        self.objects.age();
        self.is_full = [false; 2];
    }

    /// Withdraws something stale: routes first, then groups, then next hops.
    pub fn sweep(&mut self) -> Option<Report> {
        let swept = match self.keys.sweep() {
            Some(Key { table, prefix }) => {
                Report::Routing(RouteChange::Withdrawn(Key { table, prefix }))
            }
            None => Report::Routing(RouteChange::NextHopGone { id: self.objects.sweep()? }),
        };
        self.counters.swept += 1;
        Some(swept)
    }

    /// Takes the messages of a frame.
    ///
    /// # Errors
    /// When they do not fill it; those before have taken effect.
    pub fn take(&mut self, mut frame: &[u8]) -> Result<(), Malformed> {
        self.counters.frames += 1;
        // An update comes as a withdrawal with the new route behind it. Between the two there was
        // no moment without the route.
        let mut gone: Option<Key> = None;
        while !frame.is_empty() {
            let message = split_message(&mut frame).ok_or(Malformed::Messages);
            let said = message.map(read);
            if let Some(key) = gone.take() {
                let is_replaced = matches!(&said, Ok(Ok(Said::Route(route))) if key == route.key());
                if !is_replaced {
                    self.withdraw(key);
                }
            }
            match said? {
                Ok(Said::Withdrawn { key, .. }) => gone = Some(key),
                Ok(Said::Route(route)) => self.route(route),
                Ok(Said::NextHop { id, next_hop, is_encapsulated }) => {
                    self.counters.encapsulated += u64::from(is_encapsulated);
                    let report =
                        Report::Routing(RouteChange::NextHop { id, next_hop, is_encapsulated });
                    self.object(id, Kind::NextHop, report);
                }
                Ok(Said::Group { id, members }) => {
                    self.object(
                        id,
                        Kind::Group,
                        Report::Routing(RouteChange::Group { id, members }),
                    );
                }
                Ok(Said::NextHopGone { id }) => self.object_gone(id),
                // Zebra tells of nothing else.
                Ok(_) | Err(Unread::Other) => self.counters.other += 1,
                Err(Unread::Unsupported) => self.counters.unsupported += 1,
                Err(Unread::Malformed) => self.counters.malformed += 1,
            }
        }
        if let Some(key) = gone {
            self.withdraw(key);
        }
        Ok(())
    }

    fn route(&mut self, route: Route) {
        match self.keys.tell(route.key()) {
            keys::Told::Refused => {
                self.counters.refused_routes += 1;
                return self.full(Limited::Routes);
            }
            keys::Told::Renewed => self.is_renewed = true,
            keys::Told::Noted => {}
        }
        self.counters.routes += 1;
        self.counters.encapsulated += u64::from(route.is_encapsulated);
        self.reports.push_back(Report::Routing(RouteChange::Route(route)));
    }

    fn withdraw(&mut self, key: Key) {
        if !self.keys.forget(&key) {
            self.counters.unknown += 1;
            return;
        }
        self.counters.withdrawn += 1;
        let Key { table, prefix } = key;
        self.reports.push_back(Report::Routing(RouteChange::Withdrawn(Key { table, prefix })));
    }

    fn object(&mut self, id: u32, kind: Kind, report: Report) {
        match self.objects.tell(id, kind) {
            keys::Told::Refused => {
                self.counters.refused_next_hops += 1;
                return self.full(Limited::NextHops);
            }
            keys::Told::Renewed => self.is_renewed = true,
            keys::Told::Noted => {}
        }
        self.counters.next_hops += 1;
        self.reports.push_back(report);
    }

    fn object_gone(&mut self, id: u32) {
        if !self.objects.forget(id) {
            self.counters.unknown += 1;
            return;
        }
        self.counters.next_hops_gone += 1;
        self.reports.push_back(Report::Routing(RouteChange::NextHopGone { id }));
    }

    fn full(&mut self, what: Limited) {
        let is_said = &mut self.is_full[what as usize];
        if !std::mem::replace(is_said, true) {
            self.reports.push_back(Report::Full(what));
        }
    }
}
