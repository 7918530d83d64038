//! Serves whoever connects to a socket for a time, and tells how many frames passed a second.
//!
//! ```text
//! cargo run --release -p port-vhost-user --example vhost_user_rate -- PATH echo 10 [frontend] [BYTES] [CORE]
//! dpdk-testpmd --in-memory --single-file-segments --no-pci -m 256 \
//!     --vdev=net_virtio_user0,path=PATH -- --forward-mode=io --tx-first …
//! ```
//! `echo` sends back what comes, `receive` throws it away, `transmit` sends frames of BYTES. It
//! prints the best and the median of half-second intervals.

use std::env;
use std::time::{Duration, Instant};

use engine::{Port, PortKind, PortRequest};
use machine::clock;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};
use port_vhost_user::{Config, VhostUser};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [path, mode, seconds, more @ ..] = words.as_slice() else {
        eprintln!("rate PATH echo|receive|transmit SECONDS [frontend|backend] [BYTES] [CORE]");
        return;
    };
    let is_frontend = more.first().is_some_and(|role| role == "frontend");
    let number =
        |at: usize, or: usize| more.get(at).and_then(|word| word.parse().ok()).unwrap_or(or);
    if more.len() > 2 {
        let _ = machine::cpu::pin_current_thread(number(2, 0));
    }
    let config = if is_frontend { Config::frontend(path) } else { Config::backend(path) };
    let request = PortRequest {
        name: "rate".to_owned(),
        id: PortId(0),
        queues: 1,
        frame_bytes_max: 1514,
        ticks_per_second: 1e9,
    };
    let opened = match VhostUser::open(&config, &request) {
        Ok(opened) => opened,
        Err(error) => return eprintln!("{error}: {}", error.remedy),
    };
    let mut queues = opened.queues;
    let seconds = seconds.parse().unwrap_or(10);
    let rates = run(queues[0].as_mut(), mode, Duration::from_secs(seconds), number(1, 60));
    drop(queues);
    println!("{:?}", opened.monitor.counts());
    println!("{:?}", opened.monitor.facts());
    let median = rates.get(rates.len() / 2).copied().unwrap_or_default();
    let best = rates.last().copied().unwrap_or_default();
    println!("{mode}: median {:.2} Mpps, best {:.2} Mpps", median / 1e6, best / 1e6);
}

/// Returns the frames per second in each interval with frames, sorted.
fn run(queue: &mut dyn Port, mode: &str, time: Duration, bytes: usize) -> Vec<f64> {
    let room = Room { headroom: 128, frame: 2048, long: 0 };
    let mut batch = Batch::new(BATCH_MAX, room).expect("memory for a batch");
    let slots: Vec<Slot> = (0..BURST as Slot).collect();
    let (start, mut rates) = (Instant::now(), Vec::new());
    let (mut last, mut count) = (start, 0);
    loop {
        for _ in 0..1000 {
            batch.clear();
            let now = clock::now();
            if mode == "transmit" {
                for _ in 0..BURST {
                    let frame = batch.append(PortId(0), bytes).expect("a batch has room");
                    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
                }
                count += queue.transmit(&mut batch, &slots, now);
                continue;
            }
            let received = queue.receive(&mut batch, BURST, now);
            if mode == "echo" && received > 0 {
                count += queue.transmit(&mut batch, &slots[..received], now);
            } else {
                count += received;
            }
        }
        let passed = last.elapsed();
        if passed > INTERVAL {
            if count > 0 {
                rates.push(count as f64 / passed.as_secs_f64());
            }
            (last, count) = (Instant::now(), 0);
            if start.elapsed() > time {
                rates.sort_by(f64::total_cmp);
                return rates;
            }
        }
    }
}

const BURST: usize = 32;
const INTERVAL: Duration = Duration::from_millis(500);
