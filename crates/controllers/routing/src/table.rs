//! What was told, as changes of the router.

use std::collections::BTreeMap;

use controller_kit::Refusal;
use function_l3_router::Update;
use function_l3_router::config::Network;
use protocol_netlink::{Destination, Key, NextHop, Route, RouteChange};

use crate::objects::{Content, Objects};
use crate::refused::Refused;
use crate::router::{Router, is_host};
use crate::routes::{Entry, Wanted};
use crate::ways::Ways;

/// What was told, and what the router has of it.
pub(crate) struct Table {
    pub ways: Ways,
    pub objects: Objects,
    pub counters: Counters,
    /// The VRFs by the kernel's tables.
    vrfs: BTreeMap<u32, u16>,
    /// What is held until zebra has told everything again.
    kept: Vec<u32>,
    /// Routes that the router has refused.
    pub refused: Refused,
    /// A look at all routes: the last one that was looked at.
    scan: Option<Scan>,
    /// A look at everything that routes lead to.
    recheck: Option<Recheck>,
    /// Whether something stale was told again since somebody looked.
    pub is_renewed: bool,
}

#[derive(Clone, Copy, Default)]
struct Scan {
    last: Option<Network>,
    /// Everything was told again: what was kept for that ends.
    settles: bool,
    /// What was taken over from an earlier life and was not told goes.
    sweeps: bool,
}

#[derive(Clone, Copy)]
enum Recheck {
    Hops(Option<u32>),
    Groups(Option<u32>),
    Lists(Option<u32>),
}

/// Routes that were told and are not the router's.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counters {
    /// Of tables that are no VRF.
    pub other_table: u64,
    /// To prefixes of links, addresses of the router, or those of its configuration's routes.
    pub taken: u64,
    /// Of IPv6, which the router does not route.
    pub no_ipv6: u64,
    /// That want another header.
    pub encapsulated: u64,
    /// Without a gateway.
    pub no_gateway: u64,
    /// With a list of next hops, of which there were too many.
    pub lists_full: u64,
    /// Taken over from an earlier life, and not told again.
    pub swept: u64,
}

impl Table {
    /// Takes over what a router has.
    pub fn new(
        router: Router,
        vrfs: BTreeMap<u32, u16>,
        lists_max: usize,
        state: &[Update],
    ) -> Table {
        let mut ways = Ways::new(router);
        ways.routes.renew();
        let kept = ways.adopt(state);
        Table {
            ways,
            objects: Objects::new(lists_max),
            counters: Counters::default(),
            vrfs,
            kept,
            refused: Refused::default(),
            scan: None,
            recheck: None,
            is_renewed: false,
        }
    }

    /// Whether something is held until zebra has told everything again.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Takes in what is told.
    pub fn tell(&mut self, change: RouteChange) {
        match change {
            RouteChange::Route(route) => self.route(&route),
            RouteChange::Withdrawn(Key { table, prefix }) => {
                if let Some(&vrf) = self.vrfs.get(&table) {
                    let (address, len) = (prefix.address(), prefix.bits());
                    self.withdraw(&Network { vrf, address, len });
                }
            }
            RouteChange::NextHop { id, next_hop, is_encapsulated } => {
                let content = match next_hop {
                    _ if is_encapsulated => Content::Unsupported,
                    NextHop::Hop(hop) => Content::Hop(hop),
                    NextHop::Blackhole => Content::Nowhere,
                };
                self.objects.tell(id, content, &mut self.ways);
            }
            RouteChange::Group { id, members } => {
                self.objects.tell(id, Content::Group(members), &mut self.ways);
            }
            RouteChange::NextHopGone { id } => self.objects.forget(id, &mut self.ways),
        }
        self.tidy();
    }

    /// The kernel's interfaces are others.
    pub fn set_links(&mut self, links: BTreeMap<u32, u16>) {
        if self.ways.links != links {
            self.ways.links = links;
            self.recheck = Some(Recheck::Hops(None));
        }
    }

    /// Everything that is wanted was told: what is kept for that ends, and also what was taken over
    /// from an earlier life, if it was not told by now.
    pub fn settle(&mut self, sweeps: bool) {
        self.scan = Some(Scan { last: None, settles: true, sweeps });
    }

    /// A change took effect.
    pub fn applied(&mut self, update: &Update) {
        match *update {
            Update::RemoveRoute { prefix, .. } => self.refused.make_room(prefix.address.is_ipv6()),
            Update::RemoveNextHop { .. } => {
                [false, true].into_iter().for_each(|is_ipv6| self.refused.make_room(is_ipv6));
            }
            Update::SetNextHop { number, .. } if self.ways.hops.take(number) => {
                self.refused.make_room_for_all();
            }
            _ => {}
        }
    }

