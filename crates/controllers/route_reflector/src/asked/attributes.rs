//! The table `attributes`: next hops with attributes, each kept once for all paths that have them.

use controller_kit::table::FOR;
use controller_kit::{Asked, Page, Unanswered};
use serde_json::{Map, Value, json};

use super::described::describe;
use super::room::Room;
use super::seen::Seen;
use crate::known::parts;

/// A page of it.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    if asked.filters.contains_key(FOR) {
        let what = "attributes have no address by which they are found";
        return Err(Unanswered::new(what, "see those of a route: `show table routes --for …`"));
    }
    let blocks = seen.reflector.blocks();
    let mut room = Room::new(asked);
    let mut next = None;
    let from = u32::try_from(asked.from).unwrap_or(u32::MAX);
    for number in from..blocks.end() {
        if !room.look() {
            next = Some(u64::from(number));
            break;
        }
        if blocks.known(number).is_none() {
            continue;
        }
        let bytes = blocks.bytes_of(number);
        let mut row = Map::from_iter([
            ("number".to_owned(), json!(number)),
            ("paths".to_owned(), json!(blocks.users(number))),
            ("bytes".to_owned(), json!(bytes.len())),
        ]);
        let (next_hop, block) = parts(bytes);
        let written = describe(next_hop, block, &mut row);
        room.push(Value::Object(row), written);
    }
    Ok(room.page(next, COLUMNS))
}

const COLUMNS: &[&str] = &[
    "paths",
    "bytes",
    "next-hop",
    "local-pref",
    "med",
    "origin",
    "originator",
    "as-path",
    "communities",
    "extended-communities",
    "large-communities",
];
