//! A message of DHCPv4 (RFC 2131 section 2, RFC 2132), as a view that is checked once.
//!
//! ```text
//!  0       1       2       3       4           8       10      12      16      20      24
//!  +-------+-------+-------+-------+-----------+-------+-------+-------+-------+-------+-------+
//!  |  op   | htype | hlen  | hops  |    xid    | secs  | flags |ciaddr |yiaddr |siaddr |giaddr |
//!  +-------+-------+-------+-------+-----------+-------+-------+-------+-------+-------+-------+
//!  28          44            108            236     240
//!  +-----------+-------------+--------------+-------+------------------------------------------+
//!  |  chaddr   |    sname    |     file     | magic | options: code, length, value ...     255 |
//!  +-----------+-------------+--------------+-------+------------------------------------------+
//! ```
//! What stands in `file` and `sname` by option 52 is read behind the options, and an option that
//! occurs several times is one (RFC 3396). Nothing is kept beyond the bytes themselves.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use crate::octets::{Items, array};

/// A message that is well formed: options of fixed length have it, a message type is there.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    /// Options, and `file` and `sname` where these have some.
    areas: [&'a [u8]; 3],
    kind: u8,
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
    /// Neither a request nor a reply.
    #[error("an operation that is neither 1 nor 2")]
    Operation,
    /// A hardware address of more than 16 bytes.
    #[error("a hardware address of more than 16 bytes")]
    Hardware,
    /// No magic cookie.
    #[error("no magic cookie of RFC 2131")]
    Magic,
    /// The options do not end where the message does.
    #[error("an option that goes past its area")]
    Options,
    /// An option of another length than it has by its standard.
    #[error("option {0} has a wrong length")]
    Length(u8),
    /// No message type.
    #[error("no message type")]
    Kind,
}

impl<'a> Message<'a> {
    /// Checks a message.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Message<'a>, Malformed> {
        if bytes.len() > LEN_MAX {
            return Err(Malformed::Long);
        }
        if bytes.len() < OPTIONS_AT {
            return Err(Malformed::Short);
        }
        if !matches!(bytes[0], REQUEST_OP | REPLY_OP) {
            return Err(Malformed::Operation);
        }
        if bytes[2] > 16 {
            return Err(Malformed::Hardware);
        }
        if bytes[236..OPTIONS_AT] != MAGIC {
            return Err(Malformed::Magic);
        }
        let mut message = Message { bytes, areas: [&bytes[OPTIONS_AT..], &[], &[]], kind: 0 };
        message.check_areas()?;
        if let Some(overload) = message.option(code::OVERLOAD) {
            let [overload @ 1..=3] = *overload else {
                return Err(Malformed::Length(code::OVERLOAD));
            };
            let areas = [(1, &bytes[108..236]), (2, &bytes[44..108])];
            for (area, (bit, bytes)) in message.areas[1..].iter_mut().zip(areas) {
                *area = if overload & bit != 0 { bytes } else { &[] };
            }
            message.check_areas()?;
        }
        for (code, lengths) in LENGTHS {
            let len = message.option(*code).map(|value| value.len());
            if len.is_some_and(|len| !lengths.contains(&len)) {
                return Err(Malformed::Length(*code));
            }
        }
        if let Some(agent) = message.option(code::RELAY_AGENT) {
            let mut items = Items::<1>::new(&agent);
            // Sub-options have neither padding nor an end, but both are harmless.
            items.by_ref().for_each(drop);
            if !items.rest().is_empty() {
                return Err(Malformed::Length(code::RELAY_AGENT));
            }
        }
        message.kind = message.option(code::KIND).map(|kind| kind[0]).ok_or(Malformed::Kind)?;
        Ok(message)
    }

    fn check_areas(&self) -> Result<(), Malformed> {
        for area in self.areas {
            let mut items = Items::<1>::new(area);
            items.by_ref().for_each(drop);
            if !items.rest().is_empty() {
                return Err(Malformed::Options);
            }
        }
        Ok(())
    }

    /// The message itself.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it is a reply, which servers send.
    pub fn is_reply(&self) -> bool {
        self.bytes[0] == REPLY_OP
    }

    /// The message type (option 53), one of [`kind`].
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// The type of the hardware address.
    pub fn htype(&self) -> u8 {
        self.bytes[1]
    }

    /// Relay agents that it has passed.
    pub fn hops(&self) -> u8 {
        self.bytes[3]
    }

    /// The number of the transaction.
    pub fn xid(&self) -> u32 {
        u32::from_be_bytes(array(self.bytes, 4))
    }

    /// The flags, of which [`BROADCAST`] is one.
    pub fn flags(&self) -> u16 {
        u16::from_be_bytes(array(self.bytes, 10))
    }

    /// The address that the client has already.
    pub fn ciaddr(&self) -> Ipv4Addr {
        array(self.bytes, 12).into()
    }

    /// The address that the client is given.
    pub fn yiaddr(&self) -> Ipv4Addr {
        array(self.bytes, 16).into()
    }

    /// The address of the relay agent.
    pub fn giaddr(&self) -> Ipv4Addr {
        array(self.bytes, 24).into()
    }

    /// The hardware address, of at most 16 bytes.
    pub fn chaddr(&self) -> &'a [u8] {
        &self.bytes[28..][..usize::from(self.bytes[2])]
    }

    /// The whole field of the hardware address.
    pub fn chaddr_field(&self) -> [u8; 16] {
        array(self.bytes, 28)
    }

    /// Every option as it stands, in the order of areas.
    pub fn options(&self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let all = self.areas.into_iter().flat_map(Items::<1>::new);
        all.map(|(code, value)| (code as u8, value))
    }

    /// The value of an option, whose parts are joined; `None` if it is not there.
    pub fn option(&self, code: u8) -> Option<Cow<'a, [u8]>> {
        let mut parts = self.options().filter(|(found, _)| *found == code);
        let (_, first) = parts.next()?;
        let Some((_, second)) = parts.next() else { return Some(Cow::Borrowed(first)) };
        let mut joined = [first, second].concat();
        parts.for_each(|(_, part)| joined.extend(part));
        Some(Cow::Owned(joined))
    }

    /// The address that an option is; `None` if it is not there or of another length.
    pub fn address(&self, code: u8) -> Option<Ipv4Addr> {
        let octets: [u8; 4] = self.option(code)?.as_ref().try_into().ok()?;
        Some(octets.into())
    }

    /// The number that an option of 4 bytes is.
    pub fn number(&self, code: u8) -> Option<u32> {
        self.address(code).map(Ipv4Addr::to_bits)
    }

    /// A sub-option of the relay agent's option (RFC 3046).
    pub fn agent(&self, sub: u8) -> Option<Vec<u8>> {
        let agent = self.option(code::RELAY_AGENT)?;
        let found = Items::<1>::new(&agent).find(|(code, _)| *code == u16::from(sub));
        found.map(|(_, value)| value.to_vec())
    }
}

