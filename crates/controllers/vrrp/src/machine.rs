//! The machine: whose turn it is becomes changes of the function.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{Action, Controller, Event, EventKind, Happening, Link, Setup};
use function_kit::Invalid;
use function_kit::erased::Configured;
use function_kit::sections::Prefixed;
use protocol_kit::{
    Arrival, Departure, Input, Interface, Machine, Neighbour, Output, Socket, Time, Trace,
};
use protocol_vrrp::{self as vrrp, Command, Reason, Report, State};
use serde_json::Value;

use crate::account::Account;
use crate::alarms::{Alarms, Cause};
use crate::config::Config;
use crate::places::{OBJECTS_MAX, Places};
use crate::router::Router;
use crate::show::{neighbours, show};
use crate::synchrony::Synchrony;
use crate::tracked::{Object, route_of};

/// VRRP for a router or a NAT.
pub struct Vrrp {
    vrrp: vrrp::Vrrp,
    /// What departs next.
    departing: Option<Departure>,
    places: Places,
    routers: Vec<Router>,
    account: Account,
    alarms: Alarms,
    /// The host's interfaces of the router by name.
    links: BTreeMap<String, Interface>,
    /// Whether the kernel's interfaces have a link, as far as they were told.
    up: BTreeMap<Interface, bool>,
    /// Next hops whose sessions are up, as workers have told.
    hops: BTreeSet<u64>,
    synchrony: Synchrony,
    /// Routes of VRFs that the router has, as workers have told.
    routes: BTreeSet<(Prefixed<IpAddr>, u16)>,
    /// What workers have told and did not reach the controller.
    missed: u64,
    now: Time,
}

impl Controller for Vrrp {
    const NAME: &'static str = "vrrp";
    const SUMMARY: &'static str =
        "VRRP for an l3-router or a cgnat: virtual addresses with other ones";

    type Config = Config;

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        Config::validate(config)
    }

    fn new(config: &Config, setup: Setup<'_>) -> Result<Vrrp, Invalid> {
        config.validate()?;
        let places = Places::of(setup.function, config)?;
        let count = places.all.len();
        let mut account = Account::default();
        // What an earlier life has left: nobody is active who has not listened first.
        if let Some([backup, _]) = &places.set_active {
            account.add(std::slice::from_ref(backup));
        }
        places.all.iter().for_each(|place| account.add(&place.remove));
        account.add(&places.watch);
        Ok(Vrrp {
            vrrp: vrrp::Vrrp::new(ROUTERS_MAX, OBJECTS_MAX),
            departing: None,
            places,
            routers: (0..count).map(|_| Router::default()).collect(),
            account,
            alarms: Alarms::default(),
            links: BTreeMap::new(),
            up: BTreeMap::new(),
            hops: BTreeSet::new(),
            synchrony: Synchrony::default(),
            routes: BTreeSet::new(),
            missed: 0,
            now: Time::ZERO,
        })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        vec!["set-virtual", "remove-virtual", "set-active", "watch-route", "unwatch-routes"]
    }

    /// Virtual routers that are the same go on as they are.
    fn reload(&mut self, config: &Config, function: Option<&dyn Configured>, now: Time) -> bool {
        let Ok(places) = Places::of(function, config) else { return false };
        self.now = now;
        self.change_to(places, now);
        true
    }

    fn show(&self) -> Value {
        let tracked = self.places.tracked.iter().map(|object| (object, self.works(object)));
        let counted = (self.account.refused, self.missed);
        let function = (tracked, self.is_synchronised(), counted);
        show(&self.vrrp, &self.places, (&self.routers, self.now), function)
    }
}

impl Machine for Vrrp {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        self.now = now;
        match input {
            Input::Arrival(arrival) => {
                if let Arrival::Link { interface, is_up } = arrival {
                    self.up.insert(interface, is_up);
                    self.track(now);
                }
                self.vrrp.input(now, Input::Arrival(arrival));
            }
            Input::Command(Event::Links(links)) => self.link(links, now),
            Input::Command(Event::Applied { first, count, .. }) => {
                self.account.applied(first.saturating_add(count));
            }
            Input::Command(Event::Refused { number, .. }) => {
                if let Some(router) = self.account.refuse(number) {
                    self.refused(router, now);
                }
            }
            Input::Command(Event::Happened(what)) => self.happened(what, now),
            Input::Command(Event::Missed { count }) => self.missed += count,
            Input::Command(Event::Punted(_) | Event::TimeOfDay(_) | Event::Ends) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        self.now = now;
        self.expire(now);
        while self.departing.is_none() {
            match self.vrrp.poll(now) {
                Some(Output::Departure(departure)) => self.departing = Some(departure),
                Some(Output::Report(report)) => self.told(report, now),
                None => break,
            }
        }
        if self.account.is_waiting() {
            return Some(Output::Report(Action::Passing(self.account.hand_over())));
        }
        // An advertisement leads packets here, which the function must be ready for.
        if let Some(departure) = self.departing.take_if(|_| !self.account.is_open()) {
            return Some(Output::Departure(departure));
        }
        self.alarms.next().map(|alarm| Output::Report(Action::Alarm(alarm)))
    }

