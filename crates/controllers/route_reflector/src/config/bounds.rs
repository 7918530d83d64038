//! What an operator says of how much peers may tell.

use controller_kit::keys::invalid;
use function_kit::Invalid;
use protocol_bgp::families::FAMILIES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family::{FamilyName, hidden};
use crate::bounds::{Bound, Bounds, Then};

/// Most routes of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrefixesMax {
    /// The families of which this says something, each by itself; all if the list is empty. Of
    /// several entries that name a family the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub families: Vec<FamilyName>,
    /// Most routes.
    #[schemars(range(min = 1))]
    pub routes: u32,
    /// From which share of them on there is an alarm, in percent.
    #[serde(default = "warn_percent")]
    #[schemars(range(min = 1, max = 100))]
    pub warn_percent: u8,
    /// What becomes of more.
    #[serde(default)]
    pub then: Beyond,
    /// After which time a peer whose session was ended may come back, in seconds.
    #[serde(default = "again_s")]
    #[schemars(range(min = 1, max = 86_400))]
    pub again_s: u32,
}

/// What becomes of routes that are more than a peer may tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Beyond {
    /// They are taken, and an alarm says so.
    Warn,
    /// They are not taken.
    Drop,
    /// The session ends (RFC 4486), and may come back later.
    #[default]
    Close,
}

impl PrefixesMax {
    /// What hosts of a network may tell that nobody names: twice of what the Internet has.
    pub(super) fn of_networks() -> Vec<PrefixesMax> {
        vec![PrefixesMax {
            families: Vec::new(),
            routes: 2_500_000,
            warn_percent: warn_percent(),
            then: Beyond::Close,
            again_s: again_s(),
        }]
    }
}

/// Returns what a peer may tell of each family.
pub(crate) fn bounds(all: &[PrefixesMax]) -> Bounds {
    FAMILIES.each_ref().map(|row| {
        let names = |one: &&PrefixesMax| {
            one.families.is_empty() || one.families.contains(&FamilyName(row.family))
        };
        all.iter().find(names).map_or(Bound::NONE, |one| Bound {
            most: one.routes,
            warn: (u64::from(one.routes) * u64::from(one.warn_percent)).div_ceil(100) as u32,
            then: match one.then {
                Beyond::Warn => Then::Tell,
                Beyond::Drop => Then::Refuse,
                Beyond::Close => Then::Close,
            },
            again_s: one.again_s,
        })
    })
}

/// Checks what is said of peers of the key `section`.
///
/// # Errors
/// The first entry that would never count.
pub(super) fn check(all: &[PrefixesMax]) -> Result<(), Invalid> {
    let families: Vec<&[FamilyName]> = all.iter().map(|one| &one.families[..]).collect();
    match hidden(&families) {
        Some(place) => {
            let what = format!("has {} routes for what an entry before names", all[place].routes);
            let remedy = "Put the entry without `families` last, and name each family once";
            Err(invalid("prefixes-max", what, remedy))
        }
        None => Ok(()),
    }
}

fn warn_percent() -> u8 {
    80
}

fn again_s() -> u32 {
    60
}
