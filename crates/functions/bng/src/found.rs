//! What an operator finds by an address in each VRF: the session that has it, with its volumes and
//! what waits for it, a next hop, and the route that a packet takes.

use function_kit::{Sought, TablePage};
use machine::clock::Ticks;
use packet::Verdict;
use serde_json::{Value, json};
use wire::MacAddr;

use super::hops::Hops;
use super::state::State;
use super::tables;

/// Entries of a table that an address leads to or belongs to.
pub(super) fn page(state: &State, table: usize, sought: Sought, now: Ticks) -> Option<TablePage> {
    let address = sought.address;
    let (hops, vrfs) = (&state.hops, state.hops.vrfs());
    let of = |entry: u32| hop(hops, entry);
    let entries = match *tables::NAMES.get(table)? {
        "sessions" => {
            let with_queues = |number| {
                let mut row = tables::session(state, number)?;
                row["waiting"] = tables::waiting(state, number, now);
                Some(row)
            };
            vrfs.filter_map(|vrf| state.having(vrf, address)).filter_map(with_queues).collect()
        }
        "next-hops" => vrfs.filter_map(|vrf| hops.entry_of(vrf, address)).filter_map(of).collect(),
        "routes" => vrfs.filter_map(|vrf| hops.route(vrf, address)).filter_map(of).collect(),
        _ => return None,
    };
    Some(TablePage { entries, next: None })
}

/// A next hop, and to which station frames to it leave, or why none do.
fn hop(hops: &Hops, entry: u32) -> Option<Value> {
    let (hop, (vrf, address)) = (hops.get(entry)?, hops.neighbour(entry)?);
    let [a, b, c, d, e, f, ..] = hop.macs;
    let (is, mac) = match hop.verdict {
        Verdict::Forward(_) => ("reachable", json!(MacAddr([a, b, c, d, e, f]).to_string())),
        _ => ("unresolved", Value::Null),
    };
    let vrf = hops.vrf_name(vrf);
    Some(json!({"vrf": vrf, "next-hop": address.to_string(), "state": is, "mac": mac}))
}
