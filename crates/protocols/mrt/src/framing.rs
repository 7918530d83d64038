//! Records in a file that comes in pieces of any size, and what is done where it is damaged.

use crate::header::{HEADER_LEN, Header};

/// Finds records. It keeps what is no whole record yet: at most one of the longest.
#[derive(Debug, Default)]
pub struct Framing {
    partial: Vec<u8>,
    /// Bytes at the front of that which were handed out.
    done: usize,
    /// Whether the place of a record is looked for behind damage.
    is_lost: bool,
    /// Bytes that were skipped since something was found the last time.
    skipped: u64,
    /// The time of the last record, by which those behind damage are known.
    seconds: Option<u32>,
    /// Records so far.
    records: u64,
    /// Bytes of the file that are behind.
    place: u64,
}

/// A record as it lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Where in the file it begins, in bytes.
    pub place: u64,
    /// Its header.
    pub header: Header,
    /// What follows that.
    pub body: &'a [u8],
    /// Bytes before it that are none of a record.
    pub skipped: u64,
}

/// How a file ends that does not end behind a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// It ends within a record.
    #[error("it ends within record {record}, {left} bytes behind byte {place}: is it complete?")]
    Cut {
        /// The number of the record.
        record: u64,
        /// Where the record begins, in bytes.
        place: u64,
        /// Bytes from there on.
        left: u64,
    },
    /// It ends with bytes that are none of a record.
    #[error("the last {left} bytes, from byte {place} on, are no record: is this MRT?")]
    Lost {
        /// Where they begin, in bytes.
        place: u64,
        /// How many they are.
        left: u64,
    },
}

impl Unfinished {
    /// Returns how many bytes are no whole record.
    pub fn left(self) -> u64 {
        match self {
            Unfinished::Cut { left, .. } | Unfinished::Lost { left, .. } => left,
        }
    }
}

impl Framing {
    /// Takes the next record of what is left of a piece; `None` when there is no more whole one,
    /// and nothing is left of the piece then.
    pub fn next<'a>(&'a mut self, bytes: &mut &[u8]) -> Option<Frame<'a>> {
        let done = std::mem::take(&mut self.done);
        self.partial.drain(..done);
        loop {
            self.fill(bytes, HEADER_LEN);
            let header = Header::read(self.partial.first_chunk()?);
            if !self.is_it(&header) {
                // One byte at a time, until something looks like a record.
                self.is_lost = true;
                self.skip(1);
                continue;
            }
            let len = HEADER_LEN + header.len as usize;
            self.fill(bytes, len);
            if self.partial.len() < len {
                return None;
            }
            let place = self.place;
            self.records += 1;
            self.place += len as u64;
            (self.done, self.is_lost, self.seconds) = (len, false, Some(header.seconds));
            let (number, skipped) = (self.records, std::mem::take(&mut self.skipped));
            let body = &self.partial[HEADER_LEN..len];
            return Some(Frame { number, place, header, body, skipped });
        }
    }

    /// The file ends here.
    ///
    /// # Errors
    /// When that is within a record, or behind bytes that are none.
    pub fn finish(&self) -> Result<(), Unfinished> {
        let (partial, skipped) = ((self.partial.len() - self.done) as u64, self.skipped);
        let place = self.place - skipped;
        match (partial + skipped, self.is_lost) {
            (0, _) => Ok(()),
            (left, true) => Err(Unfinished::Lost { place, left }),
            (left, false) => Err(Unfinished::Cut { record: self.records + 1, place, left }),
        }
    }

    /// Returns how many records there were.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns whether a record begins with this header. Behind damage it has to be of about the
    /// time of the one before, too.
    fn is_it(&self, header: &Header) -> bool {
        let is_near = |seconds: u32| header.seconds.abs_diff(seconds) <= NEAR_S;
        header.is_plausible() && (!self.is_lost || self.seconds.is_none_or(is_near))
    }

    fn skip(&mut self, count: usize) {
        self.partial.drain(..count);
        self.place += count as u64;
        self.skipped += count as u64;
    }

    /// Moves bytes until there are this many, or no more.
    fn fill(&mut self, bytes: &mut &[u8], len: usize) {
        let missing = len.saturating_sub(self.partial.len());
        let (more, rest) = bytes.split_at(missing.min(bytes.len()));
        self.partial.extend_from_slice(more);
        *bytes = rest;
    }
}

/// For how many seconds a record behind damage may be from the one before: a month.
const NEAR_S: u32 = 31 * 86_400;
