//! The table `advertised`: what a peer is told, as it is told; of a route that is sought also why
//! it is not. How far the peer is in hearing of it is in the table `peers`.

use controller_kit::{Asked, Page, Unanswered};
use protocol_bgp::builder::Builder;
use protocol_bgp::families::{Family, FamilySet};
use serde_json::{Map, Value, json};

use super::described::describe;
use super::filters::{Routes, peer};
use super::peers::name_of;
use super::room::{Room, walk};
use super::routes::{COLUMNS, carried, head};
use super::seen::Seen;
use crate::groups::Identity;
use crate::groups::export::{DEFAULT_TARGET, Exported};
use crate::groups::view::View;
use crate::lines::age;
use crate::own::Kind;
use crate::table::Path;

/// A page of it.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    let text = asked.filter("peer").ok_or_else(|| {
        let what = "`advertised` is what one peer is told";
        Unanswered::new(what, "add `peer=ADDRESS`, one of `show table peers`")
    })?;
    let number = peer(seen, text)?;
    let wanted = Routes::read(seen, asked)?;
    has_session(seen, number)?;
    let mut told = FamilySet::NONE;
    seen.reflector.groups_of(number).for_each(|(family, _)| told.insert(family));
    if let Some(family) = asked.filter("family").and_then(|name| name.parse::<Family>().ok())
        && !told.contains(family)
    {
        return Err(not_told(seen, number, family));
    }
    let mut room = Room::new(asked);
    let mut exported = Exported::default();
    let (families, tests) = (wanted.families.and(told), wanted.tests());
    let numbers = |family: Family| wanted.numbers(seen.reflector.view(family), family);
    let next = walk(&mut room, asked.from, families, numbers, |room, family, at| {
        let (view, test) = (seen.reflector.view(family), &tests[family as usize]);
        let group = seen.reflector.groups_of(number).find(|one| one.0 == family);
        let group = group.and_then(|(_, group)| seen.reflector.group(family, group));
        let (Some(group), Some(test)) = (group, test) else { return };
        room.spend(test.cost() + LOOK);
        let is_it = view.routes.route(at).best().is_some()
            && view.routes.with_key(at, |key| test.holds(family, key));
        if !is_it {
            return;
        }
        let reader = Reader { seen, view, identity: group.identity(), number };
        match reader.told(at) {
            Ok(paths) => {
                room.spend(LOOK * (paths.len() - 1));
                for path in &paths {
                    let (row, bytes) = reader.row(at, path, &mut exported);
                    room.push(Value::Object(row), bytes);
                }
            }
            Err(why) if wanted.is_one() => {
                let mut row = head(view, family, at);
                row.insert("status".to_owned(), json!("not told"));
                row.insert("why".to_owned(), json!(why));
                room.push(Value::Object(row), 0);
            }
            Err(_) => {}
        }
    });
    Ok(room.page(next, COLUMNS))
}

/// Refuses to answer for a peer without a session.
fn has_session(seen: Seen<'_>, number: u16) -> Result<(), Unanswered> {
    let Some(entry) = seen.peers.get(number) else { return Ok(()) };
    if entry.peer.negotiated().is_some() {
        return Ok(());
    }
    let (state, since) = entry.peer.state();
    let (name, passed) = (seen.name_of(number), age(seen.now.since(since)));
    let what = format!("there is no session with {name}: {} for {passed}", name_of(state));
    let last = entry.peer.last().map(|last| format!("{last}: ")).unwrap_or_default();
    Err(Unanswered::new(what, format!("{last}see `show table peers`")))
}

/// Why a peer is told nothing of a family.
fn not_told(seen: Seen<'_>, number: u16, family: Family) -> Unanswered {
    let name = seen.name_of(number);
    match seen.reflector.is_awaited(number, family) {
        true => Unanswered::new(
            format!("{name} has not told yet which route targets it asks for"),
            "wait for its End-of-RIB of `route-target`, or a minute",
        ),
        false => Unanswered::new(
            format!("{family} was not agreed on with {name}"),
            "name it in `families` on both sides; `show table peers --long` has what was agreed on",
        ),
    }
}

/// A peer with what it is told of a family.
#[derive(Clone, Copy)]
struct Reader<'a> {
    seen: Seen<'a>,
    view: View<'a>,
    identity: &'a Identity,
    number: u16,
}

