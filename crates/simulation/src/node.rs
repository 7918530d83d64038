//! A node: a machine, its sockets, and its clock.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Arrival, Input, Interface, Machine, Random, Socket, Time};

/// Makes the machine of a node whenever it is born, with the commands that it is given then.
pub(super) type Birth<M> = Box<dyn Fn(&mut Random) -> (M, Vec<<M as Machine>::Command>)>;

pub(super) struct Node<M: Machine> {
    pub birth: Birth<M>,
    /// None while it is dead.
    pub machine: Option<M>,
    /// When it was born last.
    pub born: Time,
    pub sockets: BTreeMap<Socket, Bound>,
    /// While it hangs: nothing runs, and what arrives waits.
    pub hangs_until: Option<Time>,
    /// When it has last gone on after it hung.
    pub resumed: Time,
    waiting: VecDeque<Datagram>,
    clock: DriftingClock,
    /// Wakes of an older plan are stale.
    pub wake: Option<Time>,
}

/// An open socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub local: SocketAddr,
    pub interface: Option<Interface>,
}

/// A datagram at a node.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    pub interface: Interface,
    pub from: SocketAddr,
    pub to: SocketAddr,
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
            born: Time::ZERO,
            sockets,
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

    /// Takes in a datagram, or keeps it for when the node no longer hangs. Returns whether a socket
    /// has it.
    pub fn receive(&mut self, datagram: Datagram, now: Time) -> bool {
        if self.hangs_until.is_none() {
            return self.hand_over(&datagram, now);
        }
        let has_room = self.waiting.len() < WAITING_MAX;
        if has_room {
            self.waiting.push_back(datagram);
        }
        has_room
    }

    /// Hands over what has waited.
    pub fn catch_up(&mut self, now: Time) {
        (self.hangs_until, self.resumed) = (None, now);
        while let Some(datagram) = self.waiting.pop_front() {
            self.hand_over(&datagram, now);
        }
    }

    /// Ends the machine, and with it its sockets.
    pub fn die(&mut self) {
        self.machine = None;
        self.sockets.clear();
        self.waiting.clear();
        (self.hangs_until, self.wake) = (None, None);
    }

    fn hand_over(&mut self, datagram: &Datagram, now: Time) -> bool {
        let Datagram { interface, from, to, ttl, ref bytes } = *datagram;
        let is_bound = |bound: &Bound| {
            bound.local.port() == to.port()
                && bound.interface.is_none_or(|own| own == interface)
                && is_same(bound.local.ip(), to.ip())
        };
        let socket = self.sockets.iter().find(|(_, bound)| is_bound(bound)).map(|(one, _)| *one);
        let local = self.local(now);
        let (Some(socket), Some(machine)) = (socket, &mut self.machine) else { return false };
        let to = to.ip();
        let arrival = Arrival::Datagram { socket, interface, from, to, ttl, bytes };
        machine.input(local, Input::Arrival(arrival));
        true
    }
}

/// Whether a socket of a local address takes what is sent to an address.
fn is_same(local: IpAddr, to: IpAddr) -> bool {
    local == to || (local.is_unspecified() && local.is_ipv4() == to.is_ipv4())
}

/// Most by which a clock is too fast or too slow, in parts per million.
const DRIFT_PPM_MAX: u64 = 200;

/// Datagrams that a node's kernel keeps while its process hangs.
const WAITING_MAX: usize = 4096;
