//! A controller that is driven by hand with a router, and another router's advertisements.

use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{Action, Alarm, Controller, Event, EventKind, Happening, Link, Setup};
use controller_vrrp::{Config, Vrrp};
use engine::Function;
use function_kit::NetworkFunction;
use function_kit::erased::{AnyUpdate, configured};
use function_l3_router::config as l3;
use function_l3_router::{L3Router, Pipeline, Said};
use machine::clock::Clock;
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket, Time};
use protocol_vrrp::frames;
use protocol_vrrp::packet::{Addresses, Coverage, Ends, Packet, octets};
use protocol_vrrp::{Key, config::Config as Protocol};
use serde_json::{Value, json};

/// The kernel's number of the interface `lan`.
pub const LAN: u32 = 3;

/// A controller with its router and its time.
pub struct Driven {
    pub vrrp: Vrrp,
    pub router: Pipeline,
    pub now: Time,
    pub departures: Vec<Departure>,
    pub alarms: Vec<Alarm>,
    /// The number of the next change.
    number: u64,
}

/// A router with two interfaces of the host.
pub fn router() -> l3::Config {
    let keys = json!({
        "ipv6": true,
        "resolve": true,
        "ports": [
            {"name": "lan", "mac": "02:00:00:00:00:01", "ip": "10.0.1.1/24",
             "ipv6": "2001:db8:1::1/64", "host-interface": "lan"},
            {"name": "core", "mac": "02:00:00:00:00:02", "ip": "10.0.2.1/24",
             "host-interface": "core"},
        ],
        "next-hops": [
            {"port": "core", "ip": "10.0.2.2"},
            {"port": "core", "ip": "10.0.2.3", "bfd": {}},
        ],
    });
    let mut config: l3::Config = serde_json::from_value(keys).expect("keys");
    L3Router::validate(&mut config).expect("a router");
    config
}

/// A configuration with one virtual router of these keys beside interface and number.
pub fn config(keys: Value) -> Config {
    let mut one = json!({"interface": "lan", "vrid": 7, "addresses": ["10.0.1.254"]});
    if let (Value::Object(one), Value::Object(keys)) = (&mut one, keys) {
        one.extend(keys);
    }
    serde_json::from_value(json!({"routers": [one]})).expect("keys")
}

/// The controller of a configuration, or why there is none.
pub fn create(config: &Config) -> Result<Vrrp, String> {
    let function = configured::<L3Router>(router());
    let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
    Vrrp::new(config, setup).map_err(|why| format!("{}: {}", why.key, why.what))
}

impl Driven {
    /// A controller without links.
    pub fn new(config: &Config) -> Driven {
        let pipeline = Pipeline::new(&router(), Clock::with_rate(1e9), 0).expect("a router");
        Driven::on(config, pipeline)
    }

    /// A controller of a router that runs already.
    pub fn on(config: &Config, router: Pipeline) -> Driven {
        let vrrp = create(config).expect("they fit");
        let (departures, alarms) = (Vec::new(), Vec::new());
        let mut driven = Driven { vrrp, router, now: Time::ZERO, departures, alarms, number: 0 };
        driven.poll();
        driven
    }

    /// The host has these interfaces.
    pub fn links(&mut self, links: &[(&str, u32)]) -> &mut Driven {
        let link = |&(name, kernel): &(&str, u32)| Link {
            name: name.to_owned(),
            kernel: Interface(kernel),
            number: u16::from(name == "core"),
        };
        let links = links.iter().map(link).collect();
        self.vrrp.input(self.now, Input::Command(Event::Links(links)));
        self.poll();
        self
    }

    /// The kernel tells of a link.
    pub fn link(&mut self, interface: u32, is_up: bool) -> &mut Driven {
        let interface = Interface(interface);
        self.vrrp.input(self.now, Input::Arrival(Arrival::Link { interface, is_up }));
        self.poll();
        self
    }

    /// A worker tells of a next hop.
    pub fn hop(&mut self, subject: u64, kind: EventKind) -> &mut Driven {
        let what = Happening { worker: 0, kind, subject, detail: [0; 5], at: self.now };
        self.vrrp.input(self.now, Input::Command(Event::Happened(what)));
        self.poll();
        self
    }

