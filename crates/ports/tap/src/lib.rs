//! The tap port: an interface that the kernel sees as a network card, and whose wire is the worker.
//!
//! ```text
//! kernel's stack  ==> tap0 ==> receive     a read for each frame
//!                 <== tap0 <== transmit    a write for each frame
//! ```
//! Guarantees: what the kernel leaves to a card is done, its frames' checksums and the cutting of
//! long segments, which pass whole where they may; what the kernel drops because its queue is full
//! is read back from it; an interface that somebody deletes is made again. Needs CAP_NET_ADMIN and
//! `/dev/net/tun`. It is for a person's own machine, not for speed: each frame or long segment is a
//! system call, and so is each poll.

mod config;
mod direct;
mod interface;
mod open;
mod queue;
mod shared;
mod sys;

pub use config::TapConfig;
pub use direct::{configure, create};
pub use open::Tap;
