//! The controller: sessions with peers around the reflector.
//!
//! ```text
//!  Arrival --> peers --Event--> reflector --work--> streams --next--> peers --> Departure
//! ```

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::{Action, Controller, Event, Setup};
use function_kit::Invalid;
use function_kit::erased::Configured;
use protocol_bgp::builder::Writing;
use protocol_bgp::families::FamilySet;
use protocol_bgp::negotiated::Negotiated;
use protocol_bgp::notification::Notification;
use protocol_bgp::peer;
use protocol_bgp::refresh::Refresh;
use protocol_bgp::rules::Reading;
use protocol_kit::{
    Arrival, Content, Departure, Endpoint, Input, Machine, Neighbour, Opening, Output, Random,
    Socket, StreamOptions, Time, Trace,
};
use serde_json::Value;

use crate::config::{Config, PeerKeys};
use crate::groups::Identity;
use crate::groups::group::Limits;
use crate::own::{Kind, Own, Source};
use crate::peers::{ACCEPTED, Entry, Peers, holds};
use crate::reflector::Reflector;
use crate::show::show;
use crate::table::Rules;

/// The route reflector.
pub struct RouteReflector {
    config: Config,
    peers: Peers,
    reflector: Reflector,
    random: Random,
    /// By what UPDATEs of each peer with a session are read.
    reading: Vec<Option<Reading>>,
    /// Peers that may have something to send.
    departing: VecDeque<u16>,
    /// Departures of nobody's.
    departures: VecDeque<Departure>,
    /// Peers of networks that may be gone.
    leaving: Vec<u16>,
    /// When each listener is to be opened; `None` while it is open.
    listen_at: Vec<Option<Time>>,
    /// Whether something was left to do.
    has_more: bool,
}

impl Controller for RouteReflector {
    const NAME: &'static str = "route-reflector";
    const SUMMARY: &'static str = "a BGP route reflector, without a function";

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
        Ok(RouteReflector {
            reflector: Reflector::new(own, rules, limits, secret),
            peers,
            random,
            reading: Vec::new(),
            departing: VecDeque::new(),
            departures: VecDeque::new(),
            leaving: Vec::new(),
            listen_at: config.listen.iter().map(|_| Some(Time::ZERO)).collect(),
            has_more: false,
            config: config.clone(),
        })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        Vec::new()
    }

    /// Goes on if nothing of its own has changed.
    fn reload(&mut self, config: &Config, _: Option<&dyn Configured>, _: Time) -> bool {
        *config == self.config
    }

    fn show(&self) -> Value {
        show(&self.peers, &self.reflector)
    }
}

