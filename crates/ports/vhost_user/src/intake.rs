//! Where received frames go, on either side of a link: into a batch, counted.

use engine::QueueCounters;
use packet::{Batch, PortId};

use crate::drops::TOO_LONG;

/// A batch that receives frames of a port.
pub struct Intake<'a> {
    batch: &'a mut Batch,
    id: PortId,
    /// Counters of frames, including dropped ones.
    pub counters: &'a QueueCounters,
    frames: usize,
    bytes: usize,
}

impl<'a> Intake<'a> {
    /// Creates an intake without frames.
    pub fn new(batch: &'a mut Batch, id: PortId, counters: &'a QueueCounters) -> Intake<'a> {
        Intake { batch, id, counters, frames: 0, bytes: 0 }
    }

    /// Reserves room for a received frame; `None`, and a counted drop, for a frame that is too
    /// long.
    #[inline(always)]
    pub fn room(&mut self, len: usize, len_max: usize) -> Option<&mut [u8]> {
        let room = if len <= len_max { self.batch.append(self.id, len) } else { None };
        match room {
            Some(_) => {
                self.frames += 1;
                self.bytes += len;
            }
            None => self.counters.dropped(TOO_LONG, 1),
        }
        room
    }

    /// Updates the counters; returns the number of received frames.
    pub fn finish(self) -> usize {
        self.counters.received(self.frames, self.bytes);
        self.frames
    }
}
