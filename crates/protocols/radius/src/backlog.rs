//! Records that no server has confirmed, in bounded memory, and as bytes that an owner keeps on a
//! disk so that they survive a restart.
//!
//! ```text
//!  file:   "plumbline-records-1\n" | entry | entry ...
//!  entry:  length of what follows the sum (4) | sum (8) | kind (1) | number (8) | ...
//!    kind 1, a record:   ... | when it happened, s since 1970 (8) | attributes
//!    kind 2, confirmed:  ...
//! ```
//! The owner appends what [`Backlog::journal`] returns, and now and then replaces the file by what
//! [`Backlog::snapshot`] returns. What is confirmed between two journals is never written. A file
//! that ends in the middle of an entry, or whose bytes are damaged, is read up to there.
//!
//! When the disk did not take the bytes, the owner says so ([`Backlog::failed`]): all records stay
//! here, a whole file is wanted, because the end of the one that is there may be torn, and it is
//! counted and told until a write has not failed.

use std::collections::{BTreeMap, BTreeSet};

use crate::attributes::{Attributes, List};
use crate::seal::checksum;

/// The store.
#[derive(Debug)]
pub struct Backlog {
    limits: Limits,
    /// By their numbers, which are in the order in which they came.
    entries: BTreeMap<u64, Entry>,
    /// Those that are not on their way.
    waiting: BTreeSet<u64>,
    next: u64,
    /// Records with lower numbers are in the file.
    in_file_below: u64,
    /// The same before the last write.
    was_in_file_below: u64,
    /// Writes that have failed.
    writes_failed: u64,
    /// Whether the last write whose end is known has failed.
    is_failing: bool,
    /// Whether a write after that is with the owner.
    is_retried: bool,
    /// Bytes of attributes.
    bytes: usize,
    lost: u64,
    /// Confirmed since the last journal, of those that are in the file.
    confirmed: Vec<u64>,
    /// Bytes of the file.
    file_bytes: usize,
    /// Whether the file has to be replaced: there is none, or its end is torn.
    needs_snapshot: bool,
}

/// What a store holds at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub records_max: usize,
    /// Bytes of their attributes.
    pub bytes_max: usize,
}

/// What was found in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Records that wait now.
    pub records: usize,
    /// Bytes at the end that are damaged or torn.
    pub torn_bytes: usize,
    /// Records that the store has no room for.
    pub lost: u64,
}

/// The file is of another version, or none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file does not begin as one of stored records, version 1")]
pub struct Foreign;

#[derive(Debug)]
struct Entry {
    attributes: List,
    event_s: u64,
}

impl Backlog {
    /// An empty store.
    pub fn new(limits: Limits) -> Backlog {
        Backlog {
            limits,
            entries: BTreeMap::new(),
            waiting: BTreeSet::new(),
            next: 0,
            in_file_below: 0,
            was_in_file_below: 0,
            writes_failed: 0,
            is_failing: false,
            is_retried: false,
            bytes: 0,
            lost: 0,
            confirmed: Vec::new(),
            file_bytes: 0,
            needs_snapshot: true,
        }
    }

    /// Reads a file; an empty one is an empty store.
    ///
    /// # Errors
    /// When it is no such file. Then it is not to be replaced.
    pub fn restore(limits: Limits, file: &[u8]) -> Result<(Backlog, Restored), Foreign> {
        let mut backlog = Backlog::new(limits);
        // Even its first line may be torn.
        if MAGIC.starts_with(file) {
            let torn_bytes = if file.len() < MAGIC.len() { file.len() } else { 0 };
            return Ok((backlog, Restored { torn_bytes, ..Restored::default() }));
        }
        let mut rest = file.strip_prefix(MAGIC).ok_or(Foreign)?;
        let mut found: BTreeMap<u64, (u64, &[u8])> = BTreeMap::new();
        while let Some((entry, behind)) = read_entry(rest) {
            match entry {
                Read::Record { number, event_s, attributes } => {
                    found.insert(number, (event_s, attributes));
                    backlog.next = backlog.next.max(number.saturating_add(1));
                }
                Read::Confirmed { number } => {
                    found.remove(&number);
                }
            }
            rest = behind;
        }
        for (number, (event_s, attributes)) in found {
            let list = Attributes::parse(attributes).map(List::from);
            match list.filter(|_| backlog.has_room(attributes.len())) {
                Some(list) => backlog.insert(number, list, event_s),
                None => backlog.lost += 1,
            }
        }
        let restored =
            Restored { records: backlog.entries.len(), torn_bytes: rest.len(), lost: backlog.lost };
        Ok((backlog, restored))
    }

