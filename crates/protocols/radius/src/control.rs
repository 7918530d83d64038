//! What is asked of the client, and what it answers.

use crate::attributes::List;
use crate::config::Wall;
use crate::seal::Credentials;

/// What the client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A server is to be asked. There is exactly one [`Report::Answer`] to it.
    Ask {
        /// Whatever the answer is to bear.
        token: u64,
        /// What is asked.
        request: Request,
    },
    /// The time of day is another one.
    SetWall(Wall),
}

/// What a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Whether somebody has access.
    Access {
        /// By what he shows who he is.
        credentials: Credentials,
        /// Everything else.
        attributes: List,
    },
    /// To record something.
    Accounting {
        /// What; Event-Timestamp is one of them.
        attributes: List,
        /// When that was, in seconds since 1970: Acct-Delay-Time is made of it.
        event_s: u64,
    },
}

/// What the client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// What became of a request.
    Answer {
        /// That of the request.
        token: u64,
        /// What.
        answer: Answer,
    },
    /// A server is found dead, or answers again.
    Server {
        /// Its place in the configuration.
        server: usize,
        /// Whether it answers.
        is_up: bool,
    },
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Access, with these attributes.
    Accept(List),
    /// No access.
    Reject(List),
    /// More is asked for: a further request bears State and the answer.
    Challenge(List),
    /// It was recorded.
    Recorded,
    /// No server has answered.
    TimedOut,
    /// It was not sent.
    Refused(Refusal),
}

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many as there may be wait or are on their way.
    Full,
    /// It does not fit a packet, or its password or challenge is empty or too long.
    Unwritable,
}
