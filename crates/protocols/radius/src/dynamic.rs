//! Dynamic authorization (RFC 5176): servers change sessions and end them, and this machine is
//! whom they ask.
//!
//! ```text
//!  datagram --> known client? right secret? in time? --> asked before? --> Report::Asked
//!                 | no: dropped, counted by name            | yes: the same answer
//!  Command::Answer --> ACK or NAK with Error-Cause --> datagram, and kept for repetitions
//! ```
//! A request and its repetitions, or copies of it that somebody else sends, have the same
//! authenticator: they are answered alike, and the session hears of one. Answers are kept for as
//! long as a copy would be in time. Requests without Event-Timestamp are taken unless the
//! configuration demands it; a copy of one is known for as long. What a datagram, an answer or a
//! deadline costs does not grow with what is kept but by the depth of a tree.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{
    Arrival, Content, Departure, Input, Machine, Opening, Output, Secret, Socket, Time, Trace,
};

use crate::asking::{AUTHORIZE_ONLY, ErrorCause, Identity, SessionKey, Wanted, session_keys};
use crate::attributes::{List, kind};
use crate::config::Wall;
use crate::packet::{Code, Packet};
use crate::redact::redact;
use crate::seal::{self, Authenticator, Forged};

/// What the machine is configured with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens: addresses and ports; the standard's port is 3799.
    pub locals: Vec<SocketAddr>,
    /// Who may ask, each address once.
    pub clients: Vec<Asker>,
    /// Own addresses and names: a request that names another one is refused. Empty for any.
    pub identities: Vec<Identity>,
    /// How far Event-Timestamp may be from the time of day (RFC 5176 section 6.3: 300 s).
    pub window: Duration,
    /// Whether requests without Event-Timestamp are dropped.
    pub needs_timestamp: bool,
    /// Whether requests without Message-Authenticator are dropped.
    pub needs_signature: bool,
    /// Most requests and answers that are kept, at least 1; further requests are refused.
    pub kept_max: usize,
    /// How long the owner has for an answer, before the server is told that it failed; not zero.
    pub patience: Duration,
    /// The time of day at the machine's time 0.
    pub wall: Wall,
}

/// Somebody who may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// His address.
    pub address: IpAddr,
    /// The secret that he shares with this node.
    pub secret: Secret,
}

/// Why a configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// An empty secret, by which anybody could ask in this name.
    #[error("the secret of {0}, which may change sessions, has to have at least one byte")]
    Secret(IpAddr),
    /// Somebody who is there twice; which secret would be his?
    #[error("{0}, which may change sessions, is there twice: leave one of them, with its secret")]
    Twice(IpAddr),
    /// A limit or a time is zero.
    #[error("kept-max and patience are at least 1")]
    Limits,
}

/// What the owner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// What became of a request.
    Answer {
        /// Its number in [`Report::Asked`].
        number: u64,
        /// What.
        verdict: Result<(), ErrorCause>,
    },
    /// The time of day is another one.
    SetWall(Wall),
}

/// What the owner is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A session is to change or to end. One [`Command::Answer`] is expected.
    Asked {
        /// Number of the request.
        number: u64,
        /// What is wanted.
        wants: Wanted,
        /// By what it is found: all of them have to be the session's. At least one.
        keys: Vec<SessionKey>,
        /// All attributes of the request, for `mapping`.
        attributes: List,
    },
}

/// Requests by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that the owner was asked.
    pub asked: u64,
    /// Answers that say yes.
    pub acknowledged: u64,
    /// Answers that say no, those of the machine itself among them.
    pub refused: u64,
    /// Repetitions that were answered alike.
    pub repeated: u64,
    /// Dropped: repetitions of what the owner has not answered yet.
    pub pending: u64,
    /// Dropped: no packet of RADIUS.
    pub malformed: u64,
    /// Dropped: from somebody who may not ask.
    pub stranger: u64,
    /// Dropped: no Disconnect- or CoA-Request.
    pub code: u64,
    /// Dropped: the authenticator is wrong; the secrets may be different.
    pub authenticator: u64,
    /// Dropped: Message-Authenticator is wrong, or absent though it is demanded.
    pub signature: u64,
    /// Dropped: Event-Timestamp is too far from the time of day.
    pub stale: u64,
    /// Dropped: Event-Timestamp is absent though it is demanded.
    pub timeless: u64,
    /// Requests that the owner has not answered in time; they were refused.
    pub late: u64,
}

/// Which request: repetitions have the same. The place of the asker, and what he has sent.
type Which = (usize, u8, Authenticator);

/// The machine. It keeps `kept_max` requests and answers of at most 4,096 bytes each.
pub struct Dynamic {
    config: Config,
    /// The places of those who may ask, by their addresses.
    places: BTreeMap<IpAddr, usize>,
    kept: BTreeMap<Which, Kept>,
    /// Kept ones in the order in which they came.
    order: VecDeque<Which>,
    /// Requests whose answers are expected, by their numbers, which are in the order of their
    /// deadlines.
    asked: BTreeMap<u64, Which>,
    /// Sockets that have failed, and when they are opened again.
    failed: Vec<(Socket, Time)>,
    next: u64,
    outputs: VecDeque<Output<Report>>,
    counters: Counters,
}

