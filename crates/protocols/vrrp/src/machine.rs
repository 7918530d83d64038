//! All virtual routers of a node: which one an advertisement is for, and when each wants something.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use protocol_kit::{
    Arrival, Content, Departure, Input, Interface, Machine, Output, Socket, Time, Trace,
};
use tables::wheel::Wheel;

use crate::config::{Config, Key, OWNER, RESIGNS, Unusable};
use crate::control::{Command, Report, View};
use crate::counters::Counters;
use crate::frames::{self, Payload, TTL};
use crate::packet::{Ends, Malformed, Packet};
use crate::place::Place;
use crate::redact::redact;
use crate::router::{Heard, Reason, Router, State};
use crate::sockets::{Sockets, Use};

/// The machine of VRRP. Its memory follows from the numbers that it was made for.
#[derive(Debug)]
pub struct Vrrp {
    pub(crate) places: Vec<Place>,
    keys: BTreeMap<Key, u32>,
    /// A timer for each place, and one more for sockets that have failed.
    wheel: Wheel,
    /// Places that want something now; each is there once.
    ready: VecDeque<u32>,
    /// Places whose state may have changed.
    changed: BTreeSet<u32>,
    sockets: Sockets,
    /// What routers that were removed still have to send.
    farewells: VecDeque<(Use, Departure)>,
    /// Interfaces without link.
    down: BTreeSet<Interface>,
    /// Whether each tracked object is up.
    objects: Vec<bool>,
    refused: VecDeque<(u32, Unusable)>,
    counters: Counters,
}

impl Machine for Vrrp {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Arrival(Arrival::Frame { interface, bytes, .. }) => match frames::parse(bytes) {
                None => self.counters.malformed += 1,
                Some(packet) if packet.ends.to != frames::group(packet.ends.to.is_ipv6()) => {
                    self.counters.destination += 1;
                }
                Some(packet) => self.receive(interface, packet, true, now),
            },
            Input::Arrival(Arrival::Packet { interface, from, to, ttl, bytes, .. }) => {
                let packet = Payload { ends: Ends { from, to }, ttl, bytes };
                self.receive(interface, packet, false, now);
            }
            Input::Arrival(Arrival::Link { interface, is_up }) => {
                let has_changed = match is_up {
                    true => self.down.remove(&interface),
                    false => self.down.insert(interface),
                };
                if has_changed {
                    self.review_all(now);
                }
            }
            Input::Arrival(Arrival::Failed { socket }) => self.failed(socket, now),
            // It has opened nothing for what else arrives.
            Input::Arrival(_) => {}
            Input::Command(command) => self.obey(command, now),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if let Some((number, why)) = self.refused.pop_front() {
            return Some(Output::Report(Report::Refused { number, why }));
        }
        while let Some(timer) = self.wheel.due(now.0) {
            self.expire(timer, now);
        }
        if let Some(departure) = self.sockets.next() {
            return Some(Output::Departure(departure));
        }
        while let Some((by, departure)) = self.farewells.pop_front() {
            let is_open = self.sockets.open(by).is_some();
            self.sockets.release(by);
            if is_open {
                self.counters.sent += 1;
                return Some(Output::Departure(departure));
            }
        }
        // Before an advertisement departs, which leads packets here.
        while let Some(number) = self.changed.pop_first() {
            if let Some(report) = self.change_of(number) {
                return Some(Output::Report(report));
            }
        }
        while let Some(&number) = self.ready.front() {
            if let Some(output) = self.next_of(number) {
                return Some(output);
            }
            self.ready.pop_front();
            self.places[number as usize].is_ready = false;
            self.settle(number);
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        let is_waiting = !self.ready.is_empty()
            || !self.changed.is_empty()
            || !self.refused.is_empty()
            || !self.farewells.is_empty()
            || self.sockets.is_due();
        if is_waiting { Some(Time::ZERO) } else { self.wheel.deadline().map(Time) }
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(Trace { protocol: "vrrp", content: Content::Redacted(redact) })
    }
}

