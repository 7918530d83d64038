//! Where connections of peers are accepted.

use protocol_kit::{Departure, Endpoint, Opening, Socket, StreamOptions};

use super::RouteReflector;
use crate::peers::ACCEPTED;

impl RouteReflector {
    /// Opens a listener by its place.
    pub(super) fn listen(&self, at: usize) -> Departure {
        let mut peers = self.config.peers.iter();
        let md5 = self.peers.iter().flat_map(|(_, one)| one.peer.config().options.md5.clone());
        // All have the same one, which was checked.
        let ttl_min = peers.next().map_or(0, |peer| peer.ttl_min);
        let ttl = (ttl_min > 0).then_some(u8::MAX);
        let options =
            StreamOptions { md5: md5.collect(), ttl, ttl_min, ..StreamOptions::default() };
        let first = ACCEPTED + (at as u32) * ACCEPTED_MAX;
        let opening = Opening::Listener {
            at: Endpoint::Tcp(self.config.listen[at]),
            options,
            streams: first..first + ACCEPTED_MAX,
        };
        Departure::Open { socket: Socket(at as u32), opening }
    }
}

/// Connections of a listener at once.
const ACCEPTED_MAX: u32 = 1 << 16;
