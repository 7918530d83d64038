//! IPv4 addresses inside IPv6 addresses (RFC 6052).
//!
//! ```text
//! +--+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! |PL| 0-------------32--40--48--56--64--72--80--88--96--104---------|
//! +--+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! |32|     prefix    |v4(32)         | u | suffix                    |
//! |40|     prefix        |v4(24)     | u |(8)| suffix                |
//! |48|     prefix            |v4(16) | u | (16)  | suffix            |
//! |56|     prefix                |(8)| u |  v4(24)   | suffix        |
//! |64|     prefix                    | u |   v4(32)      | suffix    |
//! |96|     prefix                                    |    v4(32)     |
//! +--+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+---+
//! ```
//!
//! Octet u (bits 64 to 71) and the suffix are written as zero and ignored when read, as sections
//! 2.2 and 2.3 say. [`Prefix::embed`] and [`Prefix::extract`] have no branch but the comparison of
//! the prefix. Whether the well-known prefix may carry an address is a question of its own,
//! [`Prefix::forbids`], because a packet that breaks the rule is dropped for a reason of its own.
//!
//! **Not supported:** IPv4-mapped and 6to4 addresses, and finding the prefix by DNS (RFC 7050).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Law;

/// A prefix that embeds IPv4 addresses into IPv6 addresses (RFC 6052).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The prefix, followed by zeros.
    bits: u128,
    /// Mask of the bits of the prefix.
    mask: u128,
    /// Distance of the IPv4 address from the end of the address without octet u, in bits.
    shift: u8,
}

impl Prefix {
    /// `64:ff9b::/96` (section 2.1).
    pub const WELL_KNOWN: Self = Self { bits: 0x0064_ff9b << 96, mask: !0 << 32, shift: 0 };

    /// Creates a prefix of this length in bits; bits after it are ignored.
    ///
    /// # Errors
    /// [`BadPrefix::Length`] for a length that section 2.2 does not define,
    /// [`BadPrefix::OctetU`] for a prefix of 96 bits whose bits 64 to 71 are not zero.
    pub const fn new(prefix: Ipv6Addr, len: u8) -> Result<Self, BadPrefix> {
        let before_u = match len {
            32 | 40 | 48 | 56 | 64 => len,
            96 => len - 8,
            _ => return Err(BadPrefix::Length { len }),
        };
        let mask = !0 << (128 - len as u32);
        let bits = prefix.to_bits() & mask;
        if bits & OCTET_U != 0 {
            return Err(BadPrefix::OctetU);
        }
        Ok(Self { bits, mask, shift: 120 - 32 - before_u })
    }

    /// Returns the prefix, followed by zeros.
    #[inline]
    pub const fn address(&self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.bits)
    }

    /// Returns the length of the prefix in bits, which is never 0.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a length of bits, not of a collection")]
    pub const fn len(&self) -> u8 {
        self.mask.leading_ones() as u8
    }

    /// Returns true if the address begins with the prefix.
    #[inline]
    pub const fn contains(&self, address: Ipv6Addr) -> bool {
        address.to_bits() & self.mask == self.bits
    }

    /// Returns the IPv6 address of an IPv4 address (section 2.3).
    #[inline]
    pub const fn embed(&self, address: Ipv4Addr) -> Ipv6Addr {
        // A number of 120 bits without octet u, then its upper 64 bits a place to the left.
        let without_u = (address.to_bits() as u128) << self.shift;
        let spread = (without_u >> 56) << 64 | without_u & BEHIND_U;
        Ipv6Addr::from_bits(self.bits | spread)
    }

    /// Returns the IPv4 address in an IPv6 address (section 2.3); `None` for another prefix.
    #[inline]
    pub const fn extract(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        if !self.contains(address) {
            return None;
        }
        let bits = address.to_bits();
        let without_u = (bits >> 64) << 56 | bits & BEHIND_U;
        Some(Ipv4Addr::from_bits((without_u >> self.shift) as u32))
    }

    /// Returns true if a packet with this IPv4 address in this prefix must be dropped: the
    /// well-known prefix must only be used for global addresses (section 3.1).
    #[inline]
    pub const fn forbids(&self, address: Ipv4Addr) -> bool {
        // As long as the other, it is the same where its bits are.
        self.bits == Self::WELL_KNOWN.bits
            && self.mask == Self::WELL_KNOWN.mask
            && !is_global(address)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.len())
    }
}

