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
//! | 12 | one-to-one and port forwarding rules follow, or these were all that there are: 0 or 1 (1) |
//! | 13 | a one-to-one rule: inside and outside address (4 each), prefix length (1) |
//! | 14 | a host of a port forwarding rule: outside and inside address (4 each), first and last of the ports for its other ports, 0 for none (2 each) |
//! | 15 | forwarded ports of such a host: its inside address (4), 0 for TCP and UDP, 6 or 17 (1), first and last outside port, first inside port (2 each) |
//!
//! Flags of a session: in the lowest three bits what its other end is ([`Far::kind`]), 8 where
//! something is kept of it alone, which follows.

use protocol_replication::{self as replication, Malformed, number, take};
use wire::protocol;

use crate::config::ForwardProtocol;
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
    /// All rules follow, or were told since then.
    Rules {
        /// Which of both.
        is_end: bool,
    },
    /// A one-to-one rule.
    Static {
        /// The first inside address.
        inside: u32,
        /// The first outside address.
        outside: u32,
        /// The length of both prefixes.
        len: u8,
    },
    /// A host of a port forwarding rule.
    Host {
        /// The rule's outside address.
        outside: u32,
        /// The host's address.
        inside: u32,
        /// The first and the last outside port for its ports that are not forwarded.
        dynamic: Option<(u16, u16)>,
    },
    /// Forwarded ports of the host that was told last.
    Forward {
        /// The host's address.
        inside: u32,
        /// Of which protocols.
        protocol: ForwardProtocol,
        /// The first and the last outside port.
        outside: (u16, u16),
        /// The host's port that the first one stands for.
        inside_first: u16,
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
    const VERSION: u16 = 6;
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
            Change::Rules { is_end } => out.extend([RULES, is_end.into()]),
            Change::Static { inside, outside, len } => {
                out.push(STATIC);
                out.extend(inside.to_be_bytes());
                out.extend(outside.to_be_bytes());
                out.push(len);
            }
            Change::Host { outside, inside, dynamic } => {
                out.push(HOST);
                out.extend(outside.to_be_bytes());
                out.extend(inside.to_be_bytes());
                let (first, last) = dynamic.unwrap_or_default();
                out.extend(first.to_be_bytes());
                out.extend(last.to_be_bytes());
            }
            Change::Forward { inside, protocol, outside: (first, last), inside_first } => {
                out.push(FORWARD);
                out.extend(inside.to_be_bytes());
                out.push(match protocol {
                    ForwardProtocol::Both => 0,
                    ForwardProtocol::Tcp => protocol::TCP,
                    ForwardProtocol::Udp => protocol::UDP,
                });
                for port in [first, last, inside_first] {
                    out.extend(port.to_be_bytes());
                }
            }
        }
    }

    fn read(bytes: &mut &[u8]) -> Result<Change, Malformed> {
        let [kind] = take(bytes)?;
        match kind {
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
            RULES | STATIC | HOST | FORWARD => read_rule(kind, bytes),
            _ => {
                let session = number(bytes)?;
                Ok(Change::Kept { number: session, kept: Kept::read(kind, bytes)? })
            }
        }
    }
}

/// Reads something of rules.
fn read_rule(kind: u8, bytes: &mut &[u8]) -> Result<Change, Malformed> {
    let port = |bytes: &mut &[u8]| take(bytes).map(u16::from_be_bytes);
    match kind {
        RULES => match take(bytes)? {
            [is_end @ (0 | 1)] => Ok(Change::Rules { is_end: is_end == 1 }),
            _ => Err(Malformed("neither begin nor end of rules")),
        },
        STATIC => {
            let (inside, outside) = (number(bytes)?, number(bytes)?);
            match take(bytes)? {
                [len @ 1..=32] => Ok(Change::Static { inside, outside, len }),
                _ => Err(Malformed("a rule of no prefix length")),
            }
        }
        HOST => {
            let (outside, inside) = (number(bytes)?, number(bytes)?);
            match (port(bytes)?, port(bytes)?) {
                (0, 0) => Ok(Change::Host { outside, inside, dynamic: None }),
                (first, last) if 0 < first && first <= last => {
                    Ok(Change::Host { outside, inside, dynamic: Some((first, last)) })
                }
                _ => Err(Malformed("a host with no range of ports")),
            }
        }
        _ => {
            let inside = number(bytes)?;
            let protocol = match take(bytes)? {
                [0] => ForwardProtocol::Both,
                [protocol::TCP] => ForwardProtocol::Tcp,
                [protocol::UDP] => ForwardProtocol::Udp,
                _ => return Err(Malformed("forwarded ports of no protocol")),
            };
            let outside = (port(bytes)?, port(bytes)?);
            Ok(Change::Forward { inside, protocol, outside, inside_first: port(bytes)? })
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
const RULES: u8 = 12;
const STATIC: u8 = 13;
const HOST: u8 = 14;
const FORWARD: u8 = 15;

/// Of a session's flags: something is kept of it alone.
const KEPT: u8 = 8;
