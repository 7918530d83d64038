//! What the bench generates of a router: TIPSY's tables of routes and next hops, a table like the
//! Internet's, rules and policers; as a configuration, and as changes behind it.
//!
//! | generated | said by |
//! |---|---|
//! | next hops, groups, rules | the configuration, behind what is listed |
//! | routes, policers | changes |

use crate::ports::{DOWNLINK, SIDES, UPLINK};
use packet::PortId;
use std::net::IpAddr;
use std::sync::Arc;

use function_l3_router::config::{
    AclRule, Action, Config, Group, Member, Network, Ports, Prefixed, SourcePolicers,
};
use function_l3_router::control::Update;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::passing::Passing;

use crate::catalogue::{self, HOPS};
use crate::prefixes;

/// The `function` section: what is generated, and what an operator writes.
pub type Section = model_kit::Section<Generated, Config>;

/// What the bench generates. Keys and meaning are TIPSY's where TIPSY has them (`l3fwd`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Generated {
    /// Generated routes behind the uplink port; with `ipv6`, each has one of IPv6 (a /48) beside
    /// it.
    #[schemars(range(max = 1_000_000))]
    pub upstream_l3_table_size: u32,
    /// Next hops behind the uplink port; generated routes take them in turn.
    #[schemars(range(max = 65_024))]
    pub upstream_group_table_size: u32,
    /// Generated routes behind the downlink port.
    #[schemars(range(max = 1_000_000))]
    pub downstream_l3_table_size: u32,
    /// Next hops behind the downlink port.
    #[schemars(range(max = 65_024))]
    pub downstream_group_table_size: u32,
    /// Routes added a second, and as many removed.
    pub fluct_l3_table: f64,
    /// Next hops added a second, and as many removed; their routes are there all the time.
    pub fluct_group_table: f64,
    /// The source address of frames to generated next hops: that of the `port` by which they leave,
    /// or one of the `next-hop`, as TIPSY has it by the name `l3fwd`. Not in TIPSY.
    pub source_mac: SourceMac,
    /// Generated next hops of a port that are a group each, for generated routes to lead to; 0 for
    /// routes that lead to one next hop. Not in TIPSY.
    #[schemars(range(max = 64))]
    pub ecmp_members: u32,
    /// The weights of the members of generated groups, in turn; 1 each where there are none. Not in
    /// TIPSY.
    #[schemars(length(max = 64))]
    pub ecmp_weights: Vec<u16>,
    /// Routes of IPv4 behind the uplink port like the Internet's, by the lengths of its prefixes
    /// and as crowded; its next hops take them in turn. The Internet of 2025 had 901,899. Not in
    /// TIPSY.
    #[schemars(range(max = 2_000_000))]
    pub internet_routes: u32,
    /// Number of generated IPv6 routes, of which the Internet of 2025 had 160,147. Not in TIPSY.
    #[schemars(range(max = 2_000_000))]
    pub internet_routes_ipv6: u32,
    /// A file of further such routes, a prefix a line: `192.0.2.0/24`. Not in TIPSY.
    pub route_file: Option<String>,
    /// What stands in that file; checking the section reads it.
    #[serde(skip)]
    pub routes_read: Arc<Vec<Prefixed<IpAddr>>>,
    /// Rules behind those of `ingress-acl`, of which only the last matches packets. Not in TIPSY.
    #[schemars(range(max = 65_536))]
    pub acl_generated: u32,
    /// Copies of the last policer, its parent included, numbered behind the list; with `police-by:
    /// source`, a packet's source chooses among them. Not in TIPSY.
    #[schemars(range(max = 1_000_000))]
    pub policers_generated: u32,
}

/// Source address of frames to generated next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceMac {
    /// The port's own, as every router does it.
    Port,
    /// One that the next hop's entry has, as TIPSY's group tables do it.
    NextHop,
}

impl Default for Generated {
    fn default() -> Generated {
        Generated {
            upstream_l3_table_size: 10,
            upstream_group_table_size: 2,
            downstream_l3_table_size: 2,
            downstream_group_table_size: 1,
            fluct_l3_table: 0.0,
            fluct_group_table: 0.0,
            source_mac: SourceMac::Port,
            ecmp_members: 0,
            ecmp_weights: Vec::new(),
            internet_routes: 0,
            internet_routes_ipv6: 0,
            route_file: None,
            routes_read: Arc::default(),
            acl_generated: 0,
            policers_generated: 0,
        }
    }
}

