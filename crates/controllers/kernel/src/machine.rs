//! The machine: what the kernel has becomes changes, and what became of them is accounted for.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::keys::invalid;
use controller_kit::{Action, Alarm, Controller, Event, Refusal, Setup, Severity};
use controller_routing::Routing;
use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured, config_of};
use function_kit::sections::function_key;
use function_l3_router::config::{Mac, Prefixed};
use function_l3_router::{L3Router, Said, Update};
use protocol_kit::{Input, Machine, Output, Time};
use protocol_netlink::{Follows, Netlink, Report};
use serde_json::{Map, Value, json};
use wire::MacAddr;

use crate::config::{Config, Followed};
use crate::mirror::Mirror;
use crate::order::{Order, Whose};
use crate::places::Places;

/// The kernel's addresses, neighbours and routes as those of a router.
pub struct Kernel {
    config: Config,
    netlink: Netlink,
    places: Places,
    addresses: Mirror<u8>,
    neighbours: Mirror<MacAddr>,
    /// Where routes are followed.
    routing: Option<Routing>,
    /// Changes of addresses and neighbours that wait to be handed over.
    waiting: VecDeque<Update>,
    order: Order,
    /// How many changes of routes were answered.
    answered: u64,
    /// Whether the kernel has told everything once.
    is_settled: bool,
    /// When what was refused is tried again.
    retry_at: Option<Time>,
    alarms: VecDeque<Alarm>,
    is_raised: [bool; 2],
    applied: u64,
    refused: u64,
}

/// Why there is an alarm.
#[derive(Clone, Copy)]
enum Cause {
    TooMuch,
    Refused,
}

impl Controller for Kernel {
    const NAME: &'static str = "kernel";
    const SUMMARY: &'static str =
        "addresses, neighbours and routes of the host's interfaces, as an operator sets them";

