//! Long segments: how they come in, and how they leave by a port that does not take them.
//!
//! ```text
//!                       whole, where the batch has room for such (packet::Room::long)
//! a port's frame, with what it lacks -- Intake --> batch --> function --> port that takes them
//!                       in pieces else                                '-> Cutting --> any other port
//! ```
//! Frames of TCP or UDP that follow each other in what a port has got at once are joined, where all
//! ports of the worker take long segments of the kind: what they are cut into again are the frames
//! that they were, but for the identification, which says nothing of packets that stay whole (RFC
//! 6864 section 4.1). No frame overtakes another of its connection: where sequence numbers do not
//! say what stands between two of them, whatever might ends what is joined.
//!
//! What a frame of the kernel lacks is a checksum that is only begun, and that it was cut. The
//! first is made good at once, so that no function meets it. A long segment is carried whole only
//! if no router may fragment it, all of its frames are within the room of a frame, and its headers
//! are nothing unusual; its checksum is written by whoever cuts it.

use std::io;

use machine::clock::Ticks;
use offload::{Gso, Header, Join, Kinds, Segments, begun, segments, whole};
use packet::{BATCH_MAX, Batch, Joins, Long, PortId, Room, Slot};

use crate::port::{Port, QueueCounters};

/// Takes frames that a port has received into a batch, whatever they lack. It holds a long segment
/// that is being cut, which may take several batches.
pub struct Intake {
    frame: Vec<u8>,
    rest: Option<Segments>,
    /// Frames of this time that others may follow.
    held: [Option<(Slot, Join)>; CONNECTIONS],
    /// Whose place the next connection has.
    next: usize,
    is_dry: bool,
}

/// What came of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Frames in the batch, a long one being one.
    pub frames: usize,
    /// Frames that were joined with others in the batch.
    pub joined: usize,
    /// Bytes of these.
    pub bytes: usize,
    /// Frames that are longer than the batch's room for one.
    pub too_long: u64,
    /// Frames that are not what is said of them.
    pub unfit: u64,
}

/// Places of reasons among those of a port ([`QueueCounters::dropped`]).
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    /// Of [`Taken::too_long`].
    pub too_long: usize,
    /// Of [`Taken::unfit`].
    pub unfit: usize,
}

impl Default for Intake {
    fn default() -> Intake {
        let frame = Vec::with_capacity(LONG_FRAME_BYTES_MAX);
        Intake { frame, rest: None, held: [None; CONNECTIONS], next: 0, is_dry: true }
    }
}

impl Intake {
    /// Takes what `next` hands on of a port's frames, until there are `limit` of them in the batch
    /// or no more, counts them and what was lost, and returns their number. `next` takes one
    /// ([`Intake::take`]), or returns `None` where none waits.
    #[inline]
    pub fn round(
        &mut self,
        (batch, port): (&mut Batch, PortId),
        limit: usize,
        (counters, losses): (&QueueCounters, Losses),
        mut next: impl FnMut(&mut Intake, &mut Batch) -> Option<Taken>,
    ) -> usize {
        let limit = limit.min(batch.remaining());
        let (mut count, mut joined, mut bytes, mut lost) = (0, 0, 0, 0);
        self.is_dry = false;
        while count + lost < limit && bytes < ROUND_BYTES {
            let taken = match self.is_idle() {
                true => match next(self, batch) {
                    Some(taken) => taken,
                    None => {
                        self.is_dry = true;
                        break;
                    }
                },
                false => self.go_on(batch, port, limit - count),
            };
            count += taken.frames;
            joined += taken.joined;
            bytes += taken.bytes;
            if taken.too_long + taken.unfit > 0 {
                counters.dropped(losses.too_long, taken.too_long);
                counters.dropped(losses.unfit, taken.unfit);
                lost += (taken.too_long + taken.unfit) as usize;
            }
        }
        self.end(batch);
        if count > 0 {
            counters.received(count + joined, bytes);
        }
        count
    }

