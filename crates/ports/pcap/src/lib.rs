//! The pcap port: what a file holds comes in, and what goes out is written to another.
//!
//! ```text
//! file ==> reading thread ==> ring of each queue ==> receive, when its time has come
//! file <== writing thread <== ring of each queue <== transmit
//! ```
//! Guarantees: files of any size take the same memory; a worker never touches a file; frames that
//! find the ring to the writer full, or that the disk does not take, are counted drops; a file that
//! is malformed or cut short is an error at opening or a counted drop, never a panic. Reads and
//! writes pcap and pcapng with stamps of any resolution; Ethernet only.

mod config;
mod open;
mod queue;
mod read;
mod replay;
mod shared;
mod write;

pub use config::{Format, PcapConfig, Timing};
pub use open::Pcap;
pub use read::{CaptureError, CaptureFile, Record};