    type Config = Config;

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        config.validate()
    }

    fn new(config: &Config, setup: Setup<'_>) -> Result<Kernel, Invalid> {
        config.validate()?;
        let router = setup.function.and_then(|function| config_of::<L3Router>(function));
        let router = router.ok_or_else(|| {
            let what = "kernel controls an l3-router alone".to_owned();
            invalid("name", what, "Remove the controller, or choose another function")
        })?;
        if !router.resolve && config.follows(Followed::Neighbours) {
            let what = "is false, and the kernel's neighbours are followed".to_owned();
            let remedy = "Set 'resolve: true', or remove `neighbours` from 'follow'";
            return Err(function_key("resolve", what, remedy));
        }
        let state: Vec<Update> = setup
            .state
            .iter()
            .filter_map(|update| update.typed::<Said>())
            .map(|said| said.numbered())
            .collect();
        let follows = Follows {
            addresses: config.follows(Followed::Addresses),
            neighbours: config.follows(Followed::Neighbours),
            routes: config.follows(Followed::Routes),
        };
        let of_netlink = protocol_netlink::Config {
            follows,
            routes_max: config.routes_max as usize,
            ..Default::default()
        };
        let routing = follows.routes.then(|| {
            let lists_max = of_netlink.next_hops_max;
            Routing::new(setup.function, &config.tables, lists_max, &state)
        });
        let places = Places::new(router);
        let hosted = router.host_interfaces();
        let is_hosted = |number: u16| hosted.iter().any(|one| one.number == number);
        let links = router.links().filter(|link| is_hosted(link.interface));
        let mut addresses: BTreeMap<(u16, IpAddr), u8> =
            links.map(|link| ((link.interface, link.address), link.len)).collect();
        let mut neighbours = BTreeMap::new();
        for update in &state {
            match *update {
                Update::SetAddress { port, vlan, address: Prefixed { address, len } } => {
                    let number = places.of_place(port, vlan);
                    addresses.extend(number.map(|number| ((number, address), len)));
                }
                Update::RemoveAddress { port, vlan, address } => {
                    let number = places.of_place(port, vlan);
                    number.and_then(|number| addresses.remove(&(number, address)));
                }
                Update::SetNeighbour { port, vlan, address, mac } => {
                    let number = places.of_place(port, vlan);
                    neighbours.extend(number.map(|number| ((number, address), mac.0)));
                }
                _ => {}
            }
        }
        Ok(Kernel {
            config: config.clone(),
            netlink: Netlink::new(of_netlink),
            places,
            addresses: Mirror::new(addresses),
            neighbours: Mirror::new(neighbours),
            routing: routing.transpose()?,
            waiting: VecDeque::new(),
            order: Order::default(),
            answered: 0,
            is_settled: false,
            retry_at: None,
            alarms: VecDeque::new(),
            is_raised: [false; 2],
            applied: 0,
            refused: 0,
        })
    }

    fn claims(config: &Config) -> Vec<&'static str> {
        let of = |what: Followed| match what {
            Followed::Addresses => &["set-address", "remove-address"][..],
            Followed::Neighbours => &["set-neighbour", "remove-neighbour", "hear-neighbour"],
            Followed::Routes => &Routing::CLAIMS,
        };
        config.follow.iter().copied().flat_map(of).copied().collect()
    }

    /// Goes on if nothing of its own has changed. It begins again with what the function has
    /// otherwise, and reads what the kernel has.
    fn reload(&mut self, config: &Config, function: Option<&dyn Configured>, _: Time) -> bool {
        let router = function.and_then(|function| config_of::<L3Router>(function));
        let is_same = router.is_some_and(|router| self.places.is_of(router));
        let routing = self.routing.as_ref();
        let leads = routing.is_none_or(|routing| routing.is_of(function, &config.tables));
        *config == self.config && is_same && leads
    }

    fn show(&self) -> Value {
        let [routes, next_hops, ..] = self.netlink.held();
        let told = self.netlink.counters();
        let both = |[kernel, router]: [usize; 2]| json!({ "kernel": kernel, "router": router });
        let mut shown = Map::new();
        shown.insert("is-settled".into(), self.is_settled.into());
        shown.insert("addresses".into(), both(self.addresses.counts()));
        shown.insert("neighbours".into(), both(self.neighbours.counts()));
        shown.insert(
            "own-changes".into(),
            json!({
                "open": self.waiting.len() + self.order.open(),
                "applied": self.applied,
                "refused": self.refused,
            }),
        );
        if let Some(routing) = &self.routing {
            shown.insert("told".into(), json!({ "routes": routes, "next-hops": next_hops }));
            shown.extend(routing.show());
            shown.insert("counters".into(), routing.counters().into());
        }
        shown.insert(
            "netlink".into(),
            json!({
                "messages": told.messages,
                "overruns": told.overruns,
                "readings": told.readings,
                "torn": told.torn,
                "swept": told.swept,
                "other": told.other,
                "unsupported": told.unsupported,
                "malformed": told.malformed,
                "behind": told.behind,
                "refused": told.refused,
            }),
        );
        Value::Object(shown)
    }
}

impl Machine for Kernel {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        match input {
            Input::Arrival(arrival) => self.netlink.input(now, Input::Arrival(arrival)),
            Input::Command(Event::Links(links)) => {
                self.places.set(&links);
                if let Some(routing) = &mut self.routing {
                    routing.set_links(&links);
                }
                self.addresses.look_at_all(&self.places);
                self.neighbours.look_at_all(&self.places);
            }
            Input::Command(Event::Applied { first, count, .. }) => {
                self.applied(first.saturating_add(count));
            }
            Input::Command(Event::Refused { number, why }) => self.refused(number, why, now),
            // What workers watch is not the kernel's.
            Input::Command(
                Event::Happened(_)
                | Event::Punted(_)
                | Event::Missed { .. }
                | Event::TimeOfDay(_)
                | Event::Ends,
            ) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        if let Some(departure) = self.netlink.depart(now) {
            return Some(Output::Departure(departure));
        }
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.addresses.retry();
            self.neighbours.retry();
        }
        while self.waiting.len() < BULK && self.step(now) {}
        self.judge();
        if let Some(alarm) = self.alarms.pop_front() {
            return Some(Output::Report(Action::Alarm(alarm)));
        }
        let mut changes: Vec<Update> = Vec::new();
        if !self.waiting.is_empty() {
            changes.extend(self.waiting.drain(..self.waiting.len().min(BULK)));
            self.order.own(&changes);
        } else if let Some(routing) = &mut self.routing {
            changes = routing.hand_over();
            self.order.routes(changes.len() as u64);
        }
        if changes.is_empty() {
            return None;
        }
        let changes = changes.into_iter().map(|update| AnyUpdate::of(update.said())).collect();
        Some(Output::Report(Action::Passing(changes)))
    }

    fn deadline(&self) -> Option<Time> {
        let routing = self.routing.as_ref();
        if !self.alarms.is_empty() || !self.waiting.is_empty() {
            return Some(Time::ZERO);
        }
        if self.is_full() {
            // What the router answers comes first.
            return routing.filter(|routing| routing.waiting() > 0).map(|_| Time::ZERO);
        }
        let has_work = self.is_settled && (self.addresses.has_work() || self.neighbours.has_work())
            || routing.is_some_and(|routing| routing.has_work() || routing.waiting() > 0);
        if has_work {
            return Some(Time::ZERO);
        }
        [self.netlink.deadline(), self.retry_at].into_iter().flatten().min()
    }
}

