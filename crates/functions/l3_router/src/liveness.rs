//! Whether next hops live: sessions of BFD (RFC 5880, RFC 5881) that the worker itself runs, so
//! that a next hop whose path fails leaves all routes and groups at once (RFC 5882 section 3).
//!
//! ```text
//!  a packet for port 3784 or 3785 --> machine of BFD --> a session changed --> its next hop
//!  tick                           --> machine of BFD --> packets, made by the router
//! ```
//! The machine is the one of `crates/protocols/bfd`: here it has no thread that can be late, and
//! what waits in the ports' rings is read before time is judged. A session is of a next hop that
//! has the key `bfd`, or was set at run time ([`super::asked`]). The next hop of the former is
//! there once the session was up, that of the latter from the beginning; both are gone while the
//! session has failed, which it has not if either end takes it down on purpose (RFC 5882 section
//! 4.2).
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use engine::{Event, EventKind};
use machine::clock::{Clock, Ticks};
use packet::Verdict;
use protocol_bfd::authentication::{Algorithm, Keys};
use protocol_bfd::{Bfd, Command, Diagnostic, Path, Reach, Report, State as SessionState, View};
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Time};
use stages::datagram::{self, Received};

use super::config::{self, BfdKey, BfdKeyKind, Config, NextHop};
use super::events::Events;
use super::happened::{Happened, Whose};
use super::reasons;

/// The sessions of a router. Each worker knows which next hops are watched; the first one runs
/// them.
pub(super) struct Liveness {
    /// None on the other workers.
    pub(super) bfd: Option<Bfd>,
    clock: Clock,
    begun: Ticks,
    /// Numbers of sessions by next hop: its own one, or one that was set with its neighbour.
    pub(super) sessions: BTreeMap<u32, u32>,
    /// Numbers of sessions that were set, by discriminator.
    pub(super) asked: BTreeMap<u32, u32>,
    /// Numbers of sessions that were set, by interface and neighbour.
    pub(super) peers: BTreeMap<(u16, IpAddr), u32>,
    /// The sessions by their numbers.
    pub(super) places: Vec<Option<Place>>,
    /// What sessions that have changed want of the router.
    pub(super) wishes: VecDeque<Wish>,
    /// Source ports by the machine's sockets.
    ports: BTreeMap<Socket, u16>,
    /// The machine wants to be polled then.
    due: Ticks,
    events: Events,
    /// How packets are authenticated, by the places of the configuration's list.
    keys: Vec<Keys>,
}

/// A session.
pub(super) struct Place {
    pub whose: Whose,
    /// The next hops that follow it.
    pub hops: Vec<u32>,
    /// Its ends.
    pub path: Path,
    /// Whether its next hops are not there: it has gone down, or is a next hop's and was never up.
    pub is_failed: bool,
}

/// What the router is to do for its sessions.
pub(super) enum Wish {
    /// A packet leaves to a neighbour: its source, its destination, UDP's payload and ports.
    Packet(Packet),
    /// A session has come up, or gone down: this is counted, and its next hops follow it.
    Turned {
        /// The session.
        session: u32,
        /// Whether it is up.
        is_up: bool,
    },
}

/// A packet that a session sends.
pub(super) struct Packet {
    /// The neighbour to whose station it goes.
    pub peer: IpAddr,
    /// The interface by which it leaves.
    pub interface: u16,
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// UDP's source port.
    pub from_port: u16,
    /// UDP's destination port.
    pub to_port: u16,
    /// Its payload.
    pub bytes: Vec<u8>,
}

/// What has become of a packet of BFD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A session took it in.
    Accepted,
    /// It is malformed, spoofed or repeated.
    Ignored,
    /// No session is meant.
    Nobody,
}

impl Heard {
    /// What becomes of the packet; none where no session is meant.
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Heard::Accepted => Some(reasons::drop(reasons::BFD_HEARD)),
            Heard::Ignored => Some(reasons::drop(reasons::BFD_IGNORED)),
            Heard::Nobody => None,
        }
    }
}

impl Liveness {
    /// Room for the sessions of a configuration; `None` where it has room for none. Only who `runs`
    /// them sends and hears packets.
    pub fn new(config: &Config, runs: bool, clock: Clock, now: Ticks) -> Option<Liveness> {
        let limit = config.bfd_sessions_max();
        let seed = || RandomState::new().build_hasher().finish();
        (limit > 0).then(|| Liveness {
            bfd: runs.then(|| Bfd::new(limit, seed())),
            clock,
            begun: now,
            sessions: BTreeMap::new(),
            asked: BTreeMap::new(),
            peers: BTreeMap::new(),
            places: (0..limit).map(|_| None).collect(),
            wishes: VecDeque::new(),
            ports: BTreeMap::new(),
            due: now,
            events: Events::default(),
            keys: config.bfd_keys.iter().map(keys_of).collect(),
        })
    }

