//! Whether what is generated can be, and goes with what is listed.

use crate::ports::{DOWNLINK, Numbered, SIDES, UPLINK};
use std::collections::HashSet;
use std::net::IpAddr;

use function_kit::Invalid;
use function_kit::NetworkFunction;
use function_kit::sections::function_key;
use function_l3_router::config::{AclRule, Action, Config, List, PoliceBy};

use crate::catalogue;
use crate::far_end;
use crate::generated::{self, Section, config};
use crate::prefixes;
use crate::unit;

/// Checks the `function` section, and reads the file of routes that it may name.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &mut Section) -> Result<(), Invalid> {
    unit::read_files(&mut section.config)?;
    weights(section)?;
    internet(section)?;
    sides(section)?;
    links(section)?;
    policers(section)?;
    apart(section)?;
    let mut config = config(section);
    unit::L3Router::validate(&mut config)?;
    far_end::validate(&config)?;
    permits(&config)?;
    capacity(section, &config)
}

/// A list that permits nothing by omission drops all that the bench sends: what no rule matches is
/// dropped. A last rule that denies everything says that this is meant.
fn permits(config: &Config) -> Result<(), Invalid> {
    for (list, key) in [(List::Ingress, "ingress-acl"), (List::Egress, "egress-acl")] {
        let mut rules = config.rules_of(list);
        let decides = |rule: &AclRule| {
            let all = AclRule { log_one_in: rule.log_one_in, ..AclRule::for_all(Action::Deny) };
            rule.action == Action::Permit || *rule == all
        };
        if config.rules_of(list).next().is_some() && !rules.any(decides) {
            let what = "permits nothing: what no rule matches is dropped".to_owned();
            let remedy = "Add {action: permit} at its end, or {action: deny} if nothing is to pass";
            return Err(function_key(key, what, remedy));
        }
    }
    Ok(())
}

fn weights(section: &Section) -> Result<(), Invalid> {
    if section.generated.ecmp_weights.is_empty() || section.generated.ecmp_members > 0 {
        return Ok(());
    }
    let what = "are of members that there are not".to_owned();
    Err(function_key("ecmp-weights", what, "Set 'ecmp-members', or remove them"))
}

/// Routes like the Internet's need a next hop, and those of IPv6 a router that has IPv6.
fn internet(section: &mut Section) -> Result<(), Invalid> {
    let Section { generated, config } = section;
    if generated.internet_routes_ipv6 > 0 && !config.ipv6 {
        let what = "the router has no IPv6".to_owned();
        return Err(function_key("internet-routes-ipv6", what, "Set 'ipv6: true', or remove it"));
    }
    if let Some(path) = generated.route_file.clone() {
        let refuse = |what: String| {
            let remedy = "Give the path of a text with a prefix a line, like 192.0.2.0/24";
            function_key("route-file", what, remedy)
        };
        let prefixes = prefixes::read(&path).map_err(refuse)?;
        if !config.ipv6 && prefixes.iter().any(|prefix| prefix.address.is_ipv6()) {
            return Err(refuse("it has prefixes of IPv6; set 'ipv6: true' for them".to_owned()));
        }
        generated.routes_read = prefixes.into();
    }
    let routes = generated.internet_routes + generated.internet_routes_ipv6;
    if (routes > 0 || !generated.routes_read.is_empty()) && generated.group_size(UPLINK) == 0 {
        let what = "its routes have no next hop".to_owned();
        let remedy = "Set it to 1 or more: they are those of routes like the Internet's, too";
        return Err(function_key("upstream-group-table-size", what, remedy));
    }
    Ok(())
}

/// Generated routes need a generated next hop.
fn sides(section: &Section) -> Result<(), Invalid> {
    let pairs = [("upstream-group-table-size", UPLINK), ("downstream-group-table-size", DOWNLINK)];
    for (key, port) in pairs {
        let generated = &section.generated;
        if generated.table_size(port) > 0 && generated.group_size(port) == 0 {
            let what = "its routes have no next hop".to_owned();
            return Err(function_key(key, what, "Set it to 1 or more, or the table's size to 0"));
        }
    }
    Ok(())
}

/// Each port's link has room for its generated next hops.
fn links(section: &Section) -> Result<(), Invalid> {
    for (keys, port) in
        [(["downlink-ip", "downlink-ipv6"], DOWNLINK), (["uplink-ip", "uplink-ipv6"], UPLINK)]
    {
        let neighbours = u128::from(section.generated.group_size(port));
        let (ip, ipv6) = (section.config.ip(port), section.config.ipv6_of(port));
        let own = [(IpAddr::from(ip.address), ip.len, 32), (ipv6.address.into(), ipv6.len, 128)];
        let is_idle = [neighbours == 0, neighbours == 0 || !section.config.ipv6];
        for ((key, (address, len, bits)), is_idle) in keys.into_iter().zip(own).zip(is_idle) {
            if is_idle && address.is_unspecified() {
                continue;
            }
            let key = if section.config.ports.is_empty() { key } else { "ports" };
            if catalogue::is_generated(section, address, bits) {
                let what = "lies among the generated routes".into();
                return Err(function_key(key, what, "Give another one, like 10.0.0.1/16"));
            }
            // A link has an address for itself, one for the port, and at its end the broadcast
            // address.
            if len == 0 || len > bits || neighbours + 3 > 1u128 << (bits - len).min(127) {
                let what =
                    format!("a /{len} has no room for {neighbours} next hops beside the port");
                let remedy = "Give it a shorter prefix, or fewer next hops";
                return Err(function_key(key, what, remedy));
            }
        }
    }
    Ok(())
}

