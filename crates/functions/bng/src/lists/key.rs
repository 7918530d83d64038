//! What a list sees of a packet, as the classifier's key.
//!
//! ```text
//!  source | destination | ports | protocol | code point | parts
//!   4/16       4/16       2, 2       1           1          1
//! ```
//! `parts` has a bit each for: the packet has ports, is a fragment, is a later one, goes to the
//! subscriber, comes from an address of the session, goes to one.

use stages::transport::{HEADERS_MAX, Upper, behind, has_ports, of_ipv4 as behind_ipv4};
use tables::classifier::five_tuple::prefix;
use tables::classifier::{Condition, Field};
use wire::bytes::u16_at;
use wire::{ipv4, ipv6, protocol};

use crate::config::{Direction, Matched, Part, Rule};
use crate::parse::Packet;
use crate::way::Toward;

/// Bytes of a key of IPv4.
pub const V4: usize = 8 + REST;

/// Bytes of a key of IPv6.
pub const V6: usize = 32 + REST;

/// The fields of both: addresses are first, of 4 or 16 bytes.
pub fn fields(address_bytes: u8) -> [Field; 7] {
    [
        Field::Masked(address_bytes),
        Field::Masked(address_bytes),
        Field::Ranged,
        Field::Ranged,
        Field::Masked(1),
        Field::Masked(1),
        Field::Masked(1),
    ]
}

/// What a rule wants of them, for addresses of so many bits.
pub fn conditions(rule: &Rule, bits: u8) -> [Condition; 7] {
    let address = |wanted: Option<Matched>| match wanted {
        None | Some(Matched::Subscriber) => Condition::Any,
        Some(Matched::Network(net)) => match net.address {
            std::net::IpAddr::V4(address) => prefix(bits, address.to_bits().into(), net.len),
            std::net::IpAddr::V6(address) => prefix(bits, address.to_bits(), net.len),
        },
    };
    let ports = |wanted: Option<function_kit::sections::Ports>| match wanted {
        None => Condition::Any,
        Some(ports) => Condition::Range { first: ports.first, last: ports.last },
    };
    let exactly = |wanted: Option<u8>| match wanted {
        None => Condition::Any,
        Some(value) => Condition::Masked { value: value.into(), mask: 0xff },
    };
    [
        address(rule.source),
        address(rule.destination),
        ports(rule.source_ports),
        ports(rule.destination_ports),
        exactly(rule.protocol),
        exactly(rule.dscp),
        parts(rule),
    ]
}

/// What a rule wants of the bits of a packet's parts.
fn parts(rule: &Rule) -> Condition {
    let has_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
    let mut wanted = if has_ports { (HAS_PORTS, HAS_PORTS) } else { (0, 0) };
    let mut want = |value: u8, mask: u8| wanted = (wanted.0 | value, wanted.1 | mask);
    match rule.fragment {
        None => {}
        Some(Part::None) => want(0, IS_PART),
        Some(Part::Any) => want(IS_PART, IS_PART),
        Some(Part::Later) => want(IS_PART | IS_LATER, IS_PART | IS_LATER),
    }
    match rule.direction {
        None => {}
        Some(Direction::Up) => want(0, IS_DOWN),
        Some(Direction::Down) => want(IS_DOWN, IS_DOWN),
    }
    if rule.source == Some(Matched::Subscriber) {
        want(IS_FROM_IT, IS_FROM_IT);
    }
    if rule.destination == Some(Matched::Subscriber) {
        want(IS_TO_IT, IS_TO_IT);
    }
    match wanted.1 {
        0 => Condition::Any,
        mask => Condition::Masked { value: wanted.0.into(), mask: mask.into() },
    }
}

