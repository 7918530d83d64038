//! What the computer offers to the rest: a clock, cores, large memory, prefetch, and a keyed hash
//! made of its wide multiplication.
//!
//! Guarantees: every function here is safe to call on any Linux machine; what a machine lacks
//! (an invariant time-stamp counter, huge pages, a second core) is told, never assumed.
//! It deliberately knows nothing of packets, and reads the clock only when asked: time is an
//! argument everywhere else.

pub mod clock;
pub mod cpu;
pub mod hash;
pub mod memory;
