//! The memory port does what every port must.

use engine::{Opened, PortError, PortRequest};
use port_conformance::{Bench, Promises, run};
use port_memory::{FarEnd, open};

/// Remote ends of the rings, used in the same thread.
#[derive(Default)]
struct Rings {
    ends: Vec<FarEnd>,
    next: usize,
}

impl Bench for Rings {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_max: 9000,
            frame_bytes_min: 1,
            queues_max: 4,
            in_flight_min: RING_BYTES / 2 / 9000,
            in_flight_max: Some(RING_BYTES / 60),
            peer_survives_reopening: true,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        let opened = open(request, RING_BYTES);
        let (ends, opened) =
            opened.map_err(|error| PortError::new(error.to_string(), "free some memory"))?;
        self.ends = ends;
        Ok(opened)
    }

    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        // A queue for each call in turn: any will do, as order holds within a queue.
        self.next = (self.next + 1) % self.ends.len();
        let sender = &mut self.ends[self.next].0;
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
fn the_memory_port_conforms() {
    run("memory", || Some(Rings::default()));
}
