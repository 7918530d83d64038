//! The end in good order: workers go on until others know that what they were told is over.

use std::thread;
use std::time::{Duration, Instant};

use crate::keeper::Daemon;
use crate::unit::Refused;

impl Daemon {
    /// Lets the function wind down, for a bounded time; the log tells how much is left. A further
    /// signal ends the program meanwhile.
    pub(crate) fn wind_down(&mut self) {
        if let Err(refused) = self.wind_down_until(Instant::now() + LONGEST) {
            tracing::error!(why = refused.what, "the function could not wind down");
        }
    }

    fn wind_down_until(&mut self, deadline: Instant) -> Result<(), Refused> {
        let (mut told, begun) = (Instant::now(), Instant::now());
        let mut left = self.running.wind_down()?;
        let is_anything = left > 0;
        while left > 0 {
            if Instant::now() > deadline {
                tracing::warn!(left, "not wound down in time: others may not know of the end");
                return Ok(());
            }
            thread::park_timeout(LOOK);
            left = self.running.wind_down()?;
            if told.elapsed() > PROGRESS {
                told = Instant::now();
                tracing::info!(left, "winding down: others are told of the end");
            }
        }
        if is_anything {
            let ms = begun.elapsed().as_millis() as u64;
            tracing::info!(ms, "wound down: others know of the end");
        }
        Ok(())
    }
}

/// For how long the function may wind down at most; programs that supervise others wait longer.
const LONGEST: Duration = Duration::from_secs(30);

/// How often workers are asked.
const LOOK: Duration = Duration::from_millis(2);

/// How often the log tells how much is left.
const PROGRESS: Duration = Duration::from_secs(1);
