//! What a person can look at while the router runs: routes and next hops.

use serde_json::json;

use super::catalogue::HOPS;
use super::config::Network;
use super::neighbours::{Entry, Neighbours};
use super::pipeline::Pipeline;
use super::state::State;
use crate::unit::{TablePage, TableSize};

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] = &["routes", "next-hops", "neighbours"];

pub(super) fn sizes(router: &Pipeline) -> Vec<TableSize> {
    let state = router.state();
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    let (ipv4, ipv6) = (&state.routes.ipv4, &state.routes.ipv6);
    vec![
        size(ipv4.len() + ipv6.len(), ipv4.limits().routes + ipv6.limits().routes),
        size(state.neighbours.len(), HOPS as usize),
        match router.neighbours() {
            Some(all) => size(all.entries().count(), all.capacity()),
            None => size(0, 0),
        },
    ]
}

/// Routes by their order, next hops by their number.
pub(super) fn page(router: &Pipeline, table: usize, from: u64, limit: usize) -> TablePage {
    let state = router.state();
    match table {
        0 => routes(state, from as usize, limit),
        1 => next_hops(state, from, limit),
        _ => neighbours(router, from as usize, limit),
    }
}

/// Neighbours by their order in the cache.
fn neighbours(router: &Pipeline, from: usize, limit: usize) -> TablePage {
    let mut rows = router.neighbours().into_iter().flat_map(Neighbours::entries).skip(from);
    let row = |entry: &Entry| {
        let own = router.state().interfaces.get(entry.interface);
        let mac = entry.mac.map(|mac| mac.to_string());
        json!({"port": own.port, "vlan": own.vlan, "address": entry.address, "mac": mac})
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
