//! Sessions of a stateful device in words: what is asked of them in a trial, and what came of it.
//!
//! A session is what a translator or a firewall keeps state of (RFC 9693 calls it a connection, of
//! whatever protocol it is). Sessions are numbered from 0 by the workload that makes their frames, and
//! the same number is the same session in every trial.

use std::fmt;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure_words;

/// Sessions that are opened, closed or used, one after the other from `first` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionLoad {
    /// What is done with each.
    pub action: SessionAction,
    /// The first one's number.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// How many are begun a second, evenly; none for as fast as they succeed, with so few of them
    /// under way that none is lost for want of room.
    pub rate: Option<f64>,
}

/// What is done with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionAction {
    /// The frames that set it up: of UDP one from the client and an answer to where it came from, of
    /// TCP the handshake, of ICMP an echo and its reply.
    Open,
    /// The frames that end it, where its protocol has such: FIN both ways.
    Close,
    /// A frame each way, to prove that it is there (RFC 9693 section 4.6).
    Use,
    /// The same, where another translation than before is none: it must be the session that was there.
    Keep,
}

/// What became of the sessions of a trial; attempted = succeeded + failed.
#[derive(Clone, Debug)]
pub struct SessionCounts {
    /// What was done with each.
    pub action: SessionAction,
    /// How many the load asked for.
    pub asked: u64,
    /// How many were begun: fewer where the tester was stopped on the way.
    pub attempted: u64,
    /// Those of which every frame came back where it belongs.
    pub succeeded: u64,
    /// The others.
    pub failed: u64,
    /// Of the failed: what came back can be no translation of this session. Two sessions have one
    /// outside address, port and remote end, an address is not of the pool …
    pub wrong: u64,
    /// From the first frame of a session sent to its last one received, in nanoseconds.
    pub answered_ns: Histogram<u64>,
    /// Sessions that the device itself says it holds at the end, where it tells.
    pub held: Option<u64>,
}

/// The sessions that the traffic of a device can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsThere {
    /// How many are open before a trial of frames begins: the traffic's `sessions` key.
    pub open: u64,
    /// How many different ones there are.
    pub most: u64,
    /// Whether they can be closed by a frame.
    pub closes: bool,
}

impl SessionLoad {
    /// So many sessions from the first one on, as fast as they succeed.
    pub fn all(action: SessionAction, count: u64) -> SessionLoad {
        SessionLoad { action, first: 0, count, rate: None }
    }
}

impl SessionCounts {
    /// Counts of a trial in which nothing has happened yet.
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

    /// Whether every session that was asked for was begun and succeeded.
    pub fn is_whole(&self) -> bool {
        self.succeeded == self.asked && self.failed == 0
    }
}

/// Room for answers of up to a minute, to a tenth of a percent.
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
