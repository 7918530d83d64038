//! What can change while a switch runs: its stations, storm control, mirrors and access lists.

use engine::Refusal;
use machine::clock::Ticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::acl::Acl;
use super::config::acl::Rule;
use super::config::features::{Direction, Mirror, Storm};
use super::config::{Mac, Port, Station};
use super::services::{Features, is_port};
use super::state::State;
use super::validate::{SESSION_MAX, is_possible};

/// A change at run time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// A station is known to be behind a port from now on, and never forgotten.
    SetStation {
        /// Address of the station.
        mac: Mac,
        /// Where it is.
        port: Port,
        /// In which domain.
        #[serde(default, skip_serializing_if = "is_first_domain")]
        domain: u16,
    },
    /// A station is not known any more, wherever its place was known from.
    RemoveStation {
        /// Address of the station.
        mac: Mac,
        /// In which domain.
        #[serde(default, skip_serializing_if = "is_first_domain")]
        domain: u16,
    },
    /// Learn a station, as from a frame of it at this port.
    Learn {
        /// Address of the station.
        mac: Mac,
        /// Where it came in.
        port: Port,
        /// In which domain.
        #[serde(default, skip_serializing_if = "is_first_domain")]
        domain: u16,
    },
    /// A port has these limits from now on, and no others; their buckets are full.
    SetStormControl(Storm),
    /// A port's frames of a direction are copied so from now on.
    SetMirror(Mirror),
    /// A port's frames of a direction are not copied any more.
    RemoveMirror {
        /// The port that was watched.
        port: Port,
        /// Which of its frames.
        direction: Direction,
    },
    /// The rule of this priority is this one from now on.
    SetRule(Rule),
    /// There is no rule of this priority any more.
    RemoveRule {
        /// Priority of the rule.
        priority: u32,
    },
    /// Of the list of what leaves, the rule of this priority is this one from now on.
    SetEgressRule(Rule),
    /// In the list of what leaves there is no rule of this priority any more.
    RemoveEgressRule {
        /// Priority of the rule.
        priority: u32,
    },
}

/// Applies a change between two batches.
///
/// # Errors
/// When the change is impossible; nothing has changed then.
pub fn apply(
    state: &mut State,
    features: &mut Features,
    update: &Update,
    now: Ticks,
) -> Result<(), Refusal> {
    match *update {
        Update::SetStation { mac, port, domain } => {
            state.set_station(Station { mac, port, domain })
        }
        Update::RemoveStation { mac, domain } => state.remove_station(mac, domain, now),
        Update::Learn { mac, port, domain } => {
            state.learn_from_control(Station { mac, port, domain }, now)
        }
        Update::SetStormControl(storm) => {
            if !is_port(storm.port.id(), features.ports) || !is_possible(&storm) {
                return Err(Refusal::Invalid);
            }
            features.storms.set(storm);
            Ok(())
        }
        Update::SetMirror(mirror) => {
            let has_ports =
                [mirror.port, mirror.to].iter().all(|p| is_port(p.id(), features.ports));
            let is_session = mirror.erspan.is_none_or(|to| to.session <= SESSION_MAX);
            if !has_ports || mirror.port == mirror.to || !is_session {
                return Err(Refusal::Invalid);
            }
            features.mirrors.set(mirror, now);
            Ok(())
        }
        Update::RemoveMirror { port, direction } => {
            let was_there = features.mirrors.remove(port.id(), direction);
            if was_there { Ok(()) } else { Err(Refusal::NotFound) }
        }
        Update::SetRule(rule) => set_rule(&mut features.acl, features.ports, rule),
        Update::RemoveRule { priority } => remove_rule(&mut features.acl, priority),
        Update::SetEgressRule(rule) => set_rule(&mut features.egress, features.ports, rule),
        Update::RemoveEgressRule { priority } => remove_rule(&mut features.egress, priority),
    }
}

fn set_rule(list: &mut Acl, ports: u8, rule: Rule) -> Result<(), Refusal> {
    if !rule.is_possible(ports) {
        return Err(Refusal::Invalid);
    }
    list.set(rule).map_err(|_| Refusal::Full)
}

fn remove_rule(list: &mut Acl, priority: u32) -> Result<(), Refusal> {
    if list.remove(priority) { Ok(()) } else { Err(Refusal::NotFound) }
}

fn is_first_domain(domain: &u16) -> bool {
    *domain == 0
}