struct Kept {
    number: u64,
    /// When it came.
    since: Time,
    /// The request, until it is answered; then the answer.
    bytes: Vec<u8>,
    is_answered: bool,
    path: Path,
}

/// Between whom a request went.
#[derive(Clone, Copy, Debug)]
struct Path {
    socket: Socket,
    own: IpAddr,
    far: SocketAddr,
}

impl Machine for Dynamic {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Arrival(Arrival::Datagram { socket, from, to, bytes, .. }) => {
                self.receive(Path { socket, own: to, far: from }, bytes, now);
            }
            Input::Arrival(Arrival::Failed { socket }) => {
                self.failed.push((socket, now.after(RETRY)));
            }
            Input::Arrival(_) => {}
            Input::Command(Command::Answer { number, verdict }) => {
                if let Some(which) = self.asked.get(&number).copied() {
                    self.answer(which, verdict);
                }
            }
            Input::Command(Command::SetWall(wall)) => self.config.wall = wall,
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        self.expire(now);
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Time> {
        if !self.outputs.is_empty() {
            return Some(Time::ZERO);
        }
        let first = self.asked.values().next().and_then(|which| self.kept.get(which));
        let late = first.map(|kept| kept.since.after(self.config.patience));
        let retry = self.failed.iter().map(|(_, at)| *at).min();
        late.into_iter().chain(retry).min()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(Trace { protocol: "radius", content: Content::Redacted(redact) })
    }
}

impl Dynamic {
    /// Creates the machine; its sockets are numbered as `locals` are.
    ///
    /// # Errors
    /// What of the configuration cannot be used.
    pub fn new(config: Config) -> Result<Dynamic, Unusable> {
        let places = config.check()?;
        let open = |(number, local): (u32, &SocketAddr)| open(Socket(number), *local);
        Ok(Dynamic {
            outputs: (0..).zip(&config.locals).map(open).collect(),
            config,
            places,
            kept: BTreeMap::new(),
            order: VecDeque::new(),
            asked: BTreeMap::new(),
            failed: Vec::new(),
            next: 0,
            counters: Counters::default(),
        })
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn receive(&mut self, path: Path, bytes: &[u8], now: Time) {
        let Some(&place) = self.places.get(&path.far.ip()) else {
            self.counters.stranger += 1;
            return;
        };
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(_) => {
                self.counters.malformed += 1;
                return;
            }
        };
        if !matches!(packet.code, Code::DisconnectRequest | Code::CoaRequest) {
            self.counters.code += 1;
            return;
        }
        let secret = &self.config.clients[place].secret;
        if let Err(why) = seal::check_request(&packet, secret, self.config.needs_signature) {
            let counter = match why {
                Forged::Authenticator => &mut self.counters.authenticator,
                Forged::Unsigned | Forged::Signature => &mut self.counters.signature,
            };
            *counter += 1;
            return;
        }
        let wall_s = self.config.wall.seconds(now);
        match packet.attributes.number(kind::EVENT_TIMESTAMP) {
            Some(at) if wall_s.abs_diff(u64::from(at)) > self.config.window.as_secs() => {
                self.counters.stale += 1;
                return;
            }
            None if self.config.needs_timestamp => {
                self.counters.timeless += 1;
                return;
            }
            _ => {}
        }
        self.take(place, path, &packet, now);
    }

    /// Takes in a request that is authentic and in time.
    fn take(&mut self, place: usize, path: Path, packet: &Packet<'_>, now: Time) {
        let which = (place, packet.identifier, *packet.authenticator);
        if let Some(kept) = self.kept.get(&which) {
            let counter = match kept.is_answered {
                true => &mut self.counters.repeated,
                false => &mut self.counters.pending,
            };
            *counter += 1;
            if kept.is_answered {
                let bytes = kept.bytes.clone();
                self.send(path, bytes);
            }
            return;
        }
        self.forget(now);
        if self.kept.len() >= self.config.kept_max {
            // Nothing has changed, so nothing has to be kept.
            self.counters.refused += 1;
            let cause = Err(ErrorCause::ResourcesUnavailable);
            let answer = written(packet, &self.config.clients[place].secret, cause);
            self.send(path, answer);
            return;
        }
        let number = self.next;
        self.next += 1;
        let bytes = packet.bytes.to_vec();
        self.kept.insert(which, Kept { number, since: now, bytes, is_answered: false, path });
        self.order.push_back(which);
        self.asked.insert(number, which);
        match session_keys(packet.attributes, &self.config.identities) {
            Err(cause) => self.answer(which, Err(cause)),
            Ok(keys) => {
                self.counters.asked += 1;
                let is_change = packet.code == Code::CoaRequest;
                let wants = if is_change { Wanted::Change } else { Wanted::Disconnect };
                let attributes = List::from(packet.attributes);
                let report = Report::Asked { number, wants, keys, attributes };
                self.outputs.push_back(Output::Report(report));
            }
        }
    }