    /// Watches a next hop as it is configured now, from `local`; returns whether it is not there
    /// until the first success of its session.
    pub fn watch(
        &mut self,
        (number, hop): (u32, &NextHop),
        (interface, local): (u16, Option<IpAddr>),
        now: Ticks,
    ) -> bool {
        self.forget(number, now);
        let Some(keys) = hop.bfd else { return self.follow(number, hop, interface) };
        let (Some(peer), Some(local)) = (peers_of(hop).next(), local) else { return true };
        let path = Path { reach: Reach::SingleHop(Interface(interface.into())), local, peer };
        let place =
            Place { whose: Whose::NextHop(number), hops: vec![number], path, is_failed: true };
        let Some(free) = self.enter(place) else { return false };
        self.sessions.insert(number, free);
        let mut session = session_of(keys, path);
        // One whose key is not known is refused, and never up.
        session.authentication = keys.authentication.map(|place| self.keys_at(place));
        self.command(Command::Add(free, session), now);
        true
    }

    /// Lets a next hop follow the session with its neighbour, if one was set, and no other one:
    /// that with its first address before that with the second. Returns whether that has failed.
    pub(super) fn follow(&mut self, number: u32, hop: &NextHop, interface: u16) -> bool {
        self.leave(number);
        let session = peers_of(hop).find_map(|peer| self.peers.get(&(interface, peer)).copied());
        let Some(session) = session else { return false };
        let Some(place) = self.place_mut(session) else { return false };
        place.hops.push(number);
        let is_failed = place.is_failed;
        self.sessions.insert(number, session);
        is_failed
    }

    /// A next hop follows no session any more; returns the one that it has followed.
    fn leave(&mut self, number: u32) -> Option<u32> {
        let session = self.sessions.remove(&number)?;
        self.place_mut(session)?.hops.retain(|hop| *hop != number);
        Some(session)
    }

    /// The discriminators of sessions that were set from an address at an interface.
    pub fn asked_from(&self, interface: u16, local: IpAddr) -> Vec<u32> {
        let reach = Reach::SingleHop(Interface(interface.into()));
        let is_its = |session: u32| {
            let place = self.places.get(session as usize).and_then(Option::as_ref);
            place.is_some_and(|place| (place.path.reach, place.path.local) == (reach, local))
        };
        let asked = self.asked.iter().filter(|(_, session)| is_its(**session));
        asked.map(|(discriminator, _)| *discriminator).collect()
    }

    /// From which address a next hop is watched, if it is.
    pub fn source_of(&self, hop: u32) -> Option<IpAddr> {
        let session = *self.sessions.get(&hop)?;
        self.places.get(session as usize)?.as_ref().map(|place| place.path.local)
    }

    /// The next hops that follow a session, and whether they are there.
    pub fn followers(&self, session: u32) -> (Vec<u32>, bool) {
        let place = self.places.get(session as usize).and_then(Option::as_ref);
        place.map_or((Vec::new(), true), |place| (place.hops.clone(), !place.is_failed))
    }

    /// Watches a next hop no longer.
    pub fn forget(&mut self, number: u32, now: Ticks) {
        let Some(session) = self.leave(number) else { return };
        let own = Whose::NextHop(number);
        if self.place_mut(session).is_none_or(|place| place.whose != own) {
            return;
        }
        // Whoever was told that it is up is told that it is not any more.
        let view = self.bfd.as_ref().and_then(|bfd| bfd.view(session));
        if view.is_some_and(|view| view.state == SessionState::Up) {
            self.tell(EventKind::Down, session, now);
        }
        self.places[session as usize] = None;
        self.command(Command::Remove(session), now);
    }

    /// Finds room for a session; returns its number.
    pub(super) fn enter(&mut self, place: Place) -> Option<u32> {
        let free = self.places.iter().position(Option::is_none)?;
        self.places[free] = Some(place);
        Some(free as u32)
    }

    pub(super) fn place_mut(&mut self, session: u32) -> Option<&mut Place> {
        self.places.get_mut(session as usize)?.as_mut()
    }

    fn keys_at(&self, place: u32) -> Keys {
        let none = || Keys { algorithm: Algorithm::MeticulousKeyedSha1, keys: Vec::new() };
        self.keys.get(place as usize).cloned().unwrap_or_else(none)
    }

    /// Whether a session can name a key by this place.
    pub fn has_key(&self, place: u32) -> bool {
        (place as usize) < self.keys.len()
    }

