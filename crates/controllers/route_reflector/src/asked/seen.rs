//! What of the reflector a request looks at.

use protocol_kit::Time;

use crate::peers::Peers;
use crate::policy::Policies;
use crate::reflector::Reflector;

/// What is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub peers: &'a Peers,
    pub policies: &'a Policies,
    pub reflector: &'a Reflector,
    pub now: Time,
}

impl Seen<'_> {
    /// The address of a peer as people read it.
    pub fn name_of(self, peer: u16) -> String {
        match self.peers.get(peer) {
            Some(entry) => entry.peer.config().peer.to_canonical().to_string(),
            None => format!("peer {peer}, which is gone"),
        }
    }
}
