//! What packets for the control plane cost transit, and whether a flood of one protocol takes
//! anything from another: a worker with 100 sessions of BFD (10 ms x 3) is offered 10 M packets per
//! second in transit, beside punted ones, in virtual time. The time that it takes for a round is
//! measured, and the variants take turns; what the host's thread does is not in it.
//!
//! `cargo run --release -p function-l3-router --example punts`

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::plane::{Plane, PlaneSetup, PuntCounts, PuntLimit};
use engine::{Port, Worker};
use function_kit::NetworkFunction;
use function_l3_router::{Config, L3Router, Pipeline};
use machine::clock::{self, Clock, Ticks};
use packet::{BATCH_MAX, Batch, PortId, Reason, Room, Slot};
use serde_json::{Value, json};
use wire::checksum::{Sum, header_checksum};

const SESSIONS: u32 = 100;

/// Packets of a round in transit.
const TRANSIT: u64 = 100;

/// A round in virtual time: 10 M packets per second in transit.
const ROUND: Ticks = 10_000;

/// Rounds of a turn, and turns of each variant.
const ROUNDS: u64 = 2_000;
const TURNS: usize = 10;

const MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];

/// What is offered beside transit.
struct Variant {
    name: &'static str,
    /// Packets of a round; 10 are a million a second.
    per_round: u64,
    frames: Vec<Vec<u8>>,
}

struct Node {
    worker: Worker<Pipeline>,
    plane: Plane,
    wire: Arc<Wire>,
    /// Time of each round, in ticks of the machine.
    took: Vec<u64>,
    came_up: Vec<u64>,
}

/// What the two ends of a node's ports share with this program.
#[derive(Default)]
struct Wire {
    /// Frames to the worker beside those of its source.
    to: Mutex<Vec<Vec<u8>>>,
    /// Tagged frames from it: those of its sessions.
    tagged: Mutex<Vec<Vec<u8>>>,
    forwarded: AtomicU64,
}

/// Both kinds of frames, in turns.
struct Source {
    transit: Vec<Vec<u8>>,
    punts: Vec<Vec<u8>>,
    transit_per_round: u64,
    punts_per_round: u64,
    at: [usize; 2],
}

impl Port for Source {
    fn receive(&mut self, batch: &mut Batch, _: usize, _: Ticks) -> usize {
        let all = self.transit_per_round + self.punts_per_round;
        let mut give = |frames: &[Vec<u8>], at: &mut usize| {
            let frame = &frames[*at % frames.len()];
            *at += 1;
            batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
        };
        for number in 0..all {
            let [transit, punts] = &mut self.at;
            match number * self.punts_per_round / all == (number + 1) * self.punts_per_round / all {
                true => give(&self.transit, transit),
                false => give(&self.punts, punts),
            }
        }
        all as usize
    }

    fn transmit(&mut self, _: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        slots.len()
    }
}

struct Uplink(Arc<Wire>);

impl Port for Uplink {
    fn receive(&mut self, batch: &mut Batch, _: usize, _: Ticks) -> usize {
        let mut frames = self.0.to.lock().expect("nobody panics");
        for frame in frames.iter() {
            batch.append(PortId(1), frame.len()).expect("room").copy_from_slice(frame);
        }
        let count = frames.len();
        frames.clear();
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        let mut plain = 0;
        for &slot in slots {
            match batch.frame(slot)[12] {
                0x81 => {
                    let frame = batch.frame(slot).to_vec();
                    self.0.tagged.lock().expect("nobody panics").push(frame);
                }
                _ => plain += 1,
            }
        }
        self.0.forwarded.fetch_add(plain, Ordering::Relaxed);
        slots.len()
    }
}

