//! Routing tables like the Internet's, made from a seed: as many prefixes of each length as the
//! table of a large network had in 2025, crowded together as they are there.
//!
//! | | prefixes | most are | they lie in |
//! |---|---|---|---|
//! | IPv4 | 901,899 | /24 (60 %), /22, /23 | 25,400 /16s, some of them with a hundred times as many as others |
//! | IPv6 | 160,147 | /48 (47 %), /32, /44, /40 | 59 /16s, 7,200 /24s, 10,900 /32s, 19,100 /40s |
//!
//! Prefixes nest as chance has it. All are of global unicast addresses; none lies in or covers a
//! network for private use (RFC 1918), shared use (RFC 6598), loopback, link-local addresses or
//! benchmarks (RFC 2544, RFC 5180), nor the documentation prefixes of IPv6 (RFC 3849, RFC 9637).
//! Not here: origins, paths, who is whose customer.

use std::collections::HashSet;

/// Most prefixes that can be asked for.
pub const PREFIXES_MAX: usize = 2_000_000;

/// Distinct IPv4 prefixes with their lengths, in no order; the same ones for the same arguments.
///
/// # Panics
/// When more than [`PREFIXES_MAX`] are wanted.
pub fn ipv4(count: usize, seed: u64) -> Vec<(u32, u8)> {
    let mut random = Random(seed);
    let networks = pool(&mut random, share(25_398, count, 901_899), |random| {
        let high = random.next() as u32 & 0xffff_0000;
        is_public_ipv4(high, 16).then_some(high)
    });
    draw(count, &IPV4_LENGTHS, |len| {
        let any = random.next() as u32;
        let address = match len {
            0..=16 => any,
            _ => networks[random.skewed(networks.len())] | any & 0xffff,
        };
        let prefix = address & u32::MAX << (32 - len);
        is_public_ipv4(prefix, len).then_some(prefix)
    })
}

/// Distinct IPv6 prefixes with their lengths, in no order; the same ones for the same arguments.
///
/// # Panics
/// When more than [`PREFIXES_MAX`] are wanted.
pub fn ipv6(count: usize, seed: u64) -> Vec<(u128, u8)> {
    let mut random = Random(seed);
    let of = |most| share(most, count, 160_147);
    // Each pool lies within the one before.
    let by_24 = pool(&mut random, of(7_224), |random| {
        let registry = REGISTRIES[random.skewed(REGISTRIES.len())];
        let address = u128::from(registry) << 112 | u128::from(random.next() as u8) << 104;
        is_public_ipv6(address, 24).then_some(address)
    });
    let by_32 = below(&mut random, &by_24, 32, of(10_906));
    let by_40 = below(&mut random, &by_32, 40, of(19_078));
    draw(count, &IPV6_LENGTHS, |len| {
        let any = u128::from(random.next()) << 64 | u128::from(random.next());
        let (above, bits) = match len {
            0..=24 => (u128::from(REGISTRIES[random.skewed(REGISTRIES.len())]) << 112, 16),
            25..=32 => (by_24[random.skewed(by_24.len())], 24),
            33..=40 => (by_32[random.skewed(by_32.len())], 32),
            _ => (by_40[random.skewed(by_40.len())], 40),
        };
        let prefix = (above | any >> bits) & u128::MAX << (128 - len);
        is_public_ipv6(prefix, len).then_some(prefix)
    })
}

/// Draws prefixes until there are as many of each length as its weight asks for.
fn draw<A: Copy + Eq + std::hash::Hash>(
    count: usize,
    lengths: &[(u8, u32)],
    mut prefix: impl FnMut(u8) -> Option<A>,
) -> Vec<(A, u8)> {
    assert!(count <= PREFIXES_MAX, "at most {PREFIXES_MAX} prefixes, not {count}");
    let total: u64 = lengths.iter().map(|&(_, weight)| u64::from(weight)).sum();
    let mut seen = HashSet::with_capacity(count);
    let mut prefixes = Vec::with_capacity(count);
    // The longest lengths have room for whatever the shorter ones could not take.
    let (mut weight, mut wanted) = (0, 0);
    for &(len, own) in lengths {
        weight += u64::from(own);
        wanted = wanted.max((count as u64 * weight / total) as usize);
        let mut misses = 0;
        while prefixes.len() < wanted && misses < MISSES_MAX {
            match prefix(len).filter(|&prefix| seen.insert((prefix, len))) {
                Some(prefix) => {
                    prefixes.push((prefix, len));
                    misses = 0;
                }
                None => misses += 1,
            }
        }
    }
    prefixes
}

