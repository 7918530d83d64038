//! The configuration of a router with generated tables.
use crate::ports::SIDES;
use packet::PortId;

use function_l3_router::config::{
    AclRule, Action, Config, Group, Member, Ports, Prefixed, SourcePolicers,
};

use super::section::{Generated, Section, hop_number};
use crate::catalogue::{self, HOPS};

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

/// Group `group` of those behind a port, whose next hops are numbered from `first` on.
fn group_of(generated: &Generated, port: PortId, group: u32, first: u32) -> Group {
    let members = generated.ecmp_members;
    let end = ((group + 1) * members).min(generated.group_size(port));
    let weights = &generated.ecmp_weights;
    let weight = |place: u32| weights.get(place as usize % weights.len().max(1)).copied();
    let member = |hop: u32| Member {
        next_hop: (first + hop).into(),
        weight: weight(hop % members).unwrap_or(1),
    };
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
