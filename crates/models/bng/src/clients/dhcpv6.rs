//! A client of DHCPv6 (RFC 8415 section 18.2): SOLICIT and REQUEST, ADVERTISE and REPLY, for an
//! address (IA_NA) and a prefix (IA_PD).
//!
//! ```text
//! type | transaction (3) | code (2), length (2), value | ...
//! ```
//! The transaction is the session's number.

use std::net::Ipv6Addr;

use wire::bytes::{put_u16, u16_at, u32_at};
use wire::{MacAddr, ipv6, protocol, udp};

use crate::catalogue::{DELEGATED_LEN, Subscriber};
use crate::given::Addresses;

/// What clients have heard of their server.
#[derive(Debug, Default)]
pub(super) struct Dhcpv6 {
    /// The identifier of the one whose advertisements are taken.
    server: Vec<u8>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The session that has asked, as far as a transaction tells: its last 24 bits.
    pub session: u64,
    /// Whether it is a REPLY, which gives what an ADVERTISE offers.
    pub is_reply: bool,
    /// The address, if one is given.
    pub na: u128,
    /// The prefix, if one of the right length is given.
    pub delegated: u128,
    /// The client whose identifier it bears.
    pub mac: Option<MacAddr>,
}

impl Dhcpv6 {
    /// Length of the packet of a message.
    pub fn len(&self, is_request: bool) -> usize {
        HEADERS_LEN + if is_request { REQUEST_LEN + self.server.len() } else { SOLICIT_LEN }
    }

    /// Writes the packet of a message of exactly [`Self::len`] bytes; a REQUEST asks for what was
    /// offered.
    pub fn write(
        &self,
        is_request: bool,
        subscriber: &Subscriber,
        offered: Addresses,
        packet: &mut [u8],
    ) {
        let identity = subscriber.number.to_be_bytes();
        let [_, a, b, c] = identity;
        let mut message = vec![if is_request { REQUEST } else { SOLICIT }, a, b, c];
        put(&mut message, option::CLIENT, &[&[0, 3, 0, 1], &subscriber.mac.0]);
        let times = [0; 8];
        if is_request {
            put(&mut message, option::SERVER, &[&self.server]);
            let mut address = Vec::new();
            put(&mut address, option::ADDRESS, &[&offered.na.to_be_bytes(), &times]);
            put(&mut message, option::NA, &[&identity, &times, &address]);
            let (prefix, mut delegated) = (offered.delegated.to_be_bytes(), Vec::new());
            put(&mut delegated, option::PREFIX, &[&times, &[DELEGATED_LEN], &prefix]);
            put(&mut message, option::PD, &[&identity, &times, &delegated]);
        } else {
            put(&mut message, option::NA, &[&identity, &times]);
            put(&mut message, option::PD, &[&identity, &times]);
        }
        put(&mut message, option::ELAPSED, &[&[0, 0]]);
        write_datagram(subscriber, &message, packet);
    }

    /// Reads an answer from a packet of IPv6; none if it is something else.
    pub fn read(&mut self, packet: &[u8]) -> Option<Answer> {
        let is_udp = packet.first().is_some_and(|first| first >> 4 == 6)
            && packet.get(ipv6::offset::NEXT_HEADER) == Some(&protocol::UDP);
        let message = packet.get(HEADERS_LEN..).filter(|_| is_udp)?;
        let ports = u32_at(packet, ipv6::HEADER_LEN);
        if ports != u32::from(SERVER_PORT) << 16 | u32::from(CLIENT_PORT) || message.len() < 4 {
            return None;
        }
        let is_reply = match message[0] {
            ADVERTISE => false,
            REPLY => true,
            _ => return None,
        };
        let session = u64::from(u32_at(message, 0) & 0xff_ffff);
        let mut answer = Answer { session, is_reply, na: 0, delegated: 0, mac: None };
        for (code, value) in options(&message[4..]) {
            match code {
                option::CLIENT => {
                    let mac = value.strip_prefix(&[0, 3, 0, 1]);
                    answer.mac = mac.and_then(|mac| mac.try_into().ok()).map(MacAddr);
                }
                option::SERVER => self.server = value.to_vec(),
                option::NA => answer.na = address(value)?,
                option::PD => answer.delegated = prefix(value)?,
                _ => {}
            }
        }
        Some(answer)
    }
}

