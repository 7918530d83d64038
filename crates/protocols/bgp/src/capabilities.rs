//! Capabilities (RFC 5492): what a speaker can do, as it says in its OPEN. A row each.
//!
//! ```text
//!  | code u8 | length u8 | value |
//!  1 multiprotocol      | AFI u16 | 0 | SAFI u8 |
//!  5 extended next hop  | AFI u16 | SAFI u16 | AFI of the next hop u16 | next ...
//!  9 role               | role u8 |
//!  64 graceful restart  | restarting, notification, 2 bits, time in seconds of 12 bits |
//!                       | AFI u16 | SAFI u8 | preserved 0x80 | next ...
//!  65 four-octet AS     | AS u32 |
//!  69 add-path          | AFI u16 | SAFI u8 | receives 1, sends 2, both 3 | next ...
//! ```

use crate::bytes::Reader;

/// What a speaker says that it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Routes of a family, by AFI and SAFI (RFC 4760).
    Multiprotocol(u16, u8),
    /// It tells all routes again when it is asked to (RFC 2918).
    RouteRefresh,
    /// Families by AFI and SAFI whose next hops may be of another AFI (RFC 8950).
    ExtendedNextHop(Vec<(u16, u16, u16)>),
    /// Messages of more than 4096 bytes (RFC 8654).
    ExtendedMessage,
    /// Its part in the relation with a neighbour (RFC 9234): the number of a [`Role`].
    Role(u8),
    /// What it keeps when it restarts (RFC 4724, RFC 8538).
    GracefulRestart(GracefulRestart),
    /// Its AS, of four bytes (RFC 6793).
    FourOctetAs(u32),
    /// Families by AFI and SAFI whose routes have path identifiers, and in which directions: 1 it
    /// receives, 2 it sends, 3 both (RFC 7911).
    AddPath(Vec<(u16, u8, u8)>),
    /// It says where routes told again begin and end (RFC 7313).
    EnhancedRefresh,
    /// Another one.
    Unknown {
        /// Its code.
        code: u8,
        /// Its value.
        value: Vec<u8>,
    },
}

/// What a speaker keeps when it restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GracefulRestart {
    /// Whether it has just restarted and waits for routes.
    pub is_restarting: bool,
    /// Whether NOTIFICATIONs and the hold timer are followed by it, too (RFC 8538).
    pub has_notification: bool,
    /// How long it may take until it is back, in seconds, below 4096.
    pub time_s: u16,
    /// Families by AFI and SAFI, and whether it has forwarded by their routes all the time.
    pub families: Vec<(u16, u8, bool)>,
}

/// A part in the relation of two neighbouring ASes (RFC 9234 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// It provides transit.
    Provider = 0,
    /// It is a route server.
    RouteServer = 1,
    /// It is a client of a route server.
    RouteServerClient = 2,
    /// It gets transit.
    Customer = 3,
    /// Both exchange routes of themselves and their customers.
    Peer = 4,
}

impl Role {
    /// Returns the part of the other side, by its number.
    pub fn other(self) -> u8 {
        match self {
            Role::Provider => Role::Customer as u8,
            Role::Customer => Role::Provider as u8,
            Role::RouteServer => Role::RouteServerClient as u8,
            Role::RouteServerClient => Role::RouteServer as u8,
            Role::Peer => Role::Peer as u8,
        }
    }
}

