//! To which next hop or group a row leads, and those that a row needs and nobody has listed.
use std::collections::HashMap;
use std::net::IpAddr;

use function_kit::sections::Mac;
use rows::{Cells, Way};
use wire::MacAddr;

use super::super::config::{
    Config, Group, HopName, Link, Member, NextHop, PortName, Resolved, group_number, network,
    number_of,
};

/// The next hops and groups of a configuration, by what rows say of them.
pub(super) struct Targets<'a> {
    config: &'a mut Config,
    interfaces: Vec<Resolved>,
    links: Vec<Link>,
    ports: Vec<PortName>,
    /// Interfaces by names of the host or of ports.
    devices: HashMap<String, u16>,
    by_address: HashMap<IpAddr, Vec<u32>>,
    /// Groups by their members with weights.
    groups: HashMap<Vec<(u32, u16)>, u32>,
    /// What the last row said, and where that led.
    last: Option<(u16, String, u32)>,
}

impl<'a> Targets<'a> {
    pub fn new(config: &'a mut Config) -> Targets<'a> {
        let mut by_address = HashMap::<IpAddr, Vec<u32>>::new();
        for (number, hop) in config.all_next_hops() {
            for address in addresses(&hop) {
                by_address.entry(address).or_default().push(number);
            }
        }
        let groups = (0..).zip(&config.next_hop_groups).map(|(number, group)| {
            let members = group.members.iter().map(|one| (one.next_hop.number, one.weight));
            (sorted(members.collect()), number)
        });
        let groups = groups.collect();
        let (interfaces, ports) = (config.all_interfaces(), config.port_names());
        let mut devices = HashMap::new();
        for (number, one) in (0..).zip(&interfaces) {
            if let Some(port) = ports.get(usize::from(one.port.0)) {
                let name = match one.vlan {
                    0 => port.to_string(),
                    vlan => format!("{port}.{vlan}"),
                };
                devices.insert(name, number);
            }
        }
        for one in config.host_interfaces() {
            devices.insert(one.place.name().to_string(), one.number);
        }
        let links = config.links().collect();
        Targets { config, interfaces, links, ports, devices, by_address, groups, last: None }
    }

    /// Where the keys of a row lead.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of_cells(&mut self, vrf: u16, cells: &Cells<'_>) -> Result<u32, String> {
        match (cells.get("next-hop"), cells.get("group")) {
            (Some(_), Some(_)) => {
                Err("leads to a next hop and to a group; keep one of both".to_owned())
            }
            (Some(text), None) => self.next_hop(vrf, text),
            (None, Some(text)) => {
                let count = self.config.next_hop_groups.len();
                let number = text.parse().ok().filter(|number: &u32| (*number as usize) < count);
                let number = number.ok_or_else(|| {
                    format!(
                        "there is no group `{text}`; number those of `next-hop-groups` from 0, of \
                         which there are {count}"
                    )
                })?;
                Ok(group_number(number))
            }
            (None, None) => Err("leads nowhere; write the next hop behind the prefix, by number \
                                 name or address, or give one to the file as `next-hop`"
                .to_owned()),
        }
    }

    /// Where all ways of a route lead together.
    ///
    /// # Errors
    /// A way that no next hop is for.
    pub fn of_all(&mut self, vrf: u16, ways: &[Way]) -> Result<u32, String> {
        let mut members = Vec::new();
        for way in ways {
            let via = way.via.ok_or("has a way without a next hop; write `via ADDRESS`")?;
            let hop = self.at(vrf, via, way.dev.as_deref()).ok_or_else(|| nobody(&via))?;
            match members.iter_mut().find(|(one, _)| *one == hop) {
                Some((_, weight)) => *weight = u16::saturating_add(*weight, way.weight),
                None => members.push((hop, way.weight)),
            }
        }
        match members[..] {
            [(hop, _)] => Ok(hop),
            _ => self.group(members),
        }
    }

    /// Where the first way leads that there is a next hop for.
    pub fn first_of(&mut self, vrf: u16, ways: &[Way]) -> Option<u32> {
        ways.iter().find_map(|way| self.at(vrf, way.via?, way.dev.as_deref()))
    }

