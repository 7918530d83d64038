//! Packets as values.
use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ipv6::{EXTENSION_HEADERS_MAX, Fragment, HEADER_LEN};
use wire::{ipv4, ipv6};

use super::types::Refusal;

/// What there is to know of a packet.
#[derive(Clone)]
pub(crate) struct Taken<A> {
    pub source: A,
    pub destination: A,
    pub class: u8,
    pub hops: u8,
    pub protocol: u8,
    pub fragment: Option<Fragment>,
    /// Of IPv4: whether a source route is not at its end.
    pub source_route: bool,
    pub body: Vec<u8>,
    /// How much of the body is really there; the rest, which was not quoted, is zero.
    pub there: usize,
}

/// An IPv4 packet that is all there.
pub(super) fn take_ipv4(packet: &[u8]) -> Option<Taken<Ipv4Addr>> {
    let view = ipv4::View::parse_without_checksum(packet).ok()?;
    let mut routes = view.options().flatten().filter(|option| matches!(option.kind, 131 | 137));
    let unfinished = |option: ipv4::HeaderOption<'_>| match option.data.first() {
        Some(&pointer) => usize::from(pointer) <= option.data.len() + 2,
        None => true,
    };
    Some(Taken {
        source: view.source(),
        destination: view.destination(),
        class: packet[1],
        hops: view.ttl(),
        protocol: view.protocol(),
        fragment: view.is_fragment().then(|| Fragment {
            offset: view.fragment_offset(),
            more_fragments: view.more_fragments(),
            identification: view.identification().into(),
        }),
        source_route: routes.any(unfinished),
        body: view.payload().to_vec(),
        there: view.payload().len(),
    })
}

/// The same of which at least the header is there.
pub(super) fn take_quoted_ipv4(bytes: &[u8]) -> Option<Taken<Ipv4Addr>> {
    let header_len = usize::from(bytes.first()? & 0x0f) * 4;
    let len = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    bytes.get(..header_len)?;
    let mut packet = bytes.to_vec();
    packet.resize(len.max(bytes.len()), 0);
    let mut taken = take_ipv4(&packet)?;
    taken.there = taken.body.len().min(bytes.len() - header_len);
    Some(taken)
}

/// An IPv6 packet, all of it or what is quoted.
pub(crate) fn take_ipv6(bytes: &[u8], is_whole: bool) -> Result<Taken<Ipv6Addr>, Refusal> {
    let len = bytes.get(4..6).map(|len| usize::from(u16::from_be_bytes([len[0], len[1]])));
    let end = HEADER_LEN + len.ok_or(Refusal::Malformed)?;
    let mut packet = bytes.to_vec();
    if !is_whole {
        packet.resize(end.max(bytes.len()), 0);
    }
    if bytes.len() < HEADER_LEN {
        return Err(Refusal::Malformed);
    }
    let view = ipv6::View::parse(&packet).map_err(|_| Refusal::Malformed)?;
    let mut taken = Taken {
        source: view.source(),
        destination: view.destination(),
        class: view.traffic_class(),
        hops: view.hop_limit(),
        protocol: view.next_header(),
        fragment: None,
        source_route: false,
        body: Vec::new(),
        there: 0,
    };
    let there = &bytes[..bytes.len().min(end)];
    let at = walk(there, HEADER_LEN, is_whole, &mut taken, 0)?;
    taken.body = packet[at..end].to_vec();
    taken.there = there.len() - at;
    Ok(taken)
}

/// Where the body begins, behind `count` extension headers and those from `at` on.
fn walk(
    bytes: &[u8],
    at: usize,
    is_whole: bool,
    taken: &mut Taken<Ipv6Addr>,
    count: usize,
) -> Result<usize, Refusal> {
    if taken.fragment.is_some() && [0, 43, 44, 51, 60, 135, 139, 140].contains(&taken.protocol) {
        return Err(Refusal::FragmentedExtension);
    }
    if taken.fragment.is_some() || ![0, 43, 44, 60].contains(&taken.protocol) {
        let is_inside = at <= bytes.len();
        return if is_inside { Ok(at) } else { Err(Refusal::Malformed) };
    }
    let header = bytes.get(at..at + 8).ok_or(Refusal::Malformed)?;
    if count == EXTENSION_HEADERS_MAX {
        // One more would be too many; what is in it can be wrong as well.
        let has_segments = taken.protocol == 43 && header[3] != 0 && is_whole;
        let pointer = (at + 3) as u16;
        return Err(if has_segments {
            Refusal::SegmentsLeft { pointer }
        } else {
            Refusal::Malformed
        });
    }
    let kind = taken.protocol;
    taken.protocol = header[0];
    let mut len = 8 + 8 * usize::from(header[1]);
    match kind {
        43 if header[3] != 0 && is_whole => {
            return Err(Refusal::SegmentsLeft { pointer: (at + 3) as u16 });
        }
        44 => {
            len = 8;
            let place = u16::from_be_bytes([header[2], header[3]]);
            let identification = [header[4], header[5], header[6], header[7]];
            taken.fragment = Some(Fragment {
                offset: place >> 3,
                more_fragments: place & 1 == 1,
                identification: u32::from_be_bytes(identification),
            });
        }
        _ => {}
    }
    walk(bytes, at + len, is_whole, taken, count + 1)
}
