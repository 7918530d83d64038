//! Why a bridge drops a frame, and what else it counts.

use packet::{Reason, Verdict};

use crate::drop_reasons::reasons;

reasons! {
    /// No stage decided; stays at zero.
    UNHANDLED = "unhandled",
    /// The frame ends within its Ethernet header.
    TRUNCATED = "truncated",
    /// The source is no station's address: a group's, or zero.
    INVALID_SOURCE = "invalid-source",
    /// One of the addresses that no bridge forwards (IEEE 802.1D-2004 section 7.12.6).
    RESERVED = "reserved-address",
    /// The station that it goes to is behind the port at which it came in.
    SAME_PORT = "same-port",
    /// Nobody knows where the station is that it goes to.
    UNKNOWN = "unknown-station",
    /// There is no room to learn the station that it comes from.
    TABLE_FULL = "table-full",
}

/// What is counted beside verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// Stations learned.
    Learned,
    /// Learned stations that were found behind the other port.
    Moved,
    /// Learned stations that were forgotten because of their age.
    Aged,
    /// Frames whose source there was no room to learn.
    NotLearned,
    /// Frames for groups and for all.
    Group,
    /// Frames for unknown stations that went out of every other port.
    Flooded,
}

/// The names of the tallies, in the order of [`Tally`].
pub const TALLIES: &[&str] = &["learned", "moved", "aged", "not-learned", "group", "flooded"];

/// Short for dropping.
#[inline(always)]
pub const fn drop(reason: Reason) -> Verdict {
    Verdict::Drop(reason)
}

/// The name of a reason.
pub fn name(reason: Reason) -> &'static str {
    engine::Drops(NAMES).name(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_as_they_are_named() {
        assert_eq!(name(UNHANDLED), "unhandled");
        assert_eq!(name(SAME_PORT), "same-port");
        assert_eq!(name(TABLE_FULL), "table-full");
        assert_eq!(usize::from(TABLE_FULL.0) + 1, NAMES.len());
        assert_eq!(TALLIES[Tally::Flooded as usize], "flooded");
    }
}
