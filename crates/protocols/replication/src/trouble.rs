//! Why a connection ends, or why there is none.

use crate::change::Malformed;

/// Why a connection has ended, or why there is none. Each reason is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Trouble {
    /// Nobody has connected yet.
    Alone,
    /// The standby cannot be reached.
    NoConnection,
    /// The standby cannot listen.
    NotListening,
    /// The other side closed it, or it broke.
    Closed,
    /// The other side says what makes no sense.
    Malformed,
    /// A message is not of whom it should be, or not the next one.
    NotAuthentic,
    /// Changes are missing.
    Gap,
    /// More arrives than a peer may send.
    Flooded,
    /// The other side says nothing.
    Silent,
    /// Refused: the other side is of another version.
    Version,
    /// Refused: the configurations differ.
    Configuration,
    /// Refused: another worker, or one of another number of workers.
    Worker,
    /// Refused: one side has a key, and the other has none.
    Key,
    /// The worker is gone.
    Ended,
    /// Refused: the other side tells as well.
    Active,
    /// All was told, and the other side tells from now on.
    HandedOver,
}

impl Trouble {
    /// All of them, in the order of their numbers.
    pub const ALL: [Trouble; 16] = [
        Trouble::Alone,
        Trouble::NoConnection,
        Trouble::NotListening,
        Trouble::Closed,
        Trouble::Malformed,
        Trouble::NotAuthentic,
        Trouble::Gap,
        Trouble::Flooded,
        Trouble::Silent,
        Trouble::Version,
        Trouble::Configuration,
        Trouble::Worker,
        Trouble::Key,
        Trouble::Ended,
        Trouble::Active,
        Trouble::HandedOver,
    ];

    /// Returns what it means and what to do.
    pub fn text(self) -> &'static str {
        match self {
            Trouble::Alone => "nobody has connected yet",
            Trouble::NoConnection => "no connection: the standby does not answer",
            Trouble::NotListening => "cannot listen: the address is not here, or the port is taken",
            Trouble::Closed => "the other side closed the connection",
            Trouble::Malformed => "the other side speaks otherwise",
            Trouble::NotAuthentic => "not authentic: set 'replication.key' alike on both sides",
            Trouble::Gap => "changes are missing",
            Trouble::Flooded => "the other side sends more than it may",
            Trouble::Silent => "the other side is silent",
            Trouble::Version => {
                "refused: the standby is of another version: run the same on both sides"
            }
            Trouble::Configuration => {
                "refused: the standby's configuration differs: only 'replication', 'secret', \
                 'timeouts', 'logging' and the addresses of ports may"
            }
            Trouble::Worker => {
                "refused: the standby has another number of workers: set 'core' alike on both sides"
            }
            Trouble::Key => "refused: one side has a 'replication.key' and the other has none",
            Trouble::Ended => "ended",
            Trouble::Active => "refused: both sides are active: see why VRRP has two masters",
            Trouble::HandedOver => "all was handed over",
        }
    }

    /// Returns the refusal of a byte of a message; `None` if it is none.
    pub(crate) fn refusal(byte: u8) -> Option<Trouble> {
        REFUSALS.get(usize::from(byte)).copied()
    }

    /// Returns the byte of a refusal; that of another version if it is no refusal.
    pub(crate) fn refusal_byte(self) -> u8 {
        REFUSALS.iter().position(|one| *one == self).unwrap_or(0) as u8
    }
}

impl From<Malformed> for Trouble {
    fn from(_: Malformed) -> Trouble {
        Trouble::Malformed
    }
}

/// The refusals, by their bytes in messages.
pub(crate) const REFUSALS: [Trouble; 5] =
    [Trouble::Version, Trouble::Configuration, Trouble::Worker, Trouble::Key, Trouble::Active];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        assert!(Trouble::ALL.iter().enumerate().all(|(at, one)| *one as usize == at));
        for refusal in REFUSALS {
            assert_eq!(Trouble::refusal(refusal.refusal_byte()), Some(refusal));
        }
        assert_eq!(Trouble::refusal(5), None);
    }
}
