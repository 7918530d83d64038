//! What an operator finds by an address: the user who has it, with tunnel and counters, a base
//! station, a next hop, and the route that a packet takes.

use std::net::IpAddr;

use function_kit::{Sought, TablePage};
use packet::Verdict;
use serde_json::{Value, json};
use wire::MacAddr;

use super::state::State;
use super::tables;

/// Entries of a table that an address leads to or belongs to.
pub(super) fn page(state: &State, table: usize, sought: Sought) -> Option<TablePage> {
    let address = sought.address;
    let entries = match *tables::NAMES.get(table)? {
        "users" => user(state, address).into_iter().collect(),
        "base-stations" => {
            let slot = match address {
                IpAddr::V4(address) => state.station(address),
                IpAddr::V6(_) => None,
            };
            let row = |slot| row(json!({"address": address.to_string()}), leads(state, slot));
            slot.map(row).into_iter().collect()
        }
        "next-hops" => {
            let row = |entry| row(json!({"address": address.to_string()}), leads(state, entry));
            state.entry_of(address).map(row).into_iter().collect()
        }
        "routes" => route(state, address).into_iter().collect(),
        _ => return None,
    };
    Some(TablePage { entries, next: None })
}

/// The user who has an address, and how packets reach the base station.
fn user(state: &State, address: IpAddr) -> Option<Value> {
    let slot = match address {
        IpAddr::V4(address) => state.by_ipv4.get(address.to_bits()),
        IpAddr::V6(address) => state.by_ipv6.get((address.to_bits() >> 64) as u64),
    }?;
    let bearer = state.bearers.get(slot as usize)?;
    let station = state.base_stations.get(bearer.base_station as usize)?;
    Some(row(tables::user(state, slot)?, leads(state, state.routes.lookup(*station)?)))
}

/// The route with the longest prefix, by which a packet to an address leaves.
fn route(state: &State, address: IpAddr) -> Option<Value> {
    let (network, len, entry) = match address {
        IpAddr::V4(address) => {
            let of_len = |len: u8| {
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                let network = address.to_bits() & mask;
                Some((network, len, state.routes.get(network, len)?))
            };
            let (network, len, entry) = (0..=32).rev().find_map(of_len)?;
            (IpAddr::V4(network.into()), len, entry)
        }
        IpAddr::V6(address) => {
            let of_len = |len: u8| {
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                let network = address.to_bits() & mask;
                Some((network, len, state.routes_ipv6.get(network, len)?))
            };
            let (network, len, entry) = (0..=128).rev().find_map(of_len)?;
            (IpAddr::V6(network.into()), len, entry)
        }
    };
    let hop = state.neighbour(entry).map(|(_, address)| address.to_string());
    let prefix = format!("{network}/{len}");
    let hop = hop.unwrap_or_else(|| "users".to_owned());
    Some(row(json!({"prefix": prefix, "next-hop": hop}), leads(state, entry)))
}

/// Where frames to a neighbour leave and to which station, or why none do.
fn leads(state: &State, entry: u32) -> Value {
    let Some(hop) = state.next_hops.get(entry as usize) else { return json!({}) };
    let [a, b, c, d, e, f, ..] = hop.macs;
    match hop.verdict {
        Verdict::Forward(_) => {
            json!({"state": "reachable", "mac": MacAddr([a, b, c, d, e, f]).to_string()})
        }
        _ => json!({"state": "unresolved", "mac": Value::Null}),
    }
}

/// Both in one row.
fn row(mut first: Value, second: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (first.as_object_mut(), second) {
        all.extend(more);
    }
    first
}
