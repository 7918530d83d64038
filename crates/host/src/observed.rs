//! What a host tells its observer: how it stands, and the messages of a trace.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protocol_kit::{Arrival, Departure, Interface, Machine, Socket, Time};

use crate::counters::Counters;
use crate::frame::{self, PIECE_MAX, Piece};
use crate::observer::{Observer, Record, Watch};
use crate::socket::{Held, Kind};
use crate::stream::Stream;
use crate::told;

/// A host's side of its observer.
pub(crate) struct Observed {
    observer: Arc<Observer>,
    watch: Arc<Watch>,
    told_at: Option<Time>,
    /// When the machine wanted to be polled, at the end of the last turn.
    due: Option<Time>,
    /// Streams that are traced.
    flows: BTreeMap<Socket, Flow>,
}

/// A stream that is traced: its ends, the local one first, and the bytes that have passed, those
/// that were sent first.
struct Flow {
    ends: [SocketAddr; 2],
    passed: [u32; 2],
}

/// A message as it passes.
#[derive(Clone, Copy)]
struct Message<'a> {
    socket: Socket,
    interface: Option<Interface>,
    is_heard: bool,
    around: Around,
    bytes: &'a [u8],
}

/// What is around the bytes of a message.
#[derive(Clone, Copy)]
enum Around {
    Datagram { from: SocketAddr, to: SocketAddr, ttl: u8 },
    Packet { protocol: u8, from: IpAddr, to: IpAddr, ttl: u8 },
    Frame,
    Stream,
}

impl Observed {
    /// A host of this name.
    pub fn new(observer: &Arc<Observer>, name: &str) -> Observed {
        let (observer, watch) = (Arc::clone(observer), observer.join(name));
        Observed { observer, watch, told_at: None, due: None, flows: BTreeMap::new() }
    }

    /// A turn begins: what was due at the end of the last one counts.
    pub fn begins(&mut self, now: Time) {
        let due = self.due.take();
        self.waited(due, now);
    }

    /// A deadline was waited for. Returns whether the turn is late.
    pub fn waited(&self, deadline: Option<Time>, now: Time) -> bool {
        let lag = deadline.map_or(Duration::ZERO, |deadline| now.since(deadline));
        self.watch.lagged(lag);
        lag > LATE
    }

    /// A turn has ended.
    pub fn ends<M: Machine>(
        &mut self,
        (machine, now): (&M, Time),
        counters: Counters,
        sockets: &BTreeMap<Socket, Held>,
    ) {
        // A machine that wants more at once says so by a time that is past.
        self.due = machine.deadline().map(|due| due.max(now));
        self.watch.turned(self.due);
        if self.told_at.is_none_or(|at| now.since(at) >= TOLD_EVERY) {
            self.told_at = Some(now);
            let is_stream = |held: &&Held| matches!(held.kind, Kind::Stream(_));
            let streams = sockets.values().filter(is_stream).count();
            self.watch.tell(machine.neighbours(now), counters, (sockets.len(), streams));
        }
        if !self.observer.trace().is_on() {
            self.flows.clear();
        }
    }

    /// A socket is opened.
    pub fn opened<M: Machine>(&self, socket: Socket, machine: &M) {
        if let Some(trace) = machine.trace(socket) {
            self.watch.speaks(trace.protocol);
        }
    }

    /// A socket is closed.
    pub fn closed(&mut self, number: Socket) {
        self.flows.remove(&number);
    }

    /// Bytes of a stream may pass.
    pub fn follow(&mut self, number: Socket, stream: &Stream) {
        if self.observer.trace().is_on() && !self.flows.contains_key(&number) {
            let ends = stream.ends().unwrap_or_else(|| frame::unix_ends(number.0));
            self.flows.insert(number, Flow { ends, passed: [0; 2] });
        }
    }

    /// The machine hears of an arrival, at a socket of this kind if it is of messages.
    #[inline]
    pub fn hears<M: Machine>(&mut self, arrival: &Arrival<'_>, machine: &M, kind: Option<&Kind>) {
        if self.observer.trace().is_on() {
            let Some(message) = heard(arrival, kind) else { return };
            self.keep(message, machine);
        }
    }

    /// The machine wants something of the network.
    #[inline]
    pub fn sends<M: Machine>(
        &mut self,
        departure: &Departure,
        machine: &M,
        sockets: &BTreeMap<Socket, Held>,
    ) {
        if self.observer.trace().is_on() {
            let kind = |socket: &Socket| sockets.get(socket).map(|held| &held.kind);
            if let Departure::Bytes { socket, .. } = departure
                && let Some(Kind::Stream(stream)) = kind(socket)
            {
                self.follow(*socket, stream);
            }
            let Some(message) = sent(departure, kind) else { return };
            self.keep(message, machine);
        }
    }

