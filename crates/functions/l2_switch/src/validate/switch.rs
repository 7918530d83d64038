//! Checks of the keys that make a switch of a bridge.
use std::collections::HashSet;

use function_kit::Invalid;
use function_kit::sections::function_key;

use crate::config::acl::Rule;
use crate::config::features::{Attachment, Storm};
use crate::config::{Config, Mode, Port, Station};

/// Checks ports, domains, attachments, storm control and mirrors.
///
/// # Errors
/// The first key that cannot be used.
pub(super) fn of_switch(config: &Config) -> Result<(), Invalid> {
    if config.mode == Mode::Patch && config.is_switch() {
        let what = "a patch looks at nothing, and has two ports".to_owned();
        return Err(function_key("mode", what, "Remove the keys of the switch, or `mode`"));
    }
    of_domains(config)?;
    of_attachments(config)?;
    of_storms(config)?;
    of_mirrors(config)?;
    of_lists(config)?;
    of_places(config)
}

/// Checks that stations can move.
///
/// # Errors
/// What cannot be.
pub(super) fn of_moves(config: &Config) -> Result<(), Invalid> {
    if config.move_limit.is_some() && (!config.learning || config.mode == Mode::Patch) {
        let what = "nothing is learned that could move".to_owned();
        return Err(function_key("move-limit", what, "Remove it, or let the bridge learn"));
    }
    Ok(())
}

/// Whether the switch has a port.
fn has(config: &Config, key: &'static str, port: Port) -> Result<(), Invalid> {
    if port.id().0 < config.ports {
        return Ok(());
    }
    let what = format!("there is no port {} of {}", port.name(), config.ports);
    Err(function_key(key, what, "Raise `ports`, or name another one"))
}

fn of_domains(config: &Config) -> Result<(), Invalid> {
    let refuse = |what: String, remedy| Err(function_key("domains", what, remedy));
    let mut seen = HashSet::new();
    for domain in &config.domains {
        if !seen.insert(domain.id) {
            return refuse(format!("{} is listed twice", domain.id), "Keep one of them");
        }
        if domain.station_limit.is_some_and(|limit| limit > config.station_limit) {
            let what = format!("{} has a larger `station-limit` than the switch", domain.id);
            return refuse(what, "Raise the switch's, or lower the domain's");
        }
    }
    Ok(())
}

fn of_attachments(config: &Config) -> Result<(), Invalid> {
    let refuse = |what: String, remedy| Err(function_key("attachments", what, remedy));
    let (mut seen, mut places) = (HashSet::new(), HashSet::new());
    for circuit in &config.attachments {
        has(config, "attachments", circuit.port)?;
        let at = circuit.port.name();
        let Attachment { vlan, inner_vlan, untagged, tpid, .. } = *circuit;
        if (inner_vlan.is_some() && vlan.is_none()) || (untagged && vlan.is_some()) {
            let what = format!("{at}: `inner-vlan` needs `vlan`, and `untagged` is none");
            return refuse(what, "Say `vlan`, `vlan` and `inner-vlan`, `untagged`, or nothing");
        }
        let tpid = vlan.map(|_| tpid.ether_type());
        if !seen.insert((circuit.port, tpid, vlan, inner_vlan, untagged)) {
            return refuse(format!("{at}: two take the same frames"), "Keep one of them");
        }
        if !places.insert((circuit.port, circuit.domain)) {
            let what = format!("{at} is in domain {} twice", circuit.domain);
            return refuse(what, "Give each circuit of a port a domain of its own");
        }
    }
    Ok(())
}

fn of_storms(config: &Config) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    for storm in &config.storm_control {
        has(config, "storm-control", storm.port)?;
        if !seen.insert(storm.port) {
            let what = format!("{} is listed twice", storm.port.name());
            return Err(function_key("storm-control", what, "Keep one of them"));
        }
    }
    Ok(())
}

/// Whether all limits of a port can be.
pub fn is_possible(storm: &Storm) -> bool {
    let limits = [storm.broadcast, storm.multicast, storm.unknown, Some(storm.link_gbps)];
    limits.into_iter().flatten().all(|rate| rate > 0.0 && rate <= RATE_MAX)
}

fn of_mirrors(config: &Config) -> Result<(), Invalid> {
    let refuse = |what: String, remedy| Err(function_key("mirrors", what, remedy));
    let mut seen = HashSet::new();
    for mirror in &config.mirrors {
        has(config, "mirrors", mirror.port)?;
        has(config, "mirrors", mirror.to)?;
        let at = mirror.port.name();
        if mirror.port == mirror.to {
            return refuse(format!("{at} would copy to itself"), "Name another port with `to`");
        }
        if !seen.insert((mirror.port, mirror.direction as u8)) {
            return refuse(format!("{at} is listed twice"), "Keep one for each direction");
        }
    }
    Ok(())
}

/// Checks the rules of both lists.
fn of_lists(config: &Config) -> Result<(), Invalid> {
    of_list(config, "acl", &config.acl)?;
    of_list(config, "egress-acl", &config.egress_acl)
}

fn of_list(config: &Config, key: &'static str, rules: &[Rule]) -> Result<(), Invalid> {
    let refuse = |what: String, remedy| Err(function_key(key, what, remedy));
    let mut seen = HashSet::new();
    for rule in rules {
        let at = rule.priority;
        if !seen.insert(at) {
            return refuse(format!("two rules have the priority {at}"), "Give each its own");
        }
        if !rule.is_possible(config.ports) {
            let what = format!("the rule of priority {at} can match no frame");
            let remedy = "Name a port that there is, ranges from low to high, networks of one \
                          family and the type";
            return refuse(what, remedy);
        }
    }
    Ok(())
}

/// Stations must be where a circuit is.
fn of_places(config: &Config) -> Result<(), Invalid> {
    if config.mode == Mode::Patch {
        return Ok(());
    }
    let circuits = config.circuits();
    let is_at = |station: &Station| {
        let is_its = |one: &Attachment| (one.port, one.domain) == (station.port, station.domain);
        circuits.iter().any(is_its)
    };
    for station in &config.stations {
        if !is_at(station) {
            let what = format!(
                "{}: {} is not in domain {}",
                station.mac.0,
                station.port.name(),
                station.domain
            );
            return Err(function_key(
                "stations",
                what,
                "Name a port and a domain of `attachments`",
            ));
        }
    }
    Ok(())
}

/// The largest number of an ERSPAN session.
pub const SESSION_MAX: u16 = wire::erspan::SESSION_MAX;
/// More frames or bits per second than any link has.
const RATE_MAX: f64 = 1e12;
