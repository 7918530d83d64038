//! Readers of the reflector that are no peers.

use super::Reflector;
use crate::groups::Identity;
use crate::own::{Kind, Source};

impl Reflector {
    /// Returns the identifier of a peer, as it has told it last; 0 if it never has.
    pub fn identifier_of(&self, peer: u16) -> u32 {
        self.sources.get(usize::from(peer)).map_or(0, |source| source.identifier)
    }

    /// Somebody who is no peer begins to read, and is told the table and its changes, as
    /// [`Reflector::open`] has it. The number is none of a peer.
    pub fn watch(&mut self, reader: u16, identities: impl IntoIterator<Item = Identity>) {
        let source = Source { kind: Kind::Collector, identifier: 0, address: 0, group: 0 };
        self.open(reader, source, identities);
    }

    /// Who has watched reads no more.
    pub fn unwatch(&mut self, reader: u16) {
        self.leave(reader);
    }
}