fn policers(section: &Section) -> Result<(), Invalid> {
    let Section { generated, config } = section;
    let copies = generated.policers_generated;
    if copies > 0 && config.policers.is_empty() {
        let what = "are copies of a policer that there is not".to_owned();
        let remedy = "List the policer to copy in 'policers'";
        return Err(function_key("policers-generated", what, remedy));
    }
    let said = config.policers_by_source.is_some();
    if config.police_by == PoliceBy::Source && copies == 0 && !said {
        let what = "is 'source', which chooses among generated policers, and there are none";
        return Err(function_key("police-by", what.into(), "Set 'policers-generated'"));
    }
    if config.policers.len() + copies as usize > Config::POLICERS_MAX as usize {
        let what = "are more than 1,048,576 together with the generated ones".to_owned();
        return Err(function_key("policers", what, "Give fewer"));
    }
    Ok(())
}

/// Nothing that is listed lies where something is generated.
fn apart(section: &Section) -> Result<(), Invalid> {
    let Section { generated, config } = section;
    let is_generated = |address, len| catalogue::is_generated(section, address, len);
    for (at, one) in config.interfaces.iter().enumerate().filter(|(_, one)| one.vrf == 0) {
        let own = [one.ip.map(|ip| IpAddr::from(ip.address)), one.ipv6.map(|ip| ip.address.into())];
        if own.into_iter().flatten().any(|address| is_generated(address, 128)) {
            let what = format!("number {at} has an address that no interface can have");
            return Err(function_key("interfaces", what, "Give another one"));
        }
    }
    let hops = SIDES.into_iter().flat_map(|port| {
        let hops = 0..generated.group_size(port);
        hops.map(move |number| catalogue::next_hop(section, port, number))
    });
    let addresses = |hop: &unit::config::NextHop| {
        [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)].into_iter().flatten()
    };
    let taken: HashSet<IpAddr> = hops.flat_map(|hop| addresses(&hop)).collect();
    let all = config.all_interfaces();
    for (at, hop) in config.next_hops.iter().enumerate() {
        let (port, vlan) = (config.number_of(hop.port), hop.vlan.unwrap_or(0));
        let behind = all.iter().find(|one| one.port == port && one.vlan == vlan);
        if behind.is_none_or(|one| one.vrf != 0) {
            continue;
        }
        let refuse =
            |what, remedy| Err(function_key("next-hops", format!("number {at} {what}"), remedy));
        for address in addresses(hop) {
            if taken.contains(&address) {
                return refuse("has the address of another", "Give each an address of its own");
            }
            if is_generated(address, 128) {
                let what = "has an address among the generated routes";
                return refuse(what, "Give it one of its link");
            }
        }
    }
    for (network, _) in config.all_routes().filter(|(network, _)| network.vrf == 0) {
        if is_generated(network.address, network.len) {
            let prefix = String::from(network.prefix());
            let what = format!("{prefix} lies among the generated routes");
            return Err(function_key("routes", what, "Choose another one"));
        }
    }
    Ok(())
}

/// There is room for all routes from the start, and numbers for next hops that come.
fn capacity(section: &Section, config: &Config) -> Result<(), Invalid> {
    let last = generated::passing_hop_number(section, catalogue::PAIRS);
    if config.next_hops_max() < last.min(catalogue::HOPS) {
        let what = format!("{} is less than the bench needs", config.next_hops_max());
        let remedy = &format!("Give {}, or remove the key", catalogue::HOPS);
        return Err(function_key("next-hop-capacity", what, remedy));
    }
    let listed = generated::routes_but_the_internets(section);
    let listed = listed.filter(|(network, _)| network.address.is_ipv4()).count();
    let generated = &section.generated;
    let internet = generated.internet_routes.max(generated.internet_routes_ipv6) as usize;
    let links = config.all_next_hops().count() + 2 * config.all_interfaces().len();
    let passing = generated.passing_hops() as usize;
    let needed = listed + internet + generated.routes_read.len() + links + passing;
    if needed > config.capacity() {
        let what = format!("is less than the {needed} routes that there are at the start");
        return Err(function_key("route-capacity", what, "Give more, or remove the key"));
    }
    Ok(())
}
