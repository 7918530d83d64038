//! The routes of a family with the log of their changes: paths come and go, the best one is chosen,
//! and what readers of the log have to tell is noted.

use std::collections::VecDeque;

use hashbrown::HashTable;
use tables::hash::Keyed;

use crate::table::decision::{self, Candidate, Rules};
use crate::table::log::{Log, Place};
use crate::table::routes::{Path, Routes};
use crate::table::slots::Slots;

/// A family of routes.
#[derive(Debug)]
pub struct Family {
    routes: Routes,
    log: Log,
    /// Routes without a path, or with other targets than before, of which all readers of the log
    /// know, and since when: who is told of the table by itself may not.
    gone: VecDeque<(Place, u32)>,
    /// Of routes that have had other targets than they have now, the number of the set of all that
    /// they may be known by.
    had: Noted<u32>,
    /// Of routes of which other paths than the best one have changed or gone: when one did last, as
    /// a place in the log, and the numbers by which paths may be known that are gone.
    lost: Noted<(u32, Slots)>,
    rules: Rules,
    /// Whether changes of all paths are those of the route: somebody may be told another one than
    /// the best.
    tells_all: bool,
    /// Whether somebody is told several paths of a route, each by its number (RFC 7911).
    has_slots: bool,
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

/// What is noted of some routes, by their numbers.
#[derive(Debug)]
struct Noted<T> {
    routes: HashTable<(u32, T)>,
    keyed: Keyed,
}

impl<T: Copy> Noted<T> {
    fn new(secret: [u64; 2]) -> Noted<T> {
        Noted { routes: HashTable::new(), keyed: Keyed::new(secret) }
    }

    #[inline]
    fn get(&self, route: u32) -> Option<T> {
        if self.routes.is_empty() {
            return None;
        }
        let hash = self.keyed.of2(u64::from(route), 0);
        self.routes.find(hash, |one| one.0 == route).map(|one| one.1)
    }

    /// Puts something in the place of what was noted, which is returned.
    fn put(&mut self, route: u32, noted: Option<T>) -> Option<T> {
        if noted.is_none() && self.routes.is_empty() {
            return None;
        }
        let Noted { routes, keyed } = self;
        let hash_of = |one: &(u32, T)| keyed.of2(u64::from(one.0), 0);
        let hash = keyed.of2(u64::from(route), 0);
        match (routes.find_entry(hash, |one| one.0 == route), noted) {
            (Ok(mut known), Some(it)) => Some(std::mem::replace(known.get_mut(), (route, it)).1),
            (Ok(known), None) => {
                let ended = known.remove().0.1;
                if routes.is_empty() {
                    routes.shrink_to(KEPT_MAX, hash_of);
                }
                Some(ended)
            }
            (Err(_), Some(it)) => {
                routes.insert_unique(hash, (route, it), hash_of);
                None
            }
            (Err(_), None) => None,
        }
    }

    /// Bytes of memory of so many.
    fn bytes(count: usize) -> usize {
        count * (size_of::<(u32, T)>() + 1) * 8 / 7
    }

    fn used(&self) -> usize {
        Self::bytes(2 * self.routes.len())
    }

