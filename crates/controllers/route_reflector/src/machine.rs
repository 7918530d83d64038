//! The controller: sessions with peers around the reflector.
//!
//! ```text
//!  Arrival --> peers --Event--> reflector --work--> streams --next--> peers --> Departure
//! ```

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{
    Action, Alarm, Asked, Command, Controller, Event, Metric, Page, Setup, Table, Unanswered,
};
use function_kit::Invalid;
use function_kit::erased::Configured;
use protocol_bgp::families::FAMILIES;
use protocol_bgp::peer;
use protocol_bgp::rules::Reading;
use protocol_kit::{
    Arrival, Content, Departure, Input, Machine, Neighbour, Output, Random, Socket, Time, Trace,
};
use serde_json::{Map, Value};

use crate::asked::{Seen, TABLES, page, sizes};
use crate::commands::COMMANDS;
use crate::config::{Config, PeerKeys};
use crate::dumps::Dumps;
use crate::groups::group::Limits;
use crate::lines::Lines;
use crate::metrics::metrics;
use crate::monitors::Monitors;
use crate::own::Own;
use crate::peers::{Entry, Peers, holds};
use crate::policy::Policies;
use crate::reflector::Reflector;
use crate::restarting::Restarting;
use crate::show::show;
use crate::table::Rules;

mod filling;

mod noticing;

mod stages;

mod happening;

mod listening;

mod reloading;

mod others;

mod obeying;

mod changes;

mod changing;

use changes::Changes;

/// The route reflector.
pub struct RouteReflector {
    config: Config,
    peers: Peers,
    policies: Policies,
    reflector: Reflector,
    /// Files of MRT; `None` where there are none.
    dumps: Option<Dumps>,
    /// Collectors of BMP; `None` where there are none.
    monitors: Option<Monitors>,
    random: Random,
    /// By what UPDATEs of each peer with a session are read.
    reading: Vec<Option<Reading>>,
    /// Peers that may have something to send.
    departing: VecDeque<u16>,
    /// Departures of nobody's.
    departures: VecDeque<Departure>,
    /// Peers of networks that may be gone.
    leaving: Vec<u16>,
    /// What operators have changed of the peers of the file.
    changes: Changes,
    /// What operators are to know.
    alarms: VecDeque<Alarm>,
    restarting: Restarting,
    /// When each listener is to be opened; `None` while it is open.
    listen_at: Vec<Option<Time>>,
    /// Peers that have taken bytes, and may have room for more.
    taking: Vec<u16>,
    /// Whether any peer may have something to read, as there is more of streams.
    has_told: bool,
    /// Whether something was left to do.
    has_more: bool,
    /// Lines of the log.
    lines: Lines,
}

impl Controller for RouteReflector {
    const NAME: &'static str = "route-reflector";
    const SUMMARY: &'static str = "a BGP route reflector, without a function";
    const TABLES: &'static [Table] = TABLES;

    const COMMANDS: &'static [Command] = COMMANDS;

    type Config = Config;

    fn validate(config: &mut Config) -> Result<(), Invalid> {
        config.check()
    }

    fn new(config: &Config, setup: Setup<'_>) -> Result<RouteReflector, Invalid> {
        let mut random = Random::new(setup.seed);
        let own = Own {
            asn: config.asn,
            identifier: config.identifier.to_bits(),
            cluster: config.cluster_id(),
            reflects_between_clients: config.client_to_client,
        };
        let rules = Rules { always_compares_med: config.always_compare_med };
        let limits = Limits { stream_bytes: config.stream_bytes as usize, routes: ROUTES_A_TURN };
        let secret = [random.bits(), random.bits()];
        let peers = Peers::new(config, &mut random);
        let mut reflector = Reflector::new(own, rules, limits, secret);
        reflector.limit_memory(config.memory_max.map_or(usize::MAX, |max| max as usize));
        if config.graceful_restart.is_some() {
            reflector.defer(FAMILIES.iter().map(|row| row.family).collect());
        }
        let monitors = (!config.bmp.is_empty()).then(|| Monitors::new(config, &mut random));
        reflector.watch_gone(monitors.as_ref().is_some_and(Monitors::hears));
        let dumps = config.mrt.as_ref().map(|keys| Dumps::new(keys, config.identifier.to_bits()));
        Ok(RouteReflector {
            reflector,
            dumps,
            monitors,
            peers,
            policies: Policies::new(config, Policies::default()),
            random,
            reading: Vec::new(),
            departing: VecDeque::new(),
            departures: VecDeque::new(),
            leaving: Vec::new(),
            changes: Changes::new(config),
            alarms: VecDeque::new(),
            restarting: Restarting::new(config),
            listen_at: config.listen.iter().map(|_| Some(Time::ZERO)).collect(),
            taking: Vec::new(),
            has_told: false,
            has_more: false,
            lines: Lines::new(),
            config: config.clone(),
        })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        Vec::new()
    }

