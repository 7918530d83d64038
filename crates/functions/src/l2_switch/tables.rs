//! What a person can look at while the bridge runs: its stations.

use machine::clock::Ticks;
use serde_json::json;

use super::config::Station;
use super::state::State;
use crate::unit::{TablePage, TableSize};

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] = &["stations", "learned"];

pub(super) fn sizes(state: &State) -> Vec<TableSize> {
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    vec![
        size(state.fixed.len(), state.limits.fixed),
        size(state.learned.len(), state.limits.learned),
    ]
}

/// Stations by their address, learned ones in the order in which they came.
pub(super) fn page(state: &State, table: usize, from: u64, limit: usize, now: Ticks) -> TablePage {
    match table {
        0 => fixed(state, from, limit),
        _ => learned(state, from as usize, limit, now),
    }
}

fn fixed(state: &State, from: u64, limit: usize) -> TablePage {
    let mut rows = state.fixed.range(from..);
    let entries = rows
        .by_ref()
        .take(limit)
        .filter_map(|&address| state.station(address))
        .map(|Station { mac, port, domain }| json!({"mac": mac, "port": port, "domain": domain}))
        .collect();
    TablePage { entries, next: rows.next().copied() }
}

fn learned(state: &State, from: usize, limit: usize, now: Ticks) -> TablePage {
    let end = state.learned.len().min(from.saturating_add(limit));
    let rows = state.learned_at(from..end, now);
    let entries = rows
        .map(|(Station { mac, port, domain }, address)| {
            let age_s = state.age_s(address, now);
            json!({"mac": mac, "port": port, "domain": domain, "age-s": age_s})
        })
        .collect();
    TablePage { entries, next: (end < state.learned.len()).then_some(end as u64) }
}
