//! Which rules of a policy name a prefix: a binary search, and a way from there to the prefixes
//! around, however many prefixes rules have.
//!
//! ```text
//!  sorted: 10.0.0.0/8  10.0.0.0/16  10.1.0.0/16  192.0.2.0/24      each knows the one around it
//!              ^----------'              |
//!              ^-------------------------'
//! ```

use protocol_bgp::families::Family;
use protocol_bgp::prefix::{address_of, is_ipv4};

use super::rule_set::RuleSet;
use crate::config::PrefixKeys;

/// Prefixes, each with the rules that name it.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes {
    ipv4: Vec<Item>,
    ipv6: Vec<Item>,
    /// The rules that name none.
    unasked: RuleSet,
    is_empty: bool,
}

/// A prefix of a rule.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// The address, whose first bit is the highest one.
    address: u128,
    /// Its length in bits.
    len: u8,
    /// The lengths of prefixes that are meant.
    lengths: (u8, u8),
    rule: u16,
    /// The place of the next one that is the same or around it.
    around: u32,
}

impl Prefixes {
    /// The prefixes that each rule names. A rule without any asks for nothing.
    pub fn new<'a>(rules: impl Iterator<Item = &'a [PrefixKeys]>) -> Prefixes {
        let mut prefixes = Prefixes { is_empty: true, ..Prefixes::default() };
        let mut asked = RuleSet::default();
        for (rule, own) in rules.enumerate() {
            for keys in own {
                asked.insert(rule);
                let (list, bits) = match keys.prefix.address {
                    std::net::IpAddr::V4(address) => {
                        (&mut prefixes.ipv4, u128::from(address.to_bits()) << 96)
                    }
                    std::net::IpAddr::V6(address) => (&mut prefixes.ipv6, address.to_bits()),
                };
                let len = keys.prefix.len;
                let address = bits & mask(len);
                let (lengths, rule) = (keys.lengths(), rule as u16);
                list.push(Item { address, len, lengths, rule, around: NONE });
                prefixes.is_empty = false;
            }
        }
        prefixes.unasked = !asked;
        nest(&mut prefixes.ipv4);
        nest(&mut prefixes.ipv6);
        prefixes
    }

    /// Whether no rule names any.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns the rules that name the prefix of a route, and those that name none.
    #[inline]
    pub fn of(&self, family: Family, key: &[u8]) -> RuleSet {
        let mut all = self.unasked;
        let Some((len, address)) = address_of(family, key) else { return all };
        let list = if is_ipv4(family) == Some(true) { &self.ipv4 } else { &self.ipv6 };
        let behind = list.partition_point(|item| (item.address, item.len) <= (address, len));
        let mut place = behind.wrapping_sub(1);
        while let Some(item) = list.get(place) {
            let is_within = (item.address ^ address) & mask(item.len) == 0;
            if is_within && (item.lengths.0..=item.lengths.1).contains(&len) {
                all.insert(item.rule.into());
            }
            place = item.around as usize;
        }
        all
    }
}

/// Sorts prefixes, and notes which one is around which.
fn nest(items: &mut [Item]) {
    items.sort_unstable_by_key(|item| (item.address, item.len, item.rule, item.lengths));
    let mut open: Vec<u32> = Vec::new();
    for at in 0..items.len() {
        let Item { address, .. } = items[at];
        let is_around = |place: &u32| {
            let outer = items[*place as usize];
            (outer.address ^ address) & mask(outer.len) == 0
        };
        while open.last().is_some_and(|place| !is_around(place)) {
            open.pop();
        }
        items[at].around = open.last().copied().unwrap_or(NONE);
        open.push(at as u32);
    }
}

/// The bits that count of an address with a prefix of a length.
#[inline]
fn mask(len: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

/// No place.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use protocol_bgp::prefix::covers;
    use protocol_bgp::text::parse;
    use protocol_kit::Random;

    use super::*;

    fn keys(text: &str, ge: Option<u8>, le: Option<u8>) -> PrefixKeys {
        PrefixKeys { prefix: text.to_owned().try_into().expect("a prefix"), ge, le }
    }

    #[test]
    fn prefixes_are_found_as_by_looking_at_all() {
        let mut random = Random::new(3);
        let mut draw = |bits: u64| {
            let len = random.below(bits + 1) as u8;
            let address = [10, random.below(3) as u8, random.below(4) as u8 * 64, 0];
            (std::net::Ipv4Addr::from(address), len)
        };
        let mut rules: Vec<Vec<PrefixKeys>> = Vec::new();
        for number in 0..40_u8 {
            let own = (0..number % 7).map(|_| {
                let (address, len) = draw(28);
                let ge = (number % 3 > 0).then_some(len + number % 4);
                let le = (number % 4 > 1).then_some(28 + number % 5);
                keys(&format!("{address}/{len}"), ge, le)
            });
            rules.push(own.collect());
        }
        let prefixes = Prefixes::new(rules.iter().map(|own| &own[..]));
        let mut named = 0;
        for _ in 0..2000 {
            let (address, len) = draw(32);
            let text = format!("{address}/{len}");
            let route = parse(Family::Ipv4Unicast, &text).expect("a prefix");
            let found = prefixes.of(Family::Ipv4Unicast, &route);
            let of_vpn = parse(Family::VpnV4, &format!("64500:1:{text}")).expect("a prefix");
            assert_eq!(prefixes.of(Family::VpnV4, &of_vpn), found);
            for (at, own) in rules.iter().enumerate() {
                let is_it = |keys: &PrefixKeys| {
                    let text = String::from(keys.prefix);
                    let outer = parse(Family::Ipv4Unicast, &text).expect("a prefix");
                    let (least, most) = keys.lengths();
                    covers(&outer, &route) && (least..=most).contains(&len)
                };
                let is_named = own.is_empty() || own.iter().any(is_it);
                named += usize::from(is_named && !own.is_empty());
                assert_eq!(found.next(at) == Some(at), is_named, "{text}: {own:?}");
            }
        }
        assert!(named > 1000, "{named}");
    }

    #[test]
    fn what_is_no_prefix_is_named_by_none() {
        let all = [keys("0.0.0.0/0", Some(0), None), keys("::/0", Some(0), None)];
        let prefixes = Prefixes::new([&all[..], &[]].into_iter());
        assert_eq!(prefixes.of(Family::L2vpnEvpn, &[2, 1, 2]).next(0), Some(1));
        assert_eq!(prefixes.of(Family::Ipv4Unicast, &[40]).next(0), Some(1), "too long");
        assert_eq!(prefixes.of(Family::Ipv6Unicast, &[0]).next(0), Some(0));
        assert_eq!(prefixes.of(Family::Ipv4Unicast, &[0]).next(0), Some(0));
    }
}