impl Kernel {
    /// Whether no more changes are to be made until some are answered.
    fn is_full(&self) -> bool {
        self.order.open() + self.waiting.len() >= OPEN_MAX
            || self.routing.as_ref().is_some_and(Routing::is_full)
    }

    /// Does a part of what is to be done; false if there is nothing, or no room for its changes.
    fn step(&mut self, now: Time) -> bool {
        if self.is_full() || self.routing.as_ref().is_some_and(|one| one.waiting() >= BULK) {
            return false;
        }
        if self.is_settled && self.change() {
            return true;
        }
        if self.routing.as_mut().is_some_and(Routing::step) {
            return true;
        }
        match self.netlink.poll(now) {
            Some(Output::Report(report)) => {
                self.told(report);
                true
            }
            // All departures have gone before.
            Some(Output::Departure(_)) => true,
            None => self.routing.as_mut().is_some_and(Routing::follow),
        }
    }

    /// Makes the next change of an address or a neighbour that the router needs; false if there is
    /// none.
    fn change(&mut self) -> bool {
        if let Some(change) = self.addresses.next(&self.places) {
            let address = change.address;
            if let Some((port, vlan)) = self.places.place(change.number) {
                self.waiting.push_back(match change.value {
                    Some(len) => {
                        Update::SetAddress { port, vlan, address: Prefixed { address, len } }
                    }
                    None => Update::RemoveAddress { port, vlan, address },
                });
            }
            return true;
        }
        let Some(change) = self.neighbours.next(&self.places) else { return false };
        let address = change.address;
        if let Some((port, vlan)) = self.places.place(change.number) {
            self.waiting.push_back(match change.value {
                Some(mac) => Update::SetNeighbour { port, vlan, address, mac: Mac(mac) },
                None => Update::RemoveNeighbour { port, vlan, address },
            });
        }
        true
    }

    fn told(&mut self, report: Report) {
        match report {
            Report::Address { interface, address, len } => {
                self.address(interface.0, address, Some(len));
            }
            Report::AddressGone { interface, address } => {
                self.address(interface.0, address, None);
            }
            Report::Neighbour { interface, address, mac } => {
                self.neighbour(interface.0, address, Some(MacAddr(mac)));
            }
            Report::NeighbourGone { interface, address } => {
                self.neighbour(interface.0, address, None);
            }
            Report::NeighbourHeard { interface, address, mac } => {
                self.heard(interface.0, address, MacAddr(mac));
            }
            Report::Full(_) => self.raise(Cause::TooMuch),
            Report::Settled => self.settled(),
            Report::Routing(change) => {
                if let Some(routing) = &mut self.routing {
                    routing.tell(change);
                }
            }
        }
    }

    /// The kernel has told everything: what the router has beyond it is of an earlier life.
    fn settled(&mut self) {
        if !std::mem::replace(&mut self.is_settled, true) {
            self.addresses.look_at_all(&self.places);
            self.neighbours.look_at_all(&self.places);
            self.routing.iter_mut().for_each(Routing::sweep);
        }
        if self.netlink.has_room() {
            self.lower(Cause::TooMuch);
        }
    }

