//! Whether access lists and policers can be.

use super::super::config::{Config, List, PoliceBy};
use crate::sections::{function_key, in_range};
use crate::unit::Invalid;

/// Rules that can match, lists that hold them, policers whose parents come before them.
pub(super) fn services(config: &Config) -> Result<(), Invalid> {
    in_range("acl-generated", config.acl_generated, 0..=Config::RULES_MAX)?;
    in_range("acl-capacity", config.acl_capacity, 0..=Config::RULES_MAX)?;
    in_range("policers-generated", config.policers_generated, 0..=1_000_000)?;
    in_range("reassembly-capacity", config.reassembly_capacity, 1..=1 << 20)?;
    in_range("reassembly-timeout-ms", config.reassembly_timeout_ms, 1..=120_000)?;
    for (list, key) in [(List::Ingress, "ingress-acl"), (List::Egress, "egress-acl")] {
        rules(config, list, key)?;
    }
    for (key, dscp) in [config.remark.green, config.remark.yellow, config.remark.red]
        .into_iter()
        .flatten()
        .map(|dscp| ("remark", dscp))
    {
        in_range(key, u32::from(dscp), 0..=63)?;
    }
    policers(config)
}

fn rules(config: &Config, list: List, key: &'static str) -> Result<(), Invalid> {
    let rules = config.all_rules(list);
    let room = config.rules_max(list) as usize;
    if rules.len() > room {
        let what = format!("has {} rules, for which there is no room", rules.len());
        return Err(function_key(key, what, "Give a larger 'acl-capacity', or fewer rules"));
    }
    for (number, rule) in rules {
        let place = number / 10 - 1;
        let refuse =
            |what: &str, remedy| Err(function_key(key, format!("number {place} {what}"), remedy));
        if !rule.is_sound() {
            let what = "has ports whose first is above the last, addresses of both versions of IP, a \
                        'dscp' above 63, a 'vlan' above 4094 or a policer beyond all";
            return refuse(what, "Correct it: it would match nothing");
        }
        if !config.ipv6 && rule.versions() == (false, true) {
            return refuse("is of IPv6", "Set 'ipv6: true', or remove it");
        }
        let names_policer = rule.policer.is_some();
        if names_policer && (config.police_by != PoliceBy::Acl || list == List::Egress) {
            let remedy = "Set 'police-by: acl' and name policers in 'ingress-acl', or remove it";
            return refuse("names a policer that nobody asks", remedy);
        }
    }
    Ok(())
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
    let needs_copies = config.police_by == PoliceBy::Source;
    if config.policers_generated > 0 && config.policers.is_empty() {
        let what = "are copies of a policer that there is not".to_owned();
        let remedy = "List the policer to copy in 'policers'";
        return Err(function_key("policers-generated", what, remedy));
    }
    if needs_copies && config.policers_generated == 0 {
        let what = "is 'source', which chooses among generated policers, and there are none";
        return Err(function_key("police-by", what.into(), "Set 'policers-generated'"));
    }
    if config.policers.len() + config.policers_generated as usize > Config::POLICERS_MAX as usize {
        let what = "are more than 1,048,576 together with the generated ones".to_owned();
        return Err(function_key("policers", what, "Give fewer"));
    }
    Ok(())
}
