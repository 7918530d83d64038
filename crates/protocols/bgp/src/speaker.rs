//! A speaker that has sessions and announces nothing by itself: a listener, and peers.
//!
//! It is for tests, simulations and whoever wants to hear. A route reflector has its peers in a
//! table of its own instead, and reads UPDATEs where they lie.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use protocol_kit::{
    Arrival, Content, Departure, Endpoint, Input, Machine, Neighbour, Opening, Output, Random,
    Socket, StreamOptions, Time, Trace,
};

use crate::config::Config;
use crate::ended::Ended;
use crate::families::Family;
use crate::negotiated::Negotiated;
use crate::notification::Notification;
use crate::peer::{Event, Peer, State};
use crate::refresh::Refresh;

/// The machine.
#[derive(Debug)]
pub struct Speaker {
    at: SocketAddr,
    peers: Vec<Peer>,
    /// Whether what each sends is read.
    reads: Vec<bool>,
    /// Whose the connections are that the listener has accepted.
    accepted: BTreeMap<Socket, usize>,
    /// When the listener is to be opened; `None` while it is open.
    listen_at: Option<Time>,
    /// What wants to be closed, of nobody's.
    closing: VecDeque<Socket>,
    reports: VecDeque<Report>,
}

/// What an operator says of a peer, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// It is looked for. All peers are from the beginning.
    Start(usize),
    /// Its session ends, with a text for it, and it is not looked for any more.
    Stop(usize, String),
    /// Its session ends, with a text for it, and begins anew.
    Reset(usize, String),
    /// It gets whole messages, if there is a session and room for them.
    Send(usize, Vec<u8>),
    /// What it sends is read, or has to wait until it is.
    Read(usize, bool),
}

/// What the machine says of a peer, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The session stands.
    Established(usize, Box<Negotiated>),
    /// The session has ended.
    Down {
        /// The peer.
        peer: usize,
        /// Why.
        why: Ended,
        /// Whether the peer's routes are kept for a while.
        is_graceful: bool,
    },
    /// The peer asks for routes again, or says where they begin or end.
    Refresh(usize, Family, Refresh),
    /// The body of an UPDATE.
    Update(usize, Vec<u8>),
}

