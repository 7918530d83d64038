//! From one state of a running router to another, said as changes.
use std::collections::BTreeMap;

use function_kit::Invalid;

use super::config::{Config, Network, NextHop};
use super::control::Update;
use super::groups::Groups;
use super::passing::Taken;
use super::state::State;

/// Routes, next hops and groups may come, go and change; everything else is part of what a packet's
/// way is made of. What is new comes before what is gone goes, so that no packet is without a route
/// that both configurations have.
///
/// # Errors
/// The first other key that differs, or a table without room for what is wanted.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    if let Some(key) = differing_key(running, wanted) {
        return Err(Invalid {
            section: "function",
            key: key.into(),
            what: "cannot be changed while the router runs".into(),
            remedy: "Change `next-hops`, `routes` or groups only, or restart it".into(),
        });
    }
    if wanted.groups() > running.groups_max() {
        return Err(Invalid {
            section: "function",
            key: "ecmp-capacity".into(),
            what: format!("{} groups do not fit into the running table", wanted.groups()),
            remedy: "Restart it, or give it a larger `ecmp-capacity` the next time".into(),
        });
    }
    if wanted.next_hops.len() > running.next_hops_max() as usize {
        return Err(Invalid {
            section: "function",
            key: "next-hop-capacity".into(),
            what: format!("{} next hops do not fit", wanted.next_hops.len()),
            remedy: "Restart it, or give it a larger `next-hop-capacity` the next time".into(),
        });
    }
    let watched = wanted.next_hops.iter().filter(|hop| hop.bfd.is_some()).count();
    if watched > running.bfd_sessions_max() as usize {
        return Err(Invalid {
            section: "function",
            key: "bfd-capacity".into(),
            what: format!("{watched} sessions of BFD do not fit"),
            remedy: "Restart it, or give it a larger `bfd-capacity` the next time".into(),
        });
    }
    let (before, after) = (Objects::of(running), Objects::of(wanted));
    if after.routes.len() + after.next_hops.len() > running.capacity() {
        return Err(Invalid {
            section: "function",
            key: "route-capacity".into(),
            what: format!("{} routes do not fit into the running table", after.routes.len()),
            remedy: "Restart it, or give it a larger `route-capacity` the next time".into(),
        });
    }
    Ok(before.changes_to(&after))
}

/// The changes that lead back from what was applied out of a difference.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let before = Objects::of(running);
    let mut reached = Objects::of(running);
    applied.iter().for_each(|update| reached.take(update));
    reached.changes_to(&before)
}

/// Next hops, members of groups and some routes of what a router has, or more of its routes behind
/// the last one of those.
pub(super) fn part(state: &State, last: Option<&Update>) -> Vec<Update> {
    let set = |(route, next_hop): (Network, u32)| Update::SetRoute {
        prefix: route.prefix(),
        next_hop,
        vrf: route.vrf,
    };
    let Some(last) = last else {
        let next_hops = state.neighbours.iter();
        let next_hops =
            next_hops.map(|(&number, &next_hop)| Update::SetNextHop { number, next_hop });
        let members = state.groups.iter().flat_map(Groups::members);
        let members = members.map(|(group, next_hop, weight)| Update::SetGroupMember {
            group,
            next_hop,
            weight,
        });
        let routes = state.listed_routes().take(PART).map(set);
        return next_hops.chain(members).chain(routes).collect();
    };
    match *last {
        Update::SetRoute { prefix, vrf, .. } => {
            let routes = state.listed_routes_behind(Network::of(vrf, prefix));
            routes.take(PART).map(set).collect()
        }
        _ => Vec::new(),
    }
}

/// What came, went or changed since the router was configured, of what it has.
pub(super) fn remembered(config: &Config, parts: &[Update]) -> Vec<Update> {
    let mut after = Objects::default();
    parts.iter().for_each(|update| after.take(update));
    Objects::of(config).changes_to(&after)
}

/// Whether a change is one of these.
pub(super) fn is_its(update: &Update) -> bool {
    matches!(
        update,
        Update::SetRoute { .. }
            | Update::RemoveRoute { .. }
            | Update::SetNextHop { .. }
            | Update::RemoveNextHop { .. }
            | Update::SetGroupMember { .. }
            | Update::RemoveGroupMember { .. }
    )
}

