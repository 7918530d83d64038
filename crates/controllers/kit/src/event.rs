//! What a controller hears beside what arrives from the network.

use engine::Refusal;
use protocol_kit::{Interface, Time};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Updates took effect on all workers.
    Applied {
        /// The number of the first, as the controller has counted them.
        first: u64,
        /// How many in a row.
        count: u64,
        /// When the last of them took effect.
        at: Time,
    },
    /// An update was refused, and nothing of it took effect.
    Refused {
        /// Its number.
        number: u64,
        /// Why.
        why: Refusal,
    },
    /// The host's interfaces of the function, all that there are now.
    Links(Vec<Link>),
}

/// An interface of the function that the host's programs have, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name in the kernel.
    pub name: String,
    /// Its number in the kernel.
    pub kernel: Interface,
    /// Its number at the function.
    pub number: u16,
}
