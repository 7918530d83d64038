//! What a person can look at while the bridge runs: its stations.
use function_kit::{TablePage, TableSize};
use machine::clock::Ticks;
use serde_json::json;

use super::config::Station;
use super::state::State;

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] = &["stations", "learned", "flapping"];

pub(super) fn sizes(state: &State) -> Vec<TableSize> {
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    let (stations, limits) = (&state.stations, state.stations.limits());
    let (flapping, counted) = stations.flapping_of();
    vec![
        size(stations.fixed().len(), limits.fixed),
        size(stations.learned().len(), limits.learned),
        size(flapping, counted),
    ]
}

/// Stations by their address, learned ones in the order in which they came.
pub(super) fn page(state: &State, table: usize, from: u64, limit: usize, now: Ticks) -> TablePage {
    match table {
        0 => fixed(state, from, limit),
        2 => flapping(state, from as usize, limit, now),
        _ => learned(state, from as usize, limit, now),
    }
}

fn fixed(state: &State, from: u64, limit: usize) -> TablePage {
    let mut rows = state.stations.fixed().range(from..);
    let entries = rows
        .by_ref()
        .take(limit)
        .filter_map(|&address| state.station(address))
        .map(|Station { mac, port, domain }| json!({"mac": mac, "port": port, "domain": domain}))
        .collect();
    TablePage { entries, next: rows.next().copied() }
}

fn learned(state: &State, from: usize, limit: usize, now: Ticks) -> TablePage {
    let end = state.stations.learned().len().min(from.saturating_add(limit));
    let rows = state.learned_at(from..end, now);
    let entries = rows
        .map(|(Station { mac, port, domain }, address)| {
            let age_s = state.age_s(address, now);
            json!({"mac": mac, "port": port, "domain": domain, "age-s": age_s})
        })
        .collect();
    TablePage { entries, next: (end < state.stations.learned().len()).then_some(end as u64) }
}

/// Stations that move too often, by the places of their records.
fn flapping(state: &State, from: usize, limit: usize, now: Ticks) -> TablePage {
    let mut rows = state.stations.flapping(from, now);
    let entries = rows
        .by_ref()
        .take(limit)
        .filter_map(|(_, held)| {
            let Station { mac, port, domain } = state.station(held.station)?;
            let left_s = state.seconds(held.left);
            Some(json!({
                "mac": mac, "port": port, "domain": domain, "moves": held.moves, "left-s": left_s,
            }))
        })
        .collect();
    TablePage { entries, next: rows.next().map(|(place, _)| place as u64) }
}
