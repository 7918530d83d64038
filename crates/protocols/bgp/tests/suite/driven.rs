//! A peer that is driven by hand, and what it says and wants.

use std::net::IpAddr;
use std::time::Duration;

use protocol_bgp::config::Config;
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{EXTENDED_LEN_MAX, HEADER_LEN, Kind, write_keepalive};
use protocol_bgp::notification::{Cause, Notification};
use protocol_bgp::open::Open;
use protocol_bgp::peer::{Event, Peer, State};
use protocol_kit::{Departure, Socket, Time};

/// The connection that the peer's speaker begins.
pub const OWN: Socket = Socket(1);

/// One that the other side begins.
pub const THEIRS: Socket = Socket(2);

pub const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

/// Our AS and identifier, and those of the other side.
pub const LOCAL: (u32, u32) = (65_001, 0x0a00_0001);
pub const REMOTE: (u32, u32) = (65_002, 0x0a00_0002);

pub fn config() -> Config {
    Config::new(LOCAL.0, LOCAL.1, PEER, REMOTE.0)
}

/// What the other side says first.
pub fn remote() -> Config {
    Config::new(REMOTE.0, REMOTE.1, PEER, LOCAL.0)
}

/// The peer with its time, and everything that it did.
pub struct Driven {
    pub peer: Peer,
    pub now: Time,
    /// What it said, in words.
    pub said: Vec<String>,
    /// What the owner answers to an UPDATE.
    pub answer: Result<(), Notification>,
    /// What it wants of the network, but for bytes.
    pub wants: Vec<String>,
    /// Bytes by the connection on which they leave, as messages in words.
    pub sent: Vec<(Socket, String)>,
}

impl Driven {
    /// A peer that was started.
    pub fn new(config: Config) -> Driven {
        let mut driven = Driven {
            peer: Peer::new(config, OWN, 7),
            now: Time::ZERO,
            said: Vec::new(),
            answer: Ok(()),
            wants: Vec::new(),
            sent: Vec::new(),
        };
        driven.peer.start(driven.now);
        driven.settle();
        driven
    }

    /// One whose own connection stands.
    pub fn connected(config: Config) -> Driven {
        let mut driven = Driven::new(config);
        driven.peer.connected(OWN, driven.now);
        driven.settle();
        driven
    }

    /// One with a session over its own connection.
    pub fn established(config: Config, remote: &Config) -> Driven {
        let mut driven = Driven::connected(config);
        driven.feed(OWN, &opening(remote));
        assert_eq!(driven.state(), State::Established);
        driven
    }

    pub fn state(&self) -> State {
        self.peer.state().0
    }

    /// Does something with the peer, and takes what comes of it.
    pub fn act(&mut self, act: impl FnOnce(&mut Peer, Time, &mut protocol_bgp::peer::Sink<'_>)) {
        let (said, answer) = (&mut self.said, &self.answer);
        act(&mut self.peer, self.now, &mut |event| {
            said.push(words(&event));
            if let Event::Update(_) = event { answer.clone() } else { Ok(()) }
        });
        self.settle();
    }

    pub fn feed(&mut self, socket: Socket, bytes: &[u8]) {
        self.act(|peer, now, sink| peer.bytes(socket, bytes, now, sink));
    }

    pub fn accept(&mut self, socket: Socket) {
        self.act(|peer, now, _| peer.accept(socket, now));
    }

    /// Lets time pass, with every deadline in between.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(deadline) = self.peer.deadline().filter(|deadline| *deadline <= end) {
            self.now = deadline.max(self.now);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    /// Judges time and takes everything that is wanted, which the transport takes at once.
    pub fn settle(&mut self) {
        let said = &mut self.said;
        self.peer.tick(self.now, &mut |event| {
            said.push(words(&event));
            Ok(())
        });
        while let Some(departure) = self.peer.poll() {
            match departure {
                Departure::Bytes { socket, bytes } => {
                    self.sent.extend(messages(&bytes).into_iter().map(|one| (socket, one)));
                    self.peer.taken(socket, bytes.len(), self.now);
                }
                Departure::Open { socket, .. } => self.wants.push(format!("open {}", socket.0)),
                Departure::Close { socket } => self.wants.push(format!("close {}", socket.0)),
                Departure::Finish { socket } => self.wants.push(format!("finish {}", socket.0)),
                Departure::Read { socket, is_wanted } => {
                    self.wants.push(format!("read {} {is_wanted}", socket.0));
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(self.peer.deadline().is_none_or(|deadline| deadline > self.now));
    }

    /// Takes what was sent on a connection, in words.
    pub fn take_sent(&mut self, socket: Socket) -> Vec<String> {
        let all = std::mem::take(&mut self.sent);
        let (these, others) = all.into_iter().partition(|(one, _)| *one == socket);
        self.sent = others;
        let these: Vec<(Socket, String)> = these;
        these.into_iter().map(|(_, message)| message).collect()
    }

    pub fn take_wants(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wants)
    }

    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// The connection ends with this NOTIFICATION, after which nothing is written and the peer is
    /// waited for.
    #[track_caller]
    pub fn ends_with(&mut self, socket: Socket, cause: Cause, data: &[u8]) {
        let what = Notification::with(cause, data);
        assert_eq!(self.take_sent(socket).last(), Some(&format!("NOTIFICATION {what} {data:?}")));
        assert_eq!(self.take_wants().last(), Some(&format!("finish {}", socket.0)));
    }
}

fn words(event: &Event<'_>) -> String {
    match event {
        Event::Established(negotiated) => format!("established with AS {}", negotiated.peer_as),
        Event::Down { why, is_graceful } => {
            format!("down{}: {why}", if *is_graceful { " for a while" } else { "" })
        }
        Event::Refresh(family, what) => format!("refresh {family} {what:?}"),
        Event::Update(body) => format!("update {body:?}"),
    }
}

/// Messages in words.
pub fn messages(bytes: &[u8]) -> Vec<String> {
    let (mut framing, mut all, mut rest) = (Framing::default(), Vec::new(), bytes);
    while let Some(message) = framing.next(&mut rest, EXTENDED_LEN_MAX).expect("messages") {
        all.push(match message.kind {
            Kind::Notification => {
                let what = Notification::read(message.body).unwrap();
                format!("NOTIFICATION {what} {:?}", what.data)
            }
            kind => format!("{kind:?}").to_uppercase(),
        });
    }
    all
}

/// An OPEN.
pub fn open(config: &Config) -> Vec<u8> {
    said(&config.open())
}

pub fn said(open: &Open) -> Vec<u8> {
    let mut bytes = Vec::new();
    open.write(&mut bytes);
    bytes
}

pub fn keepalive() -> Vec<u8> {
    let mut bytes = Vec::new();
    write_keepalive(&mut bytes);
    bytes
}

/// An OPEN and the KEEPALIVE behind it.
pub fn opening(config: &Config) -> Vec<u8> {
    [open(config), keepalive()].concat()
}

pub fn notification(cause: Cause) -> Vec<u8> {
    let mut bytes = Vec::new();
    Notification::new(cause).write(&mut bytes);
    bytes
}

/// A message of a kind with a body.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = (HEADER_LEN + body.len()) as u16;
    [&[0xff; 16][..], &len.to_be_bytes(), &[kind], body].concat()
}

/// An UPDATE that says nothing.
pub fn update() -> Vec<u8> {
    message(2, &[0; 4])
}

pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
