//! What a worker does while no packet comes.

use std::thread;
use std::time::Duration;

/// How a worker rests; kebab-case in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// It asks its ports again at once: the least latency, and a core that is always busy.
    #[default]
    Poll,
    /// It lets other threads of its core go first.
    Yield,
    /// It gives the core back for a moment, up to half a millisecond after a long silence.
    Sleep,
}

impl Idle {
    /// Rests after so many rounds without a packet; tells whether it gave the core away.
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

/// Rounds without a packet before the first rest: about as long as a rest takes to begin.
const SPINS: u32 = 500;

/// Rests of one length before they double.
const ROUNDS_A_STEP: u32 = 16;

/// The system adds about 50 us to each.
const SHORTEST: Duration = Duration::from_micros(15);

/// Rests double up to 480 us, in which a port's ring must hold what comes.
const STEPS_MAX: u32 = 5;
