//! A peer goes from one group to another one while its session stands.

use super::{Group, Need, Reader, rest};
use crate::table::Place;

impl Group {
    /// What a peer has to be told by the group that takes it over: everything again, and what has
    /// gone since it knows what it knows.
    pub(crate) fn hand_over(&self, peer: u16) -> Option<Reader> {
        let reader = self.readers.get(&peer)?;
        let left = match (reader.need, reader.walk) {
            (Some(need), _) => need,
            (None, None) => Need::NOTHING,
            (None, Some(walk)) => rest(&self.walks, walk),
        };
        // What of its membership it has not heard of is told behind that.
        let need = Need { all_from: 0, changes_from: u32::MAX, ..left };
        let known = |at: u64| self.live.get(at).map_or(self.read, |chunk| Place(chunk.mark));
        let need = reader.live.map_or(need, |at| need.since(known(at)));
        let mut later = reader.change.clone();
        if let Some(delta) = &reader.later {
            later.get_or_insert_default().extend(delta);
        }
        Some(Reader { need: Some(need), later, ..Reader::default() })
    }

    /// A peer comes from another group.
    pub(crate) fn take_over(&mut self, peer: u16, reader: Reader) {
        self.readers.insert(peer, reader);
    }
}
