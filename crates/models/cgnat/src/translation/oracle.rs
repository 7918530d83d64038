//! The slow twin: a packet is taken apart into values, new headers are written from them, and every
//! checksum is what it was, moved by the difference of two whole sums.
//!
//! It knows the same rules in other words (tables where the translator has a match, whole messages
//! where it has differences), and shares nothing with it but formats.

mod checksums;

mod errors;

mod packets;

mod types;

mod written;

use std::net::{Ipv4Addr, Ipv6Addr};

use checksums::pseudo_ipv6;
use packets::take_ipv4;
pub(crate) use packets::{Taken, take_ipv6};
pub use types::{Ends, Port, Quote, Refusal, Rules};
use wire::{protocol, udp};
use written::{FOREIGN_TO_IPV6, body_to_ipv4, body_to_ipv6, emit_ipv4, emit_ipv6};

/// What an IPv4 packet becomes, which begins with its IP header.
///
/// # Errors
/// The [`Refusal`].
pub fn to_ipv6(
    packet: &[u8],
    ends: &Ends<Ipv6Addr>,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>>,
) -> Result<Vec<u8>, Refusal> {
    let taken = take_ipv4(packet).ok_or(Refusal::Malformed)?;
    if taken.hops <= 1 {
        return Err(Refusal::Expired);
    }
    if taken.source_route {
        return Err(Refusal::SourceRoute);
    }
    if FOREIGN_TO_IPV6.contains(&taken.protocol) {
        return Err(Refusal::Protocol);
    }
    if taken.protocol == IGMP {
        return Err(Refusal::IcmpType);
    }
    if taken.protocol == protocol::ICMP {
        if taken.fragment.is_some() {
            return Err(Refusal::IcmpFragment);
        }
        if !matches!(taken.body.first(), Some(0 | 8)) {
            let (message, length) = errors::to_ipv6(&taken, ends, rules, quoted)?;
            return Ok(emit_ipv6(&taken, ends, taken.hops - 1, rules, &message, length));
        }
    }
    let is_first = taken.fragment.is_none_or(|fragment| fragment.offset == 0);
    let lacks_checksum =
        taken.protocol == protocol::UDP && is_first && taken.body.get(6..8) == Some(&[0, 0]);
    let body = if lacks_checksum {
        if taken.fragment.is_some() || !rules.compute_udp_checksum {
            return Err(Refusal::UdpChecksum);
        }
        with_udp_checksum(&taken, ends)?
    } else {
        body_to_ipv6(&taken, ends).ok_or(Refusal::Malformed)?
    };
    let length = body.len();
    Ok(emit_ipv6(&taken, ends, taken.hops - 1, rules, &body, length))
}

/// What an IPv6 packet becomes, which begins with its IP header.
///
/// # Errors
/// The [`Refusal`].
pub fn to_ipv4(
    packet: &[u8],
    ends: &Ends<Ipv4Addr>,
    identification: u16,
    rules: &Rules,
    quoted: &mut dyn FnMut(&Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>>,
) -> Result<Vec<u8>, Refusal> {
    let taken = take_ipv6(packet, true)?;
    if taken.body.len() > 65515 {
        return Err(Refusal::TooLong);
    }
    if taken.hops <= 1 {
        return Err(Refusal::Expired);
    }
    if taken.protocol == protocol::ICMP {
        return Err(Refusal::Protocol);
    }
    if taken.protocol == protocol::ICMPV6 {
        if taken.fragment.is_some_and(|fragment| fragment.offset > 0 || fragment.more_fragments) {
            return Err(Refusal::IcmpFragment);
        }
        if !matches!(taken.body.first(), Some(128 | 129)) {
            let (message, length) = errors::to_ipv4(&taken, rules, quoted)?;
            let hops = taken.hops - 1;
            return Ok(emit_ipv4(&taken, ends, identification, hops, rules, &message, length));
        }
    }
    let mut body = body_to_ipv4(&taken, ends).ok_or(Refusal::Malformed)?;
    if taken.protocol == protocol::ICMPV6 && body.iter().all(|&byte| byte == 0) {
        // Nothing but zeros sums to zero, whose complement is all ones.
        body[2..4].fill(0xff);
    }
    let length = body.len();
    Ok(emit_ipv4(&taken, ends, identification, taken.hops - 1, rules, &body, length))
}

/// A datagram with the checksum that it came without.
fn with_udp_checksum(taken: &Taken<Ipv4Addr>, ends: &Ends<Ipv6Addr>) -> Result<Vec<u8>, Refusal> {
    let mut body = taken.body.clone();
    match ends.port {
        Port::Kept => {}
        Port::Source(port) => body[..2].copy_from_slice(&port.to_be_bytes()),
        Port::Destination(port) => body[2..4].copy_from_slice(&port.to_be_bytes()),
    }
    let view = udp::View::parse(&body).map_err(|_| Refusal::Malformed)?;
    let len = usize::from(view.length());
    let pseudo = pseudo_ipv6(ends.source, ends.destination, protocol::UDP, len);
    let sum = match !checksums::folded(&[&pseudo, &body[..len]]) {
        0 => 0xffff,
        sum => sum,
    };
    body[6..8].copy_from_slice(&sum.to_be_bytes());
    Ok(body)
}

const IGMP: u8 = 2;
