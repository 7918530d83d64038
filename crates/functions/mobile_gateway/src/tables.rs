//! What a person can look at while the gateway runs: users and routes.

use function_kit::{TablePage, TableSize};
use serde::Serialize;
use serde_json::Value;

use super::state::State;

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] = &["users", "base-stations", "next-hops", "routes"];

pub(super) fn sizes(state: &State) -> Vec<TableSize> {
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    let stations = state.base_stations.len();
    let routes = state.routes.len() + state.routes_ipv6.len();
    vec![
        size(state.by_teid.len(), state.bearers.len()),
        size(state.stations().count(), stations),
        size(state.core_hops().count(), state.hop_capacity()),
        size(routes, state.routes.limits().routes + state.routes_ipv6.limits().routes),
    ]
}

/// Users by the slot of their bearer; so a page is found without walking what lies before it, but
/// for the others, which are few.
pub(super) fn page(state: &State, table: usize, from: u64, limit: usize) -> TablePage {
    match table {
        0 => users(state, from as usize, limit),
        1 => entries(state.stations(), from, limit),
        2 => entries(state.core_hops(), from, limit),
        _ => entries(state.core_routes(), from, limit),
    }
}

fn users(state: &State, from: usize, limit: usize) -> TablePage {
    let end = state.bearers.len().min(from.saturating_add(limit));
    let bearers = state.bearers.get(from..end).unwrap_or(&[]);
    let there = bearers.iter().zip(from..).filter(|(bearer, _)| bearer.teid != 0);
    let entries = there.filter_map(|(_, slot)| user(state, slot as u32)).collect();
    TablePage { entries, next: (end < state.bearers.len()).then_some(end as u64) }
}

/// A user by the slot of its bearer, with what it has sent and got where that is counted.
pub(super) fn user(state: &State, slot: u32) -> Option<Value> {
    let mut row = written(&state.user(state.bearers.get(slot as usize)?));
    let (Some(all), Some(counts)) = (row.as_object_mut(), state.counts.get(slot as usize)) else {
        return Some(row);
    };
    for (way, passed) in [("uplink", counts.uplink), ("downlink", counts.downlink)] {
        all.insert(format!("{way}-packets"), passed.packets.into());
        all.insert(format!("{way}-bytes"), passed.bytes.into());
        all.insert(format!("{way}-exceeding"), passed.exceeding.into());
    }
    Some(row)
}

fn entries<T: Serialize>(all: impl Iterator<Item = T>, from: u64, limit: usize) -> TablePage {
    let mut rest = all.skip(from as usize);
    let entries: Vec<Value> = rest.by_ref().take(limit).map(|entry| written(&entry)).collect();
    let next = rest.next().map(|_| from + entries.len() as u64);
    TablePage { entries, next }
}

fn written(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
