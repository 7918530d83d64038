//! What active NAT and standby say to each other over TCP, and the buffer that finds it in a stream.
//!
//! A message is its length (4 bytes, of what follows), a byte that says what it is, and the rest.
//!
//! | byte | from | what follows |
//! |---|---|---|
//! | 1 hello | active | "plumbnat" (8), version (2), digest of the configuration (32), worker and workers (4 each), which start of the active NAT it is (8) |
//! | 2 welcome | standby | the sequence number that it wants next; 0 for all there is (8) |
//! | 3 refused | standby | why (1) |
//! | 4 changes | active | the sequence number of the first (8), and the changes, one behind the other; none to show that it lives |
//! | 5 acknowledged | standby | the last sequence number up to which all is in its tables (8), and changes that could not be (8) |
//!
//! Nothing a peer sends makes this allocate: a message is at most [`LEN_MAX`] bytes long, and a longer one is
//! malformed as soon as its length is read.

use super::change::{Change, Malformed, number, take};

/// A message; the changes of one lie beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first word of an active NAT.
    Hello(Hello),
    /// The standby takes changes.
    Welcome {
        /// The sequence number that it wants next; 0 for all there is.
        next: u64,
    },
    /// The standby takes none.
    Refused(Cause),
    /// Changes.
    Changes {
        /// The sequence number of the first; the others follow.
        first: u64,
    },
    /// The standby has applied changes.
    Acknowledged {
        /// All up to this sequence number.
        last: u64,
        /// So many of all changes could not be applied.
        refused: u64,
    },
}

/// Who an active NAT is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The digest of its configuration.
    pub digest: [u8; 32],
    /// The number of the worker, and how many there are.
    pub shard: (u32, u32),
    /// Which start of it this is.
    pub instance: u64,
}

/// Why a standby takes no changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It speaks another version.
    Version,
    /// Its configuration is another one.
    Configuration,
    /// It is another worker, or one of another number of workers.
    Worker,
}

impl Cause {
    /// What it means and what to do.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Version => "the standby is of another version: run the same on both sides",
            Cause::Configuration => {
                "the standby's configuration differs: only 'replication', 'secret' and the addresses of \
                 ports may"
            }
            Cause::Worker => {
                "the standby has another number of workers: set 'core' alike on both sides"
            }
        }
    }
}

impl Message {
    /// Appends it to `out`, with the changes if it is of them.
    pub fn write(&self, changes: &[Change], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; PREFIX_LEN]);
        match *self {
            Message::Hello(hello) => {
                out.push(HELLO);
                out.extend(MAGIC);
                out.extend(VERSION.to_be_bytes());
                out.extend(hello.digest);
                out.extend(hello.shard.0.to_be_bytes());
                out.extend(hello.shard.1.to_be_bytes());
                out.extend(hello.instance.to_be_bytes());
            }
            Message::Welcome { next } => {
                out.push(WELCOME);
                out.extend(next.to_be_bytes());
            }
            Message::Refused(cause) => out.extend([REFUSED, cause as u8]),
            Message::Changes { first } => {
                out.push(CHANGES);
                out.extend(first.to_be_bytes());
                changes.iter().for_each(|change| change.write(out));
            }
            Message::Acknowledged { last, refused } => {
                out.push(ACKNOWLEDGED);
                out.extend(last.to_be_bytes());
                out.extend(refused.to_be_bytes());
            }
        }
        let len = (out.len() - start - PREFIX_LEN) as u32;
        out[start..start + PREFIX_LEN].copy_from_slice(&len.to_be_bytes());
    }

    /// Reads one of exactly these bytes, which follow the length; its changes replace those in
    /// `changes`.
    fn read(mut bytes: &[u8], changes: &mut Vec<Change>) -> Result<Message, Malformed> {
        let bytes = &mut bytes;
        changes.clear();
        let message = match take::<1>(bytes)?[0] {
            HELLO => {
                if take(bytes)? != *MAGIC {
                    return Err(Malformed("a peer that is no NAT of this kind"));
                }
                if u16::from_be_bytes(take(bytes)?) != VERSION {
                    // What another version says behind this is not known.
                    return Ok(Message::Refused(Cause::Version));
                }
                Message::Hello(Hello {
                    digest: take(bytes)?,
                    shard: (number(bytes)?, number(bytes)?),
                    instance: u64::from_be_bytes(take(bytes)?),
                })
            }
            WELCOME => Message::Welcome { next: u64::from_be_bytes(take(bytes)?) },
            REFUSED => Message::Refused(match take::<1>(bytes)?[0] {
                0 => Cause::Version,
                1 => Cause::Configuration,
                2 => Cause::Worker,
                _ => return Err(Malformed("refused for no reason")),
            }),
            CHANGES => {
                let first = u64::from_be_bytes(take(bytes)?);
                while !bytes.is_empty() {
                    if changes.len() == CHANGES_MAX {
                        return Err(Malformed("more changes than a message has"));
                    }
                    changes.push(Change::read(bytes)?);
                }
                Message::Changes { first }
            }
            ACKNOWLEDGED => Message::Acknowledged {
                last: u64::from_be_bytes(take(bytes)?),
                refused: u64::from_be_bytes(take(bytes)?),
            },
            _ => return Err(Malformed("a message of no kind")),
        };
        if bytes.is_empty() { Ok(message) } else { Err(Malformed("more than a message")) }
    }
}

