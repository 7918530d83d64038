//! The world: nodes and links in virtual time.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Departure, Input, Interface, Machine, Opening, Output, Random, Socket, Time};

use super::disk::Done;
use super::link::{Link, Quality};
use super::node::{Carried, Node, Packet};
use super::stream::Stream;

/// Nodes and links. Numbers of nodes and links are in the order in which they were added; that of a
/// link is also that of the interfaces at both of its ends.
pub struct World<M: Machine> {
    pub(super) nodes: Vec<Node<M>>,
    pub(super) links: Vec<Link>,
    pub(super) streams: BTreeMap<u64, Stream>,
    /// What is to happen, in its order.
    agenda: BTreeMap<(Time, u64), Happening>,
    pub(super) next: u64,
    pub(super) now: Time,
    pub(super) random: Random,
    said: Vec<Said<M::Report>>,
    /// A digest of everything that departed and was said, which the same seed repeats.
    trace: u64,
}

/// What a node has said.
#[derive(Clone, Copy, Debug)]
pub struct Said<R> {
    /// When, in the world's time.
    pub at: Time,
    /// The node.
    pub node: usize,
    /// What.
    pub report: R,
}

pub(super) enum Happening {
    Arrival {
        node: usize,
        carried: Carried,
    },
    /// Something of a side of a stream arrives at the other.
    Segment {
        stream: u64,
        from: usize,
    },
    /// A side of a stream hears that bytes of it were read.
    Room {
        stream: u64,
        from: usize,
        count: usize,
    },
    /// Listeners of a node have free numbers.
    Accept {
        node: usize,
    },
    Wake {
        node: usize,
    },
    Resumption {
        node: usize,
    },
    /// The disk of a node has done what was asked of a file, by its number.
    Disk {
        node: usize,
        socket: Socket,
        number: u64,
        done: Done,
    },
}

