//! The table `groups`: which peers are told the same, and how far they are.

use controller_kit::{Asked, Page, Unanswered};
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use serde_json::{Map, Value, json};

use super::filters::{family, peer};
use super::room::{Numbers, Room, walk};
use super::seen::Seen;
use crate::groups::group::At;
use crate::groups::{Group, Identity};

/// A page of it.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    let only = asked.filter("family").map(family).transpose()?;
    let peer = asked.filter("peer").map(|text| peer(seen, text)).transpose()?;
    let families: FamilySet = match only {
        Some(family) => [family].into_iter().collect(),
        None => FAMILIES.iter().map(|row| row.family).collect(),
    };
    let mut room = Room::new(asked);
    let numbers = |family: Family| Numbers::Below(seen.reflector.groups_end(family));
    let next = walk(&mut room, asked.from, families, numbers, |room, family, number| {
        let Some(group) = seen.reflector.group(family, number) else { return };
        room.spend(group.shown().peers);
        if peer.is_none_or(|peer| group.progress(peer).is_some()) {
            room.push(row(seen, family, number, group), 0);
        }
    });
    Ok(room.page(next, COLUMNS))
}

fn row(seen: Seen<'_>, family: Family, number: u32, group: &Group) -> Value {
    let (identity, shown) = (group.identity(), group.shown());
    let mut row = Map::from_iter([
        ("family".to_owned(), json!(family.to_string())),
        ("group".to_owned(), json!(number)),
        ("kind".to_owned(), json!(identity.kind.name())),
        ("peers".to_owned(), json!(shown.peers)),
    ]);
    let progress = || group.peers().filter_map(|peer| group.progress(peer));
    for at in At::ALL {
        let count = progress().filter(|one| one.at == at).count();
        row.insert(at.name().to_owned(), json!(count));
    }
    let behind = progress().filter_map(|one| one.behind_bytes).max();
    row.insert("lag-bytes-max".to_owned(), json!(behind.unwrap_or(0)));
    row.insert("kept-bytes".to_owned(), json!(shown.bytes));
    row.insert("told-by".to_owned(), json!(words(identity)));
    let few = group.peers().take(NAMED_MAX).map(|peer| seen.name_of(peer));
    row.insert("some-peers".to_owned(), json!(few.collect::<Vec<_>>()));
    Value::Object(row)
}

/// What tells the group from others, but for its family and the kind of its peers.
fn words(identity: &Identity) -> Vec<String> {
    let Identity { writing, next_hop, is_constrained, tells_default, paths_max, .. } = identity;
    let said = [
        (*is_constrained, "route-targets"),
        (*tells_default, "default-target"),
        (identity.has_enhanced_refresh, "enhanced-refresh"),
        (identity.drains, "drained"),
        (!writing.path_ids.is_empty(), "path-identifiers"),
        (!writing.extended_next_hops.is_empty(), "extended-next-hops"),
        (!writing.is_wide, "two-octet-as"),
        (writing.len_max > protocol_bgp::message::LEN_MAX, "extended-messages"),
    ];
    let said = said.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| (*word).to_owned());
    let paths = (*paths_max > 0).then(|| format!("paths={paths_max}"));
    said.chain(paths).chain(next_hop.map(|address| format!("next-hop={address}"))).collect()
}

/// Peers of a group that are named.
const NAMED_MAX: usize = 16;

const COLUMNS: &[&str] = &[
    "family",
    "group",
    "kind",
    "peers",
    "all",
    "behind",
    "table",
    "waits",
    "lag-bytes-max",
    "kept-bytes",
    "told-by",
];
