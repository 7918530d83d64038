//! How a group is doing, and how far each of its peers is.

use super::Group;
use crate::groups::reader::Reader;

/// How a group is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Peers.
    pub peers: usize,
    /// Those of them that are told of the table, or wait for that.
    pub walking: usize,
    /// Bytes that are kept.
    pub bytes: usize,
}

/// How far a peer is in what its group is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is told at present.
    pub at: At,
    /// Bytes of the live stream that it has yet to read; `None` where it has no place in it.
    pub behind_bytes: Option<u64>,
}

/// What a peer is told at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// It has everything.
    Whole,
    /// Changes as they come, some of which it has yet to read.
    Behind,
    /// The table: a walk over it, and changes beside.
    Table,
    /// Nothing before it takes bytes and a walk is begun for it: it is new, or has lagged more than
    /// is kept.
    Waits,
}

impl At {
    /// All of them.
    pub const ALL: [At; 4] = [At::Whole, At::Behind, At::Table, At::Waits];

    /// Returns the name that people are shown.
    pub fn name(self) -> &'static str {
        match self {
            At::Whole => "all",
            At::Behind => "behind",
            At::Table => "table",
            At::Waits => "waits",
        }
    }
}

impl Group {
    /// Returns how far a peer is, if it is of the group.
    pub fn progress(&self, peer: u16) -> Option<Progress> {
        let reader = self.readers.get(&peer)?;
        let read = match reader.within {
            Some((is_of_walk, bytes)) if !is_of_walk => u64::from(bytes),
            _ => 0,
        };
        let behind_bytes = reader.live.map(|at| self.live.behind(at).saturating_sub(read));
        let at = match (reader.need, reader.walk, behind_bytes) {
            (Some(_), ..) => At::Waits,
            (None, Some(_), _) => At::Table,
            (None, None, Some(0)) => At::Whole,
            (None, None, _) => At::Behind,
        };
        Some(Progress { at, behind_bytes })
    }

    /// Returns how it is doing.
    pub fn shown(&self) -> Shown {
        let walks: usize = self.walks.iter().map(|walk| walk.stream.len()).sum();
        let walking = |reader: &&Reader| reader.walk.is_some() || reader.need.is_some();
        Shown {
            peers: self.readers.len(),
            walking: self.readers.values().filter(walking).count(),
            bytes: self.live.len() + walks,
        }
    }

    /// Returns its peers.
    pub fn peers(&self) -> impl Iterator<Item = u16> {
        self.readers.keys().copied()
    }
}
