//! The streams of a world: who begins, accepts and closes them, and who hears of it.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use protocol_kit::{Arrival, Endpoint, Input, Machine, Opening, Socket, StreamOptions};

use super::stream::{Network, Segment, Side, Stream, Told, Way};
use super::world::{Happening, World};

impl<M: Machine> World<M>
where
    M::Report: std::fmt::Debug,
{
    /// Begins a stream if a socket that was opened is one.
    pub(super) fn begin(&mut self, node: usize, socket: Socket) {
        let opening = self.nodes[node].sockets.get(&socket);
        let Some(Opening::Stream { from, to, options }) = opening.cloned() else { return };
        let Some((way, ends)) = self.ends(node, from, &to, &options) else {
            self.nodes[node].sockets.remove(&socket);
            self.tell(node, Arrival::Failed { socket });
            return;
        };
        let far = way.map_or(node, |(link, end)| self.links[link].ends[1 - end].0);
        let [own_address, far_address] = ends;
        // The options of the second side are those of the listener that it meets.
        let mut side = Side::new(node, own_address, options);
        side.socket = Some(socket);
        let sides = [side, Side::new(far, far_address, StreamOptions::default())];
        let stream = Stream::begin(way, to, sides, &mut self.network());
        // What is planned for a stream that is over must not meet another one.
        let number = self.number();
        self.streams.insert(number, stream);
        self.nodes[node].streams.insert(socket, (number, 0));
        self.settle(number);
    }

    /// The way of a stream (`None` within a node) and the addresses of its ends; none if there is
    /// no way.
    fn ends(
        &mut self,
        node: usize,
        from: Option<SocketAddr>,
        to: &Endpoint,
        options: &StreamOptions,
    ) -> Option<(Way, [Option<SocketAddr>; 2])> {
        let Endpoint::Tcp(to) = *to else { return Some((None, [None, None])) };
        let is_own = |ip: IpAddr| {
            self.links.iter().any(|link| link.ends.contains(&(node, ip))) || ip.is_loopback()
        };
        let (way, own) = if is_own(to.ip()) {
            (None, to.ip())
        } else {
            let (link, end) = self.way(node, options.interface, to.ip())?;
            (Some((link, end)), self.links[link].ends[end].1)
        };
        let given = from.filter(|from| !from.ip().is_unspecified());
        let ip = given.map_or(own, |from| from.ip());
        let port = from.map_or(0, |from| from.port());
        let port = if port == 0 { 32768 + self.random.below(28232) as u16 } else { port };
        (ip == own).then(|| (way, [Some(SocketAddr::new(ip, port)), Some(to)]))
    }

    /// Closes the stream or listener that a socket was.
    pub(super) fn close(&mut self, node: usize, socket: Socket) {
        if let Some((number, side)) = self.nodes[node].streams.remove(&socket) {
            self.end(number, side, false);
        }
        let backlog = std::mem::take(&mut self.nodes[node].backlog);
        let (gone, kept): (Backlog, Backlog) =
            backlog.into_iter().partition(|(listener, _)| *listener == socket);
        self.nodes[node].backlog = kept;
        gone.into_iter().for_each(|(_, number)| self.end(number, 1, true));
        // Its number may be one that a listener waits for.
        if !self.nodes[node].backlog.is_empty() {
            self.plan(self.now, Happening::Accept { node });
        }
    }

    /// Ends the streams of a node that has died.
    pub(super) fn end_streams(&mut self, node: usize) {
        let ends = self.sides_of(node);
        ends.into_iter().for_each(|(number, side)| self.end(number, side, true));
    }

    /// Lets the streams of a node vanish that has lost its power.
    pub(super) fn vanish_streams(&mut self, node: usize) {
        for (number, side) in self.sides_of(node) {
            self.change(number, |stream, _| stream.vanish(side));
            self.settle(number);
        }
    }

    /// The streams of which a node has a side, and the side.
    fn sides_of(&self, node: usize) -> Vec<(u64, usize)> {
        let of_node = |(number, stream): (&u64, &Stream)| {
            let sides = (0..2).filter(|side| stream.sides[*side].node == node);
            // Who has not been reached yet has nothing to say.
            let stands = |side: &usize| *side == 0 || stream.is_answered();
            sides.filter(stands).map(|side| (*number, side)).collect::<Vec<_>>()
        };
        self.streams.iter().flat_map(of_node).collect()
    }

    fn end(&mut self, number: u64, side: usize, has_died: bool) {
        self.change(number, |stream, network| stream.close(side, has_died, network));
        self.settle(number);
    }

    /// Does something with a stream of a node that is open.
    pub(super) fn with_stream(
        &mut self,
        node: usize,
        socket: Socket,
        act: impl FnOnce(&mut Stream, usize, &mut Network<'_>) -> bool,
    ) {
        let found = self.nodes[node].streams.get(&socket).copied();
        let (number, side) =
            found.unwrap_or_else(|| panic!("node {node}: {socket:?} is no open stream"));
        let is_done = self.change(number, |stream, network| act(stream, side, network));
        assert!(is_done != Some(false), "node {node}: {socket:?} does not stand, or is finished");
        self.settle(number);
    }

    /// Something arrives at a side of a stream.
    pub(super) fn arrive(&mut self, number: u64, from: usize) {
        let now = self.now;
        if !self.streams.get_mut(&number).is_some_and(|stream| stream.is_due(from, now)) {
            return;
        }
        let nodes = self.nodes_of(number);
        let is_off = nodes.get(1 - from).is_some_and(|node| self.nodes[*node].is_off);
        let arrived = self.change(number, |stream, network| {
            let segment = stream.arrive(from, is_off, network)?;
            if segment != Segment::Begin {
                stream.receive(1 - from, segment.clone(), network);
            }
            Some(segment)
        });
        if arrived == Some(Some(Segment::Begin)) {
            self.meet(number);
        }
        self.settle(number);
        nodes.into_iter().for_each(|node| self.drive(node));
    }

    /// A side hears that bytes of it were read.
    pub(super) fn make_room(&mut self, number: u64, from: usize, count: usize) {
        let nodes = self.nodes_of(number);
        self.change(number, |stream, network| stream.make_room(from, count, network));
        self.settle(number);
        nodes.into_iter().for_each(|node| self.drive(node));
    }

    /// The beginning of a stream is at the node that it is for.
    fn meet(&mut self, number: u64) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let (node, routers) = (stream.sides[1].node, stream.routers(&self.links));
        let mut sockets = self.nodes[node].sockets.iter();
        let met = sockets.find_map(|(socket, opening)| match opening {
            Opening::Listener { at, options, .. } if is_for(at, &stream.to) => {
                Some((*socket, options))
            }
            _ => None,
        });
        let Some((listener, options)) = met else {
            self.change(number, |stream, network| stream.answer(false, network));
            return;
        };
        stream.sides[1].options = options.clone();
        let waiting = self.nodes[node].backlog.iter().filter(|(at, _)| *at == listener).count();
        if waiting >= BACKLOG || !stream.agrees(routers) {
            stream.ignore(self.now);
            return;
        }
        self.change(number, |stream, network| stream.answer(true, network));
        self.nodes[node].backlog.push_back((listener, number));
        self.plan(self.now, Happening::Accept { node });
    }

    /// Accepts streams that wait at listeners of a node, as far as there are numbers.
    pub(super) fn accept(&mut self, node: usize) {
        if self.hangs(node) {
            return;
        }
        let waiting = std::mem::take(&mut self.nodes[node].backlog);
        for (listener, number) in waiting {
            let free = match self.nodes[node].sockets.get(&listener) {
                Some(Opening::Listener { streams, .. }) => self.free_number(node, streams.clone()),
                _ => continue,
            };
            let Some(stream) = self.streams.get_mut(&number) else { continue };
            let Some(socket) = free else {
                self.nodes[node].backlog.push_back((listener, number));
                continue;
            };
            stream.accept(socket);
            let to = stream.sides[0].address.map_or(Endpoint::Unix(String::new()), Endpoint::Tcp);
            let opening = Opening::Stream {
                from: stream.sides[1].address,
                to,
                options: stream.sides[1].options.clone(),
            };
            self.nodes[node].sockets.insert(socket, opening);
            self.nodes[node].streams.insert(socket, (number, 1));
            self.settle(number);
        }
    }

    fn free_number(&self, node: usize, mut streams: Range<u32>) -> Option<Socket> {
        let sockets = &self.nodes[node].sockets;
        streams.find(|number| !sockets.contains_key(&Socket(*number))).map(Socket)
    }

    /// Tells a node that goes on what of its streams has waited.
    pub(super) fn resume_streams(&mut self, node: usize) {
        self.accept(node);
        let numbers: Vec<u64> =
            self.nodes[node].streams.values().map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.settle(number));
    }

    /// Tells both machines what has become of a stream, and plans what arrives next.
    fn settle(&mut self, number: u64) {
        for at in 0..2 {
            while let Some((node, socket, told)) = self.untold(number, at) {
                let arrival = match &told {
                    Told::Connected { local, peer } => {
                        Arrival::Connected { socket, local: *local, peer: *peer }
                    }
                    Told::Taken(count) => Arrival::Taken { socket, count: *count },
                    Told::Bytes(bytes) => Arrival::Bytes { socket, bytes },
                    Told::Finished => Arrival::Finished { socket },
                    Told::Failed => Arrival::Failed { socket },
                };
                self.tell(node, arrival);
                match told {
                    Told::Bytes(bytes) => {
                        let heard = self.change(number, |one, network| one.heard(at, network));
                        let room =
                            Happening::Room { stream: number, from: 1 - at, count: bytes.len() };
                        self.plan(heard.unwrap_or(self.now), room);
                    }
                    Told::Failed => {
                        self.nodes[node].sockets.remove(&socket);
                        self.close(node, socket);
                    }
                    _ => {}
                }
            }
        }
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.is_over() {
            self.streams.remove(&number);
            return;
        }
        let now = self.now;
        let due = [0, 1].map(|from| stream.unplanned(from, now));
        for (from, due) in due.into_iter().enumerate() {
            if let Some(due) = due {
                self.plan(due, Happening::Segment { stream: number, from });
            }
        }
    }

    /// Takes what the machine at a side is to be told; nothing while it hangs or is dead.
    fn untold(&mut self, number: u64, at: usize) -> Option<(usize, Socket, Told)> {
        let stream = self.streams.get_mut(&number)?;
        let (node, socket) = (stream.sides[at].node, stream.sides[at].socket?);
        let lives = self.nodes[node].machine.is_some() && self.nodes[node].hangs_until.is_none();
        let told = lives.then(|| stream.tell(at, &mut self.random)).flatten()?;
        Some((node, socket, told))
    }

    /// The nodes of a stream.
    fn nodes_of(&self, number: u64) -> Vec<usize> {
        let stream = self.streams.get(&number);
        stream.map_or(Vec::new(), |stream| stream.sides.iter().map(|side| side.node).collect())
    }

    fn change<T>(
        &mut self,
        number: u64,
        act: impl FnOnce(&mut Stream, &mut Network<'_>) -> T,
    ) -> Option<T> {
        let stream = self.streams.get_mut(&number)?;
        let (links, random, now) = (&mut self.links[..], &mut self.random, self.now);
        Some(act(stream, &mut Network { links, random, now }))
    }

    fn network(&mut self) -> Network<'_> {
        Network { links: &mut self.links, random: &mut self.random, now: self.now }
    }

    pub(super) fn tell(&mut self, node: usize, arrival: Arrival<'_>) {
        let local = self.nodes[node].local(self.now);
        if let Some(machine) = &mut self.nodes[node].machine {
            machine.input(local, Input::Arrival(arrival));
        }
    }
}

/// Streams that wait, and their listeners.
type Backlog = VecDeque<(Socket, u64)>;

/// Whether a listener is where a stream goes to.
fn is_for(at: &Endpoint, to: &Endpoint) -> bool {
    match (at, to) {
        (Endpoint::Tcp(at), Endpoint::Tcp(to)) => {
            let is_any = at.ip().is_unspecified() && at.is_ipv4() == to.is_ipv4();
            at.port() == to.port() && (at.ip() == to.ip() || is_any)
        }
        _ => at == to,
    }
}

/// Streams that wait at a listener.
const BACKLOG: usize = 64;
