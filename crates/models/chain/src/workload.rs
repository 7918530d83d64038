//! What the tester sends through a chain: the frames of one of its functions, in at one end and out
//! at the other.
//!
//! What the functions before and behind make of a frame is not known to its workload, so a frame
//! that comes back is asked for its port and number alone; its bytes are held by the functional
//! check.
use function_chain::Update;
use machine::clock::Clock;
use model_kit::erased::{Frame, Source};
use packet::PortId;
use traffic::workload::{Delivery, Direction};
use traffic::{Stamp, workload};

use super::sections::Section;

/// The frames of a chain.
pub struct Frames {
    source: Box<dyn Source>,
    directions: Vec<Direction>,
}

impl Frames {
    pub(super) fn new(section: &Section, clock: Clock) -> Frames {
        let source = match section.source() {
            Some(member) => member.frames(clock),
            None => Box::new(Nothing),
        };
        Frames { directions: source.directions().to_vec(), source }
    }
}

impl workload::Frames for Frames {
    type Draw = Frame;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    fn draw(&self, direction: usize, number: u64) -> Frame {
        Frame { direction, number }
    }

    fn frame_len(&self, frame: &Frame) -> usize {
        self.source.frame_len(*frame)
    }

    fn steering(&self, frame: &Frame) -> u32 {
        self.source.steering(*frame)
    }

    fn write(&self, frame: &Frame, stamp: Stamp, bytes: &mut [u8]) {
        self.source.write(*frame, stamp, bytes);
    }

    fn delivery(
        &mut self,
        direction: usize,
        _: &Frame,
        _: &Stamp,
        port: PortId,
        _: &[u8],
    ) -> Delivery {
        match self.directions.get(direction).is_some_and(|way| way.to == port) {
            true => Delivery::AsExpected,
            false => Delivery::Misdelivered,
        }
    }
}

impl workload::Changes for Frames {
    type Update = Update;
}

impl workload::Floods for Frames {}

impl workload::Policers for Frames {}

impl workload::SessionFrames for Frames {}

impl workload::FarEnds for Frames {}

/// A chain that was not validated sends nothing.
struct Nothing;

impl Source for Nothing {
    fn directions(&self) -> &[Direction] {
        &[]
    }

    fn frame_len(&self, _: Frame) -> usize {
        0
    }

    fn steering(&self, _: Frame) -> u32 {
        0
    }

    fn write(&self, _: Frame, _: Stamp, _: &mut [u8]) {}
}
