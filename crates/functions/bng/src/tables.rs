//! What a person can look at while the gateway runs: sessions and what they refer to.

use function_kit::{TablePage, TableSize};
use machine::clock::Ticks;
use serde::Serialize;
use serde_json::{Value, json};
use subscribers::Way;
use tables::scheduler::Cause;

use super::state::State;

/// The tables, in the order of [`sizes`].
pub(super) const NAMES: &[&str] =
    &["sessions", "profiles", "lists", "nodes", "next-hops", "routes"];

pub(super) fn sizes(state: &State) -> Vec<TableSize> {
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    let (routes, routes_max) = state.hops.route_counts();
    vec![
        size(state.sessions.len(), state.sessions.capacity() - 1),
        size(state.profiles.named.len(), state.profiles.named.capacity()),
        size(state.lists.distinct(), state.lists.capacity()),
        size(state.nodes.len(), state.nodes.capacity()),
        size(state.hops.all().count(), state.hops.capacity()),
        size(routes, routes_max),
    ]
}

/// Sessions by their numbers; so a page is found without walking what lies before it, but for the
/// others, which are few.
pub(super) fn page(state: &State, table: usize, from: u64, limit: usize) -> TablePage {
    match table {
        0 => sessions(state, from as usize, limit),
        1 => entries(state.profiles.named.all(), from, limit),
        2 => entries(state.lists.all(), from, limit),
        3 => entries(state.nodes.all(), from, limit),
        4 => entries(state.hops.all(), from, limit),
        _ => entries(state.hops.routes(), from, limit),
    }
}

fn sessions(state: &State, from: usize, limit: usize) -> TablePage {
    let capacity = state.sessions.capacity();
    let end = capacity.min(from.saturating_add(limit));
    let entries = (from..end).filter_map(|number| session(state, number as u32)).collect();
    TablePage { entries, next: (end < capacity).then_some(end as u64) }
}

/// A session by its number, with its volumes: they are of IP packets.
pub(super) fn session(state: &State, number: u32) -> Option<Value> {
    let mut row = written(&state.session(number)?);
    let volumes = state.sessions.volumes(number);
    if let Some(all) = row.as_object_mut() {
        for (way, named) in [(Way::Up, "up"), (Way::Down, "down")] {
            for (is_ipv6, version) in [(false, "ipv4"), (true, "ipv6")] {
                let volume = volumes.of(way, is_ipv6);
                all.insert(format!("{named}-{version}-packets"), volume.packets.into());
                all.insert(format!("{named}-{version}-bytes"), volume.bytes.into());
            }
        }
    }
    Some(row)
}

/// The queues of a session in which packets wait, and why they do.
pub(super) fn waiting(state: &State, number: u32, now: Ticks) -> Value {
    let Some(queues) = &state.services.queues else { return json!([]) };
    let all = state.services.queues_of(number).zip(0..);
    let rows = all.filter_map(|(queue, place)| {
        let (held, why) = (queues.held(queue, now), queues.why(queue, now)?);
        let cause = match why.cause {
            Cause::Own => "own rate",
            Cause::Subscriber => "rate of the session",
            Cause::Node => "rate of the node",
            Cause::Port => "rate of the port",
            Cause::Level => "rate of the level",
            Cause::Turn => "turn of others",
        };
        let (frames, bytes) = (held.frames, held.bytes);
        Some(json!({"queue": place, "frames": frames, "bytes": bytes, "why": cause}))
    });
    rows.collect()
}

fn entries<T: Serialize>(all: impl Iterator<Item = T>, from: u64, limit: usize) -> TablePage {
    let mut rest = all.skip(from as usize);
    let entries: Vec<Value> = rest.by_ref().take(limit).map(|entry| written(&entry)).collect();
    let next = rest.next().map(|_| from + entries.len() as u64);
    TablePage { entries, next }
}

pub(super) fn written(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).unwrap_or_default()
}
