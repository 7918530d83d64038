//! A tap: what a capture sees of a worker's packets.
//!
//! It belongs to the worker while it is set and is called once a batch at two places. What it shows to
//! others it copies into memory of its own; it never blocks, and what has no place it counts as missed.

use machine::clock::Ticks;
use packet::Batch;

/// Sees the packets of one worker.
pub trait Tap: Send {
    /// The frames of a batch as they were received.
    fn received(&mut self, batch: &Batch, now: Ticks);

    /// The same frames as the function left them, each with its verdict, before they are sent.
    fn decided(&mut self, batch: &Batch, now: Ticks);

    /// Frames that the function made beside those that came in, each with its verdict, before they are
    /// sent.
    fn made(&mut self, batch: &Batch, now: Ticks);
}
