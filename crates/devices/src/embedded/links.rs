//! Rings between the tester and the workers, as deep as the load needs.

use std::time::Duration;

use engine::{Function, Port, Worker};
use measure::{Load, MeasureError};
use packet::PortId;
use port_memory::{RECORD_BYTES, Receiver, Sender};

use crate::tester::thread::device_error;

/// The tester's ends of the links to one worker, by port.
pub(super) type Links = Vec<(Sender, Receiver)>;

/// Connects the ports of each worker by rings, and workers to each other if they hand frames over;
/// returns the tester's ends by worker and port.
pub(super) fn connect<'a, F: Function + 'a>(
    (count, hands_over, depth): (usize, bool, Depth),
    workers: impl Iterator<Item = &'a mut Worker<F>>,
) -> Result<Vec<Links>, MeasureError> {
    let workers: Vec<_> = workers.collect();
    let mesh = match hands_over && workers.len() > 1 {
        true => port_memory::mesh(workers.len(), count).map_err(device_error)?,
        false => workers.iter().map(|_| Vec::new()).collect(),
    };
    let mut all = Vec::new();
    for (worker, towards_workers) in workers.into_iter().zip(mesh) {
        let mut links = Links::new();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for index in 0..count {
            let (near, port) =
                port_memory::link(PortId(index as u8), depth.ring_bytes).map_err(device_error)?;
            links.push(near);
            ports.push(Box::new(port));
        }
        ports.extend(towards_workers);
        worker.connect(ports);
        all.push(links);
    }
    Ok(all)
}

/// How deep the rings of a trial are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Depth {
    /// Size of each ring in bytes.
    pub ring_bytes: usize,
    /// The gap of a thread that they bridge at the rate of the load; zero without a steady rate.
    pub bridged: Duration,
}

impl Depth {
    /// The depth where no load at a rate is offered, and for loads that ask how much a device
    /// buffers: always the same.
    pub fn usual() -> Self {
        Self { ring_bytes: RING_BYTES, bridged: Duration::ZERO }
    }

    /// The depth for a load of frames of this mean length, which reaches `workers` evenly:
    /// [`BRIDGED`] of a steady rate, if that is more than usual, as far as [`RING_BYTES_MAX`] goes.
    pub fn of(load: Load, frame_bytes: f64, workers: usize) -> Self {
        let Load::PerInterface(rate) = load else { return Self::usual() };
        let bytes_per_s = rate.0 * (frame_bytes + RECORD_BYTES as f64) / workers.max(1) as f64;
        let wanted = (bytes_per_s * BRIDGED.as_secs_f64()) as usize;
        let ring_bytes = wanted.clamp(RING_BYTES, RING_BYTES_MAX).next_power_of_two();
        let seconds = ring_bytes as f64 / bytes_per_s;
        let bridged = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Self { ring_bytes, bridged }
    }
}

/// Least size of each ring to the tester in bytes: about 58,000 of the shortest frames, but fewer
/// than 3,000 of the longest usual ones.
pub(super) const RING_BYTES: usize = 4 << 20;

/// Largest size of each ring in bytes: 5 ms at 8 million of the longest usual frames per second,
/// more than a core copies.
const RING_BYTES_MAX: usize = 64 << 20;

/// The gap of a thread that rings bridge at a steady rate. On shared machines gaps of milliseconds
/// are common; a longer one is seen in the record, and a trial that lost frames in it is repeated.
const BRIDGED: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use measure::Pps;

    use super::*;

    #[test]
    fn rings_bridge_5_ms_at_the_rate_of_the_load() {
        let of = |mpps: f64, bytes, workers| {
            Depth::of(Load::PerInterface(Pps(mpps * 1e6)), bytes, workers)
        };
        for (mpps, bytes) in [(0.1, 60.0), (15.0, 60.0), (4.5, 508.0), (2.4, 1514.0), (8.0, 1514.0)]
        {
            let depth = of(mpps, bytes, 1);
            let frames = depth.ring_bytes as f64 / (bytes + 8.0);
            assert!(frames >= 0.005 * mpps * 1e6, "{mpps} Mpps of {bytes} bytes: {depth:?}");
            assert!(depth.bridged >= BRIDGED, "{depth:?}");
            // Deeper than that, it would take in an overload for longer than a trial can tell.
            assert!(depth.bridged < 2 * BRIDGED || depth.ring_bytes == RING_BYTES, "{depth:?}");
        }
        assert_eq!(of(2.4, 1514.0, 1).ring_bytes, 32 << 20, "18 MB are 5 ms");
        assert_eq!(of(2.4, 1514.0, 4).ring_bytes, 8 << 20, "each worker has a part of the load");
        assert_eq!(of(20.0, 9000.0, 1).ring_bytes, RING_BYTES_MAX);
        let burst = Load::Burst { frames: 1000, rate: Pps(20e6) };
        assert_eq!(Depth::of(burst, 1514.0, 1), Depth::usual(), "what is buffered is the question");
    }
}
