//! What a port's test provides: the port, its peer, and what both promise.

use std::sync::Arc;

use engine::{Monitor, Opened, PortCounts, PortError, PortRequest, Way};
use machine::clock;
use packet::{Batch, PortId, Room};

/// A port under test with the peer at its far end. Dropping it ends both.
pub trait Bench {
    /// What holds here; cases that need more are left out, and said to be.
    fn promises(&self) -> Promises;

    /// Opens the port under test; it may be opened again after what was opened is dropped.
    ///
    /// # Errors
    /// As the port.
    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError>;

    /// The peer sends these frames in order, and stops at the first it cannot send now; tells how
    /// many it sent. A frame is sent once the peer's own counters call it so.
    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize;

    /// The peer hands every frame that has arrived at it to `sink`.
    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8]));

    /// Frames that were lost neither in the port nor unknown: the kernel, or the peer, counted them.
    fn lost_between(&mut self) -> LostBetween {
        LostBetween::default()
    }

    /// The peer goes, without farewell where it can: what a crash looks like from the port. Frames
    /// that it had taken from the link but not handed out count as lost between.
    fn kill_peer(&mut self) {
        panic!("this bench promises no death");
    }

    /// A new peer comes to the same place.
    fn revive_peer(&mut self) {
        panic!("this bench promises no death");
    }

    /// Takes the link down, or up again, with both ends alive.
    fn set_link(&mut self, up: bool) {
        panic!("this bench promises no link to set {}", if up { "up" } else { "down" });
    }

    /// The peer breaks the link's own rules with these random bytes (indices, descriptors, messages
    /// …), as a hostile one would. It may die of it; [`Bench::revive_peer`] follows.
    fn peer_misbehaves(&mut self, bytes: &[u8]) {
        panic!("this bench promises no misbehaviour, not with {} bytes", bytes.len());
    }
}

/// What a bench can do, and what its port promises on top of what every port must.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// Longest frame that fits through port and peer, in bytes without check sequence.
    pub frame_bytes_max: usize,
    /// Shortest frame that fits through; shorter ones may be refused, counted or delivered.
    pub frame_bytes_min: usize,
    /// Most queues of the port.
    pub queues_max: usize,
    /// What stays in order.
    pub order: Order,
    /// How many of the longest frames surely find room on the way, in each direction, while nobody
    /// takes any.
    pub in_flight_min: usize,
    /// How many of the shortest frames surely find no room on the way from the port while the peer
    /// takes none, so that transmit refuses. None where the kernel takes and drops what it pleases.
    pub in_flight_max: Option<usize>,
    /// Reasons under which the port counts frames that it had already counted as sent.
    pub lost_after_sending: &'static [&'static str],
    /// The peer can be killed and revived, and the port tells so by `Monitor::link`.
    pub peer_dies: bool,
    /// The accounting holds to the frame also when the peer dies with frames under way. Where it
    /// cannot, no more arrive than were sent.
    pub exact_over_death: bool,
    /// The port opens while there is no peer.
    pub opens_without_peer: bool,
    /// The peer finds the port again when that was dropped and opened anew, without being revived.
    pub peer_survives_reopening: bool,
    /// The link can be taken down, and the port tells so by `Monitor::link`.
    pub link_goes_down: bool,
    /// The peer can break the link's rules.
    pub peer_misbehaves: bool,
}

impl Default for Promises {
    /// One queue, frames of 60 to 1,514 bytes, all in order, and none of the abilities.
    fn default() -> Promises {
        Promises {
            frame_bytes_max: 1514,
            frame_bytes_min: 60,
            queues_max: 1,
            order: Order::Queue,
            in_flight_min: 64,
            in_flight_max: None,
            lost_after_sending: &[],
            peer_dies: false,
            exact_over_death: false,
            opens_without_peer: false,
            peer_survives_reopening: false,
            link_goes_down: false,
            peer_misbehaves: false,
        }
    }
}

/// What stays in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All frames of a queue, and so of a flow, which stays on its queue.
    Queue,
    /// The frames of a flow (same addresses and UDP ports).
    Flow,
    /// Nothing; only repetition is looked for.
    Nothing,
}

/// Frames lost on the way, as counted by others than the port: running sums since the bench was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostBetween {
    /// Sent by the peer and not come to the port.
    pub to_port: u64,
    /// Sent by the port and not handed out by the peer.
    pub from_port: u64,
}

/// The request of a port with so many queues, for frames of at most so many bytes.
pub fn request(queues: usize, frame_bytes_max: usize) -> PortRequest {
    PortRequest {
        name: "under-test".to_owned(),
        id: PortId(1),
        queues,
        frame_bytes_max,
        ticks_per_second: 1e9,
    }
}

/// A peer that is itself a port, of the same or another kind.
pub struct PortPeer {
    opened: Opened,
    batch: Batch,
}

impl PortPeer {
    /// A peer of an opened port, for frames of at most so many bytes.
    ///
    /// # Panics
    /// Without memory for a batch.
    pub fn new(opened: Opened, frame_bytes_max: usize) -> PortPeer {
        let room = Room { headroom: 0, frame: frame_bytes_max };
        PortPeer { opened, batch: Batch::new(packet::BATCH_MAX, room).expect("memory for a batch") }
    }

    /// Sends in order and stops at the first frame that is not taken; a frame that the peer counts as
    /// lost in itself is not sent.
    pub fn send(&mut self, frames: &[Vec<u8>]) -> usize {
        for (index, frame) in frames.iter().enumerate() {
            self.batch.clear();
            let Some(room) = self.batch.append(PortId(0), frame.len()) else { return index };
            room.copy_from_slice(frame);
            if self.opened.queues[0].transmit(&mut self.batch, &[0], clock::now()) == 0 {
                return index;
            }
        }
        frames.len()
    }

    /// Hands out every frame that has arrived, of all queues.
    pub fn receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        for queue in &mut self.opened.queues {
            loop {
                self.batch.clear();
                if queue.receive(&mut self.batch, packet::BATCH_MAX, clock::now()) == 0 {
                    break;
                }
                self.batch.slots().for_each(|slot| sink(self.batch.frame(slot)));
            }
        }
    }

    /// Its monitor.
    pub fn monitor(&self) -> &Arc<dyn Monitor> {
        &self.opened.monitor
    }

    /// What it counted.
    pub fn counts(&self) -> PortCounts {
        self.opened.monitor.counts()
    }

    /// Frames that it lost on the way in: they are lost between, seen from the port under test.
    pub fn lost_in(&self) -> u64 {
        self.counts().lost(Way::Receive)
    }
}
