//! What a controller wants beside what departs to the network.

use std::borrow::Cow;

use function_kit::Severity;
use function_kit::erased::AnyUpdate;
use protocol_kit::Bytes;

/// An action.
#[derive(Clone, Debug)]
pub enum Action {
    /// Changes of the function, in order. Numbers of updates go on from the controller's first one,
    /// which has 0.
    Updates(Vec<AnyUpdate>),
    /// The same of changes that are not to be remembered: after a restart of the function they hold
    /// only if a controller makes them again.
    Passing(Vec<AnyUpdate>),
    /// A frame that a worker is to send.
    Inject(Injection),
    /// Something for an operator.
    Alarm(Alarm),
    /// A line of the log.
    Line(Line),
}

/// A frame that a worker is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The interface by which it leaves, by the function's number.
    pub interface: u16,
    /// The frame as the function takes it of the host.
    pub frame: Bytes,
}

/// A line of the log. Whoever makes lines of what others do bounds how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How much an operator has to look at it.
    pub level: Level,
    /// What has happened, without a full stop.
    pub text: String,
}

/// How much an operator has to look at a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is in the order of things.
    Info,
    /// Something may be wrong.
    Warning,
}

/// Something that an operator has to know, for as long as it is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// Where: a neighbour, a session, an interface. Of a source there is one alarm of a cause.
    pub source: String,
    /// Why, in one word of the field: `bfd-down`, `routes-full`.
    pub cause: &'static str,
    /// How bad it is; `None` if it is over.
    pub severity: Option<Severity>,
    /// A sentence.
    pub text: Cow<'static, str>,
}
