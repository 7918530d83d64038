//! Sessions of a stateful device in words: what is asked of them in a trial, and what came of it.
//!
//! A session is what a translator or a firewall keeps state of (RFC 9693 calls it a connection, of
//! whatever protocol it is). Sessions are numbered from 0 by the workload that makes their frames,
//! and the same number is the same session in every trial.

use std::fmt;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure_words;

/// A load of sessions that are opened, closed or used in sequence, beginning with `first`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionLoad {
    /// The action on each session.
    pub action: SessionAction,
    /// Number of the first session.
    pub first: u64,
    /// Number of sessions.
    pub count: u64,
    /// Rate of new sessions per second, evenly spaced. None for as fast as they succeed; the number
    /// in flight is then limited so that none is lost for lack of buffers.
    pub rate: Option<f64>,
}

/// The action on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionAction {
    /// Send the frames that open it: for UDP one from the client and a reply to its source, for TCP
    /// the handshake, for ICMP an echo request and its reply.
    Open,
    /// Send the frames that close it, if its protocol has such frames: FIN in both directions.
    Close,
    /// Send a frame in each direction, to verify that the session exists (RFC 9693 section 4.6).
    Use,
    /// Send a frame in each direction; a session with another translation than before counts as
    /// failed.
    Keep,
}

/// Results of a trial of sessions; attempted = succeeded + failed.
#[derive(Clone, Debug)]
pub struct SessionCounts {
    /// The action on each session.
    pub action: SessionAction,
    /// Number of sessions that the load requested.
    pub asked: u64,
    /// Number of sessions that were started; fewer if the tester was stopped.
    pub attempted: u64,
    /// Number of sessions of which every frame came back correctly.
    pub succeeded: u64,
    /// Number of sessions that failed.
    pub failed: u64,
    /// Number of failed sessions whose returned frames cannot be translations of the session. For
    /// example, two sessions have the same outside address, port and remote endpoint, or an address
    /// is not in the pool.
    pub wrong: u64,
    /// Time from the first sent to the last received frame of a session, in nanoseconds.
    pub answered_ns: Histogram<u64>,
    /// Number of sessions that the device reports at the end; none if it does not report them.
    pub held: Option<u64>,
}

/// The sessions that the traffic of a device can create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsThere {
    /// Number of sessions that are open before a trial of frames: the traffic's key `sessions`.
    pub open: u64,
    /// Number of distinct sessions.
    pub most: u64,
    /// Whether a frame can close them.
    pub closes: bool,
}

impl SessionLoad {
    /// A load of `count` sessions from the first on, as fast as they succeed.
    pub fn all(action: SessionAction, count: u64) -> SessionLoad {
        SessionLoad { action, first: 0, count, rate: None }
    }
}

impl SessionCounts {
    /// Counters of a trial that has not started.
    pub fn new(load: &SessionLoad) -> SessionCounts {
        SessionCounts {
            action: load.action,
            asked: load.count,
            attempted: 0,
            succeeded: 0,
            failed: 0,
            wrong: 0,
            answered_ns: answered(),
            held: None,
        }
    }

    /// Whether every requested session was started and succeeded.
    pub fn is_whole(&self) -> bool {
        self.succeeded == self.asked && self.failed == 0
    }
}

/// An empty histogram for answer times of up to a minute, with a resolution of a tenth of a
/// percent.
fn answered() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3)
        .unwrap_or_else(|_| unreachable!("these bounds are allowed"))
}

impl fmt::Display for SessionAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Use => "use",
            Self::Keep => "keep",
        })
    }
}

impl fmt::Display for SessionLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = figure_words(self.count as f64, "sessions");
        match self.rate {
            Some(rate) => write!(f, "{} {count} at {}", self.action, figure_words(rate, "1/s")),
            None => write!(f, "{} {count} as fast as they succeed", self.action),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_told_in_words() {
        let load = SessionLoad::all(SessionAction::Open, 1_000_000);
        assert_eq!(load.to_string(), "open 1,000,000 sessions as fast as they succeed");
        let paced = SessionLoad { action: SessionAction::Use, rate: Some(25_000.0), ..load };
        assert_eq!(paced.to_string(), "use 1,000,000 sessions at 25,000/s");
    }

    #[test]
    fn counts_are_whole_when_nothing_is_missing() {
        let load = SessionLoad::all(SessionAction::Open, 10);
        let mut counts = SessionCounts::new(&load);
        assert!(!counts.is_whole(), "none has been begun");
        (counts.attempted, counts.succeeded) = (10, 10);
        assert!(counts.is_whole());
        (counts.succeeded, counts.failed) = (9, 1);
        assert!(!counts.is_whole());
    }
}
