//! A group: peers that are told the same, what they are told, and how far each has read.
//!
//! A peer that comes reads the table by a walk over it, and beside that the live stream from the
//! place at which the walk began; it takes the chunks of both in the order of their numbers, which
//! is that of the states that they tell. Who comes while a walk is at hand from its beginning reads
//! along. Who falls behind what is kept of a stream goes on by a walk of its own over what has
//! changed meanwhile, each route once, as soon as it takes bytes again.

use std::collections::BTreeMap;

use protocol_bgp::builder::write_end_of_rib;
use protocol_bgp::families::Family;
use protocol_bgp::refresh::Refresh;
use protocol_kit::Bytes;

use crate::groups::encode::{Encoder, How};
use crate::groups::export::Identity;
use crate::groups::reader::{Need, Reader};
use crate::groups::stream::Stream;
use crate::groups::view::View;
use crate::membership::{Delta, Membership};
use crate::table::targets::SETS_MAX;
use crate::table::{Log, Place, Slots};

mod progress;

mod moving;

pub use progress::{At, Progress, Shown};

/// A group.
#[derive(Debug)]
pub struct Group {
    identity: Identity,
    live: Stream,
    /// The place in the log of changes up to which the live stream goes.
    read: Place,
    walks: Vec<Walk>,
    next_walk: u32,
    readers: BTreeMap<u16, Reader>,
}

/// A way over the table.
#[derive(Debug)]
struct Walk {
    number: u32,
    need: Need,
    /// The next route.
    cursor: u32,
    /// Where readers go on in the live stream.
    live: u64,
    stream: Stream,
    is_done: bool,
    /// What of memberships has changed, of all who wait for that.
    changes: Delta,
}

/// How much is kept of a stream, and done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a stream that are kept for those who lag.
    pub stream_bytes: usize,
    /// Routes that are looked at in one turn.
    pub routes: usize,
}

impl Group {
    /// Creates a group that tells changes from a place in the log on.
    pub fn new(identity: Identity, read: Place) -> Group {
        Group {
            identity,
            live: Stream::default(),
            read,
            walks: Vec::new(),
            next_walk: 0,
            readers: BTreeMap::new(),
        }
    }

    /// Returns what its peers have in common.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A peer comes, and is to be told everything.
    pub fn join(&mut self, peer: u16) {
        let need = Some(Need::ALL);
        self.readers.insert(peer, Reader { need, ..Reader::default() });
    }

    /// A peer goes. Returns whether it was the last one.
    pub fn leave(&mut self, peer: u16) -> bool {
        self.readers.remove(&peer);
        self.readers.is_empty()
    }

    /// A peer wants all again, as after a request to refresh.
    pub fn refresh(&mut self, peer: u16) {
        let Some(reader) = self.readers.get_mut(&peer) else { return };
        let left = reader.walk.map(|walk| rest(&self.walks, walk)).or(reader.need);
        reader.fall_behind(Need { all_from: 0, ..left.unwrap_or(Need::NOTHING) });
    }

    /// The membership of a peer has changed.
    pub fn change(&mut self, peer: u16, delta: &Delta) {
        if let Some(reader) = self.readers.get_mut(&peer) {
            reader.change(delta);
        }
    }

    /// Returns the next bytes for a peer if they are at most `room`: whole messages, of what its
    /// membership asks for; where there is none, of everything.
    pub fn next(
        &mut self,
        peer: u16,
        room: usize,
        membership: Option<&Membership>,
    ) -> Option<Bytes> {
        let reader = self.readers.get_mut(&peer)?;
        if reader.need.is_some() {
            return None;
        }
        loop {
            let live = reader.live.and_then(|at| self.live.get(at));
            let walk = reader.walk.and_then(|(number, at)| {
                self.walks.iter().find(|walk| walk.number == number)?.stream.get(at)
            });
            let (is_of_walk, from) = match (reader.within, live, walk) {
                (Some(within), ..) => within,
                (None, Some(live), Some(walk)) => (walk.number < live.number, 0),
                (None, live, walk) => {
                    live.or(walk)?;
                    (walk.is_some(), 0)
                }
            };
            let chunk = if is_of_walk { walk } else { live }?;
            let range = chunk.next(peer, from, |told| reader.takes(told, membership));
            if range.as_ref().is_some_and(|range| range.len() > room) {
                reader.within = Some((is_of_walk, from));
                return None;
            }
            let bytes = &chunk.bytes;
            let is_last = range.as_ref().is_none_or(|range| range.end as usize == bytes.len());
            reader.within = match &range {
                Some(range) if !is_last => Some((is_of_walk, range.end)),
                _ => None,
            };
            if is_last {
                match is_of_walk {
                    true => reader.walk.iter_mut().for_each(|(_, at)| *at += 1),
                    false => reader.live.iter_mut().for_each(|at| *at += 1),
                }
            }
            if let Some(range) = range {
                return Some(bytes.slice(range.start as usize..range.end as usize));
            }
        }
    }

