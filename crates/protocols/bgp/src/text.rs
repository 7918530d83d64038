//! Routes as people read and write them.
//!
//! | family | text |
//! |---|---|
//! | `ipv4-unicast`, `ipv4-labelled` | `10.0.0.0/8` |
//! | `vpnv4`, `vpnv6` | `65000:1:10.0.0.0/8`: a Route Distinguisher and a prefix |
//! | `l2vpn-evpn` | `mac 65000:1 tag 0 00:00:5e:00:53:01 10.0.0.1` |
//! | `route-target` | `65000:target:65000:1`; with `/length` where that is not 96 |
//! | `vpls` | `65000:1 edge 1 block 0` |
//! | others | their bytes, `0x…` |

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::{Reader, u32_of};
use crate::evpn::SEGMENT_LEN;
use crate::families::{Family, Form};
use crate::octets::{bytes_of, cleared};

/// A route, by its family and its key.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a>(pub Family, pub &'a [u8]);

/// What a route carries beside its key, by its family, its key and the rest; empty for nothing.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a>(pub Family, pub &'a [u8], pub &'a [u8]);

/// A next hop: one address, or two, of which either may stand behind a Route Distinguisher of 0.
#[derive(Clone, Copy, Debug)]
pub struct NextHop<'a>(pub &'a [u8]);

/// A Route Distinguisher (RFC 4364 section 4.2).
#[derive(Clone, Copy, Debug)]
pub struct Distinguisher(pub [u8; 8]);

/// Bytes as digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Route<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Route(family, key) = *self;
        let written = match family.row().form {
            Form::Prefix { before, address, .. } => prefix(key, before, address, f),
            Form::RouteTarget => route_target(key, f),
            Form::Evpn => evpn(key, f),
            Form::Vpls => vpls(key, f),
            Form::Flow | Form::LinkState => None,
        };
        written.unwrap_or_else(|| Hex(key).fmt(f))
    }
}

impl fmt::Display for Carried<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Carried(family, key, rest) = *self;
        match (family.row().form, rest) {
            (_, []) => Ok(()),
            (Form::Evpn, _) if key.first() != Some(&1) => {
                let (segment, behind) = rest.split_at(rest.len().min(SEGMENT_LEN));
                if segment.iter().any(|byte| *byte != 0) {
                    write!(f, "segment {} ", Hex(segment))?;
                }
                if key.first() == Some(&5) {
                    let (gateway, label) = behind.split_at(behind.len().saturating_sub(3));
                    if gateway.iter().any(|byte| *byte != 0) {
                        write!(f, "gateway {} ", NextHop(gateway))?;
                    }
                    return labels(label, f);
                }
                labels(behind, f)
            }
            (Form::Vpls, _) => Hex(rest).fmt(f),
            _ => labels(rest, f),
        }
    }
}

impl fmt::Display for NextHop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ipv6 = |at: usize| address(self.0.get(at..at + 16)?);
        let (first, second) = match self.0.len() {
            4 => (address(self.0), None),
            12 => (address(&self.0[8..]), None),
            16 => (ipv6(0), None),
            24 => (ipv6(8), None),
            32 => (ipv6(0), ipv6(16)),
            48 => (ipv6(8), ipv6(32)),
            _ => (None, None),
        };
        match (first, second) {
            (Some(first), Some(second)) => write!(f, "{first} {second}"),
            (Some(first), None) => write!(f, "{first}"),
            _ if self.0.is_empty() => f.write_str("none"),
            _ => Hex(self.0).fmt(f),
        }
    }
}

impl fmt::Display for Distinguisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, kind, a, b, c, d, e, g] = self.0;
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([e, g]));
        match (self.0[0], kind) {
            (0, 0) => write!(f, "{high}:{}", u32::from_be_bytes([c, d, e, g])),
            (0, 1) => write!(f, "{}:{low}", Ipv4Addr::new(a, b, c, d)),
            (0, 2) => write!(f, "{}:{low}", u32::from_be_bytes([a, b, c, d])),
            _ => Hex(&self.0).fmt(f),
        }
    }
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The address of 4 or 16 bytes.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

fn prefix(
    key: &[u8],
    before: u8,
    address_bits: u8,
    f: &mut fmt::Formatter<'_>,
) -> Option<fmt::Result> {
    let mut from = Reader(key);
    let bits = from.u8()?.checked_sub(before)?;
    let distinguisher = if before > 0 { Some(Distinguisher(from.array()?)) } else { None };
    let mut bytes = [0; 16];
    bytes.get_mut(..from.0.len())?.copy_from_slice(from.0);
    let address = address(&bytes[..bytes_of(address_bits)])?;
    Some(match distinguisher {
        Some(distinguisher) => write!(f, "{distinguisher}:{address}/{bits}"),
        None => write!(f, "{address}/{bits}"),
    })
}

fn route_target(key: &[u8], f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
    let (bits, bytes) = key.split_first()?;
    if *bits == 0 {
        return Some(f.write_str("default"));
    }
    let mut all = [0; 12];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let (asn, target) = all.split_first_chunk::<4>()?;
    let target = ExtendedCommunity(*target.first_chunk()?);
    Some(match bits {
        96 => write!(f, "{}:{target}", u32_of(asn)),
        _ => write!(f, "{}:{target}/{bits}", u32_of(asn)),
    })
}

