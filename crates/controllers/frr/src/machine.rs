//! The machine: what zebra says becomes changes, and what became of them is accounted for.

use std::collections::VecDeque;
use std::time::Duration;

use controller_kit::keys::invalid;
use controller_kit::{Action, Alarm, Controller, Event, Refusal, Setup, Severity};
use controller_routing::Routing;
use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured};
use function_l3_router::{Said, Update};
use protocol_fpm::{Fpm, Limited, Report};
use protocol_kit::{Input, Machine, Neighbour, Output, Socket, Time, Trace};
use serde_json::Value;

use crate::config::Config;
use crate::show::show;

/// FRR as the routing suite of a router.
pub struct Frr {
    config: Config,
    fpm: Fpm,
    routing: Routing,
    settle: Duration,
    keep: Duration,
    /// When what was taken over from an earlier life goes, if it was not told again.
    sweep: Sweep,
    /// When it is told that zebra has not connected yet, once the time is known.
    absent_at: Option<Time>,
    /// What zebra has told since all routes were looked at, or since there was a pause.
    told_since_look: u32,
    alarms: VecDeque<Alarm>,
    /// Whether each alarm was raised, in the order of [`Cause`].
    is_raised: [bool; 4],
}

#[derive(Clone, Copy)]
enum Sweep {
    /// As soon as the time is known, it begins to run.
    Unknown,
    At(Time),
    /// There is nothing left.
    Done,
}

/// Why there is an alarm.
#[derive(Clone, Copy)]
enum Cause {
    Down,
    ToldTooMany,
    RouterFull,
    RouterRefuses,
}

impl Controller for Frr {
    const NAME: &'static str = "frr";
    const SUMMARY: &'static str = "FRR as the routing suite of an l3-router, by zebra's FPM";

    type Config = Config;

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        config.validate()
    }

    fn new(config: &Config, setup: Setup<'_>) -> Result<Frr, Invalid> {
        config.validate()?;
        let state: Vec<Update> = setup
            .state
            .iter()
            .filter_map(|update| update.typed::<Said>())
            .map(|said| said.numbered())
            .collect();
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let (settle, keep) = (seconds(config.settle_s), seconds(config.keep_s));
        let (at, routes_max) = (config.endpoint()?, config.routes_max);
        let of_fpm = protocol_fpm::Config { at, routes_max, settle, keep, ..Default::default() };
        let lists_max = of_fpm.next_hops_max as usize;
        let fpm = Fpm::new(of_fpm, setup.seed).map_err(|why| {
            let what = format!("is too much for the memory there is: {why}");
            invalid("routes-max", what, "Give less")
        })?;
        let routing = Routing::new(setup.function, &config.tables, lists_max, &state)?;
        let has_some = routing.keeps() || routing.has_routes();
        let sweep = if has_some { Sweep::Unknown } else { Sweep::Done };
        let (alarms, is_raised) = (VecDeque::new(), [false; 4]);
        let config = config.clone();
        Ok(Frr {
            config,
            fpm,
            routing,
            settle,
            keep,
            sweep,
            absent_at: None,
            told_since_look: 0,
            alarms,
            is_raised,
        })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        Routing::CLAIMS.to_vec()
    }

    /// Goes on if nothing of its own has changed. What it begins again with otherwise are the
    /// routes that zebra has told, which stay until they are told again.
    fn reload(&mut self, config: &Config, function: Option<&dyn Configured>, _: Time) -> bool {
        *config == self.config && self.routing.is_of(function, &config.tables)
    }

    fn show(&self) -> Value {
        show(&self.fpm, &self.routing)
    }
}

impl Machine for Frr {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        self.begin(now);
        match input {
            Input::Arrival(arrival) => self.fpm.input(now, Input::Arrival(arrival)),
            Input::Command(Event::Links(links)) => self.routing.set_links(&links),
            Input::Command(Event::Applied { first, count, .. }) => {
                self.routing.applied(first.saturating_add(count));
            }
            Input::Command(Event::Refused { number, why }) => self.refused(number, why),
            // A next hop that is down leaves its groups in the router itself.
            Input::Command(
                Event::Happened(_)
                | Event::Punted(_)
                | Event::Missed { .. }
                | Event::TimeOfDay(_)
                | Event::Ends,
            ) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        self.begin(now);
        if self.waits_until().is_some_and(|at| at <= now) {
            self.raise(Cause::Down);
        }
        loop {
            if let Some(departure) = self.fpm.depart(now) {
                return Some(Output::Departure(departure));
            }
            self.judge_room();
            if let Some(alarm) = self.alarms.pop_front() {
                return Some(Output::Report(Action::Alarm(alarm)));
            }
            if self.routing.waiting() >= BULK || !self.step(now) {
                break;
            }
        }
        let changes = self.routing.hand_over();
        if changes.is_empty() {
            return None;
        }
        let changes = changes.into_iter().map(|update| AnyUpdate::of(update.said())).collect();
        Some(Output::Report(Action::Updates(changes)))
    }

