//! What nobody has seen where a packet was not let through: the ways to take it.
//!
//! A device ends sessions when it sees fit. Until then some may count against limits, keep their
//! subscriber paired, and keep ports and blocks; each by itself, because it may have met some and
//! not others. A packet between subscribers may have a mapping made for it and taken back, of which
//! nobody has seen the outside address. Of packets that are dropped this decides the reason.

/// A way to take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Whether limits and tables are free of what is over.
    pub has_room: bool,
    /// What is left of that where an outside end is chosen.
    pub keeps: Keeps,
    /// Whether the first packet of a subscriber, for another one, got an outside address from which
    /// that one takes nothing, where there was one.
    pub is_stranger: bool,
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
        let keeps = [Keeps::default()].into_iter().chain(keeps);
        [false, true].into_iter().flat_map(move |is_stranger| {
            let keeps = keeps.clone();
            [false, true].into_iter().flat_map(move |has_room| {
                keeps.clone().map(move |keeps| Reading { has_room, keeps, is_stranger })
            })
        })
    }
}
