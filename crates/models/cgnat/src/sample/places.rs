//! Addresses of the sample: visitors inside, servers outside, and one that is neither.
use std::net::Ipv4Addr;

use function_cgnat::config::{Config, Prefixed, Vrf};
use function_cgnat::types::networks::{holds, overlap};

/// Whose frames the sample has.
pub(super) struct Places {
    /// Subscribers that get addresses of pools; of rules where there are no pools. Never empty.
    pub visitors: Vec<Ipv4Addr>,
    /// The same of some VRFs, by VLAN.
    of_vrfs: Vec<(u16, Vec<Ipv4Addr>)>,
    /// One that would need a pool where there is none.
    pub poolless: Option<Ipv4Addr>,
    /// One with an address for itself.
    pub one_to_one: Option<Ipv4Addr>,
    /// Servers follow this one.
    pub servers: u32,
    /// An address that is no subscriber's.
    pub stranger: Option<Ipv4Addr>,
    /// An outside address that a subscriber may share.
    pub pool: Ipv4Addr,
}

impl Places {
    pub fn new(config: &Config) -> Places {
        let own = |address: &u32| {
            let rules = config.static_rules.iter().map(|rule| &rule.inside);
            any_holds(rules, *address)
        };
        let by_rule = |address: &u32| {
            own(address)
                || any_holds(config.deterministic.iter().map(|rule| &rule.inside), *address)
                || hosts(config).any(|host| host == *address)
        };
        let all = || config.inside.iter().rev().flat_map(|network| last_of(*network));
        let poolless = all().find(|address| !by_rule(address));
        let is_inside = |address: &u32| any_holds(config.inside.iter(), *address);
        let rules = config.static_rules.iter().map(|rule| rule.inside);
        let ruled = rules.chain(config.deterministic.iter().map(|rule| rule.inside));
        let visitors: Vec<u32> = match config.pools.is_empty() {
            true => ruled
                .flat_map(last_of)
                .chain(hosts(config))
                .filter(is_inside)
                .take(VISITORS)
                .collect(),
            false => all().filter(|address| !by_rule(address)).take(VISITORS).collect(),
        };
        let inside = |rule: &Prefixed<Ipv4Addr>| last_of(*rule).find(is_inside);
        let is_outside = |address: u32| outside(config).any(|network| holds(network, address));
        let is_free = |base: &u32| {
            let ends = [*base, base + 0x4000, base + 0x8000, base + 0xffff];
            !ends.into_iter().any(|address| is_outside(address) || is_inside(&address))
                && !outside(config).any(|network| network.address.to_bits() >> 16 == base >> 16)
                && !named(config).any(|network| overlap(network, servers(*base)))
                && !config.bypass.iter().any(|network| overlap(*network, servers(*base)))
        };
        let mut bases = (11..=120u32).map(|high| high << 24 | 0x0037_0000);
        let mut strangers = [0x0909_0909u32, 0xc000_0263, 0x0101_0101, 0x2d00_0001].into_iter();
        let first = outside(config).next().map_or(0, |network| network.address.to_bits());
        let of_vrfs = config.vrfs.iter().take(VRFS);
        let of_vrfs = of_vrfs.map(|vrf| (vrf.vlan, visitors_of(config, vrf, &visitors))).collect();
        Places {
            visitors: match visitors.is_empty() {
                true => vec![config.inside_ip],
                false => visitors.into_iter().map(Ipv4Addr::from_bits).collect(),
            },
            of_vrfs,
            poolless: poolless.filter(|_| config.pools.is_empty()).map(Ipv4Addr::from_bits),
            one_to_one: config
                .static_rules
                .iter()
                .find_map(|rule| inside(&rule.inside))
                .map(Ipv4Addr::from_bits),
            servers: bases.find(is_free).unwrap_or(0x0b37_0000),
            stranger: strangers.find(|address| !is_inside(address)).map(Ipv4Addr::from_bits),
            pool: Ipv4Addr::from_bits(first),
        }
    }
}

impl Places {
    /// Subscribers of the realm of a VLAN.
    pub fn visitors_of(&self, vlan: u16) -> &[Ipv4Addr] {
        let own = self.of_vrfs.iter().find(|(one, _)| *one == vlan);
        own.map_or(&self.visitors, |(_, visitors)| visitors)
    }

    /// VLANs whose subscribers the sample has.
    pub fn vlans(&self) -> Vec<u16> {
        self.of_vrfs.iter().map(|(vlan, _)| *vlan).collect()
    }
}

/// Subscribers of a VRF that get addresses of pools: those with the addresses of others first.
fn visitors_of(config: &Config, vrf: &Vrf, others: &[u32]) -> Vec<Ipv4Addr> {
    let rules = || config.deterministic.iter().filter(|rule| rule.realm == vrf.vlan);
    let is_free = |address: &u32| {
        any_holds(vrf.inside.iter(), *address)
            && !any_holds(rules().map(|rule| &rule.inside), *address)
    };
    let all = others.iter().copied().chain(vrf.inside.iter().flat_map(|network| last_of(*network)));
    let mut visitors: Vec<u32> = all.filter(is_free).take(VISITORS).collect();
    if visitors.is_empty() {
        visitors.push(vrf.inside[0].address.to_bits());
    }
    visitors.into_iter().map(Ipv4Addr::from_bits).collect()
}

/// Every network of outside addresses.
fn outside(config: &Config) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
    config.outside().map(|(_, network)| network)
}

/// Whether any of some networks has an address.
pub(super) fn any_holds<'a>(
    mut networks: impl Iterator<Item = &'a Prefixed<Ipv4Addr>>,
    address: u32,
) -> bool {
    networks.any(|network| holds(*network, address))
}

/// Hosts that share addresses by fixed ports.
fn hosts(config: &Config) -> impl Iterator<Item = u32> {
    config.port_forwarding.iter().flat_map(|rule| &rule.hosts).map(|host| host.inside.to_bits())
}

/// Every network whose hosts have addresses of both families without sessions.
fn named(config: &Config) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
    config.siit.iter().flat_map(|siit| siit.networks())
}

/// The network of servers that begins with an address.
fn servers(base: u32) -> Prefixed<Ipv4Addr> {
    Prefixed { address: Ipv4Addr::from_bits(base), len: 16 }
}

/// The last addresses of a network, from its end.
fn last_of(network: Prefixed<Ipv4Addr>) -> impl Iterator<Item = u32> {
    let count = 1u64 << (32 - network.len);
    let first = u64::from(network.address.to_bits()) & !(count - 1);
    (first..first + count).rev().take(4 * VISITORS).map(|address| address as u32)
}

/// Visitors at most.
const VISITORS: usize = 600;

/// VRFs whose subscribers the sample has.
const VRFS: usize = 2;
