//! A table that is distributed as the Internet's, drawn from a seed.
//!
//! What it is distributed as was measured of a session that carried a whole table in 2015 (577,698
//! prefixes, 89,636 sets of attributes, 76,813 AS paths: how many prefixes have a set, how long
//! paths are, which attributes there are), and of the prefixes of 2025 for the lengths of IPv6. A
//! table of another size has the same shares. Which prefix has which set is at random, which costs
//! a device rather more than the neighbourhoods of a real table.

use std::collections::HashSet;

use machine::hash::Keyed;
use protocol_bgp::Family;
use protocol_bgp::attributes::{AGGREGATOR, ATOMIC_AGGREGATE, MED};

use crate::attributes::{Attributes, push};
use crate::source::listed::{Listed, Listing};
use crate::source::plain::{Plain, next_hop};

/// Size and seed of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Prefixes of IPv4.
    pub ipv4: u32,
    /// Prefixes of IPv6.
    pub ipv6: u32,
    /// What decides everything else.
    pub seed: u64,
}

impl Generated {
    /// Draws the table.
    ///
    /// # Errors
    /// In words, if there are no prefixes, or more than can be drawn.
    pub fn list(self) -> Result<Listed, String> {
        if self.ipv4 == 0 && self.ipv6 == 0 || self.ipv4.max(self.ipv6) > PREFIXES_MAX {
            return Err(format!(
                "{} and {} prefixes: choose at least one, and at most {PREFIXES_MAX} of a family",
                self.ipv4, self.ipv6
            ));
        }
        let mut listing = Listing::default();
        for (family, count) in [(Family::Ipv4Unicast, self.ipv4), (Family::Ipv6Unicast, self.ipv6)]
        {
            if count > 0 {
                draw(family, count, &mut Draws::new(self.seed, family as u64), &mut listing);
            }
        }
        listing.list(None, None)
    }
}

/// Random numbers that a seed decides.
struct Draws {
    keyed: Keyed,
    stream: u64,
    at: u64,
}

impl Draws {
    fn new(seed: u64, stream: u64) -> Draws {
        Draws { keyed: Keyed::new([seed, 0x5441_424c]), stream, at: 0 }
    }

    fn next(&mut self) -> u64 {
        self.at += 1;
        self.keyed.of2(self.stream, self.at)
    }

    /// A number from 0 to 1, without 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }

    /// One of some values by their shares.
    fn one_of(&mut self, shares: &[(u8, u32)]) -> u8 {
        let all: u32 = shares.iter().map(|(_, share)| share).sum();
        let mut at = self.below(u64::from(all)) as u32;
        for (value, share) in shares {
            match at.checked_sub(*share) {
                Some(rest) => at = rest,
                None => return *value,
            }
        }
        shares[0].0
    }

    /// One of some numbers, of which the first ones are far more frequent.
    fn skewed(&mut self, count: u64) -> u64 {
        // Log-uniform: as many draws between 1 and 10 as between 10 and 100.
        let value = (count as f64 + 1.0).powf(self.unit());
        (value as u64).clamp(1, count) - 1
    }
}

fn draw(family: Family, count: u32, draws: &mut Draws, listing: &mut Listing) {
    let mut sizes = sizes(count);
    for at in (1..sizes.len()).rev() {
        sizes.swap(at, draws.below(at as u64 + 1) as usize);
    }
    let hops = (sizes.len() as u64 * 42 / 1000).max(1);
    let neighbours = (sizes.len() as u64 * 39 / 1000).max(1);
    let mut paths: HashSet<Vec<u32>> = HashSet::new();
    let mut path = Vec::new();
    let mut written: HashSet<Vec<u8>> = HashSet::new();
    let mut set = Vec::new();
    let mut wire = Vec::new();
    for (at, size) in sizes.iter().enumerate() {
        // 76,813 paths of 89,636 sets.
        let paths_by_now = (at as u64 + 1) * 76_813 / 89_636;
        if paths.is_empty() || (paths.len() as u64) < paths_by_now {
            loop {
                path = draw_path(neighbours, draws);
                if paths.insert(path.clone()) {
                    break;
                }
            }
        }
        loop {
            set.clear();
            draw_set(family, &path, hops, draws, &mut set);
            if written.insert(set.clone()) {
                break;
            }
        }
        for _ in 0..*size {
            loop {
                wire.clear();
                draw_prefix(family, draws, &mut wire);
                if !listing.has(family, &wire) {
                    break;
                }
            }
            listing.announce(family, &wire, &set);
        }
    }
}