    /// Where packets are dropped: a group without members.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn nowhere(&mut self) -> Result<u32, String> {
        self.group(Vec::new())
    }

    fn next_hop(&mut self, vrf: u16, text: &str) -> Result<u32, String> {
        if let Some((of, said, found)) = &self.last
            && (*of, &**said) == (vrf, text)
        {
            return Ok(*found);
        }
        let found = match (text.parse::<u32>(), text.parse::<IpAddr>()) {
            (Ok(number), _) if (number as usize) < self.config.next_hops.len() => number,
            (_, Ok(address)) => self.at(vrf, address, None).ok_or_else(|| nobody(&address))?,
            _ => self.named(text)?,
        };
        self.last = Some((vrf, text.to_owned(), found));
        Ok(found)
    }

    fn named(&self, text: &str) -> Result<u32, String> {
        let name = HopName::try_from(text.to_owned()).ok();
        let found = name.and_then(|name| self.config.hop_names.number(name));
        found.ok_or_else(|| format!("there is no next hop `{text}`; {}", self.config.known_hops()))
    }

    /// The next hop with an address at an interface, if one is named: best in the VRF of the route,
    /// and one that is added if none is there and its address is on a link.
    fn at(&mut self, vrf: u16, address: IpAddr, device: Option<&str>) -> Option<u32> {
        let device = device.and_then(|name| self.devices.get(name).copied());
        let known = self.by_address.get(&address).into_iter().flatten().copied();
        let interface =
            |number: u32| self.interface_of(self.config.next_hops.get(number as usize)?);
        let known = known.filter_map(|number| Some((number, interface(number)?)));
        let known = known.filter(|(_, (at, _))| device.is_none_or(|device| device == *at));
        if let Some((number, _)) = known.min_by_key(|(number, (_, of))| (*of != vrf, *number)) {
            return Some(number);
        }
        self.add(vrf, address, device)
    }

    /// The number of the interface behind which a next hop is, and its VRF.
    fn interface_of(&self, hop: &NextHop) -> Option<(u16, u16)> {
        let port = number_of(&self.ports, hop.port)?;
        let vlan = hop.vlan.unwrap_or(0);
        let is_its = |one: &Resolved| one.port == port && one.vlan == vlan;
        let at = self.interfaces.iter().position(is_its)?;
        Some((at as u16, self.interfaces.get(at)?.vrf))
    }

    /// Lists a next hop whose neighbour will be asked for its Ethernet address.
    fn add(&mut self, vrf: u16, address: IpAddr, device: Option<u16>) -> Option<u32> {
        let is_local = matches!(address, IpAddr::V6(one) if one.is_unicast_link_local());
        let is_on = |link: &&Link| {
            link.vrf == vrf
                && device.is_none_or(|device| device == link.interface)
                && link.address != address
                && link.address.is_ipv4() == address.is_ipv4()
                && network(address, link.len) == network(link.address, link.len)
        };
        let interface = match is_local {
            true => device?,
            false => self.links.iter().find(is_on)?.interface,
        };
        let count = self.config.next_hops.len() as u32;
        let is_possible = self.config.resolve
            && count < self.config.next_hops_max().min(Config::NEXT_HOPS_MAX)
            && (address.is_ipv4() || self.config.ipv6);
        let one = self.interfaces.get(usize::from(interface)).filter(|_| is_possible)?;
        let (ip, ipv6) = match address {
            IpAddr::V4(address) => (Some(address), None),
            IpAddr::V6(address) => (None, Some(address)),
        };
        let hop = NextHop {
            port: *self.ports.get(usize::from(one.port.0))?,
            vlan: Some(one.vlan).filter(|vlan| *vlan > 0),
            mac: Mac(MacAddr::ZERO),
            source: None,
            ip,
            ipv6,
            bfd: None,
            name: None,
        };
        self.config.next_hops.push(hop);
        self.by_address.entry(address).or_default().push(count);
        Some(count)
    }

    /// The group of some next hops, listed if it is not yet.
    fn group(&mut self, members: Vec<(u32, u16)>) -> Result<u32, String> {
        let members = sorted(members);
        if let Some(number) = self.groups.get(&members) {
            return Ok(group_number(*number));
        }
        if members.len() > Config::MEMBERS_MAX as usize {
            let most = Config::MEMBERS_MAX;
            return Err(format!("has {} next hops; a group has {most} at most", members.len()));
        }
        let number = self.config.groups();
        if number >= Config::GROUPS_MAX {
            let most = Config::GROUPS_MAX;
            return Err(format!("needs another group of next hops; there are {most} at most"));
        }
        let one = |&(next_hop, weight): &(u32, u16)| Member { next_hop: next_hop.into(), weight };
        self.config.next_hop_groups.push(Group { members: members.iter().map(one).collect() });
        self.groups.insert(members, number);
        Ok(group_number(number))
    }
}

fn addresses(hop: &NextHop) -> impl Iterator<Item = IpAddr> {
    hop.ip.map(IpAddr::from).into_iter().chain(hop.ipv6.map(IpAddr::from))
}

fn sorted(mut members: Vec<(u32, u16)>) -> Vec<(u32, u16)> {
    members.sort_unstable();
    members
}

fn nobody(address: &IpAddr) -> String {
    format!(
        "the router has no next hop {address}; list it in `next-hops`, or set `resolve: true` if \
         it is on a link"
    )
}
