//! What a person can look at while the gateway runs: users and routes.

use std::net::Ipv4Addr;

use serde_json::json;

use super::state::State;
use crate::unit::{TablePage, TableSize};

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] = &["users", "routes"];

pub(super) fn sizes(state: &State) -> Vec<TableSize> {
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    vec![
        size(state.by_teid.len(), state.bearers.len()),
        size(state.routes.len(), state.routes.limits().routes),
    ]
}

/// Users by the slot of their bearer, routes by their order; so a page is found without walking what
/// lies before it, but for routes, which are few.
pub(super) fn page(state: &State, table: usize, from: u64, limit: usize) -> TablePage {
    match table {
        0 => users(state, from as usize, limit),
        _ => routes(state, from as usize, limit),
    }
}

fn users(state: &State, from: usize, limit: usize) -> TablePage {
    let end = state.bearers.len().min(from.saturating_add(limit));
    let bearers = state.bearers.get(from..end).unwrap_or(&[]);
    let entry = |bearer: &super::state::Bearer| {
        json!({
            "teid": bearer.teid,
            "ipv4": Ipv4Addr::from_bits(bearer.ipv4),
            "base-station": bearer.base_station,
        })
    };
    let entries = bearers.iter().filter(|bearer| bearer.teid != 0).map(entry).collect();
    TablePage { entries, next: (end < state.bearers.len()).then_some(end as u64) }
}

fn routes(state: &State, from: usize, limit: usize) -> TablePage {
    let stations = state.base_stations.len();
    let entry = |(prefix, len, hop): (u32, u8, u32)| {
        let (port, number) = match (hop as usize).checked_sub(stations) {
            None => ("access", hop as usize),
            Some(number) => ("core", number),
        };
        json!({
            "prefix": format!("{}/{len}", Ipv4Addr::from_bits(prefix)),
            "port": port,
            "next-hop": number,
        })
    };
    let entries: Vec<_> = state.routes.iter().skip(from).take(limit).map(entry).collect();
    let next = from + entries.len();
    TablePage { entries, next: (next < state.routes.len()).then_some(next as u64) }
}
