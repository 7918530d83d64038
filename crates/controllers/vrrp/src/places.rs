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
pub(crate) struct Place {
    /// The name of the interface at the host.
    pub name: String,
    port: PortName,
    vlan: Option<u16>,
    /// Its protocol's configuration, but for the kernel's number of the interface.
    config: vrrp::Config,
}

/// The virtual routers in the order of the configuration, and the names of what they track.
pub(crate) struct Places {
    /// The virtual routers.
    pub all: Vec<Place>,
    /// Tracked interfaces by their numbers as objects.
    pub tracked: Vec<String>,
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
        let objects = places.tracked.len();
        for (number, place) in places.all.iter().enumerate() {
            place.config.check(objects).map_err(|why| {
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
            named(&track.interface).ok_or_else(|| unknown("track", &track.interface))?;
            let object = self.object(&track.interface);
            config.tracked.push(Tracked { object, effect: Effect::Decrement(track.decrement) });
        }
        let port = router.port_names()[usize::from(own.port.0)];
        let vlan = (own.vlan > 0).then_some(own.vlan);
        Ok(Place { name: one.interface.clone(), port, vlan, config })
    }

    /// The number of a tracked interface.
    fn object(&mut self, name: &str) -> u32 {
        let found = self.tracked.iter().position(|known| known == name);
        let number = found.unwrap_or_else(|| {
            self.tracked.push(name.to_owned());
            self.tracked.len() - 1
        });
        number as u32
    }
}

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
