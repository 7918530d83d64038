//! What a carrier-grade NAT tells about its blocks and sessions.
//!
//! [`export`] makes messages of events; here is what events there are, and of what their records
//! consist.
//!
//! RFC 6888 section 4 asks of a log the time, the transport protocol, the subscriber's address with
//! its realm, the outside address and the ports. With blocks of ports a record of a block says this
//! for all of its sessions, which is why blocks are always told and sessions only when asked.
//!
//! # Volume
//! Bytes of a record (of syslog, of a message), and what it takes on the wire with its share of the
//! headers of a packet of 1500 bytes, of Ethernet's preamble, check sequence and gap, as the test
//! `volume` measures them under NAT44; and the rate at 5 million records a second:
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
//! A session has two records, when it is opened and when it ends. A message of syslog has one
//! record, and a round of the worker makes at most [`export::FRAMES_MAX`] messages, so that
//! sessions at such a rate are IPFIX's.
//!
//! Alarms are limited for each kind, not for each subscriber.

mod event;
mod journal;
mod tell;
mod templates;

pub use self::event::{Event, Family, Kind};
pub use self::journal::{Journal, collector};
