//! What a controller wants beside what departs to the network.

use std::borrow::Cow;

use function_kit::Severity;
use function_kit::erased::AnyUpdate;

/// An action.
#[derive(Clone, Debug)]
pub enum Action {
    /// Changes of the function, in order. Numbers of updates go on from the controller's first one,
    /// which has 0.
    Updates(Vec<AnyUpdate>),
    /// The same of changes that are not to be remembered: after a restart of the function they hold
    /// only if a controller makes them again.
    Passing(Vec<AnyUpdate>),
    /// Something for an operator.
    Alarm(Alarm),
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