/// The address in an IA_NA: 16 bytes, preferred and valid lifetime; 0 without one.
fn address(association: &[u8]) -> Option<u128> {
    let mut inner = options(association.get(IA_LEN..)?);
    let Some((_, value)) = inner.find(|(code, _)| *code == option::ADDRESS) else { return Some(0) };
    let (address, rest) = value.split_first_chunk()?;
    Some(if valid(rest.get(4..)?) { u128::from_be_bytes(*address) } else { 0 })
}

/// The prefix in an IA_PD: preferred and valid lifetime, length, 16 bytes; 0 without one.
fn prefix(association: &[u8]) -> Option<u128> {
    let mut inner = options(association.get(IA_LEN..)?);
    let Some((_, value)) = inner.find(|(code, _)| *code == option::PREFIX) else { return Some(0) };
    let prefix = value.get(9..)?.first_chunk()?;
    let is_right = valid(&value[4..]) && value[8] == DELEGATED_LEN;
    Some(if is_right { u128::from_be_bytes(*prefix) } else { 0 })
}

/// Whether a lifetime is some time.
fn valid(lifetime: &[u8]) -> bool {
    lifetime.first_chunk().is_some_and(|lifetime| u32::from_be_bytes(*lifetime) > 0)
}

/// Options with their values, up to the first broken one.
fn options(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header: &[u8; 4] = rest.first_chunk()?;
        let (code, len) = (u16_at(header, 0), usize::from(u16_at(header, 2)));
        let (value, after) = rest[4..].split_at_checked(len)?;
        rest = after;
        Some((code, value))
    })
}

fn put(message: &mut Vec<u8>, code: u16, value: &[&[u8]]) {
    let len: usize = value.iter().map(|part| part.len()).sum();
    message.extend(code.to_be_bytes());
    message.extend((len as u16).to_be_bytes());
    value.iter().for_each(|part| message.extend(*part));
}

/// Writes headers and a message that goes to all servers of the link.
fn write_datagram(subscriber: &Subscriber, message: &[u8], packet: &mut [u8]) {
    let Some((header, datagram)) = packet.split_first_chunk_mut() else { return };
    let source = Ipv6Addr::from_bits(LINK_LOCAL | (u128::from(subscriber.number) + 1));
    ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: datagram.len() as u16,
        next_header: protocol::UDP,
        hop_limit: 64,
        source,
        destination: SERVERS,
    }
    .emit(header);
    let length = datagram.len() as u16;
    let Some((header, payload)) = datagram.split_first_chunk_mut() else { return };
    let (source_port, destination_port) = (CLIENT_PORT, SERVER_PORT);
    let checksum = udp::CHECKSUM_NONE;
    udp::Fields { source_port, destination_port, length, checksum }.emit(header);
    payload.copy_from_slice(message);
    let sum = udp::checksum_ipv6(source, SERVERS, header, payload);
    put_u16(header, udp::offset::CHECKSUM, sum);
}

const HEADERS_LEN: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;
/// Header, identifier of the client, associations without anything, time.
const SOLICIT_LEN: usize = 4 + (4 + 10) + 2 * (4 + IA_LEN) + (4 + 2);
/// And an address, a prefix, and the header of the server's identifier.
const REQUEST_LEN: usize = SOLICIT_LEN + (4 + 24) + (4 + 25) + 4;
/// Identity, and two times.
const IA_LEN: usize = 12;

const CLIENT_PORT: u16 = 546;
const SERVER_PORT: u16 = 547;

/// `fe80::`.
const LINK_LOCAL: u128 = 0xfe80 << 112;
/// All agents and servers of a link (section 7.1).
const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
/// The Ethernet address of that group (RFC 2464 section 7).
pub(super) const SERVERS_MAC: MacAddr = MacAddr([0x33, 0x33, 0, 1, 0, 2]);