    /// Returns what it holds at the most.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes a record in; false if there is no room for it, which is counted.
    pub fn push(&mut self, attributes: List, event_s: u64) -> bool {
        let has_room = self.has_room(attributes.attributes().bytes().len());
        if has_room {
            self.insert(self.next, attributes, event_s);
            self.next += 1;
        } else {
            self.lost += 1;
        }
        has_room
    }

    /// Returns the oldest record that waits, with its number and when it happened; it is on its way
    /// then.
    pub fn take(&mut self) -> Option<(u64, List, u64)> {
        let number = self.waiting.pop_first()?;
        let entry = self.entries.get(&number)?;
        Some((number, entry.attributes.clone(), entry.event_s))
    }

    /// A record was confirmed, or never will be.
    pub fn end(&mut self, number: u64) {
        let Some(entry) = self.entries.remove(&number) else { return };
        self.waiting.remove(&number);
        self.bytes -= entry.attributes.attributes().bytes().len();
        if number < self.in_file_below {
            self.confirmed.push(number);
        }
    }

    /// A record was not confirmed: it waits again.
    pub fn again(&mut self, number: u64) {
        if self.entries.contains_key(&number) {
            self.waiting.insert(number);
        }
    }

    /// Returns how many records are there.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if none is there.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns how many of them are not on their way.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of the oldest one that is not on its way.
    pub fn first_waiting(&self) -> Option<u64> {
        self.waiting.first().copied()
    }

    /// Returns the number that the next record will have.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns how many records were lost for want of room.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The disk did not take what [`Backlog::journal`] or [`Backlog::snapshot`] has returned last,
    /// or not all of it. The file that was there before a snapshot is still there.
    pub fn failed(&mut self) {
        self.writes_failed += 1;
        (self.is_failing, self.is_retried) = (true, false);
        self.needs_snapshot = true;
        self.in_file_below = self.was_in_file_below;
    }

    /// Returns how many writes have failed.
    pub fn writes_failed(&self) -> u64 {
        self.writes_failed
    }

    /// Whether writes fail: the last one did whose end is known. A write has succeeded when the
    /// next bytes are asked for and it was not said that it failed.
    pub fn is_failing(&self) -> bool {
        self.is_failing
    }

    /// Returns how many records are in no file: an end of the program would lose them.
    pub fn unwritten(&self) -> usize {
        self.entries.range(self.in_file_below..).count()
    }

    /// Whether the file is to be replaced by a snapshot: there is none, its end is torn, or most of
    /// it is confirmed.
    pub fn needs_snapshot(&self) -> bool {
        let live = self.bytes + self.entries.len() * (ENTRY_LEN + 8);
        self.needs_snapshot || self.file_bytes > 2 * live + SLACK
    }

    /// Returns the bytes to be appended to the file; empty if nothing has changed. Before the first
    /// snapshot there is no file, and nothing to append.
    pub fn journal(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.succeed();
        if self.needs_snapshot {
            return bytes;
        }
        for number in self.confirmed.drain(..) {
            write_entry(&mut bytes, CONFIRMED, number, &[]);
        }
        for (number, entry) in self.entries.range(self.in_file_below..) {
            write_record(&mut bytes, *number, entry);
        }
        if bytes.is_empty() {
            return bytes;
        }
        self.was_in_file_below = std::mem::replace(&mut self.in_file_below, self.next);
        self.file_bytes += bytes.len();
        bytes
    }

