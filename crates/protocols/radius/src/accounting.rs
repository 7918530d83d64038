//! Accounting: records leave for a server in the order in which they came, and wait as long as none
//! confirms them.
//!
//! ```text
//!  Command::Record --> backlog --> client --> a server
//!                        ^  |         | confirmed: gone; not answered: it waits again
//!    restored by the     |  v         |
//!    owner's file        +------------+
//! ```
//! While records wait that were not answered, or are from before a restart, all leave at a limited
//! rate: a server that comes back is not met by all of them. It ends with the last one that waited
//! when the server confirmed one again, however fast further ones come. A record is confirmed at
//! most once here, but a server may hear it twice: it knows it by Acct-Session-Id and
//! Acct-Status-Type.

use std::time::Duration;

use protocol_kit::{Input, Machine, Neighbour, Output, Socket, Time, Trace};

use crate::attributes::List;
use crate::backlog::{Backlog, Foreign, Restored};
use crate::client::Client;
use crate::config::Wall;
use crate::control::{self, Answer, Refusal, Request};
use crate::servers::View;

/// The machine.
#[derive(Debug)]
pub struct Accounting {
    client: Client,
    backlog: Backlog,
    pace: Pace,
    /// Records on their way.
    under_way: usize,
    /// Records with lower numbers leave at the limited rate, and so do those behind them until they
    /// have left; the largest number while no server confirms any, none while all leave at once.
    held_below: Option<u64>,
    /// When the next one may leave at the limited rate.
    next: Time,
    /// What is to be said of that.
    saying: Option<bool>,
    /// Whether it was said that records are not written.
    said_failing: bool,
    confirmed: u64,
    unwritable: u64,
}

/// How fast records leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Most records on their way at a time, at least 1.
    pub window: usize,
    /// Records per second that leave while some have waited, at least 1.
    pub rate: u32,
    /// Time after a record that nobody has answered until the next one leaves.
    pub pause: Duration,
}

/// What the owner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Something is to be recorded.
    Record {
        /// The attributes that [`crate::record::Record`] makes.
        attributes: List,
        /// When it happened, in seconds since 1970.
        event_s: u64,
    },
    /// The time of day is another one.
    SetWall(Wall),
}

/// What the machine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A server is found dead, or answers again.
    Server {
        /// Its place in the configuration.
        server: usize,
        /// Whether it answers.
        is_up: bool,
    },
    /// Records wait because no server answers, or none does any more.
    Held(bool),
    /// The disk does not take records ([`Backlog::failed`]), or takes them again. They are in
    /// memory alone, and an end of the program would lose them: an alarm.
    Unwritten(bool),
}

impl Machine for Accounting {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(Command::Record { attributes, event_s }) => {
                self.backlog.push(attributes, event_s);
            }
            Input::Command(Command::SetWall(wall)) => {
                self.client.input(now, Input::Command(control::Command::SetWall(wall)));
            }
            Input::Arrival(arrival) => self.client.input(now, Input::Arrival(arrival)),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        loop {
            match self.client.poll(now) {
                Some(Output::Departure(departure)) => return Some(Output::Departure(departure)),
                Some(Output::Report(control::Report::Server { server, is_up })) => {
                    return Some(Output::Report(Report::Server { server, is_up }));
                }
                Some(Output::Report(control::Report::Answer { token, answer })) => {
                    self.settle(token, &answer, now);
                }
                None if self.may_leave(now) => self.leave(now),
                None => break,
            }
        }
        if let Some(is_held) = self.saying.take() {
            return Some(Output::Report(Report::Held(is_held)));
        }
        let is_failing = self.backlog.is_failing();
        let was_failing = std::mem::replace(&mut self.said_failing, is_failing);
        (is_failing != was_failing).then_some(Output::Report(Report::Unwritten(is_failing)))
    }

    fn deadline(&self) -> Option<Time> {
        if self.saying.is_some() || self.said_failing != self.backlog.is_failing() {
            return Some(Time::ZERO);
        }
        let has_room = self.backlog.waiting() > 0 && self.under_way < self.pace.window;
        let earliest = if self.is_held() { self.next } else { Time::ZERO };
        let next = has_room.then_some(earliest);
        next.into_iter().chain(self.client.deadline()).min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.client.neighbours(now)
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        self.client.trace(socket)
    }
}

