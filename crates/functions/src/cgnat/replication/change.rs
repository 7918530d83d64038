//! What an active NAT tells its standby: how things are now, never how they came to be so.
//!
//! Each change stands for itself and may be applied twice. Times are spans, because two machines have
//! two clocks. Numbers are in network order.
//!
//! | kind | what follows the byte that says it |
//! |---|---|
//! | 1 | a session: number (4), inside address (16), protocol (1), other end's address (4) and port (2), inside port and realm (4), outside address (4) and port (2), TCP state (1), flags (1), milliseconds since a packet from inside (4) |
//! | 2 | a number that no session has (4) |
//! | 3 | a port that rests: address (4), class (1), port (2), milliseconds left (4) |
//! | 4 | a pool: address (4), prefix length (1), whether new subscribers get addresses of it (1) |
//! | 5 | most sessions of a subscriber (4) |

use wire::protocol;

use super::super::flow::{Far, Inside};
use super::super::ports::Class;
use super::super::session::TcpState;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A session, whatever its number stood for before.
    Session(Told),
    /// No session has this number any more.
    Free {
        /// The number.
        number: u32,
    },
    /// A port rests, and nobody has it.
    Rest {
        /// The outside address.
        outside: u32,
        /// The number of the class, as [`Class::index`].
        class: u8,
        /// The port.
        port: u16,
        /// For how long yet, in milliseconds.
        left_ms: u32,
    },
    /// A pool that is there.
    Pool {
        /// Its address.
        address: u32,
        /// Its prefix length.
        len: u8,
        /// Whether new subscribers get addresses of it.
        is_open: bool,
    },
    /// Most sessions of a subscriber; 0 for no limit.
    Limit {
        /// The limit.
        sessions: u32,
    },
}

/// A session as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its number at the active NAT.
    pub number: u32,
    /// Its name on the inside.
    pub key: Inside,
    /// Its outside address.
    pub outside: u32,
    /// Its outside port.
    pub outside_port: u16,
    /// What TCP segments have said.
    pub tcp: TcpState,
    /// Flags of its record that the other side cannot tell by itself.
    pub flags: u8,
    /// For how long there was no packet from inside, in milliseconds.
    pub idle_ms: u32,
}

/// Bytes that are no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

impl Change {
    /// The most bytes that one takes.
    pub const LEN_MAX: usize = 44;

    /// Appends it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Change::Session(told) => {
                out.push(SESSION);
                told.write(out);
            }
            Change::Free { number } => {
                out.push(FREE);
                out.extend(number.to_be_bytes());
            }
            Change::Rest { outside, class, port, left_ms } => {
                out.push(REST);
                out.extend(outside.to_be_bytes());
                out.push(class);
                out.extend(port.to_be_bytes());
                out.extend(left_ms.to_be_bytes());
            }
            Change::Pool { address, len, is_open } => {
                out.push(POOL);
                out.extend(address.to_be_bytes());
                out.extend([len, u8::from(is_open)]);
            }
            Change::Limit { sessions } => {
                out.push(LIMIT);
                out.extend(sessions.to_be_bytes());
            }
        }
    }

    /// Reads one off the front of `bytes`.
    ///
    /// # Errors
    /// When they do not begin with one.
    pub fn read(bytes: &mut &[u8]) -> Result<Change, Malformed> {
        match take::<1>(bytes)?[0] {
            SESSION => Told::read(bytes).map(Change::Session),
            FREE => Ok(Change::Free { number: number(bytes)? }),
            REST => {
                let outside = number(bytes)?;
                let [class] = take(bytes)?;
                if usize::from(class) >= Class::COUNT {
                    return Err(Malformed("a port of no class"));
                }
                let port = u16::from_be_bytes(take(bytes)?);
                Ok(Change::Rest { outside, class, port, left_ms: number(bytes)? })
            }
            POOL => {
                let address = number(bytes)?;
                match take(bytes)? {
                    [len @ 1..=32, open @ (0 | 1)] => {
                        Ok(Change::Pool { address, len, is_open: open == 1 })
                    }
                    _ => Err(Malformed("a pool of no prefix length")),
                }
            }
            LIMIT => Ok(Change::Limit { sessions: number(bytes)? }),
            _ => Err(Malformed("a change of no kind")),
        }
    }
}

impl Told {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.number.to_be_bytes());
        out.extend(self.key.address[0].to_be_bytes());
        out.extend(self.key.address[1].to_be_bytes());
        out.push(self.key.far.protocol());
        out.extend(self.key.far.address().to_be_bytes());
        out.extend(self.key.far.port().to_be_bytes());
        out.extend(self.key.near.to_be_bytes());
        out.extend(self.outside.to_be_bytes());
        out.extend(self.outside_port.to_be_bytes());
        out.extend([self.tcp.0, self.flags]);
        out.extend(self.idle_ms.to_be_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Result<Told, Malformed> {
        let session = number(bytes)?;
        let address = [u64::from_be_bytes(take(bytes)?), u64::from_be_bytes(take(bytes)?)];
        let [protocol] = take(bytes)?;
        if !matches!(protocol, protocol::UDP | protocol::TCP | protocol::ICMP) {
            return Err(Malformed("a session of no protocol"));
        }
        let far = Far::new(protocol, number(bytes)?, u16::from_be_bytes(take(bytes)?));
        let near = number(bytes)?;
        let outside = number(bytes)?;
        let outside_port = u16::from_be_bytes(take(bytes)?);
        let [tcp, flags] = take(bytes)?;
        if usize::from(tcp) >= TcpState::COUNT {
            return Err(Malformed("a connection of no state"));
        }
        Ok(Told {
            number: session,
            key: Inside { address, far, near },
            outside,
            outside_port,
            tcp: TcpState(tcp),
            flags,
            idle_ms: number(bytes)?,
        })
    }
}

/// The next bytes.
pub(super) fn take<const LEN: usize>(bytes: &mut &[u8]) -> Result<[u8; LEN], Malformed> {
    let (head, tail) = bytes.split_first_chunk().ok_or(Malformed("it ends too early"))?;
    *bytes = tail;
    Ok(*head)
}

/// The next number of 32 bits.
pub(super) fn number(bytes: &mut &[u8]) -> Result<u32, Malformed> {
    take(bytes).map(u32::from_be_bytes)
}

const SESSION: u8 = 1;
const FREE: u8 = 2;
const REST: u8 = 3;
const POOL: u8 = 4;
const LIMIT: u8 = 5;