fn node(own: u8, peer: u8, source: Source) -> Node {
    let address = |vlan: u32, last: u8| format!("10.{}.{}.{last}", vlan / 250, vlan % 250);
    let interfaces: Vec<Value> = (1..=SESSIONS)
        .map(|vlan| json!({"port": "wan", "vlan": vlan, "ip": address(vlan, own) + "/24"}))
        .collect();
    let mac = |last: u8| format!("02:00:00:00:02:{last:02x}");
    let mut hops: Vec<Value> = (1..=SESSIONS)
        .map(|vlan| {
            let bfd = json!({"interval-ms": 10, "multiplier": 3});
            let ip = address(vlan, peer);
            json!({"port": "wan", "vlan": vlan, "mac": mac(peer), "ip": ip, "bfd": bfd})
        })
        .collect();
    hops.push(json!({"port": "wan", "mac": mac(peer), "ip": "172.16.0.9"}));
    let routes: Vec<Value> = (0..1000)
        .map(|net| {
            let prefix = format!("100.{}.{}.0/24", 64 + net / 250, net % 250);
            json!({"prefix": prefix, "next-hop": SESSIONS})
        })
        .collect();
    let config = json!({
        "ports": [
            {"name": "lan", "mac": "02:00:00:00:01:01", "ip": "198.18.0.1/16",
             "host-interface": "lan0"},
            {"name": "wan", "mac": mac(own), "ip": format!("172.16.0.{own}/24"),
             "host-interface": "wan0"},
        ],
        "interfaces": interfaces,
        "next-hops": hops,
        "routes": routes,
        "resolve": true,
        "icmp-errors-per-s": 1000,
    });
    let mut config: Config = serde_json::from_value(config).expect("a section");
    L3Router::validate(&mut config).expect("a configuration");
    let router = Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("memory");
    let wire = Arc::new(Wire::default());
    let ports: Vec<Box<dyn Port>> = vec![Box::new(source), Box::new(Uplink(Arc::clone(&wire)))];
    let (mut worker, _) = Worker::new(router, ports, BATCH_MAX, Room::default()).expect("memory");
    let reasons = worker.names().punts.len();
    let plane = worker.join_plane(PlaneSetup {
        limits: &vec![PuntLimit::default(); reasons],
        ticks_per_s: 1e9,
        secret: [1, 2],
        wake: Box::new(|| {}),
    });
    Node { worker, plane, wire, took: Vec::new(), came_up: vec![0; reasons] }
}

impl Node {
    fn round(&mut self, now: Ticks) {
        let begun = clock::now();
        self.worker.poll(now);
        self.took.push(clock::now() - begun);
        for reason in 0..self.plane.reasons() {
            for _ in 0..32 {
                if self.plane.next(Reason(reason)).is_none() {
                    break;
                }
                self.came_up[usize::from(reason)] += 1;
            }
        }
        while self.plane.event().is_some() {}
    }

    fn up(&mut self) -> usize {
        let page =
            L3Router::table_page(self.worker.function_mut(), 7, 0, SESSIONS as usize, u64::MAX);
        page.entries.iter().filter(|entry| entry["state"] == "Up").count()
    }
}

/// A router that is offered a variant's frames, the peer of its sessions, and virtual time.
struct Lane {
    variant: &'static str,
    per_round: u64,
    nodes: [Node; 2],
    now: Ticks,
    adverts: u64,
}

impl Lane {
    fn new(variant: Variant, transit: &[Vec<u8>]) -> Lane {
        let source = Source {
            transit: transit.to_vec(),
            punts: variant.frames,
            transit_per_round: TRANSIT,
            punts_per_round: variant.per_round,
            at: [0; 2],
        };
        let idle = Source {
            transit: Vec::new(),
            punts: Vec::new(),
            transit_per_round: 0,
            punts_per_round: 0,
            at: [0; 2],
        };
        let nodes = [node(1, 2, source), node(2, 1, idle)];
        Lane { variant: variant.name, per_round: variant.per_round, nodes, now: 0, adverts: 0 }
    }

    fn run(&mut self, rounds: u64) {
        for _ in 0..rounds {
            self.now += ROUND;
            // 100 adverts a second, of 100 virtual routers on the link.
            if self.now.is_multiple_of(10_000_000) {
                self.adverts += 1;
                let advert =
                    ipv4([1, 0, 0x5e, 0, 0, 18], 112, 255, [198, 18, 0, 2], GROUP, &[0x31; 20]);
                self.nodes[0].wire.to.lock().expect("nobody panics").push(advert);
            }
            for place in 0..2 {
                self.nodes[place].round(self.now);
                let left =
                    std::mem::take(&mut *self.nodes[place].wire.tagged.lock().expect("fine"));
                self.nodes[1 - place].wire.to.lock().expect("fine").extend(left);
            }
        }
    }
}

impl Lane {
    fn tell(&mut self, ticks_per_ns: f64) {
        let mut medians: Vec<f64> = self.nodes[0]
            .took
            .chunks_mut(ROUNDS as usize)
            .map(|turn| {
                turn.sort_unstable();
                turn[turn.len() / 2] as f64 / ticks_per_ns
            })
            .collect();
        medians.sort_unstable_by(f64::total_cmp);
        let [low, middle, high] = [0, medians.len() / 2, medians.len() - 1].map(|at| medians[at]);
        let offered = self.now / ROUND * TRANSIT;
        let forwarded = self.nodes[0].wire.forwarded.load(Ordering::Relaxed);
        println!(
            "{}: a round of {TRANSIT} + {} takes {middle:.0} ns ({low:.0} to {high:.0}), \
             {:.0} % of a core at 10 M/s; a core \
             carries {:.1} M/s; {forwarded} of {offered} forwarded; {} of \
             {SESSIONS} sessions up; {} of {} adverts",
            self.variant,
            self.per_round,
            middle / ROUND as f64 * 100.0,
            TRANSIT as f64 / middle * 1000.0,
            self.nodes[0].up(),
            self.nodes[0].came_up[VRRP],
            self.adverts,
        );
        let names = self.nodes[0].worker.names().punts;
        for (number, name) in (0..).zip(names) {
            let counts = self.nodes[0].plane.counts(Reason(number));
            if counts != PuntCounts::default() {
                println!("    {name}: {counts:?}");
            }
        }
    }
}

