//! A stream of encoded UPDATEs that many peers read, each from its own place. It exists once,
//! however many read it.
//!
//! ```text
//!  chunk 7 [ UPDATE for all | UPDATE for all but peer 3 | UPDATE for peer 3 alone ] chunk 8 [ ...
//!                 ^ peer 1                                                             ^ peer 2
//! ```

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use protocol_kit::Bytes;

use crate::table::Targets;

/// A piece of a stream.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its number among those of all streams of a family, in the order of the states that they
    /// tell.
    pub number: u64,
    /// Where whoever has all before it goes on without the stream: a place in the log of changes,
    /// or the number of a route.
    pub mark: u64,
    /// Whole messages.
    pub bytes: Bytes,
    /// For whom they are: each part goes from the end of the one before to its own.
    parts: Vec<Part>,
    /// Bytes that its stream had before it.
    before: u64,
}

/// Consecutive messages for the same readers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    end: u32,
    readers: Readers,
    /// `None` for [`Told::Anything`]: there are many of those.
    told: Option<Arc<Told>>,
}

/// What a part tells, where peers are told by route targets (RFC 4684).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// What targets are no matter of.
    Anything,
    /// Routes with these targets.
    Routes(Targets),
    /// The same for those who have begun to ask for these targets.
    Again(Targets),
    /// That routes are gone which may be known by the first targets, from whoever does not ask for
    /// them by the second ones, which they have now; `None` where there is no route for anybody.
    Gone(Targets, Option<Targets>),
}

/// Who reads a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readers {
    /// Every one.
    All,
    /// Every one but the peer that has told it.
    AllBut(u16),
    /// One peer alone.
    Only(u16),
}

/// A chunk that is being written.
#[derive(Debug, Default)]
pub struct Draft {
    /// The messages so far.
    pub bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// Chunks in a row.
#[derive(Debug, Default)]
pub struct Stream {
    chunks: VecDeque<Chunk>,
    /// How many were there before the first one that is kept.
    first: u64,
    /// Bytes of those that are kept.
    len: usize,
    /// Bytes of all that there were.
    total: u64,
}

impl Readers {
    /// Whether a peer is one of them.
    #[inline]
    pub fn has(self, peer: u16) -> bool {
        match self {
            Readers::All => true,
            Readers::AllBut(teller) => teller != peer,
            Readers::Only(only) => only == peer,
        }
    }
}

impl Draft {
    /// Ends a part: what was written since the last one is for these readers, and tells this.
    pub fn end_part(&mut self, readers: Readers, told: &Told) {
        let end = self.bytes.len() as u32;
        let marked = Some(told).filter(|told| **told != Told::Anything);
        let is_same = |last: &Part| last.readers == readers && last.told.as_deref() == marked;
        match self.parts.last_mut() {
            Some(last) if last.end == end => {}
            Some(last) if is_same(last) => last.end = end,
            None if end == 0 => {}
            _ => {
                let told = marked.map(|told| Arc::new(told.clone()));
                self.parts.push(Part { end, readers, told });
            }
        }
    }

    /// Makes a chunk of what was written, which begins anew; `None` where nothing was.
    pub fn finish(&mut self, number: u64, mark: u64) -> Option<Chunk> {
        if self.bytes.is_empty() {
            return None;
        }
        debug_assert_eq!(self.parts.last().map(|part| part.end as usize), Some(self.bytes.len()));
        let chunk = Chunk {
            number,
            mark,
            bytes: Bytes::copy_from_slice(&self.bytes),
            parts: self.parts.clone(),
            before: 0,
        };
        self.bytes.clear();
        self.parts.clear();
        Some(chunk)
    }
}

impl Chunk {
    /// Returns the next bytes for a peer that has all before `from` and takes what is told so;
    /// `None` behind the last ones.
    pub fn next(&self, peer: u16, from: u32, takes: impl Fn(&Told) -> bool) -> Option<Range<u32>> {
        let mut place = self.parts.partition_point(|part| part.end <= from);
        let mut start = from;
        let told = |part: &Part| part.told.as_deref().is_none_or(&takes);
        let is_for = |part: &Part| part.readers.has(peer) && told(part);
        while let Some(part) = self.parts.get(place) {
            if is_for(part) {
                let more = self.parts[place + 1..].iter().take_while(|part| is_for(part));
                return Some(start..more.last().unwrap_or(part).end);
            }
            start = part.end;
            place += 1;
        }
        None
    }
}

impl Stream {
    /// Adds a chunk.
    pub fn push(&mut self, mut chunk: Chunk) {
        chunk.before = self.total;
        self.total += chunk.bytes.len() as u64;
        self.len += chunk.bytes.len();
        self.chunks.push_back(chunk);
    }

