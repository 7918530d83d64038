//! Whether next hops live: sessions of BFD (RFC 5880, RFC 5881) that the worker itself runs, so
//! that a next hop whose path fails leaves all routes and groups at once (RFC 5882 section 3).
//!
//! ```text
//!  a packet for port 3784 or 3785 --> machine of BFD --> a session changed --> its next hop
//!  tick                           --> machine of BFD --> packets, made by the router
//! ```
//! The machine is the one of `crates/protocols/bfd`: here it has no thread that can be late, and
//! what waits in the ports' rings is read before time is judged. A session is of a next hop that
//! has the key `bfd`; the next hop is there while the session is up, or its peer has taken it down
//! on purpose (RFC 5882 section 4.2).
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use engine::{Event, EventKind};
use machine::clock::{Clock, Ticks};
use packet::Verdict;
use protocol_bfd::authentication::{Algorithm, Keys};
use protocol_bfd::{Bfd, Command, Path, Reach, Report, State as SessionState, View};
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Time};
use stages::icmp_host::is_ipv6;
use wire::{ethernet, ipv4, ipv6, protocol, udp};

use super::config::{self, BfdKey, BfdKeyKind, Config, NextHop};
use super::reasons;

/// The sessions of a router. Each worker knows which next hops are watched; the first one runs them.
pub(super) struct Liveness {
    /// None on the other workers.
    bfd: Option<Bfd>,
    clock: Clock,
    begun: Ticks,
    /// Numbers of sessions by next hop.
    sessions: BTreeMap<u32, u32>,
    /// The next hop of each session, by its number.
    hops: Vec<Option<u32>>,
    /// Source ports by the machine's sockets.
    ports: BTreeMap<Socket, u16>,
    /// The machine wants to be polled then.
    due: Ticks,
    events: VecDeque<Event>,
    /// How packets are authenticated, by the places of the configuration's list.
    keys: Vec<Keys>,
}

/// What the router is to do for its sessions.
pub(super) enum Wish {
    /// A packet leaves to a next hop: its source, its destination, UDP's payload and ports.
    Packet(Packet),
    /// A next hop is there, or is not.
    Change {
        /// Its number.
        hop: u32,
        /// Whether it is there.
        is_up: bool,
    },
}

