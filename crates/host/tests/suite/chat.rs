//! A machine that speaks over sockets of all kinds, and keeps what arrives at each.
//!
//! The first speaks and the second answers. What it keeps does not depend on what a driver may
//! choose: interfaces' numbers, ports, and the sizes of pieces.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Interface, Machine, Opening, Output, STREAM_ROOM, Socket,
    StreamOptions, Takes, Time,
};

/// What one of two knows.
#[derive(Clone)]
pub struct Place {
    pub is_first: bool,
    pub own: IpAddr,
    pub far: IpAddr,
    pub interface: Interface,
    /// A Unix socket for itself.
    pub path: String,
}

/// What a driver says to it.
#[derive(Clone, Copy)]
pub enum Command {
    /// To open what the other expects.
    Open,
    /// To speak.
    Speak,
}

/// The machine.
pub struct Chat {
    place: Place,
    outputs: VecDeque<Output<()>>,
    kept: BTreeMap<u32, Kept>,
    /// When the first opens its streams.
    opens: Option<Time>,
}

/// What has arrived at a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// In its order: messages, the beginning and the end of a stream.
    pub events: Vec<String>,
    /// Bytes of a stream.
    pub bytes: Vec<u8>,
    /// Bytes of a stream that were taken.
    pub taken: usize,
    departed: usize,
    /// Bytes that are to depart when there is room.
    waiting: VecDeque<u8>,
    reads: bool,
    has_ended: bool,
    is_over: bool,
}

const DATAGRAMS: u32 = 0;
const PACKETS: u32 = 1;
const FRAMES: u32 = 2;
const LISTENER: u32 = 3;
const LOCAL_LISTENER: u32 = 4;
const STREAM: u32 = 5;
const REFUSED: u32 = 6;
const LOCAL_STREAM: u32 = 7;
/// The first number of those that the second accepts.
const ACCEPTED: u32 = 10;
const LOCAL_ACCEPTED: u32 = 20;

const PORT: u16 = 7001;
const PROTOCOL: u8 = 253;
const LLDP: u16 = 0x88cc;
const GROUP: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 0x0e];

/// Bytes that the first sends on a stream.
const TOTAL: usize = 3 * STREAM_ROOM + 1;

impl Chat {
    pub fn new(place: Place) -> Chat {
        let kept = BTreeMap::new();
        Chat { place, outputs: VecDeque::new(), kept, opens: None }
    }

    /// What has arrived, by sockets.
    pub fn kept(&self) -> &BTreeMap<u32, Kept> {
        &self.kept
    }

    /// Whether all has arrived that the other sends.
    pub fn is_done(&self) -> bool {
        let has = |socket: u32, count| {
            self.kept.get(&socket).is_some_and(|kept| kept.events.len() >= count)
        };
        let is_over = |socket| self.kept.get(&socket).is_some_and(|kept| kept.is_over);
        let messages = has(DATAGRAMS, 1) && has(PACKETS, 1) && has(FRAMES, 1);
        messages
            && match self.place.is_first {
                true => {
                    is_over(STREAM)
                        && is_over(REFUSED)
                        && is_over(LOCAL_STREAM)
                        && is_over(LOCAL_ACCEPTED)
                }
                false => is_over(ACCEPTED),
            }
    }

    fn want(&mut self, departure: Departure) {
        self.outputs.push_back(Output::Departure(departure));
    }

    fn open(&mut self, socket: u32, opening: Opening) {
        self.want(Departure::Open { socket: Socket(socket), opening });
    }

    fn open_all(&mut self) {
        let Place { own, interface, ref path, is_first, .. } = self.place;
        let path = path.clone();
        let only = Some(interface);
        let local = SocketAddr::new(own, PORT);
        self.open(DATAGRAMS, Opening::Datagrams { local, interface: only });
        let protocol = PROTOCOL;
        self.open(PACKETS, Opening::Packets { protocol, local: own, interface: only });
        let takes = vec![Takes { ether_type: LLDP, protocol: None }];
        self.open(FRAMES, Opening::Frames { interface, takes, groups: vec![GROUP] });
        let options = StreamOptions { ttl: Some(255), ttl_min: 255, ..StreamOptions::default() };
        if is_first {
            let (at, streams) = (Endpoint::Unix(path), LOCAL_ACCEPTED..LOCAL_ACCEPTED + 2);
            let options = StreamOptions::default();
            self.open(LOCAL_LISTENER, Opening::Listener { at, options, streams });
        } else {
            let (at, streams) = (Endpoint::Tcp(local), ACCEPTED..ACCEPTED + 2);
            self.open(LISTENER, Opening::Listener { at, options, streams });
        }
    }

    fn open_streams(&mut self) {
        let Place { far, ref path, .. } = self.place;
        let path = path.clone();
        let options = StreamOptions { ttl: Some(255), ..StreamOptions::default() };
        for (socket, to) in [
            (STREAM, Endpoint::Tcp(SocketAddr::new(far, PORT))),
            (REFUSED, Endpoint::Tcp(SocketAddr::new(far, PORT + 1))),
            (LOCAL_STREAM, Endpoint::Unix(path)),
        ] {
            self.kept.entry(socket).or_default().reads = true;
            let options = options.clone();
            self.open(socket, Opening::Stream { from: None, to, options });
        }
    }