    fn address(&mut self, kernel: u32, address: IpAddr, len: Option<u8>) {
        if self.places.takes(address) {
            self.addresses.tell(kernel, address, len, &self.places);
        }
    }

    fn neighbour(&mut self, kernel: u32, address: IpAddr, mac: Option<MacAddr>) {
        self.neighbours.tell(kernel, address, mac, &self.places);
    }

    fn heard(&mut self, kernel: u32, address: IpAddr, mac: MacAddr) {
        let place = self.places.number(kernel).and_then(|number| self.places.place(number));
        if let Some((port, vlan)) = place {
            let mac = Mac(mac);
            self.waiting.push_back(Update::HearNeighbour { port, vlan, address, mac });
        }
    }

    /// All changes before a number took effect that have no answer yet: answers are in order.
    fn applied(&mut self, end: u64) {
        while let Some((whose, _)) = self.order.next_before(end) {
            match whose {
                Whose::Own => self.applied += 1,
                Whose::Routing => {
                    self.answered += 1;
                    let answered = self.answered;
                    self.routing.iter_mut().for_each(|routing| routing.applied(answered));
                }
            }
        }
    }

    fn refused(&mut self, number: u64, why: Refusal, now: Time) {
        self.applied(number);
        let Some((whose, update)) = self.order.next_before(number.saturating_add(1)) else {
            return;
        };
        if whose == Whose::Routing {
            let place = self.answered;
            self.answered += 1;
            if let Some(routing) = &mut self.routing {
                routing.refused(place, why);
            }
            return self.raise(Cause::Refused);
        }
        self.refused += 1;
        match update {
            Some(Update::SetAddress { port, vlan, address: Prefixed { address, .. } }) => {
                let number = self.places.of_place(port, vlan);
                number.iter().for_each(|number| self.addresses.refuse(*number, address));
            }
            Some(Update::SetNeighbour { port, vlan, address, .. }) => {
                let number = self.places.of_place(port, vlan);
                number.iter().for_each(|number| self.neighbours.refuse(*number, address));
            }
            // What is gone or was heard needs no second attempt.
            _ => return,
        }
        self.retry_at = Some(now.after(RETRY));
        self.raise(Cause::Refused);
    }

    /// Whether the router has everything that it is to have.
    fn judge(&mut self) {
        let is_refused = self.addresses.any_refused() || self.neighbours.any_refused();
        let is_open = self.order.open() + self.waiting.len() > 0;
        let is_fine = self.routing.as_ref().is_none_or(Routing::is_fine);
        if !is_refused && !is_open && is_fine {
            self.lower(Cause::Refused);
        }
    }

    fn raise(&mut self, cause: Cause) {
        if !std::mem::replace(&mut self.is_raised[cause as usize], true) {
            self.alarm(cause, Some(Severity::Major), 0);
        }
    }

    fn lower(&mut self, cause: Cause) {
        if std::mem::replace(&mut self.is_raised[cause as usize], false) {
            self.alarm(cause, None, 1);
        }
    }

    fn alarm(&mut self, of: Cause, severity: Option<Severity>, text: usize) {
        let (source, cause, texts) = ALARMS[of as usize];
        let (source, text) = (source.to_owned(), texts[text].into());
        self.alarms.push_back(Alarm { source, cause, severity, text });
    }
}

/// The source of each alarm, its cause, and what is said when it begins and ends.
const ALARMS: [(&str, &str, [&str; 2]); 2] = [
    (
        "kernel",
        "kernel-full",
        ["the kernel has more than there is room for", "there is room for what the kernel has"],
    ),
    (
        "router",
        "changes-refused",
        [
            "the router has refused something of the kernel's, which collides with what it has",
            "the router has everything of the kernel's",
        ],
    ),
];

/// Changes that are handed over at once.
const BULK: usize = 1024;

/// Most changes of addresses and neighbours without an answer.
const OPEN_MAX: usize = 16_384;

/// Time after which what was refused is tried again.
const RETRY: Duration = Duration::from_secs(10);
