//! One-to-one and port forwarding rules that come and go: what must be free for one, and which
//! sessions end with it.
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use function_cgnat::config::{Forward, PortForwarding, PortForwardingHost, Prefixed, StaticRule};

use super::networks::{holds, overlap, same};
use super::state::Model;

impl Model {
    /// A one-to-one rule comes; one that is there stays. Whether it may.
    pub(super) fn add_static(&mut self, rule: StaticRule, now: Duration) -> bool {
        let is_it = |known: &StaticRule| is_same(known, &rule);
        if self.config.static_rules.iter().any(is_it) {
            return true;
        }
        let is_inside =
            self.config.inside.iter().any(|network| {
                network.len <= rule.inside.len && holds(*network, rule.inside.address)
            });
        let has_other = self.config.static_rules.iter().any(|one| overlap(one.inside, rule.inside))
            || self.hosts().any(|host| holds(rule.inside, host.inside));
        let is_own = holds(rule.outside, self.config.outside_ip);
        let is_refused = rule.inside.len != rule.outside.len
            || !is_inside
            || has_other
            || is_own
            || self.config.static_rules.len() == RULES_MAX
            || !self.may_come(rule.outside);
        if is_refused {
            return false;
        }
        self.end_of(&|address| holds(rule.inside, address), now);
        self.config.static_rules.push(rule);
        self.addresses_changed(now);
        true
    }

    /// A one-to-one rule goes; whether it was there.
    pub(super) fn remove_static(&mut self, rule: StaticRule, now: Duration) -> bool {
        let before = self.config.static_rules.len();
        self.config.static_rules.retain(|known| !is_same(known, &rule));
        if self.config.static_rules.len() == before {
            return false;
        }
        self.end_of(&|address| holds(rule.inside, address), now);
        self.addresses_changed(now);
        true
    }

    /// An outside address has these hosts from now on; whether they may have it.
    pub(super) fn set_forwarding(&mut self, rule: &PortForwarding, now: Duration) -> bool {
        let rules = &self.config.port_forwarding;
        let known = rules.iter().find(|known| known.outside == rule.outside).cloned();
        let others = || rules.iter().filter(|known| known.outside != rule.outside);
        let is_of_another = |host: &PortForwardingHost| {
            others().flat_map(|other| &other.hosts).any(|other| other.inside == host.inside)
        };
        let may_begin = || {
            rules.len() < RULES_MAX && self.may_come(Prefixed { address: rule.outside, len: 32 })
        };
        let is_refused = !self.may_share(rule)
            || rule.hosts.iter().any(is_of_another)
            || known.is_none() && !may_begin();
        if is_refused {
            return false;
        }
        let before = known.as_ref().map_or(Vec::new(), |known| known.hosts.clone());
        let stays = |address| {
            let find = |hosts: &[PortForwardingHost]| {
                hosts.iter().find(|host| host.inside == address).cloned()
            };
            find(&before) == find(&rule.hosts)
        };
        let both: BTreeSet<Ipv4Addr> =
            before.iter().chain(&rule.hosts).map(|host| host.inside).collect();
        self.end_of(&|address| both.contains(&address) && !stays(address), now);
        self.config.port_forwarding.retain(|known| known.outside != rule.outside);
        self.config.port_forwarding.push(rule.clone());
        if known.is_none() {
            self.addresses_changed(now);
        }
        true
    }

    /// An outside address has no hosts any more; whether it had some.
    pub(super) fn remove_forwarding(&mut self, outside: Ipv4Addr, now: Duration) -> bool {
        let rules = &mut self.config.port_forwarding;
        let Some(place) = rules.iter().position(|rule| rule.outside == outside) else {
            return false;
        };
        let rule = rules.remove(place);
        let is_host = |address| rule.hosts.iter().any(|host| host.inside == address);
        self.end_of(&is_host, now);
        self.addresses_changed(now);
        true
    }

    /// Whether hosts may share an address so, whoever else has it.
    fn may_share(&self, rule: &PortForwarding) -> bool {
        let is_ruled = |address| {
            let mut deterministic = self.config.deterministic.iter().filter(|own| own.realm == 0);
            self.config.static_rules.iter().any(|own| holds(own.inside, address))
                || deterministic.any(|own| holds(own.inside, address))
        };
        let is_subscriber = |address| self.config.inside.iter().any(|all| holds(*all, address));
        let hosts: BTreeSet<Ipv4Addr> = rule.hosts.iter().map(|host| host.inside).collect();
        let mut addresses = hosts.iter().copied();
        (1..=1024).contains(&rule.hosts.len())
            && hosts.len() == rule.hosts.len()
            && addresses.clone().all(is_subscriber)
            && !addresses.any(is_ruled)
            && rule.hosts.iter().all(|host| self.may_have_ports(host))
            && [6, 17].into_iter().all(|protocol| are_apart(rule, protocol))
    }

