//! What is over and a device may not have met yet: the ways to take it, where a packet was let
//! through by none of them.
//!
//! A device ends sessions when it sees fit. Until then some may count against limits, keep their
//! subscriber paired, and keep ports and blocks; each by itself, because it may have met some and
//! not others. Of packets that are dropped this decides the reason.

use super::{Expected, Model};

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

impl Model {
    /// What becomes of a packet by the first way in which it becomes what it did; `expected` is
    /// what it becomes by the usual one, `before` the model that has not seen it. Where ways with
    /// different reasons lead to the same ICMP error, any of them may be told.
    pub(super) fn reconsider(
        &mut self,
        before: &Model,
        expected: Expected,
        became: &[Expected],
        become_of: impl Fn(&mut Model) -> Expected,
    ) -> Expected {
        let is_refused = matches!(expected, Expected::Forward { .. });
        if became.contains(&expected) && !(is_refused && self.reports.is_some()) {
            return expected;
        }
        let mut others = Reading::all().map(|reading| {
            let mut other = Model { reading, ..before.clone() };
            let instead = become_of(&mut other);
            (Model { reading: Reading::default(), ..other }, instead)
        });
        let found = match became.contains(&expected) {
            true => expected,
            false => match others.find(|(_, instead)| became.contains(instead)) {
                Some((other, instead)) => {
                    *self = other;
                    instead
                }
                None => return expected,
            },
        };
        if let Some(reports) = &mut self.reports {
            let same = others.filter(|(_, instead)| *instead == found);
            same.for_each(|(other, _)| reports.or_as_in(other.reports.as_ref()));
        }
        found
    }
}