/// What was received and not read yet; it never grows.
pub struct Inbox {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox { bytes: vec![0; PREFIX_LEN + LEN_MAX].into(), start: 0, end: 0 }
    }
}

impl Inbox {
    /// Where the next bytes go, at least one once [`Self::next`] has found no further message.
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.bytes[self.end..]
    }

    /// So many bytes were written there.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    /// The next message, if it is whole; its changes replace those in `changes`.
    ///
    /// # Errors
    /// When what was received is none: the connection is of no use any more.
    pub fn next(&mut self, changes: &mut Vec<Change>) -> Result<Option<Message>, Malformed> {
        let received = &self.bytes[self.start..self.end];
        let Some((len, rest)) = received.split_first_chunk::<PREFIX_LEN>() else { return Ok(None) };
        let len = u32::from_be_bytes(*len) as usize;
        if len > LEN_MAX {
            return Err(Malformed("a message longer than any"));
        }
        let Some(body) = rest.get(..len) else { return Ok(None) };
        let message = Message::read(body, changes)?;
        self.start += PREFIX_LEN + len;
        Ok(Some(message))
    }
}

/// Most changes of a message.
pub const CHANGES_MAX: usize = 1024;

/// Most bytes of a message behind its length.
pub const LEN_MAX: usize = 1 + 8 + CHANGES_MAX * Change::LEN_MAX;

/// Bytes of a length.
const PREFIX_LEN: usize = 4;

/// What tells an active NAT from any other peer.
const MAGIC: &[u8; 8] = b"plumbnat";

