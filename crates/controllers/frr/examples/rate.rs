//! How many routes per second go from zebra's stream into a router on one core:
//!
//! ```sh
//! cargo run --release -p controller-frr --example rate
//! ```
//! As many as the Internet has, in a random order, in a frame each as zebra writes them, in pieces
//! of 64 KiB: by a hundred numbers, half of them groups of four next hops. They are told, told
//! again in a second connection, moved by a change of each next hop, and swept. The time of the
//! router is counted apart.
#![expect(clippy::disallowed_types, reason = "it measures time")]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use controller_frr::{Config, Frr};
use controller_kit::{Action, Controller, Event, Link, Setup};
use engine::Function;
use function_kit::NetworkFunction;
use function_kit::erased::configured;
use function_l3_router::{L3Router, Pipeline, Said, config};
use machine::clock::Clock;
use protocol_kit::{Arrival, Input, Interface, Machine, Output, Random, Socket, Time};

fn main() {
    let mut router = config::Config {
        resolve: true,
        ecmp_capacity: 128,
        route_capacity: 1_200_000,
        ..config::Config::default()
    };
    L3Router::validate(&mut router).expect("a router");
    let pipeline = Pipeline::new(&router, Clock::with_rate(1e9), 0).expect("memory for its tables");
    let function = configured::<L3Router>(router);
    let setup = Setup { function: Some(&*function), state: Vec::new(), seed: 1 };
    let frr = Frr::new(&Config::default(), setup).expect("they fit");
    let mut bench = Bench { frr, pipeline, now: Time::ZERO, first: 0, routing: Duration::ZERO };
    let link = Link { name: "uplink".to_owned(), kernel: Interface(4), number: 1 };
    bench.input(Input::Command(Event::Links(vec![link])));
    let routes = routes();
    for what in ["told", "told again"] {
        bench.input(Input::Arrival(Arrival::Connected { socket: STREAM, local: None, peer: None }));
        bench.time(what, |bench| {
            bench.feed(&objects(0));
            routes.chunks(PIECE).for_each(|piece| bench.feed(piece));
        });
        if what == "told" {
            bench.input(Input::Arrival(Arrival::Finished { socket: STREAM }));
        }
    }
    bench.time("next hops changed", |bench| bench.feed(&objects(HOPS)));
    println!("{}", bench.frr.show()["routes"]);
    bench.input(Input::Arrival(Arrival::Finished { socket: STREAM }));
    bench.now = bench.now.after(Duration::from_secs(300));
    bench.time("swept", Bench::poll);
    println!("{}", bench.frr.show()["routes"]);
}

struct Bench {
    frr: Frr,
    pipeline: Pipeline,
    now: Time,
    first: u64,
    /// Time in the router.
    routing: Duration,
}

impl Bench {
    fn time(&mut self, what: &str, work: impl FnOnce(&mut Bench)) {
        let (start, first) = (Instant::now(), self.first);
        self.routing = Duration::ZERO;
        work(self);
        let all = start.elapsed();
        let rate = |time: Duration| ROUTES as f64 / time.as_secs_f64() / 1e6;
        println!(
            "{what}: {} changes; {ROUTES} routes in {:.2} s, {:.2} million a second, and {:.2} \
             without the router",
            self.first - first,
            all.as_secs_f64(),
            rate(all),
            rate(all - self.routing),
        );
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.input(Input::Arrival(Arrival::Bytes { socket: STREAM, bytes }));
    }

    fn input(&mut self, input: Input<'_, Event>) {
        self.frr.input(self.now, input);
        self.poll();
    }

    fn poll(&mut self) {
        while let Some(output) = self.frr.poll(self.now) {
            let Output::Report(Action::Updates(updates)) = output else { continue };
            let start = Instant::now();
            for update in &updates {
                let update: Said = *update.typed().expect("one of the router");
                self.pipeline.apply(update, 0).expect("there is room");
            }
            self.routing += start.elapsed();
            let (first, count) = (self.first, updates.len() as u64);
            self.first += count;
            let applied = Event::Applied { first, count, at: self.now };
            self.frr.input(self.now, Input::Command(applied));
        }
    }
}

/// Next hops, and groups of four of them.
fn objects(shift: u32) -> Vec<u8> {
    let hops = (0..HOPS).flat_map(|at| {
        let gateway = Ipv4Addr::new(10, 1, 1, (at + shift) as u8).octets();
        let all = [attribute(1, &at.to_le_bytes()), attribute(6, &gateway)].concat();
        let interface = attribute(5, &4_u32.to_le_bytes());
        frame(104, &[&[2, 0, 11, 0, 0, 0, 0, 0], &all[..], &interface].concat())
    });
    let groups = (0..HOPS).flat_map(|at| {
        let member = |by: u32| [((at + by) % HOPS) as u8, 0, 0, 0, by as u8, 0, 0, 0];
        let members: Vec<u8> = (0..4).flat_map(member).collect();
        let all = [attribute(1, &(HOPS + at).to_le_bytes()), attribute(2, &members)].concat();
        frame(104, &[&[0, 0, 11, 0, 0, 0, 0, 0], &all[..]].concat())
    });
    hops.chain(groups).collect()
}

/// Frames of different routes in a random order.
fn routes() -> Vec<u8> {
    let mut random = Random::new(2);
    let mut numbers: Vec<u32> = (0..ROUTES).collect();
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, random.below(at as u64 + 1) as usize);
    }
    let route = |at: u32| {
        let octets = Ipv4Addr::from_bits((at + (1 << 16)) << 8).octets();
        let head = [2, 24, 0, 0, 254, 186, 0, 1, 0, 0, 0, 0];
        let to = random.below(2 * u64::from(HOPS)) as u32;
        let rest = [attribute(6, &20_u32.to_le_bytes()), attribute(30, &to.to_le_bytes())].concat();
        frame(24, &[&head[..], &attribute(1, &octets), &rest].concat())
    };
    numbers.into_iter().flat_map(route).collect()
}

fn frame(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = 16 + body.len() as u32;
    let head = [&len.to_le_bytes()[..], &kind.to_le_bytes(), &[0x01, 0x05], &[0; 8]].concat();
    let all = (len as u16 + 4).to_be_bytes();
    [&[1, 1], &all[..], &head, body].concat()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = value.len() as u16 + 4;
    [&len.to_le_bytes()[..], &kind.to_le_bytes(), value].concat()
}

const STREAM: Socket = Socket(1);

/// Routes of the Internet's table of IPv4, as of the middle of the decade.
const ROUTES: u32 = 1_060_000;

/// Next hops; there are as many groups.
const HOPS: u32 = 50;

/// Bytes of the stream that are handed over at once.
const PIECE: usize = 64 << 10;
