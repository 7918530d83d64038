//! The frames with which a check begins: what the measurements will send.

use machine::clock;
use model_kit::check::Step;
use model_kit::{Model, UpdateOf};
use traffic::{Frames, Stamp};

use super::Remote;

/// Returns the first frames of each direction of the workload, which may be missing in the sample,
/// or the first of those that were captured.
pub(super) fn workload_steps<N: Model>(device: &Remote<N>) -> Vec<Step<UpdateOf<N>>> {
    let mut steps = device.model.captured_steps(device.host.clock);
    if !steps.is_empty() {
        steps.truncate(CAPTURED_FRAMES);
        return steps;
    }
    let workload = device.workload();
    for (index, direction) in workload.directions().iter().enumerate() {
        for number in 0..WORKLOAD_FRAMES {
            let draw = workload.draw(index, number);
            let mut frame = vec![0; workload.frame_len(&draw)];
            let stamp = Stamp { stream: index as u16, sequence: number, time: clock::now() };
            workload.write(&draw, stamp, &mut frame);
            let about = "a frame of the workload";
            steps.push(Step::Frame { port: direction.from, frame, about });
        }
    }
    steps
}

/// Number of captured frames: each that is dropped is waited for.
const CAPTURED_FRAMES: usize = 100;

/// Number of frames per direction of the workload.
const WORKLOAD_FRAMES: u64 = 64;