impl Reader<'_> {
    /// The paths of a route that the peer is told, or why it is told none.
    fn told(self, at: u32) -> Result<Vec<Path>, &'static str> {
        let Reader { seen, view, identity, number } = self;
        let is_default = || view.routes.with_key(at, |key| key == DEFAULT_TARGET);
        if identity.family == Family::RouteTarget && identity.tells_default && is_default() {
            return Err("the reflector asks for all routes itself (`default-target`)");
        }
        let mut paths: Vec<Path> = Vec::new();
        match identity.paths_max {
            0 => paths.extend(identity.chooses(view, at)),
            _ => identity.choose_several(view, at, &mut paths),
        }
        if paths.is_empty() {
            return Err(self.why_for_nobody(at));
        }
        paths.retain(|path| path.peer != number || identity.tells_teller());
        if paths.is_empty() {
            return Err("the best path is the peer's own");
        }
        let membership = seen.reflector.membership(number).map(|(membership, _)| membership);
        let wants = |path: &Path| {
            let targets = view.sets.get(view.targets_of(path));
            membership.is_some_and(|it| it.wants(&targets))
        };
        paths.retain(|path| !identity.is_constrained || wants(path));
        if paths.is_empty() {
            return Err("the peer does not ask for its route targets");
        }
        Ok(paths)
    }

    /// Why no peer of the group is told of a route.
    fn why_for_nobody(self, at: u32) -> &'static str {
        let Reader { view, identity, .. } = self;
        let Some(best) = view.routes.route(at).best() else { return "there is no path" };
        let kind = view.sources[usize::from(best.peer)].kind;
        let known = view.attributes.known(best.attributes);
        match (kind, identity.kind) {
            _ if known.is_some_and(|known| known.stays_here) => {
                "the best path has the community no-advertise"
            }
            (_, Kind::External) if known.is_some_and(|known| known.stays_in_as) => {
                "the best path has a community that keeps it in the AS"
            }
            (Kind::Internal, Kind::Internal) => {
                "the best path is of a non-client, and so is the peer"
            }
            (Kind::Client, Kind::Client) => {
                "the best path is of a client, and `client-to-client` is off"
            }
            _ => "the group of the peer is not told the best path",
        }
    }

    /// The entry of a route that the peer is told.
    fn row(self, at: u32, path: &Path, exported: &mut Exported) -> (Map<String, Value>, usize) {
        let Reader { seen, view, identity, .. } = self;
        let mut row = head(view, identity.family, at);
        row.insert("status".to_owned(), json!("told"));
        row.insert("from".to_owned(), json!(seen.name_of(path.peer)));
        if identity.paths_max > 0 {
            row.insert("path-identifier".to_owned(), json!(path.slot));
        }
        carried(view, identity.family, at, path, &mut row);
        let Some(known) = view.attributes.known(path.attributes) else { return (row, 0) };
        let source = &view.sources[usize::from(path.peer)];
        let bytes = view.attributes.bytes_of(path.attributes);
        identity.export(view.own, source, (known, bytes), exported);
        let written = describe(&exported.next_hop, &exported.block, &mut row);
        if !self.has_room(at, path, exported) {
            row.insert("status".to_owned(), json!("not told"));
            let why = "with these attributes it is longer than a message of the peer may be";
            row.insert("why".to_owned(), json!(why));
        }
        (row, written)
    }

    /// Whether a route has room in a message of the peer.
    fn has_room(self, at: u32, path: &Path, exported: &Exported) -> bool {
        let Reader { view, identity: Identity { family, writing, .. }, .. } = self;
        let Exported { next_hop, block, .. } = exported;
        let mut out = Vec::new();
        let mut builder = Builder::announce(&mut out, writing, (*family, next_hop), block);
        let (short, len) = path.rest.bytes();
        let string = path.rest.string().map(|number| view.rests.bytes_of(number));
        let rest = string.unwrap_or(&short[..len]);
        let has_room = view.routes.with_key(at, |key| builder.push(0, key, rest)).is_ok();
        builder.finish();
        has_room
    }
}

/// What it costs to find out whether a peer is told of a route, in looks.
const LOOK: usize = 3;
