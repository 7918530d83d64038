//! The connection with zebra, and when what was told ends.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_kit::{
    Arrival, Content, Departure, Endpoint, Input, Machine, Neighbour, Opening, Output, Socket,
    StreamOptions, Time, Trace,
};

use crate::framing::{Framing, Malformed};
use crate::told::{Counters, Lost, Report, Told};

/// How zebra is listened to, and for how much there is room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where zebra connects to.
    pub at: Endpoint,
    /// Most routes.
    pub routes_max: u32,
    /// Most next hops and groups.
    pub next_hops_max: u32,
    /// Reports that may wait; while there are more, nothing is read of the connection.
    pub waiting_max: usize,
    /// In a new connection, what was told in an earlier one and not again is withdrawn this long
    /// after the last thing that was told again.
    pub settle: Duration,
    /// Without a connection, everything is withdrawn after this time.
    pub keep: Duration,
}

/// The machine of the Forwarding Plane Manager protocol. Its memory follows from its configuration
/// and from how many bytes a driver hands over at once.
#[derive(Debug)]
pub struct Fpm {
    config: Config,
    told: Told,
    framing: Framing,
    listener: Listener,
    /// The connection with zebra.
    stream: Option<Socket>,
    /// When that came, or went; `None` if there was none.
    since: Option<Time>,
    /// Connections to be closed.
    closing: Vec<Socket>,
    /// Whether the connection is read.
    is_read: bool,
    probe: Probe,
    /// When what is stale is withdrawn.
    sweep_at: Time,
    /// Whether something was stale when zebra connected, and the end of that was not said yet.
    is_settling: bool,
    /// What was withdrawn in this connection because it was stale.
    swept: u64,
}

/// The socket that zebra connects to.
#[derive(Clone, Copy, Debug)]
enum Listener {
    Open,
    /// It is to be opened at this time.
    Closed(Time),
}

/// Bytes without meaning, sent to find out whether the far end still is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    Due,
    /// The transport has not taken it yet.
    OnWay,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            at: Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))),
            routes_max: 2_000_000,
            next_hops_max: 65_536,
            waiting_max: 4_096,
            settle: Duration::from_secs(60),
            keep: Duration::from_secs(300),
        }
    }
}

impl Machine for Fpm {
    /// There is nothing to say to it.
    type Command = std::convert::Infallible;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Self::Command>) {
        let Input::Arrival(arrival) = input;
        match arrival {
            Arrival::Connected { socket, peer, .. } => self.connected(socket, peer, now),
            Arrival::Bytes { socket, bytes } if self.stream == Some(socket) => {
                self.receive(bytes, now);
            }
            Arrival::Taken { socket, .. } if self.stream == Some(socket) => {
                self.probe = Probe::None;
            }
            Arrival::Finished { socket } if self.stream == Some(socket) => {
                self.closing.push(socket);
                self.lose(Lost::Closed, now);
            }
            Arrival::Failed { socket: LISTENER } => {
                self.listener = Listener::Closed(now.after(LISTEN_AGAIN));
            }
            Arrival::Failed { socket } => {
                self.closing.retain(|closing| *closing != socket);
                if self.stream == Some(socket) {
                    self.lose(Lost::Closed, now);
                }
            }
            // Of a connection that is to be closed, or of no socket of its own.
            _ => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if let Some(departure) = self.depart(now) {
            return Some(Output::Departure(departure));
        }
        if let Some(report) = self.told.reports.pop_front() {
            return Some(Output::Report(report));
        }
        if self.sweep_at <= now
            && let Some(report) = self.told.sweep()
        {
            self.swept += 1;
            return Some(Output::Report(report));
        }
        if self.is_settling && self.told.stale() == 0 {
            self.is_settling = false;
            return Some(Output::Report(Report::Settled { swept: self.swept }));
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        let is_probing = self.stream.is_some() && self.probe == Probe::Due;
        let is_waiting = !self.closing.is_empty()
            || is_probing
            || !self.told.reports.is_empty()
            || self.is_settling && self.told.stale() == 0;
        if is_waiting {
            return Some(Time::ZERO);
        }
        let listen_at = match self.listener {
            Listener::Open => None,
            Listener::Closed(until) => Some(until),
        };
        let sweep_at = (self.told.stale() > 0).then_some(self.sweep_at);
        [listen_at, sweep_at].into_iter().flatten().min()
    }

    fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        let [routes, next_hops] = self.held();
        let state = if self.is_connected() { "connected" } else { "awaited" };
        vec![Neighbour {
            protocol: "fpm",
            interface: String::new(),
            address: format!("zebra, at {}", self.config.at),
            state: state.to_owned(),
            since: self.since.map(|since| now.since(since)),
            detail: format!("{routes} routes, {next_hops} next hops and groups"),
        }]
    }

    fn trace(&self, _: Socket) -> Option<Trace> {
        Some(Trace { protocol: "fpm", content: Content::Clear })
    }
}