    /// Speaks or answers by a datagram, a packet and a frame.
    fn send(&mut self, kind: u32, text: &str, ttl: u8) {
        let Place { own, far, interface, .. } = self.place;
        let (socket, from, bytes) = (Socket(kind), own, text.as_bytes().to_vec());
        let only = Some(interface);
        self.want(match kind {
            DATAGRAMS => Departure::Datagram {
                socket,
                interface: only,
                via: None,
                from,
                to: SocketAddr::new(far, PORT),
                ttl,
                bytes,
            },
            PACKETS => Departure::Packet { socket, interface: only, from, to: far, ttl, bytes },
            _ => {
                let mut frame = [&GROUP[..], &[2; 6], &LLDP.to_be_bytes(), &bytes].concat();
                frame.resize(60, 0);
                Departure::Frame { socket, bytes: frame }
            }
        });
    }

    fn message(&mut self, socket: Socket, interface: Interface, text: String) {
        assert_eq!(interface, self.place.interface);
        let kept = self.kept.entry(socket.0).or_default();
        kept.events.push(text);
        if !self.place.is_first {
            self.send(socket.0, "an answer", 8);
        }
    }

    /// Whether the machine answers on a stream what it reads.
    fn answers(&self, socket: u32) -> bool {
        socket >= ACCEPTED
    }

    fn stream(&mut self, socket: Socket, arrival: Arrival<'_>) {
        let answers = self.answers(socket.0);
        let kept = self.kept.entry(socket.0).or_default();
        match arrival {
            Arrival::Connected { local, peer, .. } => {
                let ips = [local, peer].map(|end| end.map(|end| end.ip()));
                kept.events.push(format!("connected {ips:?}"));
                kept.reads = true;
                if !answers {
                    kept.waiting.extend((0..TOTAL).map(|at| (at * 7 / 3 + at / 251) as u8));
                    // No more is to come.
                    kept.has_ended = true;
                }
            }
            Arrival::Bytes { bytes, .. } => {
                kept.bytes.extend(bytes);
                if answers {
                    kept.waiting.extend(bytes);
                }
            }
            Arrival::Taken { count, .. } => kept.taken += count,
            Arrival::Finished { .. } => {
                kept.events.push("finished".to_owned());
                match answers {
                    true => kept.has_ended = true,
                    false => {
                        kept.is_over = true;
                        self.want(Departure::Close { socket });
                        return;
                    }
                }
            }
            _ => {
                kept.events.push("failed".to_owned());
                kept.is_over = true;
                return;
            }
        }
        self.go_on(socket);
    }

    /// Sends what there is room for; an answerer that has too much to send reads no more.
    fn go_on(&mut self, socket: Socket) {
        let answers = self.answers(socket.0);
        let Some(kept) = self.kept.get_mut(&socket.0) else { return };
        let room = STREAM_ROOM - (kept.departed - kept.taken);
        let len = room.min(kept.waiting.len());
        let mut wanted = Vec::new();
        if len > 0 {
            let bytes: Vec<u8> = kept.waiting.drain(..len).collect();
            kept.departed += len;
            wanted.push(Departure::Bytes { socket, bytes: bytes.into() });
        }
        let reads = kept.waiting.is_empty();
        if answers && reads != kept.reads {
            kept.reads = reads;
            wanted.push(Departure::Read { socket, is_wanted: reads });
        }
        if reads && kept.has_ended && len > 0 && !answers {
            wanted.push(Departure::Finish { socket });
        }
        if answers && kept.has_ended && kept.taken == kept.departed && reads && !kept.is_over {
            kept.is_over = true;
            wanted.push(Departure::Finish { socket });
            wanted.push(Departure::Close { socket });
        }
        wanted.into_iter().for_each(|departure| self.want(departure));
    }
}

impl Machine for Chat {
    type Command = Command;
    type Report = ();

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(Command::Open) => self.open_all(),
            Input::Command(Command::Speak) => {
                for kind in [DATAGRAMS, PACKETS, FRAMES] {
                    self.send(kind, "a question", 9);
                }
                self.opens = Some(now.after(Duration::from_millis(30)));
            }
            Input::Arrival(arrival) => match arrival {
                Arrival::Datagram { socket, interface, from, to, ttl, bytes } => {
                    let text = String::from_utf8_lossy(bytes);
                    let text = format!("datagram {from} {to} {ttl} {text}");
                    self.message(socket, interface, text);
                }
                Arrival::Packet { socket, interface, from, to, ttl, bytes } => {
                    let text = String::from_utf8_lossy(bytes);
                    self.message(socket, interface, format!("packet {from} {to} {ttl} {text}"));
                }
                Arrival::Frame { socket, interface, bytes } => {
                    self.message(socket, interface, format!("frame {bytes:x?}"));
                }
                Arrival::Connected { socket, .. }
                | Arrival::Bytes { socket, .. }
                | Arrival::Taken { socket, .. }
                | Arrival::Finished { socket }
                | Arrival::Failed { socket } => self.stream(socket, arrival),
                // The simulated network has no kernel.
                Arrival::Link { .. } | Arrival::Netlink { .. } | Arrival::Overrun { .. } => {}
            },
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<()>> {
        if self.opens.take_if(|opens| *opens <= now).is_some() {
            self.open_streams();
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Time> {
        self.opens
    }
}
