//! Records of tables: the peers, and each route with what they have said of it (RFC 6396 section
//! 4.3, RFC 8050 section 4).
//!
//! ```text
//!  PEER_INDEX_TABLE  | collector u32 | length u16 | view | count u16 | peers |
//!   peer             | 1: IPv6, 2: AS of 4 bytes u8 | identifier u32 | address | AS |
//!  RIB_IPV4_UNICAST  | sequence u32 | prefix | count u16 | entries |
//!  RIB_GENERIC       | sequence u32 | AFI u16 | SAFI u8 | NLRI | count u16 | entries |
//!   entry            | peer u16 | since u32 | path u32 of _ADDPATH | length u16 | attributes |
//! ```
//! Paths have ASes of 4 bytes. A next hop that is none of NEXT_HOP stands in MP_REACH_NLRI alone:
//! its length and its bytes (RFC 6396 section 4.3.4); whole ones, as some write them, are read,
//! too.

use std::net::IpAddr;

use protocol_bgp::attributes::{Attributes, MP_REACH, NEXT_HOP};
use protocol_bgp::bytes::Reader;
use protocol_bgp::families::Family;
use protocol_bgp::nlri::{Nlri, Nlris};

use crate::bytes::{address, number};
use crate::header::Malformed;

/// The peers of a table, by whose numbers entries name them.
#[derive(Clone, Copy, Debug)]
pub struct PeerTable<'a> {
    /// The identifier of whoever has written it.
    pub collector: u32,
    /// The name of the view; may be empty.
    pub view: &'a [u8],
    count: u16,
    peers: Reader<'a>,
}

/// A peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its identifier.
    pub identifier: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: u32,
}

/// A route of a table.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Its number in the table.
    pub sequence: u32,
    /// Its family.
    pub family: Family,
    /// How it stands on the wire.
    pub wire: &'a [u8],
    /// Whether paths have identifiers.
    pub has_path_ids: bool,
    count: u16,
    entries: Reader<'a>,
}

/// What a peer has said of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The number of the peer in the [`PeerTable`].
    pub peer: u16,
    /// Since when it says that, in seconds since 1970.
    pub since: u32,
    /// The identifier of the path; 0 where there are none.
    pub path_id: u32,
    /// Its attributes, with NEXT_HOP or the short form of MP_REACH_NLRI among them.
    pub attributes: &'a [u8],
}

impl<'a> PeerTable<'a> {
    /// Reads the body of a record.
    ///
    /// # Errors
    /// When it is cut.
    pub fn read(body: &'a [u8]) -> Result<PeerTable<'a>, Malformed> {
        let mut from = Reader(body);
        let cut = Malformed("its table of peers is cut");
        let collector = from.u32().ok_or(cut)?;
        let (view, count) = from.counted_u16().zip(from.u16()).ok_or(cut)?;
        let table = PeerTable { collector, view, count, peers: from };
        if table.peers().count() < usize::from(table.count) {
            return Err(cut);
        }
        Ok(table)
    }

    /// Returns the peers, from number 0 on.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + use<'a> {
        let mut from = self.peers;
        (0..self.count).map_while(move |_| {
            let kind = from.u8()?;
            let (identifier, address) = (from.u32()?, address(&mut from, kind & IPV6 != 0)?);
            Some(Peer { identifier, address, asn: number(&mut from, kind & WIDE != 0)? })
        })
    }
}

