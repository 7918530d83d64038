//! The closed loop of a device of another making: it makes the frames of the workload itself, as
//! fast as it can, and counts what each of its stages takes.
//!
//! The frames are those of the workload, drawn and written beforehand; the device repeats them.
//! What it leaves out or adds against the built-in function, the device's README says.

use std::time::Duration;

use machine::clock;
use measure::{Stage, TrialProgress, Watch, WorkerTime};
use packet::PortId;
use traffic::{Frames, Stamp};

/// The frames of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopFrames {
    /// Port that they enter.
    pub from: PortId,
    /// Port that they leave by.
    pub to: PortId,
    /// The frames, without frame check sequence.
    pub frames: Vec<Vec<u8>>,
}

/// What a device did in a closed loop.
#[derive(Clone, Debug, Default)]
pub struct LoopCounts {
    /// Time in which frames were made.
    pub effective: Duration,
    /// Numbers of frames that entered by each port, by port number.
    pub entered: Vec<u64>,
    /// Numbers of frames that left by each port, by port number.
    pub left: Vec<u64>,
    /// Ticks by stage, summed over workers; source first, sink last.
    pub stages: Vec<Stage>,
    /// CPU time of each worker.
    pub workers: Vec<WorkerTime>,
    /// Frames that were dropped, by the device's own reasons.
    pub drops: Vec<(String, u64)>,
}

impl LoopFrames {
    /// Draws the frames of all directions of a workload.
    pub fn of(workload: &impl Frames) -> Vec<LoopFrames> {
        let directions = workload.directions().iter().enumerate();
        directions
            .map(|(index, direction)| {
                let mut bytes = 0;
                let write = |sequence| {
                    let draw = workload.draw(index, sequence);
                    let mut frame = vec![0; workload.frame_len(&draw)];
                    let time = clock::now();
                    let stamp = Stamp { stream: index as u16, sequence, time };
                    workload.write(&draw, stamp, &mut frame);
                    bytes += frame.len();
                    (bytes <= BYTES_MAX).then_some(frame)
                };
                let frames = (0..FRAMES).map_while(write).collect();
                LoopFrames { from: direction.from, to: direction.to, frames }
            })
            .collect()
    }

    /// Returns the mean length of the frames in bytes, without frame check sequence.
    pub fn bytes_mean(&self) -> f64 {
        let bytes: usize = self.frames.iter().map(Vec::len).sum();
        bytes as f64 / self.frames.len().max(1) as f64
    }
}

/// Tells how far a closed loop is.
pub(crate) fn tell(watch: &mut dyn Watch, elapsed: Duration) {
    watch.at(TrialProgress { elapsed, sent: 0, received: 0 });
}

/// Number of frames of each direction before they repeat: many more than a core's caches remember
/// of branches and headers.
pub const FRAMES: u64 = 65_536;

/// Most bytes of the frames of each direction.
const BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_length_of_no_frames_is_none() {
        let mut frames = LoopFrames { from: PortId(0), to: PortId(1), frames: Vec::new() };
        assert_eq!(frames.bytes_mean(), 0.0);
        frames.frames = vec![vec![0; 60], vec![0; 100]];
        assert_eq!(frames.bytes_mean(), 80.0);
    }
}