    /// Whether there is room to watch one more next hop than now, not counting this one's session.
    pub fn has_room_for(&self, number: u32) -> bool {
        let own = Whose::NextHop(number);
        self.places.iter().any(|place| place.as_ref().is_none_or(|place| place.whose == own))
    }

    /// Whether a session was set with the neighbour that a next hop is.
    pub fn has_asked(&self, hop: &NextHop, interface: u16) -> bool {
        peers_of(hop).any(|peer| self.peers.contains_key(&(interface, peer)))
    }

    /// Takes note of what who runs the sessions says of a next hop, for those that will follow its
    /// session; whether it is watched.
    pub fn note(&mut self, hop: u32, is_up: bool) -> bool {
        let Some(&session) = self.sessions.get(&hop) else { return false };
        let place = self.place_mut(session);
        place.map(|place| place.is_failed = !is_up).is_some()
    }

    /// The next hops that are watched, from a number on.
    pub fn watched(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        self.sessions.range(from..).map(|(hop, _)| *hop)
    }

    /// Takes in a packet, without tag, for one of the router's own addresses.
    pub fn receive(&mut self, frame: &[u8], interface: u16, now: Ticks) -> Heard {
        let Some(Received { from, to, ttl, datagram }) = datagram::read(frame) else {
            return Heard::Nobody;
        };
        let local = match datagram.destination_port() {
            protocol_bfd::sockets::CONTROL => protocol_bfd::sockets::CONTROL,
            protocol_bfd::sockets::ECHO => protocol_bfd::sockets::ECHO,
            _ => return Heard::Nobody,
        };
        let key = |(socket, port): (&Socket, &u16)| {
            (*port == local && self.is_of_family(*socket, to)).then_some(*socket)
        };
        let Some(socket) = self.ports.iter().find_map(key) else { return Heard::Nobody };
        let time = self.time(now);
        let Some(bfd) = &mut self.bfd else { return Heard::Nobody };
        let before = bfd.counters();
        let arrival = Arrival::Datagram {
            socket,
            interface: Interface(interface.into()),
            from: (from, datagram.source_port()).into(),
            to,
            ttl,
            bytes: datagram.payload(),
        };
        bfd.input(time, Input::Arrival(arrival));
        self.due = now;
        let after = bfd.counters();
        if after.received + after.echo_returned > before.received + before.echo_returned {
            Heard::Accepted
        } else if after.no_session > before.no_session {
            Heard::Nobody
        } else {
            Heard::Ignored
        }
    }

    /// Returns the next wish of those that are due; `None` if there is none.
    #[inline]
    pub fn next(&mut self, now: Ticks) -> Option<Wish> {
        // Ticks of a clock that starts anywhere: what lies behind is half of all times.
        if now.wrapping_sub(self.due) > Ticks::MAX / 2 {
            return None;
        }
        self.poll(now)
    }

    fn poll(&mut self, now: Ticks) -> Option<Wish> {
        let time = self.time(now);
        loop {
            if let Some(wish) = self.wishes.pop_front() {
                return Some(wish);
            }
            let Some(output) = self.bfd.as_mut().and_then(|bfd| bfd.poll(time)) else { break };
            match output {
                Output::Departure(departure) => {
                    if let Some(packet) = self.depart(departure) {
                        return Some(Wish::Packet(packet));
                    }
                }
                Output::Report(Report::Changed { session, diagnostic, .. }) => {
                    self.changed(session, diagnostic, now);
                }
                // Nothing is asked for that was not checked.
                Output::Report(Report::Refused { .. }) => {}
            }
        }
        self.due = match self.bfd.as_ref().and_then(Bfd::deadline) {
            Some(deadline) => self.begun.wrapping_add(self.clock.ticks(deadline.since(Time::ZERO))),
            None => now.wrapping_add(Ticks::MAX / 4),
        };
        None
    }

    fn depart(&mut self, departure: Departure) -> Option<Packet> {
        match departure {
            Departure::Open { socket, opening: Opening::Datagrams { local, .. } } => {
                self.ports.insert(socket, local.port());
                None
            }
            Departure::Close { socket } => {
                self.ports.remove(&socket);
                None
            }
            Departure::Datagram { socket, interface, from, to, bytes, .. } => {
                let session = socket.0.checked_sub(protocol_bfd::sockets::SHARED_COUNT)?;
                let from_port = *self.ports.get(&socket)?;
                let place = self.place_mut(session)?;
                // An Echo packet goes to the router's own address by way of the neighbour.
                let peer = place.path.peer;
                let interface = interface?.0 as u16;
                let (to, to_port) = (to.ip(), to.port());
                Some(Packet { peer, interface, from, to, from_port, to_port, bytes })
            }
            _ => None,
        }
    }

