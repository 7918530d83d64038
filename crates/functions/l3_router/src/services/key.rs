//! What an access list sees of a packet, as the classifier's key.
//!
//! ```text
//!  source | destination | ports | protocol | code point | parts | port | VLAN | said
//!   4/16       4/16       2, 2       1           1          1      1      2     2
//! ```
//! The lowest bit of `parts` says that the packet has ports: its protocol has such, it is no later
//! fragment, and they are there. A rule that names ports wants this bit. The next ones say that it
//! is a fragment, that it is a later one, and that it shows what is `said`: type and code of ICMP,
//! or TCP's flags and a zero. IPv6's extension headers are walked to the transport header.
//! [`reads_ipv4`] and [`reads_ipv6`] say of which packets a key tells all that there is to tell.

use packet::PortId;
use stages::transport::{behind, has_ports, of_ipv4 as behind_ipv4};
use tables::classifier::five_tuple::prefix;
use tables::classifier::{Condition, Field};
use wire::bytes::u16_at;
use wire::{ethernet, ipv4, ipv6, protocol, tcp};

use super::super::config::{AclRule, Part, Ports, Prefixed};
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
pub fn fields(address_bytes: u8) -> [Field; 10] {
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
        Field::Masked(2),
    ]
}

/// What a rule wants of them, for addresses of so many bits.
pub fn conditions(rule: &AclRule, port: Option<PortId>, bits: u8) -> [Condition; 10] {
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
    [
        address(rule.source),
        address(rule.destination),
        ports(rule.source_ports),
        ports(rule.destination_ports),
        exactly(rule.protocol.map(u16::from)),
        exactly(rule.dscp.map(u16::from)),
        parts(rule),
        exactly(port.map(|port| port.0.into())),
        exactly(rule.vlan),
        said(rule),
    ]
}

/// What a rule wants of the bits about a packet's parts.
fn parts(rule: &AclRule) -> Condition {
    let has_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
    let has_said = rule.icmp_type.is_some() || rule.icmp_code.is_some() || rule.tcp_flags.is_some();
    let (part, mask) = match rule.fragment {
        None => (0, 0),
        Some(Part::None) => (0, IS_PART),
        Some(Part::Any) => (IS_PART, IS_PART),
        Some(Part::First) => (IS_PART, IS_PART | IS_LATER),
        Some(Part::Later) => (IS_PART | IS_LATER, IS_PART | IS_LATER),
    };
    let wants = if has_ports { HAS_PORTS } else { 0 } | if has_said { HAS_SAID } else { 0 };
    match (wants | mask).into() {
        0 => Condition::Any,
        mask => Condition::Masked { value: (wants | part).into(), mask },
    }
}

/// What a rule wants of what the transport header says.
fn said(rule: &AclRule) -> Condition {
    let byte = |wanted: Option<u8>| wanted.map_or((0, 0), |value| (value, 0xff));
    let (first, second) = match rule.tcp_flags {
        Some(flags) => ((flags.set, flags.set | flags.clear), (0, 0)),
        None => (byte(rule.icmp_type), byte(rule.icmp_code)),
    };
    let both = |first: u8, second: u8| u128::from(u16::from_be_bytes([first, second]));
    match both(first.1, second.1) {
        0 => Condition::Any,
        mask => Condition::Masked { value: both(first.0, second.0), mask },
    }
}

/// The key of an IPv4 packet that the check has let pass, in its frame, at a port and VLAN.
#[inline(always)]
pub fn of_ipv4(frame: &[u8], place_of: (u8, u16)) -> [u8; V4] {
    let mut key = [0; V4];
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return key };
    let Some(header) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else { return key };
    key[..8].copy_from_slice(&header[ipv4::offset::SOURCE..]);
    let protocol = header[PROTOCOL_V4];
    let place = u16_at(header, FRAGMENT_V4);
    let is_later = place & LATER_FRAGMENT != 0;
    let shown = match (is_later, header[0]) {
        (true, _) => None,
        (false, ipv4::VERSION_IHL) => packet.get(ipv4::HEADER_LEN..),
        (false, first) => packet.get(usize::from(first & 0x0f) * 4..),
    };
    let is_part = place & (LATER_FRAGMENT | MORE_FRAGMENTS) != 0;
    let seen = Seen { protocol, dscp: header[1] >> 2, shown, is_part, is_later };
    seen.write(&mut key[8..], place_of);
    key
}