    /// A change was refused.
    pub fn refuse(&mut self, update: &Update, why: Refusal) {
        match *update {
            Update::SetRoute { prefix, vrf, next_hop } => {
                let network = Network::of(vrf, prefix);
                self.ways.lose(&network);
                if why != Refusal::Full {
                    // The router may still have what it had before.
                    self.ways.account.push(Update::RemoveRoute { prefix, vrf });
                }
                self.refused.insert(network, next_hop);
            }
            Update::SetNextHop { number, .. } => self.ways.hops.refuse(number),
            _ => {}
        }
        self.tidy();
    }

    /// Whether the router has refused something that is still wanted.
    pub fn wants_room(&self) -> bool {
        self.refused.len() > 0 || self.ways.hops.any_refused()
    }

    /// Does a part of what is left to do; false if there is nothing.
    pub fn step(&mut self) -> bool {
        if let Some(recheck) = self.recheck {
            self.recheck_some(recheck);
        } else if self.scan.is_some() {
            self.look();
        } else if self.ways.is_relieved {
            self.ways.relieve();
            self.recheck = Some(Recheck::Hops(None));
        } else {
            return self.retry();
        }
        self.tidy();
        true
    }

    /// Begins to look at the routes that lead to what leads elsewhere now; false if there is
    /// nothing of the kind.
    pub fn follow(&mut self) -> bool {
        let is_moved = std::mem::take(&mut self.objects.is_moved);
        if is_moved {
            self.scan = Some(Scan::default());
        }
        is_moved
    }

    /// Whether there is something left to do.
    pub fn has_work(&self) -> bool {
        self.objects.is_moved
            || self.scan.is_some()
            || self.recheck.is_some()
            || self.ways.is_relieved
            || self.refused.has_room()
    }

    /// Everything is told anew from now on; until then what was told before holds.
    pub fn renew(&mut self) {
        self.ways.routes.renew();
        let held = self.objects.renew(&mut self.ways);
        // What an earlier connection had led to is held by its routes alone.
        for number in std::mem::replace(&mut self.kept, held) {
            self.ways.release(number);
        }
        self.tidy();
    }

    fn route(&mut self, route: &Route) {
        let Some(&vrf) = self.vrfs.get(&route.table) else {
            self.counters.other_table += 1;
            return;
        };
        let (address, len) = (route.prefix.address(), route.prefix.bits());
        let network = Network { vrf, address, len };
        match self.wanted(route, network) {
            None => self.withdraw(&network),
            Some(wanted) => {
                let (entry, before) = self.ways.routes.tell(network, wanted);
                if let Some(before) = before {
                    self.release_wanted(&before);
                }
                self.lead_on(network, entry);
            }
        }
    }

    /// Where a route is to lead; `None` if the router cannot have it.
    fn wanted(&mut self, route: &Route, network: Network) -> Option<Wanted> {
        let counters = &mut self.counters;
        let refusing = if self.ways.router.is_taken(&network) {
            Some(&mut counters.taken)
        } else if network.address.is_ipv6() && !self.ways.router.ipv6 {
            Some(&mut counters.no_ipv6)
        } else if route.is_encapsulated {
            Some(&mut counters.encapsulated)
        } else {
            None
        };
        if let Some(counter) = refusing {
            *counter += 1;
            return None;
        }
        match &route.destination {
            Destination::Blackhole | Destination::Unreachable | Destination::Prohibited => {
                Some(Wanted::Nowhere)
            }
            Destination::Object(id) => {
                counters.no_gateway += u64::from(self.objects.is_unsupported(*id));
                self.objects.hold_object(*id);
                Some(Wanted::Object(*id))
            }
            Destination::Hops(hops) if hops.iter().all(|hop| hop.gateway.is_none()) => {
                counters.no_gateway += 1;
                None
            }
            Destination::Hops(hops) => {
                let list = self.objects.hold_list(network.vrf, hops, &mut self.ways);
                counters.lists_full += u64::from(list.is_none());
                list.map(Wanted::List)
            }
        }
    }

    fn withdraw(&mut self, network: &Network) {
        let Some(before) = self.ways.routes.get(network) else { return };
        self.is_renewed |= before.generation != self.ways.routes.generation;
        self.ways.install(*network, None);
        self.ways.routes.forget(network);
        self.refused.remove(network);
        if before.generation == self.ways.routes.generation {
            self.release_wanted_of(before.wanted);
        }
    }

    /// A route led there in this connection, or it is told again for the first time.
    fn release_wanted(&mut self, before: &Entry) {
        match before.generation == self.ways.routes.generation {
            true => self.release_wanted_of(before.wanted),
            false => self.is_renewed = true,
        }
    }

