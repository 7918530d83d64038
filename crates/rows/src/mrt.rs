//! Tables of BGP as collectors keep them: MRT's `TABLE_DUMP_V2` (RFC 6396, RFC 8050).
//!
//! Each record has a prefix and what each peer said of it. Which of them the collector would choose
//! is not told, so a route has the next hops of all, in the order of the record.

use std::io::{self, BufRead};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ip_route::{Kind, Route, Way};

/// A reader of records.
pub(crate) struct Records<R> {
    from: R,
    number: u64,
    bytes: Vec<u8>,
    peers: Vec<IpAddr>,
}

/// What a record holds.
#[derive(Debug)]
pub(crate) enum Record {
    /// A prefix with its next hops.
    Route(Route),
    /// The peers, which are kept.
    Peers,
    /// Something else.
    Other(String),
}

/// Whether bytes are the beginning of a file of MRT: a type and subtype that there are, and a
/// length that can be.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    let header = || -> Option<(u16, u16, u32)> {
        let mut cursor = Cursor(bytes);
        cursor.u32()?;
        Some((cursor.u16()?, cursor.u16()?, cursor.u32()?))
    };
    header().is_some_and(|(kind, subtype, len)| {
        matches!(kind, 11..=17 | 32 | 33 | 48 | 49)
            && subtype < 64
            && len as usize <= RECORD_BYTES_MAX
    })
}

impl<R: BufRead> Records<R> {
    pub fn new(from: R) -> Records<R> {
        Records { from, number: 0, bytes: Vec::new(), peers: Vec::new() }
    }

    /// Returns the number of the next record, from 1, and the record, or what is wrong with it;
    /// none at the end.
    ///
    /// # Errors
    /// When the file cannot be read or ends within a record, or one is too long to be one.
    pub fn next(&mut self) -> io::Result<Option<(u64, Result<Record, String>)>> {
        if self.from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let number = self.number;
        let mut header = [0; 12];
        self.exactly(Some(&mut header))?;
        let mut cursor = Cursor(&header[4..]);
        let (kind, subtype) = (cursor.u16().unwrap_or(0), cursor.u16().unwrap_or(0));
        let len = cursor.u32().unwrap_or(0) as usize;
        if len > RECORD_BYTES_MAX {
            let what = format!("record {number} says that it has {len} bytes; is this MRT?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.bytes.clear();
        self.bytes.resize(len, 0);
        self.exactly(None)?;
        let read = match (kind, subtype) {
            (TABLE_DUMP_V2, 1) => match peers(&self.bytes) {
                Some(peers) => {
                    self.peers = peers;
                    Ok(Record::Peers)
                }
                None => Err("the table of peers is cut short".to_owned()),
            },
            (TABLE_DUMP_V2, 2 | 4 | 8 | 10) => {
                let (is_ipv6, has_path) = (matches!(subtype, 4 | 10), subtype >= 8);
                let route = route(&self.bytes, is_ipv6, has_path, &self.peers);
                route.map(Record::Route).ok_or_else(|| "its prefix or attributes are cut".into())
            }
            (TABLE_DUMP_V2, _) => Ok(Record::Other(format!(
                "records of the subtype {subtype}; unicast routes of IPv4 and IPv6 are read"
            ))),
            _ => Ok(Record::Other(format!(
                "records of the type {kind}; tables of the type 13 (TABLE_DUMP_V2) are read"
            ))),
        };
        Ok(Some((number, read)))
    }

    /// Fills a header, or else the bytes of the record.
    fn exactly(&mut self, header: Option<&mut [u8]>) -> io::Result<()> {
        let number = self.number;
        let read = match header {
            Some(header) => self.from.read_exact(header),
            None => self.from.read_exact(&mut self.bytes),
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let what = format!("the file ends within record {number}; is it complete?");
                io::Error::new(io::ErrorKind::UnexpectedEof, what)
            }
            _ => error,
        })
    }
}

