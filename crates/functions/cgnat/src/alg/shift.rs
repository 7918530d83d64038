//! Sequence numbers of a TCP session whose payloads change their length on the way.
//!
//! For each direction it is known where the sender's text was replaced by a text of another length,
//! so that sequence numbers of what follows, and what the receiver acknowledges (RFC 9293, RFC
//! 2018), are told in the numbers of whom they are for. Guaranteed, whatever is lost, repeated, cut
//! differently or comes out of order:
//! - the receiver never sees two different bytes at one sequence number;
//! - the sender never has a byte acknowledged that the receiver lacks;
//! - nothing stands still: what cannot be passed now is answered by the receiver, and so sent
//!   again.
//!
//! A replaced message is known while it may be sent again. Its first bytes alone cannot be passed,
//! since where they end in the new text nobody can tell: a sender that makes its segments smaller
//! in the middle of one has to send it whole. Segments that come with new replacements while
//! [`SLOTS`] others are not acknowledged wait for that.
//!
//! Not for a stream of which more than 2^30 bytes are on the way (RFC 7323 section 2.3 allows
//! none).

use super::{Edited, List, Side, UNITS_MAX};

/// Both directions of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shifts {
    from_inside: Stream,
    from_outside: Stream,
}

/// How a segment passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Its sequence number as the receiver knows it.
    pub seq: u32,
    /// Whether the new payload goes, or the old one.
    pub is_edited: bool,
    /// How many bytes of it, from the first on.
    pub len: usize,
    /// How many bytes of the old payload the new one stands for, as far as it passes.
    pub taken: usize,
    /// Whether that is all. If not, a FIN must not go with it; the sender will send the rest again.
    pub is_whole: bool,
}

impl PartialEq for Shifts {
    fn eq(&self, other: &Shifts) -> bool {
        [Side::Inside, Side::Outside].iter().all(|&from| self.numbers(from) == other.numbers(from))
    }
}

impl Shifts {
    /// A segment with so many bytes of payload, and what of them a gateway would replace.
    pub fn segment(
        &mut self,
        from: Side,
        seq: u32,
        len: usize,
        edited: &List<Edited, UNITS_MAX>,
    ) -> Passing {
        self.stream(from).pass(seq, len as u32, edited)
    }

    /// What a segment from a side acknowledges, in the numbers of the other.
    pub fn ack(&mut self, from: Side, ack: u32) -> u32 {
        self.stream(from.other()).acknowledge(ack)
    }

    /// Tells the blocks of a selective acknowledgement (RFC 2018 section 3), pairs of sequence
    /// numbers behind kind and length, in the numbers of the other side. False where the option
    /// must be overwritten by no-operations, because nothing is left of a block.
    #[must_use]
    pub fn sack(&mut self, from: Side, blocks: &mut [u8]) -> bool {
        let stream = self.stream(from.other());
        let (blocks, rest) = blocks.as_chunks_mut::<8>();
        blocks.iter_mut().all(|block| stream.acknowledge_block(block)) && rest.is_empty()
    }

    /// What is known of the stream from a side; none before it has begun.
    pub fn numbers(&self, from: Side) -> Option<Numbers> {
        let stream = match from {
            Side::Inside => &self.from_inside,
            Side::Outside => &self.from_outside,
        };
        let Stream { has_begun, next, acked, oldest, base, replaced } = *stream;
        let mut numbers = Numbers { next, acked, oldest, base, ..Numbers::default() };
        for (place, known) in numbers.replaced.iter_mut().zip(replaced.iter()) {
            *place = known;
            numbers.count += 1;
        }
        has_begun.then_some(numbers)
    }

    /// Goes on with a stream where another NAT was.
    pub fn go_on(&mut self, from: Side, numbers: Option<&Numbers>) {
        *self.stream(from) = numbers.map_or(Stream::default(), Stream::new);
    }

    fn stream(&mut self, from: Side) -> &mut Stream {
        match from {
            Side::Inside => &mut self.from_inside,
            Side::Outside => &mut self.from_outside,
        }
    }
}

impl Side {
    /// The side across.
    pub fn other(self) -> Side {
        match self {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        }
    }
}

/// What is known of a stream, as one NAT tells it another. Whatever it says, segments stay within
/// their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Behind all that was passed.
    pub next: u32,
    /// Behind all that the receiver acknowledged.
    pub acked: u32,
    /// Before it nothing is known any more.
    pub oldest: u32,
    /// What is added to a sequence number before all replacements that are known.
    pub base: u32,
    /// Those, in the order of the stream; zeros behind the last one.
    pub replaced: [Replaced; SLOTS],
    /// How many there are.
    pub count: u8,
}