/// Everything that can change.
#[derive(Default)]
struct Objects {
    next_hops: BTreeMap<u32, NextHop>,
    /// Weights by group and next hop.
    members: BTreeMap<(u32, u32), u16>,
    routes: BTreeMap<Network, u32>,
}

impl Objects {
    fn of(config: &Config) -> Objects {
        let routes = config.all_routes().collect();
        let members = config.all_members();
        let members = members.map(|(group, hop, weight)| ((group, hop), weight)).collect();
        Objects { next_hops: config.all_next_hops().collect(), members, routes }
    }

    fn take(&mut self, update: &Update) {
        match *update {
            Update::SetRoute { prefix, next_hop, vrf } => {
                self.routes.insert(Network::of(vrf, prefix), next_hop);
            }
            Update::RemoveRoute { prefix, vrf } => {
                self.routes.remove(&Network::of(vrf, prefix));
            }
            Update::SetNextHop { number, next_hop } => {
                self.next_hops.insert(number, next_hop);
            }
            Update::RemoveNextHop { number } => {
                self.next_hops.remove(&number);
            }
            Update::SetGroupMember { group, next_hop, weight } => {
                self.members.insert((group, next_hop), weight);
            }
            Update::RemoveGroupMember { group, next_hop } => {
                self.members.remove(&(group, next_hop));
            }
            // The services' own have a file there.
            Update::SetRule { .. }
            | Update::RemoveRule { .. }
            | Update::SetPolicer { .. }
            | Update::RemovePolicer { .. } => {}
            // Nobody is active who has not heard from the others that nobody is: whoever has
            // restarted is told anew what it has, and which sessions are wanted.
            Update::SetVirtual { .. }
            | Update::RemoveVirtual { .. }
            | Update::SetBfd { .. }
            | Update::RemoveBfd { .. } => {}
            // Whoever watches routes asks anew.
            Update::WatchRoute { .. } | Update::UnwatchRoutes {} => {}
            // They are no part of a configuration's difference.
            Update::SetAddress { .. }
            | Update::RemoveAddress { .. }
            | Update::SetNeighbour { .. }
            | Update::RemoveNeighbour { .. }
            | Update::HearNeighbour { .. } => {}
        }
    }

    fn changes_to(&self, wanted: &Objects) -> Vec<Update> {
        let is_new = |number: &u32, hop: &NextHop| self.next_hops.get(number) != Some(hop);
        let arriving = wanted.next_hops.iter().filter(|(number, hop)| is_new(number, hop));
        let leads_elsewhere = |route: &Network, hop: &u32| self.routes.get(route) != Some(hop);
        let set = wanted.routes.iter().filter(|(route, hop)| leads_elsewhere(route, hop));
        let gone = self.routes.keys().filter(|route| !wanted.routes.contains_key(route));
        // An address or name may pass from one next hop to another: whoever loses it goes first.
        let taken = Taken::by(&wanted.next_hops);
        let mut losing = Vec::new();
        let mut departing = Vec::new();
        for (&number, old) in &self.next_hops {
            let new = wanted.next_hops.get(&number);
            match taken.giving_way(number, old, new) {
                Some(change) => losing.push(change),
                None if new.is_none() => departing.push(Update::RemoveNextHop { number }),
                None => {}
            }
        }
        let sets = |(route, &next_hop): (&Network, &u32)| Update::SetRoute {
            prefix: route.prefix(),
            next_hop,
            vrf: route.vrf,
        };
        losing
            .into_iter()
            .chain(arriving.map(|(&number, &next_hop)| Update::SetNextHop { number, next_hop }))
            .chain(self.members_to(wanted))
            .chain(set.map(sets))
            .chain(gone.map(|one| Update::RemoveRoute { prefix: one.prefix(), vrf: one.vrf }))
            .chain(departing)
            .collect()
    }

