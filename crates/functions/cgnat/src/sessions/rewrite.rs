//! Changing addresses and ports in a frame, checksums with them (RFC 1624).
//!
//! Checksums are adjusted by what changed, never made anew: a packet that was damaged stays so.

use wire::bytes::{put_u16, put_u32, u16_at};
use wire::checksum::Sum;
use wire::{ethernet, icmp, ipv4, protocol, tcp, udp};

use crate::sessions::session::Session;
use crate::types::class::Shape;
use crate::types::gre;

/// Makes a packet from inside one that comes from the session's outside address and port, a hop
/// older.
#[inline(always)]
pub fn to_outside(frame: &mut [u8], session: &Session, shape: Shape) {
    let transport = usize::from(shape.transport);
    put_u32(frame, IP + ipv4::offset::SOURCE, session.outside);
    adjust_ip(frame, session.address_delta);
    match session.far.protocol() {
        protocol::ICMP => set_identifier(frame, transport, session.outside_port),
        protocol => {
            put_u16(frame, transport + udp::offset::SOURCE_PORT, session.outside_port);
            adjust_transport(frame, (transport, protocol), session.transport_delta);
        }
    }
}

/// Makes a packet from outside one that goes to the session's subscriber, a hop older.
#[inline(always)]
pub fn to_inside(frame: &mut [u8], session: &Session, shape: Shape) {
    let transport = usize::from(shape.transport);
    put_u32(frame, IP + ipv4::offset::DESTINATION, session.inside[1] as u32);
    adjust_ip(frame, !session.address_delta);
    match session.far.protocol() {
        protocol::ICMP => set_identifier(frame, transport, session.inside_port()),
        protocol => {
            put_u16(frame, transport + udp::offset::DESTINATION_PORT, session.inside_port());
            adjust_transport(frame, (transport, protocol), !session.transport_delta);
        }
    }
}

/// The same as [`to_outside`] for a call: its packets bear the identifier of the other end, which
/// stays.
pub fn call_to_outside(frame: &mut [u8], session: &Session) {
    put_u32(frame, IP + ipv4::offset::SOURCE, session.outside);
    adjust_ip(frame, session.address_delta);
}

/// The same as [`to_inside`] for a call. Enhanced GRE has no checksum (RFC 2637 section 4.1).
pub fn call_to_inside(frame: &mut [u8], session: &Session, shape: Shape) {
    put_u32(frame, IP + ipv4::offset::DESTINATION, session.inside[1] as u32);
    adjust_ip(frame, !session.address_delta);
    gre::set_call(&mut frame[usize::from(shape.transport)..], session.inside_port());
}

/// The IPv4 header: one hop less to live, and a checksum for it and the changed address.
#[inline(always)]
fn adjust_ip(frame: &mut [u8], delta: u16) {
    let at = IP + ipv4::offset::CHECKSUM;
    frame[IP + ipv4::offset::TTL] = frame[IP + ipv4::offset::TTL].wrapping_sub(1);
    put_u16(frame, at, adjusted(adjusted(u16_at(frame, at), delta), ONE_HOP));
}

/// The checksum of UDP or TCP; a datagram without one stays without.
#[inline(always)]
fn adjust_transport(frame: &mut [u8], (transport, protocol): (usize, u8), delta: u16) {
    if protocol == protocol::TCP {
        let at = transport + tcp::offset::CHECKSUM;
        put_u16(frame, at, adjusted(u16_at(frame, at), delta));
        return;
    }
    let at = transport + udp::offset::CHECKSUM;
    let old = u16_at(frame, at);
    let new = match adjusted(old, delta) {
        // RFC 768: a sum that is zero is sent as all ones.
        0 => u16::MAX,
        sum => sum,
    };
    put_u16(frame, at, if old == udp::CHECKSUM_NONE { old } else { new });
}

fn set_identifier(frame: &mut [u8], transport: usize, identifier: u16) {
    let at = transport + icmp::offset::REST;
    let old = u16_at(frame, at);
    put_u16(frame, at, identifier);
    let at = transport + icmp::offset::CHECKSUM;
    put_u16(frame, at, wire::checksum::update_u16(u16_at(frame, at), old, identifier));
}

/// A checksum after its message changed by a ones'-complement difference.
#[inline(always)]
pub fn adjusted(checksum: u16, delta: u16) -> u16 {
    Sum::ZERO.add_u16(!checksum).add_u16(delta).checksum()
}

const IP: usize = ethernet::HEADER_LEN;

/// What one hop less adds to the sum of an IPv4 header: -0x100.
const ONE_HOP: u16 = 0xfeff;
