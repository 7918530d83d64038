//! What is known of the own restart (RFC 4724 section 4.1), and who is waited for.

use protocol_bgp::families::Family;
use protocol_kit::Time;

use crate::config::{Config, RestartKeys};
use crate::peers::Entry;

/// The own restart.
#[derive(Debug, Default)]
pub(crate) struct Restarting {
    /// What an operator says of it, until its times are known.
    pub keys: Option<RestartKeys>,
    /// Until when peers are told of it.
    pub told_until: Option<Time>,
    /// Until when peers without a session are waited for.
    pub absent_until: Option<Time>,
    /// Until when the routes of all are waited for at most.
    pub waits_until: Option<Time>,
    /// Whether something has happened for which may have been waited.
    pub has_happened: bool,
    /// Whether the reflector is stopped.
    pub is_stopped: bool,
}

impl Restarting {
    /// It begins.
    pub fn new(config: &Config) -> Restarting {
        Restarting { keys: config.graceful_restart, ..Restarting::default() }
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Time> {
        let begins = self.keys.map(|_| Time::ZERO);
        let times = [begins, self.told_until, self.absent_until, self.waits_until];
        times.into_iter().flatten().min()
    }
}

/// Whether a peer has yet to tell all of a family: one that is to have a session, and one that does
/// graceful restart and says when it has told all, if it does not wait itself.
pub(crate) fn is_awaited(entry: &Entry, family: Family, waits_for_absent: bool) -> bool {
    match entry.peer.negotiated() {
        None if entry.is_removed || entry.is_shut => false,
        None => {
            waits_for_absent
                && entry.network.is_none()
                && entry.peer.config().families.contains(family)
        }
        Some(agreed) => {
            let says = agreed.restart.is_some_and(|it| !it.is_restarting);
            says && agreed.reading.families.contains(family) && !entry.ended.contains(family)
        }
    }
}
