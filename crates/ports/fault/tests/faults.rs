//! Faults in front of the memory port: without chances nothing changes, with them all adds up.

use std::collections::HashMap;

use engine::{Opened, PortCounts, PortError, PortRequest, Way};
use packet::{Batch, PortId, Room};
use port_conformance::{Bench, Found, Order, Promises, build, recognise, request, run};
use port_fault::{FaultConfig, Faults, wrap};
use port_memory::FarEnd;

/// The memory port with faults.
struct Faulty {
    config: FaultConfig,
    order: Order,
    ends: Vec<FarEnd>,
}

impl Bench for Faulty {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_min: 1,
            queues_max: 2,
            order: self.order,
            in_flight_min: 256,
            in_flight_max: Some(RING_BYTES / 60),
            peer_survives_reopening: true,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        let (ends, opened) = port_memory::open(request, RING_BYTES).expect("memory");
        self.ends = ends;
        let mut real = request.clone();
        // The suite passes the clock's own ticks.
        real.ticks_per_second = 1e9;
        wrap(opened, &self.config, &real)
    }

    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        let sender = &mut self.ends[0].0;
        let sent = frames.iter().take_while(|frame| sender.send(frame)).count();
        sender.publish();
        sent
    }

    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        for (_, receiver) in &mut self.ends {
            while let Some(frame) = receiver.next_frame() {
                sink(frame);
            }
            receiver.release();
        }
    }
}

const RING_BYTES: usize = 1 << 20;

#[test]
fn without_chances_the_port_conforms() {
    let make = || Faulty { config: FaultConfig::default(), order: Order::Queue, ends: Vec::new() };
    run("fault, none", || Some(make()));
}

#[test]
fn with_delay_and_reordering_the_port_conforms_but_for_order() {
    let faults = Faults { reordering: 0.2, delay_us: 200, jitter_us: 100, ..Faults::default() };
    let config =
        FaultConfig { receive: faults.clone(), transmit: faults, ..FaultConfig::default() };
    let make = || Faulty { config: config.clone(), order: Order::Nothing, ends: Vec::new() };
    run("fault, delayed", || Some(make()));
}

/// Exchanges numbered frames with the port; returns the frames that arrived in each direction, by
/// number, and the counters.
fn exchange(config: &FaultConfig) -> ([Vec<Vec<u8>>; 2], PortCounts, HashMap<String, String>) {
    let request = request(1, 200);
    let (mut ends, opened) = port_memory::open(&request, RING_BYTES).expect("memory");
    let mut opened = wrap(opened, config, &request).expect("memory");
    let mut batch = Batch::new(256, Room { headroom: 0, frame: 200, long: 0 }).expect("memory");
    let mut arrived = [Vec::new(), Vec::new()];
    for round in 0..110_u64 {
        // A second a round at 1e9 ticks: whatever waits, waits for the next rounds at most.
        let now = round * 1_000_000_000;
        for number in round * 100..(round + 1) * 100 {
            let frame = build(Found { flow: 0, number }, 60 + (number % 100) as usize);
            if round < 100 {
                assert!(ends[0].0.send(&frame));
                batch.clear();
                batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(&frame);
                opened.queues[0].transmit(&mut batch, &[0], now);
            }
        }
        ends[0].0.publish();
        for _ in 0..4 {
            batch.clear();
            opened.queues[0].receive(&mut batch, 256, now);
            arrived[0].extend(batch.slots().map(|slot| batch.frame(slot).to_vec()));
        }
        while let Some(frame) = ends[0].1.next_frame() {
            arrived[1].push(frame.to_vec());
        }
        ends[0].1.release();
    }
    let facts = opened.monitor.facts().into_iter().map(|(name, value)| (name.to_owned(), value));
    (arrived, opened.monitor.counts(), facts.collect())
}

#[test]
fn every_fault_is_counted_and_the_counts_add_up() {
    let faults = Faults {
        loss: 0.05,
        corruption: 0.03,
        duplication: 0.02,
        reordering: 0.1,
        delay_us: 10,
        jitter_us: 10,
    };
    let config = FaultConfig {
        seed: 7,
        receive: faults.clone(),
        transmit: faults,
        ..FaultConfig::default()
    };
    let (arrived, counts, facts) = exchange(&config);
    let fact = |name: &str| facts[name].parse::<u64>().expect("a number");
    for (way, name, arrived) in
        [(Way::Receive, "receive", &arrived[0]), (Way::Transmit, "transmit", &arrived[1])]
    {
        let fact = |what: &str| fact(&format!("fault-{name}-{what}"));
        let came = if way == Way::Receive { counts.received } else { counts.sent };
        assert_eq!(came, arrived.len() as u64, "{counts:?}");
        assert_eq!(10_000 + fact("duplicated"), came + counts.lost(way), "{counts:?} {facts:?}");
        let whole: Vec<Found> = arrived.iter().filter_map(|frame| recognise(frame)).collect();
        assert_eq!(whole.len() as u64 + fact("corrupted"), came, "one bit each");
        let late = whole.windows(2).filter(|pair| pair[0].number > pair[1].number).count();
        assert!(late > 100 && fact("reordered") > 500, "{late} of {}", fact("reordered"));
        let loss = counts.lost(way);
        // Five standard deviations around 500, 300 and 200 of 10,000.
        assert!((390..=610).contains(&loss), "{loss} lost");
        assert!((215..=385).contains(&fact("corrupted")), "{}", fact("corrupted"));
        assert!((130..=270).contains(&fact("duplicated")), "{}", fact("duplicated"));
    }
    assert_eq!(facts["fault-seed"], "7");
    let again = exchange(&config);
    assert!(again.0 == arrived && again.1 == counts, "all follows from the seed");
    let other = exchange(&FaultConfig { seed: 8, ..config });
    assert!(other.0 != arrived, "and from nothing else");
}

#[test]
fn wrong_chances_are_refused_by_their_key() {
    let faults = Faults { loss: 1.5, ..Faults::default() };
    let config = FaultConfig { transmit: faults, ..FaultConfig::default() };
    let error = keys::check("", &config).expect_err("above one").to_string();
    assert_eq!(error, "transmit.loss: must be from 0 to 1, not 1.5");
}