/// The place of the reason `vrrp`.
const VRRP: usize = 2;

const GROUP: [u8; 4] = [224, 0, 0, 18];

fn ipv4(to: [u8; 6], protocol: u8, ttl: u8, from: [u8; 4], dest: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut frame = to.to_vec();
    frame.extend([2, 0, 0, 9, 9, 9, 8, 0]);
    let mut header = [
        0x45,
        0,
        0,
        20 + rest.len() as u8,
        0,
        0,
        0,
        0,
        ttl,
        protocol,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    header[12..16].copy_from_slice(&from);
    header[16..].copy_from_slice(&dest);
    let sum = header_checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend(rest);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Sources by a number.
fn station(number: u32) -> [u8; 4] {
    let [_, _, high, low] = number.to_be_bytes();
    [198, 18, high | 1, low | 2]
}

const OWN: [u8; 4] = [198, 18, 0, 1];

fn syn(number: u32) -> Vec<u8> {
    let [_, _, high, low] = number.to_be_bytes();
    let mut segment = [high | 0x80, low, 0, 179, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 9, 9, 0, 0, 0, 0];
    let (from, pseudo) = (station(number), Sum::ZERO.add_u16(6).add_u16(20));
    let sum = pseudo.add_bytes(&from).add_bytes(&OWN).add_bytes(&segment).checksum();
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    ipv4(MAC, 6, 64, from, OWN, &segment)
}

fn arp(number: u32) -> Vec<u8> {
    let [_, _, high, low] = number.to_be_bytes();
    let mut frame = vec![0xff; 6];
    let own = [2, 1, 0, 0, high, low];
    frame.extend(own);
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend(own);
    frame.extend(station(number));
    frame.extend([0; 6]);
    frame.extend(OWN);
    frame.resize(60, 0);
    frame
}

fn main() {
    let many = |one: &dyn Fn(u32) -> Vec<u8>| (0..4096).map(one).collect::<Vec<_>>();
    let udp = |number: u32| -> [u8; 16] {
        let [_, _, high, low] = number.to_be_bytes();
        [high, low, 9, 9, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    };
    let destination = |number: u32| {
        let net = number * 7 % 1000;
        [100, 64 + (net / 250) as u8, (net % 250) as u8, number as u8]
    };
    let transit = many(&|n| ipv4(MAC, 17, 64, station(n), destination(n), &udp(n)));
    let dying = many(&|n| {
        let to = if n % 2 == 0 { OWN } else { destination(n) };
        ipv4(MAC, 17, 1, station(n), to, &udp(n))
    });
    let mixed = many(&|n| match n % 5 {
        0 => arp(n),
        1 => syn(n),
        2 => ipv4(MAC, 1, 64, station(n), OWN, &[0; 16]),
        3 => ipv4([1, 0, 0x5e, 0, 0, 5], 89, 1, station(n), [224, 0, 0, 5], &[2; 24]),
        _ => ipv4(MAC, 17, 64, station(n), OWN, &udp(n)),
    });
    let variants = [
        ("transit alone", 0, Vec::new()),
        ("2 M/s of five protocols", 20, mixed),
        ("5 M/s of ARP", 50, many(&arp)),
        ("5 M/s of TTL 1", 50, dying),
        ("5 M/s of BGP SYN", 50, many(&syn)),
    ];
    let lane = |(name, per_round, frames)| Lane::new(Variant { name, per_round, frames }, &transit);
    let mut lanes: Vec<Lane> = variants.into_iter().map(lane).collect();
    for lane in &mut lanes {
        lane.run(3_000_000_000 / ROUND);
        lane.nodes[0].took.clear();
    }
    for _ in 0..TURNS {
        lanes.iter_mut().for_each(|lane| lane.run(ROUNDS));
    }
    let ticks_per_ns = Clock::calibrate(Duration::from_millis(100)).ticks_per_second() / 1e9;
    lanes.iter_mut().for_each(|lane| lane.tell(ticks_per_ns));
}
