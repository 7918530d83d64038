//! What a person sees.

use protocol_bgp::families::FAMILIES;
use serde_json::{Value, json};

use crate::own::Kind;
use crate::peers::Peers;
use crate::reflector::Reflector;

/// Peers, routes by family, groups, and what was counted.
pub(crate) fn show(peers: &Peers, reflector: &Reflector) -> Value {
    let peers = peers.iter().map(|(_, entry)| {
        let (state, _) = entry.peer.state();
        let counters = entry.peer.counters();
        json!({
            "address": entry.peer.config().peer,
            "as": entry.peer.config().peer_as,
            "kind": name(entry.kind),
            "state": format!("{state:?}").to_lowercase(),
            "updates": counters.updates,
            "sessions": counters.established,
            "lost": counters.lost,
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
                    "kind": name(identity.kind),
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
    json!({
        "peers": peers,
        "families": families,
        "attributes": reflector.attributes(),
        "memory-bytes": reflector.memory(),
        "counters": {
            "announced": counters.announced,
            "withdrawn": counters.withdrawn,
            "loops": counters.loops,
            "no-room": counters.no_room,
            "disabled": counters.disabled,
            "treated-as-withdrawn": counters.treated_as_withdrawn,
        },
    })
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Client => "client",
        Kind::Internal => "internal",
        Kind::External => "external",
    }
}
