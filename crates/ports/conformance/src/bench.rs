//! What a port's test provides: the port, its peer, and what both promise.

use std::sync::Arc;

use engine::{Monitor, Opened, PortCounts, PortError, PortRequest, Way};
use machine::clock;
use packet::{Batch, PortId, Room};

/// A port under test with a peer at the remote end. Dropping it ends both.
pub trait Bench {
    /// Returns the capabilities of the bench; cases that need more are skipped with a message.
    fn promises(&self) -> Promises;

    /// Opens the port under test; it may be opened again after the previous port was dropped.
    ///
    /// # Errors
    /// The port's error.
    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError>;

    /// Makes the peer send these frames in order, up to the first that it cannot send now; returns
    /// the number of sent frames. A frame counts as sent when the peer's own counters say so.
    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize;

    /// Passes every frame that has arrived at the peer to `sink`.
    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8]));

    /// Returns the frames that were lost between port and peer, as counted by the kernel or the
    /// peer.
    fn lost_between(&mut self) -> LostBetween {
        LostBetween::default()
    }

    /// Ends the peer, without notification if possible: to the port it looks like a crash. Frames
    /// that the peer had received but not passed on count as lost between port and peer.
    fn kill_peer(&mut self) {
        panic!("this bench promises no death");
    }

    /// Starts a new peer in the same place.
    fn revive_peer(&mut self) {
        panic!("this bench promises no death");
    }

    /// Takes the link down, or up again, while both ends run.
    fn set_link(&mut self, up: bool) {
        panic!("this bench promises no link to set {}", if up { "up" } else { "down" });
    }

    /// Makes the peer violate the rules of the link with these random bytes (indices, descriptors,
    /// messages …), like a hostile peer. The peer may end; [`Bench::revive_peer`] follows.
    fn peer_misbehaves(&mut self, bytes: &[u8]) {
        panic!("this bench promises no misbehaviour, not with {} bytes", bytes.len());
    }
}

/// Capabilities of a bench, and guarantees of its port beyond those that every port gives.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// Longest frame that passes port and peer, in bytes without frame check sequence.
    pub frame_bytes_max: usize,
    /// Shortest frame that passes; shorter ones may be refused, counted or delivered.
    pub frame_bytes_min: usize,
    /// Largest number of queues of the port.
    pub queues_max: usize,
    /// Guarantee of frame order.
    pub order: Order,
    /// Number of the longest frames for which the path is guaranteed to have room in each
    /// direction, while nobody receives.
    pub in_flight_min: usize,
    /// Number of the shortest frames for which the path from the port certainly has no room while
    /// the peer does not receive, so that transmission is refused. `None` if the kernel accepts and
    /// drops frames without limit.
    pub in_flight_max: Option<usize>,
    /// Drop reasons under which the port counts frames that it had already counted as sent.
    pub lost_after_sending: &'static [&'static str],
    /// The peer can be ended and restarted, and `Monitor::link` of the port shows it.
    pub peer_dies: bool,
    /// The accounting is exact even if the peer ends with frames in flight. Otherwise it is only
    /// checked that no more frames arrive than were sent.
    pub exact_over_death: bool,
    /// The port can be opened while there is no peer.
    pub opens_without_peer: bool,
    /// The peer finds the port again after the port was dropped and opened anew, without a restart
    /// of the peer.
    pub peer_survives_reopening: bool,
    /// The link can be taken down, and `Monitor::link` of the port shows it.
    pub link_goes_down: bool,
    /// The peer can violate the rules of the link.
    pub peer_misbehaves: bool,
    /// The port takes long segments, and they arrive at the peer as its frames.
    pub takes_long: bool,
}

impl Default for Promises {
    /// Returns guarantees of one queue and frames of 60 to 1,514 bytes in order, and no further
    /// capabilities.
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
            takes_long: false,
        }
    }
}

/// Guarantee of frame order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All frames of a queue, and therefore of a flow, which stays on its queue.
    Queue,
    /// Frames of a flow (same addresses and UDP ports).
    Flow,
    /// No guarantee; only duplicates are detected.
    Nothing,
}

/// Frames lost between port and peer, as counted by others than the port: running totals since the
/// bench was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostBetween {
    /// Frames that the peer sent and that did not reach the port.
    pub to_port: u64,
    /// Frames that the port sent and that the peer did not pass on.
    pub from_port: u64,
}

/// Returns the request for a port with this number of queues, for frames of at most this length in
/// bytes.
pub fn request(queues: usize, frame_bytes_max: usize) -> PortRequest {
    PortRequest {
        name: "under-test".to_owned(),
        id: PortId(1),
        queues,
        frame_bytes_max,
        ticks_per_second: 1e9,
    }
}

/// A peer that is itself a port, of the same or another type.
pub struct PortPeer {
    opened: Opened,
    batch: Batch,
}

impl PortPeer {
    /// Creates a peer from an open port, for frames of at most this length in bytes.
    ///
    /// # Panics
    /// Without memory for a batch.
    pub fn new(opened: Opened, frame_bytes_max: usize) -> PortPeer {
        let room = Room { headroom: 0, frame: frame_bytes_max, long: 0 };
        PortPeer { opened, batch: Batch::new(packet::BATCH_MAX, room).expect("memory for a batch") }
    }

    /// Sends frames in order up to the first that is refused; a frame that the peer counts as lost
    /// in itself does not count as sent.
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

    /// Passes on every frame that has arrived, from all queues.
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

    /// Returns the monitor of the peer.
    pub fn monitor(&self) -> &Arc<dyn Monitor> {
        &self.opened.monitor
    }

    /// Returns the counters of the peer.
    pub fn counts(&self) -> PortCounts {
        self.opened.monitor.counts()
    }

    /// Returns the received frames that the peer lost; for the port under test they were lost
    /// between port and peer.
    pub fn lost_in(&self) -> u64 {
        self.counts().lost(Way::Receive)
    }
}
