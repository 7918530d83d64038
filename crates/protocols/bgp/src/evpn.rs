//! NLRI of EVPN (RFC 7432 section 7, RFC 9136 section 3.1): which fields of each type tell routes
//! apart, and which are what a route carries.
//!
//! ```text
//!  1 per segment | RD 8 | segment 10 | tag 4 | label 3 |
//!  2 MAC         | RD 8 | segment 10 | tag 4 | 48 | MAC 6 | bits | IP 0, 4, 16 | label 3 | label 0, 3 |
//!  3 multicast   | RD 8 | tag 4 | bits | IP 4, 16 |
//!  4 segment     | RD 8 | segment 10 | bits | IP 4, 16 |
//!  5 prefix      | RD 8 | segment 10 | tag 4 | bits | IP 4, 16 | gateway 4, 16 | label 3 |
//! ```
//! A label belongs to no key, and neither do the segment of types 2 and 5 and the gateway: the key
//! of types 1, 2 and 5 is the type and the fields that are left. Routes of types 3, 4 and 6 to 11
//! (multicast, RFC 9251, RFC 9572) are keys as they lie on the wire.

use crate::octets::{Malformed, Octets, bytes_of};

/// The key and the rest of a route with its type and length; `None` if its type is not known.
pub(crate) fn read(wire: &[u8]) -> Result<Option<(Octets<'_>, Octets<'_>)>, Malformed> {
    let ([kind, _], value) = wire.split_first_chunk().ok_or(Malformed::Cut)?;
    let one = |at: usize| value.get(at).copied().ok_or(Malformed::Length);
    let part = |start: usize, len: usize| value.get(start..start + len).ok_or(Malformed::Length);
    let ends = |len: usize| if value.len() == len { Ok(()) } else { Err(Malformed::Length) };
    let kind = std::slice::from_ref(kind);
    let whole = || Ok(Some((Octets::Wire(wire), Octets::Wire(&[]))));
    match kind[0] {
        1 => {
            ends(25)?;
            Ok(Some((Octets::of(&[kind, part(0, 22)?]), Octets::Wire(part(22, 3)?))))
        }
        2 => {
            if one(22)? != 48 {
                return Err(Malformed::Length);
            }
            let ip = match one(29)? {
                0 => 0,
                bits => ip_len(bits)?,
            };
            let labels = value.len().checked_sub(30 + ip).filter(|len| [3, 6].contains(len));
            let labels = part(30 + ip, labels.ok_or(Malformed::Length)?)?;
            let key = Octets::of(&[kind, part(0, 8)?, part(18, 12 + ip)?]);
            Ok(Some((key, Octets::of(&[part(8, 10)?, labels]))))
        }
        3 => ends(13 + ip_len(one(12)?)?).and_then(|()| whole()),
        4 => ends(19 + ip_len(one(18)?)?).and_then(|()| whole()),
        5 => {
            let ip = match value.len() {
                34 => 4,
                58 => 16,
                _ => return Err(Malformed::Length),
            };
            let bits = one(22)?;
            if usize::from(bits) > ip * 8 {
                return Err(Malformed::Bits);
            }
            let mut key = Octets::of(&[kind, part(0, 8)?, part(18, 5 + bytes_of(bits))?]);
            key.clear_behind(bits);
            let zeros = &[0; 16][..ip - bytes_of(bits)];
            let key = Octets::of(&[key.as_slice(), zeros]);
            Ok(Some((key, Octets::of(&[part(8, 10)?, part(23 + ip, ip + 3)?]))))
        }
        6..=11 => whole(),
        _ => Ok(None),
    }
}

/// Appends the wire form of a key and a rest; what of the rest is absent is zero.
pub(crate) fn emit(key: &[u8], rest: &[u8], out: &mut Vec<u8>) {
    let Some((kind, fields)) = key.split_first() else { return };
    if ![1, 2, 5].contains(kind) {
        return out.extend(key);
    }
    let start = out.len();
    out.extend([*kind, 0]);
    let segment = rest.get(..SEGMENT_LEN).unwrap_or(&[0; SEGMENT_LEN]);
    let behind = rest.get(SEGMENT_LEN..).unwrap_or(&[]);
    if *kind == 1 {
        out.extend(fields);
        out.extend(if rest.is_empty() { &[0; LABEL_LEN] } else { rest });
    } else {
        let (distinguisher, fields) = fields.split_at(fields.len().min(8));
        out.extend(distinguisher);
        out.extend(segment);
        out.extend(fields);
        // Of type 5 there is a gateway as long as the address, behind its tag and bits.
        let gateway = if *kind == 5 { fields.len().saturating_sub(5) } else { 0 };
        let zeros = &[0; 16 + LABEL_LEN][..(gateway + LABEL_LEN).min(16 + LABEL_LEN)];
        out.extend(if behind.is_empty() { zeros } else { behind });
    }
    out[start + 1] = (out.len() - start - 2) as u8;
}

/// Bytes of an address of a number of bits.
fn ip_len(bits: u8) -> Result<usize, Malformed> {
    match bits {
        32 => Ok(4),
        128 => Ok(16),
        _ => Err(Malformed::Length),
    }
}

/// Bytes of an Ethernet Segment Identifier.
pub(crate) const SEGMENT_LEN: usize = 10;

const LABEL_LEN: usize = 3;
