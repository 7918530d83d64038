//! Messages of DHCPv4 as they are written: new ones, and those of others that a relay changes.

use std::net::Ipv4Addr;

use crate::octets::Items;
use crate::v4::message::{LEN_MAX, MAGIC, Message, OPTIONS_AT, REPLY_OP, code};

/// The fields of a reply that are not those of the request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields {
    /// The address that the client has already.
    pub ciaddr: [u8; 4],
    /// The address that it is given.
    pub yiaddr: [u8; 4],
}

/// A reply that is being written; it never grows past a limit.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The relay agent's option, which comes last.
    agent: Vec<u8>,
    limit: usize,
}

impl Writer {
    /// Begins a reply to a request, whose relay agent's option it echoes (RFC 3046 section 2.2).
    /// What the client can take (option 57) and an Ethernet frame limit it.
    pub fn reply(request: &Message<'_>, kind: u8, server: Ipv4Addr, fields: Fields) -> Writer {
        let mut bytes = vec![0; OPTIONS_AT];
        // htype and hlen, xid, flags, giaddr and chaddr are the request's (RFC 2131 table 3).
        for range in [1..3, 4..8, 10..12, 24..44] {
            bytes[range.clone()].copy_from_slice(&request.bytes()[range]);
        }
        bytes[0] = REPLY_OP;
        bytes[12..16].copy_from_slice(&fields.ciaddr);
        bytes[16..20].copy_from_slice(&fields.yiaddr);
        bytes[236..].copy_from_slice(&MAGIC);
        let mut agent = Vec::new();
        if let Some(value) = request.option(code::RELAY_AGENT) {
            split(&mut agent, code::RELAY_AGENT, &value);
        }
        let asked = request.option(code::SIZE_MAX);
        let asked =
            asked.map_or(SIZE_LEAST, |size| usize::from(size[0]) << 8 | usize::from(size[1]));
        // The size that a client names has the headers of IP and UDP in it.
        let limit = asked.clamp(SIZE_LEAST, SIZE_MOST) - HEADERS_LEN;
        let mut writer = Writer { bytes, agent, limit };
        writer.put(code::KIND, &[kind]);
        writer.put(code::SERVER, &server.octets());
        writer
    }

    /// Appends an option in as many parts as it needs (RFC 3396); false where there is no room.
    pub fn put(&mut self, code: u8, value: &[u8]) -> bool {
        let parts = value.len().div_ceil(PART_MAX).max(1);
        let len = self.bytes.len() + value.len() + 2 * parts;
        let fits = len + self.agent.len() < self.limit;
        if fits {
            split(&mut self.bytes, code, value);
        }
        fits
    }

    /// Ends the message.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.append(&mut self.agent);
        ended(self.bytes)
    }
}

/// The message of a client as a relay passes it on: one hop more, its own address, and a relay
/// agent's option at the end in place of any other. `None` where it would be too long.
pub fn relayed(request: &Message<'_>, relay: Ipv4Addr, agent: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = without_agent(request);
    bytes[3] = request.hops().saturating_add(1);
    bytes[24..28].copy_from_slice(&relay.octets());
    split(&mut bytes, code::RELAY_AGENT, agent);
    let bytes = ended(bytes);
    (bytes.len() <= LEN_MAX).then_some(bytes)
}

/// The message of a server as a relay hands it to a client: without the relay's option and address.
pub fn returned(reply: &Message<'_>) -> Vec<u8> {
    let mut bytes = without_agent(reply);
    bytes[24..28].fill(0);
    ended(bytes)
}

/// Puts another address into an option of 4 bytes, wherever it stands.
pub fn replace_address(bytes: &mut [u8], code: u8, address: Ipv4Addr) {
    let mut at = OPTIONS_AT;
    while let Some(&[found, len]) = bytes.get(at..at + 2) {
        match found {
            0 => at += 1,
            code::END => return,
            found => {
                if found == code && len == 4 && bytes.len() >= at + 6 {
                    bytes[at + 2..at + 6].copy_from_slice(&address.octets());
                }
                at += 2 + usize::from(len);
            }
        }
    }
}

/// The fixed fields and the options of the first area but the relay agent's, without an end.
fn without_agent(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = message.bytes()[..OPTIONS_AT].to_vec();
    for (code, value) in Items::<1>::new(&message.bytes()[OPTIONS_AT..]) {
        if code != u16::from(code::RELAY_AGENT) {
            bytes.extend([code as u8, value.len() as u8]);
            bytes.extend(value);
        }
    }
    bytes
}

/// Ends a message, and pads it to the least length that old clients take (RFC 1542 section 2.1).
fn ended(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(code::END);
    bytes.resize(bytes.len().max(LEN_LEAST), 0);
    bytes
}

fn split(bytes: &mut Vec<u8>, code: u8, value: &[u8]) {
    if value.is_empty() {
        bytes.extend([code, 0]);
    }
    for part in value.chunks(PART_MAX) {
        bytes.extend([code, part.len() as u8]);
        bytes.extend(part);
    }
}

/// Longest part of an option.
const PART_MAX: usize = 255;

/// The least length of a message.
const LEN_LEAST: usize = 300;

/// What every client can take, with headers (RFC 2131 section 2).
const SIZE_LEAST: usize = 576;

/// What an Ethernet frame carries.
const SIZE_MOST: usize = 1500;

/// Headers of IPv4 and UDP.
const HEADERS_LEN: usize = 28;
