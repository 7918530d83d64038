//! The ports of a closed loop: each makes the frames of a direction, and takes what leaves by it.
//!
//! Source and sink run on the worker's own core, so the worker is never idle and never waits; what
//! they cost is counted in stages of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::Port;
use engine::steering::worker_of;
use machine::clock::Ticks;
use packet::{Batch, Slot};
use traffic::{Stamp, Workload};

use crate::tester::CHECK_SEQUENCE_LEN;

/// A port that generates its frames itself.
pub(super) struct Generator<W: Workload> {
    /// Workload and direction of the frames that enter here; `None` for a port that only receives.
    source: Option<(W, usize)>,
    next_number: u64,
    /// Number of this worker and number of workers: frames of other workers' subscribers are
    /// skipped.
    worker: u32,
    workers: u32,
    /// Whether frames are out of all caches when the worker gets them.
    is_cold: bool,
    made: Arc<Made>,
}

/// Counters of a generator, for other threads to read.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// Generated frames.
    pub frames: AtomicU64,
    /// Bytes of the generated frames, including the frame check sequence.
    pub bytes: AtomicU64,
    /// Frames that left by this port.
    pub taken: AtomicU64,
}

impl<W: Workload> Generator<W> {
    /// Creates the port that frames of a direction enter, on one of the workers.
    pub fn new(
        source: Option<(W, usize)>,
        (worker, workers): (u32, u32),
        is_cold: bool,
        made: Arc<Made>,
    ) -> Generator<W> {
        Generator { source, next_number: 0, worker, workers, is_cold, made }
    }

    /// Returns the number and the draw of the next frame for this worker; `None` after many frames
    /// of other workers, because with fewer users than workers some workers have no users.
    #[inline(always)]
    fn next_own(
        next_number: &mut u64,
        (workload, direction): (&W, usize),
        (worker, workers): (u32, u32),
    ) -> Option<(u64, W::Draw)> {
        for _ in 0..=FOREIGN_MAX * (u64::from(workers) - 1) {
            let sequence = *next_number;
            *next_number += 1;
            let draw = workload.draw(direction, sequence);
            if workers == 1 || worker_of(workload.steering(&draw), workers) == worker {
                workload.prefetch(&draw);
                return Some((sequence, draw));
            }
        }
        None
    }
}

impl<W: Workload> Port for Generator<W> {
    #[inline]
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        let Some((workload, direction)) = &self.source else { return 0 };
        let port = workload.directions()[*direction].from;
        let (from, own) = ((workload, *direction), (self.worker, self.workers));
        let (mut count, mut bytes) = (0, 0);
        // Deciding and writing take turns, so that each loop keeps what it needs in registers.
        let mut draws = [const { None }; TURN];
        'batch: while count < limit {
            let turn = TURN.min(limit - count);
            draws[..turn].fill_with(|| Self::next_own(&mut self.next_number, from, own));
            if draws[0].is_none() {
                break;
            }
            for (sequence, draw) in draws[..turn].iter().flatten() {
                let len = workload.frame_len(draw);
                let Some(frame) = batch.append(port, len) else { break 'batch };
                let stamp = Stamp { stream: *direction as u16, sequence: *sequence, time: now };
                workload.write(draw, stamp, frame);
                bytes += len + CHECK_SEQUENCE_LEN;
                count += 1;
            }
        }
        if self.is_cold {
            batch.evict_from(batch.len() - count);
        }
        add(&self.made.frames, count);
        add(&self.made.bytes, bytes);
        count
    }

    fn leaves_cold(&self) -> bool {
        self.is_cold
    }

    #[inline]
    fn transmit(&mut self, _: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        add(&self.made.taken, slots.len());
        slots.len()
    }
}

/// Adds to a counter that only this thread writes.
fn add(counter: &AtomicU64, count: usize) {
    counter.store(counter.load(Ordering::Relaxed) + count as u64, Ordering::Relaxed);
}

/// Number of skipped frames, per other worker, after which the search for an own frame ends.
const FOREIGN_MAX: u64 = 64;

/// Number of frames that are drawn before they are written.
const TURN: usize = 32;
