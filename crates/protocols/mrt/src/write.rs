//! Records that are made: tables, messages and changes of state.
//!
//! A table is the record of its peers, then a record for each route. Messages and changes of state
//! have microseconds (BGP4MP_ET).

use protocol_bgp::attributes::{Attributes, Class, MP_REACH, NEXT_HOP, push};
use protocol_bgp::families::Family;
use protocol_bgp::message::{HEADER_LEN as BGP_HEADER_LEN, Kind};
use protocol_bgp::nlri::emit;
use protocol_bgp::path::AS_TRANS;

use crate::bytes::put_address;
use crate::header::{BGP4MP_ET, HEADER_LEN, Header, RECORD_LEN_MAX, Stamp, TABLE_DUMP_V2};
use crate::session::{
    Ends, MESSAGE, MESSAGE_ADDPATH, MESSAGE_AS4, MESSAGE_AS4_ADDPATH, STATE_CHANGE_AS4, State,
};
use crate::table::{
    IPV6, PEER_INDEX_TABLE, Peer, RIB_GENERIC, RIB_GENERIC_ADDPATH, RIB_IPV4_UNICAST,
    RIB_IPV4_UNICAST_ADDPATH, RIB_IPV6_UNICAST, RIB_IPV6_UNICAST_ADDPATH, WIDE,
};

/// What a peer has said of a route, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<'a> {
    /// The number of the peer in the table of peers.
    pub peer: u16,
    /// Since when it says that, in seconds since 1970.
    pub since: u32,
    /// The identifier of the path; 0 where the peer sends none.
    pub path_id: u32,
    /// The next hop as it stands on the wire.
    pub next_hop: &'a [u8],
    /// The other attributes, a block (see [`protocol_bgp::attributes`]).
    pub block: &'a [u8],
}

/// Appends the record of a table's peers: at most 65,535, of which those behind are left out. The
/// name of the view is of at most 65,535 bytes.
pub fn peers(
    at: Stamp,
    (collector, view): (u32, &str),
    peers: impl ExactSizeIterator<Item = Peer>,
    out: &mut Vec<u8>,
) {
    let start = begin(at, TABLE_DUMP_V2, PEER_INDEX_TABLE, out);
    let view = &view.as_bytes()[..view.len().min(usize::from(u16::MAX))];
    let count = peers.len().min(usize::from(u16::MAX));
    out.extend(collector.to_be_bytes());
    out.extend((view.len() as u16).to_be_bytes());
    out.extend(view);
    out.extend((count as u16).to_be_bytes());
    for Peer { identifier, address, asn } in peers.take(count) {
        out.push(WIDE | if address.is_ipv6() { IPV6 } else { 0 });
        out.extend(identifier.to_be_bytes());
        put_address(address, out);
        out.extend(asn.to_be_bytes());
    }
    end(start, out);
}

/// Appends the record of a route with the paths to it, and returns how many of them had no room:
/// those with attributes of more than 65,535 bytes, and those behind 65,535 paths or 16 MiB.
pub fn route<'a>(
    at: Stamp,
    sequence: u32,
    (family, key, rest): (Family, &[u8], &[u8]),
    paths: impl Iterator<Item = Path<'a>> + Clone,
    out: &mut Vec<u8>,
) -> usize {
    let has_path_ids = paths.clone().any(|path| path.path_id != 0);
    let subtype = match (family, has_path_ids) {
        (Family::Ipv4Unicast, false) => RIB_IPV4_UNICAST,
        (Family::Ipv4Unicast, true) => RIB_IPV4_UNICAST_ADDPATH,
        (Family::Ipv6Unicast, false) => RIB_IPV6_UNICAST,
        (Family::Ipv6Unicast, true) => RIB_IPV6_UNICAST_ADDPATH,
        (_, false) => RIB_GENERIC,
        (_, true) => RIB_GENERIC_ADDPATH,
    };
    let start = begin(at, TABLE_DUMP_V2, subtype, out);
    out.extend(sequence.to_be_bytes());
    if !matches!(family, Family::Ipv4Unicast | Family::Ipv6Unicast) {
        let (afi, safi) = family.numbers();
        out.extend(afi.to_be_bytes());
        out.push(safi);
    }
    emit(family, key, rest, out);
    let count_at = out.len();
    out.extend([0; 2]);
    let (mut count, mut refused) = (0_u16, 0);
    for path in paths {
        let place = out.len();
        out.extend(path.peer.to_be_bytes());
        out.extend(path.since.to_be_bytes());
        if has_path_ids {
            out.extend(path.path_id.to_be_bytes());
        }
        out.extend([0; 2]);
        let begins = out.len();
        attributes(family, &path, out);
        let len = u16::try_from(out.len() - begins);
        let fits = out.len() - start <= RECORD_LEN_MAX as usize && count < u16::MAX;
        match len {
            Ok(len) if fits => {
                out[begins - 2..begins].copy_from_slice(&len.to_be_bytes());
                count += 1;
            }
            _ => {
                out.truncate(place);
                refused += 1;
            }
        }
    }
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    end(start, out);
    refused
}

