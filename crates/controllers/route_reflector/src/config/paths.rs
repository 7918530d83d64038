//! What an operator says of how many paths of a route peers are told (RFC 7911).

use controller_kit::keys::invalid;
use function_kit::Invalid;
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family::{FamilyName, hidden};
use crate::table::SLOTS_MAX;

/// Several paths of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PathsToPeer {
    /// The families of which this says something; all but `route-target` if the list is empty. Of
    /// several entries that name a family the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub families: Vec<FamilyName>,
    /// Most paths of a route, the best ones; 64 is all that are told of one.
    #[serde(default = "all")]
    #[schemars(range(min = 2, max = 64))]
    pub paths_max: u8,
}

/// Most paths of a route that a peer is told, by family in the order of [`FAMILIES`]; 0 for the
/// best one alone.
pub(crate) type PathsMax = [u8; FAMILIES.len()];

/// Returns how many paths of each family are told.
pub(crate) fn paths_max(list: &[PathsToPeer]) -> PathsMax {
    FAMILIES.each_ref().map(|row| {
        let names = |one: &&PathsToPeer| match one.families.is_empty() {
            true => row.family != Family::RouteTarget,
            false => one.families.contains(&FamilyName(row.family)),
        };
        list.iter().find(names).map_or(0, |one| one.paths_max)
    })
}

/// Returns the families of which several paths are told.
pub(crate) fn several(paths_max: &PathsMax) -> FamilySet {
    let rows = FAMILIES.iter().filter(|row| paths_max[row.family as usize] > 0);
    rows.map(|row| row.family).collect()
}

/// Checks what is said of a peer.
///
/// # Errors
/// The first entry that would never count, or names what there is one path of.
pub(super) fn check(list: &[PathsToPeer]) -> Result<(), Invalid> {
    if list.iter().any(|one| one.families.contains(&FamilyName(Family::RouteTarget))) {
        let what = "names `route-target`, of which one path is told".to_owned();
        return Err(invalid("paths-to-peer", what, "Leave that family out"));
    }
    let families: Vec<&[FamilyName]> = list.iter().map(|one| &one.families[..]).collect();
    match hidden(&families) {
        Some(place) => {
            let what =
                format!("has {} paths for what an entry before names", list[place].paths_max);
            let remedy = "Put the entry without `families` last, and name each family once";
            Err(invalid("paths-to-peer", what, remedy))
        }
        None => Ok(()),
    }
}

fn all() -> u8 {
    SLOTS_MAX
}