/// How many prefixes each set has, of so many in all; the largest first.
fn sizes(count: u32) -> Vec<u32> {
    let sets = (f64::from(count) * 89_636.0 / 577_698.0).ceil().clamp(1.0, f64::from(count));
    let scale = 89_636.0 / sets;
    // In the middle of what the set stands for.
    let raw: Vec<f64> = (0..sets as u64).map(|at| size_at((at as f64 + 0.5) * scale)).collect();
    let factor = f64::from(count) / raw.iter().sum::<f64>();
    let mut sizes: Vec<u32> = raw.iter().map(|size| ((size * factor) as u32).max(1)).collect();
    // What rounding has left goes to the large ones, or comes from them.
    let mut rest = i64::from(count) - sizes.iter().map(|size| i64::from(*size)).sum::<i64>();
    while rest != 0 {
        for size in &mut sizes {
            if rest > 0 {
                *size += 1;
                rest -= 1;
            } else if rest < 0 && *size > 1 {
                *size -= 1;
                rest += 1;
            }
        }
    }
    sizes
}

/// Prefixes of the set at a rank from 0 of 89,636, between those that were measured.
fn size_at(rank: f64) -> f64 {
    let rank = rank.clamp(1.0, 89_636.0);
    let pairs = SIZES.windows(2);
    let pair = pairs.into_iter().find(|pair| rank <= pair[1].0).unwrap_or(&SIZES[..2]);
    let [(rank_0, size_0), (rank_1, size_1)] = [pair[0], pair[1]];
    let share = (rank.ln() - rank_0.ln()) / (rank_1.ln() - rank_0.ln());
    (size_0.ln() + share * (size_1.ln() - size_0.ln())).exp()
}

fn draw_path(neighbours: u64, draws: &mut Draws) -> Vec<u32> {
    let len = draws.one_of(PATH_LENGTHS);
    let first = number_of_as(draws.skewed(neighbours));
    let mut path = vec![first];
    while path.len() < usize::from(len) {
        let is_origin = path.len() + 1 == usize::from(len);
        let is_repeated = path.len() > 2 && draws.below(4) == 0;
        path.push(match (is_origin, is_repeated) {
            (_, true) => path[path.len() - 1],
            (true, _) => number_of_as(draws.below(ASES)),
            (false, _) => number_of_as(draws.skewed(6000)),
        });
    }
    path
}

/// The number of an AS: of two bytes those that are given out, and then of four.
fn number_of_as(at: u64) -> u32 {
    match at as u32 + 1 {
        // AS_TRANS (RFC 6793) is nobody's.
        23_456 => 64_000,
        at @ ..50_000 => at,
        at => 131_072 + at,
    }
}

fn draw_set(family: Family, path: &[u32], hops: u64, draws: &mut Draws, out: &mut Vec<u8>) {
    let mut set = Vec::new();
    Plain {
        origin: [0, 0, 0, 0, 0, 0, 0, 2][draws.below(8) as usize],
        path,
        next_hop: &next_hop(draws.skewed(hops) as u32, family == Family::Ipv6Unicast),
        local_pref: [100, 90, 200, 100][draws.below(4) as usize],
        communities: &[COMMUNITY + draws.skewed(64) as u32],
        extended: &[],
    }
    .write(&mut set);
    // In the order of the codes.
    let mut more = Vec::new();
    more.push((MED, 0x80, (draws.skewed(1000) as u32).to_be_bytes().to_vec()));
    if draws.below(1000) < 84 {
        more.push((ATOMIC_AGGREGATE, 0x40, Vec::new()));
    }
    if draws.below(1000) < 135 {
        let origin = path.last().copied().unwrap_or(1);
        let router = next_hop(draws.below(hops) as u32, false);
        more.push((AGGREGATOR, 0xc0, [&origin.to_be_bytes()[..], &router].concat()));
    }
    let mut more = more.into_iter().peekable();
    for attribute in Attributes::new(&set) {
        while let Some((code, flags, value)) = more.next_if(|one| one.0 < attribute.code) {
            push(code, flags, &value, out);
        }
        push(attribute.code, attribute.flags, attribute.value, out);
    }
}

