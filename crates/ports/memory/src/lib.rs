//! The memory port: two bounded byte rings between two threads of one process.
//!
//! ```text
//! near end (tester, or anything that has frames)        port (a worker)
//!   Sender   == ring ==>  receive
//!   Receiver <== ring ==  transmit
//! ```
//! Frames are copied into the ring one behind the other, so that the reader's core streams them
//! from the writer's. Guarantees: a frame arrives whole, once and in order; a full ring refuses a
//! frame and the writer counts it; memory is fixed at creation. It does not wake anybody: both
//! sides poll.

mod port;
mod ring;
mod workers;

pub use port::{FarEnd, MemoryPort, between, link, open};
pub use ring::{RECORD_BYTES, Receiver, Sender, ring};
pub use workers::{Steering, mesh, steered};