    fn deadline(&self) -> Option<Time> {
        if self.alarms.is_waiting() || self.account.is_waiting() {
            return Some(Time::ZERO);
        }
        let own = self.routers.iter().flat_map(|router| [router.mended, router.retry]);
        // While something waits to depart, an answer is what it waits for.
        let protocol = self.vrrp.deadline().filter(|_| self.departing.is_none());
        own.chain([protocol]).flatten().min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        neighbours(&self.vrrp, &self.places, (&self.routers, now))
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        self.vrrp.trace(socket)
    }
}

impl Vrrp {
    /// Virtual routers begin where their interface is there, and end where it is not.
    fn link(&mut self, links: Vec<Link>, now: Time) {
        self.links = links.into_iter().map(|link| (link.name, link.kernel)).collect();
        let kernel: Vec<Interface> = self.links.values().copied().collect();
        self.up.retain(|interface, _| kernel.contains(interface));
        self.settle(now);
    }

    /// The same of those that are there now.
    fn settle(&mut self, now: Time) {
        for number in 0..self.routers.len() as u32 {
            let place = &self.places.all[number as usize];
            if place.is_retired {
                continue;
            }
            let wanted = self.links.get(&place.name).copied();
            let at = self.routers[number as usize].at;
            match wanted {
                Some(_) => self.alarms.lower((number, place.source()), Cause::NoInterface),
                None => {
                    let text = format!("the host has no interface `{}`", place.name);
                    self.alarms.raise((number, place.source()), Cause::NoInterface, text);
                }
            }
            if wanted == at {
                continue;
            }
            if at.is_some() {
                self.command(Command::Remove(number), now);
                self.enter(number, (State::Initialize, Reason::LinkDown), now);
            }
            if let Some(interface) = wanted {
                self.command(Command::Add(number, self.config(number, interface)), now);
            }
            // It takes part anew.
            let router = &mut self.routers[number as usize];
            (router.at, router.retry) = (wanted, None);
            let source = self.source(number);
            self.alarms.lower(source, Cause::Refused);
        }
        self.track(now);
    }

    /// Goes over to other virtual routers.
    fn change_to(&mut self, wanted: Places, now: Time) {
        let was_active = self.is_active();
        let others_tracked = self.places.tracked != wanted.tracked;
        let before = self.places.replace(wanted);
        if others_tracked {
            self.account.add(&self.places.watch);
        }
        let is_kept = |number: usize| {
            self.places.all.get(number).is_some_and(|place| place.is_like(&before[number]))
        };
        let gone: Vec<usize> = (0..before.len()).filter(|&number| !is_kept(number)).collect();
        for number in gone {
            let old = &before[number];
            if self.routers[number].at.is_some() {
                self.command(Command::Remove(number as u32), now);
            }
            if self.routers[number].state == State::Active {
                self.account.add(&old.remove);
            }
            self.alarms.forget((number as u32, old.source()));
            self.routers[number] = Router::default();
        }
        self.routers.resize_with(self.places.all.len(), Router::default);
        self.track(now);
        for (number, old) in before.iter().enumerate() {
            if !self.places.all[number].is_same(old) {
                self.change(number as u32, now);
            }
        }
        self.settle(now);
        if self.is_active() != was_active {
            self.set_active(!was_active);
        }
    }

    /// A worker tells of a next hop or a route, or of what another instance has told it.
    fn happened(&mut self, what: Happening, now: Time) {
        let was_synchronised = self.is_synchronised();
        if self.synchrony.note(what.worker, what.kind) {
            if self.is_synchronised() != was_synchronised {
                (0..self.routers.len() as u32).for_each(|number| self.change(number, now));
            }
            return;
        }
        let is_up = match what.kind {
            EventKind::Up => true,
            EventKind::Down => false,
            _ => return,
        };
        match route_of(what.subject) {
            None => set_to(&mut self.hops, what.subject, is_up),
            Some(place) => {
                if let Some(Object::Route(route, vrf)) = self.places.tracked.get(place) {
                    set_to(&mut self.routes, (*route, *vrf), is_up);
                }
            }
        }
        self.track(now);
    }

    /// Whether the function has all that another instance of it has; none if there is none.
    fn is_synchronised(&self) -> Option<bool> {
        self.synchrony.of(self.places.workers)
    }

    /// The protocol's configuration of a virtual router at an interface of the kernel. A function
    /// that has not all that another instance has takes over from it only if that one is silent.
    fn config(&self, number: u32, interface: Interface) -> vrrp::Config {
        let mut config = self.places.all[number as usize].at(interface);
        config.has_preemption &= self.is_synchronised() != Some(false);
        config
    }

    /// Lets the protocol know of another configuration of a virtual router.
    fn change(&mut self, number: u32, now: Time) {
        if let Some(interface) = self.routers[number as usize].at {
            self.command(Command::Change(number, self.config(number, interface)), now);
        }
    }

