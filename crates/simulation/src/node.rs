//! A node: a machine, its sockets, and its clock.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Arrival, Input, Interface, Machine, Opening, Random, Socket, Takes, Time};

use super::disk::Disk;

/// Makes the machine of a node whenever it is born, with the commands that it is given then.
pub(super) type Birth<M> = Box<dyn Fn(&mut Random) -> (M, Vec<<M as Machine>::Command>)>;

pub(super) struct Node<M: Machine> {
    pub birth: Birth<M>,
    /// None while it is dead.
    pub machine: Option<M>,
    /// Whether it is dead and without power: nothing answers for it.
    pub is_off: bool,
    /// When it was born last.
    pub born: Time,
    pub sockets: BTreeMap<Socket, Opening>,
    /// Streams with a number, and the sides of them that the node has.
    pub streams: BTreeMap<Socket, (u64, usize)>,
    /// Streams that wait at listeners to be accepted.
    pub backlog: VecDeque<(Socket, u64)>,
    pub disk: Disk,
    /// While it hangs: nothing runs, and what arrives waits.
    pub hangs_until: Option<Time>,
    /// When it has last gone on after it hung.
    pub resumed: Time,
    waiting: VecDeque<Carried>,
    clock: DriftingClock,
    /// Wakes of an older plan are stale.
    pub wake: Option<Time>,
}

/// What a link carries, as it is at a node.
#[derive(Clone, Debug)]
pub(super) enum Carried {
    Datagram {
        interface: Interface,
        from: SocketAddr,
        to: SocketAddr,
        ttl: u8,
        bytes: Vec<u8>,
    },
    Packet(Packet),
    Frame {
        interface: Interface,
        bytes: Vec<u8>,
    },
    /// That the link is up or down.
    Link {
        interface: Interface,
        is_up: bool,
    },
}

impl Carried {
    /// Bytes on the link, with headers of Ethernet, IPv4 and UDP where it has them.
    pub fn len(&self) -> usize {
        match self {
            Carried::Datagram { bytes, .. } => 42 + bytes.len(),
            Carried::Packet(packet) => 34 + packet.bytes.len(),
            Carried::Frame { bytes, .. } => bytes.len(),
            Carried::Link { .. } => 0,
        }
    }
}

/// A packet of an IP protocol.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub protocol: u8,
    pub interface: Interface,
    pub from: IpAddr,
    pub to: IpAddr,
    pub ttl: u8,
    pub bytes: Vec<u8>,
}

/// A clock that starts anywhere and runs too fast or too slowly.
#[derive(Clone, Copy, Debug)]
struct DriftingClock {
    start: u64,
    drift_ppm: i64,
}

impl<M: Machine> Node<M> {
    pub fn new(birth: Birth<M>, random: &mut Random) -> Node<M> {
        let clock = DriftingClock {
            start: random.below(1 << 60),
            drift_ppm: random.below(2 * DRIFT_PPM_MAX + 1) as i64 - DRIFT_PPM_MAX as i64,
        };
        let sockets = BTreeMap::new();
        let waiting = VecDeque::new();
        Node {
            birth,
            machine: None,
            is_off: false,
            born: Time::ZERO,
            sockets,
            streams: BTreeMap::new(),
            backlog: VecDeque::new(),
            disk: Disk::default(),
            hangs_until: None,
            resumed: Time::ZERO,
            waiting,
            clock,
            wake: None,
        }
    }

    /// The node's own time.
    pub fn local(&self, now: Time) -> Time {
        let DriftingClock { start, drift_ppm } = self.clock;
        let drift = i128::from(now.0) * i128::from(drift_ppm) / 1_000_000;
        Time((i128::from(start) + i128::from(now.0) + drift) as u64)
    }

