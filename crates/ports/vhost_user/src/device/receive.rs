//! Frames that the driver sends, into a batch.

use engine::QueueCounters;
use packet::{Batch, PortId};

use super::{Ahead, DeviceRing};
use crate::drops::{BROKEN, Broken, OFFLOAD, TOO_MANY_PIECES, TOO_SHORT};
use crate::header::{ETHERNET_BYTES, asks_for_offload};
use crate::intake::Intake;
use crate::queue::Source;

impl Source for DeviceRing {
    #[inline]
    fn receive(
        &mut self,
        batch: &mut Batch,
        id: PortId,
        limit: usize,
        counters: &QueueCounters,
    ) -> usize {
        if self.broken.is_some() {
            return 0;
        }
        let old = self.next;
        let limit = limit.min(batch.remaining());
        let mut into = Intake::new(batch, id, counters);
        let mut ahead = Ahead::new();
        // What is thrown away counts, too: a flood of it must not keep the worker here.
        let mut rest = limit;
        while rest > 0 {
            let looked = self.look_ahead(rest, 0, &mut ahead);
            rest -= ahead.count;
            // Buffers before the broken one are whole.
            let taken = self.take(&ahead, &mut into);
            if let Err(why) = taken.and(looked) {
                counters.dropped(BROKEN, 1);
                self.stop(why);
                break;
            }
            if ahead.count == 0 {
                break;
            }
        }
        let frames = into.finish();
        self.publish(old);
        frames
    }
}

impl DeviceRing {
    /// Copies the examined buffers into the batch; returns true when one of them broke the ring.
    #[inline(always)]
    fn take(&mut self, ahead: &Ahead, into: &mut Intake<'_>) -> Result<(), Broken> {
        let header = self.terms.header.bytes();
        for place in 0..ahead.count {
            let (head, host, len) =
                (ahead.head[place], ahead.host[place], ahead.len[place] as usize);
            if host.is_null() || len < header + ETHERNET_BYTES {
                self.take_slowly(head, into)?;
            } else {
                // SAFETY: `look_ahead` found `len` bytes there, of which the header is the first.
                let asked = unsafe { host.cast::<[u8; 2]>().read_volatile() };
                if asks_for_offload(asked) {
                    into.counters.dropped(OFFLOAD, 1);
                } else if let Some(room) = into.room(len - header, self.terms.frame_bytes_max) {
                    // SAFETY: `len` bytes are there, and the batch's memory is not shared.
                    unsafe {
                        let bytes = host.add(header).cast_const();
                        std::ptr::copy_nonoverlapping(bytes, room.as_mut_ptr(), room.len());
                    }
                }
            }
            self.put_used(head, 0);
        }
        Ok(())
    }

    #[cold]
    fn take_slowly(&mut self, head: u16, into: &mut Intake<'_>) -> Result<(), Broken> {
        self.pieces.clear();
        let indirect = self.terms.indirect;
        let bytes = self.pieces.walk(&self.layout, &mut self.near, head, 0, indirect)?;
        let header = self.terms.header.bytes();
        let mut asked = [0; 2];
        if bytes < header + ETHERNET_BYTES || !self.pieces.copy_out(0, &mut asked) {
            into.counters.dropped(TOO_SHORT, 1);
        } else if asks_for_offload(asked) {
            into.counters.dropped(OFFLOAD, 1);
        } else if self.pieces.overflown {
            into.counters.dropped(TOO_MANY_PIECES, 1);
        } else if let Some(room) = into.room(bytes - header, self.terms.frame_bytes_max) {
            self.pieces.copy_out(header, room);
        }
        Ok(())
    }
}
