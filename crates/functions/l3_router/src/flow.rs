//! The hash of a packet's flow, by which it takes one of several next hops.
//!
//! A flow is what has the same addresses, transport protocol and, where the protocol has such,
//! ports; of a fragment only the addresses are taken, so that all fragments of a datagram go one
//! way, unless virtual reassembly knows the ports of them all. The flow label of IPv6 is not taken:
//! hosts may change it in the middle of a connection, which would then change its way, and few give
//! one to what has ports anyway (RFC 6437 section 3 leaves it to the router). Of a packet with more
//! than [`transport::HEADERS_MAX`] extension headers the flow has the protocol at which they are
//! left.
//!
//! With × for the product of two 64-bit numbers, its upper half added to the lower one without
//! carry:
//!
//! ```text
//! addresses  IPv4: source and destination; IPv6: (first half of the source + C) × (second half + D)
//!            + the same of the destination, turned left by 1
//! rest       ports, source first, above 8 bits of the protocol; 0 of a fragment
//! hash       ((addresses + A + seed) × (rest + B) + C) × D, its lower 32 bits
//! ```
//! where + is the addition without carry. The same whatever the machine; a test compares it with
//! one written from this text.

use stages::transport::{self, Upper, has_ports};
use wire::bytes::array_at;
use wire::{ethernet, ipv4, ipv6};

use super::known::Known;

/// The hash of the flow of an IPv4 packet that the check has let pass, in its frame.
#[inline(always)]
pub fn hash_ipv4(frame: &[u8], seed: u64) -> u32 {
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return 0 };
    let Some(header) = packet.first_chunk::<PLAIN>() else { return short_ipv4(packet, seed) };
    let protocol = header[ipv4::offset::PROTOCOL];
    let place = u16::from_be_bytes(array_at(header, ipv4::offset::FLAGS_FRAGMENT));
    let is_part = place & (ipv4::FRAGMENT_OFFSET_MASK | ipv4::FLAG_MORE_FRAGMENTS) != 0;
    let is_plain = (header[0] == ipv4::VERSION_IHL) & has_ports(protocol) & !is_part;
    if !is_plain {
        return short_ipv4(packet, seed);
    }
    let addresses = u64::from_be_bytes(array_at(header, ipv4::offset::SOURCE));
    let ports = u32::from_be_bytes(array_at(header, ipv4::HEADER_LEN));
    finish(addresses, rest(protocol, ports), seed)
}

/// The same of an IPv6 packet.
#[inline(always)]
pub fn hash_ipv6(frame: &[u8], seed: u64) -> u32 {
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return 0 };
    let Some(header) = packet.first_chunk::<{ ipv6::HEADER_LEN }>() else { return 0 };
    let next = header[ipv6::offset::NEXT_HEADER];
    let rest = match packet.get(ipv6::HEADER_LEN..ipv6::HEADER_LEN + 4) {
        Some(ports) if has_ports(next) => rest(next, u32::from_be_bytes(array_at(ports, 0))),
        _ => rest_of(&transport::behind(packet, next, transport::HEADERS_MAX)),
    };
    finish(addresses_ipv6(header), rest, seed)
}

/// The hash of the flow of a fragment of whose datagram something is known.
pub(super) fn hash_known(frame: &[u8], known: Known, seed: u64) -> u32 {
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return 0 };
    let rest = rest(known.protocol, known.ports.map_or(0, u32::from_be_bytes));
    let addresses = match packet.first().map(|first| first >> 4) {
        Some(ipv6::VERSION) => packet.first_chunk().map(addresses_ipv6),
        _ => packet
            .first_chunk::<{ ipv4::HEADER_LEN }>()
            .map(|header| u64::from_be_bytes(array_at(header, ipv4::offset::SOURCE))),
    };
    addresses.map_or(0, |addresses| finish(addresses, rest, seed))
}

/// The hash of a flow between two IPv4 addresses of which no more is known.
pub fn hash_of_addresses(source: u32, destination: u32, seed: u64) -> u32 {
    finish(u64::from(source) << 32 | u64::from(destination), 0, seed)
}

/// What the seed of the configuration is for a hash.
pub(super) fn seed(configured: u32) -> u64 {
    u64::from(configured) << 32 | u64::from(configured)
}

/// The hash of an IPv4 packet that is short, has options or no ports, or is a fragment.
#[inline(never)]
fn short_ipv4(packet: &[u8], seed: u64) -> u32 {
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else { return 0 };
    let addresses = u64::from_be_bytes(array_at(header, ipv4::offset::SOURCE));
    let upper = transport::of_ipv4(packet);
    finish(addresses, upper.map_or(0, |upper| rest_of(&upper)), seed)
}

/// What of a packet counts beside its addresses.
fn rest_of(upper: &Upper) -> u64 {
    match upper.fragment {
        Some(_) => 0,
        None => rest(upper.protocol, upper.ports.map_or(0, u32::from_be_bytes)),
    }
}

#[inline(always)]
fn rest(protocol: u8, ports: u32) -> u64 {
    u64::from(ports) << 8 | u64::from(protocol)
}

#[inline(always)]
fn addresses_ipv6(header: &[u8; ipv6::HEADER_LEN]) -> u64 {
    let half = |at: usize| u64::from_be_bytes(array_at(header, at));
    let [source, destination] = [ipv6::offset::SOURCE, ipv6::offset::DESTINATION]
        .map(|at| folded(half(at) ^ C, half(at + 8) ^ D));
    source ^ destination.rotate_left(1)
}

#[inline(always)]
fn finish(addresses: u64, rest: u64, seed: u64) -> u32 {
    folded(folded(addresses ^ A ^ seed, rest ^ B) ^ C, D) as u32
}

/// The product of two numbers, both halves of it in one.
#[inline(always)]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// An IPv4 header without options, and two ports.
const PLAIN: usize = ipv4::HEADER_LEN + 4;

/// The first binary digits behind the point of the square roots of 2, 3, 5 and 7.
pub(super) const A: u64 = 0x6a09_e667_f3bc_c908;
pub(super) const B: u64 = 0xbb67_ae85_84ca_a73b;
pub(super) const C: u64 = 0x3c6e_f372_fe94_f82b;
pub(super) const D: u64 = 0xa54f_f53a_5f1d_36f1;
