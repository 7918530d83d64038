//! How many frames per second the port carries one way over a veth pair, printed as a table: `sudo
//! cargo run --release -p port-af-xdp --example af_xdp_rate`. Indicative: sender and receiver share
//! the machine with everything else, and nothing is recorded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Opened, PortKind, PortRequest, Way};
use netns::Namespace;
use packet::{BATCH_MAX, Batch, PortId, Room, Slot};
use port_af_xdp::{AfXdp, Config, Mode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = (Namespace::new()?, Namespace::new()?);
    for namespace in [&near, &far] {
        namespace.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
    }
    near.veth("near0", &far, "far0")?;
    println!("{:<8} {:>6} {:>11} {:>15}", "mode", "bytes", "sent Mpps", "received Mpps");
    for mode in [Mode::Driver, Mode::Generic] {
        for len in [60, 1514] {
            let open =
                |interface| AfXdp::open(&Config { mode, ..Config::of(interface) }, &request());
            let sender = near.run(|| open("near0"))??;
            let receiver = far.run(|| open("far0"))??;
            let (sent, received) = measure(sender, receiver, len)?;
            println!("{:<8} {len:>6} {sent:>11.3} {received:>15.3}", format!("{mode:?}"));
        }
    }
    Ok(())
}

fn request() -> PortRequest {
    PortRequest {
        name: "veth".into(),
        id: PortId(0),
        queues: 1,
        frame_bytes_max: 1514,
        ticks_per_second: 1e9,
    }
}

/// Returns the frames per second that left the sender and that arrived at the receiver, in
/// millions.
fn measure(mut from: Opened, mut to: Opened, len: usize) -> std::io::Result<(f64, f64)> {
    let mut batch = Batch::new(BATCH_MAX, Room::default())?;
    while let Some(frame) = batch.append(PortId(0), len) {
        frame.fill(0x02);
    }
    let slots: Vec<Slot> = batch.slots().take(64).collect();
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut batch = Batch::new(BATCH_MAX, Room::default()).expect("memory for a batch");
            while !stop.load(Ordering::Relaxed) {
                batch.clear();
                to.queues[0].receive(&mut batch, BATCH_MAX, 0);
            }
        });
        while start.elapsed() < SPAN {
            from.queues[0].transmit(&mut batch, &slots, 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let micros = start.elapsed().as_micros() as f64;
    let (sent, received) = (from.monitor.counts(), to.monitor.counts());
    eprintln!(
        "lost: {} in the sender, {} in the receiver",
        sent.lost(Way::Transmit),
        received.lost(Way::Receive)
    );
    Ok((sent.sent as f64 / micros, received.received as f64 / micros))
}

const SPAN: Duration = Duration::from_secs(2);