impl RouteReflector {
    fn arrive(&mut self, arrival: Arrival<'_>, now: Time) {
        match arrival {
            Arrival::Failed { socket } if (socket.0 as usize) < self.listen_at.len() => {
                self.listen_at[socket.0 as usize] = Some(now.after(LISTEN_AGAIN));
            }
            Arrival::Connected { socket, peer, .. } if self.peers.of_socket(socket).is_none() => {
                let address = peer.map(|peer| peer.ip().to_canonical());
                match address.and_then(|address| self.number_of(address)) {
                    Some(number) => {
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
                self.with_peer(number, now, |peer, sink| match arrival {
                    Arrival::Connected { .. } => peer.connected(socket, now),
                    Arrival::Bytes { bytes, .. } => peer.bytes(socket, bytes, now, sink),
                    Arrival::Taken { count, .. } => peer.taken(socket, count, now),
                    Arrival::Finished { .. } => peer.finished(socket, now, sink),
                    _ => peer.failed(socket, now, sink),
                });
                if matches!(arrival, Arrival::Failed { .. }) {
                    self.peers.closed(socket);
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
        };
        self.peers.add(&self.config, &keys, Some(network), &mut self.random)
    }

    /// Lets something happen with a peer, and takes what it says.
    fn with_peer(
        &mut self,
        number: u16,
        now: Time,
        happen: impl FnOnce(&mut peer::Peer, &mut peer::Sink<'_>),
    ) {
        let RouteReflector { peers, reflector, reading, .. } = self;
        let Some(entry) = peers.get_mut(number) else { return };
        let Entry { peer, kind, next_hop_self, kept, restart, .. } = entry;
        let address = peer.config().peer;
        let own = peer.config().local.filter(|_| *next_hop_self && *kind == Kind::External);
        if reading.len() <= usize::from(number) {
            reading.resize(usize::from(number) + 1, None);
        }
        let reading = &mut reading[usize::from(number)];
        let mut sink = |event: peer::Event<'_>| {
            match event {
                peer::Event::Established(negotiated) => {
                    *reading = Some(negotiated.reading);
                    *restart = negotiated.restart;
                    let preserved = negotiated.restart.map_or(FamilySet::NONE, |it| it.preserved);
                    if let Some((until, families)) = kept {
                        let lost = families.iter().filter(|family| !preserved.contains(*family));
                        lost.for_each(|family| reflector.sweep(number, family, true));
                        *until = now.after(STALE);
                    }
                    let source = source(*kind, negotiated.identifier, address);
                    reflector.open(number, source, identities(*kind, own, negotiated));
                }
                peer::Event::Down { is_graceful, .. } => {
                    *reading = None;
                    let restart = restart.take().filter(|_| is_graceful);
                    reflector.close(number, restart.map_or(FamilySet::NONE, |it| it.families));
                    *kept = restart.map(|it| (now.after(it.time), it.families));
                }
                peer::Event::Refresh(family, Refresh::Wanted) => reflector.refresh(number, family),
                peer::Event::Refresh(family, Refresh::Begins) => reflector.mark(number, family),
                peer::Event::Refresh(family, Refresh::Ends) => {
                    reflector.sweep(number, family, true);
                }
                peer::Event::Update(body) => {
                    let Some(reading) = reading else { return Ok(()) };
                    match reflector.update(number, body, reading) {
                        Ok(None) => {}
                        Ok(Some(family)) => {
                            if let Some((_, families)) = kept.as_mut() {
                                families.remove(family);
                                reflector.sweep(number, family, true);
                            }
                        }
                        Err(fault) => return Err(fault.notification),
                    }
                }
            }
            Ok::<(), Notification>(())
        };
        happen(peer, &mut sink);
        self.peers.look_at(number);
        self.departing.push_back(number);
        self.has_more = true;
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
                    let entry = self.peers.get_mut(number);
                    if entry.is_some_and(|entry| entry.network.is_some() && peer_is_gone(entry)) {
                        self.leaving.push(number);
                        self.has_more = true;
                    }
                }
            }
        }
        None
    }

    fn listen(&self, at: usize) -> Departure {
        let mut peers = self.config.peers.iter();
        let md5 = self.peers.iter().flat_map(|(_, one)| one.peer.config().options.md5.clone());
        // All have the same one, which was checked.
        let ttl_min = peers.next().map_or(0, |peer| peer.ttl_min);
        let ttl = (ttl_min > 0).then_some(u8::MAX);
        let options =
            StreamOptions { md5: md5.collect(), ttl, ttl_min, ..StreamOptions::default() };
        let first = ACCEPTED + (at as u32) * ACCEPTED_MAX;
        let opening = Opening::Listener {
            at: Endpoint::Tcp(self.config.listen[at]),
            options,
            streams: first..first + ACCEPTED_MAX,
        };
        Departure::Open { socket: Socket(at as u32), opening }
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
            self.with_peer(number, now, |peer, sink| peer.tick(now, sink));
            // One with departures is due until those are gone.
            if self.peers.due().is_some_and(|(due, next)| due <= now && next == number) {
                return;
            }
        }
    }

