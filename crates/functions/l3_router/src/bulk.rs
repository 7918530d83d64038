//! Routes and rules out of files of their own, by the keys that name them; and names of next hops,
//! which stand for their numbers.
//!
//! A row names its next hop by name, number or address. An address of no next hop of the
//! configuration becomes one if it is on a link and neighbours are asked for; several next hops of
//! a row become a group. Both are listed behind those of the configuration.
use std::collections::HashSet;
use std::sync::Arc;

use function_kit::Invalid;
use function_kit::sections::function_key;
use rows::{Cells, Files, Form, Kind, Remarks, Route, Said, Troubles, Unfit};

use super::config::{AclRule, Config, HopNames, List, Network, ToHop};
use super::validate::routes::Checker;
use super::validate::services::fault_of;

mod targets;

use self::targets::Targets;

/// Looks up the names of next hops, and reads the files that a configuration names, unless that is
/// done.
///
/// # Errors
/// A name that no next hop has, or the key whose files cannot be read, or have rows that cannot be.
pub fn read(config: &mut Config) -> Result<(), Invalid> {
    names(config)?;
    if std::mem::replace(&mut config.from_files.is_read, true) {
        return Ok(());
    }
    let mut remarks = Vec::new();
    let mut take = |told: Remarks| remarks.extend(told.sentences());
    let refuse = |key: &'static str| move |told: Troubles| function_key(key, told.to_string(), "");
    take(routes(config).map_err(refuse("route-files"))?);
    for list in [List::Ingress, List::Egress] {
        let (key, files) = match list {
            List::Ingress => ("ingress-acl-files", config.ingress_acl_files.clone()),
            List::Egress => ("egress-acl-files", config.egress_acl_files.clone()),
        };
        let (rules, told) = rules(config, list, &files).map_err(refuse(key))?;
        take(told);
        match list {
            List::Ingress => config.from_files.ingress = Arc::new(rules),
            List::Egress => config.from_files.egress = Arc::new(rules),
        }
    }
    config.from_files.remarks = Arc::new(remarks);
    Ok(())
}

/// Gives routes and members of groups the numbers of the next hops that they name.
fn names(config: &mut Config) -> Result<(), Invalid> {
    config.hop_names = HopNames::of(config.next_hops.iter().map(|hop| hop.name));
    let mut groups = std::mem::take(&mut config.next_hop_groups);
    let mut routes = std::mem::take(&mut config.routes);
    let number = |said: &mut ToHop, key: &'static str, whose: String| {
        let found = config.number_of_hop(*said);
        said.number = found
            .map_err(|(what, remedy)| function_key(key, format!("{whose}: {what}"), &remedy))?;
        Ok(())
    };
    let mut named = Ok(());
    for (place, group) in groups.iter_mut().enumerate() {
        for member in &mut group.members {
            let whose = || format!("number {place}");
            named = named.and_then(|()| number(&mut member.next_hop, "next-hop-groups", whose()));
        }
    }
    for route in &mut routes {
        let prefix = route.prefix;
        if let Some(hop) = route.next_hop.as_mut().filter(|hop| hop.name.is_some()) {
            named = named.and_then(|()| number(hop, "routes", String::from(prefix)));
        }
    }
    (config.next_hop_groups, config.routes) = (groups, routes);
    named
}

/// Reads routes, and lists next hops and groups that they need.
fn routes(config: &mut Config) -> Result<Remarks, Troubles> {
    let files = std::mem::take(&mut config.route_files);
    let place = Checker::of(config);
    let listed = config.routes.iter().map(|route| Network::of(route.vrf, route.prefix));
    let mut seen: HashSet<Network> = match files.is_empty() {
        true => HashSet::new(),
        false => listed.collect(),
    };
    let mut targets = Targets::new(config);
    let mut routes = Vec::new();
    let read = rows::read(&files, &ROUTES, |said| {
        let (network, target, is_own) = match said {
            Said::Cells(cells) => {
                let network = network_of(cells).map_err(Unfit::Wrong)?;
                check(&place, network)?;
                (network, targets.of_cells(network.vrf, cells).map_err(Unfit::Wrong)?, true)
            }
            Said::Route(route, cells) => {
                let vrf = vrf_of(cells).map_err(Unfit::Wrong)?;
                let network = Network { vrf, address: route.address, len: route.len };
                check(&place, network)?;
                if place.is_connected(network) {
                    let what = "routes to links and neighbours, which need none".to_owned();
                    return Err(Unfit::Left(what));
                }
                (network, target_of(&mut targets, network, route, cells)?, false)
            }
        };
        let prefix = || String::from(network.prefix());
        if place.is_connected(network) {
            let what = format!("{} is on a link; remove it: neighbours need no route", prefix());
            return Err(Unfit::Wrong(what));
        }
        if !seen.insert(network) {
            return Err(match is_own {
                true => Unfit::Wrong(format!("{} is there twice; keep one", prefix())),
                // They are told in the order of their preference.
                false => Unfit::Left("further routes to the same destination".to_owned()),
            });
        }
        if routes.len() == Config::FILE_ROUTES_MAX {
            let most = Config::FILE_ROUTES_MAX;
            return Err(Unfit::Wrong(format!("is a route too many; files have {most} at most")));
        }
        routes.push((network, target));
        Ok(())
    });
    drop(targets);
    drop(seen);
    routes.sort_unstable_by_key(|(network, _)| *network);
    routes.shrink_to_fit();
    config.route_files = files;
    config.from_files.routes = Arc::new(routes);
    read
}