    /// The configuration is another one.
    pub fn reload(&mut self, config: &Config) -> &mut Driven {
        let function = configured::<L3Router>(router());
        assert!(self.vrrp.reload(config, Some(&*function), self.now));
        self.poll();
        self
    }

    /// Time passes, step by step.
    pub fn pass(&mut self, span: Duration) -> &mut Driven {
        let end = self.now.after(span);
        while let Some(deadline) = self.vrrp.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.poll();
        }
        self.now = end;
        self.poll();
        self
    }

    /// Another router advertises these addresses with a priority.
    pub fn advertise(&mut self, priority: u8, addresses: &[&str]) -> &mut Driven {
        let addresses: Vec<IpAddr> =
            addresses.iter().map(|one| one.parse().expect("an address")).collect();
        let from: IpAddr = "10.0.1.3".parse().expect("an address");
        let (ends, octets) = (Ends { from, to: frames::group(false) }, octets(&addresses));
        let packet = Packet {
            vrid: 7,
            priority,
            interval_cs: 100,
            addresses: Addresses::new(false, &octets),
        };
        let key = Key { interface: Interface(LAN), vrid: 7, is_v6: false };
        let bytes = packet.emit(ends, Coverage::Message);
        let frame = frames::advertisement(key.mac(), ends, &bytes);
        // What a protocol would take as its own, too.
        assert!(Protocol::new(key, from, addresses).check(0).is_ok());
        let (socket, interface) = (Socket(0), Interface(LAN));
        let arrival = Arrival::Frame { socket, interface, bytes: &frame };
        self.vrrp.input(self.now, Input::Arrival(arrival));
        self.poll();
        self
    }

    /// Takes everything that comes out, applies changes and answers them.
    pub fn poll(&mut self) {
        while let Some(output) = self.vrrp.poll(self.now) {
            match output {
                Output::Departure(departure) => self.departures.push(departure),
                Output::Report(Action::Alarm(alarm)) => self.alarms.push(alarm),
                Output::Report(Action::Passing(updates)) => self.apply(&updates),
                Output::Report(Action::Updates(updates)) => panic!("{updates:?} would be kept"),
                Output::Report(Action::Line(line)) => panic!("{line:?} is nobody's to tell"),
                Output::Report(Action::Inject(one)) => panic!("{one:?} is nobody's to send"),
            }
        }
        let deadline = self.vrrp.deadline();
        assert!(deadline.is_none_or(|time| time > self.now), "it is at rest: {deadline:?}");
    }

    fn apply(&mut self, updates: &[AnyUpdate]) {
        for update in updates {
            let update = update.typed::<Said>().expect("one of the router").numbered();
            let (number, at) = (self.number, self.now);
            self.number += 1;
            let event = match self.router.apply(update.said(), 0) {
                Ok(()) => Event::Applied { first: number, count: 1, at },
                Err(why) => Event::Refused { number, why },
            };
            self.vrrp.input(self.now, Input::Command(event));
            self.tell();
        }
    }

    /// A change of the router that others make, and what it tells of it.
    pub fn change(&mut self, update: Value) -> &mut Driven {
        let update = serde_json::from_value(update).expect("a change");
        self.router.apply(update, 0).expect("possible");
        self.tell();
        self.poll();
        self
    }

    /// The router tells what it has to tell.
    fn tell(&mut self) {
        while let Some(engine::Event { kind, subject, .. }) = self.router.event() {
            let what = Happening { worker: 0, kind, subject, detail: [0; 5], at: self.now };
            self.vrrp.input(self.now, Input::Command(Event::Happened(what)));
        }
    }

    /// Whether the router has a virtual address at `lan`, and whether that answers pings.
    pub fn has(&self, address: &str) -> Option<bool> {
        let address = address.parse().expect("an address");
        self.router.state().interfaces.virtuals().get(0, address).map(|one| one.accept)
    }

    /// The state of the first virtual router.
    pub fn state(&self) -> String {
        let shown = Controller::show(&self.vrrp);
        shown["routers"][0]["state"].as_str().expect("a state").to_owned()
    }

    /// The alarms since this was asked last: cause and whether it begins.
    pub fn alarmed(&mut self) -> Vec<(&'static str, bool)> {
        let alarms = std::mem::take(&mut self.alarms);
        alarms.into_iter().map(|alarm| (alarm.cause, alarm.severity.is_some())).collect()
    }
}
