//! What an operator finds by an address: the session that has it, with its volumes and what waits
//! for it, a next hop, and the route that a packet takes.

use std::net::IpAddr;

use function_kit::{Sought, TablePage};
use machine::clock::Ticks;
use packet::Verdict;
use serde_json::{Value, json};
use wire::MacAddr;

use super::state::State;
use super::tables;

/// Entries of a table that an address leads to or belongs to.
pub(super) fn page(state: &State, table: usize, sought: Sought, now: Ticks) -> Option<TablePage> {
    let address = sought.address;
    let entries = match *tables::NAMES.get(table)? {
        "sessions" => state.having(address).and_then(|number| {
            let mut row = tables::session(state, number)?;
            if let Some(all) = row.as_object_mut() {
                all.insert("waiting".into(), tables::waiting(state, number, now));
            }
            Some(row)
        }),
        "next-hops" => state.hops.entry_of(0, address).map(|entry| hop(state, address, entry)),
        "routes" => {
            let entry = state.hops.route(0, address);
            let next_hop = entry.and_then(|entry| Some((entry, state.hops.neighbour(entry)?.1)));
            next_hop.map(|(entry, next_hop)| hop(state, next_hop, entry))
        }
        _ => return None,
    };
    Some(TablePage { entries: entries.into_iter().collect(), next: None })
}

/// A next hop, and to which station frames to it leave, or why none do.
fn hop(state: &State, address: IpAddr, entry: u32) -> Value {
    let Some(hop) = state.hops.get(entry) else { return json!({}) };
    let [a, b, c, d, e, f, ..] = hop.macs;
    let (is, mac) = match hop.verdict {
        Verdict::Forward(_) => ("reachable", json!(MacAddr([a, b, c, d, e, f]).to_string())),
        _ => ("unresolved", Value::Null),
    };
    json!({"next-hop": address.to_string(), "state": is, "mac": mac})
}
