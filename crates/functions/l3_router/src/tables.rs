//! What a person can look at while the router runs: routes, next hops and their groups.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::{Summed, TablePage, TableSize};
use protocol_bfd::View;
use serde_json::{Value, json};

use super::config::{HopName, Network, NextHop, Policer};
use super::groups::Groups;
use super::happened::Whose;
use super::liveness::Liveness;
use super::neighbours::Entry;
use super::pipeline::Pipeline;
use super::services::acl::{Acl, Hits};
use super::state::State;

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] = &[
    "routes",
    "next-hops",
    "groups",
    "neighbours",
    "ingress-rules",
    "egress-rules",
    "policers",
    "bfd",
];

/// What each worker counts for itself.
pub(super) const SUMMED: &[Summed] = &[
    Summed { table: "ingress-rules", columns: &["packets", "bytes"] },
    Summed { table: "egress-rules", columns: &["packets", "bytes"] },
];

pub(super) fn sizes(router: &Pipeline) -> Vec<TableSize> {
    let (state, services) = (router.state(), router.services());
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    let (ipv4, ipv6) = (&state.routes.ipv4, &state.routes.ipv6);
    vec![
        size(ipv4.len() + ipv6.len(), ipv4.limits().routes + ipv6.limits().routes),
        size(state.neighbours.len(), state.entries.local as usize),
        state.groups.as_ref().map(Groups::sizes).map_or(size(0, 0), |(used, all)| size(used, all)),
        match router.neighbours() {
            Some(all) => size(all.entries().count(), all.capacity()),
            None => size(0, 0),
        },
        size(services.ingress.rules().len(), services.ingress.rules_max()),
        size(services.egress.rules().len(), services.egress.rules_max()),
        size(services.police.policers().len(), services.police.policers_max()),
        router
            .liveness
            .as_ref()
            .map_or(size(0, 0), |all| size(all.views().count(), all.capacity())),
    ]
}

/// Entries by what they are found by, so that a page is found without walking what lies before it.
pub(super) fn page(router: &Pipeline, table: usize, from: u64, limit: usize) -> TablePage {
    let (state, services) = (router.state(), router.services());
    match table {
        0 => routes(state, from, limit),
        1 => next_hops(state, from, limit),
        2 => members(state, from, limit),
        3 => neighbours(router, from, limit),
        4 => rules(&services.ingress, from, limit),
        5 => rules(&services.egress, from, limit),
        6 => policers(services.police.policers(), from, limit),
        _ => sessions(router, from, limit),
    }
}

/// Sessions of BFD: those of next hops by their numbers, then those that were set.
fn sessions(router: &Pipeline, from: u64, limit: usize) -> TablePage {
    let all = router.liveness.iter().flat_map(Liveness::views);
    let mut rows = all.skip_while(|(whose, _)| whose.subject() < from);
    let row = |(whose, view): (Whose, View)| {
        let next_hop = match whose {
            Whose::NextHop(number) => Some(number),
            Whose::Discriminator(_) => None,
        };
        json!({
            "next-hop": next_hop,
            "local": view.path.local,
            "peer": view.path.peer,
            "state": format!("{:?}", view.state),
            "peer-state": format!("{:?}", view.peer_state),
            "discriminator": view.discriminators[0],
            "peer-discriminator": view.discriminators[1],
            "interval-us": view.transmit_interval.as_micros() as u64,
            "detection-us": view.detection_time.map(|time| time.as_micros() as u64),
            "echo": view.has_echo,
        })
    };
    let entries = rows.by_ref().take(limit).map(row).collect();
    TablePage { entries, next: rows.next().map(|(whose, _)| whose.subject()) }
}

/// Members by their groups and next hops, with the share of the buckets that they have at present.
fn members(state: &State, from: u64, limit: usize) -> TablePage {
    let from = ((from >> 32) as u32, from as u32);
    let mut rows = state.groups.iter().flat_map(|groups| groups.members_from(from));
    let row = |(group, hop, weight)| {
        let buckets = state.groups.as_ref().map_or(0, |groups| groups.buckets_of(group, hop));
        let name = name_of(state, hop);
        json!({
            "group": group,
            "next-hop": hop,
            "name": name,
            "weight": weight,
            "buckets": buckets,
        })
    };
    let entries = rows.by_ref().take(limit).map(row).collect();
    let next = rows.next().map(|(group, hop, _)| u64::from(group) << 32 | u64::from(hop));
    TablePage { entries, next }
}

