//! A standby within the same process, on a thread of its own: what replication costs can be measured with
//! one machine and one program, and fail-over be tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use engine::Function;
use machine::clock;

use super::super::pipeline::Pipeline;
use super::wire::Rest;

/// The thread of a standby that sees no packet.
pub struct Rehearsal {
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<Pipeline>>,
}

impl Rehearsal {
    /// Lets a standby go round.
    pub fn begin(mut standby: Pipeline) -> Rehearsal {
        let stops = Arc::new(AtomicBool::new(false));
        let asked = stops.clone();
        let thread = thread::spawn(move || {
            let mut rest = Rest::default();
            while !asked.load(Ordering::Acquire) {
                let before = standby.replication().acknowledged;
                standby.made(clock::now());
                match standby.replication().acknowledged == before {
                    true => rest.a_while(),
                    false => rest.is_over(),
                }
            }
            standby
        });
        Rehearsal { stops, thread: Some(thread) }
    }
}

impl Rehearsal {
    /// The standby, as it is.
    pub fn end(mut self) -> Option<Pipeline> {
        self.stop()
    }

    fn stop(&mut self) -> Option<Pipeline> {
        self.stops.store(true, Ordering::Release);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        // It panics only with a defect, which is told already.
        thread.join().ok()
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
