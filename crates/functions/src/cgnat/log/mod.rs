//! What a carrier-grade NAT tells about its blocks and sessions.
//!
//! [`Logger::note`] takes an [`Event`]: a copy of 64 bytes into a bounded ring, and nothing else in the
//! data path. [`Logger::flush`], called by the function once in each round, makes the UDP frames
//! themselves, so that logs leave as any packet does: no system call, no allocation, no thread.
//!
//! RFC 6888 section 4 asks of a log the time, the transport protocol, the subscriber's address with its
//! realm, the outside address and the ports. With blocks of ports a record of a block says this for all
//! of its sessions, which is why blocks are always told and sessions only when asked.
//!
//! # Volume
//! Bytes of a record (of syslog, of a message), and what it takes on the wire with its share of the headers
//! of a packet of 1500 bytes, of Ethernet's preamble, check sequence and gap, as the test `volume`
//! measures them under NAT44; and the rate at 5 million records a second:
//!
//! | format | record | bytes | records a packet | bytes on the wire | at 5 million/s |
//! |---|---|---:|---:|---:|---:|
//! | ipfix | block | 25 | 58 | 26.5 | 1.06 Gbit/s |
//! | ipfix | session | 26 | 55 | 27.6 | 1.10 Gbit/s |
//! | ipfix | session with destination | 32 | 45 | 33.9 | 1.36 Gbit/s |
//! | syslog | block | 158 | 1 | 224.0 | 8.96 Gbit/s |
//! | syslog | session | 172 | 1 | 238.0 | 9.52 Gbit/s |
//! | syslog | session with destination | 204 | 1 | 270.0 | 10.80 Gbit/s |
//!
//! A session has two records, when it is opened and when it ends. A message of syslog has one record, and
//! a round of the worker makes at most [`FRAMES_MAX`] messages, so that sessions at such a rate are
//! IPFIX's.
//!
//! # Limits
//! UDP may lose what was sent; a collector sees it by the sequence numbers of IPFIX. The time is that
//! of the batch in which something happened.
//! What does not fit the queue or the rate is counted by class, never waited for; sessions and mappings
//! leave an eighth of the queue to others. Alarms are limited for each kind, not for each subscriber.
//!
//! **Not supported:** TCP, SCTP or TLS to the collector, several collectors, options templates, resolving
//! the collector's Ethernet address, VLAN tags.

pub mod config;

pub mod event;

mod collector;
mod epoch;
mod logger;

mod journal;

mod ipfix;
mod message;
mod queue;
mod syslog;
mod templates;

pub mod oracle;

pub use self::collector::Collector;
pub use self::config::{Format, Logging, Side};
pub use self::epoch::Epoch;
pub use self::event::{Class, Event, Family, Kind};
pub use self::journal::{Journal, collector};
pub use self::logger::{COUNTS, Count, FRAMES_MAX, Logger};
