//! What peers are handed, and peers of networks that are forgotten.

use protocol_kit::Time;

use super::{RouteReflector, peer_is_gone};
use crate::peers::Entry;

impl RouteReflector {
    /// Forgets peers of networks that are gone, and whose routes are.
    pub(super) fn forget_gone(&mut self) {
        let RouteReflector { peers, reflector, leaving, .. } = self;
        leaving.retain(|number| {
            let Some(entry) = peers.get_mut(*number) else { return false };
            let is_gone = peer_is_gone(entry);
            let is_over = is_gone && reflector.is_swept(*number);
            if is_over {
                peers.remove(*number);
            }
            is_gone && !is_over
        });
    }

    /// Hands peers what they are told, each one piece: all of them where there is more of streams,
    /// else those that have taken bytes. Returns whether there was something.
    pub(super) fn fill(&mut self, now: Time) -> bool {
        let mut taking = std::mem::take(&mut self.taking);
        if self.has_told {
            taking.clear();
            taking.extend(0..self.peers.entries.len() as u16);
        }
        taking.retain(|number| {
            let Some(Entry { peer, .. }) = self.peers.get_mut(*number) else { return false };
            let room = peer.room();
            let bytes = if room > 0 { self.reflector.next(*number, room) } else { None };
            let Some(bytes) = bytes else { return false };
            peer.send(bytes, now);
            self.departing.push_back(*number);
            true
        });
        let has_sent = !taking.is_empty();
        // They have read on, and what all have read is forgotten.
        self.has_more |= has_sent;
        self.has_told &= has_sent;
        self.taking = taking;
        has_sent
    }
}
