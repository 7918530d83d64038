//! The routes of a family with the log of their changes: paths come and go, the best one is chosen,
//! and what readers of the log have to tell is noted.

use std::collections::VecDeque;

use hashbrown::HashTable;
use tables::hash::Keyed;

use crate::table::decision::{self, Candidate, Rules};
use crate::table::log::{Log, Place};
use crate::table::routes::{Path, Routes};

/// A family of routes.
#[derive(Debug)]
pub struct Family {
    routes: Routes,
    log: Log,
    /// Routes without a path, or with other targets than before, of which all readers of the log
    /// know, and since when: who is told of the table by itself may not.
    gone: VecDeque<(Place, u32)>,
    had: Had,
    rules: Rules,
    /// Whether somebody is told of all paths, not of the best ones alone (RFC 7911).
    tells_all: bool,
    candidates: Vec<Candidate>,
    left: Vec<usize>,
}

/// What has become of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path that is there no more: whoever counts its attributes ends a use of them.
    pub ended: Option<Path>,
    /// Whether others have to be told.
    pub is_noted: bool,
    /// The number of the route.
    pub number: u32,
    /// The path that was the best one before.
    pub before: Option<Path>,
}

/// Of routes that have had other targets than they have now, the number of the set of all that they
/// may be known by.
#[derive(Debug)]
struct Had {
    sets: HashTable<(u32, u32)>,
    keyed: Keyed,
}

impl Had {
    fn get(&self, route: u32) -> Option<u32> {
        if self.sets.is_empty() {
            return None;
        }
        let hash = self.keyed.of2(u64::from(route), 0);
        self.sets.find(hash, |one| one.0 == route).map(|one| one.1)
    }

    /// Puts a set in the place of the one that was there, which is returned.
    fn put(&mut self, route: u32, set: Option<u32>) -> Option<u32> {
        let Had { sets, keyed } = self;
        let hash_of = |one: &(u32, u32)| keyed.of2(u64::from(one.0), 0);
        let hash = hash_of(&(route, 0));
        match (sets.find_entry(hash, |one| one.0 == route), set) {
            (Ok(mut known), Some(set)) => Some(std::mem::replace(known.get_mut(), (route, set)).1),
            (Ok(known), None) => Some(known.remove().0.1),
            (Err(_), Some(set)) => {
                sets.insert_unique(hash, (route, set), hash_of);
                None
            }
            (Err(_), None) => None,
        }
    }
}

