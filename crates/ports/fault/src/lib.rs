//! Faults on purpose, in front of any port: loss, corruption, duplication, reordering and delay.
//!
//! ```text
//! worker <== store of held frames <== dice <== the port
//! worker ==> dice ==> store of held frames ==> the port
//! ```
//! Guarantees: what happens to the n-th frame of a queue follows from the seed and n alone; each
//! fault is counted; memory is fixed when the port is wrapped, and a store that is full is a
//! counted drop. It deliberately knows nothing of the port that it wraps. Delay is as exact as the
//! worker polls.

mod config;
mod dice;
mod lane;
mod port;
mod store;

pub use config::{FaultConfig, Faults};
pub use port::wrap;
