//! A socket of any kind.

use std::os::fd::{AsFd, BorrowedFd};

use protocol_kit::Opening;

use crate::error::SocketError;
use crate::frames::Frames;
use crate::packets::Packets;
use crate::udp::Udp;

/// A socket of a machine.
pub(crate) enum Kind {
    Udp(Udp),
    Packets(Packets),
    Frames(Frames),
}

impl Kind {
    /// Opens a socket.
    pub fn open(opening: &Opening) -> Result<Kind, SocketError> {
        match opening {
            Opening::Datagrams { local, interface } => Udp::open(*local, *interface).map(Kind::Udp),
            Opening::Packets { protocol, local, interface } => {
                Packets::open(*protocol, *local, *interface).map(Kind::Packets)
            }
            Opening::Frames { interface, takes, groups } => {
                Frames::open(*interface, takes, groups).map(Kind::Frames)
            }
            other => {
                let none = std::io::Error::from(std::io::ErrorKind::Unsupported);
                Err(SocketError::opening(format_args!("{other:?}"), none))
            }
        }
    }
}

impl AsFd for Kind {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Kind::Udp(socket) => socket.as_fd(),
            Kind::Packets(socket) => socket.as_fd(),
            Kind::Frames(socket) => socket.as_fd(),
        }
    }
}
