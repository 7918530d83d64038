//! The name of a family of routes, as an operator writes it.

use std::str::FromStr;

use protocol_bgp::families::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a family of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FamilyName(pub Family);

impl TryFrom<String> for FamilyName {
    type Error = String;

    fn try_from(name: String) -> Result<FamilyName, String> {
        Family::from_str(&name).map(FamilyName).map_err(|error| error.to_string())
    }
}

impl From<FamilyName> for String {
    fn from(name: FamilyName) -> String {
        name.0.to_string()
    }
}

impl JsonSchema for FamilyName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FamilyName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = protocol_bgp::families::FAMILIES.iter().map(|row| row.name).collect();
        schemars::json_schema!({"type": "string", "enum": names})
    }
}

/// Returns the place of the first of some lists of families that never counts, as lists before name
/// all of it; an empty one names all.
pub(super) fn hidden(lists: &[&[FamilyName]]) -> Option<usize> {
    (1..lists.len()).find(|&place| {
        let before = &lists[..place];
        let is_named = |family| before.iter().any(|list| list.contains(family));
        let has_all = before.iter().any(|list| list.is_empty());
        has_all || !lists[place].is_empty() && lists[place].iter().all(is_named)
    })
}
