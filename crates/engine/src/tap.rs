//! A tap: what a capture sees of a worker's packets.
//!
//! It belongs to the worker while it is set and is called once a batch at two places. What it shows
//! to others it copies into memory of its own; it never blocks, and what has no place it counts as
//! missed.

use machine::clock::Ticks;
use packet::Batch;

/// Observer of the packets of one worker.
pub trait Tap: Send {
    /// Gets the frames of a batch as they were received.
    fn received(&mut self, batch: &Batch, now: Ticks);

    /// Gets the same batch after the function, each frame with its verdict, before the frames are
    /// sent.
    fn decided(&mut self, batch: &Batch, now: Ticks);

    /// Gets frames that the function generated, each with its verdict, before they are sent.
    fn made(&mut self, batch: &Batch, now: Ticks);
}