/// One direction. Places are sequence numbers as the sender counts, unless they are called new.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    has_begun: bool,
    /// Behind all that was passed.
    next: u32,
    /// Behind all that the receiver acknowledged.
    acked: u32,
    /// Before it nothing is known any more.
    oldest: u32,
    /// What is added to a sequence number before all replacements that are known.
    base: u32,
    /// In the order of the stream.
    replaced: List<Replaced, SLOTS>,
}

/// A text in the place of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// Where it begins.
    pub at: u32,
    /// Its length in bytes.
    pub old_len: u16,
    /// That of the other one.
    pub new_len: u16,
}

impl Replaced {
    fn end(&self) -> u32 {
        self.at.wrapping_add(self.old_len.into())
    }

    fn growth(&self) -> u32 {
        u32::from(self.new_len).wrapping_sub(self.old_len.into())
    }

    /// Whether a part of it lies in what begins and ends so.
    fn meets(&self, start: u32, end: u32) -> bool {
        before(self.at, end) && before(start, self.end())
    }
}

/// Up to where a segment may pass, from its first byte on, and why not further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    len: u32,
    /// Whether the message there passed before as it was, and so must again.
    is_late: bool,
}

impl Stream {
    fn new(numbers: &Numbers) -> Stream {
        let Numbers { next, acked, oldest, base, .. } = *numbers;
        let known = numbers.replaced.iter().take(usize::from(numbers.count));
        let mut stream = Stream { has_begun: true, next, acked, oldest, base, ..Stream::default() };
        known.for_each(|known| stream.remember(*known));
        stream
    }

    fn pass(&mut self, seq: u32, len: u32, edited: &List<Edited, UNITS_MAX>) -> Passing {
        if !self.has_begun {
            let oldest = seq.wrapping_sub(WINDOW);
            *self = Stream { has_begun: true, next: seq, acked: seq, oldest, ..Stream::default() };
        }
        self.forget_what_is_far();
        if before(seq, self.oldest) {
            return self.probe(self.oldest);
        }
        let limit = self.limit(seq, len, edited);
        if len == 0 || limit.len > 0 {
            return self.pass_edited(seq, len, limit.len, edited);
        }
        if !limit.is_late {
            return self.probe(seq);
        }
        // Unchanged, up to the next message or to one that passed replaced.
        let following = edited.iter().nth(1).map_or(len, |unit| unit.at.into());
        let raw = following.min(self.first_met(seq, len, |_| true));
        if raw == 0 {
            return self.probe(seq);
        }
        self.advance(seq.wrapping_add(raw));
        let seq = self.new_place(seq);
        Passing { seq, is_edited: false, len: raw as usize, taken: 0, is_whole: raw == len }
    }

    fn pass_edited(
        &mut self,
        seq: u32,
        len: u32,
        limit: u32,
        edited: &List<Edited, UNITS_MAX>,
    ) -> Passing {
        let mut new_len = limit;
        let mut is_edited = false;
        for unit in edited.iter().filter(|unit| u32::from(unit.at) < limit) {
            let replaced = replaced(seq, unit);
            new_len = new_len.wrapping_add(replaced.growth());
            is_edited = true;
            if !self.replaced.iter().any(|known| known == replaced) {
                self.remember(replaced);
            }
        }
        self.advance(seq.wrapping_add(limit));
        let (is_whole, taken) = (limit == len, limit as usize);
        Passing { seq: self.new_place(seq), is_edited, len: new_len as usize, taken, is_whole }
    }

    /// Up to where the new payload is what must pass: every message in it that is replaced was so
    /// before or is new, and every one that was replaced before is so again.
    fn limit(&self, seq: u32, len: u32, edited: &List<Edited, UNITS_MAX>) -> Limit {
        let mut limit = Limit { len, is_late: false };
        let mut room = SLOTS - self.replaced.len();
        // What is acknowledged may be forgotten, but not while a segment begins before it.
        let is_over = |one: &Replaced| !before(self.acked, one.end()) && !before(seq, one.end());
        room += self.replaced.iter().take_while(is_over).count();
        for unit in edited.iter() {
            let replaced = replaced(seq, unit);
            if self.replaced.iter().any(|known| known == replaced) {
                continue;
            }
            let is_late = before(replaced.at, self.next);
            if is_late || room == 0 {
                limit = Limit { len: unit.at.into(), is_late };
                break;
            }
            room -= 1;
        }
        let is_same = |known: Replaced| edited.iter().any(|unit| replaced(seq, unit) == known);
        let torn = self.first_met(seq, len, |known| !is_same(known));
        if torn < limit.len { Limit { len: torn, is_late: false } } else { limit }
    }