fn draw_prefix(family: Family, draws: &mut Draws, out: &mut Vec<u8>) {
    if family == Family::Ipv6Unicast {
        let bits = draws.one_of(IPV6_LENGTHS);
        // Global unicast addresses, but for those of documents.
        let address =
            0x2400_u128 << 112 | u128::from(draws.next()) << 54 | u128::from(draws.next());
        let address = address & (u128::MAX << (128 - u32::from(bits)));
        out.push(bits);
        out.extend(&address.to_be_bytes()[..usize::from(bits).div_ceil(8)]);
        return;
    }
    let bits = draws.one_of(IPV4_LENGTHS);
    loop {
        let address = (draws.next() >> 32) as u32 & (u32::MAX << (32 - u32::from(bits)));
        let first = address >> 24;
        let is_unicast = (1..224).contains(&first) && ![10, 127].contains(&first);
        if is_unicast && address >> 17 != 0xc612_0000 >> 17 {
            out.push(bits);
            out.extend(&address.to_be_bytes()[..usize::from(bits).div_ceil(8)]);
            return;
        }
    }
}

/// Most prefixes of a family: there are not many more of the usual lengths.
const PREFIXES_MAX: u32 = 4_000_000;

/// The numbers of prefixes that sets of some ranks have, of 89,636.
const SIZES: &[(f64, f64)] = &[
    (1.0, 2616.0),
    (2.0, 2238.0),
    (5.0, 1575.0),
    (10.0, 1280.0),
    (20.0, 967.0),
    (50.0, 650.0),
    (100.0, 448.0),
    (200.0, 253.0),
    (500.0, 127.0),
    (1000.0, 72.0),
    (2000.0, 41.0),
    (5000.0, 18.0),
    (10_000.0, 9.0),
    (20_000.0, 4.5),
    (31_000.0, 2.5),
    (45_000.0, 1.5),
    (60_000.0, 1.0),
    (89_636.0, 1.0),
];

/// Prefixes by length, of 10,000.
#[rustfmt::skip] // A table.
const IPV4_LENGTHS: &[(u8, u32)] = &[
    (11, 2), (12, 4), (13, 9), (14, 18), (15, 31), (16, 226), (17, 129), (18, 218), (19, 444),
    (20, 643), (21, 683), (22, 1098), (23, 940), (24, 5400), (25, 12), (26, 6), (27, 7), (28, 8),
    (29, 27), (30, 30), (32, 63),
];

#[rustfmt::skip] // A table.
const IPV6_LENGTHS: &[(u8, u32)] = &[
    (24, 2), (28, 12), (29, 273), (30, 41), (31, 18), (32, 1408), (33, 183), (34, 163), (35, 65),
    (36, 374), (37, 55), (38, 101), (39, 86), (40, 838), (41, 56), (42, 144), (43, 63), (44, 897),
    (45, 97), (46, 190), (47, 197), (48, 4714), (64, 11),
];

/// AS paths by length, of 10,000.
#[rustfmt::skip] // A table.
const PATH_LENGTHS: &[(u8, u32)] = &[
    (3, 3386), (2, 3638), (1, 684), (4, 1266), (5, 473), (6, 221), (7, 131), (8, 75), (9, 41),
    (10, 22), (11, 14), (12, 12), (13, 13), (14, 7), (15, 5), (16, 2), (17, 2), (18, 4), (19, 2),
    (20, 1), (23, 1),
];

/// ASes that announce something.
const ASES: u64 = 75_000;

const COMMUNITY: u32 = 0x0f10_0000;
