//! What a million changes of routes per second, in bulk from one controller, cost forwarding: a
//! worker forwards full batches, and for each round as many changes are handed to it as are due at
//! that rate. Rounds with and without them take turns; those in which the machine did something
//! else are left out.
//!
//! `cargo run --release -p function-l3-router --example bulk`

use std::time::Duration;

use engine::{Port, Worker, WorkerHandle};
use function_kit::NetworkFunction;
use function_l3_router::{Config, L3Router, Pipeline, Said};
use machine::clock::{self, Clock, Ticks};
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};
use serde_json::{Value, json};
use wire::checksum::header_checksum;

/// Routes that are there from the start, and are used.
const ROUTES: u32 = 10_000;

/// Networks that come and go.
const CHANGING: u64 = 100_000;

/// Changes that are handed over at once.
const BULK: u64 = 1000;

const PER_S: f64 = 1e6;

const ROUNDS: u64 = 4_000;
const TURNS: usize = 10;

struct Source {
    frames: Vec<Vec<u8>>,
    at: usize,
}

impl Port for Source {
    fn receive(&mut self, batch: &mut Batch, _: usize, _: Ticks) -> usize {
        for _ in 0..BATCH_MAX {
            let frame = &self.frames[self.at % self.frames.len()];
            self.at += 1;
            batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
        }
        BATCH_MAX
    }

    fn transmit(&mut self, _: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        slots.len()
    }
}

struct Sink;

impl Port for Sink {
    fn receive(&mut self, _: &mut Batch, _: usize, _: Ticks) -> usize {
        0
    }

    fn transmit(&mut self, _: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        slots.len()
    }
}

fn address(number: u32) -> [u8; 4] {
    let [_, high, low, _] = (number << 8).to_be_bytes();
    [20 + (number >> 16) as u8, high, low, number as u8 | 1]
}

fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 9, 9, 9, 8, 0];
    let mut header = [0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 2, 0, 0, 0, 0];
    header[16..].copy_from_slice(&address(number * 7919 % ROUTES));
    let sum = header_checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.resize(60, 0);
    frame
}

fn worker() -> (Worker<Pipeline>, WorkerHandle<Said>) {
    let routes: Vec<Value> = (0..ROUTES)
        .map(|number| {
            let [a, b, c, _] = address(number);
            json!({"prefix": format!("{a}.{b}.{c}.0/24"), "next-hop": 0})
        })
        .collect();
    let config = json!({
        "downlink-mac": "02:00:00:00:00:01",
        "downlink-ip": "198.18.0.1/16",
        "uplink-mac": "02:00:00:00:00:02",
        "uplink-ip": "172.16.0.1/24",
        "next-hops": [
            {"port": "uplink", "mac": "02:00:00:00:00:03"},
            {"port": "uplink", "mac": "02:00:00:00:00:04"},
        ],
        "routes": routes,
        "route-capacity": 200_000,
    });
    let mut config: Config = serde_json::from_value(config).expect("a section");
    L3Router::validate(&mut config).expect("a configuration");
    let router = Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("memory");
    let source = Source { frames: (0..65_536).map(frame).collect(), at: 0 };
    let ports: Vec<Box<dyn Port>> = vec![Box::new(source), Box::new(Sink)];
    Worker::new(router, ports, BATCH_MAX, Room::default()).expect("memory")
}

/// The change of a number: a network comes, leads elsewhere, and goes.
fn change(number: u64) -> Said {
    let place = (number % CHANGING) as u32;
    let prefix = format!("{}.{}.{}.0/24", 60 + (place >> 16), place >> 8 & 255, place & 255);
    let kind = ["set-route", "set-route", "remove-route"][(number / CHANGING % 3) as usize];
    let mut update = json!({ kind: {"prefix": prefix} });
    if kind == "set-route" {
        update[kind]["next-hop"] = json!(number / CHANGING % 3);
    }
    serde_json::from_value(update).expect("an update")
}

/// The mean of a turn's rounds, without those that took ten times as long as the middle one.
fn mean(took: &mut [u64]) -> f64 {
    took.sort_unstable();
    let longest = took[took.len() / 2] * 10;
    let counted = took.iter().take_while(|&&one| one < longest);
    let (sum, count) = counted.fold((0, 0), |(sum, count), one| (sum + one, count + 1));
    sum as f64 / f64::from(count)
}

fn main() {
    let (mut worker, mut handle) = worker();
    let clock = Clock::calibrate(Duration::from_millis(100));
    let mut took = vec![0; ROUNDS as usize];
    let (mut asked, mut answered, mut refused) = (0, 0, 0);
    let mut figures = [Vec::new(), Vec::new()];
    let mut alone = 0.0;
    for turn in 0..2 * TURNS + 2 {
        let with = turn % 2 == 1;
        let due = |round: u64| match with {
            true => (round as f64 * alone / clock.ticks_per_second() * PER_S) as u64,
            false => 0,
        };
        let mut prepared: Vec<Vec<Said>> = (0..due(ROUNDS).div_ceil(BULK))
            .rev()
            .map(|bulk| (0..BULK).map(|one| change(asked + bulk * BULK + one)).collect())
            .collect();
        let all = prepared.len() as u64 * BULK;
        let (first, mut handed) = (answered, 0);
        for (round, took) in (0..).zip(&mut took) {
            if due(round) >= handed + BULK
                && let Some(bulk) = prepared.pop()
            {
                handle.controller.request_bulk(bulk).expect("room");
                handed += BULK;
            }
            let begun = clock::now();
            worker.poll(begun);
            *took = clock::now() - begun;
            while let Some(one) = handle.controller.acknowledged() {
                answered += one.count;
                refused += u64::from(one.outcome.is_err());
            }
        }
        let applied = answered - first;
        // What is left of a turn is not measured.
        for bulk in prepared.into_iter().rev() {
            handle.controller.request_bulk(bulk).expect("room");
        }
        asked += all;
        while answered < asked {
            worker.poll(clock::now());
            while let Some(one) = handle.controller.acknowledged() {
                answered += one.count;
                refused += u64::from(one.outcome.is_err());
            }
        }
        let mean = mean(&mut took);
        if !with {
            alone = mean;
        }
        // The first two warm up.
        if turn >= 2 {
            figures[usize::from(with)].push((mean, applied));
        }
    }
    let [without, with] = figures;
    let mut shares: Vec<f64> =
        without.iter().zip(&with).map(|(without, with)| without.0 / with.0 * 100.0).collect();
    let mut rates: Vec<f64> = with
        .iter()
        .map(|&(mean, applied)| {
            applied as f64 / (mean * ROUNDS as f64 / clock.ticks_per_second()) / 1e6
        })
        .collect();
    shares.sort_unstable_by(f64::total_cmp);
    rates.sort_unstable_by(f64::total_cmp);
    let ns = |ticks: f64| ticks / clock.ticks_per_second() * 1e9;
    let middle = |all: &[f64]| all[all.len() / 2];
    println!(
        "a round of {BATCH_MAX} takes {:.0} ns; with {:.2} M changes per second it forwards {:.1} \
         % of what it does without ({:.1} to {:.1}); {refused} of {asked} refused",
        ns(alone),
        middle(&rates),
        middle(&shares),
        shares[0],
        shares[shares.len() - 1],
    );
}