    /// Answers a request, and keeps the answer.
    fn answer(&mut self, which: Which, verdict: Result<(), ErrorCause>) {
        let Some(kept) = self.kept.get_mut(&which).filter(|kept| !kept.is_answered) else { return };
        self.asked.remove(&kept.number);
        let counter = match verdict {
            Ok(()) => &mut self.counters.acknowledged,
            Err(_) => &mut self.counters.refused,
        };
        *counter += 1;
        let secret = &self.config.clients[which.0].secret;
        // It was a packet when it came.
        if let Ok(packet) = Packet::parse(&kept.bytes) {
            kept.bytes = written(&packet, secret, verdict);
        }
        kept.is_answered = true;
        let (path, bytes) = (kept.path, kept.bytes.clone());
        self.send(path, bytes);
    }

    /// Time has passed: the owner is late, and sockets are opened again.
    fn expire(&mut self, now: Time) {
        while let Some(&which) = self.asked.values().next() {
            let since = self.kept.get(&which).map_or(Time::ZERO, |kept| kept.since);
            if since.after(self.config.patience) > now {
                break;
            }
            self.counters.late += 1;
            self.answer(which, Err(ErrorCause::ResourcesUnavailable));
        }
        let is_due = |(_, at): &(Socket, Time)| *at <= now;
        let (due, rest): (Vec<_>, Vec<_>) = self.failed.drain(..).partition(is_due);
        self.failed = rest;
        for (socket, _) in due {
            if let Some(local) = self.config.locals.get(socket.0 as usize) {
                self.outputs.push_back(open(socket, *local));
            }
        }
    }

    /// Forgets answers of which no copy would be in time any more: one may come when its
    /// Event-Timestamp, which was at most a window ahead, is a window behind.
    fn forget(&mut self, now: Time) {
        while let Some(which) = self.order.front() {
            let is_old = self.kept.get(which).is_none_or(|kept| {
                kept.is_answered && now.since(kept.since) > 2 * self.config.window + MARGIN
            });
            if !is_old {
                break;
            }
            if let Some(which) = self.order.pop_front() {
                self.kept.remove(&which);
            }
        }
    }

    fn send(&mut self, path: Path, bytes: Vec<u8>) {
        self.outputs.push_back(Output::Departure(Departure::Datagram {
            socket: path.socket,
            interface: None,
            via: None,
            from: path.own,
            to: path.far,
            ttl: TTL,
            bytes,
        }));
    }
}

impl Config {
    /// Checks what the types cannot tell, and returns the place of each asker by his address.
    fn check(&self) -> Result<BTreeMap<IpAddr, usize>, Unusable> {
        if self.kept_max == 0 || self.patience.is_zero() {
            return Err(Unusable::Limits);
        }
        let mut places = BTreeMap::new();
        for (place, asker) in self.clients.iter().enumerate() {
            if asker.secret.0.is_empty() {
                return Err(Unusable::Secret(asker.address));
            }
            if places.insert(asker.address, place).is_some() {
                return Err(Unusable::Twice(asker.address));
            }
        }
        Ok(places)
    }
}

impl std::fmt::Debug for Dynamic {
    /// What is kept and what is to be sent may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Dynamic");
        shown.field("config", &self.config).field("kept", &self.kept.len());
        shown.field("counters", &self.counters).finish_non_exhaustive()
    }
}

/// The answer to a request: with Proxy-State as it came (RFC 5176 section 3.1), and Error-Cause.
fn written(packet: &Packet<'_>, secret: &Secret, verdict: Result<(), ErrorCause>) -> Vec<u8> {
    let is_change = packet.code == Code::CoaRequest;
    let code = match (is_change, verdict) {
        (true, Ok(())) => Code::CoaAck,
        (true, Err(_)) => Code::CoaNak,
        (false, Ok(())) => Code::DisconnectAck,
        (false, Err(_)) => Code::DisconnectNak,
    };
    let mut list = List::new();
    // Proxies that want more than a packet can have get none of it.
    let _ = list.extend(packet.attributes, |kind| kind == kind::PROXY_STATE);
    if let Err(cause) = verdict {
        let _ = list.put_number(kind::ERROR_CAUSE, cause as u32);
        if cause == ErrorCause::UnsupportedService {
            let _ = list.put_number(kind::SERVICE_TYPE, AUTHORIZE_ONLY);
        }
    }
    seal::answer(code, packet, secret, list.attributes()).unwrap_or_default()
}

fn open(socket: Socket, local: SocketAddr) -> Output<Report> {
    let opening = Opening::Datagrams { local, interface: None };
    Output::Departure(Departure::Open { socket, opening })
}

/// Time until a socket that has failed is opened again.
const RETRY: Duration = Duration::from_secs(1);

/// Two clocks count whole seconds each.
const MARGIN: Duration = Duration::from_secs(2);

/// Time To Live of answers.
const TTL: u8 = 64;
