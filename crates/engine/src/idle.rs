//! What a worker does while no packet comes.

use std::thread;
use std::time::Duration;

/// Behaviour of a worker without packets; kebab-case in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Polls its ports again at once: lowest latency, and a core that is always busy.
    #[default]
    Poll,
    /// Lets other threads of its core run first.
    Yield,
    /// Sleeps for a moment, up to half a millisecond after a long time without packets.
    Sleep,
}

impl Idle {
    /// Rests after this number of rounds without a packet; returns true if it yielded the core.
    #[inline]
    pub(crate) fn rest(self, empty_rounds: u32) -> bool {
        match self {
            Idle::Poll => false,
            Idle::Yield => {
                thread::yield_now();
                true
            }
            Idle::Sleep if empty_rounds < SPINS => false,
            Idle::Sleep => {
                let longer = ((empty_rounds - SPINS) / ROUNDS_A_STEP).min(STEPS_MAX);
                thread::park_timeout(SHORTEST * (1 << longer));
                true
            }
        }
    }
}

/// Number of rounds without a packet before the first rest: about as long as a rest takes to begin.
const SPINS: u32 = 500;

/// Number of rests of one length before the length doubles.
const ROUNDS_A_STEP: u32 = 16;

/// Shortest rest; the system adds about 50 us to each.
const SHORTEST: Duration = Duration::from_micros(15);

/// Number of doublings; rests grow to 480 us, for which a port's ring must have room.
const STEPS_MAX: u32 = 5;