/// `count` distinct networks.
fn pool<A: Copy + Eq + std::hash::Hash>(
    random: &mut Random,
    count: usize,
    mut network: impl FnMut(&mut Random) -> Option<A>,
) -> Vec<A> {
    let mut seen = HashSet::with_capacity(count);
    let mut networks = Vec::with_capacity(count);
    while networks.len() < count {
        networks.extend(network(random).filter(|&network| seen.insert(network)));
    }
    networks
}

/// `count` distinct networks of `len` bits within others of 8 bits less.
fn below(random: &mut Random, above: &[u128], len: u32, count: usize) -> Vec<u128> {
    let count = count.min(above.len() * 200);
    pool(random, count, |random| {
        let network = above[random.below(above.len())];
        let network = network | u128::from(random.next() as u8) << (128 - len);
        is_public_ipv6(network, len as u8).then_some(network)
    })
}

/// The part of `most` for `count` of `of` prefixes.
fn share(most: usize, count: usize, of: usize) -> usize {
    (most * count).div_ceil(of).clamp(1, most)
}

/// Whether every address of a prefix may be a destination on the Internet.
fn is_public_ipv4(prefix: u32, len: u8) -> bool {
    let first = prefix >> 24;
    let overlaps = |&(network, bits): &(u32, u8)| (prefix ^ network) >> (32 - bits.min(len)) == 0;
    (1..224).contains(&first) && !SPECIAL_IPV4.iter().any(overlaps)
}

fn is_public_ipv6(prefix: u128, len: u8) -> bool {
    let overlaps = |&(network, bits): &(u128, u8)| (prefix ^ network) >> (128 - bits.min(len)) == 0;
    prefix >> 125 == 1 && !SPECIAL_IPV6.iter().any(overlaps)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// A number below `limit`, small ones more often: half of all below a quarter of it.
    fn skewed(&mut self, limit: usize) -> usize {
        let drawn = self.below(limit) as u128;
        (drawn * self.below(limit) as u128 / limit as u128) as usize
    }
}

/// Prefixes of each length in the table described above.
const IPV4_LENGTHS: [(u8, u32); 25] = [
    (8, 16),
    (9, 13),
    (10, 38),
    (11, 103),
    (12, 299),
    (13, 581),
    (14, 1_203),
    (15, 2_100),
    (16, 13_490),
    (17, 8_235),
    (18, 13_798),
    (19, 24_870),
    (20, 42_611),
    (21, 50_750),
    (22, 108_623),
    (23, 96_510),
    (25, 20),
    (26, 3),
    (27, 11),
    (28, 18),
    (29, 17),
    (30, 3),
    (31, 3),
    (32, 886),
    (24, 537_698),
];

const IPV6_LENGTHS: [(u8, u32); 43] = [
    (19, 1),
    (20, 16),
    (21, 3),
    (22, 7),
    (23, 8),
    (24, 30),
    (25, 8),
    (26, 15),
    (27, 20),
    (28, 193),
    (29, 4_371),
    (30, 650),
    (31, 284),
    (32, 22_548),
    (33, 2_926),
    (34, 2_603),
    (35, 1_043),
    (36, 5_996),
    (37, 880),
    (38, 1_617),
    (39, 1_377),
    (40, 13_418),
    (41, 903),
    (42, 2_301),
    (43, 1_001),
    (44, 14_365),
    (45, 1_553),
    (46, 3_039),
    (47, 3_153),
    (49, 11),
    (50, 3),
    (52, 1),
    (56, 24),
    (58, 20),
    (60, 2),
    (64, 185),
    (112, 2),
    (124, 5),
    (125, 9),
    (126, 19),
    (127, 42),
    (128, 6),
    (48, 75_488),
];

