//! Rule sets like those of ClassBench (Taylor and Turner, 2007), made from a seed: what tests and
//! benches of the classifier share.
//!
//! Three kinds, as there: `Acl` is nearly all specific addresses and single destination ports, `Fw`
//! has many wildcards, ranges and overlaps, `Ipc` is between them. Addresses come from few networks
//! that nest, so that rules overlap; the last rule of a set is for all packets.

use tables::classifier::five_tuple::{Header, Rule};

use super::Random;

/// A kind of rule set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Access lists.
    Acl,
    /// Firewalls.
    Fw,
    /// Both, as Linux's chains have them.
    Ipc,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Acl, Kind::Fw, Kind::Ipc];

    /// Wildcards among source and destination addresses, source ports that are not, and ranges
    /// among ports, in percent.
    fn shares(self) -> [usize; 4] {
        match self {
            Kind::Acl => [2, 2, 0, 20],
            Kind::Fw => [28, 15, 35, 30],
            Kind::Ipc => [8, 6, 20, 15],
        }
    }
}

/// `count` rules of IPv4, in the order of their precedence.
pub fn rules(kind: Kind, count: usize, seed: u64) -> Vec<Rule<u32>> {
    let mut random = Random(seed);
    let sites: Vec<u32> = (0..1 + count / 40).map(|_| random.next() as u32).collect();
    let [any_source, any_destination, with_source_port, ranges] = kind.shares();
    let mut rules: Vec<Rule<u32>> = (1..count)
        .map(|_| {
            let source = address(&mut random, &sites, any_source);
            let destination = address(&mut random, &sites, any_destination);
            let protocol = [(6, 0xff), (6, 0xff), (17, 0xff), (1, 0xff), (0, 0)][random.below(5)];
            let has_ports = matches!(protocol.0, 6 | 17);
            let with_source_port = has_ports && random.below(100) < with_source_port;
            let source_ports = if with_source_port { ports(&mut random, ranges) } else { ANY };
            let destination_ports = if has_ports { ports(&mut random, ranges) } else { ANY };
            Rule { source, destination, source_ports, destination_ports, protocol }
        })
        .collect();
    rules.push(Rule {
        source: (0, 0),
        destination: (0, 0),
        source_ports: ANY,
        destination_ports: ANY,
        protocol: (0, 0),
    });
    rules
}

/// The same rule for IPv6: the addresses' bits behind 3fff:b::/32 with half of a host part between.
pub fn widened(rule: &Rule<u32>) -> Rule<u128> {
    let wide = |(network, len): (u32, u8)| match len {
        0 => (0, 0),
        1..=24 => (wide_address(network), 32 + len),
        _ => (wide_address(network), 96 + len),
    };
    Rule {
        source: wide(rule.source),
        destination: wide(rule.destination),
        source_ports: rule.source_ports.clone(),
        destination_ports: rule.destination_ports.clone(),
        protocol: rule.protocol,
    }
}

/// A header of IPv6 for [`widened`] rules.
pub fn widened_header(header: &Header<u32>) -> Header<u128> {
    Header {
        source: wide_address(header.source),
        destination: wide_address(header.destination),
        source_port: header.source_port,
        destination_port: header.destination_port,
        protocol: header.protocol,
    }
}

fn wide_address(address: u32) -> u128 {
    let address = u128::from(address);
    0x3fff_000b << 96 | (address >> 8) << 72 | address & 0xff
}

/// A header that a random rule matches, at its borders or within; rarely, one at random.
pub fn header(random: &mut Random, rules: &[Rule<u32>]) -> Header<u32> {
    let rule = &rules[random.below(rules.len())];
    let mut number = |first: u32, last: u32| match random.below(4) {
        0 => first,
        1 => last,
        _ => first + (random.next() % (u64::from(last - first) + 1)) as u32,
    };
    let mut within = |(network, len): (u32, u8)| {
        let host = u32::MAX.checked_shr(len.into()).unwrap_or(0);
        number(network & !host, network | host)
    };
    let (source, destination) = (within(rule.source), within(rule.destination));
    let mut port = |range: &std::ops::RangeInclusive<u16>| {
        number((*range.start()).into(), (*range.end()).into()) as u16
    };
    let source_port = port(&rule.source_ports);
    let destination_port = port(&rule.destination_ports);
    let protocol = rule.protocol.0 & rule.protocol.1 | random.next() as u8 & !rule.protocol.1;
    Header { source, destination, source_port, destination_port, protocol }
}

/// A prefix of a host of one of the sites; the longer the more often.
fn address(random: &mut Random, sites: &[u32], wildcards_percent: usize) -> (u32, u8) {
    if random.below(100) < wildcards_percent {
        return (0, 0);
    }
    let len = [32, 32, 32, 32, 30, 28, 27, 25, 24, 24, 21, 16, 8][random.below(13)];
    let host = sites[random.below(sites.len())] ^ random.next() as u32 & 0xfff;
    (host & !u32::MAX.checked_shr(len.into()).unwrap_or(0), len)
}

/// Ports as rules have them: well-known ones, the unprivileged ones, ranges with crooked ends.
fn ports(random: &mut Random, ranges_percent: usize) -> std::ops::RangeInclusive<u16> {
    const KNOWN: [u16; 12] = [20, 21, 22, 25, 53, 80, 110, 123, 143, 443, 1521, 8080];
    if random.below(100) >= ranges_percent {
        let port = KNOWN[random.below(KNOWN.len())];
        return port..=port;
    }
    if random.below(2) == 0 {
        return 1024..=65535;
    }
    let (one, other) = (random.next() as u16, random.next() as u16 >> random.below(9));
    one.min(other)..=one.max(other)
}

const ANY: std::ops::RangeInclusive<u16> = 0..=65535;
