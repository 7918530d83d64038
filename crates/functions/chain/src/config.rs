//! What a chain is configured with: the sections of its functions.

use std::sync::Arc;

use function_kit::Invalid;
use function_kit::erased::{Configured, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::part::{self, chain_key};
use super::ports::{self, SIDES};

/// The configuration of a chain.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The functions from the downlink to the uplink port, each a section as it would stand alone.
    #[schemars(length(min = 1, max = 4))]
    pub chain: Vec<Map<String, Value>>,
    /// The functions, once [`validate`] has read them.
    #[serde(skip)]
    members: Vec<Arc<dyn Configured>>,
}

impl Config {
    /// A chain of functions with these sections, not yet validated.
    pub fn new(chain: Vec<Map<String, Value>>) -> Config {
        Config { chain, members: Vec::new() }
    }

    /// Takes the secrets of functions over.
    pub(super) fn take_secrets(&mut self, from: &Config) {
        for (own, from) in self.members.iter_mut().zip(&from.members) {
            *own = own.with_secrets_of(&**from);
        }
    }

    /// The functions, in the order of the chain.
    pub fn members(&self) -> &[Arc<dyn Configured>] {
        &self.members
    }
}

/// Reads the sections of all functions and holds what must hold between them.
///
/// # Errors
/// The first section or key that cannot be used.
pub(super) fn validate(config: &mut Config, kinds: &[&dyn Kind]) -> Result<(), Invalid> {
    let sections = config.chain.iter().cloned().enumerate();
    let members = sections.map(|(place, section)| part::read(kinds, place, section));
    config.members = members.collect::<Result<_, _>>()?;
    config.chain = config.members.iter().map(|member| member.section()).collect();
    go_together(&config.members)
}

/// Holds what must hold between the functions of a chain.
fn go_together(members: &[Arc<dyn Configured>]) -> Result<(), Invalid> {
    let workers = members.first().map(|first| first.workers());
    for (place, member) in members.iter().enumerate() {
        let what = match () {
            () if member.ports().len() < SIDES.into() => "needs two ports at least",
            () if Some(member.workers()) != workers => {
                "asks for another number of workers than the first"
            }
            () if member.is_sharded() && member.workers() > 1 => {
                "cannot share its users among workers here"
            }
            () if member.hands_over() && member.workers() > 1 => {
                "hands frames from worker to worker, which it cannot here"
            }
            () if !member.host_interfaces().is_empty() => "gives the host interfaces",
            () => continue,
        };
        let what = format!("{} ({}) {what}", place + 1, member.name());
        return Err(chain_key(what, "Change its keys, or use it alone"));
    }
    ports::names(members)
        .map_err(|what| chain_key(what, "Give the ports of its functions shorter names"))?;
    if ports::further(members).len() > FURTHER_MAX {
        let what = format!("its functions have more than {FURTHER_MAX} further ports");
        return Err(chain_key(what, "Use fewer ports"));
    }
    let reasons: usize = members.iter().map(|member| member.names().drops.0.len()).sum();
    if reasons > REASONS_MAX {
        let what =
            format!("its functions have {reasons} reasons to drop; {REASONS_MAX} can be told");
        return Err(chain_key(what, "Use fewer functions"));
    }
    Ok(())
}

/// Most ports beside the two at the ends.
const FURTHER_MAX: usize = 126;

/// What a verdict has numbers for, less those of the chain itself.
const REASONS_MAX: usize = 250;