    /// Forgets peers of networks that are gone, and whose routes are.
    fn forget_gone(&mut self) {
        let RouteReflector { peers, reflector, leaving, .. } = self;
        leaving.retain(|number| {
            let Some(entry) = peers.get_mut(*number) else { return false };
            let is_gone = peer_is_gone(entry);
            let is_over = is_gone && reflector.is_swept(*number);
            if is_over {
                peers.remove(*number);
            }
            is_gone && !is_over
        });
    }

    /// Hands peers what they are told, each one piece. Returns whether there was something.
    fn fill(&mut self, now: Time) -> bool {
        let RouteReflector { peers, reflector, departing, .. } = self;
        let mut has_sent = false;
        for (number, entry) in peers.entries.iter_mut().enumerate() {
            let Some(Entry { peer, .. }) = entry else { continue };
            let room = peer.room();
            if room == 0 {
                continue;
            }
            if let Some(bytes) = reflector.next(number as u16, room) {
                peer.send(bytes, now);
                departing.push_back(number as u16);
                has_sent = true;
            }
        }
        has_sent
    }
}

impl Machine for RouteReflector {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, now: Time, input: Input<'_, Event>) {
        if let Input::Arrival(arrival) = input {
            self.arrive(arrival, now);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Action>> {
        self.tick(now);
        loop {
            if let Some(departure) = self.depart(now) {
                return Some(Output::Departure(departure));
            }
            if self.fill(now) {
                continue;
            }
            if !std::mem::take(&mut self.has_more) {
                return None;
            }
            let peers = &self.peers;
            let is_ready = |number: u16| {
                let entry = peers.entries.get(usize::from(number)).and_then(Option::as_ref);
                entry.is_some_and(|entry| entry.peer.room() > 0)
            };
            self.has_more = self.reflector.work(is_ready);
            self.forget_gone();
        }
    }

    fn deadline(&self) -> Option<Time> {
        if self.has_more || !self.departures.is_empty() || !self.departing.is_empty() {
            return Some(Time::ZERO);
        }
        let peers = self.peers.due().map(|(due, _)| due);
        self.listen_at.iter().copied().flatten().chain(peers).min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.peers.iter().take(SHOWN_MAX).map(|(_, entry)| entry.peer.neighbour(now)).collect()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(Trace { protocol: "bgp", content: Content::Clear })
    }
}

/// Whether there is neither a connection with a peer nor anything that is kept of it.
fn peer_is_gone(entry: &Entry) -> bool {
    let (state, _) = entry.peer.state();
    // One that is being closed has a deadline until it is.
    let is_quiet = entry.peer.deadline().is_none() && entry.kept.is_none();
    is_quiet && matches!(state, peer::State::Active | peer::State::Idle)
}

/// Who tells the routes of a session.
fn source(kind: Kind, identifier: u32, address: IpAddr) -> Source {
    let address = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    Source { kind, identifier, address }
}

/// What a peer is told depends on, for each family that was agreed on.
fn identities(
    kind: Kind,
    next_hop: Option<IpAddr>,
    negotiated: &Negotiated,
) -> impl Iterator<Item = Identity> {
    let Negotiated { writing, has_enhanced_refresh, .. } = *negotiated;
    writing.families.iter().map(move |family| {
        let own: FamilySet = [family].into_iter().collect();
        let writing = Writing {
            families: own,
            path_ids: writing.path_ids.and(own),
            extended_next_hops: writing.extended_next_hops.and(own),
            ..writing
        };
        Identity { family, writing, kind, next_hop, has_enhanced_refresh }
    })
}

/// Routes that are looked at in one turn.
const ROUTES_A_TURN: usize = 1 << 20;

/// Time after which a listener that could not be opened is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Connections of a listener at once.
const ACCEPTED_MAX: u32 = 1 << 16;

/// For how long stale routes stay when the peer is back and does not say that it has told all.
const STALE: Duration = Duration::from_secs(360);

/// Peers that are shown.
const SHOWN_MAX: usize = 4096;
