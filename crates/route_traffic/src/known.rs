//! What a client may be told of each route, with its hash, and what each is expected to have.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::attributes;
use crate::fed::Fed;
use crate::hash::Hashes;

/// Views of routes and their hashes.
pub struct Known {
    fed: Fed,
    hashes: Hashes,
    change: Change,
    passed: Option<Passed>,
    /// Identifiers of the feeders.
    identifiers: Vec<u32>,
    /// Hashes of what clients are told of each view.
    views: Vec<u128>,
}

/// What policies of a device make of a set of attributes of the source, before anything else is
/// changed; none where routes with it are not passed on.
pub type Passed = Arc<dyn Fn(u32) -> Option<Vec<u8>> + Send + Sync>;

/// What a device changes in the attributes of routes that it passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// It reflects them (RFC 4456), as this cluster.
    Reflected {
        /// The identifier of the cluster.
        cluster: u32,
    },
    /// As [`Change::Reflected`], and routes without MULTI_EXIT_DISC are given one of 0.
    ReflectedWithMed {
        /// The identifier of the cluster.
        cluster: u32,
    },
}

impl Known {
    /// Computes the hashes of all views, of a device without policies.
    pub fn new(fed: Fed, hashes: Hashes, change: Change, identifiers: Vec<u32>) -> Known {
        Known::passing(fed, hashes, (change, None), identifiers)
    }

    /// Computes the hashes of all views.
    pub fn passing(
        fed: Fed,
        hashes: Hashes,
        (change, passed): (Change, Option<Passed>),
        identifiers: Vec<u32>,
    ) -> Known {
        let views = fed.views();
        let mut known = Known { fed, hashes, change, passed, identifiers, views: Vec::new() };
        known.views = (0..views).map(|view| known.hash_of_set(&known.attributes(view))).collect();
        known
    }

    /// Returns what feeders say.
    pub fn fed(&self) -> &Fed {
        &self.fed
    }

    /// Returns the hash functions.
    pub fn hashes(&self) -> &Hashes {
        &self.hashes
    }

    /// Returns the attributes of a view as a client is told them.
    pub fn attributes(&self, view: u32) -> Vec<u8> {
        let (mut said, mut told) = (Vec::new(), Vec::new());
        let set = self.fed.set_of(view);
        match self.passed.as_ref().and_then(|passed| passed(set)) {
            Some(passed) => said = passed,
            // What is not passed on is nothing that a client is to have.
            None => self.fed.routes().attributes(set, &mut said),
        }
        let (cluster, has_med) = match self.change {
            Change::Nothing => return said,
            Change::Reflected { cluster } => (cluster, false),
            Change::ReflectedWithMed { cluster } => (cluster, true),
        };
        if has_med {
            said = attributes::with_med(&said);
        }
        let feeder = self.identifiers.get(usize::from(self.fed.feeder_of(view)));
        attributes::reflect(&said, feeder.copied().unwrap_or(0), cluster, &mut told);
        told
    }

    /// Returns the hash of a set of attributes.
    pub fn hash_of_set(&self, set: &[u8]) -> u128 {
        self.hashes.of(SET, set)
    }

    /// Returns the hash of a view's attributes.
    #[inline]
    pub fn hash_of_view(&self, view: u32) -> u128 {
        self.views[view as usize]
    }

    /// Returns the hash of a route with a view, written for that into some memory.
    #[inline]
    pub fn hash(&self, route: u32, view: u32, scratch: &mut Vec<u8>) -> u128 {
        let routes = self.fed.routes();
        scratch.clear();
        routes.wire(route, scratch);
        let family = routes.family(routes.set(route));
        let what = self.hashes.of(family as u64, scratch);
        self.hashes.route(what, self.hash_of_view(view))
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("fed", &self.fed).finish_non_exhaustive()
    }
}

/// Chooses the best of what feeders say of a route, by its number: its place among them; none if it
/// has no use.
pub type Best = Arc<dyn Fn(u32, &[Told]) -> Option<usize> + Send + Sync>;

/// What a feeder says of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The feeder.
    pub feeder: u16,
    /// The set of attributes, of the source.
    pub set: u32,
}

/// What clients are to have.
pub struct Expected {
    known: Arc<Known>,
    best: Best,
    /// What routes have that are not told any more as in the beginning: by route and teller.
    changed: HashMap<(u32, u16), u32>,
    /// Hashes and numbers of routes by the feeder of the best one and its route target.
    sums: BTreeMap<(u16, u32), (u128, u64)>,
    is_withdrawn: bool,
}

