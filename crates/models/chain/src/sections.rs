//! The two sections of a scenario that measures a chain.

use std::marker::PhantomData;
use std::sync::Arc;

use function_chain::Config;
use function_chain::part::at;
use function_kit::sections::function_key;
use function_kit::{Invalid, NetworkFunction};
use model_kit::erased::Configured;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::part::{self, Models};

/// The `function` section: the sections of its functions, and whose traffic is sent.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Section {
    /// The functions from the downlink to the uplink port, each a section as it would stand alone.
    #[schemars(length(min = 1, max = 4))]
    #[serde(default = "switch_and_router")]
    pub chain: Vec<Map<String, Value>>,
    /// Which of them the section `traffic` is of, from 1; the last one unless it is said.
    #[serde(default)]
    pub traffic_of: Option<usize>,
    /// The models of the functions, once [`validate`] has read them.
    #[serde(skip)]
    members: Vec<Arc<dyn Configured>>,
    /// The configuration of the chain, once it is known.
    #[serde(skip)]
    config: Option<Config>,
}

/// The shortest chain that is one: a router behind a switch that learns from what it sees.
fn switch_and_router() -> Vec<Map<String, Value>> {
    let keys = |keys: Value| keys.as_object().cloned().unwrap_or_default();
    vec![keys(json!({"name": "l2-switch", "preload": false})), keys(json!({"name": "l3-router"}))]
}

/// The `traffic` section: that of one of the functions.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct Traffic<L> {
    keys: Map<String, Value>,
    #[serde(skip)]
    models: PhantomData<fn() -> L>,
}

impl<L> Clone for Traffic<L> {
    fn clone(&self) -> Traffic<L> {
        Traffic { keys: self.keys.clone(), models: PhantomData }
    }
}

impl<L> Default for Traffic<L> {
    fn default() -> Traffic<L> {
        Traffic { keys: Map::new(), models: PhantomData }
    }
}

impl Section {
    /// The models, in the order of the chain.
    pub(super) fn members(&self) -> &[Arc<dyn Configured>] {
        &self.members
    }

    /// The functions, in the order of the chain; none before they are read.
    pub(super) fn functions(&self) -> &[Arc<dyn function_kit::erased::Configured>] {
        self.config.as_ref().map_or(&[], Config::members)
    }

    /// The configuration of the chain; that of none before they are read.
    pub(super) fn config(&self) -> Config {
        self.config.clone().unwrap_or_default()
    }

    /// The model whose traffic is sent.
    pub(super) fn source(&self) -> Option<&Arc<dyn Configured>> {
        self.members.get(self.traffic_place())
    }

    fn traffic_place(&self) -> usize {
        self.traffic_of.unwrap_or(self.chain.len()).saturating_sub(1)
    }
}

impl<L> Traffic<L> {
    /// The seed, under the key that all functions have for it.
    pub(super) fn seed(&self) -> u64 {
        self.keys.get("random-seed").and_then(Value::as_u64).unwrap_or_default()
    }
}

impl<L: Models> JsonSchema for Traffic<L> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChainTraffic".into()
    }

    /// The keys of all functions; whether one fits is found when the section is read.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": "object", "properties": part::traffic_keys(L::KINDS)})
    }
}

/// Reads the sections of all functions, and what they mean for the chain.
///
/// # Errors
/// The first section or key that cannot be used.
pub(super) fn validate<L: Models>(
    section: &mut Section,
    traffic: &mut Traffic<L>,
) -> Result<(), Invalid> {
    let count = section.chain.len();
    if section.traffic_of.is_some_and(|of| !(1..=count).contains(&of)) {
        let what = format!("must be from 1 to {count}");
        return Err(function_key("traffic-of", what, "Name a function of the chain by its place"));
    }
    let source = section.traffic_place();
    section.members.clear();
    for (place, one) in section.chain.iter_mut().enumerate() {
        let own = if place == source { traffic.keys.clone() } else { Map::new() };
        let member = part::read(L::KINDS, place, one.clone(), own)?;
        *one = part::with_name(&*member, member.section());
        if place == source {
            traffic.keys = member.traffic();
        }
        section.members.push(member);
    }
    let members = section.members.iter();
    let sections = members.map(|member| part::with_name(&**member, member.config()));
    let sections: Vec<Map<String, Value>> = sections.collect();
    if let Some(place) = sections.iter().position(watches) {
        let what = "have sessions of BFD, whose far ends the tester does not play behind a chain";
        let remedy =
            "Leave 'bfd' out, measure the function by itself, or run the chain as a daemon";
        return Err(at(place, function_key("next-hops", what.to_owned(), remedy)));
    }
    let mut config = Config::new(sections);
    function_chain::Chain::<L::Members>::validate(&mut config)?;
    section.config = Some(config);
    Ok(())
}

/// Whether a function, by the keys of its section, has next hops that are watched by BFD.
fn watches(section: &Map<String, Value>) -> bool {
    let next_hops = section.get("next-hops").and_then(Value::as_array);
    next_hops.into_iter().flatten().any(|one| one.get("bfd").is_some_and(|bfd| !bfd.is_null()))
}
