//! The machine: what arrives goes to the protocol that it is of, what they report becomes changes
//! of the gateway, and what those have become goes back.

use std::collections::BTreeMap;
use std::path::Path;

use controller_kit::{
    Action, Asked, Command, Controller, Event, EventKind, Metric, Page, Punt, Setup, Severity,
    Table, Unanswered, keys_of,
};
use function_bng::config::Session;
use function_bng::{Update, reasons};
use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured};
use protocol_kit::{Input, Machine, Neighbour, Output, Socket, Time, Trace};
use protocol_radius::Wall;
use protocol_radius::record::Status;
use serde_json::{Map, Value, json};

use crate::aaa::Said;
use crate::config::Config;
use crate::core::Core;
use crate::frame::{Content, read};
use crate::places::Places;
use crate::requests::{Chosen, Profiled};
use crate::session::Version;
use crate::show::TABLES;

/// The control plane of a broadband network gateway.
pub struct Bng {
    core: Core,
    now: Time,
    /// Whether servers of accounting were told that it has begun.
    has_begun: bool,
    /// Sessions of an earlier life, until the time is known.
    old: Vec<Session>,
}

impl Controller for Bng {
    const NAME: &'static str = "bng";
    const SUMMARY: &'static str = "subscribers of a bng: IPoE by DHCP, PPPoE, RADIUS";
    const TABLES: &'static [Table] = TABLES;
    const COMMANDS: &'static [Command] = &[
        Command::of::<Chosen>("disconnect", "sessions of a subscriber end"),
        Command::of::<Profiled>("profile", "sessions of a subscriber have another profile"),
    ];

    type Config = Config;

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        Config::validate(config)
    }

    fn new(config: &Config, setup: Setup<'_>) -> Result<Bng, Invalid> {
        config.validate()?;
        let places = Places::of(setup.function, config)?;
        let core = Core::new(config, places, setup.seed)?;
        let old = setup.state.iter().filter_map(|update| match update.typed::<Update>() {
            Some(Update::AddSession(session)) => Some((session.number, *session)),
            _ => None,
        });
        // What is said of a session last holds.
        let old = old.collect::<BTreeMap<u32, Session>>().into_values().collect();
        Ok(Bng { core, now: Time::ZERO, has_begun: false, old })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        vec!["add-session", "change-session", "remove-session", "tell-usage"]
    }

    fn takes(_: &Config) -> Vec<&'static str> {
        reasons::PUNTS.iter().copied().filter(|reason| *reason != "first-packet").collect()
    }

    fn file(config: &Config) -> Option<&Path> {
        let radius = config.radius.as_ref().filter(|radius| radius.accounting)?;
        radius.records_file.as_deref()
    }

    fn restore(&mut self, kept: &[u8]) -> Result<(), Invalid> {
        self.core.restore(kept)
    }

    /// Goes on if nothing of its own has changed; the gateway may have other profiles, lists and
    /// routes.
    fn reload(&mut self, config: &Config, function: Option<&dyn Configured>, _: Time) -> bool {
        let Ok(places) = Places::of(function, config) else { return false };
        let is_same = *config == self.core.config && places.is_like(&self.core.places);
        if is_same {
            self.core.places = places;
        }
        is_same
    }

    fn show(&self) -> Value {
        self.core.show()
    }

    fn table_sizes(&self) -> Vec<Option<u64>> {
        self.core.table_sizes()
    }

    fn table_page(&self, asked: &Asked<'_>, now: Time) -> Result<Page, Unanswered> {
        self.core.page(asked, now)
    }

    fn metrics(&self) -> Vec<Metric> {
        self.core.metrics()
    }

    fn command(
        &mut self,
        name: &str,
        keys: &Map<String, Value>,
        now: Time,
    ) -> Result<Map<String, Value>, Unanswered> {
        let (what, count) = match name {
            "disconnect" => ("ended", self.core.disconnect(&keys_of::<Chosen>(keys)?, now)?),
            "profile" => ("changed", self.core.set_profile(&keys_of::<Profiled>(keys)?, now)?),
            other => return Err(Unanswered::unknown("command", other, &["disconnect", "profile"])),
        };
        Ok(Map::from_iter([(what.to_owned(), json!(count))]))
    }
}