    /// Members that come before those that go, but in groups that have no room for both.
    fn members_to(&self, wanted: &Objects) -> Vec<Update> {
        let is_new = |one: &(&(u32, u32), &u16)| self.members.get(one.0) != Some(one.1);
        let set = wanted.members.iter().filter(is_new).map(|(&(group, next_hop), &weight)| {
            Update::SetGroupMember { group, next_hop, weight }
        });
        let gone = self.members.keys().filter(|one| !wanted.members.contains_key(one));
        let in_both = |group: u32| {
            let old = self.members.range((group, 0)..=(group, u32::MAX)).count();
            let new = wanted.members.range((group, 0)..=(group, u32::MAX));
            old + new.filter(|(one, _)| !self.members.contains_key(one)).count()
        };
        let is_crowded = |group: u32| in_both(group) > Config::MEMBERS_MAX as usize;
        let (first, last): (Vec<_>, Vec<_>) = gone.partition(|(group, _)| is_crowded(*group));
        let remove =
            |&(group, next_hop): &(u32, u32)| Update::RemoveGroupMember { group, next_hop };
        first.into_iter().map(remove).chain(set).chain(last.into_iter().map(remove)).collect()
    }
}

/// Routes that are told of between two batches.
const PART: usize = 512;

fn differing_key(running: &Config, wanted: &Config) -> Option<&'static str> {
    let differs = [
        ("core", running.core != wanted.core),
        ("fakedrop", running.fakedrop != wanted.fakedrop),
        ("ports", running.ports != wanted.ports),
        ("uplink-mac", running.uplink_mac != wanted.uplink_mac),
        ("downlink-mac", running.downlink_mac != wanted.downlink_mac),
        ("ipv6", running.ipv6 != wanted.ipv6),
        ("downlink-ip", running.downlink_ip != wanted.downlink_ip),
        ("uplink-ip", running.uplink_ip != wanted.uplink_ip),
        ("downlink-ipv6", running.downlink_ipv6 != wanted.downlink_ipv6),
        ("uplink-ipv6", running.uplink_ipv6 != wanted.uplink_ipv6),
        ("next-hop-capacity", running.next_hop_capacity != wanted.next_hop_capacity),
        ("bfd-keys", running.bfd_keys != wanted.bfd_keys),
        ("bfd-capacity", running.bfd_capacity != wanted.bfd_capacity),
        ("route-capacity", running.route_capacity != wanted.route_capacity),
        ("ecmp-capacity", running.ecmp_capacity != wanted.ecmp_capacity),
        ("ecmp-buckets", running.ecmp_buckets != wanted.ecmp_buckets),
        ("ecmp-seed", running.ecmp_seed != wanted.ecmp_seed),
        ("virtual-reassembly", running.virtual_reassembly != wanted.virtual_reassembly),
        ("reassembly-capacity", running.reassembly_capacity != wanted.reassembly_capacity),
        ("reassembly-timeout-ms", running.reassembly_timeout_ms != wanted.reassembly_timeout_ms),
        ("early-fragments", running.early_fragments != wanted.early_fragments),
        ("extension-headers-max", running.extension_headers_max != wanted.extension_headers_max),
        ("vrfs", running.vrfs != wanted.vrfs),
        ("interfaces", running.interfaces != wanted.interfaces),
        ("rule-log-per-s", running.rule_log_per_s != wanted.rule_log_per_s),
        ("advertise", running.advertise != wanted.advertise),
        ("icmp-errors-per-s", running.icmp_errors_per_s != wanted.icmp_errors_per_s),
        ("icmp-error-burst", running.icmp_error_burst != wanted.icmp_error_burst),
        ("ping", running.ping != wanted.ping),
        ("punt", running.punt != wanted.punt),
        ("punt-rates", running.punt_rates != wanted.punt_rates),
        ("resolve", running.resolve != wanted.resolve),
        ("neighbour-capacity", running.neighbour_capacity != wanted.neighbour_capacity),
        ("neighbour-lifetime-s", running.neighbour_lifetime_s != wanted.neighbour_lifetime_s),
        ("pending-capacity", running.pending_capacity != wanted.pending_capacity),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use engine::Function;
    use function_kit::{NetworkFunction, Shard};
    use serde_json::json;

    use super::super::config::{DOWNLINK, Group, Mac, Member, Prefixed, Route, UPLINK};
    use super::super::{L3Router, Pipeline, Said};
    use super::*;
    use wire::MacAddr;

    fn neighbour(last: u8, ip: Option<&str>) -> NextHop {
        NextHop {
            port: UPLINK,
            mac: Mac(MacAddr([0x0a, 0, 0, 0, 0, last])),
            vlan: None,
            source: None,
            ip: ip.map(|ip| ip.parse().expect("an address")),
            ipv6: None,
            bfd: None,
            name: None,
        }
    }

    fn route(text: &str, next_hop: u32) -> Route {
        let prefix = Prefixed::try_from(text.to_owned()).expect("a prefix");
        Route { prefix, next_hop: Some(next_hop.into()), group: None, vrf: 0 }
    }

    fn config() -> Config {
        Config {
            ipv6: true,
            next_hops: vec![neighbour(1, Some("192.0.2.1")), neighbour(2, None)],
            routes: vec![route("198.51.100.0/24", 0), route("2001:db8::/32", 1)],
            ..Config::default()
        }
    }

    fn clock() -> machine::clock::Clock {
        machine::clock::Clock::with_rate(1e9)
    }

    fn memory(config: &Config, router: &Pipeline) -> Vec<Update> {
        let memory = L3Router::memory(config, Shard::WHOLE, router, 0);
        memory.into_iter().map(Said::numbered).collect()
    }

    fn leads_to(running: &Config, wanted: &Config) {
        let mut pipeline = Pipeline::new(running, clock(), 0).expect("a small router");
        let changes = difference(running, wanted).expect("only tables differ");
        for update in &changes {
            pipeline.change(*update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        assert_eq!(memory(wanted, &pipeline), []);
        for update in undoing(running, &changes) {
            pipeline.change(update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        assert_eq!(memory(running, &pipeline), []);
    }

    #[test]
    fn a_difference_leads_from_the_one_to_the_other() {
        let one = config();
        let mut other = config();
        other.next_hops.extend([neighbour(5, Some("10.1.0.5")), neighbour(6, None)]);
        other.routes.insert(0, route("192.88.99.0/24", 3));
        other.routes[1].next_hop = Some(1.into());
        other.routes.pop();
        leads_to(&one, &other);
        leads_to(&other, &one);
        // Groups come, change and go; a full one is exchanged.
        let member = |next_hop: u32, weight| Member { next_hop: next_hop.into(), weight };
        let group = |members: &[(u32, u16)]| Group {
            members: members.iter().map(|&(hop, weight)| member(hop, weight)).collect(),
        };
        let mut grouped = Config { ecmp_capacity: 9, ..config() };
        grouped.next_hop_groups = vec![group(&[(0, 1), (1, 3)])];
        grouped.routes[0] = Route { next_hop: None, group: Some(0), ..grouped.routes[0] };
        let mut regrouped = grouped.clone();
        regrouped.next_hop_groups = vec![group(&[(1, 2)]), group(&[(0, 1)])];
        regrouped.next_hops.push(neighbour(5, Some("10.1.0.5")));
        leads_to(&grouped, &regrouped);
        leads_to(&regrouped, &grouped);
        let many = |first: u32| Config {
            next_hops: (0..128).map(|last| neighbour(last, None)).collect(),
            routes: Vec::new(),
            next_hop_groups: vec![Group {
                members: (first..first + 64).map(|hop| member(hop, 1)).collect(),
            }],
            ..grouped.clone()
        };
        leads_to(&many(0), &many(64));
        let crowded = difference(&one, &grouped).expect_err("there is no room for groups");
        assert_eq!(crowded.key, "ecmp-capacity");
        // The address passes from one next hop to the other.
        let mut swapped = config();
        swapped.next_hops[1].ip = swapped.next_hops[0].ip.take();
        leads_to(&one, &swapped);
        leads_to(&swapped, &one);
        // The first of a list goes, and the others move up; they are asked for, or not.
        for mac in [Mac(MacAddr::ZERO), neighbour(1, None).mac] {
            let hop = |last: u8| NextHop { mac, ..neighbour(1, Some(&format!("10.1.0.{last}"))) };
            let all = |lasts: &[u8]| Config {
                resolve: true,
                next_hops: lasts.iter().map(|last| hop(*last)).collect(),
                routes: vec![route("198.51.100.0/24", 0)],
                ..config()
            };
            leads_to(&all(&[2, 3, 4]), &all(&[3, 4]));
            leads_to(&all(&[3, 4]), &all(&[2, 3, 4]));
            leads_to(&all(&[2, 3]), &all(&[3, 5]));
        }
        let small = Config { next_hop_capacity: 2, ..config() };
        let more = Config { next_hops: vec![neighbour(1, None); 3], ..small.clone() };
        assert_eq!(difference(&small, &more).expect_err("no room").key, "next-hop-capacity");
        let wanted = Config { ipv6: false, next_hops: vec![], routes: vec![], ..config() };
        assert_eq!(difference(&one, &wanted).expect_err("IPv6 is gone").key, "ipv6");
    }

    #[test]
    fn what_is_remembered_restores_the_state() {
        let mut one = Pipeline::new(&config(), clock(), 0).expect("a small router");
        let mut other = config();
        other.routes.remove(0);
        other.routes.push(route("192.88.99.0/24", 1));
        other.next_hops[0].port = DOWNLINK;
        for update in difference(&config(), &other).expect("only tables differ") {
            one.change(update, 0).expect("possible");
        }
        let remembered = memory(&config(), &one);
        let mut two = Pipeline::new(&config(), clock(), 0).expect("a small router");
        remembered.iter().for_each(|update| two.change(*update, 0).expect("possible"));
        assert_eq!(memory(&other, &two), []);
        assert!(!remembered.is_empty());
    }

    /// What is told in parts, as of a router that forwards, restores it in this order.
    #[test]
    fn what_the_host_has_is_remembered_before_what_needs_it() {
        let keys = json!({
            "ports": [
                {"name": "one", "mac": "02:00:00:00:00:01", "host-interface": "one"},
                {"name": "two", "mac": "02:00:00:00:00:02", "ip": "10.2.0.1/16"},
            ],
            "resolve": true,
            "punt": true,
            "bfd-capacity": 2,
        });
        let mut config: Config = serde_json::from_value(keys).expect("keys");
        L3Router::validate(&mut config).expect("a router");
        let new = || {
            let mut router = Pipeline::new(&config, clock(), 0).expect("a small router");
            router.make_room(packet::Room::default()).expect("memory");
            router
        };
        let changes = [
            json!({"set-address": {"port": "one", "address": "10.1.0.1/16"}}),
            json!({"set-neighbour": {"port": "one", "address": "10.1.0.7",
                "mac": "02:00:00:00:07:07"}}),
            json!({"set-next-hop": {"number": 0,
                "next-hop": {"port": "one", "ip": "10.1.0.2", "bfd": {}}}}),
            json!({"set-route": {"prefix": "192.0.2.0/24", "next-hop": 0}}),
        ];
        let changes = changes.map(|update| serde_json::from_value(update).expect("a change"));
        let (mut one, mut two) = (new(), new());
        for update in changes {
            one.change(update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        let parts = L3Router::memory_part(&config, Shard::WHOLE, &one, 0, None);
        assert_eq!(L3Router::memory_part(&config, Shard::WHOLE, &one, 0, parts.last()), []);
        let remembered = L3Router::remembered(&config, parts);
        let remembered: Vec<_> = remembered.into_iter().map(Said::numbered).collect();
        assert_eq!(remembered, changes);
        for update in remembered {
            two.change(update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        assert_eq!(memory(&config, &two), changes);
    }

    #[test]
    fn parts_tell_of_every_route_once_and_in_order() {
        let mut router = Pipeline::new(&config(), clock(), 0).expect("a small router");
        let several = (0..1500).flat_map(|number: u32| {
            let ipv4 = format!("100.{}.{}.0/{}", number / 256, number % 256, 24 + number % 3);
            [ipv4, format!("2001:db9:{number:x}::/48")]
        });
        for prefix in several.chain(["100.0.0.0/8", "100.1.0.0/16"].map(str::to_owned)) {
            let prefix = route(&prefix, 1).prefix;
            router.change(Update::SetRoute { prefix, next_hop: 1, vrf: 0 }, 0).expect("room");
        }
        let (mut told, mut parts) = (part(router.state(), None), 1);
        loop {
            let more = part(router.state(), told.last());
            if more.is_empty() {
                break;
            }
            told.extend(more);
            parts += 1;
        }
        let route = |update: &Update| match *update {
            Update::SetRoute { prefix, next_hop, vrf } => {
                Some((Network::of(vrf, prefix), next_hop))
            }
            _ => None,
        };
        let told: Vec<_> = told.iter().filter_map(route).collect();
        assert_eq!(told, router.state().listed_routes().collect::<Vec<_>>());
        assert!(told.len() > 3000 && parts > 5, "{parts}");
    }
}
