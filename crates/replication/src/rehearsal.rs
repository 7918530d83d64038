//! A standby within the same process, on a thread of its own: what replication costs can be
//! measured with one machine and one program, and fail-over be tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::wire::Rest;

/// A worker of a standby that sees no packet.
pub trait Rehearses: Send + 'static {
    /// Applies what was received, as much as a round may; whether there was anything.
    fn round(&mut self) -> bool;
}

/// The thread of a standby that sees no packet.
pub struct Rehearsal<S> {
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<S>>,
}

impl<S: Rehearses> Rehearsal<S> {
    /// Lets a standby go round.
    pub fn begin(mut standby: S) -> Rehearsal<S> {
        let stops = Arc::new(AtomicBool::new(false));
        let asked = stops.clone();
        let thread = thread::spawn(move || {
            let mut rest = Rest::default();
            while !asked.load(Ordering::Acquire) {
                match standby.round() {
                    true => rest.is_over(),
                    false => rest.a_while(),
                }
            }
            standby
        });
        Rehearsal { stops, thread: Some(thread) }
    }

    /// The standby, as it is.
    pub fn end(mut self) -> Option<S> {
        self.stop()
    }
}

impl<S> Rehearsal<S> {
    fn stop(&mut self) -> Option<S> {
        self.stops.store(true, Ordering::Release);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        // It panics only with a defect, which is told already.
        thread.join().ok()
    }
}

impl<S> Drop for Rehearsal<S> {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
