//! The machine: what bfdd wants becomes sessions of the router, and what workers tell goes to bfdd.

use std::collections::VecDeque;
use std::time::Duration;

use controller_kit::{Action, Alarm, Controller, Event, EventKind, Happening, Setup, Severity};
use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured};
use function_l3_router::happened::{Happened, Whose};
use protocol_bfddp::{self as bfddp, BfdDataPlane, Change, Command, Report, State};
use protocol_kit::{Input, Machine, Neighbour, Output, Socket, Time, Trace};
use serde_json::Value;

use crate::config::Config;
use crate::places::Places;
use crate::sessions::Sessions;
use crate::show::show;

/// BFD for FRR.
pub struct FrrBfd {
    config: Config,
    bfdd: BfdDataPlane,
    places: Places,
    sessions: Sessions,
    alarms: VecDeque<Alarm>,
    /// Whether each alarm was raised, in the order of [`Cause`].
    is_raised: [bool; 3],
    /// When it is told that bfdd could not be connected yet, once the time is known.
    absent_at: Option<Time>,
    /// When what the router has refused is tried again.
    retry_at: Option<Time>,
    /// What workers have told and did not reach the controller.
    missed: u64,
}

/// Why there is an alarm.
#[derive(Clone, Copy)]
enum Cause {
    Down,
    Full,
    NotRun,
}

impl Controller for FrrBfd {
    const NAME: &'static str = "frr-bfd";
    const SUMMARY: &'static str = "BFD for FRR by an l3-router: bfdd's sessions run in a worker";

    type Config = Config;

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        config.endpoint().map(|_| ())
    }

    fn new(config: &Config, setup: Setup<'_>) -> Result<FrrBfd, Invalid> {
        let places = Places::of(setup.function)?;
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let of_bfdd = bfddp::Config {
            sessions_max: places.sessions_max,
            settle: seconds(config.settle_s),
            keep: seconds(config.keep_s),
            ..bfddp::Config::new(config.endpoint()?)
        };
        Ok(FrrBfd {
            config: config.clone(),
            bfdd: BfdDataPlane::new(of_bfdd),
            places,
            sessions: Sessions::new(),
            alarms: VecDeque::new(),
            is_raised: [false; 3],
            absent_at: None,
            retry_at: None,
            missed: 0,
        })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        vec!["set-bfd", "remove-bfd"]
    }

    /// Goes on if nothing of its own has changed.
    fn reload(&mut self, config: &Config, function: Option<&dyn Configured>, _: Time) -> bool {
        let is_same = |places: Places| places.is_like(&self.places);
        *config == self.config && Places::of(function).is_ok_and(is_same)
    }

    fn show(&self) -> Value {
        show(&self.bfdd, &self.sessions, self.missed)
    }
}

impl Machine for FrrBfd {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        match input {
            Input::Arrival(arrival) => self.bfdd.input(now, Input::Arrival(arrival)),
            Input::Command(Event::Links(links)) => {
                self.places.set(&links);
                self.sessions.place_all(&self.places);
                self.judge();
            }
            Input::Command(Event::Applied { first, count, .. }) => {
                self.sessions.applied(first.saturating_add(count));
                self.judge();
            }
            Input::Command(Event::Refused { number, .. }) => {
                self.sessions.refuse(number);
                self.retry_at = self.retry_at.or(Some(now.after(RETRY)));
                self.judge();
            }
            Input::Command(Event::Happened(what)) => self.happened(what, now),
            Input::Command(Event::Missed { count }) => {
                self.missed += count;
                self.sessions.ask_all();
            }
            Input::Command(Event::Punted(_) | Event::TimeOfDay(_) | Event::Ends) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        let settle = Duration::from_secs(self.config.settle_s.into());
        self.absent_at = self.absent_at.or(Some(now.after(settle)));
        if self.waits_until().is_some_and(|at| at <= now) {
            self.raise(Cause::Down);
        }
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.sessions.retry();
        }
        while let Some(output) = self.bfdd.poll(now) {
            match output {
                Output::Departure(departure) => return Some(Output::Departure(departure)),
                Output::Report(report) => self.told(report),
            }
        }
        if let Some(alarm) = self.alarms.pop_front() {
            return Some(Output::Report(Action::Alarm(alarm)));
        }
        if !self.sessions.is_waiting() {
            return None;
        }
        let updates = self
            .sessions
            .hand_over()
            .into_iter()
            .map(|update| AnyUpdate::of(update.said()))
            .collect();
        Some(Output::Report(Action::Passing(updates)))
    }

    fn deadline(&self) -> Option<Time> {
        let is_waiting = !self.alarms.is_empty() || self.sessions.is_waiting();
        if is_waiting || self.absent_at.is_none() {
            return Some(Time::ZERO);
        }
        let all = [self.bfdd.deadline(), self.waits_until(), self.retry_at];
        all.into_iter().flatten().min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.bfdd.neighbours(now)
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        self.bfdd.trace(socket)
    }
}

