//! One session in one cache line, and what its TCP segments say of it.
//!
//! Sessions of one mapping (RFC 4787 section 4.1: the same inside address and port whomever it
//! talks to) form a ring, so that a mapping needs no record of its own: every session of the ring
//! knows all of it.

use wire::tcp;
use zerocopy::FromZeros;

use crate::sessions::fields::{Marks, Place, Replica};
use crate::types::flow::{Far, Inside, Outside, SOFTWIRES};

/// A session.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Session {
    /// The subscriber's address, as in [`Inside`].
    pub inside: [u64; 2],
    /// Whom it talks to.
    pub far: Far,
    /// The subscriber's port and realm, as in [`Inside`].
    pub near: u32,
    /// The outside address.
    pub outside: u32,
    /// The outside port.
    pub outside_port: u16,
    /// What the outside address adds to a ones'-complement sum in place of the inside one.
    pub address_delta: u16,
    /// The same of addresses and ports together.
    pub transport_delta: u16,
    /// What TCP segments have said.
    pub tcp: TcpState,
    /// What is so of it.
    pub marks: Marks,
    /// When the last packet from inside came; of a mapping that its subscriber asked for when it
    /// ends, as [`Self::life`] tells.
    pub used: u32,
    /// The next session of the mapping.
    pub next: u32,
    /// The one before.
    pub previous: u32,
    /// The number of the subscriber.
    pub subscriber: u32,
    /// What of it stands in a table beside it, which depends on its kind: see [`Self::as_call`] and
    /// [`Self::as_granted`]; of any other session where its sequence numbers are kept.
    pub beside: Place,
    /// What is kept of it for a standby, or for an active NAT.
    pub replica: Replica,
}

/// For how long a session lives, as its record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until no packet has come from inside for its timeout, the last one at this time.
    Since(u32),
    /// Until this time, whatever packets come: a mapping that its subscriber asked for.
    Until(u32),
}

const _: () = assert!(size_of::<Session>() == 64);

impl Session {
    /// A session that was just opened.
    pub fn new(inside: &Inside, outside: (u32, u16), subscriber: u32, used: u32) -> Session {
        let (address, port) = outside;
        let address_delta = delta(&[!(inside.address[1] as u32)], &[address]);
        let ports = [u32::from(!inside.port()), u32::from(port), u32::from(address_delta)];
        Session {
            inside: inside.address,
            far: inside.far,
            near: inside.near,
            outside: address,
            outside_port: port,
            address_delta,
            transport_delta: delta(&ports, &[]),
            marks: match (inside.realm(), inside.address[0]) {
                (SOFTWIRES.., _) => Marks::SOFTWIRE,
                (0, 0) => Marks::NONE,
                (0, _) => Marks::IPV6,
                _ => Marks::VRF,
            }
            .with(match inside.far.protocol() {
                wire::protocol::GRE => Marks::CALL,
                _ => Marks::NONE,
            }),
            used,
            subscriber,
            ..Session::new_zeroed()
        }
    }

    /// For how long it lives.
    #[inline]
    pub fn life(&self) -> Life {
        if self.far.is_granted() { Life::Until(self.used) } else { Life::Since(self.used) }
    }

    /// Of a call of PPTP the other end's identifier, if it is known.
    pub fn as_call(&self) -> Option<u16> {
        let identifier = self.beside.get().filter(|_| self.marks.has(Marks::CALL))?;
        Some(identifier as u16)
    }

    /// Of a mapping that its subscriber asked for the place of its nonce.
    pub fn as_granted(&self) -> Option<u32> {
        self.beside.get().filter(|_| self.far.is_granted())
    }

    /// Whether packets from inside name it so.
    #[inline(always)]
    pub fn is_inside(&self, key: &Inside) -> bool {
        (self.inside[0] == key.address[0])
            & (self.inside[1] == key.address[1])
            & (self.far == key.far)
            & (self.near == key.near)
    }

