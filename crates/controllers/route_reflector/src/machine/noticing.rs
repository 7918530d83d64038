//! What operators are to know becomes alarms.

use controller_kit::{Alarm, Severity};
use protocol_bgp::families::Family;

use super::RouteReflector;
use crate::bounds::{Level, Notice};

impl RouteReflector {
    /// Takes what the reflector has noticed. A peer that stays away for it is told of until it may
    /// come back.
    pub(super) fn note(&mut self) {
        for notice in self.reflector.take_notices() {
            match notice {
                Notice::Memory(is_full) => {
                    let severity = is_full.then_some(Severity::Critical);
                    let text =
                        "there is no memory for more routes: who tells them loses the session";
                    let (source, cause) = ("table".to_owned(), "memory-max");
                    self.alarms.push_back(Alarm { source, cause, severity, text: text.into() });
                }
                Notice::Routes(number, family, level) => self.note_routes(number, family, level),
            }
        }
    }

    fn note_routes(&mut self, number: u16, family: Family, level: Level) {
        let Some(entry) = self.peers.get_mut(number) else { return };
        if level < Level::Beyond && entry.away.is_some() {
            return;
        }
        let (severity, text) = match level {
            Level::Low => (None, ""),
            Level::High => {
                (Some(Severity::Warning), "the peer has told most of the routes that it may")
            }
            Level::Beyond => (Some(Severity::Major), "the peer has told more routes than it may"),
        };
        let was_known = entry.alarmed.contains(family);
        match severity {
            Some(_) => entry.alarmed.insert(family),
            None => entry.alarmed.remove(family),
        };
        if was_known || severity.is_some() {
            let source = format!("{} {family}", entry.peer.config().peer);
            let alarm = Alarm { source, cause: "prefixes-max", severity, text: text.into() };
            self.alarms.push_back(alarm);
        }
    }

    /// Nothing is to be known of a peer any more.
    pub(super) fn clear(&mut self, number: u16) {
        let Some(entry) = self.peers.get_mut(number) else { return };
        let (all, address) = (std::mem::take(&mut entry.alarmed), entry.peer.config().peer);
        for family in all.iter() {
            let (source, cause) = (format!("{address} {family}"), "prefixes-max");
            let (severity, text) = (None, "".into());
            self.alarms.push_back(Alarm { source, cause, severity, text });
        }
    }
}
