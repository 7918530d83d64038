//! Rings between the tester and the workers.

use engine::{Function, Port, Worker};
use measure::MeasureError;
use packet::PortId;
use port_memory::{Receiver, Sender};

use crate::tester::thread::device_error;

/// The tester's ends of the links to one worker, by port.
pub(super) type Links = Vec<(Sender, Receiver)>;

/// Connects the ports of each worker by rings, and workers to each other if they hand frames over;
/// returns the tester's ends by worker and port.
pub(super) fn connect<'a, F: Function + 'a>(
    (count, hands_over): (usize, bool),
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
                port_memory::link(PortId(index as u8), RING_BYTES).map_err(device_error)?;
            links.push(near);
            ports.push(Box::new(port));
        }
        ports.extend(towards_workers);
        worker.connect(ports);
        all.push(links);
    }
    Ok(all)
}

/// Size of each ring to the tester in bytes: about 40,000 of the shortest frames, which is 8 ms at
/// 5 million frames per second.
pub(super) const RING_BYTES: usize = 4 << 20;
