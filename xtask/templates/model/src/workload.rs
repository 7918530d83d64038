//! What the tester sends to a patch, and how it recognises what comes back.

use function_template::Update;
use packet::PortId;
use traffic::{
    Changes, Delivery, Direction, FarEnds, Floods, Frames, Policers, SessionFrames, Stamp,
};

use crate::sections::Traffic;

/// Frames of one length from one port to the other.
pub struct Passed {
    directions: [Direction; 1],
    len: usize,
}

impl Passed {
    /// The frames that a validated section describes.
    pub fn new(traffic: &Traffic) -> Passed {
        let directions = [Direction { name: "uplink", from: PortId(0), to: PortId(1) }];
        Passed { directions, len: usize::from(traffic.pkt_size) - CHECK_SEQUENCE }
    }
}

impl Frames for Passed {
    type Draw = ();

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    fn draw(&self, _: usize, _: u64) {}

    fn frame_len(&self, (): &()) -> usize {
        self.len
    }

    fn steering(&self, (): &()) -> u32 {
        0
    }

    fn write(&self, (): &(), stamp: Stamp, frame: &mut [u8]) {
        frame.fill(2);
        stamp.write(frame);
    }

    fn delivery(
        &mut self,
        direction: usize,
        (): &(),
        _: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery {
        let is_right = port == self.directions[direction].to && frame.len() == self.len;
        if is_right { Delivery::AsExpected } else { Delivery::Misdelivered }
    }
}

impl Changes for Passed {
    type Update = Update;
}

impl Floods for Passed {}

impl Policers for Passed {}

impl SessionFrames for Passed {}

impl FarEnds for Passed {}

/// Length of the check sequence, which a frame in memory does not have.
const CHECK_SEQUENCE: usize = 4;