/// Neighbours by their number in the cache.
fn neighbours(router: &Pipeline, from: u64, limit: usize) -> TablePage {
    let Some(all) = router.neighbours() else { return TablePage::default() };
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    let mut rows = (from..all.capacity() as u32).filter_map(|place| Some((place, all.get(place)?)));
    let row = |(_, entry): (u32, &Entry)| neighbour(router.state(), entry);
    let entries = rows.by_ref().take(limit).map(row).collect();
    TablePage { entries, next: rows.next().map(|(place, _)| place.into()) }
}

/// A station on a link.
pub(super) fn neighbour(state: &State, entry: &Entry) -> Value {
    let own = state.interfaces.get(entry.link);
    let mac = entry.mac.map(|mac| mac.to_string());
    let port = state.interfaces.ports().get(usize::from(own.port.0));
    json!({"port": port, "vlan": own.vlan, "address": entry.address, "mac": mac})
}

/// Routes in their order, from a [`Place`] on.
fn routes(state: &State, from: u64, limit: usize) -> TablePage {
    let mut place = Place::of(from);
    let first = place.group().map(|last| state.listed_routes_behind(last));
    let all = first.is_none().then(|| state.listed_routes());
    let rows = all.into_iter().flatten().chain(first.into_iter().flatten());
    let mut entries = Vec::new();
    for (network, hop) in rows.skip(place.told as usize) {
        place = place.at(network);
        if entries.len() == limit {
            return TablePage { entries, next: Some(place.number()) };
        }
        let Network { vrf, address, len } = network;
        let name = name_of(state, hop);
        let prefix = format!("{address}/{len}");
        entries.push(json!({"vrf": vrf, "prefix": prefix, "next-hop": hop, "name": name}));
        place.told += 1;
    }
    TablePage { entries, next: None }
}

/// Where a route stands: in a group of those of a VRF and a version that begin with the same 32
/// bits, behind some others of the group. Those alone are walked to find it.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    vrf: u8,
    is_ipv6: bool,
    head: u32,
    told: u32,
}

impl Place {
    /// The place of a number.
    fn of(number: u64) -> Place {
        Place {
            vrf: (number >> 56) as u8,
            is_ipv6: number >> 55 & 1 == 1,
            head: (number >> Self::TOLD_BITS) as u32,
            told: number as u32 & ((1 << Self::TOLD_BITS) - 1),
        }
    }

    /// The number of a place: a byte, a bit, 32 and 23, for there are at most 256 VRFs, and fewer
    /// than 2²³ routes.
    fn number(self) -> u64 {
        let version = u64::from(self.is_ipv6) << 55;
        let head = u64::from(self.head) << Self::TOLD_BITS;
        u64::from(self.vrf) << 56 | version | head | u64::from(self.told)
    }

    /// This place, if a route is of its group; else the beginning of the route's.
    fn at(self, network: Network) -> Place {
        let (is_ipv6, head) = match network.address {
            IpAddr::V4(address) => (false, address.to_bits()),
            IpAddr::V6(address) => (true, (address.to_bits() >> 96) as u32),
        };
        let begin = Place { vrf: network.vrf as u8, is_ipv6, head, told: 0 };
        if (Place { told: 0, ..self }) == begin { self } else { begin }
    }

    /// What the group lies behind; none for the first of all.
    fn group(self) -> Option<Network> {
        let end = (u128::from(self.head) << 96).checked_sub(1).map(Ipv6Addr::from_bits);
        let (vrf, last, len): (u16, IpAddr, u8) = match (self.is_ipv6, end) {
            (true, Some(last)) => (self.vrf.into(), last.into(), 128),
            (true, None) => (self.vrf.into(), Ipv4Addr::BROADCAST.into(), 32),
            (false, Some(_)) => (self.vrf.into(), Ipv4Addr::from_bits(self.head - 1).into(), 32),
            (false, None) => {
                (u16::from(self.vrf.checked_sub(1)?), Ipv6Addr::from_bits(!0).into(), 128)
            }
        };
        Some(Network { vrf, address: last, len })
    }

