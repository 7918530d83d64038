//! What the keys mean on the router: the interface of each virtual router, and its protocol's
//! configuration.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_kit::Invalid;
use function_kit::erased::{Configured, config_of};
use function_kit::sections::Mac;
use function_l3_router::config::{self as l3, PortName};
use function_l3_router::{L3Router, Update};
use protocol_kit::Interface;
use protocol_vrrp::{self as vrrp, Coverage, Effect, Key, Tracked};

use crate::config::{Checksum, Config, VirtualRouter, invalid, key};

/// A virtual router at its interface.
#[derive(Clone, PartialEq)]
pub(crate) struct Place {
    /// The name of the interface at the host.
    pub name: String,
    port: PortName,
    vlan: Option<u16>,
    /// Its protocol's configuration, but for the kernel's number of the interface.
    config: vrrp::Config,
    /// Whether a reload has taken it away; another one may have its number then.
    pub is_retired: bool,
}

/// The virtual routers by their numbers, at first in the order of the configuration, and what they
/// track.
pub(crate) struct Places {
    /// The virtual routers.
    pub all: Vec<Place>,
    /// What is tracked, by its number as an object of the protocol.
    pub tracked: Vec<Object>,
}

/// Something that is tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// An interface, by its name at the host.
    Interface(String),
    /// A next hop of the router, by its number.
    NextHop(u32),
}

impl Places {
    /// Looks at a function, which has to be a router with these interfaces.
    ///
    /// # Errors
    /// What does not fit.
    pub fn of(function: Option<&dyn Configured>, config: &Config) -> Result<Places, Invalid> {
        let router = function.and_then(|function| config_of::<L3Router>(function));
        let router = router.ok_or_else(|| {
            let what = "vrrp controls an l3-router alone".to_owned();
            invalid("name", what, "Remove the controller, or choose another function")
        })?;
        let mut places = Places { all: Vec::new(), tracked: Vec::new() };
        for (number, one) in config.routers.iter().enumerate() {
            let place = places.place(router, number, one)?;
            places.all.push(place);
        }
        for (number, place) in places.all.iter().enumerate() {
            place.config.check(OBJECTS_MAX as usize).map_err(|why| {
                let remedy = "Change the keys of this virtual router";
                invalid(&key(number, "addresses"), format!("cannot be used: {why}"), remedy)
            })?;
        }
        Ok(places)
    }

    fn place(
        &mut self,
        router: &l3::Config,
        number: usize,
        one: &VirtualRouter,
    ) -> Result<Place, Invalid> {
        let hosts = router.host_interfaces();
        let named = |name: &str| hosts.iter().find(|host| host.place.name().to_string() == name);
        let unknown = |of: &str, name: &str| {
            let what = format!("is `{name}`, which is no `host-interface` of the router");
            invalid(&key(number, of), what, "Give an interface of the router this name")
        };
        let host = named(&one.interface).ok_or_else(|| unknown("interface", &one.interface))?;
        let own = router.all_interfaces()[usize::from(host.number)];
        let is_own = |address: &&IpAddr| match address {
            IpAddr::V4(address) => host.ip.is_some_and(|ip| ip.address == *address),
            IpAddr::V6(address) => host.ipv6.is_some_and(|ip| ip.address == *address),
        };
        if let Some(address) = one.addresses.iter().find(is_own) {
            let what = format!("has {address}, the interface's own address");
            let remedy = "Give the interface another address: an owner is not supported";
            return Err(invalid(&key(number, "addresses"), what, remedy));
        }
        let primary = match (one.is_v6(), one.peers.is_empty()) {
            (false, _) => host.ip.map(|ip| ip.address.into()),
            (true, true) => host.ipv6.map(|_| link_local(own.mac).into()),
            (true, false) => host.ipv6.map(|ip| ip.address.into()),
        };
        let primary: IpAddr = primary.ok_or_else(|| {
            let what = format!("is `{}`, which has no address of this family", one.interface);
            invalid(&key(number, "interface"), what, "Give the interface one")
        })?;
        let of_key = Key { interface: Interface(0), vrid: one.vrid, is_v6: one.is_v6() };
        let mut config = vrrp::Config::new(of_key, primary, one.addresses.clone());
        config.priority = one.priority;
        config.interval = Duration::from_millis(one.advert_interval_ms.into());
        config.has_preemption = one.preempt;
        config.preempt_delay = Duration::from_secs(one.preempt_delay_s.into());
        config.has_accept_mode = one.accept;
        config.peers.clone_from(&one.peers);
        config.coverage = match one.checksum {
            Checksum::Rfc9568 => Coverage::Message,
            Checksum::PseudoHeader => Coverage::PseudoHeader,
        };
        for track in &one.track {
            let object = match (&track.interface, track.next_hop) {
                (Some(name), _) => {
                    named(name).ok_or_else(|| unknown("track", name))?;
                    Object::Interface(name.clone())
                }
                (None, hop) => Object::NextHop(watched(router, number, hop.unwrap_or_default())?),
            };
            let object = self.object(object);
            config.tracked.push(Tracked { object, effect: Effect::Decrement(track.decrement) });
        }
        let port = router.port_names()[usize::from(own.port.0)];
        let vlan = (own.vlan > 0).then_some(own.vlan);
        Ok(Place { name: one.interface.clone(), port, vlan, config, is_retired: false })
    }