impl Speaker {
    /// A speaker that listens at an address, with its peers and a seed for jitter.
    pub fn new(at: SocketAddr, peers: Vec<Config>, seed: u64) -> Speaker {
        let mut random = Random::new(seed);
        let mut peers: Vec<Peer> = (1..)
            .zip(peers)
            .map(|(socket, config)| Peer::new(config, Socket(socket), random.bits()))
            .collect();
        peers.iter_mut().for_each(|peer| peer.start(Time::ZERO));
        Speaker {
            at,
            reads: vec![true; peers.len()],
            peers,
            accepted: BTreeMap::new(),
            listen_at: Some(Time::ZERO),
            closing: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }

    /// Returns a peer.
    pub fn peer(&self, peer: usize) -> &Peer {
        &self.peers[peer]
    }

    /// The peer whose connection this is.
    fn owner(&self, socket: Socket) -> Option<usize> {
        let outgoing = (socket.0 as usize).checked_sub(1).filter(|peer| *peer < self.peers.len());
        outgoing.or_else(|| self.accepted.get(&socket).copied())
    }

    fn obey(&mut self, command: Command, now: Time) {
        let (Command::Start(place)
        | Command::Stop(place, _)
        | Command::Reset(place, _)
        | Command::Send(place, _)
        | Command::Read(place, _)) = command;
        let Some(peer) = self.peers.get_mut(place) else { return };
        let mut sink = |event: Event<'_>| note(place, event, &mut self.reports);
        match command {
            Command::Start(_) => peer.start(now),
            Command::Stop(_, text) => peer.stop(&text, now, &mut sink),
            Command::Reset(_, text) => peer.reset(&text, now, &mut sink),
            Command::Send(_, messages) if messages.len() <= peer.room() => peer.send(messages, now),
            Command::Send(..) => {}
            Command::Read(_, is_wanted) => self.reads[place] = is_wanted,
        }
    }

    fn arrive(&mut self, arrival: Arrival<'_>, now: Time) {
        match arrival {
            Arrival::Failed { socket: LISTENER } => {
                self.listen_at = Some(now.after(LISTEN_AGAIN));
            }
            Arrival::Connected { socket, peer, .. } if self.owner(socket).is_none() => {
                let address = peer.map(|peer| peer.ip().to_canonical());
                let place = self.peers.iter().position(|one| Some(one.config().peer) == address);
                match place {
                    Some(place) => {
                        self.accepted.insert(socket, place);
                        self.peers[place].accept(socket, now);
                    }
                    None => self.closing.push_back(socket),
                }
            }
            Arrival::Connected { socket, .. }
            | Arrival::Bytes { socket, .. }
            | Arrival::Taken { socket, .. }
            | Arrival::Finished { socket }
            | Arrival::Failed { socket } => {
                let Some(place) = self.owner(socket) else {
                    // What was to be closed may have failed.
                    let has_failed = matches!(arrival, Arrival::Failed { .. });
                    return self.closing.retain(|closing| *closing != socket || !has_failed);
                };
                let (peer, reports) = (&mut self.peers[place], &mut self.reports);
                let mut sink = |event: Event<'_>| note(place, event, reports);
                match arrival {
                    Arrival::Connected { .. } => peer.connected(socket, now),
                    Arrival::Bytes { bytes, .. } => peer.bytes(socket, bytes, now, &mut sink),
                    Arrival::Taken { count, .. } => peer.taken(socket, count, now),
                    Arrival::Finished { .. } => peer.finished(socket, now, &mut sink),
                    _ => {
                        peer.failed(socket, now, &mut sink);
                        self.accepted.remove(&socket);
                    }
                }
            }
            _ => {}
        }
    }

    fn depart(&mut self, now: Time) -> Option<Departure> {
        if self.listen_at.take_if(|at| *at <= now).is_some() {
            let all = self.peers.iter().map(Peer::config);
            let md5 = all.clone().flat_map(|config| config.options.md5.clone()).collect();
            let ttl_min = all.clone().map(|config| config.options.ttl_min).min().unwrap_or(0);
            let ttl = all.filter_map(|config| config.options.ttl).max();
            let options = StreamOptions { md5, ttl_min, ttl, ..StreamOptions::default() };
            let first = self.peers.len() as u32 + 1;
            let streams = first..first + 3 * first;
            let opening = Opening::Listener { at: Endpoint::Tcp(self.at), options, streams };
            return Some(Departure::Open { socket: LISTENER, opening });
        }
        if let Some(socket) = self.closing.pop_front() {
            return Some(Departure::Close { socket });
        }
        let waiting = self.reports.len();
        for (place, peer) in self.peers.iter_mut().enumerate() {
            peer.tick(now, &mut |event| note(place, event, &mut self.reports));
            if waiting > REPORTS_MAX || !self.reads[place] {
                peer.read(false, now);
            } else if waiting <= REPORTS_MAX / 2 {
                peer.read(true, now);
            }
            let departure = peer.poll();
            if let Some(Departure::Close { socket }) = &departure {
                self.accepted.remove(socket);
            }
            if departure.is_some() {
                return departure;
            }
        }
        None
    }
}

/// Keeps what a peer does as a report.
fn note(peer: usize, event: Event<'_>, reports: &mut VecDeque<Report>) -> Result<(), Notification> {
    reports.push_back(match event {
        Event::Established(negotiated) => Report::Established(peer, Box::new(negotiated.clone())),
        Event::Down { why, is_graceful } => Report::Down { peer, why: why.clone(), is_graceful },
        Event::Refresh(family, what) => Report::Refresh(peer, family, what),
        Event::Update(body) => Report::Update(peer, body.to_vec()),
    });
    Ok(())
}

impl Machine for Speaker {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(command) => self.obey(command, now),
            Input::Arrival(arrival) => self.arrive(arrival, now),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        let departure = self.depart(now).map(Output::Departure);
        departure.or_else(|| self.reports.pop_front().map(Output::Report))
    }

    fn deadline(&self) -> Option<Time> {
        if !self.reports.is_empty() || !self.closing.is_empty() {
            return Some(Time::ZERO);
        }
        let peers = self.peers.iter().filter_map(Peer::deadline);
        peers.chain(self.listen_at).min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.peers.iter().map(|peer| peer.neighbour(now)).collect()
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(Trace { protocol: "bgp", content: Content::Clear })
    }
}

impl Peer {
    /// Returns what an operator is shown of it.
    pub fn neighbour(&self, now: Time) -> Neighbour {
        let (state, since) = self.state();
        let config = self.config();
        let detail = match (state, self.last()) {
            (State::Established, _) | (_, None) => format!("AS {}", config.peer_as),
            (_, Some(last)) => format!("AS {}; {last}", config.peer_as),
        };
        Neighbour {
            protocol: "bgp",
            interface: String::new(),
            address: config.peer.to_string(),
            state: format!("{state:?}").to_lowercase(),
            since: Some(now.since(since)),
            detail,
        }
    }
}

const LISTENER: Socket = Socket(0);

/// Time after which a listener that could not be opened is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Reports that may wait; while there are more, no session is read.
const REPORTS_MAX: usize = 4096;
