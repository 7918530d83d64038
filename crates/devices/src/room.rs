//! How long the frames of a workload get, by looking at a sample of them.
//!
//! Exact for the sizes that a workload can draw: each of a mix has at least one of 256 places, and
//! thousands of draws miss none of them but by a chance that is none.

use packet::Room;
use traffic::Workload;

/// Returns the longest frame that will be sent, in bytes without frame check sequence.
pub(crate) fn frame_bytes_max(workload: &impl Workload) -> usize {
    let directions = 0..workload.directions().len();
    let longest = |direction| match workload.lengths(direction) {
        Some(known) => known.longest,
        None => {
            let drawn = |n| workload.frame_len(&workload.draw(direction, n));
            (0..LENGTHS_SEEN).map(drawn).max().unwrap_or(0)
        }
    };
    let drawn = directions.map(longest);
    let floods = (0..workload.floods().len()).map(|kind| workload.flood_len(kind));
    drawn.chain(floods).max().unwrap_or(0)
}

/// Returns the mean length of the frames of the direction with the longest, in bytes without frame
/// check sequence.
pub(crate) fn frame_bytes_mean(workload: &impl Workload) -> f64 {
    let mean = |direction| {
        if let Some(known) = workload.lengths(direction) {
            return known.mean;
        }
        let lengths = (0..LENGTHS_SEEN).map(|n| workload.frame_len(&workload.draw(direction, n)));
        lengths.sum::<usize>() as f64 / LENGTHS_SEEN as f64
    };
    (0..workload.directions().len()).map(mean).fold(0.0, f64::max)
}

/// Returns the room of a worker's batch: the default, or as much as jumbo frames need.
pub(crate) fn room_for(workload: &impl Workload) -> Room {
    let usual = Room::default();
    Room { frame: usual.frame.max(frame_bytes_max(workload)), ..usual }
}

/// Number of frames of each direction whose lengths are examined.
const LENGTHS_SEEN: u64 = 4096;
