//! Tables of the data path: exact match, longest-prefix match, access lists, policers, queues.
//!
//! Each table is sized when it is made, belongs to one worker and takes time as an argument.
//! Nothing here locks, reads a clock or knows a protocol. Every table has a slow, obviously right
//! twin ([`oracle`], or one of the standard library's maps) that tests compare it with.
//!
//! | table | question | memory |
//! |---|---|---|
//! | [`index::Index`] | which number belongs to this key? | 16 bytes a u32 key, 25.6 a u64 key |
//! | [`tagged::Tagged`] | which number belongs to this hash, the key being in the caller's record? | 9.6 bytes an entry |
//! | [`mac::MacTable`] | behind what is this station, and since when? | 25.6 bytes a station, 33.6 a learned one |
//! | [`lpm::Lpm`] | which route is the most specific for this address? | 12 MiB for the Internet's 901,899 IPv4 routes |
//! | [`groups::Groups`] | which of several next hops does this flow take? | 4 bytes a bucket |
//! | [`classifier::Classifier`] | which rule is the first that matches these fields? | 256 bits a rule and byte of the key |
//! | [`meter::Meter`] | does this frame conform to the rate? | 16 bytes |
//! | [`policer::Policers`] | which of three colours has this frame, by its policer and those above? | 64 bytes |
//! | [`scheduler::Scheduler`] | does this frame pass, wait or drop, and which one leaves now? | 120 bytes a queue, 192 a subscriber |
//! | [`wheel::Wheel`] | which timers are due, and when is the next one? | 24 bytes a timer |

pub mod classifier;
pub mod groups;
pub mod index;
pub mod internet;
pub mod lpm;
pub mod mac;
pub mod meter;
pub mod oracle;
pub mod policer;
pub mod scheduler;
pub mod tagged;
pub mod wheel;

mod pace;

pub use machine::hash;