/// Types of messages (section 7.3).
const SOLICIT: u8 = 1;
const ADVERTISE: u8 = 2;
const REQUEST: u8 = 3;
const REPLY: u8 = 7;

/// Codes of options (section 21).
mod option {
    pub const CLIENT: u16 = 1;
    pub const SERVER: u16 = 2;
    pub const NA: u16 = 3;
    pub const ADDRESS: u16 = 5;
    pub const ELAPSED: u16 = 8;
    pub const PD: u16 = 25;
    pub const PREFIX: u16 = 26;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Section;

    /// The answer of a server to what a client has sent.
    fn answered(sent: &[u8], message_type: u8, is_given: bool) -> Vec<u8> {
        let mut packet = sent[..HEADERS_LEN].to_vec();
        put_u16(&mut packet, ipv6::HEADER_LEN, SERVER_PORT);
        put_u16(&mut packet, ipv6::HEADER_LEN + 2, CLIENT_PORT);
        let mut message = sent[HEADERS_LEN..][..18].to_vec();
        message[0] = message_type;
        put(&mut message, option::SERVER, &[&[0, 2, 7]]);
        let (mut address, mut prefix) = (Vec::new(), Vec::new());
        if is_given {
            let times = [0, 0, 0, 1, 0, 0, 0, 2];
            put(&mut address, option::ADDRESS, &[&77_u128.to_be_bytes(), &times]);
            put(&mut prefix, option::PREFIX, &[&times, &[56], &(1_u128 << 90).to_be_bytes()]);
        }
        put(&mut message, option::NA, &[&[0; 12], &address]);
        put(&mut message, option::PD, &[&[0; 12], &prefix]);
        packet.extend(message);
        packet
    }

    #[test]
    fn a_client_asks_for_what_was_offered_and_takes_nothing_that_is_broken() {
        let subscriber = Subscriber::new(&Section::default(), 77);
        let mut dhcp = Dhcpv6::default();
        let mut packet = vec![0xee; dhcp.len(false)];
        dhcp.write(false, &subscriber, Addresses::default(), &mut packet);
        assert_eq!(dhcp.read(&packet), None, "its own");
        let offer = Answer {
            session: 77,
            is_reply: false,
            na: 77,
            delegated: 1 << 90,
            mac: Some(subscriber.mac),
        };
        assert_eq!(dhcp.read(&answered(&packet, ADVERTISE, true)).as_ref(), Some(&offer));
        let nothing = dhcp.read(&answered(&packet, ADVERTISE, false)).expect("an answer");
        assert_eq!((nothing.na, nothing.delegated), (0, 0));
        let offered = Addresses { na: 77, delegated: 1 << 90, ..Addresses::default() };
        let mut packet = vec![0xee; dhcp.len(true)];
        dhcp.write(true, &subscriber, offered, &mut packet);
        let view = ipv6::View::parse(&packet).expect("IPv6");
        let datagram = udp::View::parse(view.payload()).expect("UDP");
        assert_eq!(datagram.verify_ipv6(view.source(), view.destination()), Ok(()));
        let asked: Vec<_> = options(&packet[HEADERS_LEN + 4..]).collect();
        assert!(asked.contains(&(option::SERVER, &[0, 2, 7])));
        let of = |code| asked.iter().find(|(known, _)| *known == code).expect("asked for").1;
        // What a client asks for has no time of its own.
        assert_eq!((of(option::NA).len(), of(option::PD).len()), (40, 41));
        let reply = answered(&packet, REPLY, true);
        assert_eq!(dhcp.read(&reply), Some(Answer { is_reply: true, ..offer }));
        for len in 0..reply.len() {
            let _ = dhcp.read(&reply[..len]);
        }
        for place in 0..reply.len() {
            let mut broken = reply.clone();
            broken[place] ^= 0xff;
            let _ = dhcp.read(&broken);
        }
    }
}
