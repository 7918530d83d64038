//! The controller with a NAT: a group of two virtual routers, one on each side.

use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{Action, Controller, Event, Link, Setup};
use controller_vrrp::{Config, Vrrp};
use engine::Function;
use function_cgnat::{Cgnat, Pipeline, Update, config as nat};
use function_kit::erased::configured;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Clock;
use protocol_kit::{Arrival, Input, Interface, Machine, Output, Socket, Time};
use protocol_vrrp::packet::{Addresses, Coverage, Ends, Packet, octets};
use protocol_vrrp::{Key, frames};
use serde_json::{Value, json};

const INSIDE: u32 = 3;
const OUTSIDE: u32 = 4;

/// More than the time without advertisement after which a group becomes active.
const SILENCE: Duration = Duration::from_secs(4);

/// A controller with its NAT, its time, and the changes since they were asked for last.
struct Driven {
    vrrp: Vrrp,
    nat: Pipeline,
    now: Time,
    changes: Vec<Value>,
}

fn nat() -> nat::Config {
    let keys = json!({
        "inside-ip": "100.64.0.2", "outside-ip": "192.0.2.2", "pools": ["198.18.0.0/28"],
        "sessions": 64, "subscribers": 16, "pools-answer": "active",
        "inside-host-interface": "h-in", "outside-host-interface": "h-out",
    });
    let mut config: nat::Config = serde_json::from_value(keys).expect("keys");
    Cgnat::validate(&mut config).expect("a NAT");
    config
}

fn config(outside: Value) -> Config {
    let mut second = json!({"interface": "h-out", "vrid": 8, "addresses": ["192.0.2.1"],
        "group": "nat", "track": [{"interface": "h-in", "decrement": 30}]});
    if let (Value::Object(second), Value::Object(keys)) = (&mut second, outside) {
        second.extend(keys);
    }
    let first =
        json!({"interface": "h-in", "vrid": 7, "addresses": ["100.64.0.1"], "group": "nat"});
    serde_json::from_value(json!({"routers": [first, second]})).expect("keys")
}

impl Driven {
    fn new() -> Driven {
        let function = configured::<Cgnat>(nat());
        let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
        let vrrp = Vrrp::new(&config(json!({})), setup).expect("they fit");
        let shard = Shard { index: 0, count: 1 };
        let nat = Pipeline::new(&nat(), shard, Clock::with_rate(1e9), 0).expect("memory");
        let mut driven = Driven { vrrp, nat, now: Time::ZERO, changes: Vec::new() };
        driven.poll();
        driven
    }

    fn input(&mut self, input: Input<'_, Event>) -> &mut Driven {
        self.vrrp.input(self.now, input);
        self.poll();
        self
    }

    fn links(&mut self, names: &[(&str, u32)]) -> &mut Driven {
        let link = |&(name, kernel): &(&str, u32)| {
            let (name, kernel) = (name.to_owned(), Interface(kernel));
            Link { name, kernel, number: u16::from(kernel.0 == OUTSIDE) }
        };
        self.input(Input::Command(Event::Links(names.iter().map(link).collect())))
    }

