//! What a person can look at while the router runs: routes, next hops and their groups.
use std::collections::BTreeMap;

use function_kit::{TablePage, TableSize};
use protocol_bfd::View;
use serde::Serialize;
use serde_json::json;

use super::config::Network;
use super::groups::Groups;
use super::happened::Whose;
use super::liveness::Liveness;
use super::neighbours::{Entry, Neighbours};
use super::pipeline::Pipeline;
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

/// Routes by their order, next hops by their number.
pub(super) fn page(router: &Pipeline, table: usize, from: u64, limit: usize) -> TablePage {
    let (state, services) = (router.state(), router.services());
    match table {
        0 => routes(state, from as usize, limit),
        1 => next_hops(state, from, limit),
        2 => members(state, from as usize, limit),
        3 => neighbours(router, from as usize, limit),
        4 => numbered(services.ingress.rules(), "rule", from, limit),
        5 => numbered(services.egress.rules(), "rule", from, limit),
        6 => numbered(services.police.policers(), "policer", from, limit),
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

/// Members of groups by their order, with the share of the buckets that they have at present.
fn members(state: &State, from: usize, limit: usize) -> TablePage {
    let Some(groups) = &state.groups else { return TablePage { entries: Vec::new(), next: None } };
    let mut rows = groups.members().skip(from);
    let row = |(group, hop, weight)| {
        let buckets = groups.buckets_of(group, hop);
        json!({"group": group, "next-hop": hop, "weight": weight, "buckets": buckets})
    };
    let entries: Vec<_> = rows.by_ref().take(limit).map(row).collect();
    let next = rows.next().map(|_| (from + entries.len()) as u64);
    TablePage { entries, next }
}

/// Neighbours by their order in the cache.
fn neighbours(router: &Pipeline, from: usize, limit: usize) -> TablePage {
    let mut rows = router.neighbours().into_iter().flat_map(Neighbours::entries).skip(from);
    let row = |entry: &Entry| {
        let own = router.state().interfaces.get(entry.link);
        let mac = entry.mac.map(|mac| mac.to_string());
        let port = router.state().interfaces.ports().get(usize::from(own.port.0));
        json!({"port": port, "vlan": own.vlan, "address": entry.address, "mac": mac})
    };
    let entries: Vec<_> = rows.by_ref().take(limit).map(row).collect();
    let next = rows.next().map(|_| (from + entries.len()) as u64);
    TablePage { entries, next }
}

fn routes(state: &State, from: usize, limit: usize) -> TablePage {
    let mut rows = state.listed_routes().skip(from);
    let entries: Vec<_> = rows
        .by_ref()
        .take(limit)
        .map(|(network, hop)| {
            let Network { vrf, address, len } = network;
            json!({"vrf": vrf, "prefix": format!("{address}/{len}"), "next-hop": hop})
        })
        .collect();
    let next = rows.next().map(|_| (from + entries.len()) as u64);
    TablePage { entries, next }
}

fn next_hops(state: &State, from: u64, limit: usize) -> TablePage {
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    let mut rows = state.neighbours.range(from..);
    let entries: Vec<_> = rows
        .by_ref()
        .take(limit)
        .map(|(number, hop)| {
            json!({
                "number": number,
                "port": hop.port,
                "vlan": hop.vlan,
                "mac": hop.mac,
                "ip": hop.ip,
                "ipv6": hop.ipv6,
            })
        })
        .collect();
    let next = rows.next().map(|(number, _)| u64::from(*number));
    TablePage { entries, next }
}

/// Rules or policers by their numbers.
fn numbered<T: Serialize>(
    all: &BTreeMap<u32, T>,
    what: &str,
    from: u64,
    limit: usize,
) -> TablePage {
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    let mut rows = all.range(from..);
    let entries = rows.by_ref().take(limit);
    let entries = entries.map(|(number, one)| json!({"number": number, what: one})).collect();
    TablePage { entries, next: rows.next().map(|(number, _)| u64::from(*number)) }
}