    /// The number of something that is tracked.
    fn object(&mut self, wanted: Object) -> u32 {
        let found = self.tracked.iter().position(|known| *known == wanted);
        let number = found.unwrap_or_else(|| {
            self.tracked.push(wanted);
            self.tracked.len() - 1
        });
        number as u32
    }

    /// Takes other virtual routers: one that was here before keeps its number, one that is gone is
    /// retired, and others have numbers that are free. Returns the places before, by number.
    pub fn replace(&mut self, wanted: Places) -> Vec<Place> {
        let before = std::mem::take(&mut self.all);
        let mut slots: Vec<Option<Place>> = before.iter().map(|_| None).collect();
        let mut further = Vec::new();
        for place in wanted.all {
            let is_it = |old: &Place| !old.is_retired && old.identity() == place.identity();
            match before.iter().position(is_it) {
                Some(number) => slots[number] = Some(place),
                None => further.push(place),
            }
        }
        let mut further = further.into_iter();
        for slot in &mut slots {
            if slot.is_none() {
                *slot = further.next();
            }
        }
        slots.extend(further.map(Some));
        let retired = |number: usize| Place { is_retired: true, ..before[number].clone() };
        let filled = slots.into_iter().enumerate();
        self.all = filled.map(|(number, slot)| slot.unwrap_or_else(|| retired(number))).collect();
        self.tracked = wanted.tracked;
        before
    }
}

/// A next hop that may be tracked.
fn watched(router: &l3::Config, number: usize, hop: u32) -> Result<u32, Invalid> {
    let has_session = router.next_hops.get(hop as usize).is_some_and(|hop| hop.bfd.is_some());
    has_session.then_some(hop).ok_or_else(|| {
        let what = format!("has next hop {hop}, which is not one of the router's with `bfd`");
        invalid(&key(number, "track"), what, "Give the next hop `bfd`, or track another one")
    })
}

/// Most interfaces and next hops that are tracked.
pub(crate) const OBJECTS_MAX: u32 = 1024;

impl Place {
    /// The protocol's configuration at an interface of the kernel.
    pub fn at(&self, interface: Interface) -> vrrp::Config {
        let mut config = self.config.clone();
        config.key.interface = interface;
        config
    }

    /// What names it to an operator.
    pub fn source(&self) -> String {
        let Key { vrid, is_v6, .. } = self.config.key;
        let family = if is_v6 { "ipv6" } else { "ipv4" };
        format!("{} {family} vrid {vrid}", self.name)
    }

    /// What stays the same of it whatever else is configured.
    fn identity(&self) -> (&str, u8, bool) {
        (&self.name, self.config.key.vrid, self.config.key.is_v6)
    }

    /// Whether it differs from another one in nothing but what its protocol changes as it runs.
    pub fn is_like(&self, other: &Place) -> bool {
        let same = vrrp::Config {
            priority: other.config.priority,
            interval: other.config.interval,
            has_preemption: other.config.has_preemption,
            preempt_delay: other.config.preempt_delay,
            coverage: other.config.coverage,
            tracked: other.config.tracked.clone(),
            ..self.config.clone()
        };
        Place { config: same, ..self.clone() } == *other
    }

    /// Its number and family.
    pub fn key(&self) -> Key {
        self.config.key
    }

    /// The virtual addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.config.addresses
    }

    /// The changes that make its addresses the router's own.
    pub fn set(&self, accept: bool) -> impl Iterator<Item = Update> + '_ {
        let (port, vlan, mac) = (self.port, self.vlan, Mac(self.config.key.mac()));
        let set = move |&address| Update::SetVirtual { port, vlan, mac, address, accept };
        self.config.addresses.iter().map(set)
    }

    /// The changes that take them away.
    pub fn remove(&self) -> impl Iterator<Item = Update> + '_ {
        let (port, vlan) = (self.port, self.vlan);
        let remove = move |&address| Update::RemoveVirtual { port, vlan, address };
        self.config.addresses.iter().map(remove)
    }
}

/// The link-local address that the kernel gives an interface (RFC 4291 appendix A).
fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0.0;
    let [first, second] = [u16::from_be_bytes([a ^ 2, b]), u16::from_be_bytes([c, 0xff])];
    let [third, last] = [u16::from_be_bytes([0xfe, d]), u16::from_be_bytes([e, f])];
    Ipv6Addr::new(0xfe80, 0, 0, 0, first, second, third, last)
}