/// A packet that a session sends.
pub(super) struct Packet {
    /// The next hop to whose station it goes.
    pub hop: u32,
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
            hops: vec![None; limit as usize],
            ports: BTreeMap::new(),
            due: now,
            events: VecDeque::new(),
            keys: config.bfd_keys.iter().map(keys_of).collect(),
        })
    }

    /// Watches a next hop as it is configured now, from `local`; returns whether there is a session
    /// of it, until whose first success the next hop is not there.
    pub fn watch(
        &mut self,
        (number, hop): (u32, &NextHop),
        (interface, local): (u16, Option<IpAddr>),
        now: Ticks,
    ) -> bool {
        self.forget(number, now);
        let peer = hop.ip.map(IpAddr::from).or(hop.ipv6.map(IpAddr::from));
        let (Some(keys), Some(peer), Some(local)) = (hop.bfd, peer, local) else { return false };
        let Some(free) = self.hops.iter().position(Option::is_none) else { return false };
        self.hops[free] = Some(number);
        self.sessions.insert(number, free as u32);
        let reach = Reach::SingleHop(Interface(interface.into()));
        let mut session = session_of(keys, Path { reach, local, peer });
        // One whose key is not known is refused, and never up.
        session.authentication = keys.authentication.map(|place| self.keys_at(place));
        self.command(Command::Add(free as u32, session), now);
        true
    }

    /// Watches a next hop no longer.
    pub fn forget(&mut self, number: u32, now: Ticks) {
        if let Some(session) = self.sessions.remove(&number) {
            self.hops[session as usize] = None;
            self.command(Command::Remove(session), now);
        }
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
        self.sessions.contains_key(&number) || self.sessions.len() < self.hops.len()
    }

    /// Whether a next hop is watched.
    pub fn watches(&self, number: u32) -> bool {
        self.sessions.contains_key(&number)
    }

    /// The next hops that are watched, from a number on.
    pub fn watched(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        self.sessions.range(from..).map(|(hop, _)| *hop)
    }

    /// Takes in a packet, without tag, for one of the router's own addresses.
    pub fn receive(&mut self, frame: &[u8], interface: u16, now: Ticks) -> Heard {
        let Some((from, to, ttl, datagram)) = datagram_of(frame) else { return Heard::Nobody };
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
        while let Some(output) = self.bfd.as_mut().and_then(|bfd| bfd.poll(time)) {
            let wish = match output {
                Output::Departure(departure) => self.depart(departure),
                Output::Report(Report::Changed { session, state, .. }) => {
                    self.changed(session, state, now)
                }
                // Nothing is asked for that was not checked.
                Output::Report(Report::Refused { .. }) => None,
            };
            if wish.is_some() {
                return wish;
            }
        }
        self.due = match self.bfd.as_ref().and_then(Bfd::deadline) {
            Some(deadline) => self.begun.wrapping_add(self.clock.ticks(deadline.since(Time::ZERO))),
            None => now.wrapping_add(Ticks::MAX / 4),
        };
        None
    }

    fn depart(&mut self, departure: Departure) -> Option<Wish> {
        match departure {
            Departure::Open { socket, opening: Opening::Datagrams { local, .. } } => {
                self.ports.insert(socket, local.port());
                None
            }
            Departure::Close { socket } => {
                self.ports.remove(&socket);
                None
            }
            Departure::Datagram { socket, interface, via, from, to, bytes, .. } => {
                let session = socket.0.checked_sub(protocol_bfd::sockets::SHARED_COUNT)?;
                let hop = (*self.hops.get(session as usize)?)?;
                let interface = interface?.0 as u16;
                let from_port = *self.ports.get(&socket)?;
                // An Echo packet goes to the router's own address by way of the neighbour.
                debug_assert!(via.is_none() || from == to.ip());
                let (to, to_port) = (to.ip(), to.port());
                Some(Wish::Packet(Packet { hop, interface, from, to, from_port, to_port, bytes }))
            }
            _ => None,
        }
    }

    fn changed(&mut self, session: u32, state: SessionState, now: Ticks) -> Option<Wish> {
        let hop = (*self.hops.get(session as usize)?)?;
        let peer = self.bfd.as_ref()?.view(session)?.peer_state;
        let is_up = match state {
            SessionState::Up => true,
            SessionState::AdminDown => false,
            // On its way up nothing has changed yet.
            SessionState::Init => return None,
            SessionState::Down => peer == SessionState::AdminDown,
        };
        if self.events.len() < EVENTS_MAX {
            let kind = if is_up { EventKind::Up } else { EventKind::Down };
            self.events.push_back(Event { kind, subject: hop.into(), at: now });
        }
        Some(Wish::Change { hop, is_up })
    }

    /// Returns the next event: a next hop, by its number, is there or is not.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns what a person sees of the sessions, by next hop.
    pub fn views(&self) -> impl Iterator<Item = (u32, View)> + '_ {
        let view = |(hop, session): (&u32, &u32)| Some((*hop, self.bfd.as_ref()?.view(*session)?));
        self.sessions.iter().filter_map(view)
    }

    /// Returns the number of sessions for which there is room.
    pub fn capacity(&self) -> usize {
        self.hops.len()
    }

    fn command(&mut self, command: Command, now: Ticks) {
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

/// Source, destination, Time To Live and datagram of a frame of UDP whose checksum is right.
fn datagram_of(frame: &[u8]) -> Option<(IpAddr, IpAddr, u8, udp::View<'_>)> {
    let packet = frame.get(ethernet::HEADER_LEN..)?;
    if is_ipv6(frame) {
        let view = ipv6::View::parse(packet).ok()?;
        let upper = view.upper_layer().ok().filter(|upper| upper.protocol == protocol::UDP)?;
        let datagram = udp::View::parse(upper.payload).ok()?;
        datagram.verify_ipv6(view.source(), view.destination()).ok()?;
        let ends = (view.source().into(), view.destination().into());
        return Some((ends.0, ends.1, view.hop_limit(), datagram));
    }
    let view = ipv4::View::parse_without_checksum(packet).ok()?;
    if view.protocol() != protocol::UDP || view.is_fragment() {
        return None;
    }
    let datagram = udp::View::parse(view.payload()).ok()?;
    datagram.verify_ipv4(view.source(), view.destination()).ok()?;
    Some((view.source().into(), view.destination().into(), view.ttl(), datagram))
}

/// Events that wait for a control plane.
const EVENTS_MAX: usize = 1024;
