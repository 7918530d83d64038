//! What an access list sees of a packet, as the classifier's key.
//!
//! ```text
//!  source | destination | source port | destination port | protocol | code point | parts | port | VLAN
//!   4/16       4/16            2               2              1           1          1      1      2
//! ```
//! The lowest bit of `parts` says that the packet has ports: its protocol has such, it is no later
//! fragment, and they are there. A rule that names ports wants this bit. IPv6's extension headers
//! are walked to the transport header. [`reads_ipv4`] and [`reads_ipv6`] say of which packets a key
//! tells all that there is to tell.

use packet::PortId;
use stages::transport::{behind, has_ports, of_ipv4 as behind_ipv4};
use tables::classifier::five_tuple::prefix;
use tables::classifier::{Condition, Field};
use wire::bytes::{array_at, u16_at};
use wire::{ethernet, ipv4, ipv6, protocol};

use super::super::config::{AclRule, Ports, Prefixed};
use super::super::known::Known;

/// Bytes of an address of IPv4; the keys begin with two of them.
pub const ADDRESS_V4: usize = 4;
/// Bytes of an address of IPv6.
pub const ADDRESS_V6: usize = 16;

/// Bytes of a key of IPv4.
pub const V4: usize = 2 * ADDRESS_V4 + REST;

/// Bytes of a key of IPv6.
pub const V6: usize = 2 * ADDRESS_V6 + REST;

/// Where the addresses of a key stand in a frame.
pub const AT_V4: usize = ethernet::HEADER_LEN + ipv4::offset::SOURCE;
/// The same for IPv6.
pub const AT_V6: usize = ethernet::HEADER_LEN + ipv6::offset::SOURCE;

/// The fields of both: addresses are first, of 4 or 16 bytes.
pub fn fields(address_bytes: u8) -> [Field; 9] {
    [
        Field::Masked(address_bytes),
        Field::Masked(address_bytes),
        Field::Ranged,
        Field::Ranged,
        Field::Masked(1),
        Field::Masked(1),
        Field::Masked(1),
        Field::Masked(1),
        Field::Masked(2),
    ]
}

/// What a rule wants of them, for addresses of so many bits.
pub fn conditions(rule: &AclRule, port: Option<PortId>, bits: u8) -> [Condition; 9] {
    let address = |wanted: Option<Prefixed<std::net::IpAddr>>| match wanted {
        None => Condition::Any,
        Some(Prefixed { address: std::net::IpAddr::V4(address), len }) => {
            prefix(bits, address.to_bits().into(), len)
        }
        Some(Prefixed { address: std::net::IpAddr::V6(address), len }) => {
            prefix(bits, address.to_bits(), len)
        }
    };
    let ports = |wanted: Option<Ports>| match wanted {
        None => Condition::Any,
        Some(Ports { first, last }) => Condition::Range { first, last },
    };
    let exactly = |wanted: Option<u16>| match wanted {
        None => Condition::Any,
        Some(value) => Condition::Masked { value: value.into(), mask: 0xffff },
    };
    let has_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
    [
        address(rule.source),
        address(rule.destination),
        ports(rule.source_ports),
        ports(rule.destination_ports),
        exactly(rule.protocol.map(u16::from)),
        exactly(rule.dscp.map(u16::from)),
        if has_ports { Condition::Masked { value: 1, mask: 1 } } else { Condition::Any },
        exactly(port.map(|port| port.0.into())),
        exactly(rule.vlan),
    ]
}

/// The key of an IPv4 packet that the check has let pass, in its frame, at a port and VLAN.
#[inline(always)]
pub fn of_ipv4(frame: &[u8], place: (u8, u16)) -> [u8; V4] {
    let mut key = [0; V4];
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return key };
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else { return key };
    key[..8].copy_from_slice(&header[ipv4::offset::SOURCE..]);
    let protocol = header[PROTOCOL_V4];
    let is_whole = u16_at(header, FRAGMENT_V4) & LATER_FRAGMENT == 0;
    let ports = match (is_whole && has_ports(protocol), header[0]) {
        (false, _) => None,
        (true, ipv4::VERSION_IHL) => four(packet, ipv4::HEADER_LEN),
        (true, first) => four(packet, usize::from(first & 0x0f) * 4),
    };
    rest(&mut key[8..], ports, protocol, header[1] >> 2, place);
    key
}

