//! ICMP errors: those about packets of sessions, translated inside out (RFC 5508 section 4).
//!
//! The error goes to whom the quoted packet came from, and quotes it as that one sent it. Its
//! checksum was verified and is made anew; that of the quoted IP header is adjusted, and the quoted
//! transport's, which nobody may need, as far as it is there.

pub(crate) mod answers;
mod errors;
pub(crate) mod host;

use wire::bytes::{put_u16, put_u32, u16_at, u32_at};
use wire::checksum::{self, Sum};
use wire::{ethernet, icmp, ipv4, protocol, tcp, udp};

use crate::sessions::rewrite::adjusted;
use crate::sessions::session::Session;
use crate::types::class::Shape;

/// An error from outside about a packet that the session's subscriber sent.
pub fn error_to_inside(frame: &mut [u8], session: &Session, shape: Shape) {
    let inside = session.inside[1] as u32;
    set_address(frame, ipv4::offset::DESTINATION, inside);
    let change = Change {
        address: (ipv4::offset::SOURCE, session.outside, inside),
        port: (0, session.outside_port, session.inside_port()),
        delta: !session.transport_delta,
        address_delta: !session.address_delta,
    };
    change.apply(frame, session.far.protocol(), shape);
}

/// An error from inside about a packet that was sent to the session's subscriber. Whoever sent it,
/// a router inside maybe, is known outside by the session's address (RFC 5508 REQ-4).
pub fn error_to_outside(frame: &mut [u8], session: &Session, shape: Shape) {
    set_address(frame, ipv4::offset::SOURCE, session.outside);
    let inside = session.inside[1] as u32;
    let change = Change {
        address: (ipv4::offset::DESTINATION, inside, session.outside),
        port: (2, session.inside_port(), session.outside_port),
        delta: session.transport_delta,
        address_delta: session.address_delta,
    };
    change.apply(frame, session.far.protocol(), shape);
}

/// What becomes different in a quoted packet.
struct Change {
    /// The field, what it was and what it becomes.
    address: (usize, u32, u32),
    /// The same of the port, from the start of the transport header.
    port: (usize, u16, u16),
    delta: u16,
    address_delta: u16,
}

impl Change {
    fn apply(&self, frame: &mut [u8], protocol: u8, shape: Shape) {
        let message = usize::from(shape.transport);
        let end = usize::from(shape.len).min(frame.len());
        let quoted = message + icmp::HEADER_LEN;
        put_u32(frame, quoted + self.address.0, self.address.2);
        let at = quoted + ipv4::offset::CHECKSUM;
        put_u16(frame, at, adjusted(u16_at(frame, at), self.address_delta));
        let transport = quoted + usize::from(frame[quoted] & 0x0f) * 4;
        match protocol {
            protocol::ICMP => {
                put_u16(frame, transport + icmp::offset::REST, self.port.2);
                let at = transport + icmp::offset::CHECKSUM;
                let sum = checksum::update_u16(u16_at(frame, at), self.port.1, self.port.2);
                put_u16(frame, at, sum);
            }
            protocol => {
                put_u16(frame, transport + self.port.0, self.port.2);
                let at = match protocol {
                    protocol::TCP => transport + tcp::offset::CHECKSUM,
                    _ => transport + udp::offset::CHECKSUM,
                };
                let has_sum = at + 2 <= end
                    && (protocol == protocol::TCP || u16_at(frame, at) != udp::CHECKSUM_NONE);
                if has_sum {
                    put_u16(frame, at, adjusted(u16_at(frame, at), self.delta));
                }
            }
        }
        put_u16(frame, message + icmp::offset::CHECKSUM, 0);
        let sum = Sum::ZERO.add_bytes(&frame[message..end]).checksum();
        put_u16(frame, message + icmp::offset::CHECKSUM, sum);
    }
}

/// Changes an address of the outer header, which makes a hop.
fn set_address(frame: &mut [u8], field: usize, address: u32) {
    let at = ethernet::HEADER_LEN + ipv4::offset::CHECKSUM;
    let old = u32_at(frame, ethernet::HEADER_LEN + field);
    put_u32(frame, ethernet::HEADER_LEN + field, address);
    let sum = checksum::update_u32(u16_at(frame, at), old, address);
    let ttl = ethernet::HEADER_LEN + ipv4::offset::TTL;
    let before = u16_at(frame, ttl);
    frame[ttl] = frame[ttl].wrapping_sub(1);
    put_u16(frame, at, checksum::update_u16(sum, before, u16_at(frame, ttl)));
}
