//! What follows from the keys of a configuration.

use function_kit::{HostInterface, HostPlace};
use packet::PortId;

use super::interfaces::{Interface, Resolved, ReversePath};
use super::names::ToHop;
use super::ports::number_of;
use super::services::{AclRule, List, POLICERS_MAX, PoliceBy, Policer};
use super::{Config, PuntRates};

impl Config {
    /// Most routes of all files together.
    pub const FILE_ROUTES_MAX: usize = 6_000_000;

    /// The rules of a list, those of the configuration before those of files.
    pub fn rules_of(&self, list: List) -> impl Iterator<Item = &AclRule> {
        let (own, read) = match list {
            List::Ingress => (&self.ingress_acl, &self.from_files.ingress),
            List::Egress => (&self.egress_acl, &self.from_files.egress),
        };
        own.iter().chain(read.iter())
    }
}

impl Config {
    /// The number of a next hop that is said by its name or by its number.
    ///
    /// # Errors
    /// Why there is none of the name, and what helps.
    pub fn number_of_hop(&self, said: ToHop) -> Result<u32, (String, String)> {
        let Some(name) = said.name else { return Ok(said.number) };
        self.hop_names.number(name).ok_or_else(|| {
            let what = format!("there is no next hop `{name}` in `next-hops`");
            (what, self.known_hops())
        })
    }

    /// What helps somebody who has named a next hop that there is not.
    pub(crate) fn known_hops(&self) -> String {
        match (self.hop_names.some(), self.next_hops.len()) {
            (_, 0) => "List one in 'next-hops', or set one while the router runs".to_owned(),
            (names, count) if names.is_empty() => {
                format!("Next hops have the numbers 0 to {}, and may have a 'name'", count - 1)
            }
            (names, count) => format!("Name one of {names}, or say a number up to {}", count - 1),
        }
    }
}

impl Config {
    /// Whether the router does anything but forward, drop and answer ARP.
    pub fn is_host(&self) -> bool {
        let rates = PuntRates { burst: PuntRates::default().burst, ..self.punt_rates };
        let asks = self.icmp_errors_per_s > 0 || self.ping || self.punt || self.resolve;
        let asks = asks || self.bfd_sessions_max() > 0;
        asks || rates != PuntRates::default() || self.is_hosted()
    }

    /// Whether the host has some interface too.
    pub fn is_hosted(&self) -> bool {
        self.ports.iter().any(|port| port.host_interface.is_some())
            || self.interfaces.iter().any(|one| one.host_interface.is_some())
    }

    /// Whether several workers tell one another anything: of next hops that are watched, and of
    /// neighbours.
    pub fn hands_over(&self) -> bool {
        self.core > 1 && (self.resolve || self.bfd_sessions_max() > 0)
    }

    /// Whether interfaces are told apart, or packets looked at that are not forwarded.
    pub fn is_plain(&self) -> bool {
        self.vrfs == 0 && self.interfaces.is_empty() && !self.is_host()
    }
}

impl Config {
    /// All interfaces by their numbers: the ports' own, then those with a VLAN as they are listed.
    pub fn all_interfaces(&self) -> Vec<Resolved> {
        self.placed_interfaces().into_iter().map(|(one, _)| one).collect()
    }

    /// The interfaces that the host has too.
    pub fn host_interfaces(&self) -> Vec<HostInterface> {
        let names = self.port_names();
        let seen = |(number, (one, place)): (u16, (Resolved, Option<HostPlace>))| {
            let Resolved { mac, vlan, mtu, ip, ipv6, vrf, .. } = one;
            let (place, mac, port) = (place?, mac.0, names[usize::from(one.port.0)]);
            Some(HostInterface { place, number, mac, port, vlan, mtu, ip, ipv6, vrf })
        };
        (0..).zip(self.placed_interfaces()).filter_map(seen).collect()
    }

