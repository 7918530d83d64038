//! A dump of the tables: the peers, then each route of each family with all its paths.

use protocol_bgp::families::{FAMILIES, Family};
use protocol_kit::{Bytes, Departure, Socket};
use protocol_mrt::Stamp;
use protocol_mrt::table::Peer;
use protocol_mrt::write::{self, Path};

use super::became::Became;
use crate::groups::view::View;
use crate::known::parts;
use crate::reflector::Reflector;
use crate::table;

/// A dump that is being written.
#[derive(Debug)]
pub(super) struct TableDump {
    /// The name of the file.
    pub name: String,
    /// Routes so far.
    pub routes: u64,
    /// Paths of peers that came when it had begun, and those that had no room.
    pub left_out: u64,
    state: State,
    at: Stamp,
    /// The numbers of peers in the file, by their own; [`NOBODY`] for those that are not in it.
    numbers: Vec<u16>,
    /// The place of the family among [`FAMILIES`].
    family: usize,
    /// The next route of it.
    cursor: u32,
    sequence: u32,
    /// What has not departed yet, and how much of that has.
    draft: Vec<u8>,
    departed: usize,
    /// Bytes that have departed and were not taken.
    on_way: usize,
    paths: Vec<table::Path>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Begins,
    There,
    Ends,
}

impl TableDump {
    /// Begins a dump of what some peers have told.
    pub fn new(
        name: String,
        at: Stamp,
        identifier: u32,
        peers: impl Iterator<Item = (u16, Peer)>,
    ) -> TableDump {
        let (mut numbers, mut all) = (Vec::new(), Vec::new());
        for (number, peer) in peers {
            if numbers.len() <= usize::from(number) {
                numbers.resize(usize::from(number) + 1, NOBODY);
            }
            numbers[usize::from(number)] = all.len() as u16;
            all.push(peer);
        }
        let mut draft = Vec::new();
        write::peers(at, (identifier, ""), all.into_iter(), &mut draft);
        TableDump {
            name,
            routes: 0,
            left_out: 0,
            state: State::New,
            at,
            numbers,
            family: 0,
            cursor: 0,
            sequence: 0,
            draft,
            departed: 0,
            on_way: 0,
            paths: Vec::new(),
        }
    }

    /// A peer has a new session, or its number is another one's: it is not what the file says.
    pub fn forget_peer(&mut self, peer: u16) {
        if let Some(number) = self.numbers.get_mut(usize::from(peer)) {
            *number = NOBODY;
        }
    }

    /// Whether the file is to be opened; then it is.
    pub fn begins(&mut self) -> bool {
        let is_new = self.state == State::New;
        if is_new {
            self.state = State::Begins;
        }
        is_new
    }

    /// Something has become of the file. Returns whether the dump is over.
    pub fn became(&mut self, what: Became) -> bool {
        match what {
            Became::There => self.state = State::There,
            Became::Taken(count) => self.on_way = self.on_way.saturating_sub(count),
            Became::Whole | Became::Lost => return true,
        }
        false
    }

    /// Whether there is something to do.
    pub fn is_ready(&self) -> bool {
        let has_room = self.on_way + PIECE_BYTES <= ON_WAY_MAX;
        self.state == State::New || self.state == State::There && has_room
    }

    /// Returns what departs next.
    pub fn poll(&mut self, socket: Socket, reflector: &Reflector) -> Option<Departure> {
        if self.state != State::There || !self.is_ready() {
            return None;
        }
        if self.departed == self.draft.len() {
            self.draft.clear();
            self.departed = 0;
            self.go_on(reflector);
        }
        let left = &self.draft[self.departed..];
        let piece = &left[..left.len().min(PIECE_BYTES)];
        if piece.is_empty() {
            // Else the family has nothing in this part, and the next turn looks further.
            if self.family == FAMILIES.len() {
                self.state = State::Ends;
                return Some(Departure::Finish { socket });
            }
            return None;
        }
        let bytes = Bytes::copy_from_slice(piece);
        self.departed += bytes.len();
        self.on_way += bytes.len();
        Some(Departure::Bytes { socket, bytes })
    }

    /// Goes over a bounded part of the tables.
    fn go_on(&mut self, reflector: &Reflector) {
        let mut left = ROUTES_A_TURN;
        while let Some(row) = FAMILIES.get(self.family) {
            let view = reflector.view(row.family);
            let end = view.routes.end();
            while self.cursor < end {
                if left == 0 || self.draft.len() >= PIECE_BYTES {
                    return;
                }
                left -= 1;
                self.add(view, row.family, self.cursor);
                self.cursor += 1;
            }
            (self.family, self.cursor) = (self.family + 1, 0);
        }
    }

    /// Adds a route: one record, or one for each path where what stands beside the key (labels) is
    /// not the same for all.
    fn add(&mut self, view: View<'_>, family: Family, number: u32) {
        if !view.routes.is_used(number) {
            return;
        }
        let numbers = &self.numbers;
        let number_of = |path: &table::Path| {
            let number = numbers.get(usize::from(path.peer)).copied();
            number.filter(|number| *number != NOBODY)
        };
        self.paths.clear();
        for path in view.routes.paths(number) {
            match number_of(path) {
                Some(_) => self.paths.push(*path),
                None => self.left_out += 1,
            }
        }
        let Some(first) = self.paths.first() else { return };
        let is_one = self.paths.iter().all(|path| path.rest == first.rest);
        let count = if is_one { self.paths.len() } else { 1 };
        self.routes += 1;
        for paths in self.paths.chunks(count) {
            let (short, short_len) = paths[0].rest.bytes();
            let string = paths[0].rest.string().map(|number| view.rests.bytes_of(number));
            let rest = string.unwrap_or(&short[..short_len]);
            let told = paths.iter().map(|path| {
                let (next_hop, block) = parts(view.attributes.bytes_of(path.attributes));
                let peer = number_of(path).unwrap_or(NOBODY);
                let (since, path_id) = (self.at.seconds(), path.identifier);
                Path { peer, since, path_id, next_hop, block }
            });
            let (at, sequence, draft) = (self.at, self.sequence, &mut self.draft);
            let refused = view.routes.with_key(number, |key| {
                write::route(at, sequence, (family, key, rest), told, draft)
            });
            self.left_out += refused as u64;
            self.sequence = self.sequence.wrapping_add(1);
        }
    }
}

/// The number of a peer that is not in the file.
const NOBODY: u16 = u16::MAX;

/// Routes that are looked at in one turn.
const ROUTES_A_TURN: u32 = 4096;

/// Bytes that depart at once, and that are on their way at most.
const PIECE_BYTES: usize = 32 << 10;
const ON_WAY_MAX: usize = 4 * PIECE_BYTES;
