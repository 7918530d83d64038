//! Whether the two sections fit together.
use std::net::{IpAddr, Ipv4Addr};

use function_kit::Invalid;
use stages::icmpv4::is_host;

use crate::config::{Config, Family, PoolsAnswer, Prefixed, Replication, Role};
use crate::types::networks::{holds, overlap, refuse, text};
use crate::types::sides::{INSIDE, OUTSIDE};

/// Checks both sections.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &mut Config) -> Result<(), Invalid> {
    validate_replication(config)?;
    crate::workers::validate::validate(config)?;
    validate_networks(config)?;
    crate::port_forwarding::validate::validate(config)?;
    crate::nat64::validate::validate(config)?;
    crate::ds_lite::validate::validate(config)?;
    crate::vrfs::validate::validate(config)?;
    crate::siit::validate::validate(config)?;
    crate::bypass::validate::validate(config)?;
    crate::mtu::validate::validate(config)?;
    crate::pcp::validate::validate(config)?;
    crate::further::validate::validate(config)?;
    crate::hosting::validate::validate(config)?;
    validate_own(config)?;
    validate_next_hops(config)?;
    validate_logging(config)?;
    Ok(())
}

fn validate_replication(config: &Config) -> Result<(), Invalid> {
    let Replication { role, address, peer, port, ref tls, .. } = config.replication;
    if tls.is_some() && matches!(role, Role::None | Role::Rehearsal) {
        return refuse(
            "replication.tls",
            "there is no link to another NAT to encrypt".to_owned(),
            "Set `replication.role` to `active`, `standby` or `pair`, or leave `tls` out",
        );
    }
    match (role, peer) {
        (Role::Pair, None) => {
            return refuse(
                "replication.peer",
                "one of a pair does not know where the other one is".to_owned(),
                "Give the address at which the other one listens, its `replication.address`",
            );
        }
        (Role::Pair, Some(peer)) if peer == address => {
            return refuse(
                "replication.peer",
                format!("{peer} is the address of this one, too"),
                "Give the address at which the other one listens, its `replication.address`",
            );
        }
        (Role::Pair, _) if config.pools_answer != PoolsAnswer::Active => {
            return refuse(
                "pools-answer",
                "both of a pair would answer for the addresses of pools".to_owned(),
                "Set `pools-answer` to `active`: of a pair the active one alone answers",
            );
        }
        (_, Some(_)) if role != Role::Pair => {
            return refuse(
                "replication.peer",
                "only one of a pair has a peer".to_owned(),
                "Set `replication.role` to `pair`, or leave `peer` out",
            );
        }
        _ => {}
    }
    if u32::from(port) + config.core - 1 > u32::from(u16::MAX) {
        return refuse(
            "replication.port",
            format!("{} workers have no TCP ports from {port} on", config.core),
            "Give a lower one, with one for each worker up to 65535",
        );
    }
    Ok(())
}