/// Appends the attributes of a path with its next hop, in the order of their codes.
fn attributes(family: Family, path: &Path<'_>, out: &mut Vec<u8>) {
    let Path { next_hop, block, .. } = *path;
    let is_short = family == Family::Ipv4Unicast && next_hop.len() == 4;
    let (code, class) = match is_short {
        true => (NEXT_HOP, Class::WellKnown),
        false => (MP_REACH, Class::NonTransitive),
    };
    let mut is_written = false;
    let mut hop = |out: &mut Vec<u8>| {
        if std::mem::replace(&mut is_written, true) {
            return;
        }
        if is_short {
            return push(class.flags(), code, next_hop, out);
        }
        let mut value = [0; 1 + u8::MAX as usize];
        let len = next_hop.len().min(usize::from(u8::MAX));
        value[0] = len as u8;
        value[1..1 + len].copy_from_slice(&next_hop[..len]);
        push(class.flags(), code, &value[..1 + len], out);
    };
    for attribute in Attributes::new(block) {
        if attribute.code > code {
            hop(out);
        }
        push(attribute.flags, attribute.code, attribute.value, out);
    }
    hop(out);
}

/// Appends the record of a message that was received: whole, with its header.
pub fn message(
    at: Stamp,
    ends: &Ends,
    (is_wide, has_path_ids): (bool, bool),
    message: &[&[u8]],
    out: &mut Vec<u8>,
) {
    let subtype = match (is_wide, has_path_ids) {
        (false, false) => MESSAGE,
        (true, false) => MESSAGE_AS4,
        (false, true) => MESSAGE_ADDPATH,
        (true, true) => MESSAGE_AS4_ADDPATH,
    };
    let start = begin(at, BGP4MP_ET, subtype, out);
    out.extend(at.micros().to_be_bytes());
    put_ends(ends, is_wide, out);
    message.iter().for_each(|piece| out.extend(*piece));
    end(start, out);
}

/// Appends the record of an UPDATE that was received, by its body.
pub fn update(at: Stamp, ends: &Ends, session: (bool, bool), body: &[u8], out: &mut Vec<u8>) {
    let mut header = [0xff; BGP_HEADER_LEN];
    let len = u16::try_from(BGP_HEADER_LEN + body.len()).unwrap_or(u16::MAX);
    header[BGP_HEADER_LEN - 3..BGP_HEADER_LEN - 1].copy_from_slice(&len.to_be_bytes());
    header[BGP_HEADER_LEN - 1] = Kind::Update as u8;
    message(at, ends, session, &[&header, body], out);
}

/// Appends the record of a change of state.
pub fn state_change(at: Stamp, ends: &Ends, (before, after): (State, State), out: &mut Vec<u8>) {
    let start = begin(at, BGP4MP_ET, STATE_CHANGE_AS4, out);
    out.extend(at.micros().to_be_bytes());
    put_ends(ends, true, out);
    out.extend(before.0.to_be_bytes());
    out.extend(after.0.to_be_bytes());
    end(start, out);
}

fn put_ends(ends: &Ends, is_wide: bool, out: &mut Vec<u8>) {
    for asn in [ends.peer_as, ends.local_as] {
        match is_wide {
            true => out.extend(asn.to_be_bytes()),
            false => out.extend(u16::try_from(asn).unwrap_or(AS_TRANS).to_be_bytes()),
        }
    }
    out.extend(ends.interface.to_be_bytes());
    // Both addresses are of one version of IP.
    let is_ipv6 = ends.peer.is_ipv6() || ends.local.is_ipv6();
    out.extend([0, if is_ipv6 { 2 } else { 1 }]);
    for address in [ends.peer, ends.local] {
        match (address, is_ipv6) {
            (std::net::IpAddr::V4(address), true) => {
                out.extend(address.to_ipv6_mapped().octets());
            }
            _ => put_address(address, out),
        }
    }
}

/// Appends the header of a record whose length is not known yet; returns where it begins.
fn begin(at: Stamp, kind: u16, subtype: u16, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    Header { seconds: at.seconds(), kind, subtype, len: 0 }.write(out);
    start
}

/// Writes the length of the record that begins at a place and ends where the bytes end.
fn end(start: usize, out: &mut [u8]) {
    let len = (out.len() - start - HEADER_LEN) as u32;
    out[start + HEADER_LEN - 4..start + HEADER_LEN].copy_from_slice(&len.to_be_bytes());
}