    /// Says which tracked interfaces have a link, and which next hops and routes are there.
    fn track(&mut self, now: Time) {
        for object in 0..self.places.tracked.len() as u32 {
            let is_up = self.works(&self.places.tracked[object as usize]);
            self.command(Command::Track { object, is_up }, now);
        }
    }

    fn works(&self, object: &Object) -> bool {
        match object {
            Object::Interface(name) => {
                let link = self.links.get(name);
                link.is_some_and(|link| *self.up.get(link).unwrap_or(&true))
            }
            Object::NextHop(number) => self.hops.contains(&u64::from(*number)),
            Object::Route(route, vrf) => self.routes.contains(&(*route, *vrf)),
        }
    }

    fn told(&mut self, report: Report, now: Time) {
        match report {
            Report::Changed { router, state, reason, .. } => {
                self.enter(router, (state, reason), now);
            }
            Report::Misconfigured { router, peer, what } => {
                let differs = match what {
                    vrrp::Told::Addresses => "advertises other virtual addresses",
                    vrrp::Told::Interval => "advertises at another interval",
                    vrrp::Told::Owner => "says that it owns the addresses, too",
                };
                let source = self.source(router);
                self.alarms.raise(source, Cause::Misconfigured, format!("{peer} {differs}"));
                self.routers[router as usize].mended = Some(now.after(MENDED));
            }
            Report::Split { router, peer } => {
                let source = self.source(router);
                self.alarms.raise(source, Cause::SplitBrain, format!("{peer} is active, too"));
            }
            Report::Healed { router } => {
                let source = self.source(router);
                self.alarms.lower(source, Cause::SplitBrain);
            }
            // What was checked at the start is not refused later.
            Report::Refused { .. } => {}
        }
    }

    /// A virtual router has another state. The function is the active one of several while all of
    /// its virtual routers are active.
    fn enter(&mut self, number: u32, (state, reason): (State, Reason), now: Time) {
        if self.is_active() && state != State::Active {
            self.set_active(false);
        }
        let router = &mut self.routers[number as usize];
        let was_active = router.state == State::Active;
        (router.state, router.reason, router.since) = (state, Some(reason), now);
        let place = &self.places.all[number as usize];
        if state == State::Active {
            router.activations += 1;
            self.account.give(number, &place.set);
        } else {
            if was_active {
                self.account.add(&place.remove);
            }
            self.alarms.lower((number, place.source()), Cause::SplitBrain);
        }
        if !was_active && self.is_active() {
            self.set_active(true);
        }
    }

    /// Whether there are virtual routers, and all are active.
    fn is_active(&self) -> bool {
        let own = self.routers.iter().zip(&self.places.all);
        let mut own = own.filter(|(_, place)| !place.is_retired).peekable();
        own.peek().is_some() && own.all(|(router, _)| router.state == State::Active)
    }

    fn set_active(&mut self, active: bool) {
        if let Some(both) = &self.places.set_active {
            self.account.add(std::slice::from_ref(&both[usize::from(active)]));
        }
    }

    /// The router does not take an address: the virtual router leaves it to others for a while.
    fn refused(&mut self, number: u32, now: Time) {
        if self.routers[number as usize].at.is_none() {
            return;
        }
        let text = "the function refuses a virtual address: it has it otherwise, or has no room";
        let source = self.source(number);
        self.alarms.raise(source, Cause::Refused, text.to_owned());
        self.routers[number as usize].retry = Some(now.after(RETRY));
        self.command(Command::Shutdown(number), now);
    }

    /// Does what is due by now.
    fn expire(&mut self, now: Time) {
        for number in 0..self.routers.len() as u32 {
            let router = &mut self.routers[number as usize];
            let is_due = |time: &mut Time| *time <= now;
            let is_mended = router.mended.take_if(is_due).is_some();
            let tries_again = router.retry.take_if(is_due).is_some();
            if is_mended {
                let source = self.source(number);
                self.alarms.lower(source, Cause::Misconfigured);
            }
            if tries_again {
                let source = self.source(number);
                self.alarms.lower(source, Cause::Refused);
                self.command(Command::Start(number), now);
            }
        }
    }

    fn source(&self, number: u32) -> (u32, String) {
        (number, self.places.all[number as usize].source())
    }

    fn command(&mut self, command: Command, now: Time) {
        self.vrrp.input(now, Input::Command(command));
    }
}

/// Something is in a set, or is not.
fn set_to<T: Ord>(set: &mut BTreeSet<T>, one: T, is_in: bool) {
    if is_in {
        set.insert(one);
    } else {
        set.remove(&one);
    }
}

/// Most virtual routers, as many as the list of the configuration has at most.
const ROUTERS_MAX: u32 = 255;

/// The protocol tells a mistake of another router once a minute while it lasts.
const MENDED: Duration = Duration::from_secs(130);

/// How long a virtual router takes no part whose address was refused.
const RETRY: Duration = Duration::from_secs(60);
