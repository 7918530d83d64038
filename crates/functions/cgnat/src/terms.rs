//! What outside addresses and rules that come while the NAT runs must fit: all that the
//! configuration gives to others. Of rules that are there nothing is known here.

use std::net::{IpAddr, Ipv4Addr};

use engine::Refusal;

use crate::config::{Config, Prefixed};
use crate::types::networks::{holds, overlap};

/// What a configuration has beside outside addresses.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Networks of subscribers of the main realm.
    pub inside: Vec<Prefixed<Ipv4Addr>>,
    /// Other networks of which no outside address is: those of subscribers of VRFs, of hosts of
    /// both families, and of hosts to which nothing is translated.
    others: Vec<Prefixed<Ipv4Addr>>,
    /// Addresses of the NAT's own, and of routers beside it.
    own: Vec<Ipv4Addr>,
    /// That of the outside port, which subscribers may share.
    pub outside_ip: Ipv4Addr,
    /// Networks of subscribers of deterministic rules of the main realm.
    pub deterministic: Vec<Prefixed<Ipv4Addr>>,
    /// The lowest outside port that is given away.
    pub first_port: u16,
}

impl Terms {
    /// Those of a configuration.
    pub fn new(config: &Config) -> Terms {
        let of_vrfs = config.vrfs.iter().flat_map(|vrf| vrf.inside.iter().copied());
        let of_both = config.siit.iter().flat_map(|siit| siit.networks());
        let next_hops = config.interfaces.iter().map(|one| one.next_hop);
        let next_hops = next_hops.chain(config.vrfs.iter().map(|vrf| vrf.next_hop));
        let next_hops = next_hops.chain([config.inside_next_hop, config.outside_next_hop]);
        let source = config.logging.iter().filter_map(|logging| match logging.source {
            IpAddr::V4(source) => Some(source),
            IpAddr::V6(_) => None,
        });
        let own = config.interfaces.iter().map(|one| one.ip).chain([config.inside_ip]);
        let main = config.deterministic.iter().filter(|rule| rule.realm == 0);
        Terms {
            inside: config.inside.clone(),
            others: of_vrfs.chain(of_both).chain(config.bypass.iter().copied()).collect(),
            own: own.chain(next_hops.flatten()).chain(source).collect(),
            outside_ip: config.outside_ip,
            deterministic: main.map(|rule| rule.inside).collect(),
            first_port: config.first_port,
        }
    }

    /// Whether a network can be one of outside addresses.
    ///
    /// # Errors
    /// That others have it.
    pub fn check(&self, outside: Prefixed<Ipv4Addr>) -> Result<(), Refusal> {
        let mut networks = self.inside.iter().chain(&self.others);
        if outside.len == 0 || networks.any(|network| overlap(*network, outside)) {
            return Err(Refusal::Invalid);
        }
        match self.own.iter().any(|own| holds(outside, own.to_bits())) {
            true => Err(Refusal::Exists),
            false => Ok(()),
        }
    }

    /// Whether all of a network are subscribers of the main realm.
    pub fn are_subscribers(&self, network: Prefixed<Ipv4Addr>) -> bool {
        let covers = |inside: &Prefixed<Ipv4Addr>| {
            inside.len <= network.len && holds(*inside, network.address.to_bits())
        };
        self.inside.iter().any(covers)
    }
}

/// Most rules of each kind, hosts of a port forwarding rule and forwards of a host, as in a file.
pub(crate) const RULES_MAX: usize = 1024;
pub(crate) const HOSTS_MAX: usize = 1024;
pub(crate) const FORWARDS_MAX: usize = 1024;
