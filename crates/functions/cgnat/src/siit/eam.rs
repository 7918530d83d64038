//! Explicit address mappings between IPv4 and IPv6 (RFC 7757), for translation without state.
//!
//! ```text
//!  192.0.2.133        192.0.2.128/26 │ 000101
//!                     2001:db8:dddd::/64 │ 000101 │ zeros        2001:db8:dddd:0:1400::
//! ```
//!
//! A mapping pairs a prefix of each family. What follows the one prefix follows the other, and
//! zeros fill the rest, which is ignored on the way back (section 3.3). Where several prefixes
//! cover an address the longest counts, in each direction for itself. What no mapping covers is
//! embedded under a prefix of RFC 6052, if there is one.
//!
//! The customer's side of 464XLAT (RFC 6877), too, is such a table: its own IPv4 addresses are
//! mapped to IPv6 addresses of its own, all others are embedded under the provider's prefix.
//!
//! Hairpinning (section 4): a packet from one mapped station to the embedded address of another
//! comes back at once. Its source then must not become the sender's own IPv6 address, past which
//! the answer would not return: [`is_hairpin`](Mappings::is_hairpin) tells such destinations, and
//! [`to_ipv6_embedded`](Mappings::to_ipv6_embedded) is for their sources (section 4.2.1).
//!
//! The table is sized when it is made and does not change. **Not supported:** two mappings of the
//! same prefix, of which the RFC leaves open which counts.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tables::lpm::{Limits, Lpm, LpmError};
use wire::embedded::Prefix;

/// A pair of prefixes. The bits behind that of IPv4 must fit behind that of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The prefix of IPv4, with zeros behind it.
    pub ipv4: Ipv4Addr,
    /// Its length in bits.
    pub ipv4_len: u8,
    /// The prefix of IPv6, with zeros behind it.
    pub ipv6: Ipv6Addr,
    /// Its length in bits.
    pub ipv6_len: u8,
}

impl Mapping {
    /// How many bits are taken over.
    fn suffix_len(&self) -> u8 {
        32 - self.ipv4_len
    }

    /// How far they stand from the end of the IPv6 address, in bits; of none it does not matter.
    fn shift(&self) -> u8 {
        (128 - self.ipv6_len - self.suffix_len()).min(127)
    }

    /// Ones where they stand in the IPv4 address.
    fn mask(&self) -> u32 {
        ((1u64 << self.suffix_len()) - 1) as u32
    }
}

/// Why a table cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// Too many.
    #[error("{count} address mappings are more than {MAPPINGS_MAX}")]
    Count {
        /// How many there are.
        count: usize,
    },
    /// The suffix of IPv4 does not fit (RFC 7757 section 3.2).
    #[error(
        "address mapping {index}: an IPv6 prefix of {ipv6_len} bits leaves less room than an IPv4 \
         prefix of {ipv4_len} needs; make the first at most {} bits long",
        96 + u16::from(*ipv4_len)
    )]
    Suffix {
        /// Which, from 0.
        index: usize,
        /// Bits of its IPv4 prefix.
        ipv4_len: u8,
        /// Bits of its IPv6 prefix.
        ipv6_len: u8,
    },
    /// A prefix stands in an earlier mapping, too.
    #[error("address mapping {index} has a prefix of an earlier one; leave one of them out")]
    Twice {
        /// Which, from 0.
        index: usize,
    },
    /// A prefix is no prefix.
    #[error("address mapping {index}: {error}")]
    Prefix {
        /// Which, from 0.
        index: usize,
        /// What is wrong with it.
        error: LpmError,
    },
    /// The kernel has no memory for the table.
    #[error("no memory for address mappings: {0}")]
    Memory(#[from] io::Error),
}

/// The table of section 3.1.
#[derive(Debug)]
pub struct Mappings {
    mappings: Vec<Mapping>,
    by_ipv4: Lpm<u32>,
    by_ipv6: Lpm<u128>,
    prefix: Option<Prefix>,
}

