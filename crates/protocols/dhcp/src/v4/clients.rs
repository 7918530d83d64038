//! What a message of a line has to be before a server or relay of DHCPv4 looks at it, whose it is,
//! and where its answer goes.

use std::net::Ipv4Addr;

use wire::MacAddr;

use crate::access::Heard;
use crate::control::{Client, Identifier, Words};
use crate::counters::Counters;
use crate::prefix::{Kind, Prefix};
use crate::v4::message::{BROADCAST, Message, agent, code, kind};

/// Whether a message of a line is one that clients may send, by what holds for servers and relays.
pub(crate) fn check(heard: &Heard, trusts_access_nodes: bool, counters: &mut Counters) -> bool {
    let Ok(message) = Message::parse(&heard.bytes) else {
        counters.malformed += 1;
        return false;
    };
    let known = [kind::DISCOVER, kind::REQUEST, kind::DECLINE, kind::RELEASE, kind::INFORM];
    let is_of_server = matches!(message.kind(), kind::OFFER | kind::ACK | kind::NAK);
    let has_agent = message.option(code::RELAY_AGENT).is_some();
    let is_spoofed = message.htype() == ETHERNET && message.chaddr() != heard.mac.0;
    let counter = if message.is_reply() || is_of_server {
        &mut counters.from_server
    } else if !known.contains(&message.kind()) {
        &mut counters.unsupported
    } else if !message.giaddr().is_unspecified() || message.hops() != 0 {
        &mut counters.relayed
    } else if has_agent && !trusts_access_nodes {
        &mut counters.untrusted
    } else if is_spoofed {
        &mut counters.spoofed
    } else if client(&message, heard).is_none() {
        &mut counters.identity
    } else {
        return true;
    };
    *counter += 1;
    false
}

/// The client of a message: its identifier, or else its hardware address (section 4.2).
pub(crate) fn client(message: &Message<'_>, heard: &Heard) -> Option<Client> {
    let id = match message.option(code::CLIENT) {
        Some(id) => [&[BY_IDENTIFIER][..], &id].concat(),
        None if message.chaddr().is_empty() => return None,
        None => [&[BY_HARDWARE, message.htype()][..], message.chaddr()].concat(),
    };
    Some(Client { line: heard.line, mac: heard.mac, id: Identifier::new(id)? })
}

/// What a client says of itself.
pub(crate) fn words(message: &Message<'_>) -> Words {
    let text = |code| message.option(code).map(|value| value.into_owned()).unwrap_or_default();
    let ciaddr = Some(message.ciaddr()).filter(|address| !address.is_unspecified());
    let wish = message.address(code::REQUESTED_ADDRESS).or(ciaddr);
    Words {
        circuit_id: message.agent(agent::CIRCUIT).unwrap_or_default(),
        remote_id: message.agent(agent::REMOTE).unwrap_or_default(),
        host_name: text(code::HOST_NAME),
        vendor_class: text(code::VENDOR_CLASS),
        wish: wish.map(|address| Prefix::host(address.into())),
    }
}

/// Where a client takes an answer: at the address that it uses, by broadcast if it wants that, or
/// at the address that it is given.
pub(crate) fn destination(
    message: &Message<'_>,
    heard: &Heard,
    yiaddr: Option<Ipv4Addr>,
) -> (MacAddr, Ipv4Addr) {
    if !message.ciaddr().is_unspecified() {
        return (heard.mac, message.ciaddr());
    }
    match yiaddr {
        Some(yiaddr) if message.flags() & BROADCAST == 0 => (heard.mac, yiaddr),
        _ => (MacAddr::BROADCAST, Ipv4Addr::BROADCAST),
    }
}

/// The port of servers and relays.
pub(crate) const SERVER_PORT: u16 = 67;

/// The port of clients.
pub(crate) const CLIENT_PORT: u16 = 68;

/// A client has one address.
pub(crate) const ADDRESS: (Kind, u32) = (Kind::Address, 0);

/// The hardware type of Ethernet.
const ETHERNET: u8 = 1;

/// What an identifier of ours begins with, so that no client chooses another's hardware address.
const BY_HARDWARE: u8 = 0;
const BY_IDENTIFIER: u8 = 1;
