//! Identifiers of paths (RFC 7911 section 2): where somebody is told several paths of a route, each
//! of them has a number from 1 to 64 for as long as it is there, and keeps it when it is replaced.
//! Others than those of the route may have the same ones.

/// Numbers of paths of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots(u64);

impl Slots {
    /// None of them.
    pub const NONE: Slots = Slots(0);

    /// All of them.
    pub const ALL: Slots = Slots(u64::MAX);

    /// Returns one alone; none for 0.
    pub fn of(slot: u8) -> Slots {
        let bit = |place: u8| 1_u64.checked_shl(place.into()).unwrap_or(0);
        Slots(slot.checked_sub(1).map_or(0, bit))
    }

    /// Whether a number is one of them.
    pub fn has(self, slot: u8) -> bool {
        self.0 & Slots::of(slot).0 != 0
    }

    /// Returns those that are in either.
    #[must_use]
    pub fn or(self, others: Slots) -> Slots {
        Slots(self.0 | others.0)
    }

    /// Returns those that are in both.
    #[must_use]
    pub fn and(self, others: Slots) -> Slots {
        Slots(self.0 & others.0)
    }

    /// Returns those that are not among others.
    #[must_use]
    pub fn without(self, others: Slots) -> Slots {
        Slots(self.0 & !others.0)
    }

    /// Returns true if there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns how many there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the lowest number that is none of them.
    pub fn free(self) -> Option<u8> {
        let free = self.0.trailing_ones() as u8 + 1;
        (free <= SLOTS_MAX).then_some(free)
    }

    /// Returns each of them, the lowest first.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (1..=SLOTS_MAX).filter(move |slot| self.has(*slot))
    }
}

/// Paths of a route that have a number.
pub const SLOTS_MAX: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_from_1_to_64() {
        let some = Slots::of(1).or(Slots::of(2)).or(Slots::of(64));
        assert_eq!(some.iter().collect::<Vec<_>>(), [1, 2, 64]);
        assert_eq!((some.len(), some.free(), Slots::NONE.free()), (3, Some(3), Some(1)));
        assert_eq!((Slots::of(0), Slots::of(65)), (Slots::NONE, Slots::NONE));
        assert!(some.has(64) && !some.has(0) && !some.has(3) && !some.has(65));
        assert_eq!(some.without(Slots::of(2)).and(some), Slots::of(1).or(Slots::of(64)));
        assert_eq!((Slots::ALL.free(), Slots::ALL.len()), (None, 64));
        assert!(Slots::ALL.without(Slots::ALL).is_empty());
    }
}
