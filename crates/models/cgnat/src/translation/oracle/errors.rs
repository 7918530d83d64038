//! ICMP errors, by tables.
use std::net::{Ipv4Addr, Ipv6Addr};

use wire::{icmp, protocol};

use super::checksums;
use super::packets::{Taken, take_ipv6, take_quoted_ipv4};
use super::types::{Ends, Quote, Refusal, Rules};
use super::written::{FOREIGN_TO_IPV6, body_to_ipv4, body_to_ipv6, emit_ipv4, emit_ipv6};

/// The message, and its length again.
pub(super) fn to_ipv6(
    taken: &Taken<Ipv4Addr>,
    ends: &Ends<Ipv6Addr>,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>>,
) -> Result<(Vec<u8>, usize), Refusal> {
    let message = &taken.body;
    let [kind, code, _, _, first, length, ..] = message[..] else {
        return Err(Refusal::Malformed);
    };
    if message.len() < ICMP_LEN {
        return Err(Refusal::Malformed);
    }
    if ![3, 11, 12].contains(&kind) {
        return Err(Refusal::IcmpType);
    }
    if checksums::folded(&[message]) != 0xffff {
        return Err(Refusal::IcmpChecksum);
    }
    let (original, extensions) = take_apart(&message[ICMP_LEN..], usize::from(length) * 4);
    let inner = take_quoted_ipv4(original).ok_or(Refusal::Quote)?;
    let is_echo = |taken: &Taken<Ipv4Addr>| {
        taken.fragment.is_none() && taken.there >= 8 && matches!(taken.body[0], 0 | 8)
    };
    let is_refused = FOREIGN_TO_IPV6.contains(&inner.protocol)
        || inner.protocol == protocol::ICMP && !is_echo(&inner);
    if is_refused {
        return Err(Refusal::Quote);
    }
    let quote = quote(&inner, protocol::ICMP);
    let total_len = original_len(original);
    let (new_kind, new_code) = find(&TO_IPV6, kind, code).ok_or(Refusal::IcmpType)?;
    let rest = match (new_kind, new_code) {
        (2, _) => mtu_to_ipv6(u16::from_be_bytes([message[6], message[7]]), total_len, rules),
        (4, 1) => 6,
        (4, _) => {
            let pointer = POINTERS_TO_IPV6.iter().find(|(from, _)| from.contains(&first));
            pointer.ok_or(Refusal::IcmpType)?.1
        }
        _ => 0,
    };
    let inner_ends = quoted(&quote).ok_or(Refusal::QuoteEnds)?;
    let body = body_to_ipv6(&inner, &inner_ends).unwrap_or_else(|| inner.body.clone());
    let body = cut(body, &inner);
    let packet = emit_ipv6(&inner, &inner_ends, inner.hops, rules, &body, inner.body.len());
    let extensions = if matches!(new_kind, 1 | 3) { extensions } else { &[] };
    let (quoted, units) = lay_out(packet, extensions, 8, 1280 - 40 - ICMP_LEN);
    let mut header = [new_kind, new_code, 0, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&(rest | units << 24).to_be_bytes());
    let mut message = [&header[..], &quoted].concat();
    let sum = icmp::checksum_ipv6(ends.source, ends.destination, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let len = message.len();
    Ok((message, len))
}

/// The message, and its length again.
pub(super) fn to_ipv4(
    taken: &Taken<Ipv6Addr>,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>>,
) -> Result<(Vec<u8>, usize), Refusal> {
    let message = &taken.body;
    if message.len() < ICMP_LEN {
        return Err(Refusal::Malformed);
    }
    let (kind, code) = (message[0], message[1]);
    let rest = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
    let (new_kind, new_code) = find(&TO_IPV4, kind, code).ok_or(Refusal::IcmpType)?;
    let new_rest = match (new_kind, new_code) {
        (3, 4) => mtu_to_ipv4(rest, rules),
        (12, _) => {
            let pointer = POINTERS_TO_IPV4.iter().find(|(from, _)| from.contains(&rest));
            pointer.ok_or(Refusal::IcmpType)?.1 << 24
        }
        _ => 0,
    };
    if !icmp::verify_ipv6(taken.source, taken.destination, message) {
        return Err(Refusal::IcmpChecksum);
    }
    let length = if matches!(kind, 1 | 3) { usize::from(message[4]) * 8 } else { 0 };
    let (original, extensions) = take_apart(&message[ICMP_LEN..], length);
    let inner = take_ipv6(original, false).map_err(|_| Refusal::Quote)?;
    let is_part = inner.fragment.is_some_and(|it| it.offset > 0 || it.more_fragments);
    let is_echo = !is_part && inner.there >= 8 && matches!(inner.body[0], 128 | 129);
    if inner.protocol == protocol::ICMP || inner.protocol == protocol::ICMPV6 && !is_echo {
        return Err(Refusal::Quote);
    }
    let inner_ends = quoted(&quote(&inner, protocol::ICMPV6)).ok_or(Refusal::QuoteEnds)?;
    let body = body_to_ipv4(&inner, &inner_ends).unwrap_or_else(|| inner.body.clone());
    let body = cut(body, &inner);
    let packet = emit_ipv4(&inner, &inner_ends, 0, inner.hops, rules, &body, inner.body.len());
    let most = usize::from(rules.ipv4_mtu).clamp(576, 1280);
    let (quoted, units) = lay_out(packet, extensions, 4, most - 20 - ICMP_LEN);
    let mut header = [new_kind, new_code, 0, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&(new_rest | units << 16).to_be_bytes());
    let mut message = [&header[..], &quoted].concat();
    let sum = !checksums::folded(&[&message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let len = message.len();
    Ok((message, len))
}

/// The ports that are there, or an echo's identifier.
fn quote<A: Copy>(taken: &Taken<A>, icmp: u8) -> Quote<A> {
    let word = |at: usize| {
        (at + 2 <= taken.there).then(|| u16::from_be_bytes([taken.body[at], taken.body[at + 1]]))
    };
    let is_first = taken.fragment.is_none_or(|fragment| fragment.offset == 0);
    let ports = match taken.protocol {
        protocol if protocol == icmp => word(4).zip(word(4)),
        protocol::TCP | protocol::UDP | 33 | 132 | 136 if is_first => word(0).zip(word(2)),
        _ => None,
    };
    let (source, destination) = (taken.source, taken.destination);
    Quote { source, destination, protocol: taken.protocol, ports }
}

/// As much of a changed body as was there; of half a word, what was there.
fn cut<A>(mut body: Vec<u8>, taken: &Taken<A>) -> Vec<u8> {
    body.truncate(taken.there);
    if taken.there < taken.body.len()
        && let Some(last) = body.last_mut()
        && !taken.there.is_multiple_of(2)
    {
        *last = taken.body[taken.there - 1];
    }
    body
}

fn original_len(packet: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([packet[2], packet[3]]))
}

fn take_apart(payload: &[u8], len: usize) -> (&[u8], &[u8]) {
    if len < 128 || len > payload.len() { (payload, &[]) } else { payload.split_at(len) }
}

/// Quote and extensions in `room` bytes, and the units that the quote is long.
fn lay_out(mut quote: Vec<u8>, extensions: &[u8], unit: usize, room: usize) -> (Vec<u8>, u32) {
    if extensions.is_empty() {
        quote.truncate(room);
        return (quote, 0);
    }
    let extensions = &extensions[..extensions.len().min(room - 128)];
    while quote.len() < 128 || !quote.len().is_multiple_of(unit) {
        quote.push(0);
    }
    while quote.len() + extensions.len() > room || quote.len() / unit > 255 {
        quote.truncate(quote.len() - unit);
    }
    let units = (quote.len() / unit) as u32;
    (quote.iter().chain(extensions).copied().collect(), units)
}

fn find(table: &[Row], kind: u8, code: u8) -> Option<(u8, u8)> {
    let row = table.iter().find(|row| row.0 == kind && row.1.contains(&code))?;
    Some((row.2, row.3.unwrap_or(code)))
}

fn mtu_to_ipv6(mtu: u16, total_len: usize, rules: &Rules) -> u32 {
    let likely = if mtu > 0 {
        usize::from(mtu)
    } else {
        let usual = [1492, 2002, 4352, 8166, 17914, 32000, 65535];
        usual.into_iter().filter(|&len| len < total_len).max().unwrap_or(0)
    };
    let least = [likely + 20, usize::from(rules.ipv6_mtu), usize::from(rules.ipv4_mtu) + 20];
    least.into_iter().min().unwrap_or(0).max(1280) as u32
}

fn mtu_to_ipv4(mtu: u32, rules: &Rules) -> u32 {
    let least = [i64::from(mtu) - 20, i64::from(rules.ipv4_mtu), i64::from(rules.ipv6_mtu) - 20];
    least.into_iter().min().unwrap_or(0).max(68) as u32
}

/// Type, codes, new type, and new code where it is not the same.
type Row = (u8, &'static [u8], u8, Option<u8>);

/// RFC 7915 section 4.2.
const TO_IPV6: [Row; 8] = [
    (3, &[0, 1, 5, 6, 7, 8, 11, 12], 1, Some(0)),
    (3, &[9, 10, 13, 15], 1, Some(1)),
    (3, &[3], 1, Some(4)),
    (3, &[2], 4, Some(1)),
    (3, &[4], 2, Some(0)),
    (11, &EVERY_CODE, 3, None),
    (12, &[0], 4, Some(0)),
    (12, &[2], 4, Some(0)),
];

/// RFC 7915 section 5.2.
const TO_IPV4: [Row; 7] = [
    (1, &[0, 2, 3], 3, Some(1)),
    (1, &[1], 3, Some(10)),
    (1, &[4], 3, Some(3)),
    (2, &EVERY_CODE, 3, Some(4)),
    (3, &EVERY_CODE, 11, None),
    (4, &[0], 12, Some(0)),
    (4, &[1], 3, Some(2)),
];

/// Figure 3.
const POINTERS_TO_IPV6: [(&[u8], u32); 7] = [
    (&[0], 0),
    (&[1], 1),
    (&[2, 3], 4),
    (&[8], 7),
    (&[9], 6),
    (&[12, 13, 14, 15], 8),
    (&[16, 17, 18, 19], 24),
];

/// Figure 6.
const POINTERS_TO_IPV4: [(std::ops::RangeInclusive<u32>, u32); 7] =
    [(0..=0, 0), (1..=1, 1), (4..=5, 2), (6..=6, 9), (7..=7, 8), (8..=23, 12), (24..=39, 16)];

/// 0 to 255.
const EVERY_CODE: [u8; 256] = {
    let mut codes = [0; 256];
    let mut code = 0;
    while code < 256 {
        codes[code] = code as u8;
        code += 1;
    }
    codes
};
/// The length of an ICMP header in bytes.
const ICMP_LEN: usize = icmp::HEADER_LEN;