    fn deadline(&self) -> Option<Time> {
        if !self.alarms.is_empty() || self.routing.waiting() > 0 {
            return Some(Time::ZERO);
        }
        if self.routing.is_full() {
            // What the router answers comes first.
            return None;
        }
        if self.routing.has_work() {
            return Some(Time::ZERO);
        }
        let sweep_at = match self.sweep {
            Sweep::Unknown => Some(Time::ZERO),
            Sweep::At(time) => Some(time),
            Sweep::Done => None,
        };
        [self.fpm.deadline(), sweep_at, self.waits_until()].into_iter().flatten().min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.fpm.neighbours(now)
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        self.fpm.trace(socket)
    }
}

impl Frr {
    /// The time is known from now on.
    fn begin(&mut self, now: Time) {
        self.absent_at = self.absent_at.or(Some(now.after(self.settle)));
        if matches!(self.sweep, Sweep::Unknown) {
            self.sweep = Sweep::At(now.after(self.keep));
        }
    }

    /// Until when it waits for zebra's first connection.
    fn waits_until(&self) -> Option<Time> {
        let waits = self.fpm.counters().connections == 0 && !self.is_raised[Cause::Down as usize];
        self.absent_at.filter(|_| waits)
    }

    /// Does a part of what is to be done; false if there is nothing, or no room for its changes.
    fn step(&mut self, now: Time) -> bool {
        if self.routing.is_full() {
            return false;
        }
        if self.routing.step() {
            return true;
        }
        // One look at the routes is enough for several next hops that have changed.
        if self.told_since_look >= TOLD_MAX && self.routing.follow() {
            self.told_since_look = 0;
            return true;
        }
        match self.fpm.poll(now) {
            Some(Output::Report(report)) => {
                self.told_since_look += 1;
                self.told(report, now);
                true
            }
            // All departures have gone before.
            Some(Output::Departure(_)) => true,
            None => {
                self.told_since_look = 0;
                self.routing.follow() || self.sweep(now)
            }
        }
    }

    fn told(&mut self, report: Report, now: Time) {
        match report {
            Report::Connected { .. } => {
                self.put_off(now.after(self.settle));
                self.lower(Cause::Down);
                self.lower(Cause::ToldTooMany);
                self.routing.renew();
            }
            Report::Lost { .. } => {
                self.put_off(now.after(self.keep));
                self.raise(Cause::Down);
            }
            Report::Full(Limited::Routes | Limited::NextHops) => self.raise(Cause::ToldTooMany),
            Report::Routing(change) => self.routing.tell(change),
            Report::Settled { .. } => self.routing.settle(),
            Report::Rejected { .. } => {}
        }
        if self.routing.take_renewed() {
            self.put_off(now.after(self.settle));
        }
    }

    fn put_off(&mut self, time: Time) {
        if let Sweep::At(at) = &mut self.sweep {
            *at = time;
        }
    }

    /// What was not told by now goes.
    fn sweep(&mut self, now: Time) -> bool {
        let is_due = matches!(self.sweep, Sweep::At(time) if time <= now);
        let is_over = !self.fpm.is_connected() && self.fpm.held() == [0, 0] && self.routing.keeps();
        if is_due || is_over && matches!(self.sweep, Sweep::Done) {
            self.sweep = Sweep::Done;
            self.routing.sweep();
            return true;
        }
        false
    }

    fn refused(&mut self, number: u64, why: Refusal) {
        self.routing.refused(number, why);
        self.raise(match why {
            Refusal::Full => Cause::RouterFull,
            _ => Cause::RouterRefuses,
        });
    }

    /// The router has had room for everything.
    fn judge_room(&mut self) {
        if self.routing.is_fine() {
            self.lower(Cause::RouterFull);
            self.lower(Cause::RouterRefuses);
        }
    }

    fn raise(&mut self, cause: Cause) {
        if !std::mem::replace(&mut self.is_raised[cause as usize], true) {
            let (_, _, severity, text, _) = ALARMS[cause as usize];
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
        let (source, cause, ..) = ALARMS[of as usize];
        let alarm = Alarm { source: source.to_owned(), cause, severity, text: text.into() };
        self.alarms.push_back(alarm);
    }
}

/// The source of each alarm, its cause, its severity, and what is said when it begins and ends.
const ALARMS: [(&str, &str, Severity, &str, &str); 4] = [
    (
        "zebra",
        "fpm-down",
        Severity::Major,
        "zebra is not connected; the routes that it has told are kept for a time",
        "zebra is connected",
    ),
    (
        "zebra",
        "routes-full",
        Severity::Critical,
        "zebra tells more routes or next hops than there is room for",
        "zebra has connected anew",
    ),
    (
        "router",
        "routes-full",
        Severity::Critical,
        "the router has no room for all routes",
        "the router has all routes",
    ),
    (
        "router",
        "changes-refused",
        Severity::Major,
        "the router has refused next hops or routes, which collide with others of it",
        "the router has all next hops and routes",
    ),
];

/// How much zebra may tell before routes follow a next hop that has changed.
const TOLD_MAX: u32 = 4096;

/// Changes that are handed over at once.
const BULK: usize = 1024;