/// The /16s that registries give from, those with many networks first.
const REGISTRIES: [u16; 58] = [
    0x2a02, 0x2a01, 0x2a03, 0x2a00, 0x2a04, 0x2a05, 0x2a06, 0x2a07, 0x2a0a, 0x2a0b, 0x2a0c, 0x2a0d,
    0x2a0e, 0x2a0f, 0x2a10, 0x2a11, 0x2a12, 0x2a13, 0x2a14, 0x2a09, 0x2804, 0x2803, 0x2800, 0x2806,
    0x2801, 0x2802, 0x2405, 0x2406, 0x2407, 0x2408, 0x2409, 0x240e, 0x2400, 0x2401, 0x2402, 0x2403,
    0x2404, 0x240a, 0x240b, 0x240c, 0x240d, 0x240f, 0x2600, 0x2601, 0x2602, 0x2603, 0x2604, 0x2605,
    0x2606, 0x2607, 0x2608, 0x2610, 0x2620, 0x2630, 0x2a08, 0x2c0e, 0x2c0f, 0x2003,
];

/// What is not the Internet's.
const SPECIAL_IPV4: [(u32, u8); 7] = [
    (0x0a00_0000, 8),
    (0x6440_0000, 10),
    (0x7f00_0000, 8),
    (0xa9fe_0000, 16),
    (0xac10_0000, 12),
    (0xc0a8_0000, 16),
    (0xc612_0000, 15),
];

const SPECIAL_IPV6: [(u128, u8); 3] =
    [(0x2001_0db8 << 96, 32), (0x2001_0002 << 96, 48), (0x3fff << 112, 20)];

/// Prefixes drawn in vain, one after the other, until a length is taken to be used up.
const MISSES_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths<A>(prefixes: &[(A, u8)]) -> Vec<usize> {
        (0..=128).map(|len| prefixes.iter().filter(|prefix| prefix.1 == len).count()).collect()
    }

    #[test]
    fn as_many_of_each_length_as_the_internet_has() {
        let (ipv4, ipv6) = (ipv4(90_190, 1), ipv6(160_147, 1));
        assert_eq!((ipv4.len(), ipv6.len()), (90_190, 160_147));
        let (of_4, of_6) = (lengths(&ipv4), lengths(&ipv6));
        for (len, count) in IPV4_LENGTHS {
            let wanted = count as usize / 10;
            assert!(of_4[usize::from(len)].abs_diff(wanted) <= 1, "/{len}: {of_4:?}");
        }
        for (len, count) in IPV6_LENGTHS {
            assert!(of_6[usize::from(len)].abs_diff(count as usize) <= 1, "/{len}: {of_6:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_prefixes_once_each() {
        assert_eq!(ipv4(1_000, 7), ipv4(1_000, 7));
        assert_ne!(ipv4(1_000, 7), ipv4(1_000, 8));
        assert_eq!(ipv6(1_000, 7), ipv6(1_000, 7));
        let prefixes = ipv4(50_000, 3);
        assert_eq!(prefixes.iter().collect::<HashSet<_>>().len(), prefixes.len());
        assert!(prefixes.iter().all(|&(prefix, len)| len == 32 || prefix << len == 0));
        let prefixes = ipv6(50_000, 3);
        assert_eq!(prefixes.iter().collect::<HashSet<_>>().len(), prefixes.len());
        assert!((ipv4(0, 1).is_empty(), ipv6(0, 1).is_empty()) == (true, true));
        assert_eq!((ipv4(1, 1).len(), ipv6(1, 1).len()), (1, 1));
    }

    #[test]
    fn what_is_not_the_internets_is_left_out() {
        assert!(!is_public_ipv4(0x0a01_0000, 16) && !is_public_ipv4(0x0a00_0000, 7));
        assert!(!is_public_ipv4(0xe000_0000, 8) && is_public_ipv4(0x0b00_0000, 8));
        assert!(!is_public_ipv6(0x2001_0db8_0001 << 80, 48) && !is_public_ipv6(0xfc << 120, 8));
        assert!(is_public_ipv6(0x2a02 << 112, 32));
    }
}
