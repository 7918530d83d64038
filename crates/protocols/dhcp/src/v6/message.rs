//! Messages of DHCPv6 (RFC 8415 sections 8, 9 and 21), as views that are checked once.
//!
//! ```text
//!  client, server:  | msg-type | transaction-id (3) | options: code (2), length (2), value ...   |
//!  relay agents:    | msg-type | hop-count | link-address (16) | peer-address (16) | options ... |
//!  IA_NA, IA_PD:    | IAID (4) | T1 (4) | T2 (4) | options: addresses or prefixes, a status      |
//!  IAADDR:          | address (16) | preferred (4) | valid (4) | options: a status               |
//!  IAPREFIX:        | preferred (4) | valid (4) | length | prefix (16) | options: a status       |
//! ```
//! Options are walked where they may lie and no deeper: what a message nests is bounded by this
//! table, and by [`RELAYS_MAX`] relay agents around it.

use std::net::Ipv6Addr;

use crate::octets::{Items, array};
use crate::prefix::{Kind, Prefix};

/// Options that are well formed, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

/// A message of a client or server that is well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The message type, one of [`kind`].
    pub kind: u8,
    /// The number of the transaction.
    pub xid: [u8; 3],
    /// Its options.
    pub options: Options<'a>,
}

/// A message that relay agents have passed on, with what each of them has added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relayed<'a> {
    /// The relay agents, the last one first.
    pub hops: Vec<Hop<'a>>,
    /// What the client has sent, or is sent.
    pub message: Message<'a>,
}

/// What a relay agent has put around a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop<'a> {
    /// The message type.
    pub kind: u8,
    /// Relay agents before this one.
    pub hops: u8,
    /// An address of the link that the client is on.
    pub link: Ipv6Addr,
    /// Whom this relay agent has it from, and the answer goes to.
    pub peer: Ipv6Addr,
    /// Its options.
    pub options: Options<'a>,
    /// The message in it.
    pub inner: &'a [u8],
}

/// An identity association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ia<'a> {
    /// What it is for.
    pub kind: Kind,
    /// Its number, which the client has chosen.
    pub iaid: u32,
    /// After how many seconds it is renewed.
    pub t1: u32,
    /// After how many it is rebound.
    pub t2: u32,
    /// Its options.
    pub options: Options<'a>,
}

/// An address or prefix in an identity association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What it is; `None` for a prefix that has bits behind its length.
    pub prefix: Option<Prefix>,
    /// For how many seconds it is preferred.
    pub preferred: u32,
    /// For how many it is valid.
    pub valid: u32,
}

/// Bytes that are no message, or one that must not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Shorter than the fixed fields.
    #[error("shorter than the fixed fields")]
    Short,
    /// Longer than any message may be.
    #[error("longer than {LEN_MAX} bytes")]
    Long,
    /// Options go past their end.
    #[error("an option that goes past its end")]
    Options,
    /// An option of another length than it has by its standard.
    #[error("option {0} has a wrong length")]
    Length(u16),
    /// An option occurs twice that may occur once.
    #[error("option {0} occurs twice")]
    Twice(u16),
    /// More identity associations than a message may have.
    #[error("more than {IAS_MAX} identity associations")]
    Associations,
    /// Relay agents around it that are too many, or that carry no message.
    #[error("relay agents without a message, or more than {RELAYS_MAX} of them")]
    Relays,
}

