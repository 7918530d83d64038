//! The af-packet port: an interface of the Linux kernel, through packet sockets and shared rings.
//!
//! ```text
//!  interface ==> fanout ==> TPACKET ring of a queue ==> receive     (no system call)
//!  interface <== PACKET_QDISC_BYPASS <== sendmmsg   <== transmit    (one for 64 frames)
//! ```
//! Guarantees: a frame is delivered whole, with the VLAN tag that the kernel took out of it and the
//! checksum that it had put off; what the kernel drops because a ring is full is read back from it.
//! An interface that goes down, or is deleted and made again, is found again without reopening. It
//! does not split segments that the kernel has merged: they are counted drops. Works on every kind
//! of Ethernet interface; needs CAP_NET_RAW.

mod config;
mod deliver;
mod drops;
mod ends;
mod open;
mod queue;
mod ring;
mod shared;
mod sys;
mod transmit;
mod watch;

pub use config::{AfPacketConfig, Fanout, Ring};
pub use open::AfPacket;
