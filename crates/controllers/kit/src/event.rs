//! What a controller hears beside what arrives from the network.

use std::time::Duration;

use engine::{Context, Detail, EventKind, Refusal};
use protocol_kit::{Bytes, Interface, Time};

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
    /// What the time of day is: how long after the beginning of 1970 the machine's time began
    /// ([`Time::ZERO`]). It is told at the start, and again when the clock of the host was set.
    TimeOfDay(Duration),
    /// The host's interfaces of the function, all that there are now.
    Links(Vec<Link>),
    /// A worker tells of something that it watches. Whoever begins is told first what was said last
    /// of each.
    Happened(Happening),
    /// A worker has punted a frame for a reason that this controller takes.
    Punted(Punt),
    /// The controller ends in good order: what it has to say to others at once departs yet.
    Ends,
    /// What workers told and there was no room for: what is known of what they watch may be old.
    Missed {
        /// How often.
        count: u64,
    },
}

/// What has happened to something that a worker watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happening {
    /// The worker's number.
    pub worker: u16,
    /// What has happened.
    pub kind: EventKind,
    /// To what, by the function's number: a next hop of a router, for instance.
    pub subject: u64,
    /// What else the function says of it.
    pub detail: Detail,
    /// When.
    pub at: Time,
}

/// A frame that a worker has punted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Punt {
    /// The worker's number.
    pub worker: u16,
    /// Why, by the function's name for it.
    pub reason: &'static str,
    /// The port at which it came in, by the function's number.
    pub port: u8,
    /// What the function knows of it.
    pub context: Context,
    /// When.
    pub at: Time,
    /// The frame as the function left it.
    pub frame: Bytes,
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
