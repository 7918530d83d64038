//! What is kept of a session beside its record, as an active NAT tells its standby of it.
//!
//! It follows the session in a change of its own, which says what is kept now, like any other: a
//! session and all that is kept of it are told together, one behind the other.
//!
//! | kind | what follows the byte that says it, and the session's number (4) |
//! |---|---|
//! | 6 | the B4 element from which the subscriber's last packet came, where its name does not tell that (16) |
//! | 7 | sequence numbers of a direction: 0 from inside, 1 from outside (1), how many replacements are known, 255 where nothing is (1); then the end of what was passed and of what was acknowledged, the oldest place known, and what is added before all (4 each); of each replacement its place (4), old and new length (2 each) |
//! | 8 | a call's identifier at the other end (2) |
//! | 9 | the nonce of a mapping that was asked for (12) |

use std::net::Ipv6Addr;

use crate::alg::{Numbers, Replaced, SLOTS, Side};
use protocol_replication::{Malformed, number, take};

/// What is kept of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Where packets of its subscriber go, behind a softwire.
    B4(Ipv6Addr),
    /// Of the stream from a side; none of one that has not begun.
    Numbers(Side, Option<Numbers>),
    /// The other end's identifier of a call.
    Call(u16),
    /// What shows that requests are of the client that asked for the mapping.
    Nonce([u8; 12]),
}

impl Kept {
    /// The byte that says what it is.
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Kept::B4(_) => B4,
            Kept::Numbers(..) => NUMBERS,
            Kept::Call(_) => CALL,
            Kept::Nonce(_) => NONCE,
        }
    }

    /// Whether it stands for the same thing as another one of its session, and so takes that one's
    /// place.
    pub(crate) fn replaces(&self, other: &Kept) -> bool {
        match (self, other) {
            (Kept::Numbers(one, _), Kept::Numbers(other, _)) => one == other,
            _ => self.kind() == other.kind(),
        }
    }

    /// Appends what follows kind and number to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Kept::B4(b4) => out.extend(b4.octets()),
            Kept::Call(identifier) => out.extend(identifier.to_be_bytes()),
            Kept::Nonce(nonce) => out.extend(nonce),
            Kept::Numbers(from, numbers) => {
                let count = numbers.map_or(NOT_BEGUN, |numbers| numbers.count);
                out.extend([u8::from(*from == Side::Outside), count]);
                let Some(numbers) = numbers else { return };
                for one in [numbers.next, numbers.acked, numbers.oldest, numbers.base] {
                    out.extend(one.to_be_bytes());
                }
                for one in numbers.replaced.iter().take(usize::from(count)) {
                    out.extend(one.at.to_be_bytes());
                    out.extend(one.old_len.to_be_bytes());
                    out.extend(one.new_len.to_be_bytes());
                }
            }
        }
    }

    /// Reads one of a kind.
    ///
    /// # Errors
    /// When there is no such kind, or what follows is none.
    pub(crate) fn read(kind: u8, bytes: &mut &[u8]) -> Result<Kept, Malformed> {
        match kind {
            B4 => Ok(Kept::B4(take::<16>(bytes)?.into())),
            CALL => Ok(Kept::Call(u16::from_be_bytes(take(bytes)?))),
            NONCE => Ok(Kept::Nonce(take(bytes)?)),
            NUMBERS => {
                let [from, count] = take(bytes)?;
                let from = match from {
                    0 => Side::Inside,
                    1 => Side::Outside,
                    _ => return Err(Malformed("a stream from no side")),
                };
                match usize::from(count) {
                    0..=SLOTS => Ok(Kept::Numbers(from, Some(read_numbers(count, bytes)?))),
                    _ if count == NOT_BEGUN => Ok(Kept::Numbers(from, None)),
                    _ => Err(Malformed("more replacements than are known")),
                }
            }
            _ => Err(Malformed("a change of no kind")),
        }
    }
}

fn read_numbers(count: u8, bytes: &mut &[u8]) -> Result<Numbers, Malformed> {
    let (next, acked) = (number(bytes)?, number(bytes)?);
    let (oldest, base) = (number(bytes)?, number(bytes)?);
    let mut replaced = [Replaced::default(); SLOTS];
    for one in replaced.iter_mut().take(usize::from(count)) {
        let at = number(bytes)?;
        let [old_len, new_len] =
            [u16::from_be_bytes(take(bytes)?), u16::from_be_bytes(take(bytes)?)];
        *one = Replaced { at, old_len, new_len };
    }
    Ok(Numbers { next, acked, oldest, base, replaced, count })
}

/// Most that is kept of one session.
pub const KEPT_MAX: usize = 3;

/// The most bytes that one takes behind the number.
pub(crate) const LEN_MAX: usize = 2 + 4 * 4 + 8 * SLOTS;

/// In the place of a count, where a stream has not begun.
const NOT_BEGUN: u8 = 255;

const B4: u8 = 6;
const NUMBERS: u8 = 7;
const CALL: u8 = 8;
const NONCE: u8 = 9;
