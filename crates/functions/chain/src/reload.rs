//! From one configuration of a running chain to another, function by function.
use std::collections::BTreeMap;

use function_kit::Invalid;
use function_kit::erased::AnyUpdate;

use super::config::Config;
use super::control::Update;
use super::part::{self, chain_key};

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
    for (index, (member, wanted)) in running.members().iter().zip(wanted.members()).enumerate() {
        let changes = member.difference(&**wanted);
        let changes = changes.map_err(|invalid| part::at(index, invalid))?;
        updates.extend(changes.iter().map(|change| Update::of(index, change)));
    }
    Ok(updates)
}

/// What undoes them, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let mut of_each: BTreeMap<usize, Vec<AnyUpdate>> = BTreeMap::new();
    let member = |place: usize| running.members().get(place.checked_sub(1)?);
    for Update::At { place, change } in applied {
        let change = member(*place).and_then(|member| member.update(change).ok());
        of_each.entry(*place).or_default().extend(change);
    }
    let undo = |(place, changes): (usize, Vec<AnyUpdate>)| {
        Some((place, member(place)?.undoing(&changes).into_iter()))
    };
    let mut undone: BTreeMap<_, _> = of_each.into_iter().filter_map(undo).collect();
    let next = |Update::At { place, .. }: &Update| {
        let change = undone.get_mut(place)?.next()?;
        Some(Update::of(place - 1, &change))
    };
    applied.iter().rev().filter_map(next).collect()
}
