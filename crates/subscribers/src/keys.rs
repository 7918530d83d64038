//! By what a session is found.

use tables::hash::Keyed;
use wire::MacAddr;

use crate::record::{Record, mask};

/// A key of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A station on a line: a session of IPoE.
    Station {
        /// The line.
        line: u32,
        /// The station.
        mac: MacAddr,
    },
    /// A session of PPPoE on a line.
    Pppoe {
        /// The line.
        line: u32,
        /// Its identifier.
        id: u16,
    },
    /// An IPv4 address.
    Ipv4 {
        /// Of which routing instance.
        vrf: u8,
        /// The address.
        address: u32,
    },
    /// An IPv6 address.
    Ipv6 {
        /// Of which routing instance.
        vrf: u8,
        /// The address.
        address: u128,
    },
    /// An IPv6 prefix of at most 64 bits.
    Prefix {
        /// Of which routing instance.
        vrf: u8,
        /// Its upper half.
        upper: u64,
        /// Its length in bits.
        len: u8,
    },
}

impl Key {
    /// The hash of it.
    #[inline(always)]
    pub(crate) fn hash(&self, keyed: &Keyed) -> u64 {
        match *self {
            Key::Station { line, mac } => {
                let [a, b, c, d, e, f] = mac.0;
                keyed.of2(u64::from_be_bytes([1, 0, a, b, c, d, e, f]), line.into())
            }
            Key::Pppoe { line, id } => keyed.of2(2 << 56 | u64::from(id), line.into()),
            Key::Ipv4 { vrf, address } => keyed.of2(3 << 56 | u64::from(vrf), address.into()),
            Key::Ipv6 { vrf, address } => {
                keyed.of4((address >> 64) as u64, address as u64, 4 << 56 | u64::from(vrf), 0)
            }
            Key::Prefix { vrf, upper, len } => {
                keyed.of2(5 << 56 | u64::from(vrf) << 8 | u64::from(len), upper)
            }
        }
    }

    /// Whether a session has it.
    #[inline(always)]
    pub(crate) fn is_of(&self, record: &Record) -> bool {
        let is_its = match *self {
            Key::Station { line, mac } => {
                (record.line == line) & (record.mac == mac.0) & (record.pppoe == 0)
            }
            Key::Pppoe { line, id } => (record.line == line) & (record.pppoe == id) & (id != 0),
            Key::Ipv4 { vrf, address } => record.has_ipv4(address) & (record.vrf == vrf),
            Key::Ipv6 { vrf, address } => {
                (record.address == address) & (address != 0) & (record.vrf == vrf)
            }
            Key::Prefix { vrf, upper, len } => {
                let is_slaac = (len == 64) & (record.slaac == upper);
                let is_delegated = (record.delegated_len == len) & (record.delegated == upper);
                (is_slaac | is_delegated) & (upper != 0) & (record.vrf == vrf)
            }
        };
        is_its & (record.kind != 0)
    }

    /// The prefix of a length that an address is in.
    #[inline(always)]
    pub fn prefix(vrf: u8, address: u128, len: u8) -> Key {
        Key::Prefix { vrf, upper: (address >> 64) as u64 & mask(len), len }
    }
}

/// The keys of a session, at most [`KEYS_MAX`].
pub(crate) fn of(record: &Record) -> impl Iterator<Item = Key> + use<> {
    let Record { line, vrf, slaac, delegated, delegated_len, .. } = *record;
    let access = match record.pppoe {
        0 => Key::Station { line, mac: record.station() },
        id => Key::Pppoe { line, id },
    };
    let ipv4 = (record.ipv4 != 0).then_some(Key::Ipv4 { vrf, address: record.ipv4 });
    let ipv6 = (record.address != 0).then_some(Key::Ipv6 { vrf, address: record.address });
    let slaac = (slaac != 0).then_some(Key::Prefix { vrf, upper: slaac, len: 64 });
    let delegated = (delegated != 0)
        .then_some(Key::Prefix { vrf, upper: delegated, len: delegated_len })
        .filter(|key| slaac != Some(*key));
    [Some(access), ipv4, ipv6, slaac, delegated].into_iter().flatten()
}

/// Most keys of a session.
pub(crate) const KEYS_MAX: usize = 5;
