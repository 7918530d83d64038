//! The table `targets`: sets of route targets that attributes have, and how many peers ask for one
//! of each.

use controller_kit::table::{FOR, quoted};
use controller_kit::{Asked, Page, Unanswered};
use protocol_bgp::text::ExtendedCommunity;
use serde_json::json;

use super::filters::peer;
use super::room::Room;
use super::seen::Seen;

/// A page of it. Whom a set goes to is asked of each peer that asks for targets: a page is the
/// shorter the more of those there are.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    let peer = asked.filter("peer").map(|text| peer(seen, text)).transpose()?;
    let sought = asked.filters.get(FOR).map(|text| text.trim());
    if let Some(text) = sought.filter(|text| !is_target(text)) {
        let what = format!("{} is no route target", quoted(text));
        return Err(Unanswered::new(what, "write one as 65000:1 or 192.0.2.1:1"));
    }
    let sought = sought.map(|text| format!("target:{}", text.trim_start_matches("target:")));
    let sets = seen.reflector.target_sets();
    let askers: Vec<u16> = seen
        .peers
        .iter()
        .map(|(number, _)| number)
        .filter(|number| {
            let mut groups = seen.reflector.groups_of(*number);
            groups.any(|(family, group)| {
                let group = seen.reflector.group(family, group);
                group.is_some_and(|group| group.identity().is_constrained)
            })
        })
        .collect();
    let asks = |number: &u16, targets| {
        seen.reflector.membership(*number).is_some_and(|(it, _)| it.wants(targets))
    };
    let mut room = Room::new(asked);
    let mut next = None;
    let from = u32::try_from(asked.from).unwrap_or(u32::MAX);
    for number in from..sets.end() {
        if !room.look() {
            next = Some(u64::from(number));
            break;
        }
        let Some((targets, users)) = sets.kept(number) else { continue };
        let all = targets.0.as_deref().unwrap_or_default();
        let words: Vec<String> =
            all.iter().map(|one| ExtendedCommunity(one.to_be_bytes()).to_string()).collect();
        room.spend(TEXT);
        let is_it = sought.as_ref().is_none_or(|sought| words.contains(sought));
        if !is_it || peer.is_some_and(|peer| !asks(&peer, targets)) {
            continue;
        }
        room.spend(askers.len() * LOOK);
        let asked_by = askers.iter().filter(|number| asks(number, targets)).count();
        let row = json!({
            "attributes": users,
            "asked-by": asked_by,
            "targets": words,
        });
        room.push(row, 0);
    }
    Ok(room.page(next, COLUMNS))
}

/// Whether a text may be a route target.
fn is_target(text: &str) -> bool {
    let bare = text.strip_prefix("target:").unwrap_or(text);
    protocol_bgp::text::parse_distinguisher(bare).is_some()
}

/// What the text of a set costs, in looks.
const TEXT: usize = 5;

/// What it costs to ask whether a peer asks for a set, in looks.
const LOOK: usize = 2;

const COLUMNS: &[&str] = &["attributes", "asked-by", "targets"];