    fn changed(&mut self, session: u32, diagnostic: Diagnostic, now: Ticks) {
        let Some(view) = self.bfd.as_ref().and_then(|bfd| bfd.view(session)) else { return };
        let Some(place) = self.place_mut(session) else { return };
        let is_up = match view.state {
            SessionState::Up => Some(true),
            // On its way up nothing has changed yet.
            SessionState::Init => return,
            // Whoever is taken down on purpose, here or there, says nothing of the path, and nor
            // does who is let go: nobody is to act on that (RFC 5882 section 4.2).
            SessionState::Down
                if diagnostic != Diagnostic::NONE && view.peer_state != SessionState::AdminDown =>
            {
                Some(false)
            }
            SessionState::Down | SessionState::AdminDown => None,
        };
        place.is_failed = is_up.map_or(place.is_failed, |is_up| !is_up);
        let kind = if place.is_failed { EventKind::Down } else { EventKind::Up };
        self.tell(kind, session, now);
        self.wishes.extend(is_up.map(|is_up| Wish::Turned { session, is_up }));
    }

    /// Tells of a session what is known of it.
    pub(super) fn tell(&mut self, kind: EventKind, session: u32, now: Ticks) {
        let Some(view) = self.bfd.as_ref().and_then(|bfd| bfd.view(session)) else { return };
        let Some(place) = self.places.get(session as usize).and_then(Option::as_ref) else {
            return;
        };
        let (subject, detail) = (place.whose.subject(), Happened::of(&view).detail());
        self.events.tell(Event { kind, subject, detail, at: now });
    }

    /// Returns the next event: a next hop is there or is not, or the path of a session that was set
    /// has come up or failed, or the session has ended. Sessions that are taken down on purpose are
    /// told of, too, with what holds of the path.
    pub fn event(&mut self) -> Option<Event> {
        self.events.next()
    }

    /// Returns what a person sees of the sessions: those of next hops by their numbers, then those
    /// that were set by their discriminators.
    pub fn views(&self) -> impl Iterator<Item = (Whose, View)> + '_ {
        let own = self.sessions.iter().map(|(hop, session)| (Whose::NextHop(*hop), session));
        let asked = self.asked.iter().map(|(one, session)| (Whose::Discriminator(*one), session));
        own.chain(asked).filter_map(|(whose, &session)| {
            let place = self.places.get(session as usize)?.as_ref();
            let is_its = place.is_some_and(|place| place.whose == whose);
            Some((whose, self.bfd.as_ref()?.view(session)?)).filter(|_| is_its)
        })
    }

    /// Returns the number of sessions for which there is room.
    pub fn capacity(&self) -> usize {
        self.places.len()
    }

    pub(super) fn command(&mut self, command: Command, now: Ticks) {
        let time = self.time(now);
        if let Some(bfd) = &mut self.bfd {
            bfd.input(time, Input::Command(command));
            self.due = now;
        }
    }

    fn is_of_family(&self, socket: Socket, address: IpAddr) -> bool {
        protocol_bfd::sockets::is_ipv6(socket) == Some(address.is_ipv6())
    }

    fn time(&self, now: Ticks) -> Time {
        Time(self.clock.nanos(now.wrapping_sub(self.begun)))
    }
}

/// The addresses of a next hop; the first is the one that is watched.
fn peers_of(hop: &NextHop) -> impl Iterator<Item = IpAddr> + use<> {
    [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)].into_iter().flatten()
}

/// A key of the configuration as the machine takes it.
fn keys_of(key: &BfdKey) -> Keys {
    let algorithm = match key.kind {
        BfdKeyKind::Simple => Algorithm::SimplePassword,
        BfdKeyKind::Md5 => Algorithm::KeyedMd5,
        BfdKeyKind::MeticulousMd5 => Algorithm::MeticulousKeyedMd5,
        BfdKeyKind::Sha1 => Algorithm::KeyedSha1,
        BfdKeyKind::MeticulousSha1 => Algorithm::MeticulousKeyedSha1,
    };
    let keys = key.key.iter().map(|secret| (key.id, secret.bytes().to_vec())).collect();
    Keys { algorithm, keys }
}

/// The session that the keys of a next hop describe.
fn session_of(keys: config::Bfd, path: Path) -> protocol_bfd::Config {
    let interval = Duration::from_millis(keys.interval_ms.into());
    let echo = Duration::from_millis(keys.echo_ms.into());
    protocol_bfd::Config {
        path,
        discriminator: None,
        desired_min_tx: interval,
        required_min_rx: interval,
        detect_multiplier: keys.multiplier,
        // The router forwards a peer's Echo packets as any others.
        required_min_echo_rx: interval,
        echo: (keys.echo_ms > 0).then_some(echo),
        is_passive: false,
        authentication: None,
    }
}
