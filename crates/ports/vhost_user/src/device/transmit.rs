//! Frames of a batch, into the buffers that the driver offers.

use engine::{Kinds, QueueCounters, Unsent, announced};
use offload::Header;
use packet::{Batch, Slot};

use super::{Ahead, DeviceRing};
use crate::drops::{Broken, RING_FULL, TRANSMIT_BROKEN, TRANSMIT_SEGMENTS, TRANSMIT_TOO_LONG};
use crate::layout::WRITE;
use crate::queue::Sink;
use crate::walk::PIECES_MAX;

/// Counts of the frames of a burst.
#[derive(Default)]
struct Tally {
    sent: usize,
    bytes: usize,
    full: usize,
    too_long: usize,
    unfit: usize,
}

/// Result of a frame on the slow path.
enum Slow {
    Sent,
    Full,
    TooLong,
    Unfit,
}

impl Sink for DeviceRing {
    #[inline]
    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], counters: &QueueCounters) -> usize {
        if self.broken.is_some() {
            counters.dropped(TRANSMIT_BROKEN, slots.len() as u64);
            return 0;
        }
        let old = self.next;
        let mut tally = Tally::default();
        let filled = self.fill_all(batch, slots, &mut tally);
        let Tally { sent, bytes, full, too_long, unfit } = tally;
        let refused = full + too_long + unfit;
        if let Err(why) = filled {
            counters.dropped(TRANSMIT_BROKEN, (slots.len() - sent - refused) as u64);
            self.stop(why);
        }
        counters.sent(sent, bytes);
        if refused > 0 {
            counters.dropped(RING_FULL, full as u64);
            counters.dropped(TRANSMIT_TOO_LONG, too_long as u64);
            counters.dropped(TRANSMIT_SEGMENTS, unfit as u64);
        }
        self.publish(old);
        sent
    }

    fn takes_long(&self) -> Kinds {
        self.terms.sends.kinds
    }
}

impl DeviceRing {
    /// Writes frames into the examined buffers as long as each fits into one and lacks nothing;
    /// returns their number.
    #[inline(always)]
    fn fill(&mut self, ahead: &Ahead, batch: &Batch, slots: &[Slot], tally: &mut Tally) -> usize {
        let (header, len_max) = (self.terms.header, self.terms.frame_bytes_max);
        let mut count = 0;
        for (place, &slot) in slots.iter().take(ahead.count).enumerate() {
            let (head, host) = (ahead.head[place], ahead.host[place]);
            let frame = batch.frame(slot);
            let len = header.bytes() + frame.len();
            if batch.long(slot).is_some() {
                break;
            }
            if host.is_null() || (ahead.len[place] as usize) < len || frame.len() > len_max {
                break;
            }
            // SAFETY: `look_ahead` found room for `ahead.len` bytes, and the frame is not shared.
            unsafe {
                header.write(host);
                let bytes = host.add(header.bytes());
                std::ptr::copy_nonoverlapping(frame.as_ptr(), bytes, frame.len());
            }
            tally.bytes += frame.len();
            self.put_used(head, len);
            count += 1;
        }
        tally.sent += count;
        count
    }

    /// Writes a frame into a chain, or into several buffers if that was negotiated.
    #[cold]
    fn fill_slowly(&mut self, batch: &mut Batch, slot: Slot) -> Result<Slow, Broken> {
        let lacks = match announced(batch, slot, self.terms.frame_bytes_max) {
            Ok(lacks) if self.terms.sends.permit(&lacks) => lacks,
            Ok(_) | Err(Unsent::Unfit) => return Ok(Slow::Unfit),
            Err(Unsent::TooLong) => return Ok(Slow::TooLong),
        };
        self.fill_chains(batch.frame(slot), &lacks)
    }

    fn fill_chains(&mut self, frame: &[u8], lacks: &Header) -> Result<Slow, Broken> {
        let header = self.terms.header;
        let wanted = header.bytes() + frame.len();
        let most = if header.is_mergeable() { BUFFERS_MAX } else { 1 };
        let mut used = [(0, 0); BUFFERS_MAX];
        let (mut count, mut room) = (0, 0);
        self.pieces.clear();
        while room < wanted {
            if count == most {
                return Ok(Slow::TooLong);
            }
            if self.waiting(count + 1)? <= count {
                return Ok(Slow::Full);
            }
            let head = self.layout.available(self.next.wrapping_add(count as u16));
            if head >= self.layout.size() {
                return Err(Broken::Head);
            }
            let indirect = self.terms.indirect;
            let bytes = self.pieces.walk(&self.layout, &mut self.near, head, WRITE, indirect)?;
            if bytes == 0 || count == 0 && bytes < header.bytes() {
                return Err(Broken::Kind);
            }
            used[count] = (head, bytes.min(wanted - room));
            room += bytes;
            count += 1;
        }
        if !self.pieces.copy_in(0, &header.encode(lacks, count as u16)[..header.bytes()])
            || !self.pieces.copy_in(header.bytes(), frame)
        {
            return Ok(Slow::TooLong);
        }
        for &(head, written) in &used[..count] {
            self.put_used(head, written);
        }
        Ok(Slow::Sent)
    }

    fn fill_all(
        &mut self,
        batch: &mut Batch,
        slots: &[Slot],
        tally: &mut Tally,
    ) -> Result<(), Broken> {
        let mut ahead = Ahead::new();
        let mut rest = slots;
        while !rest.is_empty() {
            self.look_ahead(rest.len(), WRITE, &mut ahead)?;
            if ahead.count == 0 {
                tally.full += rest.len();
                break;
            }
            let count = self.fill(&ahead, batch, rest, tally);
            rest = &rest[count..];
            if count < ahead.count
                && let [slot, others @ ..] = rest
            {
                match self.fill_slowly(batch, *slot)? {
                    Slow::Sent => {
                        tally.sent += 1;
                        tally.bytes += batch.frame_len(*slot);
                    }
                    Slow::Full => tally.full += 1,
                    Slow::TooLong => tally.too_long += 1,
                    Slow::Unfit => tally.unfit += 1,
                }
                rest = others;
            }
        }
        Ok(())
    }
}

/// Largest number of buffers of a frame.
const BUFFERS_MAX: usize = PIECES_MAX;
