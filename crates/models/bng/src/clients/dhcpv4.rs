//! A client of DHCPv4 (RFC 2131 section 4.4, RFC 2132): DISCOVER and REQUEST, OFFER and ACK.
//!
//! ```text
//!  0      op, htype, hlen, hops        28  chaddr (16)
//!  4      xid                          44  sname, file (192)
//!  8      secs, flags                 236  magic cookie
//! 12      ciaddr, yiaddr, siaddr, giaddr   240  options
//! ```
//! The transaction is the session's number. A client broadcasts until it has its address, and takes
//! answers by unicast (section 4.1).

use std::net::Ipv4Addr;

use wire::bytes::{put_array, put_u16, put_u32, u32_at};
use wire::{MacAddr, ipv4, protocol, udp};

use crate::catalogue::Subscriber;

/// What clients have heard of their server.
#[derive(Debug, Default)]
pub(super) struct Dhcpv4 {
    /// The identifier of the one whose offers are taken.
    server: u32,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The session that has asked.
    pub session: u64,
    /// Whether it is an ACK, which gives what an OFFER offers.
    pub is_ack: bool,
    /// The address that the client gets.
    pub address: u32,
    /// The client.
    pub mac: MacAddr,
}

impl Dhcpv4 {
    /// Writes the packet of a message, exactly [`LEN`] bytes; a REQUEST asks for what was offered.
    pub fn write(
        &self,
        is_request: bool,
        subscriber: &Subscriber,
        offered: u32,
        packet: &mut [u8],
    ) {
        packet.fill(0);
        let Some((header, datagram)) = packet.split_first_chunk_mut() else { return };
        ipv4::Fields {
            dscp: 0,
            ecn: 0,
            total_len: LEN as u16,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: protocol::UDP,
            source: Ipv4Addr::UNSPECIFIED,
            destination: Ipv4Addr::BROADCAST,
        }
        .emit(header);
        let Some((header, message)) = datagram.split_first_chunk_mut() else { return };
        udp::Fields {
            source_port: CLIENT_PORT,
            destination_port: SERVER_PORT,
            length: (udp::HEADER_LEN + MESSAGE_LEN) as u16,
            checksum: udp::CHECKSUM_NONE,
        }
        .emit(header);
        put_u32(message, 0, u32::from(REQUEST) << 24 | ETHERNET << 16 | 6 << 8);
        put_u32(message, at::XID, subscriber.number);
        put_array(message, at::CHADDR, subscriber.mac.0);
        put_u32(message, at::COOKIE, COOKIE);
        let message_type = if is_request { REQUEST_MESSAGE } else { DISCOVER };
        let mut end = put_option(message, at::OPTIONS, option::MESSAGE_TYPE, &[message_type]);
        if is_request {
            end = put_option(message, end, option::REQUESTED_ADDRESS, &offered.to_be_bytes());
            end = put_option(message, end, option::SERVER, &self.server.to_be_bytes());
        }
        end = put_option(message, end, option::PARAMETERS, &[1, 3, 6, 51]);
        message[end] = option::END;
    }

    /// Reads an answer from a packet of IPv4; none if it is something else.
    pub fn read(&mut self, packet: &[u8]) -> Option<Answer> {
        let is_udp = packet.first() == Some(&ipv4::VERSION_IHL)
            && packet.get(ipv4::offset::PROTOCOL) == Some(&protocol::UDP);
        let message = packet.get(HEADERS_LEN..).filter(|_| is_udp)?;
        let ports = u32_at(packet, ipv4::HEADER_LEN);
        let is_answer = ports == u32::from(SERVER_PORT) << 16 | u32::from(CLIENT_PORT)
            && message.len() > at::OPTIONS
            && message[0] == REPLY
            && u32_at(message, at::COOKIE) == COOKIE;
        if !is_answer {
            return None;
        }
        let (mut is_ack, mut server) = (None, None);
        for (code, value) in options(&message[at::OPTIONS..]) {
            match (code, value) {
                (option::MESSAGE_TYPE, [OFFER]) => is_ack = Some(false),
                (option::MESSAGE_TYPE, [ACK]) => is_ack = Some(true),
                (option::SERVER, &[a, b, c, d]) => server = Some(u32::from_be_bytes([a, b, c, d])),
                _ => {}
            }
        }
        self.server = server?;
        let [a, b, c, d, e, f] = *message[at::CHADDR..].first_chunk()?;
        Some(Answer {
            session: u32_at(message, at::XID).into(),
            is_ack: is_ack?,
            address: u32_at(message, at::YIADDR),
            mac: MacAddr([a, b, c, d, e, f]),
        })
    }
}

