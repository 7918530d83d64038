//! A controller that is driven by hand with its router, bfdd's messages, and a far router.

use std::time::Duration;

use controller_frr_bfd::{Config, FrrBfd};
use controller_kit::{Action, Alarm, Controller, Event, EventKind, Happening, Link, Setup};
use engine::{Function, StageTotals};
use function_kit::NetworkFunction;
use function_kit::erased::{AnyUpdate, configured};
use function_l3_router::config as l3;
use function_l3_router::{L3Router, Pipeline, Said, Update};
use machine::clock::Clock;
use packet::{Batch, Room, Verdict};
use protocol_bfddp::message::Message;
use protocol_bfddp::{Change, Session};
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket, Time};
use serde_json::{Value, json};

/// The kernel's number of the interface `core`.
pub const CORE: u32 = 4;

const STREAM: Socket = Socket(0);
const MS: Duration = Duration::from_millis(1);

/// A router with its batch.
pub struct Node {
    pub router: Pipeline,
    batch: Batch,
}

/// All of them, and the time.
pub struct Driven {
    pub bfd: FrrBfd,
    pub near: Node,
    pub far: Node,
    /// Frames on the link, by who gets them.
    link: [Vec<Vec<u8>>; 2],
    /// Whether the link carries what the far router sends.
    pub passes: bool,
    pub now: Time,
    pub alarms: Vec<Alarm>,
    /// What bfdd was told.
    pub told: Vec<(u32, Change)>,
    /// What the near router told of: subjects and kinds.
    pub happened: Vec<(u64, EventKind)>,
    /// Changes that the router has refused.
    pub refused: Vec<Update>,
    number: u64,
}

/// The router of the controller.
pub fn router(capacity: u32) -> l3::Config {
    read(json!({
        "resolve": true,
        "bfd-capacity": capacity,
        "ports": [
            {"name": "core", "mac": "02:00:00:00:00:01", "ip": "10.0.2.1/24",
             "host-interface": "core"},
            {"name": "lan", "mac": "02:00:00:00:00:02", "ip": "10.0.1.1/24"},
        ],
        "next-hops": [{"port": "core", "ip": "10.0.2.2"}],
    }))
}

fn read(keys: Value) -> l3::Config {
    let mut config: l3::Config = serde_json::from_value(keys).expect("keys");
    L3Router::validate(&mut config).expect("a router");
    config
}

impl Node {
    fn new(config: &l3::Config) -> Node {
        let room = Room::default();
        let mut router = Pipeline::new(config, Clock::with_rate(1e9), 0).expect("a router");
        router.make_room(room).expect("memory");
        Node { router, batch: Batch::new(256, room).expect("memory") }
    }

    /// Gives it frames of its first port; returns those that leave by it.
    fn step(&mut self, frames: &[Vec<u8>], now: u64) -> Vec<Vec<u8>> {
        let port = packet::PortId(0);
        self.batch.clear();
        for frame in frames {
            self.batch.append(port, frame.len()).expect("room").copy_from_slice(frame);
        }
        let mut totals = StageTotals::default();
        self.router.process(&mut self.batch, now, &mut totals.start(now));
        let mut left = Vec::new();
        let mut take = |batch: &Batch| {
            let leaves = |slot: &u8| batch.verdict(*slot) == Verdict::Forward(port);
            left.extend(batch.slots().filter(leaves).map(|slot| batch.frame(slot).to_vec()));
        };
        take(&self.batch);
        self.router.tick(now);
        if let Some(made) = self.router.made(now) {
            take(made);
            made.clear();
        }
        left
    }
}

impl Driven {
    /// A controller whose bfdd is connected, with the kernel's interface.
    pub fn new(capacity: u32) -> Driven {
        let mut driven = Driven::bare(capacity);
        driven.links(&[("core", CORE)]).connect();
        driven
    }

