//! Whether routes can be, those of the configuration and those of its files.
use std::collections::HashSet;
use std::net::IpAddr;

use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{Config, Link, Network, NextHop, Prefixed, network};
use super::groups;
use super::interfaces::interface_of;

/// Each route leads somewhere, once, and not to a link.
pub(super) fn routes(config: &Config) -> Result<(), Invalid> {
    let place = Checker::of(config);
    let mut seen = HashSet::new();
    for route in &config.routes {
        let refuse = |(what, remedy): (String, &str)| {
            let prefix = String::from(route.prefix);
            function_key("routes", format!("{prefix} {what}"), remedy)
        };
        let network = Network::of(route.vrf, route.prefix);
        place.check(network).map_err(refuse)?;
        groups::leads_somewhere(config, route)?;
        if place.is_connected(network) {
            let what = "is on a link".to_owned();
            return Err(refuse((what, "Remove it: neighbours need no route")));
        }
        if !seen.insert(network) {
            return Err(refuse(("is listed twice".to_owned(), "Keep one of them")));
        }
    }
    // A host of a file may be a next hop that only a later line names.
    let hosts = config.from_files.routes.iter().filter(|(network, _)| is_host(*network));
    match hosts.map(|(network, _)| *network).find(|network| place.is_connected(*network)) {
        None => Ok(()),
        Some(network) => {
            let what = format!("{} is a next hop on a link", String::from(network.prefix()));
            Err(function_key("route-files", what, "Remove its route: neighbours need none"))
        }
    }
}

/// What routes are held against.
pub(in super::super) struct Checker {
    ipv6: bool,
    vrfs: u16,
    /// Networks of links.
    links: HashSet<Network>,
    /// Addresses of the router and of its next hops, as routes.
    hosts: HashSet<Network>,
}

impl Checker {
    pub fn of(config: &Config) -> Checker {
        let (all, names) = (config.all_interfaces(), config.port_names());
        let of_hop = |hop: &NextHop| {
            let vrf = interface_of(&all, &names, hop).map(|interface| interface.vrf);
            let addresses = [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
            addresses.into_iter().flatten().zip(vrf.into_iter().cycle())
        };
        let links: Vec<Link> = config.links().collect();
        let own = links.iter().map(|link| (link.address, link.vrf));
        let hops = config.next_hops.iter().flat_map(of_hop);
        let host = |(address, vrf)| super::super::state::host(vrf, address);
        let of_link = |link: &Link| Network {
            vrf: link.vrf,
            address: network(link.address, link.len),
            len: link.len,
        };
        Checker {
            ipv6: config.ipv6,
            vrfs: config.vrfs,
            links: links.iter().map(of_link).collect(),
            hosts: own.chain(hops).map(host).collect(),
        }
    }

    /// Whether a router of this configuration can have a route to a network.
    ///
    /// # Errors
    /// What is wrong with it, and what helps.
    pub fn check(&self, of: Network) -> Result<(), (String, &'static str)> {
        if network(of.address, of.len) != of.address {
            let what = "has bits set behind its length".to_owned();
            return Err((what, "Clear them, or give the length that is meant"));
        }
        if of.address.is_ipv6() && !self.ipv6 {
            return Err(("is of IPv6".to_owned(), "Set 'ipv6: true', or remove it"));
        }
        if of.vrf > self.vrfs {
            let what = format!("is of VRF {}, which there is not", of.vrf);
            return Err((what, "Raise 'vrfs', or choose another"));
        }
        Ok(())
    }

    /// Whether it is a link, or the address of the router or of a neighbour.
    pub fn is_connected(&self, of: Network) -> bool {
        self.links.contains(&of) || is_host(of) && self.hosts.contains(&of)
    }
}

impl Network {
    /// A prefix within a VRF, as it is written.
    pub(in super::super) fn read(vrf: u16, prefix: &str) -> Result<Network, String> {
        Prefixed::try_from(prefix.to_owned()).map(|prefix| Network::of(vrf, prefix))
    }
}

fn is_host(network: Network) -> bool {
    network.len == if network.address.is_ipv4() { 32 } else { 128 }
}
