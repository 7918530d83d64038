//! A machine that is one of two kinds, for worlds in which not all nodes are the same.

use protocol_kit::{Arrival, Input, Machine, Neighbour, Output, Socket, Time, Tls, Trace};

/// One of two: machines, what is said to them, or what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first kind.
    One(A),
    /// The second.
    Other(B),
}

impl<A, B> Either<A, B> {
    /// Returns it if it is of the first kind.
    pub fn one(&self) -> Option<&A> {
        match self {
            Either::One(one) => Some(one),
            Either::Other(_) => None,
        }
    }

    /// Returns it if it is of the second kind.
    pub fn other(&self) -> Option<&B> {
        match self {
            Either::One(_) => None,
            Either::Other(other) => Some(other),
        }
    }
}

impl<A: Machine, B: Machine> Machine for Either<A, B> {
    type Command = Either<A::Command, B::Command>;
    type Report = Either<A::Report, B::Report>;

    /// # Panics
    /// If a command is for a machine of the other kind.
    fn input(&mut self, now: Time, input: Input<'_, Self::Command>) {
        match (self, input) {
            (Either::One(one), Input::Arrival(arrival)) => one.input(now, of_network(arrival)),
            (Either::Other(other), Input::Arrival(arrival)) => {
                other.input(now, of_network(arrival))
            }
            (Either::One(one), Input::Command(Either::One(command))) => {
                one.input(now, Input::Command(command));
            }
            (Either::Other(other), Input::Command(Either::Other(command))) => {
                other.input(now, Input::Command(command));
            }
            _ => panic!("a command is for a machine of the other kind"),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Self::Report>> {
        Some(match self {
            Either::One(one) => match one.poll(now)? {
                Output::Departure(departure) => Output::Departure(departure),
                Output::Report(report) => Output::Report(Either::One(report)),
            },
            Either::Other(other) => match other.poll(now)? {
                Output::Departure(departure) => Output::Departure(departure),
                Output::Report(report) => Output::Report(Either::Other(report)),
            },
        })
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Either::One(one) => one.deadline(),
            Either::Other(other) => other.deadline(),
        }
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        match self {
            Either::One(one) => one.neighbours(now),
            Either::Other(other) => other.neighbours(now),
        }
    }

    fn tls(&self) -> Option<&Tls> {
        match self {
            Either::One(one) => one.tls(),
            Either::Other(other) => other.tls(),
        }
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        match self {
            Either::One(one) => one.trace(socket),
            Either::Other(other) => other.trace(socket),
        }
    }
}

fn of_network<C>(arrival: Arrival<'_>) -> Input<'_, C> {
    Input::Arrival(arrival)
}
