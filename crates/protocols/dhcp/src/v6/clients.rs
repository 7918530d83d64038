//! What a message of a line has to be before a server or relay of DHCPv6 looks at it, and whose it
//! is.

use crate::access::Heard;
use crate::control::{Client, Identifier, Words};
use crate::counters::Counters;
use crate::v6::message::{Relayed, code, kind};

/// Which server's identifier a message has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// This server's.
    Own,
    /// None.
    None,
    /// This server's or none.
    Any,
}

/// Section 16.
pub(crate) fn wanted(kind: u8) -> Wanted {
    match kind {
        kind::REQUEST | kind::RENEW | kind::RELEASE | kind::DECLINE => Wanted::Own,
        kind::INFORMATION => Wanted::Any,
        _ => Wanted::None,
    }
}

/// Whether a message of a line is one that clients may send, by what holds for servers and relays.
pub(crate) fn check(heard: &Heard, trusts_access_nodes: bool, counters: &mut Counters) -> bool {
    let Ok(relayed) = Relayed::parse(&heard.bytes) else {
        counters.malformed += 1;
        return false;
    };
    let message = relayed.message;
    let is_of_server = matches!(message.kind, kind::ADVERTISE | kind::REPLY | kind::RECONFIGURE);
    let is_returned = relayed.hops.first().is_some_and(|hop| hop.kind == kind::RELAY_REPLY);
    let is_known = matches!(message.kind, kind::SOLICIT | kind::INFORMATION)
        || matches!(message.kind, kind::REQUEST..=kind::REBIND | kind::RELEASE | kind::DECLINE);
    let has_client = message.client().is_some() || message.kind == kind::INFORMATION;
    let counter = if is_of_server || is_returned {
        &mut counters.from_server
    } else if !is_known {
        &mut counters.unsupported
    } else if !relayed.hops.is_empty() && !trusts_access_nodes {
        &mut counters.untrusted
    } else if !has_client {
        &mut counters.identity
    } else {
        return true;
    };
    *counter += 1;
    false
}

/// The client of a message.
pub(crate) fn client(relayed: &Relayed<'_>, heard: &Heard) -> Option<Client> {
    let id = Identifier::new(relayed.message.client()?.to_vec())?;
    Some(Client { line: heard.line, mac: heard.mac, id })
}

/// What a client, and the access node of its line, say of it.
pub(crate) fn words(relayed: &Relayed<'_>) -> Words {
    let short =
        |value: Option<&[u8]>| value.unwrap_or_default().iter().take(WORD_MAX).copied().collect();
    let mut ias = relayed.message.options.ias();
    Words {
        circuit_id: short(relayed.nearest(code::INTERFACE)),
        remote_id: short(relayed.nearest(code::REMOTE)),
        host_name: Vec::new(),
        vendor_class: short(relayed.message.options.get(code::VENDOR_CLASS)),
        wish: ias.find_map(|ia| ia.leaves().find_map(|leaf| leaf.prefix)),
    }
}

/// The port of servers and relays.
pub(crate) const SERVER_PORT: u16 = 547;

/// The port of clients.
pub(crate) const CLIENT_PORT: u16 = 546;

/// What is told of an identifier, at most.
const WORD_MAX: usize = 255;
