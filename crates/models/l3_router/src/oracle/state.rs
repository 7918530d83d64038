//! What the model knows: its tables, and what they say of an address.
use crate::ports::Numbered;
use std::collections::BTreeMap;
use std::net::IpAddr;

use function_l3_router::config::{Config, Network, NextHop, Resolved};

use super::advertise::Advertisers;
use super::groups::Groups;
use super::host::Buckets;
use super::neighbours::Neighbours;
use super::reassembly::Reassembly;
use super::routes::{Routes, To, bits, host};
use super::services::Services;
use crate::catalogue;

/// The model.
pub struct Model {
    pub(super) config: Config,
    pub(super) interfaces: Vec<Resolved>,
    /// Where a route leads.
    pub(super) routes: Routes,
    pub(super) next_hops: BTreeMap<u32, NextHop>,
    pub(super) buckets: Buckets,
    pub(super) neighbours: Neighbours,
    pub(super) services: Services,
    pub(super) groups: Groups,
    pub(super) reassembly: Reassembly,
    pub(super) virtuals: Vec<Virtual>,
    pub(super) advertisers: Advertisers,
}

/// A virtual address at an interface.
#[derive(Clone, Copy)]
pub(super) struct Virtual {
    pub at: usize,
    pub mac: [u8; 6],
    pub address: IpAddr,
    pub accept: bool,
}

/// A packet's addresses, the interface by which it came in, and how many hops it has to go.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub at: usize,
    pub from: IpAddr,
    pub to: IpAddr,
    pub hops_left: u8,
}

impl Model {
    pub(super) fn configured(config: &Config) -> Model {
        let (routes, next_hops) = (Routes::default(), BTreeMap::new());
        let interfaces = config.all_interfaces();
        let buckets = Buckets::new(config);
        let neighbours = Neighbours::new(config);
        let advertisers = Advertisers::new(config, &interfaces);
        let mut model = Model {
            config: config.clone(),
            interfaces,
            routes,
            next_hops,
            buckets,
            neighbours,
            services: Services::new(config),
            groups: Groups::new(config),
            reassembly: Reassembly::new(config),
            virtuals: Vec::new(),
            advertisers,
        };
        for link in config.links() {
            let (address, len) = (catalogue::network(link.address, link.len), link.len);
            let network = Network { vrf: link.vrf, address, len };
            model.routes.insert(network, To::Link(link.interface.into()));
            model.routes.insert(host(link.vrf, link.address), To::Itself);
        }
        for (number, hop) in config.all_next_hops() {
            // Nobody answers the session of one that is watched, so it is not there.
            if hop.bfd.is_none() {
                model.next_hops.insert(number, hop);
            }
            model.groups.share(number, &model.next_hops);
            for own in model.addresses(hop) {
                model.routes.insert(own, To::NextHop(number));
            }
        }
        for (network, hop) in config.all_routes() {
            model.routes.insert(network, To::NextHop(hop));
        }
        model
    }

    /// The number of the interface behind which a neighbour is.
    pub(super) fn interface_of(&self, hop: &NextHop) -> Option<usize> {
        let (port, vlan) = (self.config.number_of(hop.port), hop.vlan.unwrap_or(0));
        self.interfaces.iter().position(|one| one.port == port && one.vlan == vlan)
    }

    /// The route with the longest prefix that covers an address.
    pub(super) fn longest(&self, vrf: u16, address: IpAddr) -> Option<To> {
        let network = |len| Network { vrf, address: catalogue::network(address, len), len };
        (0..=bits(address)).rev().find_map(|len| self.routes.get(&network(len)).copied())
    }

    /// A neighbour's own addresses as routes of its interface's VRF.
    pub(super) fn addresses(&self, hop: NextHop) -> Vec<Network> {
        let vrf = self.interface_of(&hop).map_or(0, |number| self.interfaces[number].vrf);
        let both = [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
        both.into_iter().flatten().map(|address| host(vrf, address)).collect()
    }
}