fn evpn(key: &[u8], f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
    let (kind, _) = key.split_first()?;
    let mut from = Reader(key.get(if [1, 2, 5].contains(kind) { 1 } else { 2 }..)?);
    let distinguisher = Distinguisher(from.array()?);
    Some(match kind {
        1 => {
            let segment = from.take(SEGMENT_LEN)?;
            write!(f, "segment {distinguisher} tag {1} {}", Hex(segment), from.u32()?)
        }
        2 => {
            let (tag, _) = from.u32().zip(from.u8())?;
            let mac: [u8; 6] = from.array()?;
            let mac = mac.map(|byte| format!("{byte:02x}")).join(":");
            from.u8()?;
            match address(from.0) {
                Some(address) => write!(f, "mac {distinguisher} tag {tag} {mac} {address}"),
                None => write!(f, "mac {distinguisher} tag {tag} {mac}"),
            }
        }
        3 => {
            let (tag, _) = from.u32().zip(from.u8())?;
            write!(f, "multicast {distinguisher} tag {tag} {}", address(from.0)?)
        }
        4 => {
            let (segment, _) = from.take(SEGMENT_LEN).zip(from.u8())?;
            write!(f, "edge {distinguisher} {} {}", Hex(segment), address(from.0)?)
        }
        5 => {
            let (tag, bits) = from.u32().zip(from.u8())?;
            write!(f, "prefix {distinguisher} tag {tag} {}/{bits}", address(from.0)?)
        }
        kind => write!(f, "type {kind} {distinguisher} {}", Hex(from.0)),
    })
}

fn vpls(key: &[u8], f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
    let mut from = Reader(key);
    let distinguisher = Distinguisher(from.array()?);
    let (edge, block) = from.u16().zip(from.u16())?;
    Some(write!(f, "{distinguisher} edge {edge} block {block}"))
}

fn labels(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, label) in bytes.chunks(3).enumerate() {
        let number = label.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)) >> 4;
        write!(f, "{}label {number}", if at > 0 { " " } else { "" })?;
    }
    Ok(())
}

/// An extended community (RFC 4360, RFC 5668).
#[derive(Clone, Copy, Debug)]
pub struct ExtendedCommunity(pub [u8; 8]);

impl fmt::Display for ExtendedCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, what, value @ ..] = self.0;
        let name = match what {
            2 => "target",
            3 => "origin",
            _ => return Hex(&self.0).fmt(f),
        };
        // The bit of those that are not passed on to other ASes does not count here.
        match kind & 0xbf {
            kind @ 0..=2 => {
                let [a, b, c, d, e, g] = value;
                write!(f, "{name}:{}", Distinguisher([0, kind, a, b, c, d, e, g]))
            }
            _ => Hex(&self.0).fmt(f),
        }
    }
}

/// Why a text is no route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotARoute {
    /// The family has no text from which its routes are read.
    #[error("routes of {0} cannot be named by a text")]
    Family(Family),
    /// It is none of this family.
    #[error("`{text}` is no route of {family}: write {form}")]
    Text {
        /// The text.
        text: String,
        /// The family.
        family: Family,
        /// What would be one.
        form: &'static str,
    },
}

/// Reads the key of a route from a text: a prefix, or an address that stands for itself alone; of a
/// VPN behind a Route Distinguisher. Bits behind the length are cleared.
///
/// # Errors
/// When it is none.
pub fn parse(family: Family, text: &str) -> Result<Vec<u8>, NotARoute> {
    let Form::Prefix { before, address, .. } = family.row().form else {
        return Err(NotARoute::Family(family));
    };
    let form = match (before, address) {
        (0, 32) => "10.0.0.0/8",
        (0, _) => "2001:db8::/32",
        (_, 32) => "65000:1:10.0.0.0/8",
        _ => "65000:1:2001:db8::/32",
    };
    let error = || NotARoute::Text { text: text.to_owned(), family, form };
    let (distinguisher, prefix) = match before {
        0 => (Vec::new(), text),
        _ => {
            let second = text.match_indices(':').nth(1).ok_or_else(error)?.0;
            let distinguisher = parse_distinguisher(&text[..second]).ok_or_else(error)?;
            (distinguisher.to_vec(), &text[second + 1..])
        }
    };
    let (host, bits) = match prefix.split_once('/') {
        Some((host, bits)) => (host, bits.parse::<u8>().map_err(|_| error())?),
        None => (prefix, address),
    };
    let octets = match address {
        32 => host.parse::<Ipv4Addr>().map(|host| host.octets().to_vec()),
        _ => host.parse::<Ipv6Addr>().map(|host| host.octets().to_vec()),
    };
    let octets = octets.map_err(|_| error())?;
    let octets = octets.get(..bytes_of(bits)).filter(|_| bits <= address).ok_or_else(error)?;
    let key = [&[before + bits], &distinguisher[..], octets].concat();
    Ok(cleared(&key, bits).as_slice().to_vec())
}

/// Reads a Route Distinguisher: `65000:1` or `192.0.2.1:1`. An AS of two bytes leaves four to the
/// number.
pub fn parse_distinguisher(text: &str) -> Option<[u8; 8]> {
    let (left, right) = text.split_once(':')?;
    let mut bytes = [0; 8];
    if let Ok(address) = left.parse::<Ipv4Addr>() {
        bytes[1] = 1;
        bytes[2..6].copy_from_slice(&address.octets());
        bytes[6..].copy_from_slice(&right.parse::<u16>().ok()?.to_be_bytes());
    } else if let Ok(asn) = left.parse::<u16>() {
        bytes[2..4].copy_from_slice(&asn.to_be_bytes());
        bytes[4..].copy_from_slice(&right.parse::<u32>().ok()?.to_be_bytes());
    } else {
        bytes[1] = 2;
        bytes[2..6].copy_from_slice(&left.parse::<u32>().ok()?.to_be_bytes());
        bytes[6..].copy_from_slice(&right.parse::<u16>().ok()?.to_be_bytes());
    }
    Some(bytes)
}
