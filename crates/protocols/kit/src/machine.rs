//! A machine: a protocol, or the control plane of a function.

use crate::endpoint::Tls;
use crate::network::{Arrival, Departure, Socket};
use crate::shown::{Neighbour, Trace};
use crate::time::Time;

/// State that events change, without I/O.
///
/// Its memory is bounded by its configuration, whatever arrives. Time that a driver hands over
/// never goes backwards.
pub trait Machine {
    /// What an operator or a controller says to it.
    type Command;
    /// What it says to an operator or a controller.
    type Report;

    /// Takes in what happened. Nothing is judged by time here: that is [`Machine::poll`]'s.
    fn input(&mut self, now: Time, input: Input<'_, Self::Command>);

    /// Returns the next thing that it wants; `None` until the next input or the deadline.
    fn poll(&mut self, now: Time) -> Option<Output<Self::Report>>;

    /// Returns the time at which it is to be polled, even if nothing arrives; `None` if it waits
    /// for input alone.
    fn deadline(&self) -> Option<Time>;

    /// Returns those whom it speaks with, at most some thousands of them.
    fn neighbours(&self, _now: Time) -> Vec<Neighbour> {
        Vec::new()
    }

    /// Returns by what its streams are encrypted, so that a driver can tell at its start whether
    /// the files are of use; `None` for nothing.
    fn tls(&self) -> Option<&Tls> {
        None
    }

    /// Returns what a trace of an open socket's messages may hold; `None` for nothing.
    fn trace(&self, _socket: Socket) -> Option<Trace> {
        None
    }
}

/// What goes into a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<'a, C> {
    /// Something happened in the network.
    Arrival(Arrival<'a>),
    /// Somebody wants something.
    Command(C),
}

/// What comes out of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<R> {
    /// It wants something of the network.
    Departure(Departure),
    /// It has something to say.
    Report(R),
}