/// The version of all this.
const VERSION: u16 = 2;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const REFUSED: u8 = 3;
const CHANGES: u8 = 4;
const ACKNOWLEDGED: u8 = 5;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::alg::{Numbers, Replaced, SLOTS, Side};
    use super::super::super::flow::{Far, Inside};
    use super::super::super::session::TcpState;
    use super::super::change::Told;
    use super::super::kept::Kept;
    use super::*;

    fn told() -> impl Strategy<Value = Told> {
        let far = (0..4usize, any::<u32>(), any::<u16>(), 0..4u8);
        let far = far.prop_map(|(protocol, address, port, kind)| {
            let protocol = [1, 6, 17, 47][protocol];
            match kind {
                0 => Far::new(protocol, address, port),
                1 => Far::expected(protocol, Some(address)),
                2 => Far::expected(protocol, None),
                _ => Far::granted(protocol),
            }
        });
        let key = (any::<[u64; 2]>(), far, any::<u32>());
        let key = key.prop_map(|(address, far, near)| Inside { address, far, near });
        let rest = (any::<u32>(), any::<u32>(), any::<u16>(), 0..32u8, any::<bool>(), any::<u32>());
        (key, rest).prop_map(|(key, (number, outside, outside_port, tcp, is_kept, idle_ms))| Told {
            number,
            key,
            outside,
            outside_port,
            tcp: TcpState(tcp),
            is_kept,
            idle_ms,
        })
    }

    fn kept() -> impl Strategy<Value = Kept> {
        let replaced = (any::<u32>(), any::<u16>(), any::<u16>());
        let replaced =
            replaced.prop_map(|(at, old_len, new_len)| Replaced { at, old_len, new_len });
        let all = proptest::collection::vec(replaced, 0..=SLOTS);
        let numbers = (any::<[u32; 4]>(), all).prop_map(|([next, acked, oldest, base], all)| {
            let mut numbers = Numbers { next, acked, oldest, base, ..Numbers::default() };
            numbers.replaced[..all.len()].copy_from_slice(&all);
            Numbers { count: all.len() as u8, ..numbers }
        });
        let side = any::<bool>().prop_map(|is| if is { Side::Inside } else { Side::Outside });
        prop_oneof![
            any::<[u16; 8]>().prop_map(|b4| Kept::B4(b4.into())),
            (side, proptest::option::of(numbers))
                .prop_map(|(from, numbers)| Kept::Numbers(from, numbers)),
            any::<u16>().prop_map(Kept::Call),
            any::<[u8; 12]>().prop_map(Kept::Nonce),
        ]
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            told().prop_map(Change::Session),
            any::<u32>().prop_map(|number| Change::Free { number }),
            (any::<u32>(), 0..4u8, any::<u16>(), any::<u32>()).prop_map(
                |(outside, class, port, left_ms)| Change::Rest { outside, class, port, left_ms }
            ),
            (any::<u32>(), 1..33u8, any::<bool>())
                .prop_map(|(address, len, is_open)| Change::Pool { address, len, is_open }),
            any::<u32>().prop_map(|sessions| Change::Limit { sessions }),
            (any::<u32>(), kept()).prop_map(|(number, kept)| Change::Kept { number, kept }),
            any::<u64>().prop_map(|ms| Change::Epoch { ms }),
        ]
    }

    fn message() -> impl Strategy<Value = (Message, Vec<Change>)> {
        let hello = (any::<[u8; 32]>(), any::<(u32, u32)>(), any::<u64>());
        let changes = proptest::collection::vec(change(), 0..60);
        prop_oneof![
            hello.prop_map(|(digest, shard, instance)| {
                (Message::Hello(Hello { digest, shard, instance }), Vec::new())
            }),
            any::<u64>().prop_map(|next| (Message::Welcome { next }, Vec::new())),
            (0..3usize).prop_map(|cause| {
                let causes = [Cause::Version, Cause::Configuration, Cause::Worker];
                (Message::Refused(causes[cause]), Vec::new())
            }),
            (any::<u64>(), changes).prop_map(|(first, all)| (Message::Changes { first }, all)),
            any::<(u64, u64)>().prop_map(|(last, refused)| {
                (Message::Acknowledged { last, refused }, Vec::new())
            }),
        ]
    }

    proptest! {
        #[test]
        fn messages_are_read_as_they_were_written_in_whatever_pieces(
            messages in proptest::collection::vec(message(), 1..20),
            pieces in proptest::collection::vec(1..3000usize, 1..50),
        ) {
            let mut bytes = Vec::new();
            messages.iter().for_each(|(message, changes)| message.write(changes, &mut bytes));
            let (mut inbox, mut changes, mut read) = (Inbox::default(), Vec::new(), Vec::new());
            let (mut left, mut pieces) = (&bytes[..], pieces.into_iter().cycle());
            while !left.is_empty() {
                let room = inbox.room();
                let piece = pieces.next().unwrap_or(1).min(left.len()).min(room.len());
                room[..piece].copy_from_slice(&left[..piece]);
                inbox.filled(piece);
                left = &left[piece..];
                while let Some(message) = inbox.next(&mut changes).expect("whole messages") {
                    read.push((message, changes.clone()));
                }
            }
            prop_assert_eq!(read, messages);
        }

        #[test]
        fn any_bytes_are_messages_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let (mut inbox, mut changes) = (Inbox::default(), Vec::new());
            inbox.room()[..bytes.len()].copy_from_slice(&bytes);
            inbox.filled(bytes.len());
            while let Ok(Some(_)) = inbox.next(&mut changes) {}
        }
    }

    #[test]
    fn sessions_and_streams_of_no_kind_are_malformed() {
        let key = Inside { far: Far::expected(17, None), ..Inside::default() };
        let told = Told {
            number: 1,
            key,
            outside: 2,
            outside_port: 3,
            tcp: TcpState(0),
            is_kept: true,
            idle_ms: 4,
        };
        let mut session = Vec::new();
        Change::Session(told).write(&mut session);
        let mut stream = Vec::new();
        let kept = Kept::Numbers(Side::Inside, Some(Numbers::default()));
        Change::Kept { number: 1, kept }.write(&mut stream);
        // Protocol, an address and a port that nobody's end has, flags; a side, a count.
        for (bytes, at, byte) in [
            (&session, 21, 50),
            (&session, 22, 1),
            (&session, 27, 1),
            (&session, 39, 2),
            (&session, 39, 5),
            (&session, 39, 19),
            (&stream, 5, 2),
            (&stream, 6, 5),
            (&stream, 6, 254),
        ] {
            let mut changed = bytes.clone();
            assert!(Change::read(&mut &bytes[..]).is_ok());
            changed[at] = byte;
            assert!(Change::read(&mut &changed[..]).is_err(), "{byte} at {at}");
        }
    }

    #[test]
    fn the_largest_message_fits_and_a_longer_one_is_refused_by_its_length() {
        let numbers = Numbers { count: SLOTS as u8, ..Numbers::default() };
        let one = Change::Kept { number: 1, kept: Kept::Numbers(Side::Outside, Some(numbers)) };
        let mut bytes = Vec::new();
        Message::Changes { first: 7 }.write(&[one; CHANGES_MAX], &mut bytes);
        let mut inbox = Inbox::default();
        assert_eq!(inbox.room().len(), bytes.len(), "to the byte");
        inbox.room().copy_from_slice(&bytes);
        inbox.filled(bytes.len());
        let mut changes = Vec::new();
        assert_eq!(inbox.next(&mut changes), Ok(Some(Message::Changes { first: 7 })));
        assert_eq!(changes, [one; CHANGES_MAX]);

        let mut inbox = Inbox::default();
        inbox.room()[..4].copy_from_slice(&(LEN_MAX as u32 + 1).to_be_bytes());
        inbox.filled(4);
        assert!(inbox.next(&mut changes).is_err());
    }
}
