//! What an active function and its standby say to each other over TCP, and the buffer that finds it
//! in a stream.
//!
//! A message is its length (4 bytes, of what follows), a byte that says what it is, and the rest;
//! where both sides have a key, a tag of 16 bytes ends each from the third one on.
//!
//! | byte | from | what follows |
//! |---|---|---|
//! | 1 hello | active | what kind of function it is ([`Change::MAGIC`], 8), version of its changes (2) and of the messages (2), whether it has a key (1), a nonce (32) |
//! | 2 challenge | standby | a nonce (32) |
//! | 3 identity | active | digest of the configuration (32), worker and workers (4 each), which start of the active function it is (8) |
//! | 4 welcome | standby | the sequence number that it wants next; 0 for all there is (8) |
//! | 5 refused | standby | why (1) |
//! | 6 changes | active | the sequence number of the first (8), and the changes, one behind the other; none to show that it lives |
//! | 7 acknowledged | standby | the last sequence number up to which all is in its tables (8), and changes that could not be (8) |
//! | 8 handed over | active | nothing: all was told and acknowledged |
//!
//! Nothing a peer sends makes this allocate: a message is at most [`len_max`] bytes long, and a
//! longer one is malformed as soon as its length is read.

use crate::change::{Change, Malformed, number, take};
use crate::trouble::Trouble;

/// A message; the changes of one lie beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first word of an active function.
    Hello(Hello),
    /// The standby's nonce.
    Challenge {
        /// The nonce.
        nonce: [u8; NONCE_LEN],
    },
    /// Who the active function is.
    Identity(Identity),
    /// The standby takes changes.
    Welcome {
        /// The sequence number that it wants next; 0 for all there is.
        next: u64,
    },
    /// The standby takes none. A hello of another version is read as one for that reason, because
    /// what it says further is not known.
    Refused(Trouble),
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
    /// The active function has told everything, and tells no more.
    HandedOver,
}

/// The beginning of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Whether the active function has a key.
    pub is_keyed: bool,
    /// Its nonce.
    pub nonce: [u8; NONCE_LEN],
}

/// Who an active function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The digest of its configuration.
    pub digest: [u8; 32],
    /// The number of the worker, and how many there are.
    pub shard: (u32, u32),
    /// Which start of it this is.
    pub instance: u64,
}

