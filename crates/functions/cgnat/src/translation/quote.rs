//! The packet that an ICMP error quotes: whose it was.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::bytes::u16_at;
use wire::icmp::{v4, v6};
use wire::{icmp, protocol};

use super::{Refusal, ipv4, ipv6, transport};

/// Ends and protocol of a quoted packet, as they stand in the quote: it went the other way than the
/// error comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<A> {
    /// The address it came from.
    pub source: A,
    /// The address it went to.
    pub destination: A,
    /// What it carries, in the numbers of its family.
    pub protocol: u8,
    /// Source and destination port; both are the identifier of an echo. None of a later fragment
    /// and of a protocol without.
    pub ports: Option<(u16, u16)>,
}

/// What the ICMP error quotes that this IPv4 packet is, for example to find its session. None where
/// it is no error, or quotes nothing that can be read.
pub fn quoted_by_ipv4(packet: &[u8]) -> Option<Quote<Ipv4Addr>> {
    let packet = ipv4::Packet::whole(packet).ok()?;
    let message = icmp::View::parse(packet.body).ok()?;
    let is_error = packet.protocol() == protocol::ICMP && !packet.is_fragment();
    if !is_error || v4::is_query(message.kind()) {
        return None;
    }
    of_ipv4(&ipv4::Packet::quoted(message.payload()).ok()?).ok()
}

/// The same of an IPv6 packet.
pub fn quoted_by_ipv6(packet: &[u8]) -> Option<Quote<Ipv6Addr>> {
    let packet = ipv6::Packet::whole(packet).ok()?;
    let message = icmp::View::parse(packet.body).ok()?;
    let is_error = packet.protocol == protocol::ICMPV6 && !packet.is_fragment();
    if !is_error || v6::is_query(message.kind()) {
        return None;
    }
    of_ipv6(&ipv6::Packet::quoted(message.payload()).ok()?).ok()
}

/// Refused where an error would quote what is never translated, another error above all.
pub(super) fn of_ipv4(packet: &ipv4::Packet<'_>) -> Result<Quote<Ipv4Addr>, Refusal> {
    let (source, destination, protocol) =
        (packet.source(), packet.destination(), packet.protocol());
    if packet.is_foreign() {
        return Err(Refusal::Quote);
    }
    let ports = match protocol {
        protocol::ICMP if packet.is_fragment() => return Err(Refusal::Quote),
        protocol::ICMP => Some(identifier(packet.body, [v4::ECHO_REQUEST, v4::ECHO_REPLY])?),
        _ if packet.has_transport() => ports(protocol, packet.body),
        _ => None,
    };
    Ok(Quote { source, destination, protocol, ports })
}

/// The same for IPv6.
pub(super) fn of_ipv6(packet: &ipv6::Packet<'_>) -> Result<Quote<Ipv6Addr>, Refusal> {
    let (source, destination, protocol) = (packet.source(), packet.destination(), packet.protocol);
    if packet.is_foreign() {
        return Err(Refusal::Quote);
    }
    let ports = match protocol {
        protocol::ICMPV6 if packet.is_fragment() => return Err(Refusal::Quote),
        protocol::ICMPV6 => Some(identifier(packet.body, [v6::ECHO_REQUEST, v6::ECHO_REPLY])?),
        _ if packet.has_transport() => ports(protocol, packet.body),
        _ => None,
    };
    Ok(Quote { source, destination, protocol, ports })
}

fn ports(protocol: u8, transport: &[u8]) -> Option<(u16, u16)> {
    let ports = transport.first_chunk::<4>().filter(|_| transport::has_ports(protocol))?;
    Some((u16_at(ports, 0), u16_at(ports, 2)))
}

/// The identifier of an echo, twice.
fn identifier(message: &[u8], echoes: [u8; 2]) -> Result<(u16, u16), Refusal> {
    let message = message.first_chunk::<{ icmp::HEADER_LEN }>().ok_or(Refusal::Quote)?;
    if !echoes.contains(&message[icmp::offset::TYPE]) {
        return Err(Refusal::Quote);
    }
    let identifier = u16_at(message, icmp::offset::REST);
    Ok((identifier, identifier))
}