impl FrrBfd {
    /// Until when it waits for bfdd to be connected for the first time.
    fn waits_until(&self) -> Option<Time> {
        let waits = self.bfdd.counters().connections == 0 && !self.is_raised[Cause::Down as usize];
        self.absent_at.filter(|_| waits)
    }

    fn told(&mut self, report: Report) {
        match report {
            Report::Connected => {
                self.lower(Cause::Down);
                self.lower(Cause::Full);
            }
            Report::Lost { .. } => self.raise(Cause::Down),
            Report::Added(session) => self.sessions.add(session, &self.places),
            Report::Changed { before, session } => {
                self.sessions.change(before, session, &self.places);
            }
            Report::Removed { discriminator } => self.sessions.remove(discriminator),
            Report::Full => self.raise(Cause::Full),
            Report::Settled { .. } => {}
        }
        self.judge();
    }

    /// A worker tells of a session.
    fn happened(&mut self, what: Happening, now: Time) {
        let Some(Whose::Discriminator(own)) = Whose::of(what.subject) else { return };
        let Some(name) = self.sessions.name_of(own) else { return };
        if !matches!(what.kind, EventKind::Up | EventKind::Down) {
            return;
        }
        let change = change_of(Happened::from_detail(what.detail));
        if let Some(held) = self.sessions.all.get_mut(&name) {
            held.change = Some(change);
        }
        self.bfdd.input(now, Input::Command(Command::Change(name, change)));
    }

    /// Whether all sessions run that bfdd wants.
    fn judge(&mut self) {
        match self.sessions.all.values().any(|held| held.trouble.is_some()) {
            true => self.raise(Cause::NotRun),
            false => self.lower(Cause::NotRun),
        }
    }

    fn raise(&mut self, cause: Cause) {
        if !std::mem::replace(&mut self.is_raised[cause as usize], true) {
            let (_, severity, text, _) = ALARMS[cause as usize];
            self.alarm(cause, Some(severity), text);
        }
    }

    fn lower(&mut self, cause: Cause) {
        if std::mem::replace(&mut self.is_raised[cause as usize], false) {
            let (.., text) = ALARMS[cause as usize];
            self.alarm(cause, None, text);
        }
    }

    fn alarm(&mut self, of: Cause, severity: Option<Severity>, text: &'static str) {
        let (cause, ..) = ALARMS[of as usize];
        let alarm = Alarm { source: "bfdd".to_owned(), cause, severity, text: text.into() };
        self.alarms.push_back(alarm);
    }
}

/// What bfdd is told of a session.
fn change_of(what: Happened) -> Change {
    Change {
        state: match what.state {
            0 => State::AdminDown,
            2 => State::Init,
            3 => State::Up,
            _ => State::Down,
        },
        peer_diagnostic: what.peer_diagnostic,
        peer_discriminator: what.peer_discriminator,
        is_peer_independent: what.is_peer_independent,
        is_peer_demand: what.is_peer_demand,
        is_peer_multipoint: false,
        peer_desired_min_tx_us: what.peer_min_tx_us,
        peer_required_min_rx_us: what.peer_min_rx_us,
        peer_required_echo_rx_us: what.peer_min_echo_rx_us,
        peer_detect_multiplier: what.peer_multiplier,
    }
}

/// The cause of each alarm, its severity, and what is said when it begins and ends.
const ALARMS: [(&str, Severity, &str, &str); 3] = [
    (
        "bfdd-down",
        Severity::Major,
        "bfdd is not connected; the sessions that it has wanted are kept for a time",
        "bfdd is connected",
    ),
    (
        "sessions-full",
        Severity::Major,
        "bfdd wants more sessions than the router has room for",
        "bfdd has connected anew",
    ),
    (
        "sessions-refused",
        Severity::Major,
        "the router does not run all sessions that bfdd wants",
        "the router runs all sessions that bfdd wants",
    ),
];

/// Time after which what the router has refused is tried again.
const RETRY: Duration = Duration::from_secs(10);
