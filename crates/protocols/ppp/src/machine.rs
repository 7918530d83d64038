//! The machine: all sessions, their timers, and what they say.
//!
//! It has no socket. The owner takes Ethernet, PPPoE and the session's number off a frame and hands
//! over the payload ([`Ppp::receive`]); what is to be sent comes out as [`Report::Send`].

use std::collections::VecDeque;
use std::time::Duration;

use protocol_kit::{Input, Machine, Output, Time};
use tables::wheel::Wheel;

use crate::config::Unusable;
use crate::control::{Command, Reason, Report, View};
use crate::counters::Counters;
use crate::draws::Draws;
use crate::outbox::Outbox;
use crate::session::Session;

/// Sessions by their numbers.
#[derive(Debug)]
pub struct Ppp {
    sessions: Vec<Option<Box<Session>>>,
    wheel: Wheel,
    shared: Shared,
}

/// What all sessions share.
#[derive(Debug)]
struct Shared {
    reports: VecDeque<Report>,
    counters: Counters,
    draws: Draws,
    /// The number of the last question.
    question: u32,
}

impl Machine for Ppp {
    type Command = Command;
    type Report = Report;

    /// Takes in a command. Nothing arrives by a socket.
    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        let Input::Command(command) = input else { return };
        let (session, done) = self.obey(command, now);
        if let Err(why) = done {
            self.shared.reports.push_back(Report::Refused { session, why });
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        while self.shared.reports.is_empty() {
            let number = self.wheel.due(now.0)?;
            self.with(number, now, |session, out| session.expire(out));
        }
        self.shared.reports.pop_front().map(Output::Report)
    }

    fn deadline(&self) -> Option<Time> {
        match self.shared.reports.is_empty() {
            false => Some(Time::ZERO),
            true => self.wheel.deadline().map(Time),
        }
    }
}

impl Ppp {
    /// Creates a machine for sessions with numbers below `limit`. From the seed come challenges and
    /// magic numbers: it must be secret, and no other machine may have it.
    pub fn new(limit: u32, seed: [u8; 32]) -> Ppp {
        Ppp {
            sessions: (0..limit).map(|_| None).collect(),
            wheel: Wheel::new(limit as usize, STEP_BITS),
            shared: Shared {
                reports: VecDeque::new(),
                counters: Counters::default(),
                draws: Draws::new(seed),
                question: 0,
            },
        }
    }

    /// Takes in a payload of a session: the Protocol field and what follows, padding included.
    pub fn receive(&mut self, now: Time, session: u32, payload: &[u8]) {
        if self.shared.reports.len() >= OUTPUTS_MAX {
            self.shared.counters.congested += 1;
        } else if self.place(session).is_none_or(|place| place.is_none()) {
            self.shared.counters.unknown += 1;
        } else {
            self.with(session, now, |session, out| session.receive(payload, out));
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.shared.counters
    }

    /// Returns what a person sees of a session; `None` of one that does not exist.
    pub fn view(&self, session: u32) -> Option<View> {
        let place = self.sessions.get(session as usize)?;
        place.as_ref().map(|session| session.view())
    }

    fn obey(&mut self, command: Command, now: Time) -> (u32, Result<(), Unusable>) {
        match command {
            Command::Open { session, config, mru } => {
                let is_free = self.place(session).is_some_and(|place| place.is_none());
                let checked = config.check(mru);
                if !is_free || checked.is_err() {
                    return (session, checked.and(Err(Unusable::Session)));
                }
                self.shared.counters.opened += 1;
                let mut out = self.shared.outbox(session, now, config.restart);
                let begun = Session::begin(config, mru, &mut out);
                self.sessions[session as usize] = Some(Box::new(begun));
                self.settle(session);
                (session, Ok(()))
            }
            Command::Answer { session, question, answer } => {
                let done = self.with(session, now, |one, out| one.answer(question, answer, out));
                (session, done.unwrap_or(Err(Unusable::Question)))
            }
            Command::Close { session } => self.end(session, now, Some(Reason::Closed)),
            Command::Lost { session } => self.end(session, now, Some(Reason::Silent)),
            Command::Down { session } => self.end(session, now, None),
        }
    }

    /// Ends a session for a reason, or because its link is gone.
    fn end(
        &mut self,
        session: u32,
        now: Time,
        reason: Option<Reason>,
    ) -> (u32, Result<(), Unusable>) {
        let done = self.with(session, now, |one, out| match reason {
            Some(reason) => one.close(reason, out),
            None => one.drop_link(out),
        });
        (session, done.ok_or(Unusable::Session))
    }

    fn place(&self, session: u32) -> Option<&Option<Box<Session>>> {
        self.sessions.get(session as usize)
    }

    /// Does something with a session that exists, and sets its timer.
    fn with<R>(
        &mut self,
        number: u32,
        now: Time,
        work: impl FnOnce(&mut Session, &mut Outbox<'_>) -> R,
    ) -> Option<R> {
        let session = self.sessions.get_mut(number as usize)?.as_mut()?;
        let mut out = self.shared.outbox(number, now, session.restart());
        let done = work(session, &mut out);
        self.settle(number);
        Some(done)
    }

    fn settle(&mut self, number: u32) {
        let place = &mut self.sessions[number as usize];
        if place.take_if(|session| session.is_over).is_some() {
            self.shared.counters.ended += 1;
        }
        match place.as_ref().and_then(|session| session.deadline()) {
            Some(deadline) => self.wheel.set(number, deadline.0),
            None => _ = self.wheel.cancel(number),
        }
    }
}

impl Shared {
    /// What a session may use.
    fn outbox(&mut self, session: u32, now: Time, restart: Duration) -> Outbox<'_> {
        let Shared { reports, counters, draws, question } = self;
        Outbox { now, session, restart, reports, counters, draws, question }
    }
}

/// Outputs that wait to be polled, beyond which no payload is taken in.
pub const OUTPUTS_MAX: usize = 65_536;

/// Timers are exact to 2^20 ns, 1 ms.
const STEP_BITS: u32 = 20;