/// What is known of a capability.
struct Row {
    code: u8,
    /// Reads its value; `None` where it is none.
    read: fn(Reader<'_>) -> Option<Capability>,
    /// Writes its value, if it is of this row.
    write: fn(&Capability, &mut Vec<u8>) -> bool,
}

/// The capabilities that are known.
const CAPABILITIES: &[Row] = &[
    Row {
        code: 1,
        read: |mut from| Some(Capability::Multiprotocol(from.u16()?, *from.take(2)?.last()?)),
        write: |capability, out| {
            let Capability::Multiprotocol(afi, safi) = capability else { return false };
            out.extend(afi.to_be_bytes());
            out.extend([0, *safi]);
            true
        },
    },
    Row {
        code: 2,
        read: |_| Some(Capability::RouteRefresh),
        write: |capability, _| *capability == Capability::RouteRefresh,
    },
    Row {
        code: 5,
        read: |from| {
            let one = |mut from: Reader<'_>| Some((from.u16()?, from.u16()?, from.u16()?));
            list(from, 6, one).map(Capability::ExtendedNextHop)
        },
        write: |capability, out| {
            let Capability::ExtendedNextHop(list) = capability else { return false };
            for (afi, safi, next_hop) in list {
                out.extend([*afi, *safi, *next_hop].map(u16::to_be_bytes).as_flattened());
            }
            true
        },
    },
    Row {
        code: 6,
        read: |_| Some(Capability::ExtendedMessage),
        write: |capability, _| *capability == Capability::ExtendedMessage,
    },
    Row {
        code: 9,
        read: |mut from| from.u8().filter(|_| from.is_empty()).map(Capability::Role),
        write: |capability, out| {
            let Capability::Role(role) = capability else { return false };
            out.push(*role);
            true
        },
    },
    Row {
        code: 64,
        read: |mut from| {
            let word = from.u16()?;
            let one =
                |mut from: Reader<'_>| Some((from.u16()?, from.u8()?, from.u8()? & 0x80 != 0));
            Some(Capability::GracefulRestart(GracefulRestart {
                is_restarting: word & 0x8000 != 0,
                has_notification: word & 0x4000 != 0,
                time_s: word & 0x0fff,
                families: list(from, 4, one)?,
            }))
        },
        write: |capability, out| {
            let Capability::GracefulRestart(restart) = capability else { return false };
            let flags = [(restart.is_restarting, 0x8000), (restart.has_notification, 0x4000)];
            let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag);
            let word: u16 = flags.sum::<u16>() | restart.time_s & 0x0fff;
            out.extend(word.to_be_bytes());
            for (afi, safi, is_preserved) in &restart.families {
                out.extend(afi.to_be_bytes());
                out.extend([*safi, u8::from(*is_preserved) << 7]);
            }
            true
        },
    },
    Row {
        code: 65,
        read: |mut from| from.u32().filter(|_| from.is_empty()).map(Capability::FourOctetAs),
        write: |capability, out| {
            let Capability::FourOctetAs(asn) = capability else { return false };
            out.extend(asn.to_be_bytes());
            true
        },
    },
    Row {
        code: 69,
        read: |from| {
            let one = |mut from: Reader<'_>| Some((from.u16()?, from.u8()?, from.u8()?));
            list(from, 4, one).map(Capability::AddPath)
        },
        write: |capability, out| {
            let Capability::AddPath(list) = capability else { return false };
            for (afi, safi, directions) in list {
                out.extend(afi.to_be_bytes());
                out.extend([*safi, *directions]);
            }
            true
        },
    },
    Row {
        code: 70,
        read: |_| Some(Capability::EnhancedRefresh),
        write: |capability, _| *capability == Capability::EnhancedRefresh,
    },
];

/// Entries of a length each that fill what is left.
fn list<'a, T>(
    from: Reader<'a>,
    len: usize,
    one: impl Fn(Reader<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let all = from.0.chunks_exact(len);
    if !all.remainder().is_empty() {
        return None;
    }
    all.map(|entry| one(Reader(entry))).collect()
}

/// Reads capabilities, one behind the other, and adds them; `None` where there are none.
pub(crate) fn read(mut from: Reader<'_>, all: &mut Vec<Capability>) -> Option<()> {
    while !from.is_empty() {
        let code = from.u8()?;
        let value = from.counted()?;
        all.push(match CAPABILITIES.iter().find(|row| row.code == code) {
            Some(row) => (row.read)(Reader(value))?,
            None => Capability::Unknown { code, value: value.to_vec() },
        });
    }
    Some(())
}

impl Capability {
    /// Returns its code.
    pub fn code(&self) -> u8 {
        if let Capability::Unknown { code, .. } = self {
            return *code;
        }
        let row = CAPABILITIES.iter().find(|row| (row.write)(self, &mut Vec::new()));
        row.map_or(0, |row| row.code)
    }

    /// Appends it; nothing if its value has more than 255 bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        let code = match self {
            Capability::Unknown { code, value: bytes } => {
                value.extend(bytes);
                *code
            }
            known => match CAPABILITIES.iter().find(|row| (row.write)(known, &mut value)) {
                Some(row) => row.code,
                None => return,
            },
        };
        if let Ok(len) = u8::try_from(value.len()) {
            out.extend([code, len]);
            out.extend(value);
        }
    }
}