/// The same for IPv6.
#[inline(always)]
pub fn of_ipv6(frame: &[u8], place_of: (u8, u16), headers_max: u8) -> [u8; V6] {
    let mut key = [0; V6];
    let Some(packet) = frame.get(ethernet::HEADER_LEN..) else { return key };
    let Some(header) = packet.first_chunk::<{ ipv6::HEADER_LEN }>() else { return key };
    key[..32].copy_from_slice(&header[ipv6::offset::SOURCE..]);
    let next = header[NEXT_HEADER_V6];
    let dscp = (u16_at(header, 0) >> 6) as u8 & 0x3f;
    let seen = match has_ports(next) {
        true => {
            let shown = packet.get(ipv6::HEADER_LEN..);
            Seen { protocol: next, dscp, shown, is_part: false, is_later: false }
        }
        false => {
            let upper = behind(packet, next, headers_max);
            let is_later = upper.fragment.is_some_and(|fragment| fragment.offset > 0);
            Seen {
                protocol: upper.protocol,
                dscp,
                shown: packet.get(upper.at..).filter(|_| !is_later),
                is_part: upper.fragment.is_some(),
                is_later,
            }
        }
    };
    seen.write(&mut key[32..], place_of);
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
    rest[6] = rest[6] & !HAS_PORTS | if known.ports.is_some() { HAS_PORTS } else { 0 };
}

/// What a packet shows behind its addresses.
struct Seen<'a> {
    protocol: u8,
    dscp: u8,
    /// What the transport protocol begins with; none of a later fragment.
    shown: Option<&'a [u8]>,
    is_part: bool,
    is_later: bool,
}

impl Seen<'_> {
    /// Writes what follows the addresses in a key, for a packet at a port and VLAN.
    #[inline(always)]
    fn write(&self, key: &mut [u8], (port, vlan): (u8, u16)) {
        let Some(key) = key.first_chunk_mut::<REST>() else { return };
        let shown = self.shown.unwrap_or_default();
        let ports = shown.first_chunk::<4>().filter(|_| has_ports(self.protocol));
        let said = match self.protocol {
            protocol::TCP => shown.get(tcp::offset::FLAGS).map(|&flags| [flags, 0]),
            protocol::ICMP | protocol::ICMPV6 => shown.first_chunk::<2>().copied(),
            _ => None,
        };
        key[..4].copy_from_slice(ports.unwrap_or(&[0; 4]));
        key[4] = self.protocol;
        key[5] = self.dscp;
        key[6] = if ports.is_some() { HAS_PORTS } else { 0 }
            | if said.is_some() { HAS_SAID } else { 0 }
            | if self.is_part { IS_PART } else { 0 }
            | if self.is_later { IS_LATER } else { 0 };
        key[7] = port;
        key[8..10].copy_from_slice(&vlan.to_be_bytes());
        key[10..].copy_from_slice(&said.unwrap_or_default());
    }
}

/// The packet has ports.
const HAS_PORTS: u8 = 1 << 0;
/// It is a fragment.
const IS_PART: u8 = 1 << 1;
/// It is not the first one.
const IS_LATER: u8 = 1 << 2;
/// It shows ICMP's type and code, or TCP's flags.
const HAS_SAID: u8 = 1 << 3;
/// Bytes behind the addresses.
const REST: usize = 12;
const PROTOCOL_V4: usize = 9;
const FRAGMENT_V4: usize = 6;
const LATER_FRAGMENT: u16 = 0x1fff;
const MORE_FRAGMENTS: u16 = 0x2000;
/// Bytes of a transport protocol that are looked at, at most.
const SHOWN_MAX: usize = 16;
const NEXT_HEADER_V6: usize = 6;
