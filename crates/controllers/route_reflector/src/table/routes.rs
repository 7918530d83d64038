//! The routes of a family: each a key with the paths to it, of which the best one comes first.
//!
//! ```text
//!  index -> Route | key | best path | further paths, a list | place in the log of changes |
//! ```
//! A route without paths stays as long as somebody may have to be told that it is gone.

use hashbrown::HashTable;
use tables::hash::Keyed;

use crate::table::free::{Free, cut, has_much_room};
use crate::table::interned::hash;
use crate::table::keys::{Key, Keys};
use crate::table::slots::Slots;

/// A way to a destination, as one peer has told it. 16 bytes: there are tens of millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The number of its attribute block and next hop.
    pub attributes: u32,
    /// What its NLRI has beside the key, like labels.
    pub rest: Rest,
    /// Its identifier where the peer sends several (RFC 7911); 0 where it does not.
    pub identifier: u32,
    /// The number of the peer.
    pub peer: u16,
    /// Whether the peer is gone and may come back with it (RFC 4724).
    pub is_stale: bool,
    /// Its number among the paths of the route, by which others are told of it (RFC 7911); 0 where
    /// it has none.
    pub slot: u8,
}

/// What an NLRI has beside its key: nothing, up to three bytes, or the number of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rest(u32);

/// A destination.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Its key.
    pub key: Key,
    /// The best path; with [`NONE`] as its attributes, there is none.
    best: Path,
    /// The first further path, and in the highest bit whether the best path was several peers'
    /// since the route is known.
    more: u32,
    /// When it changed last, as a place in the log of changes.
    pub changed: u32,
}

const _: () = assert!(size_of::<Path>() == 16 && size_of::<Route>() == 32);

/// All routes of a family.
#[derive(Debug)]
pub struct Routes {
    keys: Keys,
    index: Vec<HashTable<u32>>,
    routes: Vec<Route>,
    free: Free,
    further: Vec<Further>,
    free_further: Free,
    keyed: Keyed,
    /// Routes that have a path.
    live: usize,
    paths: usize,
    /// Routes that are not free.
    used: usize,
}

/// A path that is not the best one.
#[derive(Clone, Copy, Debug)]
struct Further {
    path: Path,
    next: u32,
}

impl Path {
    /// Whether others are told the same of two paths.
    pub fn tell_the_same(one: Option<&Path>, other: Option<&Path>) -> bool {
        let told = |path: &Path| Path { is_stale: false, slot: 0, ..*path };
        one.map(told) == other.map(told)
    }
}

impl Rest {
    /// Returns up to three bytes as they are; `None` for more.
    pub fn short(bytes: &[u8]) -> Option<Rest> {
        if bytes.len() > 3 {
            return None;
        }
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        Some(Rest(u32::from_le_bytes(word) | (bytes.len() as u32) << 24))
    }

    /// Returns a string by its number, below 2^31.
    pub fn of_string(number: u32) -> Rest {
        Rest(number | STRING)
    }

    /// Returns the number of the string; `None` if the bytes are here.
    pub fn string(self) -> Option<u32> {
        (self.0 & STRING != 0).then_some(self.0 & !STRING)
    }

    /// Returns the bytes that are here, behind which others follow up to three.
    pub fn bytes(self) -> ([u8; 4], usize) {
        (self.0.to_le_bytes(), (self.0 >> 24 & 3) as usize)
    }
}

impl Route {
    /// Returns the best path.
    #[inline]
    pub fn best(&self) -> Option<&Path> {
        (self.best.attributes != NONE).then_some(&self.best)
    }

    /// Returns the peer of the best path, or of the last one that was it.
    #[inline]
    pub fn teller(&self) -> u16 {
        self.best.peer
    }

    /// Returns true if the best path was several peers' since the route is known.
    #[inline]
    pub fn had_several_tellers(&self) -> bool {
        self.more & SEVERAL != 0
    }

    /// The number of the first further path.
    fn first(&self) -> u32 {
        self.more & !SEVERAL
    }

    fn set_first(&mut self, first: u32) {
        self.more = self.more & SEVERAL | first;
    }

