//! What is over and a device may not have met yet: the ways to take it, where a packet was let
//! through by none of them.
//!
//! A device ends sessions when it sees fit. Until then some may count against limits, keep their
//! subscriber paired, and keep ports and blocks; each by itself, because it may have met some and
//! not others. Of packets that are dropped this decides the reason.

/// A way to take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Whether limits and tables are free of it.
    pub has_room: bool,
    /// What is left of it where an outside end is chosen.
    pub keeps: Keeps,
}

/// What a subscriber's former sessions keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeps {
    /// As much as there is a reason against the packet in it.
    #[default]
    AsMuchAsMatters,
    /// Its pairing and blocks, and their ports.
    All,
    /// Ports alone.
    Ports,
    /// Its pairing and blocks alone.
    Places,
    /// Nothing.
    Nothing,
}

impl Reading {
    /// Every one.
    pub fn all() -> impl Iterator<Item = Reading> {
        let keeps = [Keeps::All, Keeps::Ports, Keeps::Places, Keeps::Nothing];
        [false, true].into_iter().flat_map(move |has_room| {
            let default = [Keeps::default()];
            let keeps = default.into_iter().chain(keeps);
            keeps.map(move |keeps| Reading { has_room, keeps })
        })
    }
}
