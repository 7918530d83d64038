//! Who has which port by a deterministic rule, found by handing ports out as RFC 7422 section 2
//! says: subscriber after subscriber, port after port.
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::Range;

use function_cgnat::config::{Assignment, Config, DeterministicRule};

/// The rules of a configuration.
#[derive(Clone)]
pub struct Plan {
    rules: Vec<DeterministicRule>,
}

/// Ports of an outside address.
pub struct Given {
    /// The address.
    pub outside: Ipv4Addr,
    /// Those ports.
    pub ports: BTreeSet<u16>,
}

impl Plan {
    /// Those of a configuration.
    pub fn new(config: &Config) -> Plan {
        Plan { rules: config.deterministic.clone() }
    }

    /// The ports of a subscriber.
    pub fn forward(&self, realm: u16, inside: Ipv4Addr) -> Option<Given> {
        let inside = u64::from(inside.to_bits());
        let is_its =
            |rule: &&DeterministicRule| rule.realm == realm && hosts(rule).contains(&inside);
        let rule = self.rules.iter().find(is_its)?;
        let number = inside - hosts(rule).start;
        let (address, place) = match rule.assignment {
            Assignment::Filled => (number / together(rule), number % together(rule)),
            _ => (number % count(rule), number / count(rule)),
        };
        let outside = Ipv4Addr::from_bits(rule.outside.address.to_bits() + address as u32);
        Some(Given { outside, ports: ports_at(rule, place).collect() })
    }

    /// The subscriber whose a port of an outside address is.
    pub fn reverse(&self, outside: Ipv4Addr, port: u16) -> Option<Ipv4Addr> {
        let (rule, address) = self.rule_of(outside)?;
        let place =
            (0..together(rule)).find(|&place| ports_at(rule, place).any(|it| it == port))?;
        let number = match rule.assignment {
            Assignment::Filled => address * together(rule) + place,
            _ => place * count(rule) + address,
        };
        let inside = hosts(rule).nth(number as usize)?;
        Some(Ipv4Addr::from_bits(inside as u32))
    }

    /// The ports of an outside address that all subscribers of its rule share: those behind the
    /// ones that are given to single subscribers.
    pub fn shared(&self, outside: Ipv4Addr) -> BTreeSet<u16> {
        let rule = self.rule_of(outside).filter(|(rule, _)| rule.dynamic_factor > 0);
        let behind = |(rule, _): (&DeterministicRule, u64)| {
            let given = (together(rule) * share(rule)) as usize;
            (rule.first_port..=rule.last_port).skip(given).collect()
        };
        rule.map_or(BTreeSet::new(), behind)
    }

    /// The rule of an outside address, and which of its addresses that is.
    fn rule_of<'a>(&'a self, outside: Ipv4Addr) -> Option<(&'a DeterministicRule, u64)> {
        let of = |rule: &'a DeterministicRule| {
            let address = outside.to_bits().checked_sub(rule.outside.address.to_bits())?;
            (u64::from(address) < count(rule)).then_some((rule, address.into()))
        };
        self.rules.iter().find_map(of)
    }
}

/// The addresses of a rule's subscribers.
fn hosts(rule: &DeterministicRule) -> Range<u64> {
    let first = u64::from(rule.inside.address.to_bits());
    let skipped = u64::from(rule.skip_boundary);
    first + skipped..first + (1 << (32 - rule.inside.len)) - skipped
}

/// Outside addresses of a rule (O).
fn count(rule: &DeterministicRule) -> u64 {
    1 << (32 - rule.outside.len)
}

/// How many subscribers share an outside address (C).
fn together(rule: &DeterministicRule) -> u64 {
    let hosts = hosts(rule);
    (hosts.end - hosts.start).div_ceil(count(rule))
}

/// Ports of a subscriber: as many as the rule says, or 1/(C + D) of all.
fn share(rule: &DeterministicRule) -> u64 {
    let all = u64::from(rule.last_port - rule.first_port) + 1;
    let most = all / (together(rule) + u64::from(rule.dynamic_factor));
    rule.ports_per_subscriber.map_or(most, u64::from)
}

/// The ports of the subscriber that has a place on an outside address.
fn ports_at(rule: &DeterministicRule, place: u64) -> impl Iterator<Item = u16> {
    let (share, together, first) = (share(rule), together(rule), u64::from(rule.first_port));
    let staggered = rule.assignment == Assignment::Staggered;
    (0..share).map(move |number| {
        let offset = if staggered { number * together + place } else { place * share + number };
        (first + offset) as u16
    })
}