/// The addresses of the peers of a table (RFC 6396 section 4.3.1).
fn peers(bytes: &[u8]) -> Option<Vec<IpAddr>> {
    let mut cursor = Cursor(bytes);
    cursor.u32()?;
    let name = cursor.u16()?;
    cursor.take(name.into())?;
    let count = cursor.u16()?;
    let mut peers = Vec::with_capacity(count.into());
    for _ in 0..count {
        let kind = cursor.take(1)?[0];
        cursor.u32()?;
        peers.push(cursor.address(kind & 1 == 1)?);
        cursor.take(if kind & 2 == 2 { 4 } else { 2 })?;
    }
    Some(peers)
}

/// A prefix with what peers said of it (RFC 6396 sections 4.3.2 to 4.3.4, RFC 8050 section 4).
fn route(bytes: &[u8], is_ipv6: bool, has_path: bool, peers: &[IpAddr]) -> Option<Route> {
    let mut cursor = Cursor(bytes);
    cursor.u32()?;
    let len = cursor.take(1)?[0];
    let bits = if is_ipv6 { 128 } else { 32 };
    if len > bits {
        return None;
    }
    let mut octets = [0; 16];
    let prefix = cursor.take(usize::from(len).div_ceil(8))?;
    octets[..prefix.len()].copy_from_slice(prefix);
    // What is behind the length is of no meaning (RFC 4271 section 4.3).
    let whole = u128::from_be_bytes(octets);
    let whole = whole & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
    let address = match is_ipv6 {
        true => IpAddr::V6(Ipv6Addr::from_bits(whole)),
        false => IpAddr::V4(Ipv4Addr::from_bits((whole >> 96) as u32)),
    };
    let mut ways: Vec<Way> = Vec::new();
    for _ in 0..cursor.u16()? {
        let peer = cursor.u16()?;
        cursor.u32()?;
        if has_path {
            cursor.u32()?;
        }
        let attributes = cursor.u16()?;
        let said = next_hop(cursor.take(attributes.into())?)?;
        let via = said.or_else(|| peers.get(usize::from(peer)).copied());
        if let Some(via) = via
            && ways.len() < WAYS_MAX
            && ways.iter().all(|way| way.via != Some(via))
        {
            ways.push(Way { via: Some(via), dev: None, weight: 1 });
        }
    }
    Some(Route { address, len, kind: Kind::First, ways })
}

/// The next hop in attributes (RFC 4271 section 4.3): that of NEXT_HOP, or of MP_REACH_NLRI, whole
/// (RFC 4760 section 3) or in its short form (RFC 6396 section 4.3.4). The outer none is of
/// attributes that are cut, the inner one of none.
fn next_hop(attributes: &[u8]) -> Option<Option<IpAddr>> {
    let mut cursor = Cursor(attributes);
    let mut found = None;
    while !cursor.0.is_empty() {
        let (flags, kind) = (cursor.take(1)?[0], cursor.take(1)?[0]);
        let len = match flags & 0x10 {
            0 => cursor.take(1)?[0].into(),
            _ => usize::from(cursor.u16()?),
        };
        let mut value = Cursor(cursor.take(len)?);
        match kind {
            NEXT_HOP => found = Some(value.address(false)?),
            MP_REACH_NLRI => {
                if value.0.first() == Some(&0) {
                    value.take(3)?;
                }
                let len = value.take(1)?[0];
                // Behind a global address a link-local one may stand.
                found = match len {
                    4 => Some(value.address(false)?),
                    16 | 32 => Some(value.address(true)?),
                    _ => found,
                };
            }
            _ => {}
        }
    }
    Some(found)
}

/// Bytes that are taken from the front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn address(&mut self, is_ipv6: bool) -> Option<IpAddr> {
        Some(match is_ipv6 {
            true => {
                let octets: [u8; 16] = self.take(16)?.try_into().ok()?;
                IpAddr::V6(octets.into())
            }
            false => IpAddr::V4(Ipv4Addr::from_bits(self.u32()?)),
        })
    }
}

const TABLE_DUMP_V2: u16 = 13;
const NEXT_HOP: u8 = 3;
const MP_REACH_NLRI: u8 = 14;