    fn set_best(&mut self, path: Path) {
        if self.best.peer != path.peer {
            self.more |= SEVERAL;
        }
        self.best = path;
    }
}

impl Routes {
    /// Creates an empty table, whose hashes nobody can foresee who does not know the secret.
    pub fn new(secret: [u64; 2]) -> Routes {
        Routes {
            keys: Keys::default(),
            index: (0..SHARDS).map(|_| HashTable::new()).collect(),
            routes: Vec::new(),
            free: Free::default(),
            further: Vec::new(),
            free_further: Free::default(),
            keyed: Keyed::new(secret),
            live: 0,
            paths: 0,
            used: 0,
        }
    }

    /// Returns how many routes have a path, and how many paths there are.
    pub fn count(&self) -> (usize, usize) {
        (self.live, self.paths)
    }

    /// Returns a number above that of every route.
    pub fn end(&self) -> u32 {
        self.routes.len() as u32
    }

    /// Returns the number of a route.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<u32> {
        let Routes { keys, routes, keyed, .. } = self;
        let is_it = |at: &u32| keys.with(routes[*at as usize].key, |known| known == key);
        let hash = key_hash(keyed, key);
        let index = &self.index[shard_of(hash)];
        match Keys::short(key) {
            Some(short) => index.find(hash, |at| routes[*at as usize].key == short),
            None => index.find(hash, is_it),
        }
        .copied()
    }

    /// Returns whether a peer has told a path to a key by an identifier.
    pub fn has(&self, key: &[u8], (peer, identifier): (u16, u32)) -> bool {
        let mut paths = self.find(key).into_iter().flat_map(|number| self.paths(number));
        paths.any(|path| (path.peer, path.identifier) == (peer, identifier))
    }

    /// Returns the number of a route, which is new and without a path if it was not there; `None`
    /// where there are no more numbers.
    pub fn find_or_add(&mut self, key: &[u8]) -> Option<u32> {
        if let Some(known) = self.find(key) {
            return Some(known);
        }
        let number = match self.free.take(self.routes.len()) {
            Some(number) => number,
            None => u32::try_from(self.routes.len()).ok().filter(|new| *new != NONE)?,
        };
        self.used += 1;
        let key = self.keys.keep(key);
        let route = Route { key, best: NO_PATH, more: LAST, changed: 0 };
        match self.routes.get_mut(number as usize) {
            Some(free) => *free = route,
            None => self.routes.push(route),
        }
        let Routes { keys, routes, keyed, index, .. } = self;
        let hash = keys.hash(key, keyed);
        let hash_of = |at: &u32| keys.hash(routes[*at as usize].key, keyed);
        index[shard_of(hash)].insert_unique(hash, number, hash_of);
        Some(number)
    }

    /// Forgets a route without paths.
    pub fn forget(&mut self, number: u32) {
        let route = &mut self.routes[number as usize];
        assert!(route.best.attributes == NONE, "route {number} has a path");
        let key = route.key;
        (route.key, route.best.identifier) = (Key::default(), FREE);
        let hash = self.keys.hash(key, &self.keyed);
        let index = &mut self.index[shard_of(hash)];
        if let Ok(found) = index.find_entry(hash, |at| *at == number) {
            found.remove();
        }
        let Routes { keys, routes, keyed, .. } = self;
        if has_much_room(index.len() * SHARDS, index.capacity() * SHARDS) {
            let hash_of = |at: &u32| keys.hash(routes[*at as usize].key, keyed);
            index.shrink_to(index.len() * 2, hash_of);
        }
        self.keys.forget(key);
        self.used -= 1;
        cut(&mut self.routes, |route| {
            route.best.attributes == NONE && route.best.identifier == FREE
        });
        self.free.add(number, self.routes.len());
    }

    /// Returns whether a number is that of a route, and not free.
    #[inline]
    pub fn is_used(&self, number: u32) -> bool {
        let Path { attributes, identifier, .. } = self.routes[number as usize].best;
        attributes != NONE || identifier != FREE
    }

    /// Returns a route that was added.
    #[inline]
    pub fn route(&self, number: u32) -> &Route {
        &self.routes[number as usize]
    }

    /// Notes when a route changed.
    #[inline]
    pub fn note(&mut self, number: u32, changed: u32) {
        self.routes[number as usize].changed = changed;
    }

    /// Calls `with` on the key of a route.
    #[inline]
    pub fn with_key<R>(&self, number: u32, with: impl FnOnce(&[u8]) -> R) -> R {
        self.keys.with(self.routes[number as usize].key, with)
    }

    /// Returns the paths of a route, the best one first.
    pub fn paths(&self, number: u32) -> impl Iterator<Item = &Path> {
        let route = &self.routes[number as usize];
        let further = std::iter::successors(self.further.get(route.first() as usize), |one| {
            self.further.get(one.next as usize)
        });
        route.best().into_iter().chain(further.map(|one| &one.path))
    }

    /// Puts a path in the place of the one that the same peer had by the same identifier, which is
    /// returned, or adds it. Which path is best is to be chosen anew. It has the number of the one
    /// in whose place it is.
    pub fn put(&mut self, number: u32, path: Path) -> Option<Path> {
        let is_it = |one: &Path| (one.peer, one.identifier) == (path.peer, path.identifier);
        let route = &mut self.routes[number as usize];
        if route.best.attributes == NONE {
            let is_new = route.best.rest != GONE;
            match is_new {
                true => route.best = path,
                false => route.set_best(path),
            }
            self.live += 1;
            self.paths += 1;
            return None;
        }
        if is_it(&route.best) {
            let path = Path { slot: route.best.slot, ..path };
            return Some(std::mem::replace(&mut route.best, path));
        }
        let mut at = route.first();
        while let Some(one) = self.further.get_mut(at as usize) {
            if is_it(&one.path) {
                let path = Path { slot: one.path.slot, ..path };
                return Some(std::mem::replace(&mut one.path, path));
            }
            at = one.next;
        }
        let one = Further { path, next: route.first() };
        let first = match self.free_further.take(self.further.len()) {
            Some(free) => {
                self.further[free as usize] = one;
                free
            }
            None => {
                self.further.push(one);
                self.further.len() as u32 - 1
            }
        };
        route.set_first(first);
        self.paths += 1;
        None
    }

    /// Takes a path away and returns it. Which one of the others is best is to be chosen anew.
    pub fn take(&mut self, number: u32, (peer, identifier): (u16, u32)) -> Option<Path> {
        let is_it = |one: &Path| (one.peer, one.identifier) == (peer, identifier);
        let route = &mut self.routes[number as usize];
        let best = *route.best()?;
        let mut freed = None;
        let taken = if is_it(&best) {
            match self.further.get(route.first() as usize).copied() {
                Some(second) => {
                    freed = Some(route.first());
                    route.set_first(second.next);
                    route.set_best(second.path);
                }
                None => {
                    route.best = Path { peer, rest: GONE, ..NO_PATH };
                    self.live -= 1;
                }
            }
            best
        } else {
            let (mut before, mut at) = (None::<u32>, route.first());
            loop {
                let one = *self.further.get(at as usize)?;
                if is_it(&one.path) {
                    match before {
                        None => route.set_first(one.next),
                        Some(before) => self.further[before as usize].next = one.next,
                    }
                    freed = Some(at);
                    break one.path;
                }
                (before, at) = (Some(at), one.next);
            }
        };
        self.paths -= 1;
        if let Some(at) = freed {
            self.further[at as usize].path.attributes = NONE;
            cut(&mut self.further, |one| one.path.attributes == NONE);
            self.free_further.add(at, self.further.len());
        }
        Some(taken)
    }

    /// Marks all paths of a peer as stale.
    pub fn mark(&mut self, peer: u16) {
        let best = self.routes.iter_mut().map(|route| &mut route.best);
        let further = self.further.iter_mut().map(|one| &mut one.path);
        let all = best.chain(further).filter(|path| path.peer == peer);
        all.for_each(|path| path.is_stale = path.attributes != NONE);
    }

    /// Makes the path of this place among [`Routes::paths`] the best one.
    pub fn prefer(&mut self, number: u32, place: usize) {
        let Some(further) = place.checked_sub(1) else { return };
        let route = &mut self.routes[number as usize];
        let mut at = route.first();
        for _ in 0..further {
            at = self.further.get(at as usize).map_or(LAST, |one| one.next);
        }
        if let Some(one) = self.further.get_mut(at as usize) {
            let path = std::mem::replace(&mut one.path, route.best);
            route.set_best(path);
        }
    }

    /// Returns the path of a route by its number.
    pub fn in_slot(&self, number: u32, slot: u8) -> Option<&Path> {
        self.paths(number).find(|path| path.slot == slot)
    }

    /// Gives numbers to the paths of a route that have none, as long as there are some: rather
    /// others than those of `avoided`. The best path has one always. `ended` is that of a path that
    /// has gone or was replaced. Returns the numbers of which the paths are others than before, and
    /// those of them that were in use.
    pub fn give_slots(&mut self, number: u32, ended: Slots, avoided: Slots) -> (Slots, Slots) {
        let slots = self.paths(number).map(|path| Slots::of(path.slot));
        let mut used = slots.fold(Slots::NONE, Slots::or);
        let (before, mut others) = (used.or(ended), ended.without(used));
        let avoided = avoided.or(others);
        let mut give = |path: &mut Path| {
            if path.slot == 0 {
                path.slot = used.or(avoided).free().or_else(|| used.free()).unwrap_or(0);
                used = used.or(Slots::of(path.slot));
                others = others.or(Slots::of(path.slot));
            }
        };
        let route = &mut self.routes[number as usize];
        if route.best.attributes != NONE {
            give(&mut route.best);
        }
        let mut at = route.first();
        while let Some(one) = self.further.get_mut(at as usize) {
            give(&mut one.path);
            at = one.next;
        }
        // Where all are in use, it takes another one's.
        if route.best.attributes != NONE && route.best.slot == 0 {
            at = route.first();
            while let Some(one) = self.further.get_mut(at as usize).filter(|_| route.best.slot == 0)
            {
                std::mem::swap(&mut route.best.slot, &mut one.path.slot);
                at = one.next;
            }
            others = others.or(Slots::of(route.best.slot));
        }
        (others, others.and(before))
    }

    /// Returns how many bytes of memory are used; others of [`Routes::memory`] are free.
    pub fn used(&self) -> usize {
        // An index may have twice as many places as it has routes.
        let routes = self.used * (size_of::<Route>() + INDEX_BYTES);
        routes + (self.paths - self.live) * size_of::<Further>() + self.keys.used()
    }

    /// Returns how many bytes of memory they have.
    pub fn memory(&self) -> usize {
        let index: usize = self.index.iter().map(|shard| shard.capacity() * 5 * 8 / 7).sum();
        let free = self.free.memory() + self.free_further.memory();
        self.routes.len() * size_of::<Route>()
            + self.further.len() * size_of::<Further>()
            + self.keys.memory()
            + index
            + free
    }
}

#[inline]
fn key_hash(keyed: &Keyed, key: &[u8]) -> u64 {
    match Keys::short(key) {
        Some(short) => short.hash(keyed),
        None => hash(keyed, key),
    }
}

/// The part of the index in which a hash is. Each grows by itself, so that no growth takes long.
/// Its place comes from bits of which a part makes no use itself.
#[inline]
fn shard_of(hash: u64) -> usize {
    (hash >> SHARD_SHIFT) as usize % SHARDS
}

/// No route, path or attribute block.
pub const NONE: u32 = u32::MAX;

const NO_PATH: Path =
    Path { attributes: NONE, rest: Rest(0), identifier: 0, peer: 0, is_stale: false, slot: 0 };

/// The identifier where no route is.
const FREE: u32 = u32::MAX;

/// The rest of a path that was there and is gone.
const GONE: Rest = Rest(u32::MAX);

const STRING: u32 = 1 << 31;
/// The flag in [`Route::more`], and no further path.
const SEVERAL: u32 = 1 << 31;
const LAST: u32 = SEVERAL - 1;
const SHARDS: usize = 256;
/// Most bytes of the index for a route.
const INDEX_BYTES: usize = 2 * 5 * 8 / 7;
const SHARD_SHIFT: u32 = 40;
