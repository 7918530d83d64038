//! Peers that go from one group to another, as what they are told changes while their sessions
//! stand.

use super::{Group, rest};
use crate::groups::reader::{Need, Reader};
use crate::table::Place;

impl Group {
    /// A peer goes to another group, and takes with it what it has yet to be told; there it is told
    /// everything again.
    pub(crate) fn depart(&mut self, peer: u16) -> Option<Reader> {
        let mut reader = self.readers.remove(&peer)?;
        let left = reader.walk.map(|walk| rest(&self.walks, walk)).or(reader.need);
        let left = Need { all_from: 0, ..left.unwrap_or(Need::NOTHING) };
        // What it has not read is as if it had lost its place.
        let chunk = reader.live.and_then(|at| self.live.get(at));
        let mark = chunk.map_or(self.read, |chunk| Place(chunk.mark));
        let is_first = left.is_first() && reader.live.is_none();
        reader.fall_behind(if is_first { left } else { left.since(mark) });
        reader.live = None;
        Some(reader)
    }

    /// A peer comes from another group.
    pub(crate) fn arrive(&mut self, peer: u16, reader: Reader) {
        self.readers.insert(peer, reader);
    }

    /// Returns whether it has no peers.
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }
}