impl<'a> Options<'a> {
    /// Every option, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        Items::<2>::new(self.0)
    }

    /// The first option of a code.
    pub fn get(&self, code: u16) -> Option<&'a [u8]> {
        self.iter().find(|(found, _)| *found == code).map(|(_, value)| value)
    }

    /// The identity associations, in order.
    pub fn ias(&self) -> impl Iterator<Item = Ia<'a>> {
        self.iter().filter_map(|(code, value)| {
            let kind = match code {
                code::IA_NA => Kind::Address,
                code::IA_PD => Kind::Delegated,
                _ => return None,
            };
            let [iaid, t1, t2] = [0, 4, 8].map(|at| u32::from_be_bytes(array(value, at)));
            Some(Ia { kind, iaid, t1, t2, options: Options(value.get(12..)?) })
        })
    }

    /// Whether every address and prefix in it is one that a lease can hold: none is temporary, has
    /// bits behind its length, or stands in an association of the other kind.
    pub fn can_be_held(&self) -> bool {
        let has = |options: Options<'_>, code| options.get(code).is_some();
        let is_temporary = |(code, value): (u16, &'a [u8])| {
            let inner = Options(value.get(4..).unwrap_or_default());
            code == code::IA_TA && has(inner, code::IA_ADDRESS)
        };
        let is_right = |ia: Ia<'a>| {
            let other = if ia.kind == Kind::Address { code::IA_PREFIX } else { code::IA_ADDRESS };
            !has(ia.options, other) && ia.leaves().all(|leaf| leaf.prefix.is_some())
        };
        !self.iter().any(is_temporary) && self.ias().all(is_right)
    }

    /// The code of a status; success if there is none.
    pub fn status(&self) -> u16 {
        self.get(code::STATUS).map_or(status::SUCCESS, |value| u16::from_be_bytes(array(value, 0)))
    }

    /// Whether an option is asked for (option 6).
    pub fn asks_for(&self, code: u16) -> bool {
        let mut asked = self.get(code::REQUESTED).unwrap_or_default().chunks_exact(2);
        asked.any(|one| one == code.to_be_bytes())
    }

    fn check(bytes: &'a [u8]) -> Result<Options<'a>, Malformed> {
        let mut items = Items::<2>::new(bytes);
        items.by_ref().for_each(drop);
        match items.rest() {
            [] => Ok(Options(bytes)),
            _ => Err(Malformed::Options),
        }
    }

    /// Checks the options of a message, and what lies in them.
    fn check_message(bytes: &'a [u8]) -> Result<Options<'a>, Malformed> {
        let options = Options::check(bytes)?;
        let mut ias = 0;
        let mut once = [false; ONCE.len()];
        for (code, value) in options.iter() {
            let fits = match code {
                code::CLIENT | code::SERVER => (3..=DUID_MAX).contains(&value.len()),
                code::IA_NA | code::IA_PD | code::IA_TA => {
                    ias += 1;
                    let fixed = if code == code::IA_TA { 4 } else { 12 };
                    let inner = value.get(fixed..).ok_or(Malformed::Length(code))?;
                    Options::check_ia(inner)?;
                    true
                }
                code::REQUESTED => value.len() % 2 == 0,
                code::ELAPSED => value.len() == 2,
                code::RAPID_COMMIT => value.is_empty(),
                code::PREFERENCE => value.len() == 1,
                code::STATUS => value.len() >= 2,
                _ => true,
            };
            if !fits {
                return Err(Malformed::Length(code));
            }
            if let Some(place) = ONCE.iter().position(|one| *one == code)
                && std::mem::replace(&mut once[place], true)
            {
                return Err(Malformed::Twice(code));
            }
        }
        if ias > IAS_MAX { Err(Malformed::Associations) } else { Ok(options) }
    }

    fn check_ia(bytes: &'a [u8]) -> Result<(), Malformed> {
        for (code, value) in Options::check(bytes)?.iter() {
            let fixed = match code {
                code::IA_ADDRESS => 24,
                code::IA_PREFIX => 25,
                code::STATUS if value.len() < 2 => return Err(Malformed::Length(code)),
                _ => continue,
            };
            let inner = value.get(fixed..).ok_or(Malformed::Length(code))?;
            let is_long = code == code::IA_PREFIX && value[8] > 128;
            if is_long || Options::check(inner)?.get(code::STATUS).is_some_and(|v| v.len() < 2) {
                return Err(Malformed::Length(code));
            }
        }
        Ok(())
    }
}

impl Ia<'_> {
    /// Its addresses or prefixes, in order.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf> {
        self.options.iter().filter_map(|(code, value)| {
            let (address, len, times) = match (self.kind, code) {
                (Kind::Address, code::IA_ADDRESS) => (0, 128, [16, 20]),
                (Kind::Delegated, code::IA_PREFIX) => (9, array::<1>(value, 8)[0], [0, 4]),
                _ => return None,
            };
            let address = Ipv6Addr::from(array::<16>(value, address));
            let [preferred, valid] = times.map(|at| u32::from_be_bytes(array(value, at)));
            Some(Leaf { prefix: Prefix::new(address.into(), len), preferred, valid })
        })
    }
}

impl<'a> Message<'a> {
    /// Checks a message of a client or server.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Message<'a>, Malformed> {
        if bytes.len() > LEN_MAX {
            return Err(Malformed::Long);
        }
        let ([kind, xid @ ..], rest) = bytes.split_first_chunk::<4>().ok_or(Malformed::Short)?;
        if matches!(*kind, kind::RELAY_FORWARD | kind::RELAY_REPLY) {
            return Err(Malformed::Relays);
        }
        Ok(Message { kind: *kind, xid: *xid, options: Options::check_message(rest)? })
    }

    /// The client's identifier (DUID).
    pub fn client(&self) -> Option<&'a [u8]> {
        self.options.get(code::CLIENT)
    }

    /// The server's identifier.
    pub fn server(&self) -> Option<&'a [u8]> {
        self.options.get(code::SERVER)
    }
}

