//! What the tester sends through a chain: the frames of one of its functions, in at one end and out at
//! the other.
//!
//! What the functions before and behind make of a frame is not known to its workload, so a frame that
//! comes back is asked for its port and number alone; its bytes are held by the functional check.

use machine::clock::{Clock, Ticks};
use packet::PortId;
use traffic::workload::{Change, Delivery, Direction, EventKind, PolicedFrame, Policer};
use traffic::{Stamp, Workload};

use super::config::Config;
use super::control::Update;

/// The frames of a workload whatever its type; what a number decides is drawn anew each time.
pub(super) trait Source: Send {
    fn directions(&self) -> &[Direction];
    fn frame_len(&self, frame: Frame) -> usize;
    fn steering(&self, frame: Frame) -> u32;
    fn write(&self, frame: Frame, stamp: Stamp, bytes: &mut [u8]);
}

/// A frame by its number.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    direction: usize,
    number: u64,
}

/// The frames of a chain.
pub struct Frames {
    source: Box<dyn Source>,
    directions: Vec<Direction>,
}

impl Frames {
    pub(super) fn new(config: &Config, clock: Clock) -> Frames {
        let source = match config.source() {
            Some(member) => member.frames(clock),
            None => Box::new(Nothing),
        };
        Frames { directions: source.directions().to_vec(), source }
    }
}

impl Workload for Frames {
    type Draw = Frame;
    type Update = Update;

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

    fn events(&self) -> &[EventKind] {
        &[]
    }

    fn next_update(&mut self, _: usize, _: u64) -> Option<Change<Update>> {
        None
    }

    fn kind_of(&self, _: u64) -> Option<usize> {
        None
    }

    fn settled(&mut self, _: u64, _: Option<Ticks>) {}

    fn policed(&self, _: &Frame) -> Option<PolicedFrame> {
        None
    }

    fn policer(&self) -> Option<Policer> {
        None
    }

    fn probe(&self, _: u64) -> Option<(usize, Frame)> {
        None
    }
}

/// The frames of a function's workload.
pub(super) fn source(workload: impl Workload + 'static) -> Box<dyn Source> {
    Box::new(Of(workload))
}

struct Of<W>(W);

impl<W: Workload> Source for Of<W> {
    fn directions(&self) -> &[Direction] {
        self.0.directions()
    }

    fn frame_len(&self, frame: Frame) -> usize {
        self.0.frame_len(&self.0.draw(frame.direction, frame.number))
    }

    fn steering(&self, frame: Frame) -> u32 {
        self.0.steering(&self.0.draw(frame.direction, frame.number))
    }

    fn write(&self, frame: Frame, stamp: Stamp, bytes: &mut [u8]) {
        self.0.write(&self.0.draw(frame.direction, frame.number), stamp, bytes);
    }
}

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
