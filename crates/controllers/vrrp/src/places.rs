//! What the keys mean on the function: the interface of each virtual router, and its protocol's
//! configuration.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_kit::erased::{AnyUpdate, Configured};
use function_kit::{HostInterface, Invalid};
use protocol_kit::Interface;
use protocol_vrrp::{self as vrrp, Coverage, Effect, Group, Key, Tracked};
use serde_json::{Value, json};
use wire::MacAddr;

use crate::config::{Checksum, Config, VirtualRouter, invalid, key};

/// A virtual router at its interface.
pub(crate) struct Place {
    /// The name of the interface at the host.
    pub name: String,
    /// The name of its group.
    group: Option<String>,
    /// The changes that make its addresses the function's own, and those that take them away.
    pub set: Vec<AnyUpdate>,
    pub remove: Vec<AnyUpdate>,
    /// Its protocol's configuration, but for the kernel's number of the interface.
    config: vrrp::Config,
}

/// The virtual routers in the order of the configuration, and the names of what they track.
pub(crate) struct Places {
    /// The virtual routers.
    pub all: Vec<Place>,
    /// Tracked interfaces by their numbers as objects.
    pub tracked: Vec<String>,
    /// The changes by which the function is not the active one, and is it; none where it has none.
    pub set_active: Option<[AnyUpdate; 2]>,
}

impl Places {
    /// Looks at a function, which has to have these interfaces and to take virtual addresses.
    ///
    /// # Errors
    /// What does not fit.
    pub fn of(function: Option<&dyn Configured>, config: &Config) -> Result<Places, Invalid> {
        let function = function.ok_or_else(none_takes)?;
        let active = |active: bool| function.update(&json!({"set-active": {"active": active}}));
        let set_active = [active(false), active(true)];
        let set_active = match set_active {
            [Ok(backup), Ok(active)] => Some([backup, active]),
            _ => None,
        };
        let mut places = Places { all: Vec::new(), tracked: Vec::new(), set_active };
        for (number, one) in config.routers.iter().enumerate() {
            let place = places.place(function, number, one)?;
            places.all.push(place);
        }
        places.join(config);
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
        function: &dyn Configured,
        number: usize,
        one: &VirtualRouter,
    ) -> Result<Place, Invalid> {
        let hosts = function.host_interfaces();
        let named = |name: &str| hosts.iter().find(|host| host.place.name().to_string() == name);
        let unknown = |of: &str, name: &str| {
            let what = format!("is `{name}`, which is no host interface of the function");
            invalid(&key(number, of), what, "Give an interface of the function this name")
        };
        let host = named(&one.interface).ok_or_else(|| unknown("interface", &one.interface))?;
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
            (true, true) => host.ipv6.map(|_| link_local(host.mac).into()),
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
        let updates = |of: fn(&HostInterface, MacAddr, IpAddr, bool) -> Value| {
            let mac = config.key.mac();
            let all = one.addresses.iter().map(|&address| of(host, mac, address, one.accept));
            all.map(|update| function.update(&update)).collect::<Result<Vec<_>, _>>()
        };
        let (set, remove) = (updates(set), updates(remove));
        let (Ok(set), Ok(remove)) = (set, remove) else { return Err(none_takes()) };
        let (name, group) = (one.interface.clone(), one.group.clone());
        Ok(Place { name, group, set, remove, config })
    }

    /// Virtual routers of a group are numbered with it, and each tracks what one of them does: their
    /// priorities stay the same.
    fn join(&mut self, config: &Config) {
        for (number, one) in config.routers.iter().enumerate() {
            let Some(name) = &one.group else { continue };
            let is_its = |other: &usize| config.routers[*other].group.as_ref() == Some(name);
            let all: Vec<usize> = (0..config.routers.len()).filter(is_its).collect();
            let size = all.len() as u32;
            self.all[number].config.group = Some(Group { number: all[0] as u32, size });
            for other in all.into_iter().filter(|&other| other != number) {
                let theirs = config.routers[other].track.iter();
                for track in theirs {
                    let object = self.object(&track.interface);
                    let tracked = &mut self.all[number].config.tracked;
                    if tracked.iter().all(|known| known.object != object) {
                        let effect = Effect::Decrement(track.decrement);
                        tracked.push(Tracked { object, effect });
                    }
                }
            }
        }
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

    /// The name of its group, if it is in one.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Its number and family.
    pub fn key(&self) -> Key {
        self.config.key
    }

    /// The virtual addresses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.config.addresses
    }
}

fn set(host: &HostInterface, mac: MacAddr, address: IpAddr, accept: bool) -> Value {
    let mac = mac.to_string();
    let HostInterface { port, vlan, .. } = host;
    json!({"set-virtual": {"port": port, "vlan": tag(*vlan), "mac": mac, "address": address,
        "accept": accept}})
}

fn remove(host: &HostInterface, _: MacAddr, address: IpAddr, _: bool) -> Value {
    let HostInterface { port, vlan, .. } = host;
    json!({"remove-virtual": {"port": port, "vlan": tag(*vlan), "address": address}})
}

fn tag(vlan: u16) -> Option<u16> {
    (vlan > 0).then_some(vlan)
}

fn none_takes() -> Invalid {
    let what = "vrrp controls a function that takes virtual addresses".to_owned();
    invalid("name", what, "Remove the controller, or choose an l3-router or a cgnat")
}

/// The link-local address that the kernel gives an interface (RFC 4291 appendix A).
fn link_local(mac: MacAddr) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let [first, second] = [u16::from_be_bytes([a ^ 2, b]), u16::from_be_bytes([c, 0xff])];
    let [third, last] = [u16::from_be_bytes([0xfe, d]), u16::from_be_bytes([e, f])];
    Ipv6Addr::new(0xfe80, 0, 0, 0, first, second, third, last)
}