/// Writes the key of a packet of IPv4; whether what stands behind its header can be read.
#[inline(always)]
pub(super) fn of_ipv4(
    frame: &[u8],
    packet: &Packet,
    ends: (Toward, bool),
    key: &mut [u8; V4],
) -> bool {
    key[..4].copy_from_slice(&(packet.source as u32).to_be_bytes());
    key[4..8].copy_from_slice(&(packet.destination as u32).to_be_bytes());
    let bytes = bytes_of(frame, packet);
    let is_whole = bytes.len() >= ipv4::HEADER_LEN + SHOWN
        && u16_at(bytes, ipv4::offset::FLAGS_FRAGMENT) & NOT_WHOLE == 0;
    let (seen, is_read) = match is_whole {
        true => {
            let ports = bytes.get(ipv4::HEADER_LEN..).and_then(|rest| rest.first_chunk::<4>());
            let ports = ports.filter(|_| has_ports(packet.protocol)).copied();
            (Seen { protocol: packet.protocol, ports, part: 0 }, true)
        }
        false => seen(behind_ipv4(bytes)),
    };
    seen.write(key, packet, ends);
    is_read
}

/// The same of IPv6.
#[inline(always)]
pub(super) fn of_ipv6(
    frame: &[u8],
    packet: &Packet,
    ends: (Toward, bool),
    key: &mut [u8; V6],
) -> bool {
    key[..16].copy_from_slice(&packet.source.to_be_bytes());
    key[16..32].copy_from_slice(&packet.destination.to_be_bytes());
    let bytes = bytes_of(frame, packet);
    let is_plain = matches!(packet.protocol, protocol::UDP | protocol::TCP)
        && bytes.len() >= ipv6::HEADER_LEN + SHOWN;
    let (seen, is_read) = match is_plain {
        true => {
            let ports = bytes.get(ipv6::HEADER_LEN..).and_then(|rest| rest.first_chunk::<4>());
            (Seen { protocol: packet.protocol, ports: ports.copied(), part: 0 }, true)
        }
        false => seen(Some(behind(bytes, packet.protocol, HEADERS_MAX))),
    };
    seen.write(key, packet, ends);
    is_read
}

/// The bytes of a packet in its frame.
#[inline(always)]
fn bytes_of<'a>(frame: &'a [u8], packet: &Packet) -> &'a [u8] {
    let begin = usize::from(packet.at);
    frame.get(begin..begin + usize::from(packet.len)).unwrap_or_default()
}

/// What a packet shows behind its addresses.
struct Seen {
    protocol: u8,
    ports: Option<[u8; 4]>,
    part: u8,
}

#[inline(never)]
fn seen(upper: Option<Upper>) -> (Seen, bool) {
    let Some(upper) = upper else { return (Seen { protocol: 0, ports: None, part: 0 }, false) };
    let part = match upper.fragment {
        None => 0,
        Some(fragment) if fragment.offset > 0 => IS_PART | IS_LATER,
        Some(_) => IS_PART,
    };
    (Seen { protocol: upper.protocol, ports: upper.ports, part }, upper.is_read)
}

impl Seen {
    /// Writes what follows the addresses.
    #[inline(always)]
    fn write(&self, key: &mut [u8], packet: &Packet, (toward, is_both): (Toward, bool)) {
        let Some(rest) = key.last_chunk_mut::<REST>() else { return };
        rest[..4].copy_from_slice(&self.ports.unwrap_or_default());
        rest[4] = self.protocol;
        rest[5] = packet.dscp;
        let both = IS_FROM_IT | IS_TO_IT;
        let ends = match (toward, is_both) {
            (Toward::Internet, false) => IS_FROM_IT,
            (Toward::Internet, true) => both,
            (Toward::Subscriber, false) => IS_DOWN | IS_TO_IT,
            (Toward::Subscriber, true) => IS_DOWN | both,
        };
        rest[6] = self.part | ends | if self.ports.is_some() { HAS_PORTS } else { 0 };
    }
}

/// The packet has ports.
const HAS_PORTS: u8 = 1 << 0;
/// It is a fragment.
const IS_PART: u8 = 1 << 1;
/// It is not the first one.
const IS_LATER: u8 = 1 << 2;
/// It goes to the subscriber.
const IS_DOWN: u8 = 1 << 3;
/// It comes from an address of the session.
const IS_FROM_IT: u8 = 1 << 4;
/// It goes to one.
const IS_TO_IT: u8 = 1 << 5;
/// Bytes behind the addresses.
const REST: usize = 7;
/// Bytes behind a header of IP that every transport protocol shows whose ports are looked at.
const SHOWN: usize = 16;
const NOT_WHOLE: u16 = ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK;