    /// Keeps a message if the trace is of its protocol.
    fn keep<M: Machine>(&mut self, message: Message<'_>, machine: &M) {
        let Message { socket, interface, is_heard, around, bytes } = message;
        let Some(shown) = machine.trace(socket) else { return };
        if !self.observer.trace().wants(shown.protocol) {
            return;
        }
        let mut bytes = bytes.to_vec();
        shown.content.hide(&mut bytes);
        let frames = match around {
            Around::Datagram { from, to, ttl } => vec![frame::datagram(from, to, ttl, &bytes)],
            Around::Packet { protocol, from, to, ttl } => {
                vec![frame::packet(protocol, from, to, ttl, &bytes)]
            }
            Around::Frame => vec![bytes],
            Around::Stream => match self.flows.get_mut(&socket) {
                Some(flow) => flow.segments(is_heard, &bytes),
                None => return,
            },
        };
        let name = interface.and_then(|interface| told::name_of(interface).ok());
        let interface = name.unwrap_or_default().to_string_lossy().into_owned();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for frame in frames {
            let unix_ns = now.as_nanos() as u64;
            let interface = interface.clone();
            self.observer.trace().keep(Record { unix_ns, is_heard, interface, frame });
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.observer.leave(&self.watch);
    }
}

impl Flow {
    /// The segments in which bytes pass.
    fn segments(&mut self, is_heard: bool, bytes: &[u8]) -> Vec<Vec<u8>> {
        let [local, peer] = self.ends;
        let (from, to) = if is_heard { (peer, local) } else { (local, peer) };
        let (way, other) = (usize::from(is_heard), usize::from(!is_heard));
        let segment = |bytes: &[u8]| {
            let (sequence, acknowledged) = (self.passed[way], self.passed[other]);
            self.passed[way] = sequence.wrapping_add(bytes.len() as u32);
            frame::segment(from, to, Piece { sequence, acknowledged, bytes })
        };
        bytes.chunks(PIECE_MAX).map(segment).collect()
    }
}

fn heard<'a>(arrival: &Arrival<'a>, kind: Option<&Kind>) -> Option<Message<'a>> {
    let is_heard = true;
    match *arrival {
        Arrival::Datagram { socket, interface, from, to, ttl, bytes } => {
            let to = SocketAddr::new(to, kind.map_or(0, Kind::port));
            let (interface, around) = (Some(interface), Around::Datagram { from, to, ttl });
            Some(Message { socket, interface, is_heard, around, bytes })
        }
        Arrival::Packet { socket, interface, from, to, ttl, bytes } => {
            let protocol = kind.map_or(0, Kind::protocol);
            let (interface, around) = (Some(interface), Around::Packet { protocol, from, to, ttl });
            Some(Message { socket, interface, is_heard, around, bytes })
        }
        Arrival::Frame { socket, interface, bytes } => {
            let (interface, around) = (Some(interface), Around::Frame);
            Some(Message { socket, interface, is_heard, around, bytes })
        }
        Arrival::Bytes { socket, bytes } => {
            Some(Message { socket, interface: None, is_heard, around: Around::Stream, bytes })
        }
        _ => None,
    }
}

fn sent<'a, 'k>(
    departure: &'a Departure,
    kind: impl Fn(&Socket) -> Option<&'k Kind>,
) -> Option<Message<'a>> {
    let (socket, interface, around, bytes): (_, _, _, &[u8]) = match departure {
        Departure::Datagram { socket, interface, from, to, ttl, bytes, .. } => {
            let from = SocketAddr::new(*from, kind(socket).map_or(0, Kind::port));
            (socket, *interface, Around::Datagram { from, to: *to, ttl: *ttl }, bytes)
        }
        Departure::Packet { socket, interface, from, to, ttl, bytes } => {
            let protocol = kind(socket).map_or(0, Kind::protocol);
            let around = Around::Packet { protocol, from: *from, to: *to, ttl: *ttl };
            (socket, *interface, around, bytes)
        }
        Departure::Frame { socket, bytes } => {
            let interface = kind(socket).and_then(Kind::interface);
            (socket, interface, Around::Frame, bytes)
        }
        Departure::Bytes { socket, bytes } => (socket, None, Around::Stream, bytes),
        _ => return None,
    };
    Some(Message { socket: *socket, interface, is_heard: false, around, bytes })
}

/// A turn is late when it begins this much behind the deadline.
const LATE: Duration = Duration::from_millis(1);

/// How often neighbours and counters are told.
const TOLD_EVERY: Duration = Duration::from_secs(1);
