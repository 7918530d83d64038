//! memif: a port in memory shared with another process, protocol version 2, both roles.
//!
//! ```text
//! slave (owns the memory)                     master
//!   outgoing == ring s2m of queue n ==> incoming
//!   incoming <== ring m2s of queue n == outgoing
//!   control  ---- Unix socket, 128-byte messages, descriptors of memory ---- control
//! ```
//! Guarantees: a peer may write anything anywhere in the shared memory and say anything on the
//! socket; it can make its own frames wrong, and is disconnected for a counted reason, but reaches
//! nothing else. Peers come and go in any order without a restart. Receiving and sending make no
//! system call. It deliberately wakes nobody: both sides poll. The rules are those of libmemif and
//! of DPDK's driver.

mod breach;
mod config;
mod control;
mod handshake;
mod lines;
mod mailbox;
mod memory;
mod message;
mod port;
mod region;
mod ring;
mod shared;
mod side;
mod socket;
mod text;
mod transfer;

pub use breach::Breach;
pub use config::{Address, Config, Role};
pub use port::{DROPS, Memif, QUEUES_MAX};
