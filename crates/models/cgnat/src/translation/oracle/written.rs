//! Bodies and headers of the other family, written from values.
use std::net::{Ipv4Addr, Ipv6Addr};

use wire::{ipv4, ipv6, protocol};

use super::checksums::{moved, pseudo_ipv4, pseudo_ipv6};
use super::packets::Taken;
use super::types::{Ends, Port, Rules};

/// The body that stands behind the new header of IPv6; none where its transport header is cut off.
pub(super) fn body_to_ipv6(taken: &Taken<Ipv4Addr>, ends: &Ends<Ipv6Addr>) -> Option<Vec<u8>> {
    let mut body = taken.body.clone();
    if taken.fragment.is_some_and(|fragment| fragment.offset > 0) {
        return Some(body);
    }
    let (old, new) = (
        |p| pseudo_ipv4(taken.source, taken.destination, p, taken.body.len()),
        |p| pseudo_ipv6(ends.source, ends.destination, p, taken.body.len()),
    );
    if taken.protocol == protocol::ICMP {
        let kind = *body.get(..8)?.first()?;
        body[0] = if kind == 8 { 128 } else { 129 };
        put_identifier(&mut body, ends.port);
        let sum = moved(&[], &taken.body, &new(protocol::ICMPV6), &body, 2);
        body[2..4].copy_from_slice(&sum.to_be_bytes());
        return Some(body);
    }
    change_ports(&mut body, taken.protocol, ends.port, &old(taken.protocol), &new(taken.protocol))?;
    Some(body)
}

/// The body that stands behind the new header of IPv4.
pub(super) fn body_to_ipv4(taken: &Taken<Ipv6Addr>, ends: &Ends<Ipv4Addr>) -> Option<Vec<u8>> {
    let mut body = taken.body.clone();
    if taken.fragment.is_some_and(|fragment| fragment.offset > 0) {
        return Some(body);
    }
    let (old, new) = (
        |p| pseudo_ipv6(taken.source, taken.destination, p, taken.body.len()),
        |p| pseudo_ipv4(ends.source, ends.destination, p, taken.body.len()),
    );
    if taken.protocol == protocol::ICMPV6 {
        let kind = *body.get(..8)?.first()?;
        body[0] = if kind == 128 { 8 } else { 0 };
        put_identifier(&mut body, ends.port);
        let sum = moved(&old(protocol::ICMPV6), &taken.body, &[], &body, 2);
        body[2..4].copy_from_slice(&sum.to_be_bytes());
        return Some(body);
    }
    change_ports(&mut body, taken.protocol, ends.port, &old(taken.protocol), &new(taken.protocol))?;
    Some(body)
}

/// Writes the new port and the checksum of a protocol that has them.
fn change_ports(body: &mut [u8], next: u8, port: Port, old: &[u8], new: &[u8]) -> Option<()> {
    let Some(&(_, at)) = CHECKSUMS.iter().find(|(protocol, _)| *protocol == next) else {
        return Some(());
    };
    body.get(at..at + 2)?;
    let before = body.to_vec();
    match port {
        Port::Kept => {}
        Port::Source(port) => body[..2].copy_from_slice(&port.to_be_bytes()),
        Port::Destination(port) => body[2..4].copy_from_slice(&port.to_be_bytes()),
    }
    let is_none = next == protocol::UDP && before[at..at + 2] == [0, 0];
    if !is_none {
        let sum = match moved(old, &before, new, body, at) {
            0 if [protocol::UDP, 136].contains(&next) => 0xffff,
            sum => sum,
        };
        body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    Some(())
}

fn put_identifier(message: &mut [u8], port: Port) {
    if let Port::Source(port) | Port::Destination(port) = port {
        message[4..6].copy_from_slice(&port.to_be_bytes());
    }
}

/// The packet with this body, of which the header says that it has `body_len` bytes.
pub(super) fn emit_ipv6(
    taken: &Taken<Ipv4Addr>,
    ends: &Ends<Ipv6Addr>,
    hop_limit: u8,
    rules: &Rules,
    body: &[u8],
    body_len: usize,
) -> Vec<u8> {
    let protocol = if taken.protocol == protocol::ICMP { protocol::ICMPV6 } else { taken.protocol };
    let fragment = taken.fragment.map(|fragment| {
        let place = fragment.offset << 3 | u16::from(fragment.more_fragments);
        let mut header = vec![protocol, 0];
        header.extend(place.to_be_bytes());
        header.extend(fragment.identification.to_be_bytes());
        header
    });
    let extension = fragment.unwrap_or_default();
    let mut header = [0; ipv6::HEADER_LEN];
    let fields = ipv6::Fields {
        traffic_class: if rules.keep_traffic_class { taken.class } else { 0 },
        flow_label: 0,
        payload_len: (extension.len() + body_len) as u16,
        next_header: if extension.is_empty() { protocol } else { protocol::IPV6_FRAGMENT },
        hop_limit,
        source: ends.source,
        destination: ends.destination,
    };
    fields.emit(&mut header);
    [&header[..], &extension, body].concat()
}

/// The packet with this body, of which the header says that it has `body_len` bytes.
pub(super) fn emit_ipv4(
    taken: &Taken<Ipv6Addr>,
    ends: &Ends<Ipv4Addr>,
    identification: u16,
    ttl: u8,
    rules: &Rules,
    body: &[u8],
    body_len: usize,
) -> Vec<u8> {
    let class = if rules.keep_traffic_class { taken.class } else { 0 };
    let total_len = (ipv4::HEADER_LEN + body_len).min(65535) as u16;
    let fragment = taken.fragment;
    let mut header = [0; ipv4::HEADER_LEN];
    let fields = ipv4::Fields {
        dscp: class >> 2,
        ecn: class & 3,
        total_len,
        identification: fragment.map_or(identification, |it| (it.identification & 0xffff) as u16),
        dont_fragment: fragment.is_none() && total_len > 1260,
        more_fragments: fragment.is_some_and(|it| it.more_fragments),
        fragment_offset: fragment.map_or(0, |it| it.offset),
        ttl,
        protocol: if taken.protocol == protocol::ICMPV6 { protocol::ICMP } else { taken.protocol },
        source: ends.source,
        destination: ends.destination,
    };
    fields.emit(&mut header);
    [&header[..], body].concat()
}

/// Where protocols have a checksum that covers addresses.
const CHECKSUMS: [(u8, usize); 4] = [(protocol::TCP, 16), (protocol::UDP, 6), (33, 6), (136, 6)];
/// Protocols of IPv4 that are something else behind a header of IPv6: extension headers, and ICMP.
pub(super) const FOREIGN_TO_IPV6: [u8; 5] = [0, 43, 44, 58, 60];
