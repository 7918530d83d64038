//! What an operator sees of the connection.

use protocol_kit::{Content, Endpoint, Neighbour, Trace};

/// Bfdd, at an end, and how many sessions it wants.
pub(crate) fn neighbour(at: &Endpoint, is_connected: bool, sessions: usize) -> Neighbour {
    Neighbour {
        protocol: "bfddp",
        interface: String::new(),
        address: format!("bfdd, at {at}"),
        state: if is_connected { "connected" } else { "awaited" }.to_owned(),
        since: None,
        detail: format!("{sessions} sessions"),
    }
}

/// Sessions carry no keys in this protocol.
pub(crate) const TRACE: Trace = Trace { protocol: "bfddp", content: Content::Clear };