/// Error of a prefix that cannot embed IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPrefix {
    /// The length is not one of those of section 2.2.
    Length {
        /// The invalid length in bits.
        len: u8,
    },
    /// Bits 64 to 71 of a prefix of 96 bits are set (section 2.2).
    OctetU,
}

impl fmt::Display for BadPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len } => {
                write!(
                    f,
                    "a prefix for IPv4 addresses has 32, 40, 48, 56, 64 or 96 bits, not {len}"
                )
            }
            Self::OctetU => {
                f.write_str("bits 64 to 71 of a prefix for IPv4 addresses must be zero")
            }
        }
    }
}

impl std::error::Error for BadPrefix {}

/// Returns true if an IPv4 address is global: not one of RFC 5735 section 3, to which RFC 6052
/// refers, nor of the shared address space of RFC 6598, which was added to that list later.
#[inline]
pub const fn is_global(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    // Most addresses are told by their first octet.
    if !matches!(bits >> 24, 0 | 10 | 100 | 127 | 169 | 172 | 192 | 198 | 203 | 224..=255) {
        return true;
    }
    let mut index = 0;
    while index < NOT_GLOBAL.len() {
        let (prefix, len) = NOT_GLOBAL[index];
        if (bits ^ prefix.to_bits()) >> (32 - len) == 0 {
            return false;
        }
        index += 1;
    }
    true
}

/// Prefixes that are not global, with lengths in bits.
const NOT_GLOBAL: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Mask of bits 64 to 71.
const OCTET_U: u128 = 0xff << 56;
/// Mask of the bits after bits 64 to 71.
const BEHIND_U: u128 = (1 << 56) - 1;

/// The law of this module.
pub const LAW: Law = Law { name: "embedded", holds: law, examples: &[] };