    /// How many bytes of a segment lie before the first known replacement that it meets.
    fn first_met(&self, seq: u32, len: u32, judged: impl Fn(Replaced) -> bool) -> u32 {
        let end = seq.wrapping_add(len);
        let met = self.replaced.iter().find(|known| known.meets(seq, end) && judged(*known));
        met.map_or(len, |known| if before(seq, known.at) { known.at.wrapping_sub(seq) } else { 0 })
    }

    /// A segment that the receiver has already, without a byte: it answers with what it has (RFC
    /// 9293 section 3.10.7.4).
    fn probe(&self, place: u32) -> Passing {
        let seq = self.new_place(place).wrapping_sub(1);
        Passing { seq, is_edited: false, len: 0, taken: 0, is_whole: false }
    }

    /// A place in the numbers of the receiver; within a replaced text, where that begins.
    fn new_place(&self, place: u32) -> u32 {
        let mut added = self.base;
        for known in self.replaced.iter() {
            if before(place, known.end()) {
                let place = if before(known.at, place) { known.at } else { place };
                return place.wrapping_add(added);
            }
            added = added.wrapping_add(known.growth());
        }
        place.wrapping_add(added)
    }

    /// A place of the receiver in the numbers of the sender, and where the replaced text ends in
    /// which it lies, if it does; it is then where that begins.
    fn old_place(&self, new: u32) -> (u32, Option<u32>) {
        let mut added = self.base;
        for known in self.replaced.iter() {
            let at = known.at.wrapping_add(added);
            if !before(at, new) {
                break;
            }
            if before(new, at.wrapping_add(known.new_len.into())) {
                return (known.at, Some(known.end()));
            }
            added = added.wrapping_add(known.growth());
        }
        let old = new.wrapping_sub(added);
        // What is older was acknowledged before.
        (if before(old, self.oldest) { self.oldest } else { old }, None)
    }

    fn acknowledge(&mut self, new: u32) -> u32 {
        if !self.has_begun {
            return new;
        }
        let (old, _) = self.old_place(new);
        if before(self.acked, old) && !before(self.next, old) {
            self.acked = old;
        }
        old
    }

    /// False where nothing is left of the block.
    fn acknowledge_block(&self, block: &mut [u8; 8]) -> bool {
        if !self.has_begun {
            return true;
        }
        let [left, right] = [0, 4]
            .map(|at| u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]));
        let left = match self.old_place(left) {
            (_, Some(end)) => end,
            (place, None) => place,
        };
        let (right, _) = self.old_place(right);
        block[..4].copy_from_slice(&left.to_be_bytes());
        block[4..].copy_from_slice(&right.to_be_bytes());
        before(left, right)
    }

    fn advance(&mut self, end: u32) {
        if before(self.next, end) {
            self.next = end;
        }
    }

    /// There is room, or the oldest is acknowledged.
    fn remember(&mut self, replaced: Replaced) {
        if self.replaced.len() == SLOTS {
            self.forget();
        }
        let remembered = self.replaced.push(replaced);
        debug_assert!(remembered.is_some(), "the limit is where there is no room");
    }

    /// The oldest replacement.
    fn forget(&mut self) {
        if let Some(gone) = self.replaced.shift() {
            self.base = self.base.wrapping_add(gone.growth());
            self.oldest = gone.end();
        }
    }

    /// What lies so far back that sequence numbers would mean what is ahead.
    fn forget_what_is_far(&mut self) {
        let far = self.next.wrapping_sub(WINDOW);
        while self.replaced.iter().next().is_some_and(|one| before(one.end(), far)) {
            self.forget();
        }
        if before(self.oldest, far) {
            self.oldest = far;
        }
    }
}

/// What a gateway replaces in a segment, by its place in the stream.
fn replaced(seq: u32, unit: Edited) -> Replaced {
    let at = seq.wrapping_add(unit.at.into());
    Replaced { at, old_len: unit.old_len, new_len: unit.new_len }
}

/// Whether a sequence number lies before another (RFC 9293 section 3.4).
fn before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

/// Replacements that are known at a time, in each direction.
pub const SLOTS: usize = 4;

/// Bytes of a stream that can be on the way (RFC 7323 section 2.3).
const WINDOW: u32 = 1 << 30;
