//! The keys of groups of next hops among which flows are spread. None is TIPSY's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, Port, catalogue};

/// Next hops among which the flows of a route are spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Group {
    /// Its members.
    #[schemars(length(max = 64))]
    pub members: Vec<Member>,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Member {
    /// The next hop, by the place in `next-hops`, from 0.
    pub next_hop: u32,
    /// Its part of the flows, in relation to the others'.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub weight: u16,
}

/// The weight of a member that says none.
fn one() -> u16 {
    1
}

impl Config {
    /// Members that a group may have.
    pub const MEMBERS_MAX: u32 = 64;

    /// Groups that there may be.
    pub const GROUPS_MAX: u32 = 65_536;

    /// Generated groups behind a port, where generated routes lead to such: every so many next hops
    /// are one, and the last may have fewer.
    pub fn generated_groups(&self, behind: Port) -> u32 {
        match self.ecmp_members {
            0 => 0,
            members => self.group_size(behind).div_ceil(members),
        }
    }

    /// Where generated route `number` behind a port leads: the number of a next hop or group, which
    /// routes take in turn.
    #[inline]
    pub fn generated_target(&self, behind: Port, number: u32) -> u32 {
        match self.generated_groups(behind) {
            0 => catalogue::hop_number(behind, number % self.group_size(behind).max(1)),
            groups => self.first_group(behind) + number % groups,
        }
    }

    /// How many next hops or groups the generated routes behind a port take in turn.
    pub fn generated_targets(&self, behind: Port) -> u32 {
        match self.generated_groups(behind) {
            0 => self.group_size(behind).max(1),
            groups => groups,
        }
    }

    /// All members of all groups: the group, from 0, the number of the next hop and its weight. Listed
    /// groups come first, then the generated ones behind the downlink and the uplink port.
    pub fn all_members(&self) -> impl Iterator<Item = (u32, u32, u16)> + '_ {
        let listed = (0..).zip(&self.next_hop_groups).flat_map(|(group, one)| {
            one.members.iter().map(move |member| {
                (group, catalogue::listed_hop_number(member.next_hop), member.weight)
            })
        });
        let generated =
            Port::ALL.into_iter().filter(|_| self.ecmp_members > 0).flat_map(move |port| {
                let first = self.first_group(port) - catalogue::GROUPS;
                (0..self.group_size(port)).map(move |hop| {
                    let (group, place) = (hop / self.ecmp_members, hop % self.ecmp_members);
                    let weights = &self.ecmp_weights;
                    let weight = weights.get(place as usize % weights.len().max(1)).copied();
                    (first + group, catalogue::hop_number(port, hop), weight.unwrap_or(1))
                })
            });
        listed.chain(generated)
    }

    /// Groups that the configuration has.
    pub fn groups(&self) -> u32 {
        let generated: u32 = Port::ALL.into_iter().map(|port| self.generated_groups(port)).sum();
        self.next_hop_groups.len() as u32 + generated
    }

    /// Groups for which there is room.
    pub fn groups_max(&self) -> u32 {
        match (self.ecmp_capacity, self.groups()) {
            (0, 0) => 0,
            (0, groups) => (groups + GROUPS_SPARE).min(Config::GROUPS_MAX),
            (capacity, _) => capacity,
        }
    }

    /// The number of the first generated group behind a port.
    fn first_group(&self, behind: Port) -> u32 {
        let before = match behind {
            Port::Downlink => 0,
            Port::Uplink => self.generated_groups(Port::Downlink),
        };
        catalogue::group_number(self.next_hop_groups.len() as u32 + before)
    }
}

/// Groups for which there is room beyond the configured ones.
const GROUPS_SPARE: u32 = 64;
