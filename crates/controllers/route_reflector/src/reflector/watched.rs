//! Readers of the reflector that are no peers.

use super::{Gone, Reflector};
use crate::groups::Identity;
use crate::own::{Kind, Lowers, Source};

impl Reflector {
    /// Returns the identifier of a peer, as it has told it last; 0 if it never has.
    pub fn identifier_of(&self, peer: u16) -> u32 {
        self.sources.get(usize::from(peer)).map_or(0, |source| source.identifier)
    }

    /// Somebody who is no peer begins to read, and is told the table and its changes, as
    /// [`Reflector::open`] has it. The number is none of a peer.
    pub fn watch(&mut self, reader: u16, identities: impl IntoIterator<Item = Identity>) {
        let (kind, lowers) = (Kind::Collector, Lowers::Nothing);
        let source = Source { kind, identifier: 0, address: 0, lowers };
        self.open(reader, source, identities);
    }

    /// From now on it is known which paths of peers with sessions go without a word of those, or is
    /// not.
    pub fn watch_gone(&mut self, is_wanted: bool) {
        self.gone = is_wanted.then(Vec::new);
    }

    /// Whether that is known.
    pub fn takes_gone(&self) -> bool {
        self.gone.is_some()
    }

    /// Takes those that are gone.
    pub fn take_gone(&mut self) -> Vec<Gone> {
        self.gone.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Who has watched reads no more.
    pub fn unwatch(&mut self, reader: u16) {
        self.leave(reader);
    }
}
