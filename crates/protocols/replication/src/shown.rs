//! What an operator sees of a connection between both sides.

use std::net::SocketAddr;

use protocol_kit::{Content, Neighbour, Trace};

use crate::link::Link;

/// The other side, which is at an address or connects to it.
pub(crate) fn neighbour(side: &str, address: SocketAddr, link: &Link) -> Neighbour {
    let status = link.status();
    let counts = format!("{} changes, {} of them acknowledged", status.sent, status.acknowledged);
    Neighbour {
        protocol: "replication",
        interface: String::new(),
        address: format!("{side} {address}"),
        state: if status.is_connected { "connected" } else { "gone" }.to_owned(),
        since: None,
        detail: if status.is_connected { counts } else { status.trouble.to_owned() },
    }
}

/// Its stream tells who speaks with whom, and tags from which a short key can be guessed.
pub(crate) const TRACE: Trace = Trace { protocol: "replication", content: Content::Hidden };