    /// Goes on if nothing of its own has changed but peers.
    fn reload(&mut self, config: &Config, _: Option<&dyn Configured>, now: Time) -> bool {
        self.change_peers(config, now)
    }

    fn show(&self) -> Value {
        let mut shown = show(&self.peers, &self.reflector);
        self.show_others(&mut shown);
        shown
    }

    fn command(
        &mut self,
        name: &str,
        keys: &Map<String, Value>,
        now: Time,
    ) -> Result<Map<String, Value>, Unanswered> {
        self.obey(name, keys, now)
    }

    fn table_sizes(&self) -> Vec<Option<u64>> {
        sizes(self.seen(Time::ZERO))
    }

    fn table_page(&self, asked: &Asked<'_>, now: Time) -> Result<Page, Unanswered> {
        page(self.seen(now), asked)
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics(self.seen(Time::ZERO))
    }
}

impl RouteReflector {
    fn seen(&self, now: Time) -> Seen<'_> {
        Seen { peers: &self.peers, policies: &self.policies, reflector: &self.reflector, now }
    }

    fn arrive(&mut self, arrival: Arrival<'_>, now: Time) {
        if self.arrive_of_others(&arrival, now) {
            return;
        }
        match arrival {
            Arrival::Failed { socket } if (socket.0 as usize) < self.listen_at.len() => {
                self.listen_at[socket.0 as usize] = Some(now.after(LISTEN_AGAIN));
            }
            Arrival::Connected { socket, local, peer }
                if self.peers.of_socket(socket).is_none() =>
            {
                let address = peer.map(|peer| peer.ip().to_canonical());
                match address.and_then(|address| self.number_of(address)) {
                    Some(number) => {
                        self.peers.note_ends(socket, (local, peer));
                        self.peers.accept(socket, number);
                        self.with_peer(number, now, |peer, _| peer.accept(socket, now));
                    }
                    None => self.departures.push_back(Departure::Close { socket }),
                }
            }
            Arrival::Connected { socket, .. }
            | Arrival::Bytes { socket, .. }
            | Arrival::Taken { socket, .. }
            | Arrival::Finished { socket }
            | Arrival::Failed { socket } => {
                let Some(number) = self.peers.of_socket(socket) else { return };
                if let Arrival::Connected { local, peer, .. } = arrival {
                    self.peers.note_ends(socket, (local, peer));
                }
                self.peers.meet(number, socket);
                self.with_peer(number, now, |peer, sink| match arrival {
                    Arrival::Connected { .. } => peer.connected(socket, now),
                    Arrival::Bytes { bytes, .. } => peer.bytes(socket, bytes, now, sink),
                    Arrival::Taken { count, .. } => peer.taken(socket, count, now),
                    Arrival::Finished { .. } => peer.finished(socket, now, sink),
                    _ => peer.failed(socket, now, sink),
                });
                match arrival {
                    Arrival::Failed { .. } => self.peers.closed(socket),
                    Arrival::Taken { .. } => self.taking.push(number),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// The number of the peer of an address: one that is named, or that may connect.
    fn number_of(&mut self, address: IpAddr) -> Option<u16> {
        if let Some(number) = self.peers.of_address(address) {
            return Some(number);
        }
        let networks = &self.config.dynamic;
        let network = networks.iter().position(|one| holds(one.network, address))?;
        let keys = &networks[network];
        if self.peers.of_network[network] >= keys.peers_max {
            return None;
        }
        let keys = PeerKeys {
            address,
            port: protocol_bgp::config::PORT,
            asn: keys.asn,
            client: keys.client,
            passive: true,
            local: None,
            families: Vec::new(),
            ttl_min: 0,
            md5: None,
            next_hop_self: false,
            prefixes_max: keys.prefixes_max.clone(),
            paths_to_peer: keys.paths_to_peer.clone(),
            role: keys.role,
            role_strict: keys.role_strict,
            import: keys.import.clone(),
            export: keys.export.clone(),
            group: keys.group.clone(),
        };
        self.peers.add(&self.config, &keys, Some(network), &mut self.random)
    }

    /// What is due of peers, of listeners and of nobody.
    fn depart(&mut self, now: Time) -> Option<Departure> {
        if let Some(departure) = self.departures.pop_front() {
            return Some(departure);
        }
        for at in 0..self.listen_at.len() {
            if self.listen_at[at].take_if(|at| *at <= now).is_some() {
                return Some(self.listen(at));
            }
        }
        while let Some(&number) = self.departing.front() {
            let departure = self.peers.get_mut(number).and_then(|entry| entry.peer.poll());
            match departure {
                Some(departure) => {
                    if let Departure::Close { socket } = departure {
                        self.peers.closed(socket);
                    }
                    return Some(departure);
                }
                None => {
                    self.departing.pop_front();
                    self.peers.look_at(number);
                    let may_go = |entry: &Entry| entry.network.is_some() || entry.is_removed;
                    let entry = self.peers.get_mut(number);
                    if entry.is_some_and(|entry| may_go(entry) && peer_is_gone(entry)) {
                        self.leaving.push(number);
                        self.has_more = true;
                    }
                }
            }
        }
        None
    }

    /// Lets time pass for the peers for which it counts.
    fn tick(&mut self, now: Time) {
        while let Some((due, number)) = self.peers.due() {
            if due > now {
                return;
            }
            let Some(entry) = self.peers.get_mut(number) else { return };
            if let Some((_, families)) = entry.kept.take_if(|(until, _)| *until <= now) {
                for family in families.iter() {
                    self.reflector.sweep(number, family, true);
                }
            }
            let is_back = entry.away.take_if(|until| *until <= now).is_some();
            if is_back {
                self.clear(number);
            }
            let Some(entry) = self.peers.get_mut(number) else { return };
            if entry.constrained_at.take_if(|at| *at <= now).is_some() {
                self.reflector.begin_constrained(number);
                self.has_more = true;
            }
            self.with_peer(number, now, |peer, sink| peer.tick(now, sink));
            // One with departures is due until those are gone.
            if self.peers.due().is_some_and(|(due, next)| due <= now && next == number) {
                return;
            }
        }
    }
}

impl Machine for RouteReflector {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        match input {
            Input::Arrival(arrival) => self.arrive(arrival, now),
            Input::Command(Event::Ends) => self.stop(now),
            Input::Command(Event::TimeOfDay(began)) => self.set_clock(began, now),
            Input::Command(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        self.tick(now);
        loop {
            if let Some(line) = self.lines.pop() {
                return Some(Output::Report(line));
            }
            if let Some(departure) = self.depart(now) {
                return Some(Output::Departure(departure));
            }
            if let Some(alarm) = self.alarms.pop_front() {
                return Some(Output::Report(Action::Alarm(alarm)));
            }
            if self.restarting.is_stopped {
                return self.monitors.as_mut()?.poll().map(Output::Departure);
            }
            if let Some(output) = self.tell_others(now) {
                return Some(output);
            }
            if self.fill(now) {
                continue;
            }
            self.restart(now);
            if !std::mem::take(&mut self.has_more) {
                return None;
            }
            let (peers, monitors) = (&self.peers, &self.monitors);
            let is_ready = |number: u16| {
                if let Some(is_ready) = monitors.as_ref().and_then(|all| all.is_ready(number)) {
                    return is_ready;
                }
                let entry = peers.entries.get(usize::from(number)).and_then(Option::as_ref);
                entry.is_some_and(|entry| entry.peer.room() > 0)
            };
            self.has_more = self.reflector.work(is_ready);
            self.has_told = true;
            self.tell_gone(now);
            self.note();
            self.forget_gone();
        }
    }

    fn deadline(&self) -> Option<Time> {
        if self.has_more && !self.restarting.is_stopped
            || !self.departures.is_empty()
            || !self.departing.is_empty()
        {
            return Some(Time::ZERO);
        }
        let peers = self.peers.due().map(|(due, _)| due);
        let dumps = self.dumps.as_ref().and_then(Dumps::deadline);
        let monitors = self.monitors.as_ref().and_then(Monitors::deadline);
        let others = [peers, dumps, monitors, self.restarting.deadline()].into_iter().flatten();
        self.listen_at.iter().copied().flatten().chain(others).min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        let peers = self.peers.iter().map(|(_, entry)| entry.peer.neighbour(now));
        let collectors = self.monitors.iter().flat_map(|monitors| monitors.neighbours(now));
        collectors.chain(peers).take(SHOWN_MAX).collect()
    }

    fn trace(&self, socket: Socket) -> Option<Trace> {
        let is_bmp = self.monitors.as_ref().is_some_and(|monitors| monitors.has(socket));
        Some(Trace { protocol: if is_bmp { "bmp" } else { "bgp" }, content: Content::Clear })
    }
}

/// Whether there is neither a connection with a peer nor anything that is kept of it.
fn peer_is_gone(entry: &Entry) -> bool {
    let (state, _) = entry.peer.state();
    // One that is being closed has a deadline until it is.
    let is_kept = entry.kept.is_some() || entry.away.is_some();
    let is_kept = is_kept || entry.is_shut || entry.is_drained;
    let is_quiet = entry.peer.deadline().is_none() && !is_kept;
    is_quiet && matches!(state, peer::State::Active | peer::State::Idle)
}

/// Routes that are looked at in one turn.
const ROUTES_A_TURN: usize = 1 << 20;

/// Time after which a listener that could not be opened is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Peers that are shown.
const SHOWN_MAX: usize = 4096;