    /// Returns the place behind the last chunk.
    pub fn end(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    /// Returns the place of the first chunk that is kept.
    pub fn start(&self) -> u64 {
        self.first
    }

    /// Returns the chunk at a place; `None` where it is not kept, or not there yet.
    pub fn get(&self, place: u64) -> Option<&Chunk> {
        self.chunks.get(usize::try_from(place.checked_sub(self.first)?).ok()?)
    }

    /// Returns the bytes from a place on, if they are kept.
    pub fn behind(&self, place: u64) -> u64 {
        self.get(place).map_or(0, |chunk| self.total - chunk.before)
    }

    /// Returns the bytes of the chunks that are kept.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no chunk is kept.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Forgets the chunks before a place.
    pub fn forget_before(&mut self, place: u64) {
        while self.first < place && self.forget_first() {}
    }

    /// Forgets the first chunk. Returns false if there is none.
    pub fn forget_first(&mut self) -> bool {
        let Some(chunk) = self.chunks.pop_front() else { return false };
        self.len -= chunk.bytes.len();
        self.first += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_skips_what_is_not_its_own() {
        let mut draft = Draft::default();
        for (text, readers) in [
            ("one", Readers::All),
            ("two", Readers::AllBut(3)),
            ("three", Readers::AllBut(3)),
            ("four", Readers::Only(3)),
            ("five", Readers::All),
        ] {
            draft.bytes.extend(text.bytes());
            draft.end_part(readers, &Told::Anything);
        }
        let chunk = draft.finish(7, 0).expect("something was written");
        assert!(draft.finish(8, 0).is_none());
        let read = |peer| {
            let (mut text, mut from) = (String::new(), 0);
            while let Some(range) = chunk.next(peer, from, |_| true) {
                from = range.end;
                text.push_str(
                    std::str::from_utf8(&chunk.bytes[range.start as usize..range.end as usize])
                        .expect("text"),
                );
                text.push(' ');
            }
            text
        };
        assert_eq!(read(1), "onetwothree five ");
        assert_eq!(read(3), "one fourfive ");
        assert_eq!(chunk.next(3, 1, |_| true), Some(1..3), "from within a part");
        assert_eq!(chunk.parts.len(), 4, "parts for the same readers are one");
    }

    /// - `route-reflector`, RFC 4684 section 6: parts are skipped by their place
    #[test]
    fn a_reader_skips_what_it_does_not_ask_for() {
        let set = |target: u64| Targets(Some([target].as_slice().into()));
        let mut draft = Draft::default();
        for (text, target) in [("one", 1), ("two", 2), ("three", 2), ("four", 3)] {
            draft.bytes.extend(text.bytes());
            draft.end_part(Readers::All, &Told::Routes(set(target)));
        }
        let chunk = draft.finish(7, 0).expect("something was written");
        let asks = |wanted: &'static [u64]| move |told: &Told| matches!(told, Told::Routes(Targets(Some(it))) if wanted.contains(&it[0]));
        assert_eq!(chunk.parts.len(), 3, "parts with the same targets are one");
        assert_eq!(chunk.next(1, 0, asks(&[2, 3])), Some(3..15));
        assert_eq!(chunk.next(1, 0, asks(&[3])), Some(11..15));
        assert_eq!(chunk.next(1, 11, asks(&[1, 2])), None);
    }

    #[test]
    fn a_stream_forgets_its_beginning() {
        let mut stream = Stream::default();
        for number in 0..3 {
            let mut draft = Draft { bytes: vec![0; 10], parts: Vec::new() };
            draft.end_part(Readers::All, &Told::Anything);
            stream.push(draft.finish(number, 0).expect("bytes"));
        }
        stream.forget_before(2);
        assert_eq!((stream.start(), stream.end(), stream.len()), (2, 3, 10));
        assert!(stream.get(1).is_none() && stream.get(3).is_none());
        assert_eq!(stream.get(2).map(|chunk| chunk.number), Some(2));
        assert_eq!([1, 2, 3].map(|place| stream.behind(place)), [0, 10, 0]);
    }
}
