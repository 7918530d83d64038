//! Addresses and prefixes of both families as one type: what pools have and leases hold.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// What a client can hold, and what a pool has units of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An address: of IPv4, or of an IA_NA.
    Address,
    /// A prefix that is delegated (IA_PD).
    Delegated,
    /// A prefix of a link, from which its hosts make addresses (RFC 4862). No message of DHCP
    /// carries it: its pools are for whoever sends Router Advertisements.
    Slaac,
}

/// A prefix; an address is one of full length. It is as long as its family allows, and the bits
/// behind its length are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// Of IPv4 the address mapped into IPv6, so that both families are numbers of one kind.
    octets: [u8; 16],
    /// Its length in those 128 bits.
    bits: u8,
}

impl Prefix {
    /// Creates a prefix of `len` bits; `None` where bits behind the length are set, the length is
    /// more than the family's, or an address of IPv6 is one of IPv4 in disguise.
    pub fn new(address: IpAddr, len: u8) -> Option<Prefix> {
        let (octets, bits) = match address {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped().octets(), len.checked_add(MAPPED_BITS)?),
            IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => return None,
            IpAddr::V6(v6) => (v6.octets(), len),
        };
        let prefix = Prefix { octets, bits };
        let is_clear = bits <= BITS && prefix.first() & prefix.span() == 0;
        is_clear.then_some(prefix)
    }

    /// The prefix that is one address.
    pub fn host(address: IpAddr) -> Prefix {
        let octets = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        Prefix { octets, bits: BITS }
    }

    /// Whether a client can hold it as one of a kind: an address is all of its bits.
    pub(crate) fn is_whole(self, kind: Kind) -> bool {
        kind != Kind::Address || self.bits == BITS
    }

    /// Its first address.
    pub fn address(self) -> IpAddr {
        let v6 = Ipv6Addr::from(self.octets);
        let mapped = v6.to_ipv4_mapped().filter(|_| self.bits >= MAPPED_BITS);
        mapped.map_or(IpAddr::V6(v6), IpAddr::V4)
    }

    /// Its length in bits of its family.
    pub fn bits(self) -> u8 {
        if self.address().is_ipv4() { self.bits - MAPPED_BITS } else { self.bits }
    }

    /// Whether the two have an address in common.
    pub fn overlaps(self, other: Prefix) -> bool {
        self.first() <= other.last() && other.first() <= self.last()
    }

    /// The number that its first address is.
    pub(crate) fn first(self) -> u128 {
        u128::from_be_bytes(self.octets)
    }

    /// The number that its last address is.
    pub(crate) fn last(self) -> u128 {
        self.first() | self.span()
    }

    /// The prefix of this length that comes so many behind it; `None` past the family's end.
    pub(crate) fn behind(self, count: u32) -> Option<Prefix> {
        let step = self.span().checked_add(1)?;
        let first = self.first().checked_add(step.checked_mul(u128::from(count))?)?;
        let prefix = Prefix { octets: first.to_be_bytes(), bits: self.bits };
        (prefix.address().is_ipv4() == self.address().is_ipv4()).then_some(prefix)
    }

    /// How many of this length lie between the beginning of a range and this one; `None` where it
    /// is none of them.
    pub(crate) fn distance(self, first: Prefix) -> Option<u32> {
        let step = self.span().checked_add(1)?;
        let offset = self.first().checked_sub(first.first())?;
        let is_one = self.bits == first.bits && offset.is_multiple_of(step);
        is_one.then(|| u32::try_from(offset / step).ok()).flatten()
    }

    /// The bits behind its length, all set.
    fn span(self) -> u128 {
        u128::MAX.checked_shr(u32::from(self.bits)).unwrap_or(0)
    }

    /// The form in which records keep it.
    pub(crate) fn to_octets(self) -> [u8; 17] {
        let mut octets = [self.bits; 17];
        octets[..16].copy_from_slice(&self.octets);
        octets
    }

    /// Reads that form; `None` if it is no prefix.
    pub(crate) fn from_octets(octets: &[u8; 17]) -> Option<Prefix> {
        let [kept @ .., bits] = octets;
        let prefix = Prefix { octets: *kept, bits: *bits };
        (*bits <= BITS && prefix.first() & prefix.span() == 0).then_some(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits {
            BITS => write!(f, "{}", self.address()),
            _ => write!(f, "{}/{}", self.address(), self.bits()),
        }
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const BITS: u8 = 128;

/// Bits before an address of IPv4 in one of IPv6 that it is mapped into.
const MAPPED_BITS: u8 = 96;

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str, len: u8) -> Prefix {
        Prefix::new(text.parse().expect("an address"), len).expect("a prefix")
    }

    #[test]
    fn both_families_are_told_apart_and_shown() {
        assert_eq!(prefix("10.0.0.0", 8).to_string(), "10.0.0.0/8");
        assert_eq!(prefix("10.0.0.1", 32), Prefix::host([10, 0, 0, 1].into()));
        assert_eq!(prefix("2001:db8::", 56).to_string(), "2001:db8::/56");
        assert_eq!(prefix("::", 0).bits(), 0);
        for (text, len) in [("10.0.0.1", 31), ("10.0.0.0", 33), ("::1", 127), ("::", 129)] {
            assert_eq!(Prefix::new(text.parse().expect("an address"), len), None, "{text}/{len}");
        }
        assert_eq!(Prefix::new("::ffff:10.0.0.1".parse().expect("an address"), 128), None);
    }

    #[test]
    fn units_are_counted() {
        let first = prefix("2001:db8::", 56);
        let third = first.behind(2).expect("there is room");
        assert_eq!(third, prefix("2001:db8:0:200::", 56));
        assert_eq!((third.distance(first), first.distance(third)), (Some(2), None));
        assert_eq!(prefix("2001:db8:0:200::", 57).distance(first), None);
        assert!(first.overlaps(prefix("2001:db8:0:80::", 57)) && !first.overlaps(third));
        assert_eq!(prefix("255.255.255.255", 32).behind(1), None);
        assert_eq!(Prefix::host([255; 16].into()).behind(1), None);
        assert_eq!(Prefix::from_octets(&third.to_octets()), Some(third));
        assert_eq!(Prefix::from_octets(&[1; 17]), None);
    }
}