fn check(place: &Checker, network: Network) -> Result<(), Unfit> {
    place.check(network).map_err(|(what, remedy)| {
        Unfit::Wrong(format!("{} {what}; {remedy}", String::from(network.prefix())))
    })
}

fn network_of(cells: &Cells<'_>) -> Result<Network, String> {
    let vrf = vrf_of(cells)?;
    let prefix = cells.get("prefix").ok_or("has no prefix; write one like 192.0.2.0/24")?;
    Network::read(vrf, prefix)
}

fn vrf_of(cells: &Cells<'_>) -> Result<u16, String> {
    cells.get("vrf").map_or(Ok(0), |text| {
        text.parse().map_err(|_| format!("vrf: `{text}` is not the number of a VRF"))
    })
}

/// Where a route leads that does not say it by keys.
fn target_of(
    targets: &mut Targets<'_>,
    network: Network,
    route: &Route,
    cells: &Cells<'_>,
) -> Result<u32, Unfit> {
    let found = match route.kind {
        Kind::Drop => targets.nowhere(),
        Kind::Forward => targets.of_all(network.vrf, &route.ways),
        Kind::First => match targets.first_of(network.vrf, &route.ways) {
            Some(target) => Ok(target),
            // The file says where else they go.
            None => targets.of_cells(network.vrf, cells).map_err(|_| {
                let via = route.ways.iter().filter_map(|way| way.via);
                let via: Vec<String> = via.take(3).map(|via| via.to_string()).collect();
                format!(
                    "the router has none of the next hops of {}: {}{}; list one in `next-hops`, \
                     or give the file a `next-hop` for them",
                    String::from(network.prefix()),
                    via.join(", "),
                    if route.ways.len() > via.len() { " …" } else { "" },
                )
            }),
        },
    };
    found.map_err(Unfit::Wrong)
}

/// Reads the rules of a list.
fn rules(config: &Config, list: List, files: &Files) -> Result<(Vec<AclRule>, Remarks), Troubles> {
    let ports = config.port_names();
    let room = (Config::RULES_MAX as usize).saturating_sub(config.rules_of(list).count());
    let mut rules = Vec::new();
    let told = rows::read(files, &RULES, |said| {
        let Said::Cells(cells) = said else { return Ok(()) };
        let rule: AclRule = cells.typed().map_err(Unfit::Wrong)?;
        if let Some((what, remedy)) = fault_of(config, &ports, list, &rule) {
            return Err(Unfit::Wrong(format!("{what}; {remedy}")));
        }
        if rules.len() == room {
            let most = Config::RULES_MAX;
            return Err(Unfit::Wrong(format!("is a rule too many; a list has {most} at most")));
        }
        rules.push(rule);
        Ok(())
    })?;
    Ok((rules, told))
}

/// Rows of routes.
const ROUTES: Form =
    Form { keys: &["prefix", "next-hop", "group", "vrf"], unnamed: 2, takes_routes: true };

/// Rows of rules: the keys of [`AclRule`].
const RULES: Form = Form {
    keys: &[
        "action",
        "source",
        "destination",
        "protocol",
        "source-ports",
        "destination-ports",
        "icmp-type",
        "icmp-code",
        "tcp-flags",
        "fragment",
        "dscp",
        "port",
        "vlan",
        "policer",
        "log-one-in",
    ],
    unnamed: 1,
    takes_routes: false,
};

#[cfg(test)]
mod tests;
