//! The own restart (RFC 4724 section 4.1): for a while after the start peers are told that the
//! reflector has restarted, and nobody is told of routes before all are here.
//!
//! Whether it was there before it does not know. Peers that have nothing of it lose nothing when
//! they are told so, and wait for its first routes as for those after a restart.

use std::time::Duration;

use protocol_bgp::families::Family;
use protocol_kit::Time;

use super::RouteReflector;
use crate::config::AtStop;
use crate::peers::Entry;
use crate::restarting::is_awaited;

impl RouteReflector {
    /// Lets time pass for the own restart, and begins to tell families of which all routes are
    /// here.
    pub(super) fn restart(&mut self, now: Time) {
        let restarting = &mut self.restarting;
        if let Some(keys) = restarting.keys.take() {
            let after = |seconds: u16| Some(now.after(Duration::from_secs(seconds.into())));
            restarting.told_until = after(keys.time_s);
            restarting.absent_until = after(keys.absent_s);
            restarting.waits_until = after(keys.deferral_s);
            restarting.has_happened = true;
        }
        if restarting.told_until.take_if(|until| *until <= now).is_some() {
            self.peers.forget_restart();
        }
        let is_settled = restarting.absent_until.take_if(|until| *until <= now).is_some();
        restarting.has_happened |= is_settled;
        let is_over = restarting.waits_until.take_if(|until| *until <= now).is_some();
        if !std::mem::take(&mut restarting.has_happened) && !is_over {
            return;
        }
        for family in self.reflector.deferred().iter() {
            if is_over || !self.is_awaited(family) {
                self.reflector.begin(family);
                self.has_more = true;
            }
        }
        if self.reflector.deferred().is_empty() {
            (self.restarting.absent_until, self.restarting.waits_until) = (None, None);
        }
    }

    /// Whether some peer has yet to tell all of a family. Hosts of networks may always come.
    fn is_awaited(&self, family: Family) -> bool {
        let waits = self.restarting.absent_until.is_some();
        let may_come =
            !self.config.dynamic.is_empty() && self.config.families_of(&[]).contains(family);
        let is_awaited = |entry: &Entry| is_awaited(entry, family, waits);
        waits && may_come || self.peers.iter().any(|(_, entry)| is_awaited(entry))
    }

    /// The reflector ends: peers are told so, and keep their routes or lose them.
    pub(super) fn stop(&mut self, now: Time) {
        let keys = self.config.graceful_restart;
        let is_kept = keys.is_some_and(|keys| keys.at_stop == AtStop::Keep);
        for number in 0..self.peers.entries.len() as u16 {
            let Some(entry) = self.peers.get_mut(number) else { continue };
            // What they have told does not matter any more.
            match is_kept {
                true => entry.peer.leave(STOPPED, now, &mut |_| Ok(())),
                false => entry.peer.stop(STOPPED, now, &mut |_| Ok(())),
            }
            self.peers.look_at(number);
            self.departing.push_back(number);
        }
        self.listen_at.fill(None);
        self.monitors.iter_mut().for_each(|monitors| monitors.stop(now));
        self.restarting.is_stopped = true;
    }
}

/// What peers read when the reflector is stopped.
const STOPPED: &str = "the route reflector is stopped";
