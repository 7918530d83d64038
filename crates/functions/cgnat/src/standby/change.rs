//! What an active NAT tells its standby: how things are now, never how they came to be so.
//!
//! Each change stands for itself and may be applied twice. Times are spans, because two machines
//! have two clocks. Numbers are in network order.
//!
//! | kind | what follows the byte that says it |
//! |---|---|
//! | 1 | a session: number (4), inside address (16), protocol (1), other end's address (4) and port (2), inside port and realm (4), outside address (4) and port (2), TCP state (1), flags (1), milliseconds since a packet from inside, or of a mapping that was asked for until it ends (4) |
//! | 2 | a number that no session has (4) |
//! | 3 | a port that rests: address (4), class (1), port (2), milliseconds left (4) |
//! | 4 | a pool: address (4), prefix length (1), whether new subscribers get addresses of it (1) |
//! | 5 | most sessions of a subscriber (4) |
//! | 6 to 9 | what is kept of a session beside its record: see `kept.rs` |
//! | 10 | milliseconds for which mappings that were asked for are known (8) |
//! | 11 | all that there is was told: on which connection ([`replication::Link::connection`], 8) |
//!
//! Flags of a session: in the lowest three bits what its other end is ([`Far::kind`]), 8 where
//! something is kept of it alone, which follows.

use protocol_replication::{self as replication, Malformed, number, take};
use wire::protocol;

use crate::sessions::ports::Class;
use crate::sessions::session::TcpState;
use crate::standby::kept::{self, Kept};
use crate::types::flow::{Far, Inside};

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
    /// Something that is kept of a session.
    Kept {
        /// The session's number.
        number: u32,
        /// What it is.
        kept: Kept,
    },
    /// Mappings that subscribers asked for are known for so long (RFC 6887 section 8.5).
    Epoch {
        /// In milliseconds.
        ms: u64,
    },
    /// All that there is was told, in this change and those before it.
    Whole {
        /// What both sides call the connection that was there then.
        connection: u64,
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
    /// Whether something is kept of it alone; if not, nothing is any more.
    pub is_kept: bool,
    /// For how long there was no packet from inside, in milliseconds; of a mapping that was asked
    /// for how long it has yet.
    pub idle_ms: u32,
}

impl replication::Change for Change {
    const MAGIC: [u8; 8] = *b"plumbnat";
    const VERSION: u16 = 5;
    const LEN_MAX: usize = 1 + 4 + kept::LEN_MAX;

    fn write(&self, out: &mut Vec<u8>) {
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
            Change::Kept { number, kept } => {
                out.push(kept.kind());
                out.extend(number.to_be_bytes());
                kept.write(out);
            }
            Change::Epoch { ms } => {
                out.push(EPOCH);
                out.extend(ms.to_be_bytes());
            }
            Change::Whole { connection } => {
                out.push(WHOLE);
                out.extend(connection.to_be_bytes());
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Result<Change, Malformed> {
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
            EPOCH => Ok(Change::Epoch { ms: u64::from_be_bytes(take(bytes)?) }),
            WHOLE => Ok(Change::Whole { connection: u64::from_be_bytes(take(bytes)?) }),
            kind => {
                let session = number(bytes)?;
                Ok(Change::Kept { number: session, kept: Kept::read(kind, bytes)? })
            }
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
        let kept = if self.is_kept { KEPT } else { 0 };
        out.extend([self.tcp.0, self.key.far.kind() | kept]);
        out.extend(self.idle_ms.to_be_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Result<Told, Malformed> {
        let session = number(bytes)?;
        let inside = [u64::from_be_bytes(take(bytes)?), u64::from_be_bytes(take(bytes)?)];
        let [protocol] = take(bytes)?;
        if !matches!(protocol, protocol::UDP | protocol::TCP | protocol::ICMP | protocol::GRE) {
            return Err(Malformed("a session of no protocol"));
        }
        let (address, port) = (number(bytes)?, u16::from_be_bytes(take(bytes)?));
        let near = number(bytes)?;
        let outside = number(bytes)?;
        let outside_port = u16::from_be_bytes(take(bytes)?);
        let [tcp, flags] = take(bytes)?;
        if usize::from(tcp) >= TcpState::COUNT {
            return Err(Malformed("a connection of no state"));
        }
        let far = Far::of_kind(flags & !KEPT, protocol, address, port);
        let far = far.ok_or(Malformed("a session with an end of no kind"))?;
        Ok(Told {
            number: session,
            key: Inside { address: inside, far, near },
            outside,
            outside_port,
            tcp: TcpState(tcp),
            is_kept: flags & KEPT != 0,
            idle_ms: number(bytes)?,
        })
    }
}

const SESSION: u8 = 1;
const FREE: u8 = 2;
const REST: u8 = 3;
const POOL: u8 = 4;
const LIMIT: u8 = 5;
const EPOCH: u8 = 10;
const WHOLE: u8 = 11;

/// Of a session's flags: something is kept of it alone.
const KEPT: u8 = 8;
