//! The table `policy`: what a policy makes of each path as the table has it, by which rule; of a
//! route that is sought also which peers tell it whose policy has refused it.

use controller_kit::{Asked, Page, Unanswered};
use protocol_bgp::families::Family;
use protocol_bgp::text::Route;
use serde_json::{Map, Value, json};

use super::described::describe;
use super::filters::{Routes, peer};
use super::room::{Room, walk};
use super::routes::{PATHS_MAX, head};
use super::seen::Seen;
use crate::groups::view::View;
use crate::known::parts;
use crate::policy::{Decision, Policy};
use crate::table::Path;

/// A page of it. The paths of a route are told together.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    let name = asked.filter("policy").ok_or_else(|| {
        let what = "`policy` is what one policy decides";
        Unanswered::new(what, "add `policy=NAME`, one of `policies` in the file")
    })?;
    let names = seen.policies.names();
    if !names.contains(&name) {
        return Err(match names.is_empty() {
            true => Unanswered::new("there are no policies", "add `policies` to the file"),
            false => Unanswered::unknown("policy", name, &names),
        });
    }
    let policy = seen.policies.named(name);
    let Some(policy) = policy else { return Ok(Page::default()) };
    let wanted = Routes::read(seen, asked)?;
    let only = asked.filter("peer").map(|text| peer(seen, text)).transpose()?;
    let mut room = Room::new(asked);
    if asked.from == 0 && wanted.is_one() {
        for family in wanted.families.iter() {
            tell_refused(seen, &mut room, (policy, only), (family, &wanted.keys(family)));
        }
    }
    let tests = wanted.tests();
    let numbers = |family: Family| wanted.numbers(seen.reflector.view(family), family);
    let next = walk(&mut room, asked.from, wanted.families, numbers, |room, family, number| {
        let view = seen.reflector.view(family);
        let Some(test) = &tests[family as usize] else { return };
        let paths: Vec<Path> = view.routes.paths(number).take(PATHS_MAX).copied().collect();
        room.spend(paths.len() * LOOK + test.cost());
        if paths.is_empty() || !view.routes.with_key(number, |key| test.holds(family, key)) {
            return;
        }
        let own = paths.iter().filter(|path| only.is_none_or(|only| only == path.peer));
        own.for_each(|path| tell(seen, room, (view, family, number), (path, policy)));
    });
    Ok(room.page(next, COLUMNS))
}

/// Adds what becomes of a path.
fn tell(
    seen: Seen<'_>,
    room: &mut Room,
    (view, family, number): (View<'_>, Family, u32),
    (path, policy): (&Path, &Policy),
) {
    let named = view.routes.with_key(number, |key| policy.of_prefix(family, key));
    let decision = view.decides(policy, family, (path.attributes, path.peer, named));
    let Some(Decision { is_accepted, rule, changed }) = decision else { return };
    let mut row = head(view, family, number);
    row.insert("from".to_owned(), json!(seen.name_of(path.peer)));
    row.insert("verdict".to_owned(), json!(if is_accepted { ACCEPTED } else { REJECTED }));
    row.insert("rule".to_owned(), json!(policy.rule(rule)));
    let (mut before, mut after) = (Map::new(), Map::new());
    let bytes = view.attributes.bytes_of(path.attributes);
    let (next_hop, block) = parts(bytes);
    let mut written = describe(next_hop, block, &mut before);
    if is_accepted {
        let (next_hop, block) = changed.as_ref().map_or((next_hop, block), |it| parts(&it.bytes));
        written += describe(next_hop, block, &mut after);
        row.insert("changes".to_owned(), json!(changes(&before, &after)));
        row.insert("after".to_owned(), Value::Object(after));
    }
    row.insert("before".to_owned(), Value::Object(before));
    let imports = seen.peers.get(path.peer).and_then(|entry| entry.wishes.import.as_deref());
    if imports == Some(policy.name()) {
        let note = "the peer's `import`, which has been applied: before is what it has left";
        row.insert("note".to_owned(), json!(note));
    }
    room.push(Value::Object(row), written);
}

/// Adds peers that tell a route which this policy of theirs has refused.
fn tell_refused(
    seen: Seen<'_>,
    room: &mut Room,
    (policy, only): (&Policy, Option<u16>),
    (family, keys): (Family, &[Vec<u8>]),
) {
    let by_it = seen.peers.iter().filter(|(number, entry)| {
        only.is_none_or(|only| only == *number)
            && entry.wishes.import.as_deref() == Some(policy.name())
            && seen.reflector.refused_by_policy(*number, family) > 0
    });
    for (number, _) in by_it {
        room.spend(keys.len());
        let found = keys
            .iter()
            .find_map(|key| seen.reflector.refusal(number, family, key).map(|rule| (key, rule)));
        let Some((key, rule)) = found else { continue };
        let row = json!({
            "family": family.to_string(),
            "route": Route(family, key).to_string(),
            "from": seen.name_of(number),
            "verdict": REJECTED,
            "rule": policy.rule(rule),
            "note": "the peer's `import` has refused it: its attributes are not kept",
        });
        room.push(row, 0);
    }
}

/// What differs between two descriptions, in words.
fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let word = |value: Option<&Value>| match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Some(other) => other.to_string(),
    };
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let differs = |key: &&&String| before.get(**key) != after.get(**key);
    let both = |key: &&String| (word(before.get(*key)), word(after.get(*key)));
    let changed = keys.iter().filter(differs).map(|key| (key, both(key)));
    changed.map(|(key, (before, after))| format!("{key}: {before} -> {after}")).collect()
}

const ACCEPTED: &str = "accepted";
const REJECTED: &str = "rejected";

/// What it costs to go through a policy, in looks.
const LOOK: usize = 8;

const COLUMNS: &[&str] = &["family", "route", "from", "verdict", "rule", "changes", "note"];
