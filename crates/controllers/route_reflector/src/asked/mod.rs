//! What operators ask for: the tables, a page at a time. A page looks at a bounded part of what
//! there is and goes on from there, by numbers that routes, groups and attributes keep for as long
//! as they are there: what is there all the time is told once, whatever changes meanwhile.
//!
//! The files in reading order: `seen` is what is looked at, `room` what a page may have, `filters`
//! reads what entries have to be, `described` tells attributes, and there is a file for each table.

use controller_kit::{Asked, Page, Table, Unanswered};
use protocol_bgp::families::FAMILIES;

mod seen;

mod room;

mod filters;

mod described;

mod peers;

mod routes;

mod advertised;

mod groups;

mod targets;

mod attributes;

pub(crate) use filters::peer;
pub(crate) use peers::{STATES, name_of};
pub(crate) use seen::Seen;

/// The tables.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "peers",
        summary: "a peer: its session, how far it is told, why the last session ended",
        filters: &["state"],
    },
    Table {
        name: "routes",
        summary: "a path of a route, and why it is the best one or not",
        filters: &["family", "match", "peer"],
    },
    Table {
        name: "advertised",
        summary: "a route that the peer `peer=…` is told, as it is told",
        filters: &["peer", "family", "match"],
    },
    Table {
        name: "groups",
        summary: "peers of a family that are told the same",
        filters: &["family", "peer"],
    },
    Table {
        name: "targets",
        summary: "route targets that attributes have together, and how many peers ask for them",
        filters: &["peer"],
    },
    Table {
        name: "attributes",
        summary: "attributes with a next hop, kept once, and how many paths have them",
        filters: &[],
    },
];

/// How many entries each table has; of what a peer is told nobody counts it.
pub(crate) fn sizes(seen: Seen<'_>) -> Vec<Option<u64>> {
    let count = |number: usize| Some(number as u64);
    let families = || FAMILIES.iter().map(|row| row.family);
    let paths = families().map(|family| seen.reflector.count(family).1);
    let groups = families().map(|family| seen.reflector.groups(family).count());
    vec![
        count(seen.peers.count()),
        count(paths.sum()),
        None,
        count(groups.sum()),
        count(seen.reflector.sets()),
        count(seen.reflector.attributes()),
    ]
}

/// Returns a page of a table.
///
/// # Errors
/// What of the request cannot be answered.
pub(crate) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    match asked.table {
        "peers" => peers::page(seen, asked),
        "routes" => routes::page(seen, asked),
        "advertised" => advertised::page(seen, asked),
        "groups" => groups::page(seen, asked),
        "targets" => targets::page(seen, asked),
        "attributes" => attributes::page(seen, asked),
        other => {
            let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
            Err(Unanswered::unknown("table", other, &names))
        }
    }
}
