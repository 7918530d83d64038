//! The table `peers`: each with its session, how far it is told, and why the last one ended.

use controller_kit::table::FOR;
use controller_kit::{Asked, Page, Unanswered};
use protocol_bgp::families::{FAMILIES, FamilySet};
use protocol_bgp::peer::State;
use serde_json::{Map, Value, json};

use super::filters::peer;
use super::room::Room;
use super::seen::Seen;
use crate::groups::group::At;
use crate::lines::age;
use crate::peers::Entry;

/// A page of it. Its entries are in the order of the numbers of peers.
pub(super) fn page(seen: Seen<'_>, asked: &Asked<'_>) -> Result<Page, Unanswered> {
    let only = asked.filters.get(FOR).map(|text| peer(seen, text)).transpose()?;
    let state = asked.filter("state").map(wanted).transpose()?;
    let mut room = Room::new(asked);
    let from = u16::try_from(asked.from).unwrap_or(u16::MAX);
    let mut next = None;
    for (number, entry) in seen.peers.from(from) {
        if !room.look() {
            next = Some(u64::from(number));
            break;
        }
        let is_it = only.is_none_or(|only| only == number);
        if is_it && state.is_none_or(|state| state.is(entry.peer.state().0)) {
            room.push(row(seen, number, entry), 0);
        }
    }
    Ok(room.page(next, COLUMNS))
}

/// What the state of a peer has to be.
#[derive(Clone, Copy)]
enum Wanted {
    This(State),
    /// Any but a session that stands.
    Down,
}

impl Wanted {
    fn is(self, state: State) -> bool {
        match self {
            Wanted::This(wanted) => wanted == state,
            Wanted::Down => state != State::Established,
        }
    }
}

fn wanted(word: &str) -> Result<Wanted, Unanswered> {
    if word == DOWN {
        return Ok(Wanted::Down);
    }
    let names: Vec<String> = STATES.iter().map(|state| name_of(*state)).collect();
    let found = names.iter().position(|name| name == word).map(|at| Wanted::This(STATES[at]));
    let names: Vec<&str> = names.iter().map(String::as_str).chain([DOWN]).collect();
    found.ok_or_else(|| Unanswered::unknown("state", word, &names))
}

fn row(seen: Seen<'_>, number: u16, entry: &Entry) -> Value {
    let Entry { peer, kind, network, .. } = entry;
    let (state, since) = peer.state();
    let (config, counters) = (peer.config(), peer.counters());
    let passed = seen.now.since(since);
    let is_up = state == State::Established;
    let mut row = Map::from_iter([
        ("peer".to_owned(), json!(seen.name_of(number))),
        ("as".to_owned(), json!(config.peer_as)),
        ("kind".to_owned(), json!(kind.name())),
        ("state".to_owned(), json!(name_of(state))),
        ("for".to_owned(), json!(age(passed))),
        ("for-s".to_owned(), json!(passed.as_secs())),
    ]);
    let mut put = |key: &str, value: Value| drop(row.insert(key.to_owned(), value));
    if let Some(agreed) = peer.negotiated() {
        let names = |families: FamilySet| -> Vec<String> {
            families.iter().map(|family| family.to_string()).collect()
        };
        put("identifier", json!(std::net::Ipv4Addr::from(agreed.identifier)));
        put("hold-time-s", json!(agreed.hold_time.as_secs()));
        put("families", json!(names(agreed.writing.families)));
        if !agreed.reading.path_ids.is_empty() {
            put("path-identifiers-from", json!(names(agreed.reading.path_ids)));
        }
        if !agreed.writing.path_ids.is_empty() {
            put("path-identifiers-to", json!(names(agreed.writing.path_ids)));
        }
        if let Some(restart) = agreed.restart {
            put("restart-time-s", json!(restart.time.as_secs()));
        }
        if let Some(local) = entry.local {
            put("local", json!(local));
        }
        let groups = seen.reflector.groups_of(number);
        let progress = groups
            .filter_map(|(family, group)| seen.reflector.group(family, group)?.progress(number));
        let progress: Vec<_> = progress.collect();
        let mut all = agreed.writing.families.iter();
        let awaits = all.any(|family| seen.reflector.is_awaited(number, family));
        let told = match progress.iter().map(|one| one.at).max() {
            _ if awaits => AWAITED,
            Some(at) => at.name(),
            None => At::Whole.name(),
        };
        put("told", json!(told));
        let behind: u64 = progress.iter().filter_map(|one| one.behind_bytes).sum();
        put("lag-bytes", json!(behind));
        if let Some((membership, _)) =
            seen.reflector.membership(number).filter(|(it, _)| it.nlris() > 0 || it.is_open())
        {
            let all = if membership.is_open() { json!("all") } else { json!(membership.nlris()) };
            put("targets", all);
        }
    }
    if network.is_some() {
        put("dynamic", json!(true));
    }
    if entry.is_shut {
        put("shut", json!(true));
    }
    if entry.is_drained || seen.peers.are_drained {
        put("drained", json!(true));
    }
    let routes = FAMILIES.iter().filter_map(|family| {
        let count = seen.reflector.told_by(number, family.family);
        (count > 0).then(|| (family.name.to_owned(), json!(count)))
    });
    let routes: Map<String, Value> = routes.collect();
    if !routes.is_empty() {
        put("routes", Value::Object(routes));
    }
    put("updates", json!(counters.updates));
    if entry.malformed > 0 {
        put("malformed", json!(entry.malformed));
    }
    put("sessions", json!(counters.established));
    put("lost", json!(counters.lost));
    put("failed", json!(counters.failed));
    put("rejected", json!(counters.rejected));
    if let Some((until, families)) = entry.kept {
        let names: Vec<String> = families.iter().map(|family| family.to_string()).collect();
        put("stale", json!({"families": names, "for-s": until.since(seen.now).as_secs()}));
    }
    if let Some((at, why)) = &entry.told.over {
        put("last", json!(why));
        put("last-s", json!(seen.now.since(*at).as_secs()));
    }
    // Why there is none since then.
    if let Some(why) = peer.last().map(ToString::to_string).filter(|_| !is_up)
        && entry.told.over.as_ref().is_none_or(|(_, over)| *over != why)
    {
        put("failing", json!(why));
    }
    Value::Object(row)
}

/// The name of a state.
pub(crate) fn name_of(state: State) -> String {
    format!("{state:?}").to_lowercase()
}

/// The states, in their order.
pub(crate) const STATES: [State; 6] = [
    State::Idle,
    State::Connect,
    State::Active,
    State::OpenSent,
    State::OpenConfirm,
    State::Established,
];

/// The word for every state but the last one.
const DOWN: &str = "down";

/// What a peer is that has not told yet which route targets it asks for.
const AWAITED: &str = "awaits-targets";

const COLUMNS: &[&str] = &[
    "peer",
    "as",
    "kind",
    "state",
    "for",
    "updates",
    "malformed",
    "told",
    "lag-bytes",
    "targets",
    "last",
    "failing",
];
