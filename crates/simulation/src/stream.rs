//! Streams between nodes: in order, without loss, and therefore late when a link is bad.
//!
//! ```text
//!  machine -> waiting -> flight ---- link ----> received -> machine
//!                |  Taken    ^                      |
//!                +-----------+------ window --------+
//! ```
//! A side takes what departs while the window of the other has room. What is lost is sent again,
//! which shows as delay. Bytes arrive in pieces of random size. A stream whose link has let nothing
//! pass for a minute fails at both sides.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use protocol_kit::{Endpoint, Random, STREAM_ROOM, Socket, StreamOptions, Time};

use super::link::Link;

/// A stream, or one that is being connected: its first side has begun it.
#[derive(Debug)]
pub(super) struct Stream {
    way: Way,
    /// Where it goes to.
    pub to: Endpoint,
    pub sides: [Side; 2],
}

/// The link, and the end of the first side; `None` within a node.
pub(super) type Way = Option<(usize, usize)>;

/// A side of a stream.
#[derive(Debug)]
pub(super) struct Side {
    pub node: usize,
    /// The machine's number; `None` before it has one, and when it has closed the stream.
    pub socket: Option<Socket>,
    pub address: Option<SocketAddr>,
    pub options: StreamOptions,
    stands: bool,
    /// What has departed and was not taken.
    waiting: VecDeque<u8>,
    departing: Departing,
    /// What is on the way to the other side, in its order.
    flight: VecDeque<(Time, Segment)>,
    /// The arrival that the world has planned.
    planned: Option<Time>,
    /// Bytes that were taken and that the other machine does not have, and how many may be.
    unread: usize,
    window: usize,
    /// Since when the link lets nothing pass, and when it is tried again.
    stuck: Option<(Time, Duration)>,
    received: VecDeque<u8>,
    has_failed: bool,
    /// Whether the machine has closed it, or has died.
    is_gone: bool,
    is_wanted: bool,
    /// What the machine was not told yet.
    untold: Untold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departing {
    Yes,
    Finishing,
    Finished,
}

#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    connected: bool,
    taken: usize,
    finished: bool,
}

/// What goes from one side to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// The stream is to be connected.
    Begin,
    /// It is.
    Stand,
    Bytes(Vec<u8>),
    End,
    Reset,
}

/// What a machine is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Connected { local: Option<SocketAddr>, peer: Option<SocketAddr> },
    Taken(usize),
    Bytes(Vec<u8>),
    Finished,
    Failed,
}

/// The time, the links and the chance of a world.
pub(super) struct Network<'a> {
    pub links: &'a mut [Link],
    pub random: &'a mut Random,
    pub now: Time,
}

impl Stream {
    /// A stream that its first side begins now.
    pub fn begin(way: Way, to: Endpoint, sides: [Side; 2], network: &mut Network<'_>) -> Stream {
        let mut stream = Stream { way, to, sides };
        for side in &mut stream.sides {
            side.window = WINDOWS[network.random.below(WINDOWS.len() as u64) as usize];
        }
        stream.fly(0, Segment::Begin, network);
        stream
    }

    /// Whether something of a side is to arrive at the other now.
    pub fn is_due(&mut self, from: usize, now: Time) -> bool {
        let side = &mut self.sides[from];
        let is_due = side.flight.front().is_some_and(|(due, _)| *due <= now);
        is_due && side.planned.take_if(|planned| *planned == now).is_some()
    }

    /// Takes the time at which something of a side is to arrive, if the world has not planned it.
    pub fn unplanned(&mut self, from: usize, now: Time) -> Option<Time> {
        let side = &mut self.sides[from];
        let due = side.flight.front().map(|(due, _)| (*due).max(now))?;
        (side.planned.replace(due) != Some(due)).then_some(due)
    }

    /// Takes what arrives now from a side; `None` while the link lets nothing pass, or the node at
    /// the other side is without power.
    pub fn arrive(&mut self, from: usize, is_off: bool, network: &Network<'_>) -> Option<Segment> {
        if is_off || self.way.is_some_and(|(link, _)| !network.links[link].passes()) {
            self.wait(from, network.now);
            return None;
        }
        let (_, segment) = self.sides[from].flight.pop_front()?;
        if segment != Segment::Begin {
            self.sides[from].stuck = None;
        }
        Some(segment)
    }

    /// What was to arrive has not: it is tried again, for a minute.
    fn wait(&mut self, from: usize, now: Time) {
        let (since, pause) = self.sides[from].stuck.unwrap_or((now, AGAIN));
        if now.since(since) >= PATIENCE {
            for side in &mut self.sides {
                side.flight.clear();
                side.has_failed = true;
            }
            return;
        }
        self.sides[from].stuck = Some((since, (pause * 2).min(AGAIN_MAX)));
        if let Some((due, _)) = self.sides[from].flight.front_mut() {
            *due = now.after(pause);
        }
    }