/// Longest record in bytes: 65,535 peers with an attribute or two each.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Most next hops of a route that are kept.
const WAYS_MAX: usize = 256;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record of the type 13.
    fn record(subtype: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 1, 0, 13];
        bytes.extend(subtype.to_be_bytes());
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    /// A table of two peers, and three routes.
    pub(crate) fn table() -> Vec<u8> {
        let mut peers = vec![10, 0, 0, 1, 0, 1, b'v', 0, 2];
        peers.extend([2, 10, 0, 0, 9, 192, 0, 2, 9, 0, 0, 0xfd, 0xe8]);
        peers.extend([1, 10, 0, 0, 8]);
        peers.extend("2001:db8::8".parse::<Ipv6Addr>().expect("an address").octets());
        peers.extend([0xfd, 0xe8]);
        let entry = |peer: u8, attributes: &[u8]| {
            let mut bytes = vec![0, peer, 0, 0, 0, 0];
            bytes.extend((attributes.len() as u16).to_be_bytes());
            bytes.extend(attributes);
            bytes
        };
        let via = |last: u8| [0x40, 1, 1, 0, 0x40, 3, 4, 192, 0, 2, last];
        let mut one = vec![0, 0, 0, 0, 9, 10, 0xff, 0, 2];
        one.extend(entry(0, &via(1)));
        one.extend(entry(1, &via(2)));
        let mut two = vec![0, 0, 0, 1, 24, 198, 51, 100, 0, 1];
        two.extend(entry(0, &[0x40, 1, 1, 0]));
        let mut three = vec![0, 0, 0, 2, 32, 0x20, 0x01, 0x0d, 0xb8, 0, 1];
        let hop = "2001:db8::1".parse::<Ipv6Addr>().expect("an address").octets();
        let mut attribute = vec![0x90, 14, 0, 17, 16];
        attribute.extend(hop);
        three.extend(entry(1, &attribute));
        [record(1, &peers), record(2, &one), record(2, &two), record(4, &three)].concat()
    }

    fn told(bytes: &[u8]) -> Vec<String> {
        let mut records = Records::new(bytes);
        let mut told = Vec::new();
        while let Some((number, read)) = records.next().expect("complete") {
            told.push(match read {
                Ok(Record::Peers) => format!("{number} peers"),
                Ok(Record::Other(what)) | Err(what) => format!("{number} {what}"),
                Ok(Record::Route(Route { address, len, ways, .. })) => {
                    let ways: Vec<String> =
                        ways.iter().filter_map(|way| way.via).map(|via| via.to_string()).collect();
                    format!("{number} {address}/{len} {}", ways.join(" "))
                }
            });
        }
        told
    }

    #[test]
    fn prefixes_have_the_next_hops_that_peers_said() {
        let table = table();
        assert!(begins(&table) && !begins(b"192.0.2.0/24 isp-a\n") && !begins(b"short"));
        assert_eq!(
            told(&table),
            [
                "1 peers",
                "2 10.128.0.0/9 192.0.2.1 192.0.2.2",
                "3 198.51.100.0/24 192.0.2.9",
                "4 2001:db8::/32 2001:db8::1",
            ]
        );
        let others = [record(6, &[]), vec![0, 0, 0, 1, 0, 16, 0, 4, 0, 0, 0, 0]].concat();
        let told = told(&others);
        assert!(told[0].starts_with("1 records of the subtype 6"), "{told:?}");
        assert!(told[1].starts_with("2 records of the type 16"), "{told:?}");
    }

    #[test]
    fn the_whole_attribute_and_paths_are_read_too() {
        let mut body = vec![0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
        let mut attribute = vec![0x80, 14, 22, 0, 2, 1, 16];
        let hop = "2001:db8::5".parse::<Ipv6Addr>().expect("an address");
        attribute.extend(hop.octets());
        attribute.extend([0, 0]);
        body.extend((attribute.len() as u16).to_be_bytes());
        body.extend(attribute);
        assert_eq!(told(&record(10, &body)), ["1 ::/0 2001:db8::5"]);
    }

    #[test]
    fn no_cut_and_no_flipped_byte_is_more_than_an_error() {
        let table = table();
        for end in 0..table.len() {
            let mut records = Records::new(&table[..end]);
            while let Ok(Some(_)) = records.next() {}
        }
        for at in 0..table.len() {
            for value in [0, 1, 0x10, 0x7f, 0xff] {
                let mut other = table.clone();
                other[at] = value;
                let mut records = Records::new(&other[..]);
                while let Ok(Some(_)) = records.next() {}
            }
        }
    }
}