impl Vrrp {
    /// Creates a machine for virtual routers with numbers below `limit`, and for tracked objects
    /// with numbers below `objects`.
    pub fn new(limit: u32, objects: u32) -> Vrrp {
        Vrrp {
            places: (0..limit).map(|_| Place::default()).collect(),
            keys: BTreeMap::new(),
            wheel: Wheel::new(limit as usize + 1, STEP_BITS),
            ready: VecDeque::with_capacity(limit as usize),
            changed: BTreeSet::new(),
            sockets: Sockets::default(),
            farewells: VecDeque::new(),
            down: BTreeSet::new(),
            objects: vec![true; objects as usize],
            refused: VecDeque::with_capacity(REFUSED_MAX),
            counters: Counters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns what a person sees of a virtual router; `None` of one that does not exist.
    pub fn view(&self, number: u32) -> Option<View> {
        let router = self.places.get(number as usize)?.router.as_ref()?;
        Some(View {
            key: router.config.key,
            state: router.state,
            priority: router.priority,
            heard: router.heard,
            active_interval: router.active_interval,
            down_interval: router.down_interval(),
            is_split: router.rivals.is_split(),
        })
    }

    /// Takes in what was sent to the group, or to this router alone (section 7.1).
    fn receive(&mut self, interface: Interface, packet: Payload<'_>, to_group: bool, now: Time) {
        let Payload { ends, ttl, bytes } = packet;
        if ttl != TTL {
            self.counters.ttl += 1;
            return;
        }
        let packet = match Packet::parse(bytes, ends) {
            Ok(packet) => packet,
            Err(why) => {
                let counter = match why {
                    Malformed::Version => &mut self.counters.version,
                    Malformed::Checksum => &mut self.counters.checksum,
                    _ => &mut self.counters.malformed,
                };
                *counter += 1;
                return;
            }
        };
        let key = Key { interface, vrid: packet.vrid, is_v6: ends.from.is_ipv6() };
        let found = self.keys.get(&key).copied();
        let router = found.and_then(|number| self.places[number as usize].router.as_mut());
        let router = router.filter(|router| router.config.peers.is_empty() == to_group);
        let (Some(number), Some(router)) = (found, router) else {
            self.counters.unknown += 1;
            return;
        };
        let was_active = router.state == State::Active;
        let counter = if ends.from == router.config.primary {
            &mut self.counters.looped
        } else if !to_group && !router.config.peers.contains(&ends.from) {
            &mut self.counters.stranger
        } else {
            let heard = router.receive(&packet, ends.from, now);
            self.counters.differing += u64::from(heard == Heard::Differing);
            match heard {
                Heard::Accepted | Heard::Differing => &mut self.counters.received,
                Heard::Idle => &mut self.counters.idle,
            }
        };
        *counter += 1;
        let steps_back = was_active && router.state == State::Backup;
        let group = router.config.group.filter(|_| steps_back);
        self.settle(number);
        if let Some(group) = group {
            self.step_back(number, group, now);
        }
    }

    fn obey(&mut self, command: Command, now: Time) {
        let is_of_one = !matches!(command, Command::Track { .. });
        let (number, done) = match command {
            Command::Add(number, config) => (number, self.add(number, config)),
            Command::Change(number, config) => (number, self.change(number, config, now)),
            Command::Remove(number) => (number, self.remove(number, now)),
            Command::SetPriority(number, priority) => (number, self.prioritise(number, priority)),
            Command::Track { object, is_up } => (object, self.track(object, is_up, now)),
            Command::Shutdown(number) => (number, self.shut(number, true)),
            Command::Start(number) => (number, self.shut(number, false)),
        };
        if let Err(why) = done {
            // A driver that does not poll hears of the last ones.
            if self.refused.len() == REFUSED_MAX {
                self.refused.pop_front();
            }
            self.refused.push_back((number, why));
        } else if is_of_one {
            self.review(number, now);
        }
    }

    fn add(&mut self, number: u32, config: Config) -> Result<(), Unusable> {
        config.check(self.objects.len())?;
        let place = self.places.get_mut(number as usize).ok_or(Unusable::Router)?;
        if place.router.is_some() || self.keys.contains_key(&config.key) {
            return Err(Unusable::Router);
        }
        self.keys.insert(config.key, number);
        Use::all_of(&config).into_iter().for_each(|one| self.sockets.want(one));
        (place.router, place.is_shut) = (Some(Router::new(config)), false);
        Ok(())
    }

    fn change(&mut self, number: u32, config: Config, now: Time) -> Result<(), Unusable> {
        config.check(self.objects.len())?;
        let router = self.router(number)?;
        let fixed = |config: &Config| {
            let is_owner = config.priority == OWNER;
            (config.key, config.primary, config.peers.clone(), is_owner, config.group)
        };
        if fixed(&router.config) != fixed(&config) {
            return Err(Unusable::Fixed);
        }
        router.configure(config, now);
        Ok(())
    }

    fn remove(&mut self, number: u32, now: Time) -> Result<(), Unusable> {
        self.router(number)?.bar(Some(Reason::Shutdown), now);
        while let Some((by, departure)) = self.next_advertisement(number) {
            // Whoever is not polled forgets the first ones, which their neighbours notice by time.
            if self.farewells.len() == FAREWELLS_MAX
                && let Some((by, _)) = self.farewells.pop_front()
            {
                self.sockets.release(by);
            }
            self.sockets.want(by);
            self.farewells.push_back((by, departure));
        }
        let router = self.places[number as usize].router.take().ok_or(Unusable::Router)?;
        Use::all_of(&router.config).into_iter().for_each(|one| self.sockets.release(one));
        self.keys.remove(&router.config.key);
        self.settle(number);
        if let Some(group) = router.config.group {
            self.review_group(group, now);
        }
        Ok(())
    }

    fn prioritise(&mut self, number: u32, priority: u8) -> Result<(), Unusable> {
        let router = self.router(number)?;
        if matches!(priority, RESIGNS | OWNER) || router.config.is_owner() {
            return Err(Unusable::Priority);
        }
        router.config.priority = priority;
        Ok(())
    }

    fn track(&mut self, object: u32, is_up: bool, now: Time) -> Result<(), Unusable> {
        let known = self.objects.get_mut(object as usize).ok_or(Unusable::Tracked)?;
        if std::mem::replace(known, is_up) != is_up {
            self.review_all(now);
        }
        Ok(())
    }

    fn shut(&mut self, number: u32, is_shut: bool) -> Result<(), Unusable> {
        self.router(number)?;
        self.places[number as usize].is_shut = is_shut;
        Ok(())
    }

    fn router(&mut self, number: u32) -> Result<&mut Router, Unusable> {
        let place = self.places.get_mut(number as usize);
        place.and_then(|place| place.router.as_mut()).ok_or(Unusable::Router)
    }

    fn review_all(&mut self, now: Time) {
        (0..self.places.len() as u32).for_each(|number| self.review(number, now));
    }

    /// Looks anew at what decides whether a router takes part, and with which priority.
    fn review(&mut self, number: u32, now: Time) {
        let place = &mut self.places[number as usize];
        if let Some(router) = &mut place.router {
            let has_fault = router.weigh(&self.objects);
            let uses = Use::all_of(&router.config);
            let reasons = [
                (Reason::LinkDown, self.down.contains(&router.config.key.interface)),
                (Reason::NoSocket, uses.into_iter().any(|one| self.sockets.has_failed(one))),
                (Reason::Fault, has_fault),
                (Reason::Shutdown, place.is_shut),
            ];
            let barred = reasons.into_iter().find(|(_, holds)| *holds);
            place.barred = barred.map(|(reason, _)| reason);
            match router.config.group {
                Some(group) => return self.review_group(group, now),
                None => router.bar(place.barred, now),
            }
        }
        self.settle(number);
    }

    pub(crate) fn with(&mut self, number: u32, work: impl FnOnce(&mut Router)) {
        if let Some(router) = &mut self.places[number as usize].router {
            work(router);
        }
        self.settle(number);
    }

    /// A socket is closed: its routers take no part until it is open again.
    fn failed(&mut self, socket: Socket, now: Time) {
        self.sockets.fail(socket);
        self.wheel.set(self.places.len() as u32, now.after(RETRY).0);
        self.review_all(now);
    }

    fn expire(&mut self, timer: u32, now: Time) {
        let Some(place) = self.places.get_mut(timer as usize) else {
            self.sockets.retry();
            self.review_all(now);
            return;
        };
        if let Some(router) = &mut place.router {
            router.expire(now);
        }
        // The wheel has forgotten what was due.
        place.timed = None;
        let waiting = place.router.as_ref().filter(|router| router.waits());
        let group = waiting.and_then(|router| router.config.group);
        self.settle(timer);
        if let Some(group) = group {
            self.join_group(group, now);
        }
    }

    /// Sets the timer of a router anew where it has changed, and notes that it wants something.
    fn settle(&mut self, number: u32) {
        let place = &mut self.places[number as usize];
        let wanted = place.router.as_ref().and_then(Router::deadline);
        match wanted {
            Some(time) if wanted != place.timed => self.wheel.set(number, time.0),
            None => {
                self.wheel.cancel(number);
            }
            Some(_) => {}
        }
        place.timed = wanted;
        let is_due = place.router.as_ref().is_some_and(Router::is_due);
        if place.router.as_ref().is_some_and(Router::has_changed) {
            self.changed.insert(number);
        }
        if is_due && !place.is_ready {
            place.is_ready = true;
            self.ready.push_back(number);
        }
    }

    /// The next output of a router.
    fn next_of(&mut self, number: u32) -> Option<Output<Report>> {
        if let Some((_, departure)) = self.next_advertisement(number) {
            self.counters.sent += 1;
            return Some(Output::Departure(departure));
        }
        let router = self.places[number as usize].router.as_mut()?;
        let socket = self.sockets.open(Use::of_announcements(&router.config));
        if let (Some(address), Some(socket)) = (router.next_announcement(), socket) {
            self.counters.announced += 1;
            let bytes = frames::announcement(router.config.key.mac(), address);
            return Some(Output::Departure(Departure::Frame { socket, bytes }));
        }
        if let Some((what, peer)) = router.rivals.take_told() {
            return Some(Output::Report(Report::Misconfigured { router: number, peer, what }));
        }
        let report = match router.rivals.take_split()? {
            Some(peer) => Report::Split { router: number, peer },
            None => Report::Healed { router: number },
        };
        Some(Output::Report(report))
    }

    /// What there is to say of the state of a router.
    fn change_of(&mut self, number: u32) -> Option<Report> {
        let router = self.places[number as usize].router.as_mut()?;
        let reason = router.take_change()?;
        let (state, config) = (router.state, &router.config);
        let accepts = state == State::Active && (config.has_accept_mode || config.is_owner());
        Some(Report::Changed { router: number, state, reason, accepts })
    }

    /// The next advertisement of a router, and the socket by which it goes.
    fn next_advertisement(&mut self, number: u32) -> Option<(Use, Departure)> {
        let router = self.places[number as usize].router.as_mut()?;
        let by = Use::of_advertisements(&router.config);
        let (priority, peer) = router.next_outgoing()?;
        let socket = self.sockets.open(by)?;
        let config = &router.config;
        let to = peer.unwrap_or(frames::group(config.key.is_v6));
        let ends = Ends { from: config.primary, to };
        let bytes = router.advertisement(priority, ends);
        let departure = match peer {
            None => {
                let bytes = frames::advertisement(config.key.mac(), ends, &bytes);
                Departure::Frame { socket, bytes }
            }
            Some(to) => Departure::Packet {
                socket,
                interface: Some(config.key.interface),
                from: config.primary,
                to,
                ttl: TTL,
                bytes,
            },
        };
        Some((by, departure))
    }
}

/// Timers are exact to 2^16 ns, 66 us.
const STEP_BITS: u32 = 16;

/// Time until a socket that has failed is opened again.
const RETRY: Duration = Duration::from_secs(1);

/// Most refusals that wait to be reported.
const REFUSED_MAX: usize = 64;

/// Most last advertisements of removed routers that wait to be sent.
const FAREWELLS_MAX: usize = 1024;
