//! What a thousand sessions of BFD cost a worker: two routers watch each other at 1,000 VLANs,
//! 10 ms x 3, in virtual time; the time that one of them takes for its sessions is measured.
//!
//! `cargo run --release -p function-l3-router --example sessions`

use std::time::{Duration, Instant};

use engine::{Function, StageTotals};
use function_kit::NetworkFunction;
use function_l3_router::{Config, L3Router, Pipeline};
use machine::clock::{Clock, Ticks};
use packet::{BATCH_MAX, Batch, PortId, Room, Verdict};
use serde_json::{Value, json};

const SESSIONS: u32 = 1000;

/// A round of a worker, in virtual time.
const ROUND: Ticks = 50_000;

struct Node {
    router: Pipeline,
    batch: Batch,
    took: Duration,
    rounds: u64,
}

fn node(own: u8, peer: u8) -> Node {
    let address = |vlan: u32, last: u8| format!("10.{}.{}.{last}", vlan / 250, vlan % 250);
    let interfaces: Vec<Value> = (1..=SESSIONS)
        .map(|vlan| json!({"port": "uplink", "vlan": vlan, "ip": address(vlan, own) + "/24"}))
        .collect();
    let next_hops: Vec<Value> = (1..=SESSIONS)
        .map(|vlan| {
            let bfd = json!({"interval-ms": 10, "multiplier": 3});
            let mac = format!("02:00:00:00:00:{peer:02x}");
            let ip = address(vlan, peer);
            json!({"port": "uplink", "vlan": vlan, "mac": mac, "ip": ip, "bfd": bfd})
        })
        .collect();
    let config = json!({
        "uplink-mac": format!("02:00:00:00:00:{own:02x}"),
        "uplink-ip": format!("172.16.0.{own}/24"),
        "downlink-ip": "172.17.0.1/24",
        "interfaces": interfaces,
        "next-hops": next_hops,
    });
    let mut config: Config = serde_json::from_value(config).expect("a section");
    L3Router::validate(&mut config).expect("a configuration");
    let mut router = Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("memory");
    let room = Room::default();
    router.make_room(room).expect("memory");
    let batch = Batch::new(BATCH_MAX, room).expect("memory");
    Node { router, batch, took: Duration::ZERO, rounds: 0 }
}

impl Node {
    /// Lets a worker go round with these frames; returns those that leave.
    fn step(&mut self, frames: &mut Vec<Vec<u8>>, now: Ticks) -> Vec<Vec<u8>> {
        let mut left = Vec::new();
        self.batch.clear();
        for frame in frames.drain(..frames.len().min(BATCH_MAX)) {
            self.batch.append(PortId(1), frame.len()).expect("room").copy_from_slice(&frame);
        }
        let begun = Instant::now();
        if !self.batch.is_empty() {
            let mut totals = StageTotals::default();
            self.router.process(&mut self.batch, now, &mut totals.start(now));
        }
        self.router.tick(now);
        let made = self.router.made(now);
        self.took += begun.elapsed();
        self.rounds += 1;
        if let Some(made) = made {
            for slot in made.slots() {
                if let Verdict::Forward(_) = made.verdict(slot) {
                    left.push(made.frame(slot).to_vec());
                }
            }
            made.clear();
        }
        left
    }
}

fn main() {
    let mut nodes = [node(1, 2), node(2, 1)];
    let mut waiting: [Vec<Vec<u8>>; 2] = Default::default();
    let mut run = |nodes: &mut [Node; 2], from: u64, to: u64| {
        let mut sent = 0;
        for now in (from..to).step_by(ROUND as usize) {
            for place in 0..2 {
                let left = nodes[place].step(&mut waiting[place], now);
                sent += left.len();
                waiting[1 - place].extend(left);
            }
        }
        sent
    };
    let second = 1_000_000_000;
    run(&mut nodes, 0, 6 * second);
    let states = |node: &Node| {
        let page = L3Router::table_page(&node.router, 7, 0, SESSIONS as usize, 0);
        page.entries.iter().filter(|entry| entry["state"] == "Up").count()
    };
    println!("up after 6 s: {} and {}", states(&nodes[0]), states(&nodes[1]));
    for node in &mut nodes {
        (node.took, node.rounds) = (Duration::ZERO, 0);
    }
    let span = 10;
    let sent = run(&mut nodes, 6 * second, (6 + span) * second);
    let [one, _] = &nodes;
    println!(
        "{SESSIONS} sessions of 10 ms x 3 for {span} s: {} packets per second each way, {:.2} % \
         of a core for both ways, {} rounds; {} up at the end",
        sent as u64 / 2 / span,
        one.took.as_secs_f64() / span as f64 * 100.0,
        one.rounds,
        states(one),
    );
}