    /// Bits of what is told of a group.
    const TOLD_BITS: u32 = 23;
}

fn next_hops(state: &State, from: u64, limit: usize) -> TablePage {
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    let mut rows = state.neighbours.range(from..);
    let entries = rows.by_ref().take(limit).map(|(&number, hop)| next_hop(number, hop)).collect();
    let next = rows.next().map(|(number, _)| u64::from(*number));
    TablePage { entries, next }
}

/// The name of a next hop, if it has one.
fn name_of(state: &State, number: u32) -> Option<HopName> {
    state.neighbours.get(&number)?.name
}

/// A next hop with its number.
pub(super) fn next_hop(number: u32, hop: &NextHop) -> Value {
    json!({
        "number": number,
        "name": hop.name,
        "port": hop.port,
        "vlan": hop.vlan,
        "mac": hop.mac,
        "ip": hop.ip,
        "ipv6": hop.ipv6,
    })
}

/// Rules by their numbers, each with what it has decided on this worker; the sums of all workers
/// are shown.
fn rules(list: &Acl, from: u64, limit: usize) -> TablePage {
    numbered(list.rules(), from, limit, |number, rule| {
        let Hits { packets, bytes } = list.hits(number);
        json!({"number": number, "packets": packets, "bytes": bytes, "rule": rule})
    })
}

/// Policers by their numbers.
fn policers(all: &BTreeMap<u32, Policer>, from: u64, limit: usize) -> TablePage {
    numbered(all, from, limit, |number, one| json!({"number": number, "policer": one}))
}

fn numbered<T>(
    all: &BTreeMap<u32, T>,
    from: u64,
    limit: usize,
    entry: impl Fn(u32, &T) -> Value,
) -> TablePage {
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    let mut rows = all.range(from..);
    let entries = rows.by_ref().take(limit).map(|(&number, one)| entry(number, one)).collect();
    TablePage { entries, next: rows.next().map(|(number, _)| u64::from(*number)) }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Config, Mac, Prefixed, UPLINK};
    use super::super::control::Update;
    use super::*;

    #[test]
    fn pages_of_any_length_tell_of_every_route_once_and_in_order() {
        let neighbour = NextHop {
            port: UPLINK,
            mac: Mac(wire::MacAddr([2, 0, 0, 0, 0, 1])),
            vlan: None,
            source: None,
            ip: None,
            ipv6: None,
            bfd: None,
            name: None,
        };
        let next_hops = vec![neighbour];
        let config = Config { ipv6: true, vrfs: 2, next_hops, ..Config::default() };
        let clock = machine::clock::Clock::with_rate(1e9);
        let mut router = Pipeline::new(&config, clock, 0).expect("a small router");
        // Several begin with the same bits, the first and the last there are among them.
        let ipv4 = (8..=32).map(|len| format!("0.0.0.0/{len}"));
        let ipv6 = (0..40).map(|number| format!("2001:db8:{number:x}::/48"));
        let others = ["255.255.255.255/32", "198.51.100.0/24", "::/8", "ffff:ffff::/64"];
        let all: Vec<String> = ipv4.chain(ipv6).chain(others.map(str::to_owned)).collect();
        for (vrf, text) in [0, 2].into_iter().flat_map(|vrf| all.iter().map(move |one| (vrf, one)))
        {
            let prefix = Prefixed::try_from(text.clone()).expect("a prefix");
            let update = Update::SetRoute { prefix, next_hop: 0, vrf };
            router.change(update, 0).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        }
        let whole = page(&router, 0, 0, 1000);
        assert_eq!((whole.entries.len(), whole.next), (2 * all.len(), None));
        let listed = |(one, hop): (Network, u32)| json!({"vrf": one.vrf, "prefix": format!("{}/{}", one.address, one.len), "next-hop": hop, "name": null});
        assert!(whole.entries.iter().cloned().eq(router.state().listed_routes().map(listed)));
        for limit in [1, 2, 7, 64] {
            let (mut told, mut from) = (Vec::new(), Some(0));
            while let Some(place) = from {
                let page = page(&router, 0, place, limit);
                assert!(page.entries.len() == limit || page.next.is_none());
                told.extend(page.entries);
                from = page.next;
            }
            assert_eq!(told, whole.entries, "by {limit}");
        }
    }
}
