//! What the loop costs: timers, and streams on which little happens. `cargo bench -p host`
//! measures; `cargo test -p host` runs it once, small.

mod sessions;

mod timers;

use std::fs;
use std::time::{Duration, Instant};

fn main() {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    if is_measured {
        timers::run(100_000, Duration::from_secs(10));
        sessions::run(SESSIONS, None, Duration::from_secs(10));
        sessions::run(SESSIONS, Some(Duration::from_secs(10)), Duration::from_secs(20));
    } else {
        timers::run(1_000, Duration::from_millis(20));
        sessions::run(20, Some(Duration::from_millis(5)), Duration::from_millis(20));
    }
}

/// Time, and how much of it this thread was on a processor.
struct Usage {
    start: Instant,
    busy: Duration,
}

impl Usage {
    fn begin() -> Usage {
        Usage { start: Instant::now(), busy: busy() }
    }

    /// The share of a processor since the beginning, in percent.
    fn percent(&self) -> f64 {
        let busy = busy() - self.busy;
        100.0 * busy.as_secs_f64() / self.start.elapsed().as_secs_f64()
    }
}

/// How long this thread was on a processor, in the kernel or not.
fn busy() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// Streams whose two ends have less than 20,000 files, which is as many as a process usually may
/// have when it is root.
const SESSIONS: u32 = 9_900;
