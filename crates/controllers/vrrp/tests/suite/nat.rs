//! The controller with a NAT: a group of two virtual routers, one on each side.

use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{Action, Controller, Event, EventKind, Happening, Link, Setup};
use controller_vrrp::{Config, Vrrp};
use engine::Function;
use function_cgnat::{Cgnat, Pipeline, Update, config as nat};
use function_kit::erased::configured;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Clock;
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket, Time};
use protocol_vrrp::packet::{Addresses, Coverage, Ends, Packet, octets};
use protocol_vrrp::{Key, frames};
use serde_json::{Value, json};

const INSIDE: u32 = 3;
const OUTSIDE: u32 = 4;

const WORKERS: u32 = 2;

/// More than the time without advertisement after which a group becomes active.
const SILENCE: Duration = Duration::from_secs(4);

/// A controller with its NAT, its time, and the changes since they were asked for last.
struct Driven {
    vrrp: Vrrp,
    nat: Pipeline,
    now: Time,
    changes: Vec<Value>,
    /// How many changes there were when each frame left.
    frames: Vec<usize>,
    /// The number of the next change.
    number: u64,
}

fn nat() -> nat::Config {
    let keys = json!({
        "inside-ip": "100.64.0.2", "outside-ip": "192.0.2.2", "pools": ["198.18.0.0/28"],
        "sessions": 64, "subscribers": 16, "pools-answer": "active",
        "inside-host-interface": "h-in", "outside-host-interface": "h-out", "core": WORKERS,
    });
    let mut config: nat::Config = serde_json::from_value(keys).expect("keys");
    Cgnat::validate(&mut config).expect("a NAT");
    config
}

/// Both virtual routers with more keys, each with its own.
fn config(inside: Value, outside: Value) -> Config {
    let mut first =
        json!({"interface": "h-in", "vrid": 7, "addresses": ["100.64.0.1"], "group": "nat"});
    let mut second = json!({"interface": "h-out", "vrid": 8, "addresses": ["192.0.2.1"],
        "group": "nat", "track": [{"interface": "h-in", "decrement": 30}]});
    for (router, keys) in [(&mut first, inside), (&mut second, outside)] {
        if let (Value::Object(router), Value::Object(keys)) = (router, keys) {
            router.extend(keys);
        }
    }
    serde_json::from_value(json!({"routers": [first, second]})).expect("keys")
}

impl Driven {
    fn new() -> Driven {
        Driven::with(config(json!({}), json!({})))
    }

