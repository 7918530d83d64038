//! Rules over the five-tuple of IPv4 and IPv6: addresses by prefix, ports by range, protocol by
//! mask.

use std::ops::RangeInclusive;

use super::rule::{Condition, Field};

/// Bytes of a key of IPv4: source, destination, source port, destination port, protocol.
pub const KEY_V4: usize = 13;

/// Bytes of a key of IPv6, of the same parts.
pub const KEY_V6: usize = 37;

/// The fields of [`KEY_V4`].
pub const FIELDS_V4: [Field; 5] =
    [Field::Masked(4), Field::Masked(4), Field::Ranged, Field::Ranged, Field::Masked(1)];

/// The fields of [`KEY_V6`].
pub const FIELDS_V6: [Field; 5] =
    [Field::Masked(16), Field::Masked(16), Field::Ranged, Field::Ranged, Field::Masked(1)];

/// What a packet is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<A> {
    /// Its source address.
    pub source: A,
    /// Its destination address.
    pub destination: A,
    /// Its source port; 0 where there is none.
    pub source_port: u16,
    /// Its destination port; 0 where there is none.
    pub destination_port: u16,
    /// Its protocol.
    pub protocol: u8,
}

/// A rule over it. Addresses are `u32` or `u128`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<A> {
    /// Network and length of the prefix of the source.
    pub source: (A, u8),
    /// The same for the destination.
    pub destination: (A, u8),
    /// Source ports.
    pub source_ports: RangeInclusive<u16>,
    /// Destination ports.
    pub destination_ports: RangeInclusive<u16>,
    /// The protocol and which of its bits count.
    pub protocol: (u8, u8),
}

impl Header<u32> {
    /// The key of a packet of IPv4.
    #[inline]
    pub fn key(&self) -> [u8; KEY_V4] {
        let mut key = [0; KEY_V4];
        key[..4].copy_from_slice(&self.source.to_be_bytes());
        key[4..8].copy_from_slice(&self.destination.to_be_bytes());
        key[8..10].copy_from_slice(&self.source_port.to_be_bytes());
        key[10..12].copy_from_slice(&self.destination_port.to_be_bytes());
        key[12] = self.protocol;
        key
    }
}

impl Header<u128> {
    /// The key of a packet of IPv6.
    #[inline]
    pub fn key(&self) -> [u8; KEY_V6] {
        let mut key = [0; KEY_V6];
        key[..16].copy_from_slice(&self.source.to_be_bytes());
        key[16..32].copy_from_slice(&self.destination.to_be_bytes());
        key[32..34].copy_from_slice(&self.source_port.to_be_bytes());
        key[34..36].copy_from_slice(&self.destination_port.to_be_bytes());
        key[36] = self.protocol;
        key
    }
}

impl Rule<u32> {
    /// The conditions for [`FIELDS_V4`].
    pub fn conditions(&self) -> [Condition; 5] {
        let address = |(network, len): (u32, u8)| prefix(32, network.into(), len);
        self.with_addresses(address(self.source), address(self.destination))
    }
}

impl Rule<u128> {
    /// The conditions for [`FIELDS_V6`].
    pub fn conditions(&self) -> [Condition; 5] {
        let address = |(network, len): (u128, u8)| prefix(128, network, len);
        self.with_addresses(address(self.source), address(self.destination))
    }
}

impl<A> Rule<A> {
    fn with_addresses(&self, source: Condition, destination: Condition) -> [Condition; 5] {
        let ports = |ports: &RangeInclusive<u16>| Condition::Range {
            first: *ports.start(),
            last: *ports.end(),
        };
        let (value, mask) = (self.protocol.0.into(), self.protocol.1.into());
        [
            source,
            destination,
            ports(&self.source_ports),
            ports(&self.destination_ports),
            Condition::Masked { value, mask },
        ]
    }
}

/// The condition that the first `len` bits of an address of `bits` bits are those of a network; a
/// longer prefix than the address counts as the whole address.
pub fn prefix(bits: u8, network: u128, len: u8) -> Condition {
    let host_bits = u32::from(bits.saturating_sub(len));
    let all = u128::MAX >> (128 - u32::from(bits.clamp(1, 128)));
    let mask = all & u128::MAX.checked_shl(host_bits).unwrap_or(0);
    Condition::Masked { value: network, mask }
}