impl<'a> Hop<'a> {
    /// Checks what a relay agent has put around a message, and not that message.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Hop<'a>, Malformed> {
        if bytes.len() > LEN_MAX {
            return Err(Malformed::Long);
        }
        let (fixed, rest) = bytes.split_first_chunk::<RELAY_LEN>().ok_or(Malformed::Short)?;
        if !matches!(fixed[0], kind::RELAY_FORWARD | kind::RELAY_REPLY) {
            return Err(Malformed::Relays);
        }
        let options = Options::check(rest)?;
        Ok(Hop {
            kind: fixed[0],
            hops: fixed[1],
            link: array::<16>(fixed, 2).into(),
            peer: array::<16>(fixed, 18).into(),
            options,
            inner: options.get(code::RELAY_MESSAGE).ok_or(Malformed::Relays)?,
        })
    }
}

impl<'a> Relayed<'a> {
    /// Checks a message with everything that relay agents have put around it.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Relayed<'a>, Malformed> {
        let (mut hops, mut rest) = (Vec::new(), bytes);
        while matches!(rest.first(), Some(&(kind::RELAY_FORWARD | kind::RELAY_REPLY))) {
            let hop = Hop::parse(rest)?;
            if hops.len() == RELAYS_MAX
                || hops.first().is_some_and(|one: &Hop<'_>| one.kind != hop.kind)
            {
                return Err(Malformed::Relays);
            }
            rest = hop.inner;
            hops.push(hop);
        }
        Ok(Relayed { hops, message: Message::parse(rest)? })
    }

    /// An option of the relay agent nearest to the client.
    pub fn nearest(&self, code: u16) -> Option<&'a [u8]> {
        self.hops.last().and_then(|hop| hop.options.get(code))
    }
}

/// Message types (RFC 8415 section 7.3).
#[expect(missing_docs, reason = "they are those of the RFC")]
pub mod kind {
    pub const SOLICIT: u8 = 1;
    pub const ADVERTISE: u8 = 2;
    pub const REQUEST: u8 = 3;
    pub const CONFIRM: u8 = 4;
    pub const RENEW: u8 = 5;
    pub const REBIND: u8 = 6;
    pub const REPLY: u8 = 7;
    pub const RELEASE: u8 = 8;
    pub const DECLINE: u8 = 9;
    pub const RECONFIGURE: u8 = 10;
    pub const INFORMATION: u8 = 11;
    pub const RELAY_FORWARD: u8 = 12;
    pub const RELAY_REPLY: u8 = 13;
}

/// Codes of options (RFC 8415 section 21, RFC 3646, RFC 4649, RFC 8910).
#[expect(missing_docs, reason = "they are those of the RFCs")]
pub mod code {
    pub const CLIENT: u16 = 1;
    pub const SERVER: u16 = 2;
    pub const IA_NA: u16 = 3;
    pub const IA_TA: u16 = 4;
    pub const IA_ADDRESS: u16 = 5;
    pub const REQUESTED: u16 = 6;
    pub const PREFERENCE: u16 = 7;
    pub const ELAPSED: u16 = 8;
    pub const RELAY_MESSAGE: u16 = 9;
    pub const STATUS: u16 = 13;
    pub const RAPID_COMMIT: u16 = 14;
    pub const VENDOR_CLASS: u16 = 16;
    pub const INTERFACE: u16 = 18;
    pub const DNS: u16 = 23;
    pub const IA_PD: u16 = 25;
    pub const IA_PREFIX: u16 = 26;
    pub const REFRESH_TIME: u16 = 32;
    pub const REMOTE: u16 = 37;
    pub const CAPTIVE_PORTAL: u16 = 103;
}

/// Codes of a status (RFC 8415 section 21.13).
#[expect(missing_docs, reason = "they are those of the RFC")]
pub mod status {
    pub const SUCCESS: u16 = 0;
    pub const UNSPECIFIED: u16 = 1;
    pub const NO_ADDRESSES: u16 = 2;
    pub const NO_BINDING: u16 = 3;
    pub const NOT_ON_LINK: u16 = 4;
    pub const USE_MULTICAST: u16 = 5;
    pub const NO_PREFIXES: u16 = 6;
}

/// The longest message that is taken.
pub const LEN_MAX: usize = 4096;

/// Most identity associations of a message.
pub const IAS_MAX: usize = 16;

/// Most relay agents around a message (HOP_COUNT_LIMIT of RFC 8415 section 7.6).
pub const RELAYS_MAX: usize = 8;

/// The longest identifier (RFC 8415 section 11.1): a type and 128 bytes.
pub const DUID_MAX: usize = 130;

/// What stands before the options of a relay agent.
pub(crate) const RELAY_LEN: usize = 34;

/// Options that a message may have once.
const ONCE: [u16; 6] = [
    code::CLIENT,
    code::SERVER,
    code::REQUESTED,
    code::PREFERENCE,
    code::STATUS,
    code::RAPID_COMMIT,
];