impl Family {
    /// Creates a family without routes.
    pub fn new(secret: [u64; 2], rules: Rules) -> Family {
        Family {
            routes: Routes::new(secret),
            log: Log::default(),
            gone: VecDeque::new(),
            had: Had { sets: HashTable::new(), keyed: Keyed::new(secret) },
            rules,
            tells_all: false,
            candidates: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Returns the routes.
    #[inline]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Returns how paths are compared.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the log.
    #[inline]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// From now on changes of all paths are noted, or of the best ones alone.
    pub fn tell_all(&mut self, tells_all: bool) {
        self.tells_all = tells_all;
    }

    /// A peer tells a path to a key, in the place of the one that it told before by the same
    /// identifier. `None` where there are no more numbers of routes.
    pub fn announce(
        &mut self,
        key: &[u8],
        path: Path,
        judge: impl Fn(&Path) -> Candidate,
    ) -> Option<Change> {
        let number = self.routes.find_or_add(key)?;
        let before = self.routes.route(number).best().copied();
        let ended = self.routes.put(number, path);
        let is_same = Path::tell_the_same(ended.as_ref(), Some(&path));
        let is_noted = !is_same && self.choose(number, before, judge);
        Some(Change { ended, is_noted, number, before })
    }

    /// A peer withdraws the path to a key that it told by an identifier. `None` where there is
    /// none.
    pub fn withdraw(
        &mut self,
        key: &[u8],
        told: (u16, u32),
        judge: impl Fn(&Path) -> Candidate,
    ) -> Option<Change> {
        let number = self.routes.find(key)?;
        self.withdraw_of(number, told, judge)
    }

    /// The same of a route by its number.
    pub fn withdraw_of(
        &mut self,
        number: u32,
        told: (u16, u32),
        judge: impl Fn(&Path) -> Candidate,
    ) -> Option<Change> {
        let before = self.routes.route(number).best().copied();
        let ended = self.routes.take(number, told)?;
        let is_noted = self.choose(number, before, judge);
        Some(Change { ended: Some(ended), is_noted, number, before })
    }

    /// Returns the set of the targets that a route may be known by, where that is another one than
    /// the present one.
    #[inline]
    pub fn had(&self, number: u32) -> Option<u32> {
        self.had.get(number)
    }

    /// Notes that set, or that it is the present one. Returns what was noted before.
    pub fn note_had(&mut self, number: u32, set: Option<u32>) -> Option<u32> {
        self.had.put(number, set)
    }

    /// Forgets what all routes have had, and returns it.
    pub fn forget_had(&mut self) -> impl Iterator<Item = u32> {
        std::mem::take(&mut self.had.sets).into_iter().map(|one| one.1)
    }

    /// Returns the place of the best candidate; 0 where there is none.
    pub fn best(&self, candidates: &[Candidate]) -> usize {
        decision::best(candidates, self.rules, &mut Vec::new())
    }

    /// Marks all paths of a peer as stale. One that is told again is not.
    pub fn mark(&mut self, peer: u16) {
        self.routes.mark(peer);
    }

    /// The paths of a peer count otherwise than before: chooses the best one of a route anew. One of
    /// the peer's is told anew in any case. `None` where the peer has none.
    pub fn judge_anew(
        &mut self,
        number: u32,
        peer: u16,
        judge: impl Fn(&Path) -> Candidate,
    ) -> Option<Change> {
        self.routes.paths(number).find(|path| path.peer == peer)?;
        let before = self.routes.route(number).best().copied();
        let is_of_it = |path: &Path| path.peer == peer;
        let mut is_noted = self.choose(number, before, judge);
        if !is_noted && self.routes.route(number).best().is_some_and(is_of_it) {
            self.note(number);
            is_noted = true;
        }
        Some(Change { ended: None, is_noted, number, before })
    }

    /// Notes that others have to be told of a route.
    fn note(&mut self, number: u32) {
        let place = self.log.push(number);
        self.routes.note(number, place.short());
    }

    /// Chooses the best path of a route whose paths have changed. Returns whether that was noted.
    fn choose(
        &mut self,
        number: u32,
        before: Option<Path>,
        judge: impl Fn(&Path) -> Candidate,
    ) -> bool {
        self.candidates.clear();
        let mut paths = self.routes.paths(number);
        // Most have one alone.
        if let (Some(first), Some(second)) = (paths.next(), paths.next()) {
            let all = [first, second].into_iter().chain(paths);
            self.candidates.extend(all.map(judge));
            let best = decision::best(&self.candidates, self.rules, &mut self.left);
            self.routes.prefer(number, best);
        } else {
            drop(paths);
        }
        let after = self.routes.route(number).best();
        let is_noted = self.tells_all || !Path::tell_the_same(after, before.as_ref());
        if is_noted {
            self.note(number);
        }
        is_noted
    }

    /// All readers of the log are at a place or behind it, and whoever is told of the table by
    /// itself knows all changes before another one: forgets what nobody has to be told any more, at
    /// most `most` entries. `release` ends the use of a set of targets. Returns whether that was
    /// all.
    pub fn forget(
        &mut self,
        (read, known): (Place, Place),
        most: usize,
        mut release: impl FnMut(u32),
    ) -> bool {
        for _ in 0..most {
            let Some((place, number)) = self.log.forget_before(read) else { break };
            let route = self.routes.route(number);
            let has_had = route.best().is_none() || self.had.get(number).is_some();
            if route.changed == place.short() && has_had {
                self.gone.push_back((place, number));
            }
        }
        for _ in 0..most {
            let Some(&(place, number)) = self.gone.front() else { break };
            if place >= known {
                break;
            }
            self.gone.pop_front();
            if number >= self.routes.end() {
                continue;
            }
            let route = self.routes.route(number);
            // It may have come back, and gone again.
            if route.changed != place.short() || !self.routes.is_used(number) {
                continue;
            }
            self.had.put(number, None).into_iter().for_each(&mut release);
            if route.best().is_none() {
                self.routes.forget(number);
            }
        }
        if self.gone.is_empty() {
            self.gone.shrink_to(KEPT_MAX);
        }
        let is_read = self.log.start() >= read.min(self.log.end());
        is_read && self.gone.front().is_none_or(|(place, _)| *place >= known)
    }

    /// Returns how many bytes of memory are used; others of [`Family::memory`] are free.
    pub fn used(&self) -> usize {
        let gone = self.gone.len() * size_of::<(Place, u32)>();
        let had = self.had.sets.len() * 2 * 9 * 8 / 7;
        self.routes.used() + self.log.used() + gone + had
    }

    /// Returns how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        let gone = self.gone.capacity() * size_of::<(Place, u32)>();
        let had = self.had.sets.capacity() * 9 * 8 / 7;
        self.routes.memory() + self.log.memory() + gone + had
    }
}

/// Routes that have gone for which there stays room.
const KEPT_MAX: usize = 4 << 10;
