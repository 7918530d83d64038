//! What the keys mean on the function: the interface of each virtual router, and its protocol's
//! configuration.

use std::net::IpAddr;
use std::time::Duration;

use controller_kit::keys::invalid;
use function_kit::erased::{AnyUpdate, Configured};
use function_kit::{HostInterface, Invalid};
use protocol_kit::Interface;
use protocol_vrrp::{self as vrrp, Coverage, Effect, Group, Key, Tracked};
use serde_json::{Value, json};
use wire::MacAddr;
use wire::ipv6::link_local;

use crate::config::{Checksum, Config, VirtualRouter, key};
use crate::tracked::{self, Object};

/// A virtual router at its interface.
#[derive(Clone)]
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
    /// The changes by which the router tells of the routes among them, and of no others.
    pub watch: Vec<AnyUpdate>,
    /// The changes by which the function is not the active one, and is it; none where it has none.
    pub set_active: Option<[AnyUpdate; 2]>,
    /// How many workers the function has.
    pub workers: usize,
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
        let workers = function.workers();
        let (all, tracked, watch) = (Vec::new(), Vec::new(), Vec::new());
        let mut places = Places { all, tracked, watch, set_active, workers };
        for (number, one) in config.routers.iter().enumerate() {
            let place = places.place(function, number, one)?;
            places.all.push(place);
        }
        places.join();
        places.watch = tracked::watch(function, &places.tracked)?;
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
            let object = match (&track.interface, track.route) {
                (Some(name), _) => {
                    named(name).ok_or_else(|| unknown("track", name))?;
                    Object::Interface(name.clone())
                }
                (None, Some(route)) => {
                    may_be_watched(function, number, track.vrf)?;
                    Object::Route(route, track.vrf)
                }
                (None, None) => {
                    let hop = track.next_hop.unwrap_or_default();
                    Object::NextHop(watched(function, number, hop)?)
                }
            };
            let object = self.object(object);
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
        Ok(Place { name, group, set, remove, config, is_retired: false })
    }

    /// Virtual routers of a group have its number, which is that of its first one, and each tracks
    /// what one of them does: their priorities stay the same.
    fn join(&mut self) {
        for number in 0..self.all.len() {
            let all = self.group_of(number);
            let Some(&first) = all.first() else { continue };
            let size = all.len() as u32;
            self.all[number].config.group = Some(Group { number: first as u32, size });
            for other in all.into_iter().filter(|&other| other != number) {
                for theirs in self.all[other].config.tracked.clone() {
                    let tracked = &mut self.all[number].config.tracked;
                    if tracked.iter().all(|known| known.object != theirs.object) {
                        tracked.push(theirs);
                    }
                }
            }
        }
    }

    /// The numbers of all virtual routers of the group of one; none if it is in none.
    fn group_of(&self, number: usize) -> Vec<usize> {
        let is_its = |&other: &usize| {
            let [one, other] = [number, other].map(|number| &self.all[number]);
            let are_there = !one.is_retired && !other.is_retired;
            are_there && one.group.is_some() && one.group == other.group
        };
        (0..self.all.len()).filter(is_its).collect()
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

    /// Takes other virtual routers: one that was here before keeps its number, and a group of them
    /// its own; one that is gone is retired, and others have numbers that are free. Returns the
    /// places before, by number.
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
        self.join();
        (self.tracked, self.watch) = (wanted.tracked, wanted.watch);
        self.set_active = wanted.set_active;
        self.workers = wanted.workers;
        before
    }
}

/// A next hop that may be tracked.
fn watched(function: &dyn Configured, number: usize, hop: u32) -> Result<u32, Invalid> {
    let keys = function.keys();
    let of_hop = keys.get("next-hops").and_then(|hops| hops.get(hop as usize));
    let has_session = of_hop.is_some_and(|hop| hop.get("bfd").is_some_and(|bfd| !bfd.is_null()));
    has_session.then_some(hop).ok_or_else(|| {
        let what = format!("has next hop {hop}, which is not one of the router's with `bfd`");
        invalid(&key(number, "track"), what, "Give the next hop `bfd`, or track another one")
    })
}

/// Routes of a VRF may be tracked.
fn may_be_watched(function: &dyn Configured, number: usize, vrf: u16) -> Result<(), Invalid> {
    let key = key(number, "track");
    if tracked::forget(function).is_none() {
        let what = "has a route, and the function does not tell of routes".to_owned();
        return Err(invalid(&key, what, "Track something else, or choose an l3-router"));
    }
    let vrfs = function.keys().get("vrfs").and_then(Value::as_u64).unwrap_or_default();
    if u64::from(vrf) > vrfs {
        let what = format!("has VRF {vrf}, which the router has not");
        return Err(invalid(&key, what, "Choose one of the router's `vrfs`"));
    }
    Ok(())
}

/// Most interfaces, next hops and routes that are tracked.
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
        same == other.config && self.is_it(other)
    }

    /// Whether nothing of it differs from another one.
    pub fn is_same(&self, other: &Place) -> bool {
        self.config == other.config && self.is_it(other)
    }

    fn is_it(&self, other: &Place) -> bool {
        (&self.name, self.is_retired) == (&other.name, other.is_retired)
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
