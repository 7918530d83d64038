//! From one configuration of a running chain to another, function by function.

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::{Config, chain_key};
use super::control::Update;
use crate::unit::Invalid;

/// The changes that lead from one to the other.
///
/// # Errors
/// When the functions themselves differ, or a key of one of them cannot change.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    let names = |config: &Config| config.members().iter().map(|m| m.name()).collect::<Vec<_>>();
    if names(running) != names(wanted) {
        let what = "its functions cannot change while it runs".to_owned();
        return Err(chain_key(what, "Restart it, or take the change back"));
    }
    let mut updates = Vec::new();
    for (index, member) in running.members().iter().enumerate() {
        let place = index + 1;
        let changes = member.difference(&wanted.chain[index]).map_err(|invalid| {
            let what = format!("{place} ({}): {}: {}", member.name(), invalid.key, invalid.what);
            chain_key(what, &invalid.remedy)
        })?;
        updates.extend(changes.into_iter().map(|change| Update::At { place, change }));
    }
    Ok(updates)
}

/// What undoes them, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let mut of_each: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for Update::At { place, change } in applied {
        of_each.entry(*place).or_default().push(change.clone());
    }
    let undo = |(place, changes): (usize, Vec<Value>)| {
        let member = running.members().get(place.checked_sub(1)?)?;
        Some((place, member.undoing(&changes).into_iter()))
    };
    let mut undone: BTreeMap<_, _> = of_each.into_iter().filter_map(undo).collect();
    let next = |Update::At { place, .. }: &Update| {
        let change = undone.get_mut(place)?.next()?;
        Some(Update::At { place: *place, change })
    };
    applied.iter().rev().filter_map(next).collect()
}
