//! What a person sees.

use protocol_bfddp::BfdDataPlane;
use serde_json::{Value, json};

use crate::sessions::{Held, Sessions};

/// The connection, the sessions that bfdd wants, and what was counted; what workers told in vain.
pub(crate) fn show(bfdd: &BfdDataPlane, sessions: &Sessions, missed: u64) -> Value {
    let counters = bfdd.counters();
    json!({
        "is-connected": bfdd.is_connected(),
        "sessions": sessions.all.values().map(session).collect::<Vec<_>>(),
        "counters": {
            "connections": counters.connections,
            "failed": counters.failed,
            "malformed": counters.malformed + counters.malformed_header,
            "other": counters.other,
            "wanted": counters.wanted,
            "unwanted": counters.unwanted,
            "swept": counters.swept,
            "full": counters.refused,
            "unknown": counters.unknown,
            "told": counters.told,
            "answered": counters.answered,
            "unanswered": counters.unanswered,
            "refused": sessions.refused,
            "missed": missed,
        },
    })
}

fn session(held: &Held) -> Value {
    json!({
        "discriminator": held.session.discriminator,
        "own-discriminator": held.own,
        "interface": held.session.interface_name,
        "peer": held.session.peer,
        "state": held.change.map(|change| format!("{:?}", change.state).to_lowercase()),
        "trouble": held.trouble.map(|trouble| format!("{trouble:?}")),
    })
}
