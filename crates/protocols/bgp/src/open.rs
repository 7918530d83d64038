//! The OPEN message (RFC 4271 section 4.2).
//!
//! ```text
//!  | version 4 | AS u16 | hold time in seconds u16 | identifier u32 | length u8 | parameters |
//!  parameter             | kind u8, 2 for capabilities | length u8 | value |
//!  extended (RFC 9072)   length 255 | 255 | length u16 | parameters with lengths of u16 |
//! ```

use crate::bytes::{Reader, put_len};
use crate::capabilities::{self, Capability};
use crate::message::{Kind, begin, end};
use crate::notification::{
    BAD_HOLD_TIME, BAD_IDENTIFIER, BAD_PEER_AS, Notification, OPEN_ERROR, UNSUPPORTED_PARAMETER,
    UNSUPPORTED_VERSION,
};
use crate::path::narrow_as;

/// What a speaker says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its AS: that of the capability for four bytes, if there is one.
    pub asn: u32,
    /// For how long it waits for a message at most, in seconds; 0 for ever.
    pub hold_time_s: u16,
    /// Its identifier, not 0.
    pub identifier: u32,
    /// What it can do. Its AS stands among it, too, if it knows ASes of four bytes.
    pub capabilities: Vec<Capability>,
}

impl Open {
    /// Reads the body of an OPEN.
    ///
    /// # Errors
    /// With what the peer is told (RFC 4271 section 6.2).
    pub fn read(body: &[u8]) -> Result<Open, Notification> {
        let malformed = || Notification::new(OPEN_ERROR);
        let mut from = Reader(body);
        if from.u8() != Some(VERSION) {
            return Err(Notification::with(UNSUPPORTED_VERSION, &[0, VERSION]));
        }
        let numbers = from.u16().zip(from.u16()).zip(from.u32());
        let ((asn, hold_time_s), identifier) = numbers.ok_or_else(malformed)?;
        let mut capabilities = Vec::new();
        parameters(from, &mut capabilities)?;
        let wide = capabilities.iter().find_map(|capability| match capability {
            Capability::FourOctetAs(asn) => Some(*asn),
            _ => None,
        });
        let asn = wide.unwrap_or(u32::from(asn));
        if asn == 0 {
            return Err(Notification::new(BAD_PEER_AS));
        }
        if hold_time_s == 1 || hold_time_s == 2 {
            return Err(Notification::new(BAD_HOLD_TIME));
        }
        if identifier == 0 {
            return Err(Notification::new(BAD_IDENTIFIER));
        }
        Ok(Open { asn, hold_time_s, identifier, capabilities })
    }

    /// Appends the whole message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(Kind::Open, out);
        out.push(VERSION);
        out.extend(narrow_as(self.asn).to_be_bytes());
        out.extend(self.hold_time_s.to_be_bytes());
        out.extend(self.identifier.to_be_bytes());
        let mut capabilities = Vec::new();
        self.capabilities.iter().for_each(|capability| capability.write(&mut capabilities));
        match capabilities.len() {
            0 => out.push(0),
            len @ ..=SHORT_MAX => {
                out.extend([len as u8 + 2, CAPABILITIES, len as u8]);
                out.extend(capabilities);
            }
            len => {
                out.extend([EXTENDED, EXTENDED, 0, 0, CAPABILITIES, 0, 0]);
                let at = out.len();
                put_len(out, at - 5, len + 3);
                put_len(out, at - 2, len);
                out.extend(capabilities);
            }
        }
        end(start, out);
    }
}

/// Reads the parameters behind their length.
fn parameters(mut from: Reader<'_>, all: &mut Vec<Capability>) -> Result<(), Notification> {
    let malformed = || Notification::new(OPEN_ERROR);
    let is_extended = matches!(from.0, [1..=u8::MAX, EXTENDED, ..]);
    let mut parameters = if is_extended {
        from.u16();
        from.counted_u16()
    } else {
        from.counted()
    };
    let parameters = parameters.as_mut().filter(|_| from.is_empty()).ok_or_else(malformed)?;
    let mut parameters = Reader(parameters);
    while !parameters.is_empty() {
        let kind = parameters.u8();
        let value = if is_extended { parameters.counted_u16() } else { parameters.counted() };
        let value = value.ok_or_else(malformed)?;
        if kind != Some(CAPABILITIES) {
            return Err(Notification::new(UNSUPPORTED_PARAMETER));
        }
        capabilities::read(Reader(value), all).ok_or_else(malformed)?;
    }
    Ok(())
}

/// The version of BGP.
const VERSION: u8 = 4;

/// The kind of a parameter with capabilities.
const CAPABILITIES: u8 = 2;

/// What says that lengths have two bytes (RFC 9072).
const EXTENDED: u8 = 255;

/// Most bytes of capabilities without that.
const SHORT_MAX: usize = 252;