impl Expected {
    /// Computes what the feeders' tables lead to.
    pub fn new(known: Arc<Known>, best: Best) -> Expected {
        let (changed, sums) = (HashMap::new(), BTreeMap::new());
        let mut expected = Expected { known, best, changed, sums, is_withdrawn: false };
        let mut scratch = Vec::new();
        let mut last = ((u16::MAX, 0), (0, 0));
        for route in 0..expected.known.fed.routes().count() {
            let Some(view) = expected.best_of(route) else { continue };
            let at = expected.place(view);
            if at != last.0 {
                expected.add(last.0, last.1);
                last = (at, (0, 0));
            }
            last.1.0 = u128::wrapping_add(last.1.0, expected.known.hash(route, view, &mut scratch));
            last.1.1 += 1;
        }
        expected.add(last.0, last.1);
        expected
    }

    /// Returns the view of a route that clients are to have, if there is one.
    pub fn view(&self, route: u32) -> Option<u32> {
        if self.is_withdrawn { None } else { self.best_of(route) }
    }

    /// Returns the view that a feeder tells now of a route that it tells.
    pub fn said(&self, route: u32, teller: u16) -> u32 {
        let changed = self.changed.get(&(route, teller)).copied();
        changed.unwrap_or_else(|| self.known.fed.told(route, teller))
    }

    /// Returns all changes of routes since the beginning: route and view.
    pub fn changes(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.changed.iter().map(|((route, _), view)| (*route, *view))
    }

    /// Notes that a feeder tells another view of a route; returns the view that clients are to have
    /// for it then, if that changes.
    pub fn change(&mut self, route: u32, view: u32) -> Option<u32> {
        let before = self.best_of(route);
        self.changed.insert((route, self.known.fed.teller_of(view)), view);
        let after = self.best_of(route);
        if before == after {
            return None;
        }
        let mut scratch = Vec::new();
        for (view, is_added) in [(before, false), (after, true)] {
            let Some(view) = view else { continue };
            let hash = self.known.hash(route, view, &mut scratch);
            let at = self.place(view);
            match is_added {
                true => self.add(at, (hash, 1)),
                false => self.add(at, (hash.wrapping_neg(), 1_u64.wrapping_neg())),
            }
        }
        after
    }

    /// Notes that the feeders have withdrawn everything.
    pub fn withdraw_all(&mut self) {
        self.is_withdrawn = true;
    }

    /// Returns whether the feeders have withdrawn everything.
    pub fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    /// Returns the hash and the number of the routes that a client is to have: a feeder is not told
    /// its own, and a client with route targets only those.
    pub fn of(&self, own: Option<u16>, targets: Option<&[u32]>) -> (u128, u64) {
        if self.is_withdrawn {
            return (0, 0);
        }
        let has = |feeder: &u16, target: &u32| {
            Some(*feeder) != own && targets.is_none_or(|some| some.contains(target))
        };
        let sums = self.sums.iter().filter(|((feeder, target), _)| has(feeder, target));
        sums.fold((0, 0), |(hash, count), (_, (more, routes))| {
            (u128::wrapping_add(hash, *more), u64::wrapping_add(count, *routes))
        })
    }

    /// Returns the feeder and route target of a view.
    pub fn place(&self, view: u32) -> (u16, u32) {
        let fed = &self.known.fed;
        (fed.feeder_of(view), fed.routes().target(fed.set_of(view)))
    }

    fn best_of(&self, route: u32) -> Option<u32> {
        let fed = &self.known.fed;
        if fed.tellers() == 1 {
            let view = self.said(route, 0);
            let told = Told { feeder: fed.feeder_of(view), set: fed.set_of(view) };
            return (self.best)(route, &[told]).map(|_| view);
        }
        let views: Vec<u32> = (0..fed.tellers()).map(|teller| self.said(route, teller)).collect();
        let told = |view: &u32| Told { feeder: fed.feeder_of(*view), set: fed.set_of(*view) };
        let told: Vec<Told> = views.iter().map(told).collect();
        (self.best)(route, &told).and_then(|at| views.get(at).copied())
    }

    fn add(&mut self, at: (u16, u32), (hash, count): (u128, u64)) {
        if count != 0 {
            let sum = self.sums.entry(at).or_default();
            *sum = (sum.0.wrapping_add(hash), sum.1.wrapping_add(count));
        }
    }
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").field("sums", &self.sums.len()).finish_non_exhaustive()
    }
}

/// The number beside a set of attributes in its hash, which no family has.
const SET: u64 = 1 << 32;