impl Generated {
    /// Generated routes behind a port.
    pub fn table_size(&self, behind: PortId) -> u32 {
        match behind {
            DOWNLINK => self.downstream_l3_table_size,
            UPLINK => self.upstream_l3_table_size,
            _ => 0,
        }
    }

    /// Generated next hops behind a port.
    pub fn group_size(&self, behind: PortId) -> u32 {
        match behind {
            DOWNLINK => self.downstream_group_table_size,
            UPLINK => self.upstream_group_table_size,
            _ => 0,
        }
    }

    /// Generated groups behind a port, where generated routes lead to such: every so many next hops
    /// are one, and the last may have fewer.
    fn groups(&self, behind: PortId) -> u32 {
        match self.ecmp_members {
            0 => 0,
            members => self.group_size(behind).div_ceil(members),
        }
    }

    /// How many next hops or groups the generated routes behind a port take in turn.
    pub fn targets(&self, behind: PortId) -> u32 {
        match self.groups(behind) {
            0 => self.group_size(behind).max(1),
            groups => groups,
        }
    }

    /// How many next hops come and go, and are given a route from the start.
    pub fn passing_hops(&self) -> u32 {
        Passing::new(self.fluct_group_table).count()
    }
}

/// Where generated route `number` behind a port leads: the number of a next hop or group, which
/// routes take in turn.
#[inline]
pub fn target(section: &Section, behind: PortId, number: u32) -> u32 {
    let generated = &section.generated;
    match generated.groups(behind) {
        0 => hop_number(section, behind, number % generated.group_size(behind).max(1)),
        groups => {
            let before = match behind {
                DOWNLINK => 0,
                _ => generated.groups(DOWNLINK),
            };
            let listed = section.config.next_hop_groups.len() as u32;
            catalogue::group_number(listed + before + number % groups)
        }
    }
}

/// The number of generated next hop `number` behind a port: the listed ones come first, then those
/// behind the downlink and the uplink port.
#[inline]
pub fn hop_number(section: &Section, behind: PortId, number: u32) -> u32 {
    let listed = section.config.next_hops.len() as u32;
    match behind {
        DOWNLINK => listed + number,
        _ => listed + section.generated.group_size(DOWNLINK) + number,
    }
}

/// The number of next hop `number` of those that come and go, behind all others.
pub fn passing_hop_number(section: &Section, number: u32) -> u32 {
    hop_number(section, UPLINK, section.generated.group_size(UPLINK) + number)
}

/// The configuration that a section means: next hops, groups and rules are listed, and there is
/// room for what comes by changes.
pub fn config(section: &Section) -> Config {
    let Section { generated, config } = section;
    let mut config = config.clone();
    for port in SIDES {
        let hops = (0..generated.group_size(port)).map(|n| catalogue::next_hop(section, port, n));
        config.next_hops.extend(hops);
        let first = hop_number(section, port, 0);
        let groups =
            (0..generated.groups(port)).map(|group| group_of(generated, port, group, first));
        config.next_hop_groups.extend(groups);
    }
    config.ingress_acl.extend(rules(generated.acl_generated));
    if config.next_hop_capacity == 0 {
        config.next_hop_capacity = HOPS;
    }
    let tables = generated.upstream_l3_table_size + generated.downstream_l3_table_size;
    let internet = generated.internet_routes.max(generated.internet_routes_ipv6);
    let routes = (tables + internet) as usize + generated.routes_read.len();
    if config.route_capacity == 0 && routes > 0 {
        config.route_capacity = (config.capacity() + routes) as u32;
    }
    let (first, count) = (config.policers.len() as u32, generated.policers_generated);
    if config.policers_by_source.is_none() && count > 0 {
        config.policers_by_source = Some(SourcePolicers { first, count });
    }
    if config.policer_capacity == 0 && count > 0 {
        config.policer_capacity = (config.policers_max() + count).min(Config::POLICERS_MAX);
    }
    config
}

