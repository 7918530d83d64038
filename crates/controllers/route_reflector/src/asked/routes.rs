//! The table `routes`: every path of every route, the best one first, and why it is that.

use controller_kit::{Asked, Page, Unanswered};
use protocol_bgp::families::Family;
use protocol_bgp::text::{Carried, Route};
use serde_json::{Map, Value, json};

use super::described::describe;
use super::filters::{Routes, peer};
use super::room::{Room, walk};
use super::seen::Seen;
use crate::groups::view::View;
use crate::known::{candidate, parts};
use crate::table::losses::{Words, losses};
use crate::table::{Candidate, Path};

/// A page of it. The paths of a route are told together.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    let wanted = Routes::read(seen, asked)?;
    let peer = asked.filter("peer").map(|text| peer(seen, text)).transpose()?;
    let mut room = Room::new(asked);
    let tests = wanted.tests();
    let numbers = |family: Family| wanted.numbers(seen.reflector.view(family), family);
    let next = walk(&mut room, asked.from, wanted.families, numbers, |room, family, number| {
        let view = seen.reflector.view(family);
        let Some(test) = &tests[family as usize] else { return };
        let count = view.routes.paths(number).take(PATHS_MAX).count();
        // It was looked at already, and what it costs more shortens the page.
        room.spend(count + test.cost());
        if count > 0 && view.routes.with_key(number, |key| test.holds(family, key)) {
            tell(seen, room, (view, family, number), peer);
        }
    });
    Ok(room.page(next, COLUMNS))
}

/// Adds the paths of a route, or those of a peer alone.
fn tell(
    seen: Seen<'_>,
    room: &mut Room,
    (view, family, number): (View<'_>, Family, u32),
    peer: Option<u16>,
) {
    let mut all = view.routes.paths(number);
    let paths: Vec<Path> = all.by_ref().take(PATHS_MAX).copied().collect();
    let is_whole = all.next().is_none();
    let judge = |path: &Path| candidate(path, view.attributes, view.sources);
    let judged: Vec<Candidate> = paths.iter().map(judge).collect();
    let losses = losses(&judged, view.family.rules());
    let decided = losses.iter().flatten().map(|loss| loss.step).max();
    for (at, path) in paths.iter().enumerate() {
        if peer.is_some_and(|peer| peer != path.peer) {
            continue;
        }
        let why = match (losses[at], decided) {
            // What decides among all may be one of those that are not told.
            _ if !is_whole => None,
            (Some(loss), _) => {
                let words = Words { step: loss.step, lost: &judged[at], to: &judged[loss.to] };
                Some(words.to_string())
            }
            (None, Some(step)) => Some(format!("best: {}", step.won())),
            (None, None) => Some("best: the only path".to_owned()),
        };
        let status = match (at == 0, path.is_stale) {
            (true, false) => "best",
            (true, true) => "best, stale",
            (false, false) => "other",
            (false, true) => "other, stale",
        };
        let mut row = head(view, family, number);
        row.insert("status".to_owned(), json!(status));
        row.insert("from".to_owned(), json!(seen.name_of(path.peer)));
        if path.identifier != 0 {
            row.insert("path-identifier".to_owned(), json!(path.identifier));
        }
        carried(view, family, number, path, &mut row);
        let bytes = view.attributes.bytes_of(path.attributes);
        let (next_hop, block) = parts(bytes);
        let written = describe(next_hop, block, &mut row);
        let source = &view.sources[usize::from(path.peer)];
        if view.attributes.known(path.attributes).is_some_and(|it| source.lowers(it.is_going)) {
            row.insert("about-to-go".to_owned(), json!(true));
        }
        row.insert("why".to_owned(), json!(why));
        room.push(Value::Object(row), written);
    }
    if !is_whole && peer.is_none() {
        let mut row = head(view, family, number);
        row.insert("status".to_owned(), json!("more"));
        row.insert("why".to_owned(), json!("there are more paths than are told"));
        room.push(Value::Object(row), 0);
    }
}

/// The beginning of an entry: which route it is.
pub(super) fn head(view: View<'_>, family: Family, number: u32) -> Map<String, Value> {
    let text = view.routes.with_key(number, |key| Route(family, key).to_string());
    Map::from_iter([
        ("family".to_owned(), json!(family.to_string())),
        ("route".to_owned(), json!(text)),
    ])
}

/// Adds what a path carries beside the key of its route.
pub(super) fn carried(
    view: View<'_>,
    family: Family,
    number: u32,
    path: &Path,
    row: &mut Map<String, Value>,
) {
    let (short, len) = path.rest.bytes();
    let string = path.rest.string().map(|number| view.rests.bytes_of(number));
    let rest = string.unwrap_or(&short[..len]);
    let text = view.routes.with_key(number, |key| Carried(family, key, rest).to_string());
    if !text.is_empty() {
        row.insert("carries".to_owned(), json!(text));
    }
}

/// Paths of a route that are told.
pub(super) const PATHS_MAX: usize = 128;

/// What a line of text has of a route.
pub(super) const COLUMNS: &[&str] = &[
    "family",
    "route",
    "status",
    "from",
    "next-hop",
    "carries",
    "local-pref",
    "med",
    "origin",
    "as-path",
    "why",
];
