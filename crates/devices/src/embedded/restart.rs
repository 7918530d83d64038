//! A restart in the middle of a trial: the function is made anew from its configuration, as after
//! the end of its process, while its ports stay and frames keep coming.
//!
//! What is not in it: the start of a process and of its ports; the device `process` has those. Both
//! functions are there for a moment, so that the state must fit twice.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Function, Worker};
use function_kit::SetupError;
use machine::clock::{self, Clock, Ticks};
use measure::Restart;

use crate::tester::Course;

/// When and how the function of the workers is replaced.
pub(super) struct Restarting<'a, F> {
    /// Time of the replacement.
    pub at: Ticks,
    /// Replaces the function of a worker.
    pub replace: &'a (dyn Fn(u32, &mut F) -> Result<(), SetupError> + Sync),
}

/// Times at which a worker was told to restart and at which it ran again.
pub(super) type Span = Result<(Ticks, Ticks), SetupError>;

/// Runs worker `index` until told to stop, with a restart if one is requested.
pub(super) fn run<F: Function>(
    worker: &mut Worker<F>,
    index: u32,
    stop: &AtomicBool,
    restarting: Option<&Restarting<'_, F>>,
) -> (u64, Option<Span>) {
    let Some(restarting) = restarting else { return (worker.run(stop), None) };
    let mut packets = 0;
    loop {
        let (now, handled) = worker.round();
        packets += handled as u64;
        if stop.load(Ordering::Relaxed) {
            return (packets, None);
        }
        if now >= restarting.at {
            break;
        }
    }
    let asked = clock::now();
    let replaced = (restarting.replace)(index, worker.function_mut());
    let span = replaced.map(|()| (asked, clock::now()));
    (packets + worker.run(stop), Some(span))
}

/// Returns the restart of all workers for the record: from the first order to the last worker that
/// ran again.
///
/// # Errors
/// The error of a worker's restart.
pub(super) fn record(
    spans: Vec<Span>,
    course: Course,
    clock: &Clock,
) -> Result<Option<Restart>, SetupError> {
    let spans: Vec<(Ticks, Ticks)> = spans.into_iter().collect::<Result<_, _>>()?;
    let asked = spans.iter().map(|(asked, _)| *asked).min();
    let ready = spans.iter().map(|(_, ready)| *ready).max();
    Ok(asked.zip(ready).map(|(asked, ready)| Restart {
        asked_ns: clock.nanos(asked.saturating_sub(course.first_sent)),
        ready_after_ns: clock.nanos(ready.saturating_sub(asked)),
        silence_ns: clock.nanos(course.silence),
        what: "the function with its state".to_owned(),
    }))
}