    fn pass(&mut self, span: Duration) -> &mut Driven {
        let end = self.now.after(span);
        while let Some(deadline) = self.vrrp.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.poll();
        }
        self.now = end;
        self
    }

    /// Another NAT advertises outside.
    fn advertise(&mut self, priority: u8) -> &mut Driven {
        let address: IpAddr = [192, 0, 2, 1].into();
        let ends = Ends { from: [192, 0, 2, 3].into(), to: frames::group(false) };
        let octets = octets(&[address]);
        let addresses = Addresses::new(false, &octets);
        let packet = Packet { vrid: 8, priority, interval_cs: 100, addresses };
        let key = Key { interface: Interface(OUTSIDE), vrid: 8, is_v6: false };
        let frame = frames::advertisement(key.mac(), ends, &packet.emit(ends, Coverage::Message));
        let (socket, interface) = (Socket(1), Interface(OUTSIDE));
        self.input(Input::Arrival(Arrival::Frame { socket, interface, bytes: &frame }))
    }

    fn poll(&mut self) {
        let mut number = 0;
        while let Some(output) = self.vrrp.poll(self.now) {
            let Output::Report(Action::Passing(updates)) = output else { continue };
            for update in updates {
                self.changes.push(update.value());
                let typed = *update.typed::<Update>().expect("one of the NAT");
                let event = match self.nat.apply(typed, 0) {
                    Ok(()) => Event::Applied { first: number, count: 1, at: self.now },
                    Err(why) => Event::Refused { number, why },
                };
                number += 1;
                self.vrrp.input(self.now, Input::Command(event));
            }
        }
    }

    /// The kinds of changes since this was asked last, with what there is to say of each.
    fn changed(&mut self) -> Vec<String> {
        let changes = std::mem::take(&mut self.changes);
        let told = changes.iter().map(|change| {
            let (kind, keys) = change.as_object()?.iter().next()?;
            let what = keys.get("active").map(Value::to_string);
            let what = what.or_else(|| Some(keys["port"].as_str()?.to_owned()))?;
            Some(format!("{kind} {what}"))
        });
        told.map(|one| one.expect("a change")).collect()
    }

    fn states(&self) -> Vec<String> {
        let shown = Controller::show(&self.vrrp);
        let routers = shown["routers"].as_array().expect("a list");
        let state = |router: &Value| {
            assert_eq!(router["group"], "nat");
            router["state"].as_str().expect("a state").to_owned()
        };
        routers.iter().map(state).collect()
    }
}

const COMES: [&str; 3] = ["set-virtual inside", "set-virtual outside", "set-active true"];
const GOES: [&str; 3] = ["set-active false", "remove-virtual inside", "remove-virtual outside"];

#[test]
fn both_sides_of_a_nat_change_together() {
    let mut driven = Driven::new();
    assert_eq!(driven.changed(), GOES, "what an earlier life has left goes first");
    driven.links(&[("h-in", INSIDE)]).pass(SILENCE);
    assert_eq!(driven.states(), ["initialize"; 2], "the group is not whole");
    driven.links(&[("h-in", INSIDE), ("h-out", OUTSIDE)]).pass(SILENCE);
    assert_eq!(
        (driven.states(), driven.changed()),
        (vec!["active".into(); 2], COMES.map(str::to_owned).to_vec())
    );

    // Another NAT has the outside.
    let mut gone = driven.advertise(200).changed();
    gone[1..].sort_unstable();
    assert_eq!(driven.states(), ["backup"; 2]);
    assert_eq!(gone, GOES);
    for _ in 0..10 {
        driven.pass(Duration::from_secs(1)).advertise(200);
        assert_eq!(driven.states(), ["backup"; 2], "nobody is heard inside");
    }
    assert!(driven.changed().is_empty());
    driven.pass(SILENCE);
    assert_eq!(driven.states(), ["active"; 2]);
    driven.changed();

    let (interface, is_up) = (Interface(INSIDE), false);
    driven.input(Input::Arrival(Arrival::Link { interface, is_up }));
    assert_eq!(driven.states(), ["initialize"; 2], "a link of one is one of all");
    let mut gone = driven.changed();
    gone[1..].sort_unstable();
    assert_eq!(gone, GOES);
    let shown = Controller::show(&driven.vrrp);
    let priorities = [0, 1].map(|number| shown["routers"][number]["priority"].clone());
    assert_eq!(priorities, [json!(70), json!(70)], "what one tracks counts for all");
}

#[test]
fn a_nat_tells_of_no_routes() {
    let keys = config(json!({"track": [{"route": "10.0.0.0/8", "decrement": 1}]}));
    let function = configured::<Cgnat>(nat());
    let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
    let refused = Vrrp::new(&keys, setup).err().expect("no routes");
    assert_eq!(refused.key, "routers[1].track");
}

#[test]
fn a_group_has_one_priority() {
    let mut other = config(json!({"priority": 120}));
    let refused = Vrrp::validate(&mut other).expect_err("another priority");
    assert_eq!(refused.key, "routers[1].group");
}