/// The changes that give a router of that configuration the rest of what is generated.
pub fn initial(section: &Section) -> impl Iterator<Item = Update> + '_ {
    let passing = (0..section.generated.passing_hops()).flat_map(move |number| {
        let side = catalogue::passing_side(number);
        let next_hop = catalogue::passing_hop(section, side, number);
        let address = catalogue::passing_hop_route_ipv4(side, number).into();
        let prefix = Prefixed { address, len: catalogue::IPV4_LEN };
        let number = passing_hop_number(section, number);
        // The route stays where its next hop has been.
        [
            Update::SetNextHop { number, next_hop },
            Update::SetRoute { prefix, next_hop: number, vrf: 0 },
            Update::RemoveNextHop { number },
        ]
    });
    let routes = internet_routes(section).chain(table_routes(section));
    let routes = routes.map(|(network, next_hop)| Update::SetRoute {
        prefix: network.prefix(),
        next_hop,
        vrf: network.vrf,
    });
    let is_policed = config_has_policers(&section.config);
    let policers = policers(section).filter(move |_| is_policed);
    passing.chain(routes).chain(policers)
}

/// All routes, to next hops and groups by number; generated ones are of the main VRF.
pub fn all_routes(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    internet_routes(section).chain(routes_but_the_internets(section))
}

/// The same without those like the Internet's.
pub fn routes_but_the_internets(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    table_routes(section).chain(section.config.all_routes())
}

fn internet_routes(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    (0..).zip(prefixes::prefixes(section)).map(|(place, (address, len))| {
        (Network { vrf: 0, address, len }, target(section, UPLINK, place))
    })
}

/// TIPSY's tables.
fn table_routes(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    SIDES.into_iter().flat_map(move |port| {
        (0..section.generated.table_size(port)).flat_map(move |number| {
            let hop = target(section, port, number);
            let ipv4 = catalogue::route_ipv4(port, number);
            let ipv6 = section.config.ipv6.then(|| catalogue::route_ipv6(port, number));
            let ipv6 = ipv6.map(|network| (network.into(), catalogue::IPV6_LEN));
            let both = [Some((ipv4.into(), catalogue::IPV4_LEN)), ipv6];
            let main = move |(address, len)| (Network { vrf: 0, address, len }, hop);
            both.into_iter().flatten().map(main)
        })
    })
}

/// Copies of the last listed policer, behind it.
fn policers(section: &Section) -> impl Iterator<Item = Update> + '_ {
    let first = section.config.policers.len() as u32;
    section.config.policers.last().into_iter().flat_map(move |&policer| {
        let copies = first..first + section.generated.policers_generated;
        copies.map(move |number| Update::SetPolicer { number, policer })
    })
}

fn config_has_policers(config: &Config) -> bool {
    config.police_by != function_l3_router::config::PoliceBy::None
}

/// Group `group` of those behind a port, whose next hops are numbered from `first` on.
fn group_of(generated: &Generated, port: PortId, group: u32, first: u32) -> Group {
    let members = generated.ecmp_members;
    let end = ((group + 1) * members).min(generated.group_size(port));
    let weights = &generated.ecmp_weights;
    let weight = |place: u32| weights.get(place as usize % weights.len().max(1)).copied();
    let member =
        |hop: u32| Member { next_hop: first + hop, weight: weight(hop % members).unwrap_or(1) };
    Group { members: (group * members..end).map(member).collect() }
}

/// Rules that deny single hosts of 198.51.0.0/16, a network of documentation, and a last one that
/// permits everything.
fn rules(count: u32) -> impl Iterator<Item = AclRule> {
    (1..=count).map(move |number| match number == count {
        true => AclRule::for_all(Action::Permit),
        false => rule(number),
    })
}

/// A rule that no packet of the tester matches.
fn rule(number: u32) -> AclRule {
    let source = std::net::Ipv4Addr::from_bits(198 << 24 | 51 << 16 | number & 0xffff);
    let destination = std::net::Ipv4Addr::new(203, 0, 113, 0);
    AclRule {
        source: Some(Prefixed { address: source.into(), len: 32 }),
        destination: Some(Prefixed { address: destination.into(), len: 24 }),
        protocol: Some(17),
        destination_ports: Some(Ports { first: 1000, last: 2000 + (number % 1000) as u16 }),
        ..AclRule::for_all(Action::Deny)
    }
}