/// The same for IPv6.
#[inline(always)]
pub fn of_ipv6(frame: &[u8], place: (u8, u16), headers_max: u8) -> [u8; V6] {
    let mut key = [0; V6];
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return key };
    let Some(header) = packet.first_chunk::<{ ipv6::HEADER_LEN }>() else { return key };
    key[..32].copy_from_slice(&header[ipv6::offset::SOURCE..]);
    let next = header[NEXT_HEADER_V6];
    let (protocol, ports) = match has_ports(next) {
        true => (next, four(packet, ipv6::HEADER_LEN)),
        false => {
            let upper = behind(packet, next, headers_max);
            (upper.protocol, upper.ports)
        }
    };
    let class = u16_at(header, 0) >> 4;
    rest(&mut key[32..], ports, protocol, (class as u8) >> 2, place);
    key
}

/// Whether what stands behind the header of an IPv4 packet can be read to its end, where it is to
/// be; a plain packet is told by its first bytes.
#[inline(always)]
pub fn reads_ipv4(frame: &[u8]) -> bool {
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return false };
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else { return false };
    let is_whole = u16_at(header, FRAGMENT_V4) & (LATER_FRAGMENT | MORE_FRAGMENTS) == 0;
    let is_plain = (header[0] == ipv4::VERSION_IHL) & is_whole;
    is_plain & (packet.len() >= ipv4::HEADER_LEN + SHOWN_MAX)
        || behind_ipv4(packet).is_some_and(|upper| upper.is_read)
}

/// The same of an IPv6 packet, if it has at most `headers_max` extension headers.
#[inline(always)]
pub fn reads_ipv6(frame: &[u8], headers_max: u8) -> bool {
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return false };
    let Some(header) = packet.first_chunk::<{ ipv6::HEADER_LEN }>() else { return false };
    let next = header[NEXT_HEADER_V6];
    let is_plain = matches!(next, protocol::UDP | protocol::TCP);
    is_plain & (packet.len() >= ipv6::HEADER_LEN + SHOWN_MAX)
        || behind(packet, next, headers_max).is_read
}

/// Gives the key of a fragment what is known of its datagram.
pub(super) fn know<const KEY: usize>(key: &mut [u8; KEY], known: Known) {
    let Some(rest) = key.last_chunk_mut::<REST>() else { return };
    rest[..4].copy_from_slice(&known.ports.unwrap_or_default());
    rest[4] = known.protocol;
    rest[6] = known.ports.is_some().into();
}

#[inline(always)]
fn rest(key: &mut [u8], ports: Option<[u8; 4]>, protocol: u8, dscp: u8, (port, vlan): (u8, u16)) {
    let Some(key) = key.first_chunk_mut::<REST>() else { return };
    key[..4].copy_from_slice(&ports.unwrap_or_default());
    key[4] = protocol;
    key[5] = dscp;
    key[6] = ports.is_some().into();
    key[7] = port;
    key[8..].copy_from_slice(&vlan.to_be_bytes());
}

#[inline(always)]
fn four(packet: &[u8], at: usize) -> Option<[u8; 4]> {
    (packet.len() >= at + 4).then(|| array_at(packet, at))
}

/// Bytes behind the addresses.
const REST: usize = 10;
const PROTOCOL_V4: usize = 9;
const FRAGMENT_V4: usize = 6;
const LATER_FRAGMENT: u16 = 0x1fff;
const MORE_FRAGMENTS: u16 = 0x2000;
/// Bytes of a transport protocol that are looked at, at most.
const SHOWN_MAX: usize = 16;
const NEXT_HEADER_V6: usize = 6;
