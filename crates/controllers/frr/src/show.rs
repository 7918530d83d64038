//! What a person sees.

use protocol_fpm::Fpm;
use serde_json::{Map, Value, json};

use crate::account::CAUSES;
use crate::table::Table;

/// The connection, what was told, what the router has of it, and what was counted.
pub(crate) fn show(fpm: &Fpm, table: &Table) -> Value {
    let (told, ways, counters) = (fpm.counters(), &table.ways, &table.counters);
    let [routes, next_hops] = fpm.held();
    let [all, installed, stale] = ways.routes.counts();
    let [numbered, lists] = table.objects.counts();
    let refused: Map<String, Value> = CAUSES
        .iter()
        .zip(ways.account.refused)
        .map(|(cause, count)| ((*cause).to_owned(), count.into()))
        .collect();
    json!({
        "is-connected": fpm.is_connected(),
        "told": { "routes": routes, "next-hops": next_hops },
        "routes": {
            "all": all,
            "installed": installed,
            "waiting": all - installed,
            "stale": stale,
            "refused": table.refused.len(),
        },
        "numbers": numbered,
        "lists": lists,
        "next-hops": ways.hops.len(),
        "groups": ways.groups.len(),
        "links": ways.links.len(),
        "changes": {
            "open": ways.account.open(),
            "applied": ways.account.applied,
            "refused": refused,
        },
        "counters": {
            "other-table": counters.other_table,
            "taken": counters.taken,
            "no-ipv6": counters.no_ipv6,
            "encapsulated": counters.encapsulated,
            "no-gateway": counters.no_gateway,
            "lists-full": counters.lists_full,
            "swept": counters.swept + told.swept,
            "members-left-out": table.objects.left_out,
            "no-room": ways.no_room,
        },
        "fpm": {
            "connections": told.connections,
            "rejected": told.rejected,
            "malformed": told.malformed + told.malformed_header + told.malformed_length
                + told.malformed_messages,
            "unsupported": told.unsupported,
            "other": told.other,
            "unknown": told.unknown,
            "refused": told.refused_routes + told.refused_next_hops,
        },
    })
}
