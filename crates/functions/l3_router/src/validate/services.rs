//! Whether access lists and policers can be.
use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{AclRule, Config, List, PoliceBy, PortName, SourcePolicers, number_of};

/// Rules that can match, lists that hold them, policers whose parents come before them.
pub(super) fn services(config: &Config) -> Result<(), Invalid> {
    for (list, key) in [(List::Ingress, "ingress-acl"), (List::Egress, "egress-acl")] {
        rules(config, list, key)?;
    }
    policers(config)
}

fn rules(config: &Config, list: List, key: &'static str) -> Result<(), Invalid> {
    let rules = match list {
        List::Ingress => &config.ingress_acl,
        List::Egress => &config.egress_acl,
    };
    let count = config.rules_of(list).count();
    let room = config.rules_max(list) as usize;
    let ports = config.port_names();
    if count > room {
        let what = format!("has {count} rules, for which there is no room");
        return Err(function_key(key, what, "Give a larger 'acl-capacity', or fewer rules"));
    }
    for (place, rule) in rules.iter().enumerate() {
        if let Some((what, remedy)) = fault_of(config, &ports, list, rule) {
            return Err(function_key(key, format!("number {place} {what}"), remedy));
        }
    }
    Ok(())
}

/// What is wrong with a rule of a list, and what helps; those of files are held against it too.
pub(in super::super) fn fault_of(
    config: &Config,
    ports: &[PortName],
    list: List,
    rule: &AclRule,
) -> Option<(&'static str, &'static str)> {
    if let Some(fault) = rule.fault() {
        return Some(fault);
    }
    if !config.ipv6 && rule.versions() == (false, true) {
        return Some(("is of IPv6", "Set 'ipv6: true', or remove it"));
    }
    if rule.port.is_some_and(|name| number_of(ports, name).is_none()) {
        return Some(("names a port that there is not", "Name one of the router's ports"));
    }
    let names_policer = rule.policer.is_some();
    if names_policer && (config.police_by != PoliceBy::Acl || list == List::Egress) {
        let remedy = "Set 'police-by: acl' and name policers in 'ingress-acl', or remove it";
        return Some(("names a policer that nobody asks", remedy));
    }
    None
}

fn policers(config: &Config) -> Result<(), Invalid> {
    let refuse = |at: usize, what: &str, remedy| {
        Err(function_key("policers", format!("number {at} {what}"), remedy))
    };
    for (at, policer) in config.policers.iter().enumerate() {
        let Some(parent) = policer.parent else { continue };
        let is_fit = (parent as usize) < at && config.policers[parent as usize].parent.is_none();
        if !is_fit {
            let what = format!("has the parent {parent}, which is not before it or has one itself");
            return refuse(at, &what, "List parents before their children, in two levels");
        }
    }
    match (config.police_by, config.policers_by_source) {
        (PoliceBy::Source, None) => {
            let what = "is 'source', which chooses among policers that are not said";
            let remedy = "Set 'policers-by-source', like {first: 0, count: 100}";
            return Err(function_key("police-by", what.into(), remedy));
        }
        (_, Some(SourcePolicers { first, count }))
            if first.checked_add(count).is_none_or(|end| end > Config::POLICERS_MAX) =>
        {
            let what = format!("are {count} from {first} on, beyond the last possible one");
            return Err(function_key("policers-by-source", what, "Give fewer"));
        }
        _ => {}
    }
    let (listed, room) = (config.policers.len(), config.policers_max() as usize);
    if listed > room && config.police_by != PoliceBy::None {
        let what = format!("are {listed}, and there is room for {room}");
        return Err(function_key("policers", what, "Give a larger 'policer-capacity', or fewer"));
    }
    Ok(())
}