    /// Nobody is told anything yet: all are newcomers, whose walks begin later.
    pub fn skip(&mut self, end: Place) {
        self.read = end;
    }

    /// Encodes what there is to be told, a bounded part of it. Returns whether there was something.
    pub fn work(
        &mut self,
        view: View<'_>,
        log: &Log,
        (encoder, next): (&mut Encoder, &mut u64),
        limits: Limits,
        is_ready: impl Fn(u16) -> bool,
    ) -> bool {
        let has_told = self.tell_changes(view, log, (&mut *encoder, &mut *next), limits);
        self.begin_walk(is_ready);
        let has_walked = self.walk(view, (encoder, next), limits);
        self.forget(limits);
        has_told || has_walked
    }

    /// Continues the live stream.
    fn tell_changes(
        &mut self,
        view: View<'_>,
        log: &Log,
        (encoder, next): (&mut Encoder, &mut u64),
        limits: Limits,
    ) -> bool {
        let mark = self.read.0;
        // Where nobody keeps up, the log waits.
        let is_awaited = self.readers.values().any(|one| one.live == Some(self.live.end()));
        if !is_awaited && self.live.len() > limits.stream_bytes {
            return false;
        }
        let end = log.end().min(Place(mark + limits.routes as u64));
        if self.identity.paths_max > 0 {
            for place in (mark..end.0).map(Place) {
                let Some(number) = log.get(place) else { continue };
                let is_latest = view.family.changed(number) == place.short();
                let path = (number, log.slot(place));
                encoder.add_path(view, &self.identity, path, is_latest);
            }
            self.read = end;
        }
        while self.read < end {
            if let Some(number) = log.get(self.read)
                && view.routes.route(number).changed == self.read.short()
            {
                encoder.add(view, &self.identity, number, How::CHANGED);
            }
            self.read = Place(self.read.0 + 1);
        }
        if mark == self.read.0 {
            return false;
        }
        encoder.write(view, &self.identity, (next, mark), &mut self.live);
        true
    }

    /// Begins a walk for those who need one and take bytes.
    fn begin_walk(&mut self, is_ready: impl Fn(u16) -> bool) {
        self.end_walks();
        let mut waiting = Vec::new();
        let mut need: Option<Need> = None;
        let mut changes = Delta::default();
        for (peer, reader) in &mut self.readers {
            if !is_ready(*peer) {
                continue;
            }
            reader.begins_change();
            let Some(own) = reader.need else { continue };
            if let Some(both) = need.map_or(Some(own), |need| need.or(own)) {
                need = Some(both);
                reader.change.iter().for_each(|delta| changes.extend(delta));
                waiting.push(*peer);
            }
        }
        let Some(need) = need else { return };
        let live_start = self.live.start();
        // Who has kept its place in the live stream reads nothing that was before that.
        let lives = waiting.iter().filter_map(|peer| self.readers.get(peer)?.live);
        let latest = lives.max().unwrap_or(live_start);
        let at_hand = |walk: &&Walk| {
            let is_whole = walk.stream.start() == 0 && walk.live >= live_start;
            let is_same = walk.need == need && !need.has_changes();
            is_same && is_whole && walk.live >= latest
        };
        let (number, live) = match self.walks.iter().find(at_hand) {
            Some(walk) => (walk.number, walk.live),
            None if self.walks.len() >= WALKS_MAX => return,
            None => {
                let (number, live) = (self.next_walk, self.live.end());
                self.next_walk = self.next_walk.wrapping_add(1);
                let (cursor, stream) = (need.start(), Stream::default());
                let is_done = false;
                self.walks.push(Walk { number, need, cursor, live, stream, is_done, changes });
                (number, live)
            }
        };
        for peer in waiting {
            if let Some(reader) = self.readers.get_mut(&peer) {
                let live = reader.live.or(Some(live));
                (reader.live, reader.walk, reader.need) = (live, Some((number, 0)), None);
            }
        }
    }