    /// Takes a frame that came in parts, of which the header says what it lacks; a part of four
    /// bytes or none is a tag that is put back between the others. There must be room in the batch
    /// for a frame, and nothing left to do ([`Intake::is_idle`]).
    #[inline]
    pub fn take(
        &mut self,
        batch: &mut Batch,
        port: PortId,
        parts: [&[u8]; 3],
        header: &Header,
    ) -> Taken {
        let len = parts.iter().map(|part| part.len()).sum();
        // What has a tag is of no connection of what has none.
        if parts[1].is_empty() {
            match joining(batch, parts[0], header) {
                Joining::May => return self.take_joining((batch, port), parts[0], header),
                Joining::Parts => self.end_datagrams(batch),
                Joining::Beside => {}
            }
        }
        let start = header.checksum_start.saturating_add(parts[1].len() as u16);
        let header = Header { checksum_start: start, ..*header };
        self.take_filled((batch, port), len, &header, |room| fill(room, parts))
    }

    /// Takes a frame of this length as [`Intake::take`] does; `write` writes it where it goes.
    #[inline]
    pub fn take_written(
        &mut self,
        (batch, port): (&mut Batch, PortId),
        len: usize,
        header: &Header,
        write: impl FnOnce(&mut [u8]),
    ) -> Taken {
        let Joins { segments, datagrams, .. } = batch.joins();
        let is_one = header.gso == Gso::None && len <= batch.frame_room();
        if !is_one || !(segments || datagrams) {
            self.end_datagrams(batch);
            return self.take_filled((batch, port), len, header, write);
        }
        // Joined it is where it is known.
        let mut frame = std::mem::take(&mut self.frame);
        frame.resize(len, 0);
        write(&mut frame);
        let taken = self.take(batch, port, [&frame, &[], &[]], header);
        self.frame = frame;
        taken
    }

    #[inline]
    fn take_filled(
        &mut self,
        (batch, port): (&mut Batch, PortId),
        len: usize,
        header: &Header,
        write: impl FnOnce(&mut [u8]),
    ) -> Taken {
        if header.gso != Gso::None {
            return self.take_long((batch, port), len, header, write);
        }
        let Some(room) = batch.append(port, len) else {
            return Taken { too_long: 1, ..Taken::default() };
        };
        write(room);
        if !header.is_nothing() && segments(room, header).is_err() {
            batch.drop_last();
            return Taken { unfit: 1, ..Taken::default() };
        }
        Taken { frames: 1, bytes: len, ..Taken::default() }
    }

    /// Takes a frame, joined with the one before it of its connection if it follows that.
    fn take_joining(
        &mut self,
        (batch, port): (&mut Batch, PortId),
        frame: &[u8],
        header: &Header,
    ) -> Taken {
        let len = frame.len();
        let write = |room: &mut [u8]| room.copy_from_slice(frame);
        let taken = self.take_filled((batch, port), len, header, write);
        if taken.frames == 0 {
            return taken;
        }
        let last = (batch.len() - 1) as Slot;
        let Some(mut join) = Join::of(batch.frame(last)) else {
            self.end_datagrams(batch);
            return Taken { frames: 1, bytes: len, ..Taken::default() };
        };
        let place = self.held.iter().position(|held| {
            held.is_some_and(|(slot, of)| of.is_of(batch.frame(slot), (&join, batch.frame(last))))
        });
        if let Some((slot, of)) = place.and_then(|place| self.held[place].as_mut())
            && batch.join(*slot, |held, frame| of.take(held, (&mut join, frame)))
        {
            return Taken { joined: 1, bytes: len, ..Taken::default() };
        }
        if join.may_be_followed(batch.frame(last)) {
            let place = place.unwrap_or_else(|| {
                self.next = (self.next + 1) % CONNECTIONS;
                self.next
            });
            self.finish(batch, place);
            self.held[place] = Some((last, join));
        }
        Taken { frames: 1, bytes: len, ..Taken::default() }
    }

    /// Makes long segments of the frames that were joined: a port has no more for now.
    #[inline]
    pub fn end(&mut self, batch: &mut Batch) {
        (0..CONNECTIONS).for_each(|place| self.finish(batch, place));
    }

    /// The same for datagrams alone: one comes that is not joined, and whose place behind those
    /// that came before it no sequence number tells.
    fn end_datagrams(&mut self, batch: &mut Batch) {
        for place in 0..CONNECTIONS {
            if self.held[place].is_some_and(|(_, join)| !join.is_tcp()) {
                self.finish(batch, place);
            }
        }
    }