    /// Whether ports of a host are numbers that it can have.
    fn may_have_ports(&self, host: &PortForwardingHost) -> bool {
        let is_range = |forward: &Forward| {
            let more = u32::from(forward.last()).checked_sub(forward.first_port.into());
            let ends = more.map(|more| u32::from(forward.inside_first()) + more);
            let begins = forward.first_port.min(forward.inside_first());
            begins > 0 && ends.is_some_and(|last| last < 1 << 16)
        };
        let dynamic = host.dynamic_ports;
        let is_given_away = dynamic.is_none_or(|ports| {
            (self.config.first_port..=ports.last_port).contains(&ports.first_port)
        });
        let has_some = dynamic.is_some() || !host.forwards.is_empty();
        has_some
            && host.forwards.len() <= 1024
            && host.forwards.iter().all(is_range)
            && is_given_away
    }

    fn hosts(&self) -> impl Iterator<Item = &PortForwardingHost> {
        self.config.port_forwarding.iter().flat_map(|rule| &rule.hosts)
    }

    /// Whether outside addresses may come that are not there: nobody has them, and there is room.
    pub(super) fn may_come(&self, network: Prefixed<Ipv4Addr>) -> bool {
        let config = &self.config;
        let siit = config.siit.iter().flat_map(|siit| siit.networks());
        let of_vrfs = config.vrfs.iter().flat_map(|vrf| vrf.inside.iter().copied());
        let inside = config.inside.iter().chain(&config.bypass).copied();
        let mut networks = siit.chain(of_vrfs).chain(inside).chain(self.outside());
        let hops = config.interfaces.iter().map(|one| one.next_hop);
        let hops = hops.chain(config.vrfs.iter().map(|vrf| vrf.next_hop));
        let hops = hops.chain([config.inside_next_hop, config.outside_next_hop]).flatten();
        let source = config.logging.iter().filter_map(|logging| match logging.source {
            IpAddr::V4(source) => Some(source),
            IpAddr::V6(_) => None,
        });
        let own = config.interfaces.iter().map(|one| one.ip).chain([config.inside_ip]);
        let mut hosts = hops.chain(source).chain(own);
        network.len > 0
            && !networks.any(|other| overlap(other, network))
            && !hosts.any(|host| holds(network, host))
            && self.room_for(network)
    }

    /// Whether there is room for a network: that of one of its size that went, or a spare one.
    fn room_for(&self, network: Prefixed<Ipv4Addr>) -> bool {
        let there = self.outside().filter(|one| one.len == network.len).count();
        let taken: usize = self.taken.iter().filter(|len| **len == network.len).count();
        let spare: u64 = self.taken[self.configured..].iter().map(|len| 1 << (32 - len)).sum();
        let size = 1u64 << (32 - network.len);
        there < taken || spare + size <= u64::from(self.config.spare_addresses)
    }

    /// Takes note of outside addresses that came or went: sessions whose other end became one, or
    /// is none any more, end.
    pub(super) fn addresses_changed(&mut self, now: Duration) {
        for len in 1..=32 {
            let there = self.outside().filter(|one| one.len == len).count();
            let taken = self.taken.iter().filter(|one| **one == len).count();
            self.taken.extend(std::iter::repeat_n(len, there.saturating_sub(taken)));
        }
        let before = std::mem::take(&mut self.known_outside);
        self.known_outside = self.outside().collect();
        let has = |all: &[Prefixed<Ipv4Addr>], address| all.iter().any(|one| holds(*one, address));
        let after = &self.known_outside;
        let turns = |address| has(&before, address) != has(after, address);
        self.tables.end_towards(&turns, &self.config, now);
    }

    /// Ends all sessions of subscribers of the main realm.
    fn end_of(&mut self, is_one: &dyn Fn(Ipv4Addr) -> bool, now: Duration) {
        for who in self.tables.subscribers() {
            let is_main = who.realm == 0 && who.b4.is_none();
            if matches!(who.address, IpAddr::V4(address) if is_main && is_one(address)) {
                self.tables.clear(who, &self.config, now);
            }
        }
    }
}

/// Whether no port of a protocol is two hosts', and none of a host has two outside ones.
fn are_apart(rule: &PortForwarding, protocol: u8) -> bool {
    let mut outside = BTreeSet::new();
    rule.hosts.iter().all(|host| {
        let mut inside = BTreeSet::new();
        let of = |forward: &&Forward| forward.protocol.numbers().contains(&protocol);
        let forwarded = host.forwards.iter().filter(of).all(|forward| {
            let count = forward.last() - forward.first_port;
            (0..=count).all(|offset| {
                let is_new = outside.insert(forward.first_port + offset);
                is_new && inside.insert(forward.inside_first() + offset)
            })
        });
        let dynamic = host.dynamic_ports;
        forwarded
            && dynamic.is_none_or(|ports| {
                (ports.first_port..=ports.last_port).all(|port| outside.insert(port))
            })
    })
}

fn is_same(one: &StaticRule, other: &StaticRule) -> bool {
    same(one.inside, other.inside) && same(one.outside, other.outside)
}

/// Most rules of each kind.
const RULES_MAX: usize = 1024;