    /// The second side does not answer the beginning, which is tried again.
    pub fn ignore(&mut self, now: Time) {
        self.sides[0].flight.push_front((now, Segment::Begin));
        // It has arrived, but the first side does not know.
        self.wait(0, now);
    }

    /// The second side accepts or refuses the beginning.
    pub fn answer(&mut self, accepts: bool, network: &mut Network<'_>) {
        self.sides[1].stands = accepts;
        self.sides[1].is_gone = !accepts;
        let answer = if accepts { Segment::Stand } else { Segment::Reset };
        self.fly(1, answer, network);
    }

    /// A side has what has arrived from the other.
    pub fn receive(&mut self, to: usize, segment: Segment, network: &mut Network<'_>) {
        let side = &mut self.sides[to];
        match segment {
            Segment::Begin => {}
            Segment::Reset => side.has_failed = true,
            // Nobody is there any more to read it.
            Segment::Bytes(_) if side.is_gone => self.fly(to, Segment::Reset, network),
            Segment::Bytes(bytes) => side.received.extend(bytes),
            Segment::Stand => (side.stands, side.untold.connected) = (true, true),
            Segment::End => side.untold.finished = true,
        }
    }

    /// Bytes depart from a side. Returns false if the stream does not stand or was finished.
    pub fn depart(&mut self, from: usize, bytes: &[u8], network: &mut Network<'_>) -> bool {
        let side = &mut self.sides[from];
        if !side.stands || side.departing != Departing::Yes {
            return false;
        }
        if side.waiting.len() + bytes.len() > STREAM_ROOM {
            side.has_failed = true;
            self.fly(from, Segment::Reset, network);
            return true;
        }
        side.waiting.extend(bytes);
        self.pump(from, network);
        true
    }

    /// A side departs no more bytes. Returns false if the stream does not stand or was finished.
    pub fn finish(&mut self, from: usize, network: &mut Network<'_>) -> bool {
        let side = &mut self.sides[from];
        let could = side.stands && side.departing == Departing::Yes;
        if could {
            side.departing = Departing::Finishing;
            self.pump(from, network);
        }
        could
    }

    /// A side wants bytes or does not.
    pub fn read(&mut self, at: usize, is_wanted: bool) {
        self.sides[at].is_wanted = is_wanted;
    }

    /// A side is closed: its machine closes it, or it has died and nothing of it is left.
    pub fn close(&mut self, at: usize, has_died: bool, network: &mut Network<'_>) {
        let side = &mut self.sides[at];
        if std::mem::replace(&mut side.is_gone, true) {
            return;
        }
        side.socket = None;
        side.waiting.clear();
        let is_rude = has_died || !side.stands || !side.received.is_empty();
        if side.has_failed {
            return;
        }
        if is_rude {
            self.fly(at, Segment::Reset, network);
        } else if side.departing != Departing::Finished {
            side.departing = Departing::Finished;
            self.fly(at, Segment::End, network);
        }
    }

    /// The node of a side has lost its power: nothing of the side is left, and nobody is told.
    pub fn vanish(&mut self, at: usize) {
        let side = &mut self.sides[at];
        (side.socket, side.is_gone) = (None, true);
        side.waiting.clear();
        side.received.clear();
    }

    /// Whether the second side has accepted or refused it.
    pub fn is_answered(&self) -> bool {
        self.sides[1].stands || self.sides[1].is_gone
    }

    /// Routers on its way.
    pub fn routers(&self, links: &[Link]) -> u8 {
        self.way.map_or(0, |(link, _)| links[link].routers)
    }

    /// Whether nothing can happen any more.
    pub fn is_over(&self) -> bool {
        let is_quiet = self.sides.iter().all(|side| side.flight.is_empty());
        self.sides.iter().all(|side| side.is_gone) && is_quiet
    }

    /// The other machine has read bytes of a side, which the side hears.
    pub fn make_room(&mut self, from: usize, count: usize, network: &mut Network<'_>) {
        self.sides[from].unread -= count;
        self.pump(from, network);
    }

    /// When the other side hears that the machine of this one has read.
    pub fn heard(&self, at: usize, network: &mut Network<'_>) -> Time {
        self.reach(at, 0, network)
    }

    /// Gives the network what waits at a side, as much as the window has room for.
    fn pump(&mut self, from: usize, network: &mut Network<'_>) {
        loop {
            let side = &mut self.sides[from];
            if side.is_gone || side.has_failed {
                return;
            }
            let room = (side.window - side.unread).min(side.waiting.len());
            if room == 0 {
                break;
            }
            let len = piece(room, network.random);
            let bytes: Vec<u8> = side.waiting.drain(..len).collect();
            side.unread += len;
            side.untold.taken += len;
            self.fly(from, Segment::Bytes(bytes), network);
        }
        let side = &mut self.sides[from];
        if side.waiting.is_empty() && side.departing == Departing::Finishing {
            side.departing = Departing::Finished;
            self.fly(from, Segment::End, network);
        }
    }