    fn release_wanted_of(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::Untold | Wanted::Nowhere => {}
            Wanted::Object(id) => self.objects.release_object(id),
            Wanted::List(number) => self.objects.release_list(number, &mut self.ways),
        }
    }

    /// Where a route of this connection leads now.
    fn lead(&self, network: &Network, wanted: Wanted) -> Option<u32> {
        if is_host(network) && self.ways.hops.has(network) {
            // The neighbour's own address.
            return None;
        }
        match wanted {
            Wanted::Untold => None,
            Wanted::Nowhere => Some(self.ways.router.nowhere()),
            Wanted::Object(id) => self.objects.object(id),
            Wanted::List(number) => self.objects.list(number),
        }
    }

    /// Whether a route is to lead elsewhere than it does.
    fn is_moved(&self, network: &Network, entry: &Entry) -> bool {
        if entry.generation != self.ways.routes.generation {
            return false;
        }
        let to = self.lead(network, entry.wanted);
        let is_refused = to.is_some() && self.refused.get(network) == to;
        to != entry.installed && !is_refused && !(to.is_none() && entry.is_kept)
    }

    /// Makes a route lead where it is wanted.
    fn visit(&mut self, network: Network) {
        let entry = self.ways.routes.get(&network);
        let generation = self.ways.routes.generation;
        if let Some(entry) = entry.filter(|entry| entry.generation == generation) {
            self.lead_on(network, entry);
        }
    }

    /// The same of one with this entry, of this connection.
    fn lead_on(&mut self, network: Network, entry: Entry) {
        let to = self.lead(&network, entry.wanted);
        if entry.is_kept {
            if to.is_none() {
                return;
            }
            self.ways.routes.let_go(&network);
        }
        self.refused.remove(&network);
        if to != entry.installed {
            self.ways.install_anew(network, entry.installed, to);
        }
    }

    /// Removes what nothing leads to any more, and lets routes in that stood behind it.
    fn tidy(&mut self) {
        loop {
            if let Some(network) = self.ways.revisit.pop() {
                self.visit(network);
            } else if !self.ways.collect() {
                return;
            }
        }
    }

    /// Looks at some routes.
    fn look(&mut self) {
        let Some(Scan { last, settles, sweeps }) = self.scan else { return };
        let (mut seen, mut next, mut found) = (0, None, Vec::new());
        for (network, entry) in self.ways.routes.behind(last) {
            let is_swept = sweeps && entry.wanted == Wanted::Untold;
            if is_swept || settles && entry.is_kept || self.is_moved(network, entry) {
                found.push((*network, is_swept));
            }
            seen += 1;
            if seen == SEEN_MAX || found.len() == MOVED_MAX {
                next = Some(*network);
                break;
            }
        }
        for (network, is_swept) in found {
            if is_swept {
                self.counters.swept += 1;
                self.withdraw(&network);
            } else {
                if settles {
                    self.ways.routes.let_go(&network);
                }
                self.visit(network);
            }
        }
        self.scan = next.map(|last| Scan { last: Some(last), settles, sweeps });
        if settles && next.is_none() {
            for number in std::mem::take(&mut self.kept) {
                self.ways.release(number);
            }
        }
    }

    fn recheck_some(&mut self, recheck: Recheck) {
        let (objects, ways) = (&mut self.objects, &mut self.ways);
        let next = match recheck {
            Recheck::Hops(last) => {
                let last = objects.resolve_some(last, false, ways);
                last.map_or(Recheck::Groups(None), |last| Recheck::Hops(Some(last)))
            }
            Recheck::Groups(last) => {
                let last = objects.resolve_some(last, true, ways);
                last.map_or(Recheck::Lists(None), |last| Recheck::Groups(Some(last)))
            }
            Recheck::Lists(last) => match objects.resolve_some_lists(last, ways) {
                Some(last) => Recheck::Lists(Some(last)),
                None => {
                    self.recheck = None;
                    return;
                }
            },
        };
        self.recheck = Some(next);
    }

    /// Tells the router again something that it has refused, if there may be room now.
    fn retry(&mut self) -> bool {
        if !self.refused.has_room() {
            return false;
        }
        if self.ways.hops.any_refused() {
            self.ways.hops.retry(&self.ways.router, &mut self.ways.account);
        }
        if let Some(network) = self.refused.next() {
            self.visit(network);
            self.tidy();
        }
        true
    }
}

/// Routes that are looked at in one step, if they lead where they should.
const SEEN_MAX: usize = 16_384;

/// Routes that lead elsewhere after one step.
const MOVED_MAX: usize = 1024;
