//! What an active function and its standby say to each other over TCP, and the buffer that finds it
//! in a stream.
//!
//! A message is its length (4 bytes, of what follows), a byte that says what it is, and the rest.
//!
//! | byte | from | what follows |
//! |---|---|---|
//! | 1 hello | active | what kind of function it is ([`Change::MAGIC`], 8), version (2), digest of the configuration (32), worker and workers (4 each), which start of the active function it is (8) |
//! | 2 welcome | standby | the sequence number that it wants next; 0 for all there is (8) |
//! | 3 refused | standby | why (1) |
//! | 4 changes | active | the sequence number of the first (8), and the changes, one behind the other; none to show that it lives |
//! | 5 acknowledged | standby | the last sequence number up to which all is in its tables (8), and changes that could not be (8) |
//!
//! Nothing a peer sends makes this allocate: a message is at most [`len_max`] bytes long, and a
//! longer one is malformed as soon as its length is read.

use crate::change::{Change, Malformed, number, take};

/// A message; the changes of one lie beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first word of an active function.
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

/// Who an active function is.
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
    pub fn write<C: Change>(&self, changes: &[C], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; PREFIX_LEN]);
        match *self {
            Message::Hello(hello) => {
                out.push(HELLO);
                out.extend(C::MAGIC);
                out.extend(C::VERSION.to_be_bytes());
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
    fn read<C: Change>(mut bytes: &[u8], changes: &mut Vec<C>) -> Result<Message, Malformed> {
        let bytes = &mut bytes;
        changes.clear();
        let message = match take::<1>(bytes)?[0] {
            HELLO => {
                if take(bytes)? != C::MAGIC {
                    return Err(Malformed("a peer that is no function of this kind"));
                }
                if u16::from_be_bytes(take(bytes)?) != C::VERSION {
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
                    changes.push(C::read(bytes)?);
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

impl Inbox {
    /// An empty one for messages with changes of a type.
    pub fn new<C: Change>() -> Inbox {
        Inbox { bytes: vec![0; PREFIX_LEN + len_max::<C>()].into(), start: 0, end: 0 }
    }

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
    pub fn next<C: Change>(&mut self, changes: &mut Vec<C>) -> Result<Option<Message>, Malformed> {
        let received = &self.bytes[self.start..self.end];
        let Some((len, rest)) = received.split_first_chunk::<PREFIX_LEN>() else { return Ok(None) };
        let len = u32::from_be_bytes(*len) as usize;
        if len > len_max::<C>() {
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
pub const fn len_max<C: Change>() -> usize {
    1 + 8 + CHANGES_MAX * C::LEN_MAX
}

/// Bytes of a length.
const PREFIX_LEN: usize = 4;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const REFUSED: u8 = 3;
const CHANGES: u8 = 4;
const ACKNOWLEDGED: u8 = 5;