impl Fpm {
    /// Creates a machine with a seed that nobody else knows.
    ///
    /// # Errors
    /// What the kernel says when it has no memory for the index of routes, 10 bytes each.
    pub fn new(config: Config, seed: u64) -> io::Result<Fpm> {
        Ok(Fpm {
            told: Told::new(config.routes_max, config.next_hops_max, seed)?,
            config,
            framing: Framing::default(),
            listener: Listener::Closed(Time::ZERO),
            stream: None,
            since: None,
            closing: Vec::new(),
            is_read: true,
            probe: Probe::None,
            sweep_at: Time::ZERO,
            is_settling: false,
            swept: 0,
        })
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.told.counters
    }

    /// Returns whether zebra is connected.
    pub fn is_connected(&self) -> bool {
        self.stream.is_some()
    }

    /// Returns the numbers of routes, and of next hops with groups, that hold.
    pub fn held(&self) -> [usize; 2] {
        self.told.held()
    }

    fn connected(&mut self, socket: Socket, peer: Option<SocketAddr>, now: Time) {
        if self.stream.is_some() {
            self.closing.push(socket);
            self.told.counters.rejected += 1;
            // It may be zebra, back from where it could not say that it ended.
            if self.probe == Probe::None {
                self.probe = Probe::Due;
            }
            if self.told.reports.len() <= self.config.waiting_max {
                self.told.reports.push_back(Report::Rejected { peer });
            }
            return;
        }
        (self.stream, self.since) = (Some(socket), Some(now));
        self.framing = Framing::default();
        (self.is_read, self.probe) = (true, Probe::None);
        self.told.counters.connections += 1;
        self.told.reports.push_back(Report::Connected { peer });
        self.is_settling = self.told.stale() > 0;
        self.sweep_at = now.after(self.config.settle);
        self.swept = 0;
    }

    fn receive(&mut self, bytes: &[u8], now: Time) {
        let told = &mut self.told;
        let received = self.framing.feed(bytes, |frame| told.take(frame));
        if std::mem::take(&mut told.is_renewed) {
            self.sweep_at = now.after(self.config.settle);
        }
        let Err(why) = received else { return };
        let counter = match why {
            Malformed::Header => &mut told.counters.malformed_header,
            Malformed::Length => &mut told.counters.malformed_length,
            Malformed::Messages => &mut told.counters.malformed_messages,
        };
        *counter += 1;
        self.closing.extend(self.stream);
        self.lose(Lost::Malformed(why), now);
    }

    fn lose(&mut self, why: Lost, now: Time) {
        (self.stream, self.since) = (None, Some(now));
        self.told.age();
        self.is_settling = false;
        self.sweep_at = now.after(self.config.keep);
        self.told.reports.push_back(Report::Lost { why });
    }

    /// Returns the next thing that it wants of the network, and no report: for somebody who has no
    /// room for one. It stops to be read when too many wait.
    pub fn depart(&mut self, now: Time) -> Option<Departure> {
        if let Some(socket) = self.closing.pop() {
            return Some(Departure::Close { socket });
        }
        if let Listener::Closed(until) = self.listener
            && until <= now
        {
            self.listener = Listener::Open;
            let (at, options) = (self.config.at.clone(), StreamOptions::default());
            let opening = Opening::Listener { at, options, streams: STREAMS };
            return Some(Departure::Open { socket: LISTENER, opening });
        }
        let socket = self.stream?;
        if self.probe == Probe::Due {
            self.probe = Probe::OnWay;
            return Some(Departure::Bytes { socket, bytes: PROBE.to_vec().into() });
        }
        let waiting = self.told.reports.len();
        let is_wanted = match self.is_read {
            true => waiting <= self.config.waiting_max,
            false => waiting <= self.config.waiting_max / 2,
        };
        if is_wanted == self.is_read {
            return None;
        }
        self.is_read = is_wanted;
        if is_wanted {
            // What was kept waiting may tell everything that seems stale.
            self.sweep_at = self.sweep_at.max(now.after(self.config.settle));
        }
        Some(Departure::Read { socket, is_wanted })
    }
}

/// The port that zebra connects to unless it is told another one.
pub const PORT: u16 = 2620;

const LISTENER: Socket = Socket(0);

/// Connections: that of zebra, and one more to be closed.
const STREAMS: std::ops::Range<u32> = 1..3;

/// A frame with a message of netlink that says nothing. Zebra 8.4 reads nothing at all, later ones
/// pass it over.
const PROBE: [u8; 20] = [1, 1, 0, 20, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Time after which a socket that could not be opened is tried again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
