//! Whether what is advertised can be.

use std::collections::HashSet;

use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{Advertise, Config, HOST_BITS, number_of};

/// Each is of an interface with an address of IPv6 that the host does not have, and once.
pub(super) fn advertise(config: &Config) -> Result<(), Invalid> {
    let refuse = |at: usize, what: &str, remedy| {
        Err(function_key("advertise", format!("number {at} {what}"), remedy))
    };
    let answers = config.ipv6 && config.resolve;
    if !config.advertise.is_empty() && !answers {
        let what = "leads hosts to a router that does not answer their questions";
        return refuse(0, what, "Set 'ipv6: true' and 'resolve: true', or remove it");
    }
    let (all, names) = (config.all_interfaces(), config.port_names());
    let mut taken = HashSet::new();
    for (at, one) in config.advertise.iter().enumerate() {
        let port = number_of(&names, one.port);
        let own =
            all.iter().find(|own| Some(own.port) == port && own.vlan == one.vlan.unwrap_or(0));
        let Some(own) = own else {
            return refuse(at, "is of an interface that there is not", "Name one that is listed");
        };
        if own.ipv6.is_none() {
            return refuse(at, "is of an interface without IPv6", "Give that an IPv6 address");
        }
        if own.is_hosted {
            let remedy = "Let a program of the host advertise there, or remove 'host-interface'";
            return refuse(at, "is of an interface that the host has, too", remedy);
        }
        if own.vxlan.is_some() {
            let remedy = "Advertise at an interface of a VLAN, or let the far end do it";
            return refuse(at, "is of a tunnel", remedy);
        }
        if !taken.insert((one.port, one.vlan)) {
            return refuse(at, "is of an interface that is listed twice", "Keep one of them");
        }
        contents(one).or_else(|(what, remedy)| refuse(at, what, remedy))?;
    }
    Ok(())
}

/// RFC 4861 sections 6.2.1 and 4.6.2, RFC 4862 section 5.5.3, RFC 8106 section 5.1.
fn contents(one: &Advertise) -> Result<(), (&'static str, &'static str)> {
    if (1..one.interval_s).contains(&one.lifetime_s) {
        let remedy = "Give 'lifetime-s: 0', or no less than 'interval-s'";
        return Err(("ends before the next advertisement", remedy));
    }
    for prefix in &one.prefixes {
        let address = prefix.prefix.address;
        if address.is_multicast() || address.is_unicast_link_local() {
            return Err(("has a prefix that no link has", "Give one like 2001:db8:1::/64"));
        }
        if prefix.autonomous && prefix.prefix.len != HOST_BITS {
            let remedy = "Give a /64, or 'autonomous: false'";
            return Err(("has a prefix of which hosts cannot make addresses", remedy));
        }
        if prefix.preferred_s > prefix.valid_s {
            let remedy = "Give a 'preferred-s' of at most 'valid-s'";
            return Err(("has a prefix that is preferred when it is not valid", remedy));
        }
    }
    let is_nobodys = |one: &std::net::Ipv6Addr| one.is_multicast() || one.is_unspecified();
    if one.rdnss.iter().any(is_nobodys) {
        return Err(("has a name server that nobody can ask", "Give the address of a host"));
    }
    Ok(())
}
