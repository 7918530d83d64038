//! The routes of a family with the log of their changes: paths come and go, the best one is chosen,
//! and what readers of the log have to tell is noted.

use std::collections::VecDeque;

use crate::table::decision::{self, Candidate, Rules};
use crate::table::log::{Log, Place};
use crate::table::routes::{Path, Routes};

/// A family of routes.
#[derive(Debug)]
pub struct Family {
    routes: Routes,
    log: Log,
    /// Routes without a path of which all readers of the log know, and when they went: who is told
    /// of the table by itself may not.
    gone: VecDeque<(Place, u32)>,
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
}

impl Family {
    /// Creates a family without routes.
    pub fn new(secret: [u64; 2], rules: Rules) -> Family {
        Family {
            routes: Routes::new(secret),
            log: Log::default(),
            gone: VecDeque::new(),
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
        if Path::tell_the_same(ended.as_ref(), Some(&path)) {
            return Some(Change { ended, is_noted: false });
        }
        Some(Change { ended, is_noted: self.choose(number, before, judge) })
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
        Some(Change { ended: Some(ended), is_noted: self.choose(number, before, judge) })
    }

    /// Marks all paths of a peer as stale. One that is told again is not.
    pub fn mark(&mut self, peer: u16) {
        self.routes.mark(peer);
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
            let place = self.log.push(number);
            self.routes.note(number, place.short());
        }
        is_noted
    }

    /// All readers of the log are at a place or behind it, and whoever is told of the table by
    /// itself knows all changes before another one: forgets what nobody has to be told any more, at
    /// most `most` entries. Returns whether that was all.
    pub fn forget(&mut self, read: Place, known: Place, most: usize) -> bool {
        for _ in 0..most {
            let Some((place, number)) = self.log.forget_before(read) else { break };
            let route = self.routes.route(number);
            if route.changed == place.short() && route.best().is_none() {
                self.gone.push_back((place, number));
            }
        }
        for _ in 0..most {
            let Some(&(place, number)) = self.gone.front() else { break };
            if place >= known {
                break;
            }
            self.gone.pop_front();
            let route = self.routes.route(number);
            // It may have come back, and gone again.
            if route.changed == place.short() && route.best().is_none() {
                self.routes.forget(number);
            }
        }
        let is_read = self.log.start() >= read.min(self.log.end());
        is_read && self.gone.front().is_none_or(|(place, _)| *place >= known)
    }

    /// Returns how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        let gone = self.gone.capacity() * size_of::<(Place, u32)>();
        self.routes.memory() + self.log.memory() + gone
    }
}
