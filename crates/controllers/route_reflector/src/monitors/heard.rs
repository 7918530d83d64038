//! What peers tell, on its way to a collector: UPDATEs as they come, and the table at the
//! beginning.
//!
//! ```text
//!  UPDATEs, sessions, once for all collectors --> queue, bounded --+--> the collector
//!  table --walk, a bounded part a turn, while little waits ---------'
//! ```
//! Both are told as they stand at the moment, one behind the other, so that the last word on a
//! route is right. A collector for which more than has room waits loses its session.

use std::collections::{BTreeSet, VecDeque};

use protocol_bgp::builder::{Builder, write_end_of_rib};
use protocol_bgp::families::{FAMILIES, Family};
use protocol_bmp::message::route_monitoring;
use protocol_kit::Bytes;

use super::speakers::Speakers;
use crate::known::parts;
use crate::reflector::Reflector;
use crate::table::Rest;

/// What waits for a collector.
#[derive(Debug, Default)]
pub(super) struct Heard {
    waiting: VecDeque<Bytes>,
    len: usize,
    /// Whether there was more than has room.
    pub is_full: bool,
    /// The family and the route at which the walk is; `None` where there is none.
    walk: Option<(usize, u32)>,
    /// Peers of which it tells: those that were there at its beginning.
    peers: BTreeSet<u16>,
}

/// A path that is told: attributes and peer, by which they are sorted, and what of the route.
type Told = ((u16, u32), u32, u32, Rest);

impl Heard {
    /// A collector comes: it is told of all peers with a session, and then the tables of some.
    pub fn begin(&mut self, speakers: &Speakers, peers: BTreeSet<u16>, micros: u64) {
        *self = Heard { walk: Some((0, 0)), peers, ..Heard::default() };
        for speaker in speakers.values() {
            let mut out = Vec::new();
            speaker.up(micros, &mut out);
            self.push(&Bytes::from(out));
        }
    }

    /// A session has begun or ended: the walk has nothing more to say of it.
    pub fn forget(&mut self, peer: u16) {
        self.peers.remove(&peer);
    }

    /// Whole messages wait, if they have room.
    pub fn push(&mut self, messages: &Bytes) {
        if self.is_full || messages.is_empty() {
            return;
        }
        if self.len + messages.len() > WAITING_MAX {
            *self = Heard { is_full: true, ..Heard::default() };
            return;
        }
        self.len += messages.len();
        self.waiting.push_back(messages.clone());
    }

    /// Takes what departs next.
    pub fn pop(&mut self) -> Bytes {
        let Some(first) = self.waiting.pop_front() else { return Bytes::new() };
        self.len -= first.len();
        if first.len() >= PIECE_BYTES || self.waiting.is_empty() {
            return first;
        }
        let mut piece = first.to_vec();
        while piece.len() < PIECE_BYTES
            && let Some(next) = self.waiting.pop_front()
        {
            self.len -= next.len();
            piece.extend(&next[..]);
        }
        Bytes::from(piece)
    }

    /// Goes on with the walk, a bounded part of it, where little waits. Returns whether it did.
    pub fn walk(&mut self, speakers: &Speakers, reflector: &Reflector, micros: u64) -> bool {
        let Some((place, cursor)) = self.walk.filter(|_| self.len < PIECE_BYTES) else {
            return false;
        };
        let Some(row) = FAMILIES.get(place) else {
            (self.walk, self.peers) = (None, BTreeSet::new());
            return false;
        };
        let family = row.family;
        let end = reflector.view(family).routes.end();
        let last = end.min(cursor.saturating_add(ROUTES_A_TURN));
        let mut out = Vec::new();
        self.tell(speakers, reflector, (family, cursor, last), micros, &mut out);
        self.walk = Some((place, last));
        if last == end {
            self.walk = Some((place + 1, 0));
            let said = |peer: &u16| speakers.get(peer).filter(|it| it.families().contains(family));
            for speaker in self.peers.iter().filter_map(said) {
                let mut message = Vec::new();
                write_end_of_rib(family, &mut message);
                route_monitoring(&speaker.header(micros), &message, &mut out);
            }
        }
        self.push(&Bytes::from(out));
        true
    }

    /// Appends routes as peers have told them, those with the same attributes in one message.
    fn tell(
        &self,
        speakers: &Speakers,
        reflector: &Reflector,
        (family, first, last): (Family, u32, u32),
        micros: u64,
        out: &mut Vec<u8>,
    ) {
        let view = reflector.view(family);
        let mut all: Vec<Told> = Vec::new();
        for number in (first..last).filter(|number| view.routes.is_used(*number)) {
            // What is stale was told in an earlier session, or is about to be told again.
            let is_told = |peer: u16| self.peers.contains(&peer);
            let paths = view.routes.paths(number).filter(|it| !it.is_stale && is_told(it.peer));
            all.extend(paths.map(|it| ((it.peer, it.attributes), it.identifier, number, it.rest)));
        }
        all.sort_unstable();
        for run in all.chunk_by(|one, other| one.0 == other.0) {
            let (peer, attributes) = run[0].0;
            let Some(speaker) = speakers.get(&peer) else { continue };
            let (next_hop, block) = parts(view.attributes.bytes_of(attributes));
            let mut messages = Vec::new();
            let told = (family, next_hop);
            let mut builder = Builder::announce(&mut messages, speaker.writing(), told, block);
            for (_, path_id, number, rest) in run {
                let (short, len) = rest.bytes();
                let string = rest.string().map(|number| view.rests.bytes_of(number));
                let rest = string.unwrap_or(&short[..len]);
                // It has room: it came in a message that was not longer.
                let _ = view.routes.with_key(*number, |key| builder.push(*path_id, key, rest));
            }
            builder.finish();
            route_monitoring(&speaker.header(micros), &messages, out);
        }
    }
}

/// Most bytes that wait for a collector.
pub(super) const WAITING_MAX: usize = 64 << 20;

/// Bytes that depart at once, and below which the walk goes on.
const PIECE_BYTES: usize = 64 << 10;

/// Routes that are looked at in one turn.
const ROUTES_A_TURN: u32 = 4096;