/// IPv4 in IPv6 addresses: what is embedded comes out again, under every prefix that is accepted.
fn law(data: &[u8]) {
    let Some((prefix, rest)) = data.split_first_chunk::<16>() else { return };
    let Some((address, rest)) = rest.split_first_chunk::<4>() else { return };
    let Some(&len) = rest.first() else { return };
    let (address, any) = (Ipv4Addr::from(*address), Ipv6Addr::from(*prefix));
    // Most lengths are none of a prefix; half of the inputs have one that is.
    let len = if len & 1 == 0 { len } else { [32, 40, 48, 56, 64, 96][usize::from(len >> 1) % 6] };
    let Ok(prefix) = Prefix::new(any, len) else { return };
    let embedded = prefix.embed(address);
    assert_eq!((prefix.len(), prefix.extract(embedded)), (len, Some(address)));
    assert!(embedded.octets()[8] == 0 && prefix.contains(prefix.address()));
    assert_eq!(prefix.extract(any).is_some(), prefix.contains(any));
    assert!(!prefix.forbids(address) || prefix == Prefix::WELL_KNOWN);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str, len: u8) -> Prefix {
        Prefix::new(text.parse().unwrap(), len).unwrap()
    }

    /// Embeds an address octet by octet, as in the figure of section 2.2.
    fn slow_embed(prefix: [u8; 16], len: u8, address: Ipv4Addr) -> [u8; 16] {
        let mut octets = [0; 16];
        let count = usize::from(len / 8);
        octets[..count].copy_from_slice(&prefix[..count]);
        let places = (count..16).filter(|&at| at != 8);
        for (at, octet) in places.zip(address.octets()) {
            octets[at] = octet;
        }
        octets
    }

    #[test]
    fn the_table_of_rfc_6052_section_2_4() {
        let address = Ipv4Addr::new(192, 0, 2, 33);
        for (text, len, expected) in [
            ("2001:db8::", 32, "2001:db8:c000:221::"),
            ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
            ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
            ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
            ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
            ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
            ("64:ff9b::", 96, "64:ff9b::192.0.2.33"),
        ] {
            let prefix = prefix(text, len);
            let expected: Ipv6Addr = expected.parse().unwrap();
            assert_eq!(prefix.embed(address), expected, "{text}/{len}");
            assert_eq!(prefix.extract(expected), Some(address), "{text}/{len}");
            assert_eq!((prefix.len(), prefix.to_string()), (len, format!("{text}/{len}")));
        }
        assert_eq!(prefix("64:ff9b::", 96), Prefix::WELL_KNOWN);
    }

    #[test]
    fn other_prefixes_are_refused() {
        let any = Ipv6Addr::UNSPECIFIED;
        for len in (0..=255).filter(|len| ![32, 40, 48, 56, 64, 96].contains(len)) {
            assert_eq!(Prefix::new(any, len), Err(BadPrefix::Length { len }));
        }
        let octet_u = "2001:db8:0:0:100::".parse().unwrap();
        assert_eq!(Prefix::new(octet_u, 96), Err(BadPrefix::OctetU));
        // Of a shorter prefix it is no part.
        assert_eq!(Prefix::new(octet_u, 64), Ok(prefix("2001:db8::", 64)));
    }

    #[test]
    fn the_well_known_prefix_carries_global_addresses_only() {
        let of = |text: &str| text.parse::<Ipv4Addr>().unwrap();
        for (address, global) in [
            ("8.8.8.8", true),
            ("9.255.255.255", true),
            ("10.0.0.0", false),
            ("10.255.255.255", false),
            ("11.0.0.0", true),
            ("100.63.255.255", true),
            ("100.64.0.0", false),
            ("100.127.255.255", false),
            ("100.128.0.0", true),
            ("172.15.255.255", true),
            ("172.16.0.0", false),
            ("172.31.255.255", false),
            ("172.32.0.0", true),
            ("192.0.0.8", false),
            ("192.0.1.1", true),
            ("192.168.1.1", false),
            ("198.17.255.255", true),
            ("198.19.255.255", false),
            ("198.20.0.0", true),
            ("203.0.112.1", true),
            ("203.0.113.1", false),
            ("223.255.255.255", true),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
        ] {
            assert_eq!(is_global(of(address)), global, "{address}");
            assert_eq!(Prefix::WELL_KNOWN.forbids(of(address)), !global, "{address}");
            assert!(!prefix("64:ff9b:1::", 48).forbids(of(address)), "{address}");
        }
    }

    #[test]
    fn the_first_octet_leaves_none_out() {
        for (prefix, len) in NOT_GLOBAL {
            let last = prefix.to_bits() | ((1u64 << (32 - len)) - 1) as u32;
            assert!(!is_global(prefix) && !is_global(Ipv4Addr::from_bits(last)), "{prefix}/{len}");
        }
    }

    proptest! {
        #[test]
        fn embedding_is_the_drawing(
            mut octets in any::<[u8; 16]>(),
            len in prop::sample::select(vec![32u8, 40, 48, 56, 64, 96]),
            address in any::<Ipv4Addr>(),
            noise in any::<u128>(),
        ) {
            octets[8] = 0;
            let prefix = Prefix::new(octets.into(), len).unwrap();
            let embedded = prefix.embed(address);
            prop_assert_eq!(embedded.octets(), slow_embed(octets, len, address));
            prop_assert_eq!(prefix.extract(embedded), Some(address));

            // What stands in octet u and the suffix is ignored; another prefix is none of ours.
            let carried = prefix.embed(Ipv4Addr::BROADCAST).to_bits() | prefix.mask;
            let noisy = Ipv6Addr::from_bits(embedded.to_bits() | noise & !carried);
            prop_assert_eq!(prefix.extract(noisy), Some(address));
            let other = Ipv6Addr::from_bits(embedded.to_bits() ^ 1 << (128 - u32::from(len)));
            prop_assert_eq!(prefix.extract(other), None);
        }
    }
}