impl<'a> Table<'a> {
    /// Reads the body of a record of a subtype.
    ///
    /// # Errors
    /// When it is cut, or its family is not known.
    pub(crate) fn read(body: &'a [u8], subtype: u16) -> Result<Table<'a>, Malformed> {
        let cut = Malformed("its route is cut");
        let mut from = Reader(body);
        let sequence = from.u32().ok_or(cut)?;
        let family = match subtype {
            RIB_IPV4_UNICAST | RIB_IPV4_UNICAST_ADDPATH => Some(Family::Ipv4Unicast),
            RIB_IPV6_UNICAST | RIB_IPV6_UNICAST_ADDPATH => Some(Family::Ipv6Unicast),
            _ => {
                let (afi, safi) = from.u16().zip(from.u8()).ok_or(cut)?;
                Family::of(afi, safi)
            }
        };
        let family = family.ok_or(Malformed("its family is not known"))?;
        let wire = from.take(len_of(family, from.0).ok_or(cut)?).ok_or(cut)?;
        let count = from.u16().ok_or(cut)?;
        let has_path_ids = subtype >= RIB_IPV4_UNICAST_ADDPATH;
        let table = Table { sequence, family, wire, has_path_ids, count, entries: from };
        if Nlris::announced(wire, family, false).check().is_err() {
            return Err(Malformed("its route cannot be read"));
        }
        if table.entries().count() < usize::from(count) {
            return Err(Malformed("its paths are cut"));
        }
        Ok(table)
    }

    /// Returns the route: what tells it apart, and what it has beside that; none of a kind of route
    /// that is not known.
    pub fn nlri(&self) -> Option<Nlri<'a>> {
        Nlris::announced(self.wire, self.family, false).next()?.ok()
    }

    /// Returns what peers have said of it.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let (mut from, has_path_ids) = (self.entries, self.has_path_ids);
        (0..self.count).map_while(move |_| {
            let (peer, since) = (from.u16()?, from.u32()?);
            let path_id = if has_path_ids { from.u32()? } else { 0 };
            Some(Entry { peer, since, path_id, attributes: from.counted_u16()? })
        })
    }
}

impl<'a> Entry<'a> {
    /// Returns the next hop of a route of a family as it stands on the wire: one or two addresses;
    /// nothing where there is none.
    pub fn next_hop(&self, family: Family) -> &'a [u8] {
        let (afi, safi) = family.numbers();
        let [high, low] = afi.to_be_bytes();
        let mut found: &[u8] = &[];
        for attribute in Attributes::new(self.attributes) {
            match attribute.code {
                NEXT_HOP => found = attribute.value,
                MP_REACH => {
                    let mut from = Reader(attribute.value);
                    if from.0.starts_with(&[high, low, safi]) {
                        from.take(3);
                    }
                    let len = from.u8().unwrap_or(0);
                    found = from.take(len.into()).unwrap_or_default();
                }
                _ => {}
            }
        }
        found
    }
}

/// How many bytes the first route of a field has.
fn len_of(family: Family, field: &[u8]) -> Option<usize> {
    use protocol_bgp::families::Form;
    let [first, second, third, fourth] = {
        let mut head = [0; 4];
        let len = field.len().min(4);
        head[..len].copy_from_slice(&field[..len]);
        head
    };
    let len = match family.row().form {
        Form::Prefix { .. } | Form::RouteTarget => 1 + usize::from(first).div_ceil(8),
        Form::Evpn => 2 + usize::from(second),
        Form::Flow if first >= 0xf0 => 2 + (usize::from(first & 0xf) << 8 | usize::from(second)),
        Form::Flow => 1 + usize::from(first),
        Form::LinkState => 4 + usize::from(u16::from_be_bytes([third, fourth])),
        Form::Vpls => 2 + usize::from(u16::from_be_bytes([first, second])),
    };
    (len <= field.len()).then_some(len)
}

/// The subtype of the peers.
pub const PEER_INDEX_TABLE: u16 = 1;
/// Routes of IPv4.
pub const RIB_IPV4_UNICAST: u16 = 2;
/// Routes of IPv6.
pub const RIB_IPV6_UNICAST: u16 = 4;
/// Routes of any family.
pub const RIB_GENERIC: u16 = 6;
/// Routes of IPv4 whose paths have identifiers.
pub const RIB_IPV4_UNICAST_ADDPATH: u16 = 8;
/// Routes of IPv6 whose paths have identifiers.
pub const RIB_IPV6_UNICAST_ADDPATH: u16 = 10;
/// Routes of any family whose paths have identifiers.
pub const RIB_GENERIC_ADDPATH: u16 = 12;

/// The bit of a peer with an address of IPv6.
pub(crate) const IPV6: u8 = 1;
/// The bit of a peer with an AS of four bytes.
pub(crate) const WIDE: u8 = 2;