    /// The same without either.
    pub fn bare(capacity: u32) -> Driven {
        let config = router(capacity);
        let function = configured::<L3Router>(config.clone());
        let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 7 };
        let far = read(json!({
            "resolve": true,
            "ports": [
                {"name": "core", "mac": "02:00:00:00:00:09", "ip": "10.0.2.2/24"},
                {"name": "lan", "mac": "02:00:00:00:00:0a", "ip": "10.0.3.1/24"},
            ],
            "next-hops": [
                {"port": "core", "ip": "10.0.2.1", "bfd": {"interval-ms": 10, "multiplier": 3}},
            ],
        }));
        let mut driven = Driven {
            bfd: FrrBfd::new(&Config::default(), setup).expect("they fit"),
            near: Node::new(&config),
            far: Node::new(&far),
            link: Default::default(),
            passes: true,
            now: Time::ZERO,
            alarms: Vec::new(),
            told: Vec::new(),
            happened: Vec::new(),
            refused: Vec::new(),
            number: 0,
        };
        driven.poll();
        driven
    }

    /// The host has these interfaces.
    pub fn links(&mut self, links: &[(&str, u32)]) -> &mut Driven {
        let link = |&(name, kernel): &(&str, u32)| Link {
            name: name.to_owned(),
            kernel: Interface(kernel),
            number: 0,
        };
        self.event(Event::Links(links.iter().map(link).collect()))
    }

    pub fn event(&mut self, event: Event) -> &mut Driven {
        self.bfd.input(self.now, Input::Command(event));
        self.poll();
        self
    }

    fn arrive(&mut self, arrival: Arrival<'_>) -> &mut Driven {
        self.bfd.input(self.now, Input::Arrival(arrival));
        self.poll();
        self
    }

    pub fn connect(&mut self) -> &mut Driven {
        self.arrive(Arrival::Connected { socket: STREAM, local: None, peer: None })
    }

    pub fn fail(&mut self) -> &mut Driven {
        self.arrive(Arrival::Failed { socket: STREAM })
    }

    /// Bfdd says something.
    pub fn say(&mut self, message: Message) -> &mut Driven {
        let bytes = message.emit(0);
        self.arrive(Arrival::Bytes { socket: STREAM, bytes: &bytes })
    }

    /// The time passes, a millisecond a step.
    pub fn pass(&mut self, ms: u64) -> &mut Driven {
        for _ in 0..ms {
            let at = self.now.0;
            let [to_near, to_far] = std::mem::take(&mut self.link);
            self.link[1] = self.near.step(&to_near, at);
            let sent = self.far.step(&to_far, at);
            self.link[0] = if self.passes { sent } else { Vec::new() };
            while let Some(event) = self.near.router.event() {
                let engine::Event { kind, subject, detail, .. } = event;
                self.happened.push((subject, kind));
                let what = Happening { worker: 0, kind, subject, detail, at: self.now };
                self.event(Event::Happened(what));
            }
            self.now = self.now.after(MS);
            self.poll();
        }
        self
    }

    /// The time passes at once, for the controller alone.
    pub fn wait(&mut self, span: Duration) -> &mut Driven {
        self.now = self.now.after(span);
        self.poll();
        self
    }

    /// Takes everything that comes out, applies changes and answers them.
    fn poll(&mut self) {
        while let Some(output) = self.bfd.poll(self.now) {
            match output {
                Output::Departure(Departure::Bytes { socket, bytes }) => {
                    if let Ok((_, Message::StateChange(name, change))) = Message::parse(&bytes) {
                        self.told.push((name, change));
                    }
                    let taken = Arrival::Taken { socket, count: bytes.len() };
                    self.bfd.input(self.now, Input::Arrival(taken));
                }
                Output::Departure(_) => {}
                Output::Report(Action::Alarm(alarm)) => self.alarms.push(alarm),
                Output::Report(Action::Line(line)) => panic!("{line:?} is nobody's to tell"),
                Output::Report(Action::Inject(one)) => panic!("{one:?} is nobody's to send"),
                Output::Report(Action::Passing(updates)) => self.apply(&updates),
                Output::Report(Action::Updates(updates)) => panic!("{updates:?} would be kept"),
            }
        }
        let deadline = self.bfd.deadline();
        assert!(deadline.is_none_or(|time| time > self.now), "it is at rest: {deadline:?}");
    }

    fn apply(&mut self, updates: &[AnyUpdate]) {
        for update in updates {
            assert!(FrrBfd::claims(&Config::default()).contains(&&*update.kind()));
            let update = update.typed::<Said>().expect("one of the router").numbered();
            let (number, at) = (self.number, self.now);
            self.number += 1;
            let event = match self.near.router.apply(update.said(), self.now.0) {
                Ok(()) => Event::Applied { first: number, count: 1, at },
                Err(why) => {
                    self.refused.push(update);
                    Event::Refused { number, why }
                }
            };
            self.bfd.input(self.now, Input::Command(event));
        }
    }

    /// What bfdd was told since this was asked last: the session and whether it is up.
    pub fn heard(&mut self) -> Vec<(u32, bool)> {
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|(name, change)| (name, !change.state.is_down())).collect()
    }

    /// The alarms since this was asked last: cause and whether it begins.
    pub fn alarmed(&mut self) -> Vec<(&'static str, bool)> {
        let alarms = std::mem::take(&mut self.alarms);
        alarms.into_iter().map(|alarm| (alarm.cause, alarm.severity.is_some())).collect()
    }

    /// Whether the next hop that is the far router is there, at both.
    pub fn paths(&self) -> [bool; 2] {
        [&self.near, &self.far].map(|node| !node.router.state().is_down(0))
    }

    /// The sessions of the router: the discriminator and the state of each.
    pub fn sessions(&self) -> Vec<(u64, String)> {
        let tables = L3Router::TABLES;
        let table = tables.iter().position(|name| *name == "bfd").expect("a table");
        let rows = L3Router::table_page(&self.near.router, table, 0, 100, 0).entries;
        let row = |row: &Value| {
            let state = row["state"].as_str().expect("a state").to_owned();
            (row["discriminator"].as_u64().expect("a number"), state)
        };
        rows.iter().map(row).collect()
    }
}

/// A session of 10 ms with a neighbour, as bfdd wants it.
pub fn session(discriminator: u32, peer: u8) -> Session {
    Session {
        discriminator,
        local: Some([10, 0, 2, 1].into()),
        peer: [10, 0, 2, peer].into(),
        is_multihop: false,
        is_demand: false,
        is_independent: false,
        has_echo: false,
        is_passive: false,
        is_shut_down: false,
        desired_min_tx_us: 10_000,
        required_min_rx_us: 10_000,
        echo_tx_us: 50_000,
        required_echo_rx_us: 50_000,
        hold_time_ms: 0,
        ttl_min: 255,
        detect_multiplier: 3,
        interface: Some(Interface(CORE)),
        interface_name: "core".into(),
    }
}
