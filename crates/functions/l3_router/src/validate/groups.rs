//! Whether groups of next hops can be, and whether each route leads to a next hop or to a group.
use std::collections::HashSet;

use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{Config, Route};

/// Members that there are, each once, and tables that fit.
pub(super) fn groups(config: &Config) -> Result<(), Invalid> {
    for (place, group) in config.next_hop_groups.iter().enumerate() {
        let refuse = |what: String, remedy: &str| {
            Err(function_key("next-hop-groups", format!("number {place} {what}"), remedy))
        };
        let mut seen = HashSet::new();
        for member in &group.members {
            let hop = member.next_hop.number;
            if hop as usize >= config.next_hops.len() {
                let what = format!("has the member {hop}, which there is not");
                return refuse(what, &config.known_hops());
            }
            if !seen.insert(hop) {
                let what = format!("has the member {hop} twice");
                return refuse(what, "Keep one of them, and give it more weight");
            }
        }
    }
    room(config)
}

/// A route leads to a next hop that there is, or to a group.
pub(super) fn leads_somewhere(config: &Config, route: &Route) -> Result<(), Invalid> {
    let refuse = |what: String, remedy: &str| {
        let prefix = String::from(route.prefix);
        Err(function_key("routes", format!("{prefix} {what}"), remedy))
    };
    match (route.next_hop, route.group) {
        (Some(hop), None) if hop.number as usize >= config.next_hops.len() => {
            let what = format!("leads to next hop {hop}, which there is not");
            refuse(what, &config.known_hops())
        }
        (None, Some(group)) if group as usize >= config.next_hop_groups.len() => {
            let what = format!("leads to group {group}, which there is not");
            refuse(what, "Number the groups of 'next-hop-groups' from 0")
        }
        (None, None) => {
            refuse("leads nowhere".to_owned(), "Give it a 'next-hop', or a 'group' of them")
        }
        (Some(_), Some(_)) => {
            let what = "leads to a next hop and to a group".to_owned();
            refuse(what, "Keep either 'next-hop' or 'group'")
        }
        _ => Ok(()),
    }
}

fn room(config: &Config) -> Result<(), Invalid> {
    let (groups, most) = (config.groups(), config.groups_max());
    if groups > most {
        let what = format!("{most} is less than the {groups} groups that there are at the start");
        return Err(function_key("ecmp-capacity", what, "Give more, or remove the key"));
    }
    let buckets = u64::from(most) * u64::from(config.ecmp_buckets);
    if buckets > BUCKETS_MAX {
        let what = format!("makes {buckets} in all groups, of 4 bytes each");
        let remedy = "Give less, or less 'ecmp-capacity': 16,777,216 in all at most";
        return Err(function_key("ecmp-buckets", what, remedy));
    }
    Ok(())
}

/// Most buckets of all groups together: 64 MiB.
const BUCKETS_MAX: u64 = 1 << 24;
