//! Prefixes as keys of routes: which one covers which, and the next shorter one.
//!
//! ```text
//!  | bits u8 | Route Distinguisher 8, of a VPN's | address | clear behind its bits |
//! ```

use crate::families::{Family, Form};
use crate::octets::{bytes_of, cleared};

/// Bits of the Route Distinguisher in front of the address of a prefix; `None` of a family whose
/// routes are no prefixes.
pub fn bits_before(family: Family) -> Option<u8> {
    match family.row().form {
        Form::Prefix { before, .. } => Some(before),
        _ => None,
    }
}

/// Whether the addresses of a family's prefixes are of IPv4, or of IPv6; `None` of a family whose
/// routes are no prefixes.
pub fn is_ipv4(family: Family) -> Option<bool> {
    match family.row().form {
        Form::Prefix { address, .. } => Some(address == 32),
        _ => None,
    }
}

/// Returns the length of a prefix in bits and its address, whose first bit is the highest one; of a
/// VPN's without the Route Distinguisher. `None` where it is no prefix.
#[inline]
pub fn address_of(family: Family, key: &[u8]) -> Option<(u8, u128)> {
    let (before, (bits, bytes)) = (bits_before(family)?, key.split_first()?);
    let address = bytes.get(usize::from(before / 8)..)?;
    let mut all = [0; 16];
    all.get_mut(..address.len())?.copy_from_slice(address);
    Some((bits.checked_sub(before)?, u128::from_be_bytes(all)))
}

/// Whether every address of one prefix is one of another, which is at most as long. Prefixes of a
/// VPN are with their Route Distinguishers.
pub fn covers(short: &[u8], long: &[u8]) -> bool {
    let (Some((bits, own)), Some((other_bits, other))) = (short.split_first(), long.split_first())
    else {
        return false;
    };
    let (whole, rest) = (usize::from(bits / 8), bits % 8);
    let (Some(first), Some(second)) = (own.get(..whole), other.get(..whole)) else { return false };
    let is_same_rest = || {
        let mask = !(u8::MAX >> rest);
        own.get(whole).zip(other.get(whole)).is_some_and(|(one, two)| (one ^ two) & mask == 0)
    };
    bits <= other_bits && first == second && (rest == 0 || is_same_rest())
}

/// Returns a prefix of a family with one bit less of its address; `None` of one without any.
pub fn shorter(family: Family, key: &[u8]) -> Option<Vec<u8>> {
    let (before, (bits, bytes)) = (bits_before(family)?, key.split_first()?);
    let fewer = bits.checked_sub(1).filter(|fewer| *fewer >= before)?;
    let key = [&[fewer], bytes.get(..bytes_of(fewer))?].concat();
    Some(cleared(&key, fewer).as_slice().to_vec())
}

/// Returns a prefix of a VPN without its Route Distinguisher.
pub fn without_distinguisher(key: &[u8]) -> Option<Vec<u8>> {
    let (bits, bytes) = key.split_first()?;
    let bits = bits.checked_sub(DISTINGUISHER_BITS)?;
    Some([&[bits], bytes.get(bytes_of(DISTINGUISHER_BITS)..)?].concat())
}

/// Bits of a Route Distinguisher.
const DISTINGUISHER_BITS: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    fn key(family: Family, text: &str) -> Vec<u8> {
        parse(family, text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_prefix_covers_what_begins_with_it() {
        let of = |text: &str| key(Family::Ipv4Unicast, text);
        for (short, long, covered) in [
            ("10.0.0.0/8", "10.1.0.0/16", true),
            ("10.0.0.0/8", "10.0.0.0/8", true),
            ("10.1.0.0/16", "10.0.0.0/8", false),
            ("10.0.0.0/9", "10.128.0.0/16", false),
            ("10.0.0.0/9", "10.127.0.0/16", true),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.1/32", true),
            ("192.0.2.0/31", "192.0.2.1", true),
        ] {
            assert_eq!(covers(&of(short), &of(long)), covered, "{short} {long}");
        }
        let vpn = |text: &str| key(Family::VpnV4, text);
        assert!(covers(&vpn("65000:1:10.0.0.0/8"), &vpn("65000:1:10.1.0.0/16")));
        assert!(!covers(&vpn("65000:1:10.0.0.0/8"), &vpn("65000:2:10.1.0.0/16")));
        for hostile in [&[][..], &[33], &[8], &[255, 1], &[9, 1, 2]] {
            covers(hostile, &of("10.0.0.0/8"));
            covers(&of("10.0.0.0/9"), hostile);
            shorter(Family::VpnV4, hostile);
            without_distinguisher(hostile);
            address_of(Family::VpnV4, hostile);
        }
    }

    #[test]
    fn a_prefix_has_an_address() {
        let address = 0xc000_0200_u128 << 96;
        for (family, text, bits, address) in [
            (Family::Ipv4Unicast, "192.0.2.0/24", 24, address),
            (Family::VpnV4, "65000:1:192.0.2.0/24", 24, address),
            (Family::Ipv6Unicast, "2001:db8::/32", 32, 0x2001_0db8 << 96),
            (Family::Ipv4Labelled, "0.0.0.0/0", 0, 0),
        ] {
            assert_eq!(address_of(family, &key(family, text)), Some((bits, address)), "{text}");
        }
        assert_eq!(address_of(Family::L2vpnEvpn, &[2, 1]), None);
        let versions = [Family::VpnV4, Family::Ipv6Labelled, Family::Vpls].map(is_ipv4);
        assert_eq!(versions, [Some(true), Some(false), None]);
    }

    #[test]
    fn shorter_ones_end_at_the_whole_table() {
        for (family, text, count) in [
            (Family::Ipv4Unicast, "192.0.2.255", 32),
            (Family::Ipv6Unicast, "2001:db8::ffff", 128),
            (Family::VpnV4, "65000:1:192.0.2.255", 32),
        ] {
            let mut one = key(family, text);
            let whole = one.clone();
            for _ in 0..count {
                one = shorter(family, &one).expect("there is a shorter one");
                assert!(covers(&one, &whole));
                let (bits, bytes) = (one[0], one.len() - 1);
                assert_eq!(bytes, usize::from(bits).div_ceil(8), "{one:?}");
            }
            assert_eq!(shorter(family, &one), None, "{text}");
        }
        assert_eq!(shorter(Family::L2vpnEvpn, &[2, 1]), None);
        let bare = without_distinguisher(&key(Family::VpnV4, "65000:1:10.0.0.0/8"));
        assert_eq!(bare, Some(key(Family::Ipv4Unicast, "10.0.0.0/8")));
    }
}