    fn finish(&mut self, batch: &mut Batch, place: usize) {
        let Some((slot, join)) = self.held[place].take() else { return };
        if let Some(long) = join.finish(batch.frame_mut(slot)) {
            batch.set_long(slot, Long::new(long, join.segment_len()));
        }
    }

    fn take_long(
        &mut self,
        (batch, port): (&mut Batch, PortId),
        len: usize,
        header: &Header,
        write: impl FnOnce(&mut [u8]),
    ) -> Taken {
        if len > LONG_FRAME_BYTES_MAX {
            return Taken { too_long: 1, ..Taken::default() };
        }
        self.frame.clear();
        match batch.append_open(port, len) {
            Some(room) => {
                write(room);
                if let Some(payload_len) = whole(room, header)
                    && let Some(long) = Long::new(payload_len, header.segment_len)
                    && batch.settle(long)
                {
                    return Taken { frames: 1, bytes: len, ..Taken::default() };
                }
                self.frame.extend_from_slice(batch.frame((batch.len() - 1) as Slot));
                batch.drop_last();
            }
            None => {
                self.frame.resize(len, 0);
                write(&mut self.frame);
            }
        }
        match segments(&mut self.frame, header) {
            Ok(rest) => {
                self.rest = Some(rest);
                self.go_on(batch, port, 1)
            }
            Err(_) => Taken { unfit: 1, ..Taken::default() },
        }
    }

    /// Whether the last round took all that there was.
    pub fn is_dry(&self) -> bool {
        self.is_dry
    }

    /// Whether there is nothing left of a long segment.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.rest.is_none()
    }

    /// Appends up to `limit` frames of what is left of a long segment.
    pub fn go_on(&mut self, batch: &mut Batch, port: PortId, limit: usize) -> Taken {
        let mut taken = Taken::default();
        while taken.frames < limit && batch.remaining() > 0 {
            let Some(rest) = &mut self.rest else { return taken };
            let Some([head, payload]) = rest.next_frame(&self.frame) else {
                self.rest = None;
                return taken;
            };
            let len = head.len() + payload.len();
            match batch.append(port, len) {
                Some(room) => {
                    fill(room, [head, payload, &[]]);
                    taken.frames += 1;
                    taken.bytes += len;
                }
                None => taken.too_long += 1,
            }
            if rest.is_done() {
                self.rest = None;
            }
        }
        taken
    }
}

/// What a frame without tag means for those that are joined.
enum Joining {
    /// It may be joined, too.
    May,
    /// It may be of the connection of datagrams that are, and stands behind them.
    Parts,
    /// Nothing.
    Beside,
}

/// What a frame means for those that are joined, as far as its first bytes tell.
#[inline(always)]
fn joining(batch: &Batch, frame: &[u8], header: &Header) -> Joining {
    let joins = batch.joins();
    if !joins.segments && !joins.datagrams {
        return Joining::Beside;
    }
    let Some(head) = frame.first_chunk::<24>() else { return Joining::Beside };
    let (protocol, ports) = match [head[12], head[13]] {
        [0x08, 0x00] => (head[23], 34),
        [0x86, 0xdd] => (head[20], 54),
        _ => return Joining::Beside,
    };
    let is_one = header.gso == Gso::None;
    match protocol {
        TCP if is_one && joins.segments => Joining::May,
        TCP | ICMP | ICMPV6 => Joining::Beside,
        UDP if is_one && joins.datagrams => match frame.get(ports + 2..ports + 4) {
            Some(&[high, low]) if joins.except.contains(&u16::from_be_bytes([high, low])) => {
                Joining::Beside
            }
            Some(_) => Joining::May,
            None => Joining::Parts,
        },
        // Extension headers of IPv6 may stand before anything.
        _ => Joining::Parts,
    }
}

fn fill(room: &mut [u8], parts: [&[u8]; 3]) {
    let mut rest = room;
    for part in parts {
        let (place, behind) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = behind;
    }
}

/// Why a frame does not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// It is, or its frames are, longer than what the link takes.
    TooLong,
    /// Nothing can be made of it.
    Unfit,
}

