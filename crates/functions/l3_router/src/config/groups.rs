//! The keys of groups of next hops among which flows are spread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::ToHop;

/// Next hops among which the flows of a route are spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Group {
    /// Members of the group.
    #[schemars(length(max = 64))]
    pub members: Vec<Member>,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Member {
    /// The next hop, by its name, or by its place in `next-hops` from 0.
    pub next_hop: ToHop,
    /// Weight of the member: its share of the flows, relative to the other members.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub weight: u16,
}

impl ToHop {
    /// Whether it is the number of a group, as routes lead to it.
    pub(crate) fn is_group(self) -> bool {
        self.name.is_none() && self.number >= GROUPS
    }
}

/// The weight of a member that says none.
fn one() -> u16 {
    1
}

/// The number of a group, from 0, among all that routes lead to.
pub const fn group_number(group: u32) -> u32 {
    GROUPS.saturating_add(group)
}

/// The number of the first group among all that routes lead to, beyond those of next hops.
pub const GROUPS: u32 = 1_000_000;
