//! What a chain counts: the stages, reasons and tallies of its functions, each behind its place.
//!
//! Names live as long as the program, as those of all functions do. They are made once for each
//! order of functions, of which there are few, and kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Drops, Names};
use function_kit::erased::Configured;

/// Reasons of the chain itself, before those of its functions.
pub const OWN_REASONS: [&str; 2] = ["unhandled", "too-many-turns"];

/// A packet went to and fro between functions too often: a place in the list above.
pub const TOO_MANY_TURNS: u8 = 1;

/// The names of a chain of these functions.
pub fn of(members: &[Arc<dyn Configured>]) -> Names {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key: Vec<Key> = members.iter().map(|member| key(member.as_ref())).collect();
    if let Some(names) = known.get(&key) {
        return *names;
    }
    let mut lists: [Vec<&'static str>; 4] =
        [Vec::new(), OWN_REASONS.to_vec(), Vec::new(), Vec::new()];
    for (place, member) in members.iter().enumerate() {
        let placed = |name: &str| -> &'static str { format!("{}.{name}", place + 1).leak() };
        let names = member.names();
        lists[0].push(placed(member.name()));
        lists[1].extend(names.drops.0.iter().skip(1).map(|name| placed(name)));
        lists[2].extend(names.tallies.iter().map(|name| placed(name)));
        lists[3].extend(names.punts.iter().map(|name| placed(name)));
    }
    let [stages, drops, tallies, punts] =
        lists.map(|list| -> &'static [&'static str] { list.leak() });
    let names = Names { stages, drops: Drops(drops), tallies, punts };
    known.insert(key, names);
    names
}

/// A function, and what it counts.
type Key = (&'static str, &'static [&'static str], &'static [&'static str]);

fn key(member: &dyn Configured) -> Key {
    let names = member.names();
    (member.name(), names.drops.0, names.tallies)
}

static KNOWN: Mutex<BTreeMap<Vec<Key>, Names>> = Mutex::new(BTreeMap::new());