impl<M: Machine> World<M>
where
    M::Report: std::fmt::Debug,
{
    /// An empty world.
    pub fn new(seed: u64) -> World<M> {
        World {
            nodes: Vec::new(),
            links: Vec::new(),
            streams: BTreeMap::new(),
            agenda: BTreeMap::new(),
            next: 0,
            now: Time::ZERO,
            random: Random::new(seed),
            said: Vec::new(),
            trace: 0,
        }
    }

    /// Adds a node, which is dead until [`World::revive`]; returns its number.
    pub fn add_node(
        &mut self,
        birth: impl Fn(&mut Random) -> (M, Vec<M::Command>) + 'static,
    ) -> usize {
        self.nodes.push(Node::new(Box::new(birth), &mut self.random));
        self.nodes.len() - 1
    }

    /// Adds a link between two nodes with their addresses; returns its number.
    pub fn add_link(&mut self, ends: [(usize, IpAddr); 2], quality: Quality) -> usize {
        self.links.push(Link::new(ends, quality));
        self.links.len() - 1
    }

    /// Returns the interface of a link.
    pub fn interface(link: usize) -> Interface {
        Interface(link as u32)
    }

    /// Returns the time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the random numbers of the seed.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Returns a link.
    pub fn link(&mut self, link: usize) -> &mut Link {
        &mut self.links[link]
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of links.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Returns the machine of a node; `None` while the node is dead.
    pub fn machine(&self, node: usize) -> Option<&M> {
        self.nodes[node].machine.as_ref()
    }

    /// Returns what a node's clock shows.
    pub fn local(&self, node: usize) -> Time {
        self.nodes[node].local(self.now)
    }

    /// Returns the time at which a node was born last.
    pub fn born(&self, node: usize) -> Time {
        self.nodes[node].born
    }

    /// Returns the time at which a node has last gone on after it hung.
    pub fn resumed(&self, node: usize) -> Time {
        self.nodes[node].resumed
    }

    /// Returns true while a node hangs.
    pub fn hangs(&self, node: usize) -> bool {
        self.nodes[node].hangs_until.is_some()
    }

    /// Returns the digest of everything that has departed and was said.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Takes what was said since the last call.
    pub fn take_said(&mut self) -> Vec<Said<M::Report>> {
        std::mem::take(&mut self.said)
    }

    /// Does something with a node's machine at its time; `None` where there is none.
    pub fn with<R>(&mut self, node: usize, act: impl FnOnce(&mut M, Time) -> R) -> Option<R> {
        let local = self.nodes[node].local(self.now);
        let done = act(self.nodes[node].machine.as_mut()?, local);
        self.drive(node);
        Some(done)
    }

    /// Gives a node that lives a command.
    pub fn command(&mut self, node: usize, command: M::Command) {
        self.with(node, |machine, now| machine.input(now, Input::Command(command)));
    }

    /// Ends a node without notice to anybody.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].die();
        self.end_streams(node);
    }

    /// Takes the power from a node: its streams are gone, and nothing says so.
    pub fn cut_power(&mut self, node: usize) {
        self.nodes[node].die();
        self.nodes[node].is_off = true;
        self.vanish_streams(node);
    }

    /// Lets the clock of a node leap ahead.
    pub fn leap(&mut self, node: usize, span: Duration) {
        self.nodes[node].leap(span);
        self.drive(node);
    }

    /// Gives a dead node a new machine.
    pub fn revive(&mut self, node: usize) {
        if self.nodes[node].machine.is_some() {
            return;
        }
        let (machine, commands) = (self.nodes[node].birth)(&mut self.random);
        self.nodes[node].machine = Some(machine);
        self.nodes[node].is_off = false;
        self.nodes[node].born = self.now;
        commands.into_iter().for_each(|command| self.command(node, command));
        for link in (0..self.links.len()).filter(|link| self.links[*link].is_unplugged) {
            if self.links[link].ends.iter().any(|(at, _)| *at == node) {
                let carried = Carried::Link { interface: Self::interface(link), is_up: false };
                self.nodes[node].receive(carried, self.now);
            }
        }
        // A machine may want something of its own.
        self.drive(node);
    }

    /// Unplugs a link or plugs it in, which both ends are told at once.
    pub fn plug(&mut self, link: usize, is_up: bool) {
        if std::mem::replace(&mut self.links[link].is_unplugged, !is_up) != is_up {
            return;
        }
        for (node, _) in self.links[link].ends {
            let carried = Carried::Link { interface: Self::interface(link), is_up };
            self.plan(self.now, Happening::Arrival { node, carried });
        }
    }

    /// Stops a node for a time: it does nothing, and what arrives waits.
    pub fn hang(&mut self, node: usize, span: Duration) {
        if self.nodes[node].machine.is_some() {
            let until = self.now.after(span);
            self.nodes[node].hangs_until = Some(until);
            self.plan(until, Happening::Resumption { node });
        }
    }

    /// Lets time pass until something is said, or until `end`; false at the end.
    pub fn pass(&mut self, end: Time) -> bool {
        while self.said.is_empty() {
            let first = self.agenda.first_entry().filter(|entry| entry.key().0 <= end);
            let Some(entry) = first else {
                self.now = end;
                return false;
            };
            let ((time, _), happening) = entry.remove_entry();
            self.now = time;
            self.happen(happening);
        }
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrival { node, carried } => {
                if self.nodes[node].receive(carried, self.now) && !self.hangs(node) {
                    self.drive(node);
                }
            }
            Happening::Segment { stream, from } => self.arrive(stream, from),
            Happening::Room { stream, from, count } => self.make_room(stream, from, count),
            Happening::Accept { node } => {
                self.accept(node);
                self.drive(node);
            }
            Happening::Disk { node, socket, number, done } => {
                self.disk((node, socket), number, done);
            }
            Happening::Wake { node } => {
                if self.nodes[node].wake == Some(self.now) {
                    self.nodes[node].wake = None;
                    self.drive(node);
                }
            }
            Happening::Resumption { node } => {
                if self.nodes[node].hangs_until == Some(self.now) {
                    self.nodes[node].catch_up(self.now);
                    self.resume_streams(node);
                    self.drive(node);
                }
            }
        }
    }

    /// Polls a node until it wants nothing more, and plans its next wake.
    pub(super) fn drive(&mut self, node: usize) {
        if self.hangs(node) {
            return;
        }
        let now = self.nodes[node].local(self.now);
        for _ in 0..OUTPUTS_MAX {
            let Some(machine) = &mut self.nodes[node].machine else { return };
            match machine.poll(now) {
                Some(Output::Report(report)) => {
                    self.note(node, format!("{report:?}").as_bytes());
                    self.said.push(Said { at: self.now, node, report });
                }
                Some(Output::Departure(departure)) => self.depart(node, departure),
                None => {
                    let deadline = machine.deadline();
                    self.plan_wake(node, deadline);
                    return;
                }
            }
        }
        panic!("node {node} at {} does not come to rest", self.now);
    }

    fn plan_wake(&mut self, node: usize, deadline: Option<Time>) {
        let wake = deadline.map(|deadline| {
            // A machine that has just been polled has nothing to do at this very time.
            self.nodes[node].world(deadline, self.now).max(Time(self.now.0 + 1))
        });
        if self.nodes[node].wake != wake {
            self.nodes[node].wake = wake;
            if let Some(wake) = wake {
                self.plan(wake, Happening::Wake { node });
            }
        }
    }

    fn depart(&mut self, node: usize, departure: Departure) {
        match departure {
            Departure::Open { socket, opening } => {
                let before = self.nodes[node].sockets.insert(socket, opening);
                assert!(before.is_none(), "node {node} opens {socket:?} twice");
                self.begin(node, socket);
                self.begin_file(node, socket);
            }
            Departure::Close { socket } => {
                let before = self.nodes[node].sockets.remove(&socket);
                assert!(before.is_some(), "node {node} closes {socket:?}, which is not open");
                self.close(node, socket);
                self.close_file(node, socket);
            }
            Departure::Datagram { socket, interface, via, from, to, ttl, bytes } => {
                let Opening::Datagrams { local, .. } = self.open_socket(node, socket) else {
                    panic!("node {node}: {socket:?} is not for datagrams");
                };
                let from = SocketAddr::new(from, local.port());
                self.note(node, &bytes);
                let next = via.unwrap_or(to.ip());
                if let Some((link, end)) = self.way(node, interface, next) {
                    let ttl = ttl.saturating_sub(self.links[link].routers);
                    let interface = Self::interface(link);
                    let datagram = Carried::Datagram { interface, from, to, ttl, bytes };
                    self.send(link, end, datagram, via.is_some());
                }
            }
            Departure::Packet { socket, interface, from, to, ttl, bytes } => {
                let Opening::Packets { protocol, .. } = *self.open_socket(node, socket) else {
                    panic!("node {node}: {socket:?} is not for packets");
                };
                self.note(node, &bytes);
                if let Some((link, end)) = self.way(node, interface, to) {
                    let ttl = ttl.saturating_sub(self.links[link].routers);
                    let interface = Self::interface(link);
                    let packet = Packet { protocol, interface, from, to, ttl, bytes };
                    self.send(link, end, Carried::Packet(packet), false);
                }
            }
            Departure::Frame { socket, bytes } => {
                let Opening::Frames { interface, .. } = *self.open_socket(node, socket) else {
                    panic!("node {node}: {socket:?} is not for frames");
                };
                self.note(node, &bytes);
                let link = interface.0 as usize;
                let ends = self.links.get(link).map(|link| link.ends);
                let end = ends.and_then(|ends| ends.iter().position(|(at, _)| *at == node));
                let end = end.unwrap_or_else(|| panic!("node {node} is not on {interface:?}"));
                // Behind a router there is another network.
                if self.links[link].routers == 0 {
                    self.send(link, end, Carried::Frame { interface, bytes }, false);
                }
            }
            Departure::Netlink { socket, .. } => {
                panic!("node {node}: {socket:?} is for a kernel, which nodes do not have");
            }
            Departure::Bytes { socket, bytes } => {
                assert!(!bytes.is_empty(), "node {node}: no bytes depart on {socket:?}");
                self.note(node, &bytes);
                if self.write_file(node, socket, &bytes) {
                    return;
                }
                self.with_stream(node, socket, |stream, side, network| {
                    stream.depart(side, &bytes, network)
                });
            }
            Departure::Finish { socket } => {
                if self.finish_file(node, socket) {
                    return;
                }
                self.with_stream(node, socket, |stream, side, network| {
                    stream.finish(side, network)
                });
            }
            Departure::Read { socket, is_wanted } => {
                self.with_stream(node, socket, |stream, side, _| {
                    stream.read(side, is_wanted);
                    true
                });
            }
        }
    }

    fn open_socket(&self, node: usize, socket: Socket) -> &Opening {
        let open = self.nodes[node].sockets.get(&socket);
        open.unwrap_or_else(|| panic!("node {node}: {socket:?} is not open"))
    }

    /// The link from a node to an address, and the end of the link at which the node is.
    pub(super) fn way(
        &self,
        node: usize,
        interface: Option<Interface>,
        to: IpAddr,
    ) -> Option<(usize, usize)> {
        let all = self.links.iter().enumerate();
        let mut named = all.filter(|(link, _)| {
            interface.is_none_or(|interface| interface == Self::interface(*link))
        });
        named.find_map(|(number, link)| {
            let end = link.ends.iter().position(|(at, _)| *at == node)?;
            (link.ends[1 - end].1 == to).then_some((number, end))
        })
    }

    /// Carries something over a link; a datagram that is to be returned goes back by the same link,
    /// as the neighbour's forwarding sends it.
    fn send(&mut self, link: usize, end: usize, mut carried: Carried, is_returned: bool) {
        let len = carried.len();
        let (ends, now) = (self.links[link].ends, self.now);
        let mut arrivals = self.links[link].carry(end, len, &mut self.random, now);
        let mut to_end = 1 - end;
        if is_returned {
            if self.nodes[ends[to_end].0].machine.is_none() {
                return;
            }
            if let Carried::Datagram { ttl, .. } = &mut carried {
                *ttl = ttl.saturating_sub(1);
            }
            let mut back = Vec::new();
            for time in arrivals {
                back.extend(self.links[link].carry(to_end, len, &mut self.random, time));
            }
            (arrivals, to_end) = (back, end);
        }
        for time in arrivals {
            let node = ends[to_end].0;
            self.plan(time, Happening::Arrival { node, carried: carried.clone() });
        }
    }

    /// A number that nothing in the world has had.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn plan(&mut self, time: Time, happening: Happening) {
        let number = self.number();
        self.agenda.insert((time, number), happening);
    }

    pub(super) fn note(&mut self, node: usize, bytes: &[u8]) {
        let words = [self.now.0.to_le_bytes(), (node as u64).to_le_bytes()];
        for byte in words.as_flattened().iter().chain(bytes) {
            self.trace = (self.trace ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Outputs after one event that no machine needs.
const OUTPUTS_MAX: usize = 100_000;
