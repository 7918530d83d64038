//! Where received frames go, on either side of a link: into a batch, counted.

use engine::QueueCounters;
use packet::{Batch, PortId};

use crate::drops::TOO_LONG;

/// A batch that takes frames of a port.
pub struct Intake<'a> {
    batch: &'a mut Batch,
    id: PortId,
    /// Where it is told what was not taken.
    pub counters: &'a QueueCounters,
    frames: usize,
    bytes: usize,
}

impl<'a> Intake<'a> {
    /// Nothing taken yet.
    pub fn new(batch: &'a mut Batch, id: PortId, counters: &'a QueueCounters) -> Intake<'a> {
        Intake { batch, id, counters, frames: 0, bytes: 0 }
    }

    /// Room for a frame, which counts as received; none, and a drop, for one that is too long.
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

    /// Counts what was taken and tells how many frames that were.
    pub fn finish(self) -> usize {
        self.counters.received(self.frames, self.bytes);
        self.frames
    }
}
