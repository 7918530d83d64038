//! A client of PPP over Ethernet (RFC 2516, 1661, 1332, 5072): discovery, LCP, IPCP and IPv6CP.
//!
//! ```text
//! discovery   version 1, type 1 | code | session (2) | length (2) | tags
//! session     the same with code 0 | protocol (2) | packet
//! packet      code | identifier | length (2) | options
//! ```
//! Which client a frame is for shows by its Ethernet address. What the gateway asks for in its own
//! Configure-Requests is acknowledged as it is.

use std::collections::VecDeque;

use wire::MacAddr;
use wire::bytes::{put_array, put_u16, u16_at};

use crate::catalogue::Subscriber;
use crate::given::Addresses;

/// What a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// PADI, answered by a PADO.
    Initiation,
    /// PADR with the cookie of that PADO, answered by a PADS.
    Request,
    /// A Configure-Request of LCP; that it is agreed on shows when the gateway asks for a network
    /// protocol.
    Link,
    /// A Configure-Request of IPCP for any address, answered by a Nak with one.
    AnyAddress,
    /// One for that address, answered by an Ack.
    Address,
    /// A Configure-Request of IPv6CP, answered by an Ack.
    Interface,
}

/// What clients have heard and have to say.
#[derive(Debug, Default)]
pub(super) struct Pppoe {
    /// The cookie of the last PADO: its PADR follows at once.
    cookie: Vec<u8>,
    /// Acknowledgements that wait to be sent: whose, and what stands behind the head of the line.
    waiting: VecDeque<(MacAddr, Vec<u8>)>,
}

/// What the gateway has said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The message that is answered.
    pub message: Message,
    /// What the client has now.
    pub given: Addresses,
}

impl Pppoe {
    /// What stands behind the tags of a message, from the EtherType on.
    pub fn write(&self, message: Message, subscriber: &Subscriber, given: Addresses) -> Vec<u8> {
        let number = subscriber.number.to_be_bytes();
        let address = given.ipv4.to_be_bytes();
        let (protocol, options) = match message {
            Message::Initiation => return discovery(PADI, &[(HOST, &number)]),
            Message::Request => {
                return discovery(PADR, &[(HOST, &number), (COOKIE, &self.cookie)]);
            }
            Message::Link => {
                let [mru, magic] = [option(1, &MRU.to_be_bytes()), option(5, &number)];
                (LCP, [mru, magic].concat())
            }
            Message::AnyAddress => (IPCP, option(3, &[0; 4])),
            Message::Address => (IPCP, option(3, &address)),
            Message::Interface => {
                let interface = u64::from(subscriber.number) + 1;
                (IPV6CP, option(1, &interface.to_be_bytes()))
            }
        };
        let mut packet = vec![REQUEST, message as u8];
        packet.extend((options.len() as u16 + 4).to_be_bytes());
        packet.extend(options);
        session(given.pppoe, protocol, &packet)
    }

    /// Takes in a frame of the gateway from its EtherType on; what it answers, if it is an answer.
    pub fn read(&mut self, to: MacAddr, frame: &[u8], mut given: Addresses) -> Option<Heard> {
        let (ether_type, rest) = frame.split_first_chunk()?;
        let &[0x11, code, a, b, c, d, ref payload @ ..] = rest else { return None };
        let payload = payload.get(..u16::from_be_bytes([c, d]).into())?;
        let id = u16::from_be_bytes([a, b]);
        let message = match (u16::from_be_bytes(*ether_type), code) {
            (DISCOVERY, PADO) => {
                self.cookie = tags(payload).find(|(tag, _)| *tag == COOKIE)?.1.to_vec();
                Message::Initiation
            }
            (DISCOVERY, PADS) => {
                given.pppoe = id;
                Message::Request
            }
            (SESSION, 0) => self.control(to, payload, &mut given)?,
            _ => return None,
        };
        Some(Heard { message, given })
    }

    /// A message of a control protocol.
    fn control(&mut self, to: MacAddr, payload: &[u8], given: &mut Addresses) -> Option<Message> {
        let (protocol, packet) = payload.split_first_chunk()?;
        let protocol = u16::from_be_bytes(*protocol);
        let &[code, identifier, a, b, ..] = packet else { return None };
        let options = packet.get(4..u16::from_be_bytes([a, b]).into())?;
        match (protocol, code) {
            (LCP | IPCP | IPV6CP, REQUEST) => {
                let mut packet = packet.to_vec();
                packet[0] = ACK;
                if self.waiting.len() < WAITING {
                    self.waiting.push_back((to, session(given.pppoe, protocol, &packet)));
                }
                (protocol != LCP).then_some(Message::Link)
            }
            (IPCP, NAK) => {
                let &[3, 6, ref address @ ..] = options else { return None };
                given.ipv4 = u32::from_be_bytes(*address.first_chunk()?);
                Some(Message::AnyAddress)
            }
            (IPCP, ACK) if identifier == Message::Address as u8 => Some(Message::Address),
            (IPV6CP, ACK) => Some(Message::Interface),
            _ => None,
        }
    }

    /// The next acknowledgement that waits to be sent.
    pub fn next(&mut self) -> Option<(MacAddr, Vec<u8>)> {
        self.waiting.pop_front()
    }
}

/// Whether a frame from its EtherType on is one of a control protocol.
pub(super) fn is_control(frame: &[u8]) -> bool {
    frame.len() >= 10 && u16_at(frame, 0) == SESSION && u16_at(frame, 8) >= 0x8000
}

