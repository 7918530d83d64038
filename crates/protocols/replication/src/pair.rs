//! The machine of one of two functions of which either may tell the other: it connects to the other
//! one while its worker tells, and listens for it all the time.

use std::convert::Infallible;

use protocol_kit::{Arrival, Input, Machine, Neighbour, Output, Socket, Time, Tls, Trace};

use crate::active::{self, Active};
use crate::change::Change;
use crate::shown;
use crate::standby::Standby;

/// Both machines of a function, for the worker that [`crate::Roles`] describes.
pub struct Pair<C> {
    tells: Active<C>,
    hears: Standby<C>,
}

impl<C: Change> Pair<C> {
    /// Puts both into one.
    pub fn new(tells: Active<C>, hears: Standby<C>) -> Pair<C> {
        Pair { tells, hears }
    }
}

impl<C: Change> Machine for Pair<C> {
    type Command = Infallible;
    type Report = Infallible;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        match &input {
            Input::Arrival(arrival) if is_of_active(arrival) => self.tells.input(now, input),
            _ => self.hears.input(now, input),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        self.hears.poll(now).or_else(|| self.tells.poll(now))
    }

    fn deadline(&self) -> Option<Time> {
        [self.tells.deadline(), self.hears.deadline()].into_iter().flatten().min()
    }

    /// The other one, as what this one speaks with it.
    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        [self.hears.neighbours(now), self.tells.neighbours(now)].concat()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(shown::TRACE)
    }

    fn tls(&self) -> Option<&Tls> {
        self.tells.tls()
    }
}

/// Whether something arrives on the stream of the one that tells.
fn is_of_active(arrival: &Arrival<'_>) -> bool {
    match arrival {
        Arrival::Connected { socket, .. }
        | Arrival::Bytes { socket, .. }
        | Arrival::Taken { socket, .. }
        | Arrival::Finished { socket }
        | Arrival::Failed { socket } => *socket == active::STREAM,
        _ => false,
    }
}
