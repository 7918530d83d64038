//! The sessions that are wanted, and what was told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::session::{Change, Session, SessionCounters};

/// Sessions by their discriminators.
#[derive(Debug)]
pub(crate) struct Sessions {
    held: BTreeMap<u32, Held>,
    /// Sessions by what stays the same when bfdd is born again and draws other discriminators.
    paths: BTreeSet<(Path, u32)>,
    limit: usize,
    generation: u64,
    stale: usize,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Held {
    pub session: Session,
    /// What the controller told last.
    pub change: Option<Change>,
    /// That it was down in between, which bfdd has to hear.
    pub down: Option<Change>,
    pub counters: SessionCounters,
    /// Whether bfdd is to be told.
    pub is_due: bool,
    generation: u64,
}

type Path = (bool, Option<IpAddr>, IpAddr);

/// What a wanted session has changed.
pub(crate) enum Wanted {
    Added,
    /// The session that had this discriminator is this one now.
    Changed(u32),
    Unchanged,
    Refused,
}

impl Sessions {
    pub fn new(limit: u32) -> Sessions {
        let (held, paths) = (BTreeMap::new(), BTreeSet::new());
        Sessions { held, paths, limit: limit as usize, generation: 0, stale: 0 }
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether a session was not repeated since [`Sessions::age`].
    pub fn is_stale(&self, discriminator: u32) -> bool {
        self.held.get(&discriminator).is_some_and(|held| held.generation != self.generation)
    }

    /// Sessions that were not repeated since [`Sessions::age`].
    pub fn stale(&self) -> usize {
        self.stale
    }

    pub fn get_mut(&mut self, discriminator: u32) -> Option<&mut Held> {
        self.held.get_mut(&discriminator)
    }

    /// Takes a session that is wanted. Its path is that of the one with its discriminator, if there
    /// is one.
    pub fn want(&mut self, session: &Session) -> Wanted {
        let (discriminator, path) = (session.discriminator, path_of(session));
        let generation = self.generation;
        let before = self.held.contains_key(&discriminator).then_some(discriminator);
        let before = before.or_else(|| self.stale_one(session));
        let held = before.and_then(|before| Some((before, self.held.remove(&before)?)));
        let Some((before, mut held)) = held else {
            if self.held.len() == self.limit {
                return Wanted::Refused;
            }
            let (change, down, counters) = (None, None, SessionCounters::default());
            let session = session.clone();
            let held = Held { session, change, down, counters, is_due: false, generation };
            self.held.insert(discriminator, held);
            self.paths.insert((path, discriminator));
            return Wanted::Added;
        };
        self.stale -= usize::from(held.generation != generation);
        self.paths.remove(&(path, before));
        self.paths.insert((path, discriminator));
        let is_changed = held.session != *session;
        held.generation = generation;
        held.session = session.clone();
        self.held.insert(discriminator, held);
        if is_changed { Wanted::Changed(before) } else { Wanted::Unchanged }
    }

    /// Whether the session with this discriminator has another path.
    pub fn is_elsewhere(&self, session: &Session) -> bool {
        let held = self.held.get(&session.discriminator);
        held.is_some_and(|held| {
            path_of(&held.session) != path_of(session) || !may_meet(&held.session, session)
        })
    }

    /// Forgets a session; false if there is none.
    pub fn remove(&mut self, discriminator: u32) -> bool {
        let Some(held) = self.held.remove(&discriminator) else { return false };
        self.paths.remove(&(path_of(&held.session), discriminator));
        self.stale -= usize::from(held.generation != self.generation);
        true
    }

    /// Makes all sessions stale, and nothing due.
    pub fn age(&mut self) {
        self.generation += 1;
        self.stale = self.held.len();
        for held in self.held.values_mut() {
            (held.down, held.is_due) = (None, false);
        }
    }

    /// Forgets a stale session and returns its discriminator; `None` when none is stale.
    pub fn sweep(&mut self) -> Option<u32> {
        if self.stale == 0 {
            return None;
        }
        let is_stale = |(_, held): &(&u32, &Held)| held.generation != self.generation;
        let discriminator =
            self.held.iter().find(is_stale).map(|(discriminator, _)| *discriminator)?;
        self.remove(discriminator);
        Some(discriminator)
    }

    /// A stale session of the path of one: that of its interface, if there is one.
    fn stale_one(&self, session: &Session) -> Option<u32> {
        let path = path_of(session);
        let of_path = || {
            let all = self.paths.range((path, 0)..=(path, u32::MAX));
            all.filter_map(|(_, discriminator)| self.held.get(discriminator))
                .filter(|held| held.generation != self.generation)
                .map(|held| &held.session)
        };
        let same = of_path().find(|stale| stale.interface == session.interface);
        same.or_else(|| of_path().find(|stale| may_meet(stale, session)))
            .map(|stale| stale.discriminator)
    }
}

/// Whether two sessions may be at the same interface: bfdd does not tell one that zebra has not
/// told it yet.
fn may_meet(one: &Session, other: &Session) -> bool {
    one.interface == other.interface || one.interface.is_none() || other.interface.is_none()
}

fn path_of(session: &Session) -> Path {
    (session.is_multihop, session.local, session.peer)
}