/// The options of a message with their values, up to the end or the first broken one.
fn options(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        while let [option::PAD, after @ ..] = rest {
            rest = after;
        }
        let &[code, len, ref after @ ..] = rest else { return None };
        let (value, after) = after.split_at_checked(len.into())?;
        rest = after;
        (code != option::END).then_some((code, value))
    })
}

/// Writes an option; where the next one stands.
fn put_option(message: &mut [u8], at: usize, code: u8, value: &[u8]) -> usize {
    put_u16(message, at, u16::from(code) << 8 | value.len() as u16);
    message[at + 2..][..value.len()].copy_from_slice(value);
    at + 2 + value.len()
}

/// Length of a message: that of BOOTP (RFC 1542 section 2.1).
const MESSAGE_LEN: usize = 300;
const HEADERS_LEN: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
/// Length of the packets that clients send.
pub(super) const LEN: usize = HEADERS_LEN + MESSAGE_LEN;

const CLIENT_PORT: u16 = 68;
const SERVER_PORT: u16 = 67;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ETHERNET: u32 = 1;
const COOKIE: u32 = 0x6382_5363;

/// Places in a message.
mod at {
    pub const XID: usize = 4;
    pub const YIADDR: usize = 16;
    pub const CHADDR: usize = 28;
    pub const COOKIE: usize = 236;
    pub const OPTIONS: usize = 240;
}

/// Codes of options (RFC 2132).
mod option {
    pub const PAD: u8 = 0;
    pub const REQUESTED_ADDRESS: u8 = 50;
    pub const MESSAGE_TYPE: u8 = 53;
    pub const SERVER: u8 = 54;
    pub const PARAMETERS: u8 = 55;
    pub const END: u8 = 255;
}

/// Types of messages (RFC 2132 section 9.6).
const DISCOVER: u8 = 1;
const OFFER: u8 = 2;
const REQUEST_MESSAGE: u8 = 3;
const ACK: u8 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Section;

    /// The answer of a server to what a client has sent.
    fn answered(sent: &[u8], message_type: u8, address: u32) -> Vec<u8> {
        let mut packet = sent.to_vec();
        put_u16(&mut packet, ipv4::HEADER_LEN, SERVER_PORT);
        put_u16(&mut packet, ipv4::HEADER_LEN + 2, CLIENT_PORT);
        let message = &mut packet[HEADERS_LEN..];
        message[0] = REPLY;
        put_u32(message, at::YIADDR, address);
        message[at::OPTIONS..].fill(0);
        let end = put_option(message, at::OPTIONS, option::MESSAGE_TYPE, &[message_type]);
        // Padding may stand between options.
        let end = put_option(message, end + 3, option::SERVER, &[192, 0, 2, 1]);
        message[end] = option::END;
        packet
    }

    #[test]
    fn a_client_takes_the_offer_that_it_got_and_nothing_that_is_broken() {
        let subscriber = Subscriber::new(&Section::default(), 77);
        let mut dhcp = Dhcpv4::default();
        let mut packet = vec![0xee; LEN];
        dhcp.write(false, &subscriber, 0, &mut packet);
        assert_eq!(wire::checksum::Sum::ZERO.add_bytes(&packet[..20]).checksum(), 0);
        assert_eq!(dhcp.read(&packet), None, "its own");
        let offer = answered(&packet, OFFER, 0x0a00_0142);
        let (address, mac) = (0x0a00_0142, subscriber.mac);
        assert_eq!(dhcp.read(&offer), Some(Answer { session: 77, is_ack: false, address, mac }));
        dhcp.write(true, &subscriber, address, &mut packet);
        let asked: Vec<_> = options(&packet[HEADERS_LEN + at::OPTIONS..]).collect();
        assert!(asked.contains(&(option::SERVER, &[192, 0, 2, 1])));
        assert!(asked.contains(&(option::REQUESTED_ADDRESS, &[10, 0, 1, 0x42])));
        assert!(asked.contains(&(option::MESSAGE_TYPE, &[REQUEST_MESSAGE])));
        let ack = answered(&packet, ACK, address);
        assert_eq!(dhcp.read(&ack), Some(Answer { session: 77, is_ack: true, address, mac }));
        assert_eq!(dhcp.read(&answered(&packet, 6, 0)), None, "a NAK");
        for len in 0..ack.len() {
            let _ = dhcp.read(&ack[..len]);
        }
        for place in 0..ack.len() {
            let mut broken = ack.clone();
            broken[place] ^= 0xff;
            let _ = dhcp.read(&broken);
        }
    }
}