    /// Goes on with walks of which somebody has read all.
    fn walk(
        &mut self,
        view: View<'_>,
        (encoder, next): (&mut Encoder, &mut u64),
        limits: Limits,
    ) -> bool {
        let mut has_walked = false;
        for walk in &mut self.walks {
            let place = Some((walk.number, walk.stream.end()));
            if walk.is_done || !self.readers.values().any(|reader| reader.walk == place) {
                continue;
            }
            has_walked = true;
            let mark = walk.cursor;
            let end = view.routes.end();
            let last = end.min(mark.saturating_add(limits.routes as u32));
            let mut known = Vec::new();
            let has_several = self.identity.paths_max > 0;
            for number in mark..last {
                let how = walk.how(view, has_several, number, &mut known);
                if how.tells() && view.routes.is_used(number) {
                    match has_several {
                        true => {
                            let all = (number, Slots::ALL);
                            encoder.add_several(view, &self.identity, all, how);
                        }
                        false => encoder.add(view, &self.identity, number, how),
                    }
                }
            }
            walk.cursor = last;
            let is_again = self.identity.has_enhanced_refresh && walk.need.is_again();
            let begins = walk.stream.end() == 0;
            if is_again && begins {
                let message = says(Refresh::Begins, self.identity.family);
                encoder.append(&message, (&mut *next, u64::from(mark)), &mut walk.stream);
            }
            if self.identity.tells_default && begins && walk.need.all_from == 0 {
                let message = self.identity.default_target(view.own);
                encoder.append(&message, (&mut *next, u64::from(mark)), &mut walk.stream);
            }
            let place = (&mut *next, u64::from(mark));
            encoder.write(view, &self.identity, place, &mut walk.stream);
            walk.is_done = last == end;
            if walk.is_done && walk.need.is_newcomer {
                let mut message = Vec::new();
                write_end_of_rib(self.identity.family, &mut message);
                encoder.append(&message, (&mut *next, u64::from(last)), &mut walk.stream);
            }
            if walk.is_done && is_again {
                let message = says(Refresh::Ends, self.identity.family);
                encoder.append(&message, (&mut *next, u64::from(last)), &mut walk.stream);
            }
        }
        has_walked
    }

    /// Forgets what everybody has read, and what is more than is kept.
    fn forget(&mut self, limits: Limits) {
        self.end_walks();
        let Group { live, walks, readers, .. } = self;
        let begun = walks.iter().filter(|walk| walk.stream.start() == 0);
        let held = readers.values().filter_map(|reader| reader.live);
        let held = held.chain(begun.map(|walk| walk.live)).min();
        live.forget_before(held.unwrap_or(live.end()));
        // What nobody has read yet is kept in any case.
        let furthest = readers.values().filter_map(|reader| reader.live).max();
        while live.len() > limits.stream_bytes && furthest > Some(live.start()) {
            let first = live.start();
            let Some(mark) = live.get(first).map(|chunk| Place(chunk.mark)) else { break };
            live.forget_first();
            for reader in readers.values_mut().filter(|reader| reader.live == Some(first)) {
                let rest = match (reader.need, reader.walk) {
                    (Some(need), _) => need,
                    (None, None) => Need::NOTHING,
                    (None, Some(walk)) => rest(walks, walk),
                };
                reader.fall_behind(rest.since(mark));
                reader.live = None;
            }
        }
        for at in 0..walks.len() {
            let number = walks[at].number;
            let places = || {
                let walks = readers.values().filter_map(|reader| reader.walk);
                walks.filter(move |(of, _)| *of == number).map(|(_, at)| at)
            };
            let furthest = places().max();
            while walks[at].stream.len() > limits.stream_bytes
                && furthest > Some(walks[at].stream.start())
            {
                let first = (number, walks[at].stream.start());
                let need = rest(walks, first);
                walks[at].stream.forget_first();
                for reader in readers.values_mut().filter(|reader| reader.walk == Some(first)) {
                    reader.fall_behind(need);
                }
            }
        }
    }

