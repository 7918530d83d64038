//! Logs of what a function does: IPFIX (RFC 7011) or syslog (RFC 5424) over UDP to a collector.
//!
//! A function describes its events and their records by the traits of [`record`]; this crate knows
//! none of them. [`Logger::note`] copies an event into a bounded ring and does nothing else in the
//! data path. [`Logger::flush`], called once in each round, makes the UDP frames themselves. So
//! logs leave as any packet does: no system call, no allocation, no thread.
//!
//! # Limits
//! UDP may lose what was sent; a collector sees it by the sequence numbers of IPFIX. The time is
//! that of the batch in which something happened. What does not fit the queue or the rate is
//! counted by class, never waited for; sessions and mappings leave an eighth of the queue to
//! others. Alarms are limited for each kind.
//!
//! **Not supported:** TCP, SCTP or TLS to the collector, several collectors, options templates,
//! resolving the collector's Ethernet address, VLAN tags.

mod collector;
mod config;
mod epoch;
mod ipfix;
mod logger;
mod message;
mod queue;
pub mod record;
mod syslog;

pub use self::collector::Collector;
pub use self::config::{Format, Logging, Side};
pub use self::epoch::Epoch;
pub use self::logger::{COUNTS, Count, FRAMES_MAX, Logger};