fn discovery(code: u8, all: &[(u16, &[u8])]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (tag, value) in [(SERVICE, &[][..])].iter().chain(all) {
        payload.extend(tag.to_be_bytes());
        payload.extend((value.len() as u16).to_be_bytes());
        payload.extend(*value);
    }
    framed(DISCOVERY, code, 0, &payload)
}

fn session(id: u16, protocol: u16, packet: &[u8]) -> Vec<u8> {
    framed(SESSION, 0, id, &[&protocol.to_be_bytes(), packet].concat())
}

fn framed(ether_type: u16, code: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; HEADER_LEN];
    put_u16(&mut frame, 0, ether_type);
    put_array(&mut frame, 2, [0x11, code]);
    put_u16(&mut frame, 4, id);
    put_u16(&mut frame, 6, payload.len() as u16);
    frame.extend(payload);
    frame
}

fn option(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, value.len() as u8 + 2], value].concat()
}

/// The tags of a frame of discovery with their values, up to the first broken one.
fn tags(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header: &[u8; 4] = rest.first_chunk()?;
        let (tag, len) = (u16_at(header, 0), usize::from(u16_at(header, 2)));
        let (value, after) = rest[4..].split_at_checked(len)?;
        rest = after;
        Some((tag, value))
    })
}

/// EtherType and header.
const HEADER_LEN: usize = 8;
const DISCOVERY: u16 = 0x8863;
const SESSION: u16 = crate::frames::TYPE_PPPOE;

/// Codes of discovery (RFC 2516 section 5).
const PADI: u8 = 0x09;
const PADO: u8 = 0x07;
const PADR: u8 = 0x19;
const PADS: u8 = 0x65;

/// Tags of discovery (appendix A).
const SERVICE: u16 = 0x0101;
const HOST: u16 = 0x0103;
const COOKIE: u16 = 0x0104;

/// Control protocols of PPP, and codes of all of them (RFC 1661 section 5).
const LCP: u16 = 0xc021;
const IPCP: u16 = 0x8021;
const IPV6CP: u16 = 0x8057;
const REQUEST: u8 = 1;
const ACK: u8 = 2;
const NAK: u8 = 3;

/// What a frame of PPPoE carries (RFC 2516 section 7).
const MRU: u16 = 1492;

/// Acknowledgements that may wait.
const WAITING: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Section;

    #[test]
    fn a_client_answers_and_asks_and_takes_nothing_that_is_broken() {
        let subscriber = Subscriber::new(&Section::default(), 77);
        let mac = subscriber.mac;
        let mut pppoe = Pppoe::default();
        let none = Addresses::default();
        let offer = discovery(PADO, &[(0x0102, b"gateway"), (COOKIE, &[9, 8, 7])]);
        let heard = Heard { message: Message::Initiation, given: none };
        assert_eq!(pppoe.read(mac, &offer, none), Some(heard));
        let request = pppoe.write(Message::Request, &subscriber, none);
        assert!(tags(&request[HEADER_LEN..]).any(|tag| tag == (COOKIE, &[9, 8, 7])));
        let session_of = framed(DISCOVERY, PADS, 0x1234, &[]);
        let given = Addresses { pppoe: 0x1234, ..none };
        let heard = Heard { message: Message::Request, given };
        assert_eq!(pppoe.read(mac, &session_of, none), Some(heard));

        // What the gateway asks for in LCP is acknowledged, and is no answer.
        let asked = session(0x1234, LCP, &[REQUEST, 5, 0, 8, 1, 4, 5, 0xd4]);
        assert_eq!(pppoe.read(mac, &asked, given), None);
        let acknowledged = session(0x1234, LCP, &[ACK, 5, 0, 8, 1, 4, 5, 0xd4]);
        assert_eq!(pppoe.next(), Some((mac, acknowledged)));
        let asked = session(0x1234, IPCP, &[REQUEST, 1, 0, 10, 3, 6, 10, 0, 0, 1]);
        assert_eq!(pppoe.read(mac, &asked, given), Some(Heard { message: Message::Link, given }));
        assert!(pppoe.next().is_some() && pppoe.next().is_none());

        let refused = session(0x1234, IPCP, &[NAK, 3, 0, 10, 3, 6, 10, 0, 1, 2]);
        let with = Addresses { ipv4: 0x0a00_0102, ..given };
        let heard = Heard { message: Message::AnyAddress, given: with };
        assert_eq!(pppoe.read(mac, &refused, given), Some(heard));
        let request = pppoe.write(Message::Address, &subscriber, with);
        let options = [3, 6, 10, 0, 1, 2];
        let head = [REQUEST, Message::Address as u8, 0, 10];
        assert_eq!(request, session(0x1234, IPCP, &[&head[..], &options].concat()));
        let mut answer = request.clone();
        answer[HEADER_LEN + 2] = ACK;
        let heard = Heard { message: Message::Address, given: with };
        assert_eq!(pppoe.read(mac, &answer, with), Some(heard));
        assert!(is_control(&answer) && !is_control(&offer));
        for frame in [&offer, &asked, &refused, &answer] {
            for len in 0..frame.len() {
                let _ = pppoe.read(mac, &frame[..len], given);
            }
            for place in 0..frame.len() {
                let mut broken = frame.clone();
                broken[place] ^= 0xff;
                let _ = pppoe.read(mac, &broken, given);
            }
        }
    }
}