    /// Returns the bytes of a whole file, which replaces the one that is there.
    pub fn snapshot(&mut self) -> Vec<u8> {
        self.succeed();
        self.is_retried = self.is_failing;
        let mut bytes = MAGIC.to_vec();
        for (number, entry) in &self.entries {
            write_record(&mut bytes, *number, entry);
        }
        self.was_in_file_below = std::mem::replace(&mut self.in_file_below, self.next);
        self.confirmed.clear();
        (self.file_bytes, self.needs_snapshot) = (bytes.len(), false);
        bytes
    }

    /// The write before was not said to have failed.
    fn succeed(&mut self) {
        if std::mem::take(&mut self.is_retried) {
            self.is_failing = false;
        }
    }

    fn has_room(&self, len: usize) -> bool {
        let Limits { records_max, bytes_max } = self.limits;
        self.entries.len() < records_max && self.bytes + len <= bytes_max
    }

    fn insert(&mut self, number: u64, attributes: List, event_s: u64) {
        self.bytes += attributes.attributes().bytes().len();
        self.entries.insert(number, Entry { attributes, event_s });
        self.waiting.insert(number);
    }
}

/// An entry of a file.
enum Read<'a> {
    Record { number: u64, event_s: u64, attributes: &'a [u8] },
    Confirmed { number: u64 },
}

/// Reads an entry; `None` where it is torn or damaged.
fn read_entry(bytes: &[u8]) -> Option<(Read<'_>, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let (body, behind) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    if checksum(body) != *sum {
        return None;
    }
    let (&kind, rest) = body.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    let number = u64::from_be_bytes(*number);
    let read = match kind {
        RECORD => {
            let (event_s, attributes) = rest.split_first_chunk()?;
            Read::Record { number, event_s: u64::from_be_bytes(*event_s), attributes }
        }
        CONFIRMED => Read::Confirmed { number },
        _ => return None,
    };
    Some((read, behind))
}

fn write_record(bytes: &mut Vec<u8>, number: u64, entry: &Entry) {
    let attributes = entry.attributes.attributes().bytes();
    write_entry(bytes, RECORD, number, &[&entry.event_s.to_be_bytes()[..], attributes].concat());
}

fn write_entry(bytes: &mut Vec<u8>, kind: u8, number: u64, rest: &[u8]) {
    let body = [&[kind][..], &number.to_be_bytes(), rest].concat();
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(checksum(&body));
    bytes.extend(body);
}

const MAGIC: &[u8] = b"plumbline-records-1\n";

const RECORD: u8 = 1;
const CONFIRMED: u8 = 2;

/// Bytes of an entry without what is told of a record.
const ENTRY_LEN: usize = 4 + 8 + 1 + 8;

