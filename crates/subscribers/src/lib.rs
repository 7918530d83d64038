//! Sessions of subscribers: a record each, the ways to find it, and what has passed.
//!
//! ```text
//!  line + MAC address ---.
//!  line + PPPoE session --|      index of tags      record (64 bytes)   volumes (64 bytes)
//!  IPv4 address ----------+---> hash -> number ---> is the key its own? -> up, down; IPv4, IPv6
//!  IPv6 address ----------|
//!  IPv6 prefix -----------'
//! ```
//! | | |
//! |---|---|
//! | memory of a session | 64 bytes of record, 64 of volumes, 48 of index, about 16 of lines |
//! | a look-up | a cache line of the index, nearly always, and the record, which is needed anyway |
//!
//! A session has a number, which its owner chooses below a capacity, and by which policers, queues
//! and whatever else the owner has of a session are found without a look-up. A line is any number
//! of the owner's; addresses are those of a routing instance. Profile, list and node are numbers
//! that the owner gives and reads.
//!
//! A data path asks in steps, so that the memory accesses of a batch overlap: [`Subscribers::hash`]
//! and [`Subscribers::prefetch`] for every key, [`Subscribers::candidate`] with
//! [`Subscribers::prefetch_record`], then [`Subscribers::confirm`].
//!
//! Guarantees: memory is taken at creation; a change that is refused has changed nothing; of two
//! sessions none has a key that the other has; whoever chooses keys does not know the hash.
//!
//! It deliberately does not: decide who may send, give out addresses or numbers, know nested
//! prefixes (of each length that is in use the exact one is looked for, the longest first), expire
//! anything, read a clock, share between threads.

mod keys;

mod record;

mod table;

mod volumes;

pub use keys::Key;
pub use record::Record;
pub use table::{Refused, Subscribers};
pub use volumes::{Volume, Volumes, Way};