    /// Whether packets from outside name it so.
    #[inline(always)]
    pub fn is_outside(&self, key: &Outside) -> bool {
        (self.far == key.far) & (self.own() == key.own)
    }

    /// Whether it belongs to the mapping of a packet from inside.
    #[inline(always)]
    pub fn is_of_mapping(&self, key: &Inside) -> bool {
        (self.inside == key.address)
            & (self.near == key.near)
            & (self.far.protocol() == key.far.protocol())
    }

    /// Its name on the inside.
    #[inline(always)]
    pub fn inside_key(&self) -> Inside {
        Inside { address: self.inside, far: self.far, near: self.near }
    }

    /// Its name on the outside.
    #[inline(always)]
    pub fn outside_key(&self) -> Outside {
        Outside { far: self.far, own: self.own() }
    }

    /// The name that the other subscriber's session has on the outside, where the other end is
    /// one's outside address. A query has one identifier for both ends.
    pub fn met(&self) -> Outside {
        let protocol = self.far.protocol();
        let (own, port) = match protocol {
            wire::protocol::ICMP => (0, self.outside_port),
            _ => (self.outside_port, self.far.port()),
        };
        Outside::new(self.far.address(), port, Far::new(protocol, self.outside, own))
    }

    #[inline(always)]
    fn own(&self) -> u64 {
        u64::from(self.outside) << 16 | u64::from(self.outside_port)
    }

    /// The realm, as in [`Inside`].
    #[inline(always)]
    pub fn realm(&self) -> u16 {
        self.near as u16
    }

    /// The subscriber's port.
    #[inline(always)]
    pub fn inside_port(&self) -> u16 {
        (self.near >> 16) as u16
    }
}

/// The ones'-complement sum of words and halves of words, folded to 16 bits.
fn delta(some: &[u32], others: &[u32]) -> u16 {
    let words = some.iter().chain(others);
    let sum = words.fold(wire::checksum::Sum::ZERO, |sum, &word| sum.add_u32(word));
    sum.fold()
}

/// What the TCP segments of a session have said so far (RFC 6146 section 3.5.2, RFC 7857 section
/// 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(transparent)]
pub struct TcpState(pub u8);

impl TcpState {
    /// Different states.
    pub const COUNT: usize = 32;

    const SYN_FROM_INSIDE: u8 = 1;
    const SYN_FROM_OUTSIDE: u8 = 2;
    const FIN_FROM_INSIDE: u8 = 4;
    const FIN_FROM_OUTSIDE: u8 = 8;
    const RESET: u8 = 16;

    /// The state after a segment with these flags.
    #[inline(always)]
    #[must_use]
    pub fn after(self, flags: u8, from_inside: bool) -> TcpState {
        let side = u8::from(!from_inside);
        let syn = u8::from(flags & tcp::FLAG_SYN != 0) << side;
        let fin = u8::from(flags & tcp::FLAG_FIN != 0) << (2 + side);
        let reset = u8::from(flags & tcp::FLAG_RST != 0) << 4;
        // A new SYN from inside begins a new connection on the same ports; any other segment from
        // there but a further RST says that the last RST was none of the other end's (RFC 6146
        // section 3.5.2.2, state TRANS).
        let known = match from_inside && self.is_closing() {
            true if syn != 0 => 0,
            true if reset == 0 => self.0 & !Self::RESET,
            _ => self.0,
        };
        TcpState(known | syn | fin | reset)
    }

    /// Whether one end has said RST, which the next segment from inside takes back.
    #[inline(always)]
    pub fn is_reset(self) -> bool {
        self.0 & Self::RESET != 0
    }

    /// Whether both ends have said SYN, and not both FIN, and nobody RST.
    pub fn is_established(self) -> bool {
        let syn = Self::SYN_FROM_INSIDE | Self::SYN_FROM_OUTSIDE;
        self.0 & syn == syn && !self.is_closing()
    }