    /// Ends walks that nobody reads any more.
    fn end_walks(&mut self) {
        let Group { readers, walks, .. } = self;
        walks.retain_mut(|walk| {
            let mut first: Option<u64> = None;
            for reader in readers.values_mut() {
                let Some((_, at)) = reader.walk.filter(|(number, _)| *number == walk.number) else {
                    continue;
                };
                if walk.is_done && at == walk.stream.end() {
                    (reader.walk, reader.change) = (None, None);
                } else {
                    first = Some(first.map_or(at, |first| first.min(at)));
                }
            }
            // From its beginning on it is kept for others who come, until it is done.
            if let Some(first) = first.filter(|_| walk.is_done || walk.stream.start() > 0) {
                walk.stream.forget_before(first);
            }
            first.is_some()
        });
    }

    /// Returns up to where it has read the log.
    pub fn read(&self) -> Place {
        self.read
    }

    /// Returns the earliest place of the log of which somebody may need what has gone since.
    pub fn known(&self) -> Place {
        let needs = self.readers.values().filter_map(|reader| reader.need);
        let needs = needs.chain(self.walks.iter().map(|walk| walk.need));
        // Who loses its place in the live stream has to know what has gone since then.
        let first = self.live.get(self.live.start()).map(|chunk| Place(chunk.mark));
        needs
            .filter_map(|need| need.since)
            .chain(first)
            .chain([self.read])
            .min()
            .unwrap_or_default()
    }

    /// Returns whether a peer has been told everything so far.
    pub fn is_done(&self, peer: u16) -> bool {
        let is_done = |reader: &Reader| {
            let walk = reader.walk.and_then(|(number, at)| {
                let walk = self.walks.iter().find(|walk| walk.number == number)?;
                (!walk.is_done || at < walk.stream.end()).then_some(())
            });
            let knows_all = reader.need.is_none() && reader.later.is_none();
            knows_all && reader.live == Some(self.live.end()) && walk.is_none()
        };
        self.readers.get(&peer).is_none_or(is_done)
    }
}

impl Walk {
    /// What of a route is told. `known` has what the changes say of sets of targets, by number.
    fn how(
        &self,
        view: View<'_>,
        has_several: bool,
        number: u32,
        known: &mut Vec<Option<(bool, bool)>>,
    ) -> How {
        let route = view.routes.route(number);
        let changed = if has_several { view.family.changed(number) } else { route.changed };
        let is_plain = self.need.has(number, route, changed);
        let is_first = self.need.is_first();
        if number < self.need.changes_from {
            return How { is_first, is_plain, ..How::default() };
        }
        let find = |set: u32| {
            let targets = view.sets.get(set);
            (self.changes.gained.has(&targets), self.changes.lost.has(&targets))
        };
        let mut has = |set: u32| {
            let place = set as usize;
            if place >= known.len() && place < SETS_MAX {
                known.resize(place + 1, None);
            }
            match known.get_mut(place) {
                Some(known) => *known.get_or_insert_with(|| find(set)),
                None => find(set),
            }
        };
        let mut how = How { is_first, is_plain, ..How::default() };
        how.is_lost = view.family.had(number).is_some_and(|set| has(set).1);
        let told = if has_several { usize::MAX } else { 1 };
        for path in view.routes.paths(number).take(told) {
            let (is_gained, is_lost) = has(view.targets_of(path));
            how.is_gained |= is_gained;
            how.is_lost |= is_lost;
        }
        how
    }
}

/// The message that says where routes that are told again begin or end.
fn says(what: Refresh, family: Family) -> Vec<u8> {
    let mut message = Vec::new();
    what.write(family, &mut message);
    message
}

/// What a reader at a place of a walk has yet to be told of the table.
fn rest(walks: &[Walk], (number, at): (u32, u64)) -> Need {
    let Some(walk) = walks.iter().find(|walk| walk.number == number) else {
        return Need::ALL;
    };
    let cursor = walk.stream.get(at).map_or(walk.cursor, |chunk| chunk.mark as u32);
    walk.need.from(cursor)
}

/// Walks at once.
const WALKS_MAX: usize = 4;
