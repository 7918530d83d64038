//! Frames that one worker hands over to another, because that one has the user.
//!
//! ```text
//!  in place of the destination:  03 | kind | port at which the frame came in | asked | 0 | 0
//! ```
//! Workers have ports towards each other; what neighbours say goes there too, and is told from
//! these by its destination. No station has such an address: it is a group's.

use packet::PortId;
use wire::ethernet;

use super::gateway::ACCESS;

/// What a worker says of a frame that it hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handed {
    /// What it is.
    pub kind: Kind,
    /// The port of the gateway at which it came in.
    pub port: PortId,
    /// How many workers do not know the bearer.
    pub asked: u8,
}

/// What is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A frame with a packet for the gateway itself, as it came in or reassembled.
    Tunnel = 1,
    /// A packet for a user, out of the tunnel of another one.
    Packet = 2,
}

impl Handed {
    /// Says it in a frame.
    pub fn mark(self, frame: &mut [u8]) {
        if let Some(place) = frame.first_chunk_mut::<{ ethernet::offset::SOURCE }>() {
            *place = [GROUP, self.kind as u8, self.port.0, self.asked, 0, 0];
        }
    }

    /// What a frame from another worker says; none of what neighbours say.
    pub fn read(frame: &[u8]) -> Option<Handed> {
        let [GROUP, kind, port, asked, 0, 0] = *frame.first_chunk()? else { return None };
        let kind = match kind {
            1 => Kind::Tunnel,
            2 => Kind::Packet,
            _ => return None,
        };
        Some(Handed { kind, port: PortId(port), asked })
    }
}

/// No station's address begins so, and no group's that is in use.
const GROUP: u8 = 3;

/// What is said of a packet for a user that is handed over.
pub(super) const PACKET: Handed = Handed { kind: Kind::Packet, port: ACCESS, asked: 0 };