/// Message types (RFC 2132 section 9.6).
#[expect(missing_docs, reason = "they are those of the RFC")]
pub mod kind {
    pub const DISCOVER: u8 = 1;
    pub const OFFER: u8 = 2;
    pub const REQUEST: u8 = 3;
    pub const DECLINE: u8 = 4;
    pub const ACK: u8 = 5;
    pub const NAK: u8 = 6;
    pub const RELEASE: u8 = 7;
    pub const INFORM: u8 = 8;
}

/// Codes of options (RFC 2132, RFC 3046, RFC 8910, RFC 8925).
#[expect(missing_docs, reason = "they are those of the RFCs")]
pub mod code {
    pub const SUBNET_MASK: u8 = 1;
    pub const ROUTER: u8 = 3;
    pub const DNS: u8 = 6;
    pub const HOST_NAME: u8 = 12;
    pub const REQUESTED_ADDRESS: u8 = 50;
    pub const LEASE_TIME: u8 = 51;
    pub const OVERLOAD: u8 = 52;
    pub const KIND: u8 = 53;
    pub const SERVER: u8 = 54;
    pub const PARAMETERS: u8 = 55;
    pub const MESSAGE: u8 = 56;
    pub const SIZE_MAX: u8 = 57;
    pub const RENEWAL: u8 = 58;
    pub const REBINDING: u8 = 59;
    pub const VENDOR_CLASS: u8 = 60;
    pub const CLIENT: u8 = 61;
    pub const RELAY_AGENT: u8 = 82;
    pub const V6_ONLY: u8 = 108;
    pub const CAPTIVE_PORTAL: u8 = 114;
    pub const END: u8 = 255;
}

/// Sub-options of the relay agent's option (RFC 3046, RFC 5010, RFC 5107).
#[expect(missing_docs, reason = "they are those of the RFCs")]
pub mod agent {
    pub const CIRCUIT: u8 = 1;
    pub const REMOTE: u8 = 2;
    pub const LINK_SELECTION: u8 = 5;
    pub const FLAGS: u8 = 10;
    pub const SERVER_OVERRIDE: u8 = 11;
}

/// The flag of a client that takes no unicast before it has an address.
pub const BROADCAST: u16 = 0x8000;

/// The operation of a client.
pub const REQUEST_OP: u8 = 1;

/// The operation of a server.
pub const REPLY_OP: u8 = 2;

/// Where options begin.
pub(crate) const OPTIONS_AT: usize = 240;

pub(crate) const MAGIC: [u8; 4] = [99, 130, 83, 99];

/// The longest message that is taken.
pub const LEN_MAX: usize = 4096;

/// Options of which the length is fixed, or has a least one.
const LENGTHS: &[(u8, std::ops::RangeInclusive<usize>)] = &[
    (code::REQUESTED_ADDRESS, 4..=4),
    (code::LEASE_TIME, 4..=4),
    (code::KIND, 1..=1),
    (code::SERVER, 4..=4),
    (code::SIZE_MAX, 2..=2),
    (code::RENEWAL, 4..=4),
    (code::REBINDING, 4..=4),
    (code::CLIENT, 2..=LEN_MAX),
];