impl Mappings {
    /// A table of these mappings; `prefix` embeds what they do not cover.
    ///
    /// # Errors
    /// [`MappingError`].
    pub fn new(mappings: &[Mapping], prefix: Option<Prefix>) -> Result<Self, MappingError> {
        let count = mappings.len();
        if count > MAPPINGS_MAX {
            return Err(MappingError::Count { count });
        }
        let mut by_ipv4 = Lpm::new(Limits::for_any::<u32>(count))?;
        let mut by_ipv6 = Lpm::new(Limits::for_any::<u128>(count))?;
        for (index, mapping) in mappings.iter().enumerate() {
            let Mapping { ipv4, ipv4_len, ipv6, ipv6_len } = *mapping;
            let of_prefix = |error| MappingError::Prefix { index, error };
            let earlier = [
                by_ipv4.insert(ipv4.to_bits(), ipv4_len, index as u32).map_err(of_prefix)?,
                by_ipv6.insert(ipv6.to_bits(), ipv6_len, index as u32).map_err(of_prefix)?,
            ];
            if earlier != [None, None] {
                return Err(MappingError::Twice { index });
            }
            if u16::from(ipv6_len) > 96 + u16::from(ipv4_len) {
                return Err(MappingError::Suffix { index, ipv4_len, ipv6_len });
            }
        }
        Ok(Self { mappings: mappings.to_vec(), by_ipv4, by_ipv6, prefix })
    }

    /// The IPv6 address of an IPv4 address (section 3.3.1); none where no mapping covers it and no
    /// prefix may carry it.
    #[inline]
    pub fn to_ipv6(&self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        match self.mapped_ipv4(address) {
            Some((_, mapped)) => Some(mapped),
            None => self.to_ipv6_embedded(address),
        }
    }

    /// Which mapping covers an IPv4 address, and what it becomes by that one.
    #[inline]
    pub fn mapped_ipv4(&self, address: Ipv4Addr) -> Option<(usize, Ipv6Addr)> {
        let number = self.by_ipv4.lookup(address.to_bits())? as usize;
        let mapping = self.mappings.get(number)?;
        let suffix = u128::from(address.to_bits() & mapping.mask());
        Some((number, Ipv6Addr::from_bits(mapping.ipv6.to_bits() | suffix << mapping.shift())))
    }

    /// The same without the mappings.
    #[inline]
    pub fn to_ipv6_embedded(&self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        let prefix = self.prefix.filter(|prefix| !prefix.forbids(address))?;
        Some(prefix.embed(address))
    }

    /// The IPv4 address of an IPv6 address (section 3.3.2); none where no mapping covers it and it
    /// is not embedded, or may not be.
    #[inline]
    pub fn to_ipv4(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        if let Some((_, mapped)) = self.mapped_ipv6(address) {
            return Some(mapped);
        }
        let prefix = self.prefix?;
        prefix.extract(address).filter(|address| !prefix.forbids(*address))
    }

    /// Which mapping covers an IPv6 address, and what it becomes by that one.
    #[inline]
    pub fn mapped_ipv6(&self, address: Ipv6Addr) -> Option<(usize, Ipv4Addr)> {
        let number = self.by_ipv6.lookup(address.to_bits())? as usize;
        let mapping = self.mappings.get(number)?;
        let suffix = (address.to_bits() >> mapping.shift()) as u32 & mapping.mask();
        Some((number, Ipv4Addr::from_bits(mapping.ipv4.to_bits() | suffix)))
    }

    /// Whether a packet to this address comes back as soon as it is translated: it embeds an
    /// address that is mapped (section 4).
    #[inline]
    pub fn is_hairpin(&self, destination: Ipv6Addr) -> bool {
        self.by_ipv6.lookup(destination.to_bits()).is_none()
            && self
                .prefix
                .and_then(|prefix| prefix.extract(destination))
                .is_some_and(|address| self.by_ipv4.lookup(address.to_bits()).is_some())
    }

    /// The mappings, in their order.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }
}

