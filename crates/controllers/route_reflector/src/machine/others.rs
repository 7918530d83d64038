//! What others are told who are no peers: files of MRT and collectors of BMP.

use std::time::Duration;

use controller_kit::{Action, Unanswered};
use protocol_kit::{Arrival, Output, Time};
use protocol_mrt::table::Peer;
use serde_json::Value;

use super::RouteReflector;
use crate::config::Config;
use crate::monitors::{Ends, Monitors};

impl RouteReflector {
    /// Takes what has arrived at a file or of a collector; false if it is for somebody else.
    pub(super) fn arrive_of_others(&mut self, arrival: &Arrival<'_>, now: Time) -> bool {
        let RouteReflector { dumps, monitors, reflector, .. } = self;
        if dumps.as_mut().is_some_and(|dumps| dumps.arrive(arrival, now)) {
            return true;
        }
        let is_of_collector =
            monitors.as_mut().is_some_and(|all| all.arrive(arrival, reflector, now));
        self.has_more |= is_of_collector;
        for number in monitors.as_mut().map(Monitors::take_unheard).into_iter().flatten() {
            let Some(entry) = self.peers.get_mut(number) else { continue };
            entry.is_to_tell_again = entry.peer.negotiated().is_some_and(|it| it.has_refresh);
            self.with_peer(number, now, |_, _| {});
        }
        is_of_collector
    }

    /// The clock of the host is known, or another one than before.
    pub(super) fn set_clock(&mut self, began: Duration, now: Time) {
        self.dumps.iter_mut().for_each(|dumps| dumps.set_clock(began, now));
        self.monitors.iter_mut().for_each(|monitors| monitors.set_clock(began));
    }

    /// Begins to dump the tables. Returns the file.
    pub(super) fn dump_tables(&mut self, now: Time) -> Result<String, Unanswered> {
        let RouteReflector { dumps: Some(dumps), peers, reflector, .. } = self else {
            let remedy = "set `mrt` of the controller and reload";
            return Err(Unanswered::new("there is no folder for dumps", remedy));
        };
        let peers = peers.iter().map(|(number, entry)| {
            let (address, asn) = (entry.peer.config().peer, entry.peer.config().peer_as);
            (number, Peer { identifier: reflector.identifier_of(number), address, asn })
        });
        dumps.dump_tables(peers, now)
    }

    /// Exports to collectors the paths that are gone without a word of their peers.
    pub(super) fn tell_gone(&mut self, now: Time) {
        let Some(monitors) = &mut self.monitors else { return };
        let gone = self.reflector.take_gone();
        if !gone.is_empty() {
            monitors.gone(&gone, now);
        }
    }

    /// Takes other collectors, and other families of the table that they are told.
    pub(super) fn change_collectors(&mut self, now: Time) {
        let RouteReflector { config, monitors, reflector, random, peers, .. } = self;
        if monitors.is_none() && config.bmp.is_empty() {
            return;
        }
        let monitors = monitors.get_or_insert_with(|| {
            let none = Config { bmp: Vec::new(), ..config.clone() };
            Monitors::new(&none, random)
        });
        monitors.change(config, (&mut *reflector, random), now);
        let hears = monitors.hears();
        if hears != reflector.takes_gone() {
            reflector.watch_gone(hears);
        }
        for (number, entry) in peers.iter().filter(|_| hears) {
            let (peer, asn) = (entry.peer.config().peer, entry.peer.config().peer_as);
            if let Some(agreed) = entry.peer.negotiated() {
                let ends = Ends { peer, asn, local: entry.local, ports: entry.ports };
                monitors.learn(number, ends, agreed);
            }
        }
        self.has_more = true;
    }

    /// What is wanted for files and collectors: both wait for nobody, and nobody for them.
    pub(super) fn tell_others(&mut self, now: Time) -> Option<Output<Action>> {
        if let Some(monitors) = &mut self.monitors {
            monitors.tick(&mut self.reflector, now);
            self.has_more |= monitors.fill(&mut self.reflector, now);
            if let Some(departure) = monitors.poll() {
                return Some(Output::Departure(departure));
            }
        }
        if self.dumps.as_mut()?.is_due(now) {
            // It is free: there is nothing to say.
            drop(self.dump_tables(now));
        }
        self.dumps.as_mut()?.poll(&self.reflector, now)
    }

    /// Adds what a person sees of them.
    pub(super) fn show_others(&self, shown: &mut Value) {
        if let Some(dumps) = &self.dumps {
            shown["mrt"] = dumps.show();
        }
        if let Some(monitors) = &self.monitors {
            shown["bmp"] = monitors.show().into();
        }
    }
}
