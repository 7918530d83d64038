//! What a chain is configured with: the sections of its functions, and whose traffic is sent.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::part::{self, Member};
use crate::sections::function_key;
use crate::unit::Invalid;

/// The `function` section.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The functions from the downlink to the uplink port, each a section as it would stand alone.
    pub chain: Vec<Map<String, Value>>,
    /// Which of them the section `traffic` is of, from 1; the last one unless it is said.
    #[serde(default)]
    pub traffic_of: Option<usize>,
    /// The functions, once [`validate`] has read them.
    #[serde(skip)]
    members: Vec<Arc<dyn Member>>,
}

/// The `traffic` section: that of one of the functions.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Traffic(Map<String, Value>);

impl Config {
    /// The functions, in the order of the chain.
    pub(super) fn members(&self) -> &[Arc<dyn Member>] {
        &self.members
    }

    /// The function whose traffic is sent.
    pub(super) fn source(&self) -> Option<&Arc<dyn Member>> {
        self.members.get(self.traffic_place())
    }

    fn traffic_place(&self) -> usize {
        self.traffic_of.unwrap_or(self.chain.len()).saturating_sub(1)
    }
}

impl Traffic {
    /// The seed, under the key that all functions have for it.
    pub(super) fn seed(&self) -> u64 {
        self.0.get("random-seed").and_then(Value::as_u64).unwrap_or_default()
    }
}

impl JsonSchema for Traffic {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChainTraffic".into()
    }

    /// The keys of all functions; whether one fits is found when the section is read.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": "object", "properties": part::traffic_keys()})
    }
}

/// Reads the sections of all functions and holds what must hold between them.
///
/// # Errors
/// The first section or key that cannot be used.
pub(super) fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
    let count = config.chain.len();
    if !(1..=FUNCTIONS_MAX).contains(&count) {
        let what = format!("must have 1 to {FUNCTIONS_MAX} functions, not {count}");
        return Err(chain_key(what, "Give as many sections"));
    }
    if config.traffic_of.is_some_and(|of| !(1..=count).contains(&of)) {
        let what = format!("must be from 1 to {count}");
        return Err(function_key("traffic-of", what, "Name a function of the chain by its place"));
    }
    let source = config.traffic_place();
    config.members.clear();
    for (place, section) in config.chain.iter_mut().enumerate() {
        let own = if place == source { traffic.0.clone() } else { Map::new() };
        let member = part::read(section.clone(), own).map_err(|bad| bad.at(place))?;
        (*section, traffic.0) = match place == source {
            true => (member.section(), member.traffic()),
            false => (member.section(), std::mem::take(&mut traffic.0)),
        };
        config.members.push(member);
    }
    let workers = config.members[0].workers();
    for (place, member) in config.members.iter().enumerate() {
        let what = match () {
            () if member.ports() != 2 => "needs two ports, neither more nor fewer",
            () if member.workers() != workers => {
                "asks for another number of workers than the first"
            }
            () if member.is_sharded() && workers > 1 => "cannot share its users among workers here",
            () => continue,
        };
        let what = format!("{} ({}) {what}", place + 1, member.name());
        return Err(chain_key(what, "Change its keys, or use it alone"));
    }
    let reasons: usize = config.members.iter().map(|member| member.names().drops.0.len()).sum();
    if reasons > REASONS_MAX {
        let what =
            format!("its functions have {reasons} reasons to drop; {REASONS_MAX} can be told");
        return Err(chain_key(what, "Use fewer functions"));
    }
    Ok(())
}

/// Something about the list of functions.
pub(super) fn chain_key(what: String, remedy: &str) -> Invalid {
    function_key("chain", what, remedy)
}

/// The keys of a section as a schema's properties have them: named, and open in their values.
pub(super) fn open_key(takes_list: bool, description: &str) -> Value {
    match takes_list {
        // What is a list by nature must not be taken for a sweep.
        true => {
            json!({"type": ["array", "object", "string", "number"], "description": description})
        }
        false => json!({"description": description}),
    }
}

/// Most functions in a chain.
pub(super) const FUNCTIONS_MAX: usize = 4;

/// What a verdict has numbers for, less those of the chain itself.
const REASONS_MAX: usize = 250;
