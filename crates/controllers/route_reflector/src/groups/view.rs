//! What is read to tell groups of routes.

use crate::known::Known;
use crate::own::{Own, Source};
use crate::table::targets::EMPTY;
use crate::table::{Family, Interned, Path, Routes, Sets};

/// What is read to tell a group of routes.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The reflector.
    pub own: &'a Own,
    /// The family.
    pub family: &'a Family,
    /// Its routes.
    pub routes: &'a Routes,
    /// Sets of route targets.
    pub sets: &'a Sets,
    /// Attributes of all families.
    pub attributes: &'a Interned<Known>,
    /// What NLRI have beside their keys.
    pub rests: &'a Interned<()>,
    /// Who has told paths, by the number of the peer.
    pub sources: &'a [Source],
}

impl View<'_> {
    /// Returns the number of the set of a path's targets.
    #[inline]
    pub fn targets_of(&self, path: &Path) -> u32 {
        self.attributes.known(path.attributes).map_or(EMPTY, |known| known.targets)
    }
}
