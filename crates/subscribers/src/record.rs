//! What is known of a session for each of its packets, in one cache line.

use wire::MacAddr;
use zerocopy::FromZeros;

/// A session. Zeros where it has nothing of a kind; of the numbers of the owner's, zero means what
/// the owner says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub struct Record {
    /// Its IPv6 address.
    pub address: u128,
    /// Upper half of the /64 of which it makes its addresses.
    pub slaac: u64,
    /// Upper half of the prefix that is delegated to it.
    pub delegated: u64,
    /// Its IPv4 address.
    pub ipv4: u32,
    /// Its line.
    pub line: u32,
    /// The MAC address of its host.
    pub mac: [u8; 6],
    /// Its session identifier of PPPoE; 0 of one of IPoE.
    pub pppoe: u16,
    /// The longest packet that its host receives, in bytes; 0 for any.
    pub mru: u16,
    /// A number of the owner's for its profile.
    pub profile: u16,
    /// A number of the owner's for its list of rules.
    pub list: u16,
    /// A number of the owner's for its access node.
    pub node: u16,
    /// The routing instance of its addresses.
    pub vrf: u8,
    /// Length of the prefix that is delegated to it, in bits.
    pub delegated_len: u8,
    /// What kind of a session it is, a number of the owner's; 0, which means none, counts as 1.
    pub kind: u8,
}

impl Record {
    /// The MAC address of its host.
    #[inline(always)]
    pub fn station(&self) -> MacAddr {
        MacAddr(self.mac)
    }

    /// Whether an IPv4 address is its own.
    #[inline(always)]
    pub fn has_ipv4(&self, address: u32) -> bool {
        (self.ipv4 == address) & (address != 0)
    }

    /// Whether an IPv6 address is its own, or of one of its prefixes.
    #[inline(always)]
    pub fn has_ipv6(&self, address: u128) -> bool {
        let upper = (address >> 64) as u64;
        let is_own = (self.address == address) & (address != 0);
        let is_slaac = (self.slaac == upper) & (upper != 0);
        let is_delegated =
            (upper & mask(self.delegated_len) == self.delegated) & (self.delegated != 0);
        is_own | is_slaac | is_delegated
    }
}

/// The bits of the upper half of an address that a prefix of at most 64 bits looks at.
#[inline(always)]
pub(crate) fn mask(len: u8) -> u64 {
    u64::MAX.checked_shl(64 - u32::from(len.min(64))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_cache_line() {
        assert_eq!((size_of::<Record>(), align_of::<Record>()), (64, 64));
    }

    #[test]
    fn what_is_not_there_is_nobodys() {
        let none = Record::default();
        assert!(!none.has_ipv4(0) && !none.has_ipv6(0) && !none.has_ipv6(1));
        let upper = 0x2001_0db8_0001_0200_u64;
        let one = Record { delegated: upper, delegated_len: 56, ..Record::default() };
        let of = |upper: u64| u128::from(upper) << 64 | 7;
        assert!(one.has_ipv6(of(upper)) && one.has_ipv6(of(upper | 0xff)));
        assert!(!one.has_ipv6(of(upper ^ 0x100)) && !one.has_ipv6(7));
    }
}
