//! What a person sees.

use protocol_bgp::families::FAMILIES;
use serde_json::{Value, json};

use crate::peers::Peers;
use crate::reflector::Reflector;

/// Peers, routes by family, groups, and what was counted.
pub(crate) fn show(peers: &Peers, reflector: &Reflector) -> Value {
    let left_out = peers.count().saturating_sub(PEERS_MAX);
    let drained = peers.are_drained;
    let peers = peers.iter().take(PEERS_MAX).map(|(number, entry)| {
        let (state, _) = entry.peer.state();
        let counters = entry.peer.counters();
        let asked = reflector.membership(number).map(|(membership, waits)| {
            json!({"count": membership.nlris(), "all": membership.is_open(), "awaited": waits})
        });
        let told = FAMILIES.iter().filter_map(|row| {
            let count = reflector.told_by(number, row.family);
            (count > 0).then(|| (row.name.to_owned(), json!(count)))
        });
        let told: Value = told.collect();
        json!({
            "address": entry.peer.config().peer,
            "as": entry.peer.config().peer_as,
            "kind": entry.kind.name(),
            "state": format!("{state:?}").to_lowercase(),
            "updates": counters.updates,
            "sessions": counters.established,
            "lost": counters.lost,
            "targets": asked,
            "told": told,
            "refused": reflector.refused_of(number),
            "away": entry.away.is_some(),
            "last": entry.peer.last().map(ToString::to_string),
        })
    });
    let peers: Vec<Value> = peers.collect();
    let families = FAMILIES.iter().filter_map(|row| {
        let (routes, paths) = reflector.count(row.family);
        let groups: Vec<Value> = reflector
            .groups(row.family)
            .map(|(identity, shown)| {
                json!({
                    "kind": identity.kind.name(),
                    "constrained": identity.is_constrained,
                    "peers": shown.peers,
                    "walking": shown.walking,
                    "bytes": shown.bytes,
                })
            })
            .collect();
        let is_used = routes > 0 || !groups.is_empty();
        is_used.then(
            || json!({"family": row.name, "routes": routes, "paths": paths, "groups": groups}),
        )
    });
    let families: Vec<Value> = families.collect();
    let counters = reflector.counters();
    let deferred: Vec<String> =
        reflector.deferred().iter().map(|family| family.to_string()).collect();
    json!({
        "peers": peers,
        "peers-left-out": left_out,
        "drained": drained,
        "families": families,
        "deferred": deferred,
        "attributes": reflector.attributes(),
        "targets": reflector.sets(),
        "memory-bytes": reflector.memory(),
        "used-bytes": reflector.used(),
        "counters": {
            "announced": counters.announced,
            "withdrawn": counters.withdrawn,
            "loops": counters.loops,
            "leaks": counters.leaks,
            "no-room": counters.no_room,
            "beyond": counters.beyond,
            "disabled": counters.disabled,
            "targets-without-room": counters.unmarked,
            "unconstrained": counters.unconstrained,
            "treated-as-withdrawn": counters.treated_as_withdrawn,
            "attributes-discarded": counters.discarded,
            "sessions-reset": counters.resets,
        },
    })
}

/// Peers that are shown once a second: all of them are in the table `peers`.
const PEERS_MAX: usize = 256;
