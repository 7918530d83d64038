//! A socket of any kind, and what the kernel is to tell of it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use protocol_kit::{Arrival, Interface, Opening, Socket};

use crate::error::SocketError;
use crate::frames::Frames;
use crate::listener::Listener;
use crate::netlink::{self, Netlink};
use crate::packets::Packets;
use crate::stream::Stream;
use crate::told::{self, Received};
use crate::udp::Udp;

/// A socket of a machine.
pub(crate) struct Held {
    pub kind: Kind,
    /// What the kernel tells now; `None` for nothing.
    watched: Option<EpollFlags>,
}

/// What it is.
pub(crate) enum Kind {
    Udp(Udp),
    Packets(Packets),
    Frames(Frames),
    Netlink(Netlink),
    Listener(Box<Listener>),
    Stream(Box<Stream>),
}

impl Held {
    /// Opens a socket.
    pub fn open(number: Socket, opening: &Opening) -> Result<Held, SocketError> {
        Ok(Held::new(match opening {
            Opening::Datagrams { local, interface } => Kind::Udp(Udp::open(*local, *interface)?),
            Opening::Packets { protocol, local, interface } => {
                Kind::Packets(Packets::open(*protocol, *local, *interface)?)
            }
            Opening::Frames { interface, takes, groups } => {
                Kind::Frames(Frames::open(*interface, takes, groups)?)
            }
            Opening::Netlink { groups } => Kind::Netlink(Netlink::open(*groups)?),
            Opening::Listener { at, options, streams } => {
                let opened = Listener::open(at, options, streams);
                let failed = |error| SocketError::opening(format_args!("listener at {at}"), error);
                Kind::Listener(Box::new(opened.map_err(failed)?))
            }
            Opening::Stream { from, to, options } => {
                let opened = Stream::connect(number, *from, to, options);
                let failed = |error| SocketError::opening(format_args!("stream to {to}"), error);
                Kind::Stream(Box::new(opened.map_err(failed)?))
            }
            Opening::File(file) => {
                let why = io::Error::other("a file is no socket");
                return Err(SocketError::opening(&file.name, why));
            }
        }))
    }

    /// A socket of which the kernel tells nothing yet.
    pub fn new(kind: Kind) -> Held {
        Held { kind, watched: None }
    }

    /// Lets the kernel tell what is of interest now.
    pub fn watch(&mut self, number: Socket, epoll: &Epoll) -> nix::Result<()> {
        let wanted = match &self.kind {
            Kind::Listener(listener) => listener.interest(),
            Kind::Stream(stream) => stream.interest(),
            Kind::Netlink(netlink) => netlink.is_wanted.then_some(EpollFlags::EPOLLIN),
            _ => Some(EpollFlags::EPOLLIN),
        };
        let event = |flags| EpollEvent::new(flags, u64::from(number.0));
        match (self.watched, wanted) {
            (before, after) if before == after => Ok(()),
            (None, Some(flags)) => epoll.add(&self.kind, event(flags)),
            (Some(_), Some(flags)) => epoll.modify(&self.kind, &mut event(flags)),
            (_, None) => epoll.delete(&self.kind),
        }?;
        self.watched = wanted;
        Ok(())
    }
}

impl Kind {
    /// Receives the next message of a socket for messages; `None` if none waits.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn receive<'a>(
        &self,
        socket: Socket,
        buffer: &'a mut [u8],
    ) -> io::Result<Option<Arrival<'a>>> {
        let message = MESSAGE_MAX.min(buffer.len());
        Ok(match self {
            Kind::Udp(udp) => told::receive(udp, &mut buffer[..message])?.map(|received| {
                let Received { len, from, to, interface, ttl } = received;
                let bytes = &buffer[..len];
                Arrival::Datagram { socket, interface, from, to, ttl, bytes }
            }),
            Kind::Packets(packets) => {
                packets.receive(&mut buffer[..message])?.map(|(received, begin)| {
                    let Received { len, from, to, interface, ttl } = received;
                    let (from, bytes) = (from.ip(), &buffer[begin..len]);
                    Arrival::Packet { socket, interface, from, to, ttl, bytes }
                })
            }
            Kind::Frames(frames) => frames.receive(&mut buffer[..message])?.map(|len| {
                let (interface, bytes) = (frames.interface(), &buffer[..len]);
                Arrival::Frame { socket, interface, bytes }
            }),
            Kind::Netlink(netlink) if netlink.is_wanted => match netlink.receive(buffer)? {
                netlink::Told::Nothing => None,
                netlink::Told::Overrun => Some(Arrival::Overrun { socket }),
                netlink::Told::Messages(len) => {
                    Some(Arrival::Netlink { socket, bytes: &buffer[..len] })
                }
            },
            Kind::Netlink(_) | Kind::Listener(_) | Kind::Stream(_) => None,
        })
    }

    /// What it is called in an error.
    pub fn name(&self) -> String {
        match self {
            Kind::Udp(_) => "UDP".into(),
            Kind::Packets(_) => "packets".into(),
            Kind::Frames(_) => "frames".into(),
            Kind::Netlink(_) => "netlink".into(),
            Kind::Listener(listener) => format!("listener at {}", listener.at),
            Kind::Stream(stream) => format!("stream with {}", stream.peer),
        }
    }

    /// The local port of a socket for datagrams; 0 of others.
    pub fn port(&self) -> u16 {
        if let Kind::Udp(udp) = self { udp.port() } else { 0 }
    }

    /// The IP protocol of a socket for packets; 0 of others.
    pub fn protocol(&self) -> u8 {
        if let Kind::Packets(packets) = self { packets.protocol } else { 0 }
    }

    /// The interface of a socket for frames; none of others.
    pub fn interface(&self) -> Option<Interface> {
        if let Kind::Frames(frames) = self { Some(frames.interface()) } else { None }
    }

    pub fn udp(&mut self) -> Option<&mut Udp> {
        if let Kind::Udp(udp) = self { Some(udp) } else { None }
    }

    pub fn packets(&mut self) -> Option<&mut Packets> {
        if let Kind::Packets(packets) = self { Some(packets) } else { None }
    }

    pub fn frames(&mut self) -> Option<&mut Frames> {
        if let Kind::Frames(frames) = self { Some(frames) } else { None }
    }

    pub fn netlink(&mut self) -> Option<&mut Netlink> {
        if let Kind::Netlink(netlink) = self { Some(netlink) } else { None }
    }

    pub fn listener(&mut self) -> Option<&mut Listener> {
        if let Kind::Listener(listener) = self { Some(listener) } else { None }
    }

    pub fn stream(&mut self) -> Option<&mut Stream> {
        if let Kind::Stream(stream) = self { Some(stream) } else { None }
    }
}

impl AsFd for Kind {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Kind::Udp(socket) => socket.as_fd(),
            Kind::Packets(socket) => socket.as_fd(),
            Kind::Frames(socket) => socket.as_fd(),
            Kind::Netlink(socket) => socket.as_fd(),
            Kind::Listener(socket) => socket.as_fd(),
            Kind::Stream(socket) => socket.as_fd(),
        }
    }
}

/// The longest datagram, packet with its header, or frame that is handed over, in bytes.
const MESSAGE_MAX: usize = 9216;