    /// Whether both ends have said FIN, or one RST.
    #[inline(always)]
    pub fn is_closing(self) -> bool {
        let fin = Self::FIN_FROM_INSIDE | Self::FIN_FROM_OUTSIDE;
        self.0 & fin == fin || self.0 & Self::RESET != 0
    }

    /// A connection that is picked up in its middle.
    pub fn picked_up() -> TcpState {
        TcpState(Self::SYN_FROM_INSIDE | Self::SYN_FROM_OUTSIDE)
    }

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0) & (TcpState::COUNT - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: u8 = tcp::FLAG_SYN;
    const ACK: u8 = tcp::FLAG_ACK;
    const FIN: u8 = tcp::FLAG_FIN;
    const RST: u8 = tcp::FLAG_RST;

    /// The state after segments, those from inside marked by `true`.
    fn after(segments: &[(u8, bool)]) -> TcpState {
        let first = TcpState::default();
        segments.iter().fold(first, |state, &(flags, from_inside)| state.after(flags, from_inside))
    }

    #[test]
    fn states_are_those_of_rfc_6146() {
        let open = [(SYN, true), (SYN | ACK, false), (ACK, true)];
        let with = |more: &[(u8, bool)]| after(&[&open, more].concat());
        for (state, is_established, is_closing, what) in [
            (after(&[]), false, false, "CLOSED"),
            (after(&open[..1]), false, false, "V6 INIT"),
            (after(&[(SYN, false)]), false, false, "V4 INIT"),
            (after(&[(SYN, false), (SYN | ACK, true)]), true, false, "ESTABLISHED, from outside"),
            (after(&[(SYN, true), (SYN, false)]), true, false, "both open at once"),
            (with(&[]), true, false, "ESTABLISHED"),
            (with(&[(FIN | ACK, true)]), true, false, "V6 FIN RCV"),
            (with(&[(FIN | ACK, false)]), true, false, "V4 FIN RCV"),
            (with(&[(FIN, true), (FIN, false)]), false, true, "V4 FIN + V6 FIN RCV"),
            (with(&[(FIN, true), (FIN, false), (ACK, true)]), false, true, "the last ACK"),
            (with(&[(RST, false)]), false, true, "TRANS"),
            (with(&[(RST, true)]), false, true, "TRANS, from inside"),
            (with(&[(RST, false), (ACK, false)]), false, true, "nothing from inside yet"),
            (with(&[(RST, false), (RST, true)]), false, true, "a further RST"),
            (with(&[(RST, false), (ACK, true)]), true, false, "back from TRANS"),
            (with(&[(RST, false), (SYN, true)]), false, false, "a new connection"),
            (with(&[(FIN, true), (FIN, false), (SYN, true)]), false, false, "the same"),
            (with(&[(FIN, true), (FIN, false), (SYN, false)]), false, true, "not from outside"),
            (TcpState::picked_up(), true, false, "picked up"),
        ] {
            assert_eq!(
                (state.is_established(), state.is_closing()),
                (is_established, is_closing),
                "{what}"
            );
            assert!(state.index() < TcpState::COUNT);
        }
    }

    #[test]
    fn a_delta_is_the_difference_of_sums() {
        let far = Far::new(wire::protocol::UDP, 0x0b00_0001, 53);
        let inside = Inside::ipv4(0x0a01_0203, 5000, 0, far);
        let session = Session::new(&inside, (0xc612_0007, 1025), 0, 0);
        let sum = |words: &[u32]| delta(words, &[]);
        let (before, after) = (sum(&[0x0a01_0203, 5000]), sum(&[0xc612_0007, 1025]));
        assert_eq!(sum(&[u32::from(before), u32::from(session.transport_delta)]), after);
        let (before, after) = (sum(&[0x0a01_0203]), sum(&[0xc612_0007]));
        assert_eq!(sum(&[u32::from(before), u32::from(session.address_delta)]), after);
    }
}