    /// The time of the world at which the node's clock shows a time, or just after.
    pub fn world(&self, local: Time, now: Time) -> Time {
        let ahead = i128::from(local.0) - i128::from(self.local(now).0);
        if ahead <= 0 {
            return now;
        }
        let ns = ahead * 1_000_000 / i128::from(1_000_000 + self.clock.drift_ppm) + 2;
        now.after(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    /// Its clock leaps ahead.
    pub fn leap(&mut self, span: Duration) {
        self.clock.start += span.as_nanos() as u64;
    }

    /// Takes in what a link has carried, or keeps it for when the node no longer hangs. Returns
    /// whether a socket has it.
    pub fn receive(&mut self, carried: Carried, now: Time) -> bool {
        if self.hangs_until.is_none() {
            return self.hand_over(&carried, now);
        }
        let has_room = self.waiting.len() < WAITING_MAX;
        if has_room {
            self.waiting.push_back(carried);
        }
        has_room
    }

    /// Hands over what has waited.
    pub fn catch_up(&mut self, now: Time) {
        (self.hangs_until, self.resumed) = (None, now);
        while let Some(carried) = self.waiting.pop_front() {
            self.hand_over(&carried, now);
        }
    }

    /// Ends the machine, and with it its sockets.
    pub fn die(&mut self) {
        self.machine = None;
        self.sockets.clear();
        self.streams.clear();
        self.backlog.clear();
        self.waiting.clear();
        self.disk.die();
        (self.hangs_until, self.wake) = (None, None);
    }

    /// Hands it to the sockets that take it: a datagram to one, a packet or frame to each.
    fn hand_over(&mut self, carried: &Carried, now: Time) -> bool {
        let local = self.local(now);
        let Some(machine) = &mut self.machine else { return false };
        if let Carried::Link { interface, is_up } = *carried {
            machine.input(local, Input::Arrival(Arrival::Link { interface, is_up }));
            return true;
        }
        let taking = self.sockets.iter().filter(|(_, opening)| takes(opening, carried));
        let count = if matches!(carried, Carried::Datagram { .. }) { 1 } else { usize::MAX };
        let mut has_one = false;
        for (socket, _) in taking.take(count) {
            machine.input(local, Input::Arrival(arrival(*socket, carried)));
            has_one = true;
        }
        has_one
    }
}

/// What it is to a socket that takes it.
fn arrival(socket: Socket, carried: &Carried) -> Arrival<'_> {
    match *carried {
        Carried::Datagram { interface, from, to, ttl, ref bytes } => {
            Arrival::Datagram { socket, interface, from, to: to.ip(), ttl, bytes }
        }
        Carried::Packet(Packet { interface, from, to, ttl, ref bytes, .. }) => {
            Arrival::Packet { socket, interface, from, to, ttl, bytes }
        }
        Carried::Frame { interface, ref bytes } => Arrival::Frame { socket, interface, bytes },
        Carried::Link { interface, is_up } => Arrival::Link { interface, is_up },
    }
}

/// Whether a socket takes it.
fn takes(opening: &Opening, carried: &Carried) -> bool {
    match (opening, carried) {
        (
            Opening::Datagrams { local, interface: only },
            Carried::Datagram { interface, to, .. },
        ) => {
            let is_its_port = local.port() == to.port();
            is_its_port && is_on(*only, *interface) && is_same(local.ip(), to.ip())
        }
        (Opening::Packets { protocol, local, interface: only }, Carried::Packet(packet)) => {
            let is_its_kind = *protocol == packet.protocol;
            is_its_kind && is_on(*only, packet.interface) && is_same(*local, packet.to)
        }
        (
            Opening::Frames { interface: only, takes, groups },
            Carried::Frame { interface, bytes },
        ) => {
            let is_its_kind = takes.iter().any(|kind| is_kind(kind, bytes));
            only == interface && is_its_kind && is_listened_to(groups, bytes)
        }
        _ => false,
    }
}

fn is_on(only: Option<Interface>, interface: Interface) -> bool {
    only.is_none_or(|only| only == interface)
}

/// Whether a socket of a local address takes what is sent to an address.
fn is_same(local: IpAddr, to: IpAddr) -> bool {
    local == to || (local.is_unspecified() && local.is_ipv4() == to.is_ipv4())
}

fn is_kind(kind: &Takes, frame: &[u8]) -> bool {
    // The protocol of IPv4, the Next Header of IPv6; other kinds have no such header.
    let protocol = match kind.ether_type {
        0x0800 => frame.get(14 + 9),
        0x86dd => frame.get(14 + 6),
        _ => None,
    };
    let is_its_type = frame.get(12..14) == Some(&kind.ether_type.to_be_bytes());
    is_its_type && kind.protocol.is_none_or(|wanted| protocol == Some(&wanted))
}

/// Whether an interface listens to the destination of a frame: to single addresses, to all at once,
/// and to groups that are asked for.
fn is_listened_to(groups: &[[u8; 6]], frame: &[u8]) -> bool {
    let Some(to) = frame.first_chunk::<6>() else { return false };
    to[0] & 1 == 0 || *to == [0xff; 6] || groups.contains(to)
}

/// Most by which a clock is too fast or too slow, in parts per million.
const DRIFT_PPM_MAX: u64 = 200;

/// Datagrams, packets and frames that a node's kernel keeps while its process hangs.
const WAITING_MAX: usize = 4096;
