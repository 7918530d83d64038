//! Which servers there are, which of them answer, and what became of requests to each.

use std::net::SocketAddr;
use std::time::Duration;

use protocol_kit::{Neighbour, Time};

use crate::config::Server;

/// What is known of a server.
#[derive(Debug)]
pub(crate) struct Known {
    pub config: Server,
    pub state: State,
    pub counters: Counters,
    /// Requests without answer since the last answer.
    pub unanswered: u16,
    /// When the first request was sent to it since something came from it last; `None` if none was.
    pub silent_since: Option<Time>,
    /// The request that is to find out whether it is there again, while it is being tried.
    pub probe: Option<u32>,
    /// When its state has changed last.
    pub since: Time,
    /// How long the last answer took.
    pub round_trip: Option<Duration>,
}

/// State of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It answers, or was not asked yet.
    Up,
    /// It has not answered, and is left alone.
    Dead,
    /// It was dead for its time, and something is on its way to find out whether it still is.
    Tried,
    /// The same, and nothing is on its way.
    ToBeTried,
}

/// Packets to and from a server, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests, each counted once.
    pub requests: u64,
    /// Repetitions of them.
    pub repeated: u64,
    /// Answers that were taken.
    pub answers: u64,
    /// Requests that it has not answered however often they were sent.
    pub unanswered: u64,
    /// Times at which it was found dead.
    pub deaths: u64,
    /// Dropped: no packet of RADIUS.
    pub malformed: u64,
    /// Dropped: from another address or port than the server's.
    pub stranger: u64,
    /// Dropped: answers nothing that is on its way: late, repeated, or made up.
    pub unexpected: u64,
    /// Dropped: a code that does not answer such a request.
    pub code: u64,
    /// Dropped: the authenticator is wrong; the secrets may be different.
    pub authenticator: u64,
    /// Dropped: Message-Authenticator is absent or wrong.
    pub signature: u64,
}

/// What a person sees of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Its address.
    pub address: SocketAddr,
    /// Its state.
    pub state: State,
    /// When it entered it.
    pub since: Time,
    /// How long its last answer took.
    pub round_trip: Option<Duration>,
    /// Its counters.
    pub counters: Counters,
}

impl State {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            State::Up => "up",
            State::Dead => "dead",
            State::Tried | State::ToBeTried => "trying",
        }
    }
}

impl Known {
    pub fn new(config: Server) -> Known {
        Known {
            config,
            state: State::Up,
            counters: Counters::default(),
            unanswered: 0,
            silent_since: None,
            probe: None,
            since: Time::ZERO,
            round_trip: None,
        }
    }

    /// It has answered, and needs no probe any more; true if it was not up.
    pub fn answer(&mut self, took: Duration, now: Time) -> bool {
        self.counters.answers += 1;
        (self.unanswered, self.probe) = (0, None);
        self.round_trip = Some(took);
        self.enter(State::Up, now)
    }

    /// Something was sent to it for the first time.
    pub fn ask(&mut self, now: Time) {
        self.counters.requests += 1;
        self.silent_since.get_or_insert(now);
    }

    /// A packet has come from it. An answer that is too late says that it is there, too; a forged
    /// one does no harm, because requests that had enough time count all the same.
    pub fn hear(&mut self) {
        self.silent_since = None;
    }

    /// Whether it was asked for so long, and nothing has come from it.
    pub fn was_silent_for(&self, span: Duration, now: Time) -> bool {
        self.silent_since.is_some_and(|since| now.since(since) >= span)
    }

    /// A request has ended without answer; true if it is dead from now on. If neither that request
    /// nor all of them together had enough time, it says nothing about the server. While it is
    /// tried, only the request that tries it does.
    pub fn miss(&mut self, slot: u32, had_time: bool, now: Time) -> bool {
        self.counters.unanswered += 1;
        let is_probe = self.probe.take_if(|probe| *probe == slot).is_some();
        if !had_time {
            if is_probe {
                self.enter(State::ToBeTried, now);
            }
            return false;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        let dies = match self.state {
            State::Up => self.unanswered >= self.config.dead_after,
            State::Tried => is_probe,
            State::Dead | State::ToBeTried => false,
        };
        if dies {
            self.counters.deaths += u64::from(self.state == State::Up);
            self.enter(State::Dead, now);
        }
        dies
    }

    /// Returns the request of Status-Server that is on its way to it.
    pub fn status(&self) -> Option<u32> {
        self.probe.filter(|_| self.config.has_status)
    }

    /// Whether it takes requests: it is up, or the next one is to find out whether it is.
    pub fn takes(&self) -> bool {
        let is_to_be_tried = self.state == State::ToBeTried && !self.config.has_status;
        self.state == State::Up || is_to_be_tried
    }

    /// Enters a state; true if it was in another one.
    pub fn enter(&mut self, state: State, now: Time) -> bool {
        let has_changed = self.state != state;
        if has_changed {
            (self.state, self.since) = (state, now);
            // What was sent before says nothing of what will be.
            self.silent_since = None;
        }
        has_changed
    }

    /// What an operator sees of it.
    pub fn neighbour(&self, now: Time) -> Neighbour {
        let Counters { requests, answers, unanswered, .. } = self.counters;
        Neighbour {
            protocol: "radius",
            interface: String::new(),
            address: self.config.address.to_string(),
            state: self.state.name().to_owned(),
            since: Some(now.since(self.since)),
            detail: format!("{requests} requests, {answers} answers, {unanswered} unanswered"),
        }
    }

    pub fn view(&self) -> View {
        let Known { state, since, round_trip, counters, .. } = *self;
        View { address: self.config.address, state, since, round_trip, counters }
    }
}