    fn fly(&mut self, from: usize, segment: Segment, network: &mut Network<'_>) {
        let len = if let Segment::Bytes(bytes) = &segment { bytes.len() } else { 0 };
        let due = self.reach(from, len, network);
        let flight = &mut self.sides[from].flight;
        let before = flight.back().map_or(Time::ZERO, |(due, _)| *due);
        flight.push_back((due.max(before), segment));
    }

    /// When what a side sends now arrives.
    fn reach(&self, from: usize, len: usize, network: &mut Network<'_>) -> Time {
        let Some((link, first)) = self.way else { return network.now.after(WITHIN) };
        let end = if from == 0 { first } else { 1 - first };
        network.links[link].reach(end, len + HEADERS_LEN, AGAIN, network.random, network.now)
    }

    /// Takes the next thing that a machine is to be told of its side.
    pub fn tell(&mut self, at: usize, random: &mut Random) -> Option<Told> {
        let peer = self.sides[1 - at].address;
        let side = &mut self.sides[at];
        side.socket?;
        if std::mem::take(&mut side.untold.connected) {
            return Some(Told::Connected { local: side.address, peer });
        }
        let reads = side.is_wanted && side.stands;
        if reads && !side.received.is_empty() {
            let len = piece(side.received.len(), random);
            return Some(Told::Bytes(side.received.drain(..len).collect()));
        }
        if side.has_failed {
            (side.socket, side.is_gone) = (None, true);
            side.waiting.clear();
            return Some(Told::Failed);
        }
        if side.untold.taken > 0 {
            return Some(Told::Taken(std::mem::take(&mut side.untold.taken)));
        }
        let has_ended = reads && std::mem::take(&mut side.untold.finished);
        has_ended.then_some(Told::Finished)
    }

    /// Gives the second side, which stands, its number, of which its machine is told.
    pub fn accept(&mut self, socket: Socket) {
        self.sides[1].socket = Some(socket);
        self.sides[1].untold.connected = true;
    }

    /// Whether both sides accept the segments of each other, over as many routers.
    pub fn agrees(&self, routers: u8) -> bool {
        let [one, other] = &self.sides;
        is_accepted(one, other, routers) && is_accepted(other, one, routers)
    }
}

impl Side {
    /// A side at a node.
    pub fn new(node: usize, address: Option<SocketAddr>, options: StreamOptions) -> Side {
        Side {
            node,
            socket: None,
            address,
            options,
            stands: false,
            waiting: VecDeque::new(),
            departing: Departing::Yes,
            flight: VecDeque::new(),
            planned: None,
            unread: 0,
            window: WINDOWS[0],
            stuck: None,
            received: VecDeque::new(),
            has_failed: false,
            is_gone: false,
            is_wanted: true,
            untold: Untold::default(),
        }
    }
}

/// Whether a side accepts what another sends: its Time To Live, and its signature or that it has
/// none.
fn is_accepted(at: &Side, from: &Side, routers: u8) -> bool {
    let key = |own: &Side, other: &Side| {
        let ip = other.address.map(|address| address.ip());
        let mut keys = own.options.md5.iter();
        keys.find(|(far, _)| Some(*far) == ip).map(|(_, secret)| secret.clone())
    };
    let ttl = from.options.ttl.unwrap_or(TTL).saturating_sub(routers);
    ttl >= at.options.ttl_min && key(at, from) == key(from, at)
}

/// Draws the length of a piece: often all there is, sometimes a few bytes.
fn piece(len: usize, random: &mut Random) -> usize {
    match random.below(4) {
        0 => len.min(1 + random.below(16) as usize),
        1 => 1 + random.below(len as u64) as usize,
        _ => len,
    }
}

/// Bytes of a side that the other machine may not have read: those of most, of a small machine, and
/// of a large one, which gets as many at once.
const WINDOWS: [usize; 4] = [64 << 10, 64 << 10, 4 << 10, 1 << 20];

/// Bytes of the headers of a segment on a link.
const HEADERS_LEN: usize = 66;

/// After this time what was lost is sent again for the first time.
const AGAIN: Duration = Duration::from_millis(200);

/// The longest time until it is sent again.
const AGAIN_MAX: Duration = Duration::from_secs(10);

/// How long a stream waits for a link that lets nothing pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time that anything takes within a node.
const WITHIN: Duration = Duration::from_micros(5);

/// The usual Time To Live.
const TTL: u8 = 64;