impl Message {
    /// Appends it to `out`, with the changes if it is of them, without a tag.
    pub fn write<C: Change>(&self, changes: &[C], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; PREFIX_LEN]);
        match *self {
            Message::Hello(hello) => {
                out.push(HELLO);
                out.extend(C::MAGIC);
                out.extend(C::VERSION.to_be_bytes());
                out.extend(VERSION.to_be_bytes());
                out.push(u8::from(hello.is_keyed));
                out.extend(hello.nonce);
            }
            Message::Challenge { nonce } => {
                out.push(CHALLENGE);
                out.extend(nonce);
            }
            Message::Identity(identity) => {
                out.push(IDENTITY);
                out.extend(identity.digest);
                out.extend(identity.shard.0.to_be_bytes());
                out.extend(identity.shard.1.to_be_bytes());
                out.extend(identity.instance.to_be_bytes());
            }
            Message::Welcome { next } => {
                out.push(WELCOME);
                out.extend(next.to_be_bytes());
            }
            Message::Refused(cause) => out.extend([REFUSED, cause.refusal_byte()]),
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
            Message::HandedOver => out.push(HANDED_OVER),
        }
        set_len(&mut out[start..]);
    }

    /// Reads one of exactly these bytes, which follow the length; its changes replace those in
    /// `changes`.
    ///
    /// # Errors
    /// When they are none.
    pub fn read<C: Change>(mut bytes: &[u8], changes: &mut Vec<C>) -> Result<Message, Malformed> {
        let bytes = &mut bytes;
        changes.clear();
        let message = match take::<1>(bytes)?[0] {
            HELLO => {
                if take(bytes)? != C::MAGIC {
                    return Err(Malformed("a peer that is no function of this kind"));
                }
                let versions = [take(bytes)?, take(bytes)?].map(u16::from_be_bytes);
                if versions != [C::VERSION, VERSION] {
                    return Ok(Message::Refused(Trouble::Version));
                }
                let is_keyed = match take::<1>(bytes)?[0] {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed("neither a key nor none")),
                };
                Message::Hello(Hello { is_keyed, nonce: take(bytes)? })
            }
            CHALLENGE => Message::Challenge { nonce: take(bytes)? },
            IDENTITY => Message::Identity(Identity {
                digest: take(bytes)?,
                shard: (number(bytes)?, number(bytes)?),
                instance: u64::from_be_bytes(take(bytes)?),
            }),
            WELCOME => Message::Welcome { next: u64::from_be_bytes(take(bytes)?) },
            REFUSED => {
                let cause = Trouble::refusal(take::<1>(bytes)?[0]);
                Message::Refused(cause.ok_or(Malformed("refused for no reason"))?)
            }
            CHANGES => {
                let first = u64::from_be_bytes(take(bytes)?);
                while !bytes.is_empty() {
                    if changes.len() == changes_max::<C>() {
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
            HANDED_OVER => Message::HandedOver,
            _ => return Err(Malformed("a message of no kind")),
        };
        if bytes.is_empty() { Ok(message) } else { Err(Malformed("more than a message")) }
    }
}

/// Writes the length of a message in front of it.
pub(crate) fn set_len(message: &mut [u8]) {
    let len = message.len().saturating_sub(PREFIX_LEN) as u32;
    if let Some(prefix) = message.first_chunk_mut() {
        *prefix = len.to_be_bytes();
    }
}

/// What was received and not read yet; it never grows.
pub struct Inbox {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    len_max: usize,
}

impl Inbox {
    /// An empty one for messages of at most `len_max` bytes behind their length, with room for
    /// `more` beside the longest.
    pub fn new(len_max: usize, more: usize) -> Inbox {
        let bytes = vec![0; PREFIX_LEN + len_max + more].into();
        Inbox { bytes, start: 0, end: 0, len_max }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Takes as many of these bytes as there is room for; returns their number.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        if self.end + bytes.len() > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let count = bytes.len().min(self.bytes.len() - self.end);
        self.bytes[self.end..self.end + count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    /// Takes out what follows the length of the next message, if it is whole.
    ///
    /// # Errors
    /// When it is longer than any: the connection is of no use any more.
    pub fn take(&mut self) -> Result<Option<&mut [u8]>, Malformed> {
        let received = &mut self.bytes[self.start..self.end];
        let Some((len, rest)) = received.split_first_chunk_mut::<PREFIX_LEN>() else {
            return Ok(None);
        };
        let len = u32::from_be_bytes(*len) as usize;
        if len > self.len_max {
            return Err(Malformed("a message longer than any"));
        }
        let Some(body) = rest.get_mut(..len) else { return Ok(None) };
        self.start += PREFIX_LEN + len;
        Ok(Some(body))
    }
}

/// Most changes of a message.
pub const fn changes_max<C: Change>() -> usize {
    let most = CHANGES_LEN_MAX / C::LEN_MAX;
    if most < CHANGES_MAX { most } else { CHANGES_MAX }
}

/// Most bytes of a message behind its length, without a tag.
pub const fn len_max<C: Change>() -> usize {
    let changes = 1 + 8 + changes_max::<C>() * C::LEN_MAX;
    if changes < GREETING_LEN_MAX { GREETING_LEN_MAX } else { changes }
}

/// Bytes of a nonce.
pub const NONCE_LEN: usize = 32;

/// Most bytes of a message that has no changes, behind its length.
pub const GREETING_LEN_MAX: usize = 64;

/// The version of the messages.
pub const VERSION: u16 = 2;

/// Most changes of a message, of whatever length.
const CHANGES_MAX: usize = 1024;

/// Most bytes of a message's changes.
const CHANGES_LEN_MAX: usize = 64 << 10;

/// Bytes of a length.
pub(crate) const PREFIX_LEN: usize = 4;

const HELLO: u8 = 1;
const CHALLENGE: u8 = 2;
const IDENTITY: u8 = 3;
const WELCOME: u8 = 4;
const REFUSED: u8 = 5;
const CHANGES: u8 = 6;
const ACKNOWLEDGED: u8 = 7;
const HANDED_OVER: u8 = 8;
