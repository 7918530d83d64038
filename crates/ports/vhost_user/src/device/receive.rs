//! Frames that the driver wrote, into a batch.

use engine::{Intake, LONG_FRAME_BYTES_MAX, QueueCounters, Taken};
use offload::{Gso, HEADER_LEN, Header};
use packet::{Batch, PortId};

use super::{Ahead, DeviceRing};
use crate::drops::{BROKEN, Broken, OFFLOAD, TOO_MANY_PIECES, TOO_SHORT};
use crate::header::{ETHERNET_BYTES, lacks};
use crate::queue::{LOSSES, Source};

impl Source for DeviceRing {
    #[inline]
    fn receive(
        &mut self,
        (intake, batch): (&mut Intake, &mut Batch),
        id: PortId,
        limit: usize,
        counters: &QueueCounters,
    ) -> usize {
        let old = self.next;
        // What is thrown away counts, too: a flood of it must not keep the worker here.
        let mut rest = limit.min(batch.remaining());
        let (mut ahead, mut place, mut looked) = (Ahead::new(), 0, Ok(()));
        let frames = intake.round((batch, id), limit, (counters, LOSSES), |intake, batch| {
            if place == ahead.count {
                // Buffers before the broken one are whole.
                if looked.is_ok() && self.broken.is_none() && rest > 0 {
                    place = 0;
                    looked = self.look_ahead(rest, 0, &mut ahead);
                    rest -= ahead.count;
                }
                if place == ahead.count {
                    return None;
                }
            }
            let taken = self.take(&ahead, place, (intake, batch, id), counters);
            place += 1;
            match taken {
                Ok(taken) => Some(taken),
                Err(why) => {
                    (place, looked) = (ahead.count, Err(why));
                    None
                }
            }
        });
        if let Err(why) = looked
            && place == ahead.count
        {
            counters.dropped(BROKEN, 1);
            self.stop(why);
        }
        self.publish(old);
        frames
    }
}

/// Where a frame goes.
type Into<'a> = (&'a mut Intake, &'a mut Batch, PortId);

impl DeviceRing {
    /// Takes the frame of an examined buffer, which is used then.
    #[inline(always)]
    fn take(
        &mut self,
        ahead: &Ahead,
        place: usize,
        (intake, batch, id): Into<'_>,
        counters: &QueueCounters,
    ) -> Result<Taken, Broken> {
        let header = self.terms.header.bytes();
        let (head, host, len) = (ahead.head[place], ahead.host[place], ahead.len[place] as usize);
        let taken = if host.is_null() || len < header + ETHERNET_BYTES {
            self.take_slowly(head, (intake, batch, id), counters)?
        } else {
            // SAFETY: `look_ahead` found `len` bytes there, of which the header is the first.
            let lacks = unsafe { lacks(host) };
            let len = len - header;
            match self.judge(&lacks, len, counters) {
                Some(taken) => taken,
                None => intake.take_written((batch, id), len, &lacks, |room| {
                    // SAFETY: so many bytes are behind the header, and `room` is not shared.
                    unsafe {
                        let bytes = host.add(header).cast_const();
                        std::ptr::copy_nonoverlapping(bytes, room.as_mut_ptr(), room.len());
                    }
                }),
            }
        };
        self.put_used(head, 0);
        Ok(taken)
    }

    /// Returns what is counted for a frame that is not taken.
    #[inline(always)]
    fn judge(&self, lacks: &Header, len: usize, counters: &QueueCounters) -> Option<Taken> {
        let is_long = lacks.gso != Gso::None;
        let most = if is_long { LONG_FRAME_BYTES_MAX } else { self.terms.frame_bytes_max };
        if !self.terms.receives.permit(lacks) {
            counters.dropped(OFFLOAD, 1);
            return Some(Taken::default());
        }
        (len > most).then_some(Taken { too_long: 1, ..Taken::default() })
    }

    #[cold]
    fn take_slowly(
        &mut self,
        head: u16,
        (intake, batch, id): Into<'_>,
        counters: &QueueCounters,
    ) -> Result<Taken, Broken> {
        self.pieces.clear();
        let indirect = self.terms.indirect;
        let bytes = self.pieces.walk(&self.layout, &mut self.near, head, 0, indirect)?;
        let header = self.terms.header.bytes();
        let mut lacks = [0; HEADER_LEN];
        if bytes < header + ETHERNET_BYTES || !self.pieces.copy_out(0, &mut lacks) {
            counters.dropped(TOO_SHORT, 1);
            return Ok(Taken::default());
        }
        if self.pieces.overflown {
            counters.dropped(TOO_MANY_PIECES, 1);
            return Ok(Taken::default());
        }
        let (lacks, len) = (Header::parse(&lacks), bytes - header);
        if let Some(taken) = self.judge(&lacks, len, counters) {
            return Ok(taken);
        }
        let pieces = &self.pieces;
        Ok(intake.take_written((batch, id), len, &lacks, |room| {
            pieces.copy_out(header, room);
        }))
    }
}