    /// All interfaces with their places at the host.
    fn placed_interfaces(&self) -> Vec<(Resolved, Option<HostPlace>)> {
        let ports = self.all_ports();
        let own = (0..).zip(&ports).map(|(number, port)| {
            let is_its = |one: &&Interface| one.port == port.name && one.vlan.is_none();
            let said = self.interfaces.iter().find(is_its);
            let place = port.host_interface.or(said.and_then(|one| one.host_interface));
            let own = Resolved {
                port: PortId(number),
                vlan: 0,
                vrf: said.map_or(0, |one| one.vrf),
                mac: port.mac,
                ip: port.ip,
                ipv6: port.ipv6.filter(|_| self.ipv6),
                mtu: said.map_or(0, |one| one.mtu),
                urpf: said.map_or(ReversePath::None, |one| one.urpf),
                vxlan: None,
                is_hosted: place.is_some(),
            };
            (own, place)
        });
        let names = self.port_names();
        let tagged = self.interfaces.iter().filter_map(|one| {
            let port = number_of(&names, one.port)?;
            let own = Resolved {
                port,
                vlan: one.vlan?,
                vrf: one.vrf,
                mac: ports[usize::from(port.0)].mac,
                ip: one.ip,
                ipv6: one.ipv6.filter(|_| self.ipv6),
                mtu: one.mtu,
                urpf: one.urpf,
                vxlan: one.vxlan,
                is_hosted: one.host_interface.is_some(),
            };
            Some((own, one.host_interface))
        });
        own.chain(tagged).collect()
    }
}

impl Config {
    /// Sessions of BFD for which there is room.
    pub fn bfd_sessions_max(&self) -> u32 {
        let listed = self.next_hops.iter().filter(|hop| hop.bfd.is_some()).count() as u32;
        match (self.bfd_capacity, listed) {
            (0, 0) => 0,
            (0, listed) => listed + BFD_SPARE,
            (capacity, _) => capacity,
        }
    }

    /// Members that a group may have.
    pub const MEMBERS_MAX: u32 = 64;

    /// Groups that there may be.
    pub const GROUPS_MAX: u32 = 65_536;

    /// All members of all groups: the group, from 0, the number of the next hop and its weight.
    pub fn all_members(&self) -> impl Iterator<Item = (u32, u32, u16)> + '_ {
        (0..).zip(&self.next_hop_groups).flat_map(|(group, one)| {
            one.members.iter().map(move |member| (group, member.next_hop.number, member.weight))
        })
    }

    /// Groups that the configuration has.
    pub fn groups(&self) -> u32 {
        self.next_hop_groups.len() as u32
    }

    /// Groups for which there is room.
    pub fn groups_max(&self) -> u32 {
        match (self.ecmp_capacity, self.groups()) {
            (0, 0) => 0,
            (0, groups) => (groups + GROUPS_SPARE).min(Config::GROUPS_MAX),
            (capacity, _) => capacity,
        }
    }
}

impl Config {
    /// Most rules of a list.
    pub const RULES_MAX: u32 = 65_536;

    /// Most policers.
    pub const POLICERS_MAX: u32 = POLICERS_MAX;

    /// The rules of a list by their numbers: 10 for the first, ten more for each further one.
    pub fn all_rules(&self, list: List) -> Vec<(u32, AclRule)> {
        (1..).map(|place| 10 * place).zip(self.rules_of(list).copied()).collect()
    }

    /// Rules for which a list has room.
    pub fn rules_max(&self, list: List) -> u32 {
        match (self.acl_capacity, self.rules_of(list).count() as u32) {
            (0, 0) => 0,
            (0, configured) => (configured + RULES_SPARE).min(Config::RULES_MAX),
            (capacity, _) => capacity,
        }
    }

    /// The policers by their numbers.
    pub fn all_policers(&self) -> impl Iterator<Item = (u32, Policer)> + '_ {
        (0..).zip(self.policers.iter().copied())
    }

    /// Policers for which there is room.
    pub fn policers_max(&self) -> u32 {
        match (self.police_by, self.policer_capacity) {
            (PoliceBy::None, _) => 0,
            (_, 0) => (self.policers.len() as u32 + POLICERS_SPARE).min(Config::POLICERS_MAX),
            (_, capacity) => capacity,
        }
    }
}

/// Sessions of BFD for which there is room beyond the configured ones.
const BFD_SPARE: u32 = 64;

/// Groups for which there is room beyond the configured ones.
const GROUPS_SPARE: u32 = 64;

/// Rules for which there is room beyond the configured ones.
const RULES_SPARE: u32 = 256;

/// Policers for which there is room beyond the configured ones.
const POLICERS_SPARE: u32 = 64;