    fn with(config: Config) -> Driven {
        let function = configured::<Cgnat>(nat());
        let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
        let vrrp = Vrrp::new(&config, setup).expect("they fit");
        let shard = Shard { index: 0, count: WORKERS };
        let nat = Pipeline::new(&nat(), shard, Clock::with_rate(1e9), 0).expect("memory");
        let mut driven = Driven {
            vrrp,
            nat,
            now: Time::ZERO,
            changes: Vec::new(),
            frames: Vec::new(),
            number: 0,
        };
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

    /// A worker tells.
    fn happened(&mut self, worker: u16, kind: EventKind) -> &mut Driven {
        let what = Happening { worker, kind, subject: 0, detail: [0; 5], at: self.now };
        self.input(Input::Command(Event::Happened(what)))
    }

    /// Another NAT advertises outside for a time that is longer than this one would wait for it.
    fn hear(&mut self, priority: u8) -> &mut Driven {
        for _ in 0..10 {
            self.pass(Duration::from_secs(1)).advertise(priority);
        }
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
        while let Some(output) = self.vrrp.poll(self.now) {
            let updates = match output {
                Output::Report(Action::Passing(updates)) => updates,
                Output::Departure(Departure::Frame { .. }) => {
                    self.frames.push(self.changes.len());
                    continue;
                }
                _ => continue,
            };
            for update in updates {
                self.changes.push(update.value());
                let typed = update.typed::<Update>().expect("one of the NAT").clone();
                let number = self.number;
                let event = match self.nat.apply(typed, 0) {
                    Ok(()) => Event::Applied { first: number, count: 1, at: self.now },
                    Err(why) => Event::Refused { number, why },
                };
                self.number += 1;
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
        driven.frames.first(),
        Some(&COMES.len()),
        "the NAT is ready before it is announced"
    );
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
fn a_nat_that_is_told_of_sessions_takes_over_from_another_one_when_it_knows_them() {
    use EventKind::{Synchronised, Unsynchronised};
    let (active, backup) = (vec!["active".to_owned(); 2], vec!["backup".to_owned(); 2]);
    let links = [("h-in", INSIDE), ("h-out", OUTSIDE)];
    let synchronised = |driven: &Driven| Controller::show(&driven.vrrp)["synchronised"].clone();

    let mut driven = Driven::new();
    driven.links(&links).hear(50);
    assert_eq!((driven.states(), synchronised(&driven)), (active.clone(), Value::Null));

    let mut driven = Driven::new();
    driven.happened(0, Unsynchronised).links(&links).hear(50);
    assert_eq!((driven.states(), synchronised(&driven)), (backup.clone(), json!(false)));
    driven.happened(0, Synchronised).hear(50);
    assert_eq!(driven.states(), backup, "the second worker has told nothing yet");
    driven.happened(1, Unsynchronised).hear(50);
    assert_eq!(driven.states(), backup);
    driven.happened(1, Synchronised).happened(0, Unsynchronised).hear(50);
    assert_eq!(driven.states(), backup, "the first one has lost what it knew");
    driven.happened(0, Synchronised).hear(50);
    assert_eq!((driven.states(), synchronised(&driven)), (active.clone(), json!(true)));
    driven.happened(0, Unsynchronised).hear(50);
    assert_eq!(driven.states(), active, "it is active already");

    // Its sessions are better than none.
    driven.advertise(200);
    assert_eq!(driven.states(), backup);
    driven.hear(50);
    assert_eq!(driven.states(), backup);
    driven.pass(SILENCE);
    assert_eq!(driven.states(), active, "nobody else is there");

    // A NAT that leaves need not be taken over from.
    driven.advertise(200).hear(50).advertise(0).pass(Duration::from_secs(1));
    assert_eq!(driven.states(), active, "the other one has resigned");
}

#[test]
fn other_keys_do_not_let_a_nat_take_over_earlier() {
    use EventKind::{Synchronised, Unsynchronised};
    let mut driven = Driven::new();
    let links = [("h-in", INSIDE), ("h-out", OUTSIDE)];
    driven.happened(0, Unsynchronised).links(&links).hear(50);
    let function = configured::<Cgnat>(nat());
    let untracked = config(json!({}), json!({"track": []}));
    assert!(driven.vrrp.reload(&untracked, Some(&*function), driven.now));
    driven.hear(50);
    assert_eq!(driven.states(), ["backup"; 2]);
    for worker in 0..2 {
        driven.happened(worker, Synchronised);
    }
    driven.hear(50);
    assert_eq!(driven.states(), ["active"; 2]);

    let mut driven = Driven::with(config(json!({"preempt": false}), json!({"preempt": false})));
    for worker in 0..2 {
        driven.happened(worker, Synchronised);
    }
    driven.links(&links).hear(50);
    assert_eq!(driven.states(), ["backup"; 2], "it is not to take over at all");
}

#[test]
fn a_nat_without_virtual_routers_is_not_the_active_one() {
    let mut driven = Driven::with(Config::default());
    assert_eq!(driven.changed(), GOES[..1]);
    let function = configured::<Cgnat>(nat());
    let links = [("h-in", INSIDE), ("h-out", OUTSIDE)];
    for (keys, changes) in [(config(json!({}), json!({})), COMES), (Config::default(), GOES)] {
        assert!(driven.vrrp.reload(&keys, Some(&*function), driven.now));
        driven.links(&links).pass(SILENCE);
        let mut changed = driven.changed();
        changed.sort_unstable_by_key(|change| changes.iter().position(|one| one == change));
        assert_eq!(changed, changes);
    }
}

#[test]
fn a_nat_tells_of_no_routes() {
    let keys = config(json!({}), json!({"track": [{"route": "10.0.0.0/8", "decrement": 1}]}));
    let function = configured::<Cgnat>(nat());
    let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
    let refused = Vrrp::new(&keys, setup).err().expect("no routes");
    assert_eq!(refused.key, "routers[1].track");
}

#[test]
fn a_group_has_one_priority() {
    let mut other = config(json!({}), json!({"priority": 120}));
    let refused = Vrrp::validate(&mut other).expect_err("another priority");
    assert_eq!(refused.key, "routers[1].group");
}