/// Bytes of confirmed records that a file may have in any case.
const SLACK: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { records_max: 8, bytes_max: 100 };

    fn list(text: &str) -> List {
        let mut list = List::new();
        list.put(1, text.as_bytes()).expect("it fits");
        list
    }

    fn restored(file: &[u8]) -> (Vec<u64>, Restored) {
        let (mut backlog, restored) = Backlog::restore(LIMITS, file).expect("a file");
        (std::iter::from_fn(|| backlog.take()).map(|(_, _, event_s)| event_s).collect(), restored)
    }

    #[test]
    fn what_is_not_confirmed_survives() {
        let mut backlog = Backlog::new(LIMITS);
        assert!(backlog.push(list("a"), 10) && backlog.push(list("b"), 20));
        assert!(backlog.needs_snapshot() && backlog.journal().is_empty());
        let mut file = backlog.snapshot();
        assert!(!backlog.needs_snapshot());
        assert!(backlog.push(list("c"), 30) && backlog.push(list("d"), 40));
        let (first, _, _) = backlog.take().expect("it waits");
        backlog.end(first);
        backlog.end(3);
        file.extend(backlog.journal());
        assert!(backlog.journal().is_empty(), "nothing new");
        let (events, found) = restored(&file);
        assert_eq!(events, [20, 30], "in their order, and none that was confirmed");
        assert_eq!(found, Restored { records: 2, torn_bytes: 0, lost: 0 });
        // A new record has a new number, also after a restart.
        let (mut again, _) = Backlog::restore(LIMITS, &file).expect("a file");
        assert!(again.push(list("e"), 50));
        assert_eq!(again.len(), 3);
    }

    #[test]
    fn what_a_full_disk_did_not_take_is_written_later() {
        let mut backlog = Backlog::new(LIMITS);
        assert!(backlog.push(list("a"), 10) && backlog.push(list("b"), 20));
        let mut file = backlog.snapshot();
        assert!(backlog.push(list("c"), 30));
        assert_eq!((backlog.unwritten(), backlog.is_failing()), (1, false));
        backlog.end(0);
        // The disk takes a part of the journal.
        let journal = backlog.journal();
        assert_eq!(backlog.unwritten(), 0);
        file.extend(&journal[..journal.len() - 1]);
        backlog.failed();
        assert_eq!((backlog.unwritten(), backlog.writes_failed()), (1, 1));
        assert!(backlog.is_failing() && backlog.needs_snapshot());
        assert_eq!(restored(&file).0, [20]);
        // What would stand behind a torn end is not written.
        assert!(backlog.push(list("d"), 40) && backlog.journal().is_empty());
        // The file that is to replace it does not fit, either.
        assert!(!backlog.snapshot().is_empty());
        backlog.failed();
        assert_eq!((backlog.unwritten(), backlog.writes_failed()), (2, 2));
        assert!(backlog.is_failing() && backlog.needs_snapshot());
        let file = backlog.snapshot();
        assert_eq!(restored(&file).0, [20, 30, 40]);
        assert!(backlog.is_failing(), "nobody knows yet whether it was written");
        assert!(backlog.journal().is_empty());
        assert!(!backlog.is_failing() && !backlog.needs_snapshot());
        assert_eq!((backlog.unwritten(), backlog.writes_failed(), backlog.lost()), (0, 2, 0));
    }

    #[test]
    fn every_torn_or_damaged_file_is_read_up_to_there() {
        let mut backlog = Backlog::new(LIMITS);
        for event_s in 0..4 {
            assert!(backlog.push(list("name"), event_s));
        }
        let file = backlog.snapshot();
        let mut last = 0;
        for len in 0..=file.len() {
            let (events, found) = restored(&file[..len]);
            assert!(events.len() >= last && events.iter().copied().eq(0..events.len() as u64));
            assert!(found.torn_bytes < ENTRY_LEN + 8 + 6, "{found:?}");
            last = events.len();
        }
        assert_eq!(last, 4);
        for at in MAGIC.len()..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            let (events, found) = restored(&damaged);
            assert!(events.len() < 4 && found.torn_bytes > 0, "byte {at}");
        }
        assert_eq!(Backlog::restore(LIMITS, b"plumbline-records-2\n").err(), Some(Foreign));
        assert_eq!(Backlog::restore(LIMITS, b"something").err(), Some(Foreign));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut backlog = Backlog::new(LIMITS);
        let pushed = (0..20).filter(|event_s| backlog.push(list("a"), *event_s)).count();
        assert_eq!((pushed, backlog.lost()), (8, 12));
        let mut by_bytes = Backlog::new(LIMITS);
        assert!(by_bytes.push(list(&"a".repeat(90)), 0));
        assert!(!by_bytes.push(list(&"a".repeat(10)), 0), "bytes have a limit, too");
        let small = Limits { records_max: 3, ..LIMITS };
        let (_, found) = Backlog::restore(small, &backlog.snapshot()).expect("a file");
        assert_eq!(found, Restored { records: 3, torn_bytes: 0, lost: 5 });
    }
}