fn validate_networks(config: &Config) -> Result<(), Invalid> {
    let outside: Vec<(&'static str, Prefixed<Ipv4Addr>)> = config.outside().collect();
    crate::deterministic::plan::plan(&config.deterministic)?;
    if outside.is_empty() {
        return refuse(
            "pools",
            "there is no address to translate to".into(),
            "Give a network, like 198.18.0.0/24, or rules",
        );
    }
    for (index, &(key, network)) in outside.iter().enumerate() {
        let before = outside[..index].iter().find(|(_, other)| overlap(*other, network));
        if let Some((_, other)) = before {
            return refuse(
                key,
                format!("{} and {} share addresses", text(*other), text(network)),
                "Give each outside address once",
            );
        }
        if let Some(inside) = config.inside.iter().find(|inside| overlap(**inside, network)) {
            return refuse(
                key,
                format!("{} is inside, in {}", text(network), text(*inside)),
                "Give outside addresses that no subscriber has",
            );
        }
    }
    let addresses: u64 = outside.iter().map(|(_, network)| 1 << (32 - network.len)).sum();
    let addresses = addresses + u64::from(config.spare_addresses);
    if addresses > ADDRESSES_MAX {
        return refuse(
            "pools",
            format!("{addresses} outside addresses"),
            "Give at most 65536 in all, those of 'spare-addresses' included",
        );
    }
    for (index, rule) in config.static_rules.iter().enumerate() {
        let before = config.static_rules[..index].iter().map(|before| before.inside);
        if let Some(other) = before.into_iter().find(|before| overlap(*before, rule.inside)) {
            return refuse(
                "static",
                format!("subscribers of {} have another rule, too", text(other)),
                "Give each subscriber one rule",
            );
        }
        if rule.inside.len != rule.outside.len {
            return refuse(
                "static",
                format!("{} and {} differ in size", text(rule.inside), text(rule.outside)),
                "Give networks of the same length",
            );
        }
    }
    validate_ruled(config)
}

/// Whether whoever has an address by a one-to-one rule is a subscriber: its packets would be
/// dropped, and those for it would not.
fn validate_ruled(config: &Config) -> Result<(), Invalid> {
    let is_inside = |network: Prefixed<Ipv4Addr>| {
        let covers = |inside: &Prefixed<Ipv4Addr>| {
            inside.len <= network.len && holds(*inside, network.address.to_bits())
        };
        config.inside.iter().any(covers)
    };
    match config.static_rules.iter().map(|rule| rule.inside).find(|network| !is_inside(*network)) {
        Some(network) => refuse(
            "static",
            format!("{} is no subscriber's: it is in no network of `inside`", text(network)),
            "Add its network to `inside`, or remove the rule",
        ),
        None => Ok(()),
    }
}

/// The NAT's own addresses are nobody else's, but for that of the outside port, which subscribers
/// may share.
fn validate_own(config: &Config) -> Result<(), Invalid> {
    let (inside, outside) = (config.inside_ip, config.outside_ip);
    if inside == outside {
        return refuse(
            "outside-ip",
            format!("{outside} is the address of the inside port, too"),
            "Give each port an address of its link; subscribers send to 'inside-ip'",
        );
    }
    if let Some(network) = config.inside.iter().find(|it| holds(**it, outside.to_bits())) {
        return refuse(
            "outside-ip",
            format!("{outside} is inside, in {}", text(*network)),
            "Give an address of the outside link, or keep its network out of 'inside'",
        );
    }
    let mut own = config.static_rules.iter().map(|rule| rule.outside);
    if let Some(network) = own.find(|it| holds(*it, outside.to_bits())) {
        return refuse(
            "outside-ip",
            format!("one subscriber has all ports of {outside}, by {} of 'static'", text(network)),
            "Give another address to the port or the subscriber; one of 'pools' may be the port's",
        );
    }
    let further = config.interfaces.iter().map(|one| ("interfaces", one.ip));
    for (key, ip) in [("inside-ip", inside)].into_iter().chain(further) {
        if let Some((_, network)) = config.outside().find(|(_, it)| holds(*it, ip.to_bits())) {
            return refuse(
                key,
                format!("subscribers share {ip}, of {}", text(network)),
                "Give an address that no pool and no rule has; only 'outside-ip' may be shared",
            );
        }
    }
    Ok(())
}

/// Next hops that are asked for are single hosts and none of the NAT's own, and where that of IPv4
/// is asked for and IPv6 leaves as well, that of IPv6 is.
fn validate_next_hops(config: &Config) -> Result<(), Invalid> {
    let of_vrfs = config.vrfs.iter().map(|vrf| ("vrfs", vrf.next_hop, config.inside_ip));
    let of_ports = [
        ("inside-next-hop", config.inside_next_hop, config.inside_ip),
        ("outside-next-hop", config.outside_next_hop, config.outside_ip),
    ];
    for (key, next_hop, own) in of_ports.into_iter().chain(of_vrfs) {
        let Some(next_hop) = next_hop else { continue };
        let is_outside = |(_, network)| holds(network, next_hop.to_bits());
        if !is_host(next_hop) || next_hop == own || config.outside().any(is_outside) {
            let what = format!("{next_hop} is no router's address beside {own}");
            return refuse(key, what, "Give the address of the router on that link");
        }
    }
    if config.inside_next_hop.is_none() && config.vrfs.iter().any(|vrf| vrf.next_hop.is_some()) {
        let what = "the router of a VRF is asked for its MAC address, and the inside one is not";
        return refuse("vrfs", what.into(), "Give 'inside-next-hop' as well");
    }
    let ipv6_port = config.siit.as_ref().map(|it| match it.inside_family {
        Family::Ipv6 => INSIDE,
        Family::Ipv4 | Family::DsLite => OUTSIDE,
    });
    let is_inside = config.nat64.is_some() || config.ds_lite.is_some();
    for (key, port, ipv4, ipv6, own) in [
        (
            "inside-next-hop-ipv6",
            INSIDE,
            config.inside_next_hop,
            config.inside_next_hop_ipv6,
            config.inside_ipv6,
        ),
        (
            "outside-next-hop-ipv6",
            OUTSIDE,
            config.outside_next_hop,
            config.outside_next_hop_ipv6,
            config.outside_ipv6,
        ),
    ] {
        let has_ipv6 = ipv6_port == Some(port) || port == INSIDE && is_inside;
        match ipv6 {
            Some(ipv6) if ipv6.is_multicast() || ipv6.is_unspecified() || ipv6 == own => {
                let what = format!("{ipv6} is no router's address beside {own}");
                return refuse(key, what, "Give the address of the router on that link");
            }
            Some(_) if !has_ipv6 => {
                let what = "no IPv6 packet leaves there".into();
                return refuse(key, what, "Leave it out, or give 'nat64', 'ds-lite' or 'siit'");
            }
            None if has_ipv6 && ipv4.is_some() => {
                let what = "IPv6 packets leave there, and only IPv4's next hop is asked".into();
                return refuse(key, what, "Give the router's IPv6 address as well");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The address from which logs come is none of a subscriber's, so that logs are told from packets.
fn validate_logging(config: &Config) -> Result<(), Invalid> {
    let Some(logging) = &config.logging else { return Ok(()) };
    logging.validate()?;
    let IpAddr::V4(source) = logging.source else { return Ok(()) };
    let networks = config.inside.iter().copied().chain(config.outside().map(|(_, net)| net));
    let mut holding = networks.filter(|network| holds(*network, source.to_bits()));
    match holding.next() {
        Some(network) => refuse(
            "logging.source",
            format!("{source} is a subscriber's, of {}", text(network)),
            "Give an address of the NAT's own, like that of 'outside-ip'",
        ),
        None => Ok(()),
    }
}

/// Outside addresses of all pools and rules together: each takes up to 1 MiB where all ports are
/// used.
const ADDRESSES_MAX: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_pair_one_alone_answers_for_pools() {
        let with = |more: &str| {
            let pair = r#""role": "pair", "address": "10.0.0.1", "peer": "10.0.0.2""#;
            let text = format!(r#"{{"replication": {{{pair}}}{more}}}"#);
            validate_replication(&serde_json::from_str(&text).expect("it is a configuration"))
        };
        let refused = with("").expect_err("both would");
        assert_eq!(refused.key, "pools-answer");
        assert!(refused.remedy.contains("`active`"), "{refused:?}");
        assert!(with(r#", "pools-answer": "active""#).is_ok());
    }

    #[test]
    fn a_link_to_another_nat_may_be_encrypted() {
        let files =
            r#"{"certificate": "a.pem", "key": "a.key", "ca": "ca.pem", "name": "b.example"}"#;
        let with = |role: &str| {
            let text = format!(
                r#"{{"replication": {{{role}, "tls": {files}}}, "pools-answer": "active"}}"#
            );
            serde_json::from_str::<Config>(&text).expect("it is a configuration")
        };
        for role in [
            r#""role": "active""#,
            r#""role": "standby""#,
            r#""role": "pair", "address": "10.0.0.1", "peer": "10.0.0.2""#,
        ] {
            let config = with(role);
            assert!(validate_replication(&config).is_ok(), "{role}");
            let tls = config.replication.tls.expect("it is there").tls();
            assert_eq!((&*tls.authorities, tls.name.as_deref()), ("ca.pem", Some("b.example")));
        }
        for role in [r#""role": "none""#, r#""role": "rehearsal""#] {
            let refused = validate_replication(&with(role)).expect_err("there is no link");
            assert_eq!(refused.key, "replication.tls");
        }
        // The authority is what makes it safe.
        let without = r#"{"replication": {"tls": {"certificate": "a.pem", "key": "a.key"}}}"#;
        let error = serde_json::from_str::<Config>(without).expect_err("it is needed");
        assert!(error.to_string().contains("missing field `ca`"), "{error}");
    }
}