impl Accounting {
    /// Creates the machine of a client and of what was restored.
    pub fn new(client: Client, backlog: Backlog, pace: Pace) -> Accounting {
        let held_below = (!backlog.is_empty()).then(|| backlog.next());
        Accounting {
            client,
            backlog,
            pace: Pace { window: pace.window.max(1), rate: pace.rate.max(1), ..pace },
            under_way: 0,
            held_below,
            next: Time::ZERO,
            saying: held_below.map(|_| true),
            said_failing: false,
            confirmed: 0,
            unwritable: 0,
        }
    }

    /// Takes what an earlier life has left in a file, in place of what is there: before anything is
    /// recorded.
    ///
    /// # Errors
    /// When it is no such file. Then it is not to be replaced.
    pub fn restore(&mut self, file: &[u8]) -> Result<Restored, Foreign> {
        let (backlog, restored) = Backlog::restore(self.backlog.limits(), file)?;
        self.held_below = (!backlog.is_empty()).then(|| backlog.next());
        self.saying = self.held_below.map(|_| true);
        self.backlog = backlog;
        Ok(restored)
    }

    /// Returns the store, whose bytes the owner keeps. What it says of writes that have failed is
    /// told by the next [`Machine::poll`].
    pub fn backlog(&mut self) -> &mut Backlog {
        &mut self.backlog
    }

    /// Whether records leave at the limited rate.
    pub fn is_held(&self) -> bool {
        self.held_below.is_some()
    }

    /// Returns how many records servers have confirmed.
    pub fn confirmed(&self) -> u64 {
        self.confirmed
    }

    /// Returns how many records were lost: for want of room, or because they fit no packet.
    pub fn lost(&self) -> u64 {
        self.backlog.lost() + self.unwritable
    }

    /// Returns how many records wait or are on their way.
    pub fn waiting(&self) -> usize {
        self.backlog.len()
    }

    /// Returns what a person sees of each server.
    pub fn views(&self) -> Vec<View> {
        self.client.views()
    }

    fn may_leave(&self, now: Time) -> bool {
        let has_room = self.under_way < self.pace.window && self.backlog.waiting() > 0;
        has_room && (!self.is_held() || self.next <= now)
    }

    fn leave(&mut self, now: Time) {
        let Some((token, attributes, event_s)) = self.backlog.take() else { return };
        self.under_way += 1;
        if self.is_held() {
            // A machine that was not polled for long has no more to catch up with than a second.
            let earliest = Time(now.0.saturating_sub(SECOND.as_nanos() as u64));
            self.next = self.next.max(earliest).after(SECOND / self.pace.rate);
        }
        let request = Request::Accounting { attributes, event_s };
        self.client.input(now, Input::Command(control::Command::Ask { token, request }));
    }

    /// A record has its answer.
    fn settle(&mut self, token: u64, answer: &Answer, now: Time) {
        self.under_way -= 1;
        match answer {
            Answer::Recorded => {
                self.confirmed += 1;
                self.backlog.end(token);
            }
            Answer::Refused(Refusal::Unwritable) => {
                self.unwritable += 1;
                self.backlog.end(token);
            }
            _ => {
                self.backlog.again(token);
                self.next = self.next.max(now.after(self.pace.pause));
                self.hold(Some(u64::MAX));
                return;
            }
        }
        let Some(mut below) = self.held_below else { return };
        if *answer == Answer::Recorded {
            // The first answer tells which ones have waited for it.
            below = below.min(self.backlog.next());
        }
        let is_over = self.backlog.first_waiting().is_none_or(|first| first >= below);
        self.hold((!is_over).then_some(below));
    }

    fn hold(&mut self, below: Option<u64>) {
        let was_held = std::mem::replace(&mut self.held_below, below).is_some();
        if was_held != below.is_some() {
            self.saying = Some(below.is_some());
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);