/// The header that says of a long segment into what it is to be cut, where it leaves whole over a
/// link that takes frames of this many bytes; its checksum is begun. Any other frame lacks nothing.
///
/// # Errors
/// Why it must not leave.
#[inline]
pub fn announced(batch: &mut Batch, slot: Slot, frame_bytes_max: usize) -> Result<Header, Unsent> {
    if batch.longest(slot) > frame_bytes_max {
        return Err(Unsent::TooLong);
    }
    let Some(long) = batch.long(slot) else { return Ok(Header::default()) };
    begun(batch.frame_mut(slot), long.piece_len() as u16).map_err(|_| Unsent::Unfit)
}

/// Sends batches with long segments by ports that do not take them.
pub(crate) struct Cutting {
    pieces: Batch,
}

/// Hands on the pieces of a long segment, each in two parts; nothing where it is none.
#[cold]
pub(crate) fn pieces(frame: &[u8], long: Long, mut to: impl FnMut([&[u8]; 2])) {
    if let Ok(mut segments) = Segments::of(frame, long.piece_len()) {
        while let Some(parts) = segments.next_frame(frame) {
            to(parts);
        }
    }
}

/// What became of the frames of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Accepted; a long segment if all of its pieces were.
    pub accepted: usize,
    /// Long segments of which nothing could be made.
    pub unfit: usize,
}

impl Cutting {
    /// For frames of a worker with this room.
    ///
    /// # Errors
    /// When there is no memory.
    pub(crate) fn new(room: Room) -> io::Result<Cutting> {
        // A function may have added headers.
        let room = Room { headroom: 0, frame: room.headroom + room.frame, long: 0 };
        Ok(Cutting { pieces: Batch::new(BATCH_MAX, room)? })
    }

    /// Sends frames in their order, long ones that are of none of these kinds in pieces.
    #[cold]
    pub(crate) fn transmit(
        &mut self,
        (port, kinds): (&mut dyn Port, Kinds),
        batch: &mut Batch,
        slots: &[Slot],
        now: Ticks,
    ) -> Sent {
        let (mut rest, mut sent) = (slots, Sent::default());
        while !rest.is_empty() {
            let passes = |slot: &&Slot| {
                batch.long(**slot).is_none() || kinds.have_frame(batch.frame(**slot))
            };
            let passing = rest.iter().take_while(passes).count();
            let (before, from) = rest.split_at(passing);
            if !before.is_empty() {
                sent.accepted += port.transmit(batch, before, now);
            }
            rest = from;
            let Some((&slot, behind)) = rest.split_first() else { return sent };
            match self.cut(port, batch, slot, now) {
                Some(is_accepted) => sent.accepted += usize::from(is_accepted),
                None => sent.unfit += 1,
            }
            rest = behind;
        }
        sent
    }

    /// Whether a port has accepted all pieces of a long segment; `None` if it is none.
    fn cut(&mut self, port: &mut dyn Port, batch: &Batch, slot: Slot, now: Ticks) -> Option<bool> {
        let (long, frame) = (batch.long(slot)?, batch.frame(slot));
        let mut segments = Segments::of(frame, long.piece_len()).ok()?;
        let mut is_accepted = true;
        while !segments.is_done() {
            self.pieces.clear();
            while self.pieces.remaining() > 0
                && let Some([head, payload]) = segments.next_frame(frame)
            {
                let len = head.len() + payload.len();
                fill(self.pieces.append(batch.port(slot), len)?, [head, payload, &[]]);
            }
            let slots: [Slot; BATCH_MAX] = std::array::from_fn(|at| at as Slot);
            let count = self.pieces.len();
            is_accepted &= port.transmit(&mut self.pieces, &slots[..count], now) == count;
        }
        Some(is_accepted)
    }
}

/// Connections whose frames are joined at a time.
const CONNECTIONS: usize = 4;
/// Bytes after which a round ends: long segments are to be sent while a cache still has them.
const ROUND_BYTES: usize = 512 << 10;
/// The protocols' numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Longest frame that is cut, in bytes: the longest packet of IPv4, and what may stand before it.
pub const LONG_FRAME_BYTES_MAX: usize = 65_535 + 64;

#[cfg(test)]
mod tests;