impl Machine for Bng {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        self.now = now;
        match input {
            Input::Arrival(arrival) => self.core.arrive(arrival, now),
            Input::Command(Event::Punted(punt)) => {
                self.core.counters.punted += 1;
                if self.punted(&punt, now).is_none() {
                    self.core.counters.unused += 1;
                }
            }
            Input::Command(Event::Applied { first, count, .. }) => {
                self.applied(first.saturating_add(count), now);
            }
            Input::Command(Event::Refused { number, .. }) => {
                self.applied(number, now);
                if let Some(change) = self.core.account.refuse(number) {
                    self.core.refused(number, &change, now);
                }
            }
            Input::Command(Event::TimeOfDay(since)) => self.set_time_of_day(since, now),
            Input::Command(Event::Happened(what)) => {
                if what.kind == EventKind::Counted {
                    let number = u32::try_from(what.subject).unwrap_or(0);
                    self.core.counted(number, what.detail, now);
                }
            }
            Input::Command(Event::Missed { count }) => self.core.counters.missed += count,
            Input::Command(Event::Ends) => {
                if let Some(aaa) = &mut self.core.aaa {
                    aaa.record_own(Status::Off, now);
                }
            }
            Input::Command(Event::Links(_)) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        self.now = now;
        self.core.adopt(std::mem::take(&mut self.old), now);
        loop {
            if let Some(action) = self.core.notes.next() {
                return Some(Output::Report(action));
            }
            if let Some(departure) = self.core.departure.take() {
                return Some(Output::Departure(departure));
            }
            if self.core.account.is_waiting() {
                let (is_question, updates) = self.core.account.hand_over();
                let updates = updates.into_iter().map(AnyUpdate::of).collect();
                let action = if is_question { Action::Passing } else { Action::Updates };
                return Some(Output::Report(action(updates)));
            }
            if let Some(output) = self.core.aaa.as_mut().and_then(|aaa| aaa.poll(now)) {
                match output {
                    Output::Departure(departure) => return Some(Output::Departure(departure)),
                    Output::Report(said) => self.told_by_radius(said, now),
                }
            } else if !self.step(now) {
                return None;
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self.old.is_empty() {
            false => Some(Time::ZERO),
            true => self.core.deadline(),
        }
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.core.aaa.as_ref().map(|aaa| aaa.neighbours(now)).unwrap_or_default()
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        self.core.aaa.as_ref()?.trace(socket)
    }
}

impl Bng {
    /// A frame of a line; `None` if it is of no use.
    fn punted(&mut self, punt: &Punt, now: Time) -> Option<()> {
        let heard = read(&punt.frame)?;
        match (punt.reason, heard.content) {
            ("pppoe-discovery", Content::Discovery(packet)) => {
                self.core.hear_discovery(&heard, packet, now);
                Some(())
            }
            ("ppp", Content::Ppp(payload)) => self.core.hear_ppp(&heard, payload, now),
            ("dhcpv4", Content::V4(_)) => self.core.hear_dhcp(Version::V4, &heard, now),
            ("dhcpv6", Content::V6(_)) => self.core.hear_dhcp(Version::V6, &heard, now),
            ("router-solicitation", Content::V6(packet)) => {
                self.core.hear_solicitation(&heard, packet, now)
            }
            _ => None,
        }
    }

    /// Changes before a number took effect.
    fn applied(&mut self, end: u64, now: Time) {
        while let Some((at, change)) = self.core.account.applied(end) {
            self.core.applied(at, &change, now);
        }
    }

    fn set_time_of_day(&mut self, since: std::time::Duration, now: Time) {
        let Some(aaa) = &mut self.core.aaa else { return };
        aaa.set_wall(Wall(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)), now);
        if !std::mem::replace(&mut self.has_begun, true) {
            aaa.record_own(Status::On, now);
        }
    }

    /// Takes the next report of a protocol, or what time has brought; false if there is none.
    fn step(&mut self, now: Time) -> bool {
        let core = &mut self.core;
        if let Some(output) = core.v4.poll(now) {
            core.told_by_dhcp(Version::V4, output, now);
        } else if let Some(output) = core.v6.poll(now) {
            core.told_by_dhcp(Version::V6, output, now);
        } else if let Some(output) = core.ppp.poll(now) {
            core.told_by_ppp(output, now);
        } else if let Some(output) = core.pppoe.poll(now) {
            core.told_by_pppoe(output, now);
        } else if let Some(turn) = core.pools.poll(now) {
            let pool = core.config.pools.get(usize::from(turn.pool));
            let source = pool.map_or_else(String::new, |pool| pool.name.to_string());
            let usage = turn.usage;
            let text = format!("{} of {} are in use", usage.used, usage.count);
            match turn.is_short {
                true => core.notes.raise(source, "pool-short", Severity::Major, text),
                false => core.notes.lower(source, "pool-short", text),
            }
        } else if let Some(number) = core.timers.due(now.0) {
            core.expire(number, now);
        } else if let Some(number) = core.counting.due(now) {
            core.count(number);
        } else if let Some(number) = core.advertising.due(now) {
            core.advertise(number);
        } else {
            return false;
        }
        true
    }

    fn told_by_radius(&mut self, said: Said, now: Time) {
        let notes = &mut self.core.notes;
        match said {
            Said::Answer { key, answer } => self.core.answered(key, &answer, now),
            Said::Server { address, is_up: false } => {
                let text = "the server does not answer".to_owned();
                notes.raise(address.to_string(), "radius-server-dead", Severity::Major, text);
            }
            Said::Server { address, is_up: true } => {
                let text = "the server answers".to_owned();
                notes.lower(address.to_string(), "radius-server-dead", text);
            }
            Said::Held(true) => {
                let text = "records wait: no server of accounting has confirmed them".to_owned();
                notes.raise("accounting".to_owned(), "records-held", Severity::Major, text);
            }
            Said::Held(false) => {
                let text = "no records wait".to_owned();
                notes.lower("accounting".to_owned(), "records-held", text);
            }
            Said::Unwritten(true) => {
                let text = "records are in memory alone: the disk does not take them".to_owned();
                notes.raise("accounting".to_owned(), "records-unwritten", Severity::Major, text);
            }
            Said::Unwritten(false) => {
                let text = "the disk takes records".to_owned();
                notes.lower("accounting".to_owned(), "records-unwritten", text);
            }
            Said::Asked { number, wants, keys, attributes } => {
                self.core.asked(number, wants, &keys, &attributes, now);
            }
        }
    }
}
