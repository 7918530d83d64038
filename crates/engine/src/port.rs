//! A port: where frames enter and leave a worker.

use machine::clock::Ticks;
use packet::{Batch, Slot};

/// One end of a link. A port belongs to one worker; a full link counts and frees the frame.
pub trait Port: Send {
    /// Appends up to `limit` waiting frames to the batch and tells how many it appended.
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize;

    /// Sends these frames of the batch, in order, and tells how many the link took; it counts the
    /// others as lost.
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize;
}