/// The most mappings of a table.
pub const MAPPINGS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mapping(ipv4: &str, ipv4_len: u8, ipv6: &str, ipv6_len: u8) -> Mapping {
        Mapping { ipv4: ipv4.parse().unwrap(), ipv4_len, ipv6: ipv6.parse().unwrap(), ipv6_len }
    }

    #[test]
    fn a_customers_side_of_464xlat_maps_its_own_addresses_and_embeds_all_others() {
        let own = mapping("192.168.7.0", 24, "2001:db8:aa::", 120);
        let provider = Prefix::new("2001:db8:64::".parse().unwrap(), 96).unwrap();
        let clat = Mappings::new(&[own], Some(provider)).unwrap();
        for (ipv4, ipv6) in
            [("192.168.7.9", "2001:db8:aa::9"), ("203.0.113.1", "2001:db8:64::203.0.113.1")]
        {
            let (ipv4, ipv6) = (ipv4.parse().unwrap(), ipv6.parse().unwrap());
            assert_eq!(clat.to_ipv6(ipv4), Some(ipv6));
            assert_eq!(clat.to_ipv4(ipv6), Some(ipv4));
        }
    }

    /// The table of RFC 7757, figure 2.
    fn figure_2() -> Vec<Mapping> {
        vec![
            mapping("192.0.2.1", 32, "2001:db8:aaaa::", 128),
            mapping("192.0.2.2", 32, "2001:db8:bbbb::b", 128),
            mapping("192.0.2.16", 28, "2001:db8:cccc::", 124),
            mapping("192.0.2.128", 26, "2001:db8:dddd::", 64),
            mapping("192.0.2.192", 29, "2001:db8:eeee:8::", 62),
            mapping("192.0.2.224", 31, "64:ff9b::", 127),
        ]
    }

    #[test]
    fn mappings_of_the_standard() {
        let table = Mappings::new(&figure_2(), Some(Prefix::WELL_KNOWN)).unwrap();
        for (ipv4, ipv6) in [
            ("192.0.2.1", "2001:db8:aaaa::"),
            ("192.0.2.2", "2001:db8:bbbb::b"),
            ("192.0.2.16", "2001:db8:cccc::"),
            ("192.0.2.24", "2001:db8:cccc::8"),
            ("192.0.2.31", "2001:db8:cccc::f"),
            ("192.0.2.128", "2001:db8:dddd::"),
            ("192.0.2.133", "2001:db8:dddd:0:1400::"),
            ("192.0.2.152", "2001:db8:dddd:0:6000::"),
            ("192.0.2.191", "2001:db8:dddd:0:fc00::"),
            ("192.0.2.193", "2001:db8:eeee:8:8000::"),
            ("192.0.2.199", "2001:db8:eeee:b:8000::"),
            ("192.0.2.224", "64:ff9b::"),
            ("192.0.2.225", "64:ff9b::1"),
            ("8.8.4.4", "64:ff9b::808:404"),
        ] {
            let (ipv4, ipv6) = (ipv4.parse().unwrap(), ipv6.parse().unwrap());
            assert_eq!(table.to_ipv6(ipv4), Some(ipv6));
            assert_eq!(table.to_ipv4(ipv6), Some(ipv4));
        }
        // What follows the suffix is ignored; what nothing covers has no address.
        let noisy = "2001:db8:dddd:0:17ff:1:2:3".parse().unwrap();
        assert_eq!(table.to_ipv4(noisy), Some(Ipv4Addr::new(192, 0, 2, 133)));
        assert_eq!(table.to_ipv6(Ipv4Addr::new(10, 0, 0, 1)), None);
        assert_eq!(table.to_ipv4("64:ff9b::a00:1".parse().unwrap()), None);
        assert_eq!(table.to_ipv4("2001:db8::1".parse().unwrap()), None);
    }

    #[test]
    fn the_longest_prefix_counts() {
        let all = mapping("0.0.0.0", 0, "2001:db8:1::", 96);
        let one = mapping("192.0.2.1", 32, "2001:db8:2::", 128);
        let table = Mappings::new(&[all, one], None).unwrap();
        assert_eq!(table.to_ipv6(Ipv4Addr::new(192, 0, 2, 1)), Some(one.ipv6));
        let other = Ipv4Addr::new(192, 0, 2, 2);
        assert_eq!(table.to_ipv6(other), Some("2001:db8:1::c000:202".parse().unwrap()));
        // Each direction by itself: an address that is not its counterpart's.
        assert_eq!(table.to_ipv4("2001:db8:1::c000:201".parse().unwrap()), Some(one.ipv4));
    }

    #[test]
    fn hairpins_are_told() {
        let prefix = Prefix::new("2001:db8:64::".parse().unwrap(), 96).unwrap();
        let table = Mappings::new(&figure_2(), Some(prefix)).unwrap();
        let (mapped, other) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 1));
        assert!(table.is_hairpin(prefix.embed(mapped)));
        assert!(!table.is_hairpin(prefix.embed(other)));
        assert!(!table.is_hairpin("2001:db8:aaaa::".parse().unwrap()));
        assert_eq!(table.to_ipv6_embedded(mapped), Some(prefix.embed(mapped)));
    }

    #[test]
    fn names_what_is_wrong() {
        let error = |mappings: &[Mapping]| Mappings::new(mappings, None).unwrap_err().to_string();
        let narrow = mapping("192.0.2.0", 24, "2001:db8::", 121);
        assert!(error(&[narrow]).contains("at most 120 bits"), "{}", error(&[narrow]));
        let twice = mapping("192.0.2.1", 32, "2001:db8::", 128);
        assert!(error(&[figure_2()[0], twice]).contains("address mapping 1 has a prefix"));
        let host_bits = mapping("192.0.2.1", 24, "2001:db8::", 120);
        assert!(error(&[host_bits]).contains("address mapping 0: the prefix has bits set"));
        let long = mapping("192.0.2.1", 33, "2001:db8::", 128);
        assert!(error(&[long]).contains("prefix length 33"));
        assert!(error(&vec![long; MAPPINGS_MAX + 1]).contains("65537 address mappings"));
    }

    /// Bit by bit: the longest prefix that an address begins with, and what follows it.
    fn slow(address: &str, from: &[(String, String)], len: usize) -> Option<String> {
        let covers = from.iter().filter(|(prefix, _)| address.starts_with(prefix.as_str()));
        let (prefix, other) = covers.max_by_key(|(prefix, _)| prefix.len())?;
        let mut mapped = format!("{other}{}", &address[prefix.len()..]);
        mapped.truncate(len);
        while mapped.len() < len {
            mapped.push('0');
        }
        Some(mapped)
    }

    proptest! {
        #[test]
        fn lookups_are_those_of_a_slow_table(
            drawn in prop::collection::vec((any::<u8>(), 0u8..=32, any::<u8>(), 0u8..=96), 0..20),
            addresses in prop::collection::vec((any::<u8>(), any::<u32>(), any::<u128>()), 20),
        ) {
            let mut mappings: Vec<Mapping> = Vec::new();
            for (ipv4, ipv4_len, ipv6, ipv6_bits) in drawn {
                let ipv6_len = ipv6_bits % (97 + ipv4_len.min(32)).min(128);
                // Few first octets, so that prefixes cover one another.
                let ipv4 = u32::from(ipv4 & 3) << 24;
                let ipv6 = u128::from(ipv6 & 3) << 120;
                let [mask4, mask6] = [
                    u128::from(!0u32 << (32 - ipv4_len.max(1))),
                    !0u128 << (128 - ipv6_len.max(1)),
                ];
                let ipv4 = if ipv4_len == 0 { 0 } else { ipv4 & mask4 as u32 };
                let ipv6 = if ipv6_len == 0 { 0 } else { ipv6 & mask6 };
                let (ipv4, ipv6) = (Ipv4Addr::from_bits(ipv4), Ipv6Addr::from_bits(ipv6));
                let is_new = mappings.iter().all(|other| {
                    (other.ipv4, other.ipv4_len) != (ipv4, ipv4_len)
                        && (other.ipv6, other.ipv6_len) != (ipv6, ipv6_len)
                });
                if is_new {
                    mappings.push(Mapping { ipv4, ipv4_len, ipv6, ipv6_len });
                }
            }
            let table = Mappings::new(&mappings, None).unwrap();
            let pairs = mappings.iter().map(|mapping| {
                let ipv4 = format!("{:032b}", mapping.ipv4.to_bits());
                let ipv6 = format!("{:0128b}", mapping.ipv6.to_bits());
                let (ipv4_len, ipv6_len) = (mapping.ipv4_len.into(), mapping.ipv6_len.into());
                (ipv4[..ipv4_len].to_owned(), ipv6[..ipv6_len].to_owned())
            });
            let up: Vec<_> = pairs.collect();
            let down: Vec<_> = up.iter().cloned().map(|(ipv4, ipv6)| (ipv6, ipv4)).collect();
            for (first, ipv4, ipv6) in addresses {
                let ipv4 = ipv4 & 0x00ff_ffff | u32::from(first & 3) << 24;
                let ipv6 = ipv6 & !0 >> 8 | u128::from(first & 3) << 120;
                let expected = slow(&format!("{ipv4:032b}"), &up, 128);
                let found = table.to_ipv6(Ipv4Addr::from_bits(ipv4));
                prop_assert_eq!(found.map(|found| format!("{:0128b}", found.to_bits())), expected);
                let expected = slow(&format!("{ipv6:0128b}"), &down, 32);
                let found = table.to_ipv4(Ipv6Addr::from_bits(ipv6));
                prop_assert_eq!(found.map(|found| format!("{:032b}", found.to_bits())), expected);
            }
        }
    }
}