    fn memory(&self) -> usize {
        Self::bytes(self.routes.capacity())
    }
}

impl Family {
    /// Creates a family without routes.
    pub fn new(secret: [u64; 2], rules: Rules) -> Family {
        Family {
            routes: Routes::new(secret),
            log: Log::default(),
            gone: VecDeque::new(),
            had: Noted::new(secret),
            lost: Noted::new(secret),
            rules,
            tells_all: false,
            has_slots: false,
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

    /// From now on each path has a number by which somebody is told of it, or nobody is.
    pub fn tell_several(&mut self, has_slots: bool) {
        self.has_slots = has_slots;
        if has_slots {
            for number in 0..self.routes.end() {
                self.routes.give_slots(number, Slots::NONE, Slots::NONE);
            }
        }
    }

    /// Returns when a route has changed last, any of its paths where somebody is told of several:
    /// as a place in the log.
    #[inline]
    pub fn changed(&self, number: u32) -> u32 {
        self.lost.get(number).map_or(self.routes.route(number).changed, |lost| lost.0)
    }

    /// Returns the numbers by which somebody may know paths of a route that are gone. Others may
    /// have them.
    pub fn lost(&self, number: u32) -> Slots {
        self.lost.get(number).map_or(Slots::NONE, |lost| lost.1)
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
        let is_noted = !is_same && self.choose(number, before, (ended.as_ref(), None), judge);
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
        let is_noted = self.choose(number, before, (Some(&ended), None), judge);
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
        std::mem::take(&mut self.had.routes).into_iter().map(|one| one.1)
    }

    /// Returns the place of the best candidate; 0 where there is none.
    pub fn best(&self, candidates: &[Candidate]) -> usize {
        decision::best(candidates, self.rules, &mut Vec::new())
    }

    /// Marks all paths of a peer as stale. One that is told again is not.
    pub fn mark(&mut self, peer: u16) {
        self.routes.mark(peer);
    }

    /// The paths of a peer count otherwise than before: chooses the best one of a route anew. One
    /// of the peer's is told anew in any case. `None` where the peer has none.
    pub fn judge_anew(
        &mut self,
        number: u32,
        peer: u16,
        judge: impl Fn(&Path) -> Candidate,
    ) -> Option<Change> {
        self.routes.paths(number).find(|path| path.peer == peer)?;
        let before = self.routes.route(number).best().copied();
        let is_noted = self.choose(number, before, (None, Some(peer)), judge);
        Some(Change { ended: None, is_noted, number, before })
    }

    /// Notes that others have to be told of a route.
    fn note(&mut self, number: u32) {
        let place = self.log.push(number);
        self.routes.note(number, place.short());
    }

    /// Chooses the best path of a route whose paths have changed, of which one may have ended and
    /// those of a peer may count otherwise. Returns whether that was noted.
    fn choose(
        &mut self,
        number: u32,
        before: Option<Path>,
        (ended, anew): (Option<&Path>, Option<u16>),
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
        let is_anew = after.is_some_and(|path| anew == Some(path.peer));
        let is_noted = self.tells_all || is_anew || !Path::tell_the_same(after, before.as_ref());
        if self.has_slots || !self.lost.routes.is_empty() {
            return self.note_paths(number, (ended, anew), is_noted);
        }
        if is_noted {
            self.note(number);
        }
        is_noted
    }

    /// Notes which paths of a route have changed, and whether the best one has. Returns whether
    /// anybody has to be told.
    fn note_paths(
        &mut self,
        number: u32,
        (ended, anew): (Option<&Path>, Option<u16>),
        is_best: bool,
    ) -> bool {
        let known = self.lost.get(number);
        let lost = known.map_or(Slots::NONE, |known| known.1);
        let (mut changed, mut gone) = (Slots::NONE, Slots::NONE);
        if self.has_slots {
            let ended = ended.map_or(Slots::NONE, |path| Slots::of(path.slot));
            (changed, gone) = self.routes.give_slots(number, ended, lost);
            let theirs = self.routes.paths(number).filter(|path| anew == Some(path.peer));
            changed = theirs.map(|path| Slots::of(path.slot)).fold(changed.or(ended), Slots::or);
        }
        if changed.is_empty() && !is_best {
            return false;
        }
        let mut place = changed.is_empty().then(|| self.log.push(number));
        for slot in changed.iter() {
            place = Some(self.log.push_path(number, slot));
        }
        let changed = place.unwrap_or_default().short();
        if is_best {
            self.routes.note(number, changed);
        }
        if known.is_some() || !gone.is_empty() || !is_best {
            self.lost.put(number, Some((changed, lost.or(gone))));
        }
        true
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
            let is_noted = self.had.get(number).is_some() || self.lost.get(number).is_some();
            let has_had = route.best().is_none() || is_noted;
            if self.changed(number) == place.short() && has_had {
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
            // It may have come back, and gone again.
            if self.changed(number) != place.short() || !self.routes.is_used(number) {
                continue;
            }
            self.had.put(number, None).into_iter().for_each(&mut release);
            self.lost.put(number, None);
            if self.routes.route(number).best().is_none() {
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
        self.routes.used() + self.log.used() + gone + self.had.used() + self.lost.used()
    }

    /// Returns how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        let gone = self.gone.capacity() * size_of::<(Place, u32)>();
        self.routes.memory() + self.log.memory() + gone + self.had.memory() + self.lost.memory()
    }
}

/// Routes that have gone, or of which something is noted, for which there stays room.
const KEPT_MAX: usize = 4 << 10;
