//! What a worker does with what the others have told it ([`super::workers`]).
use std::net::Ipv6Addr;

use machine::clock::Ticks;
use packet::{Batch, PortId, Slot, Verdict};
use stages::hearsay::{self, Heard};

use super::host::Around;
use super::liveness;
use super::pipeline::Pipeline;
use super::reasons;
use super::workers::{Told, hops_in};

impl Pipeline {
    /// Takes in the frames of other workers, which come first in a batch; returns their number.
    pub(super) fn hear_workers(&mut self, batch: &mut Batch, now: Ticks) -> usize {
        let mut told = 0;
        while told < batch.len() && self.workers.is_worker(batch.port(told as Slot)) {
            let slot = told as Slot;
            let verdict = match Told::of(batch.frame(slot)) {
                Told::Hops => self.follow(batch.frame(slot)),
                Told::Packet(interface) => self.take_over(batch, (slot, interface), now),
                Told::Neighbour => self.believe(batch.frame(slot), now),
            };
            batch.set_verdict(slot, verdict);
            told += 1;
        }
        told
    }

    /// Follows what the first worker says of next hops. One that it does not watch itself any
    /// more, or not yet, is as the last change has left it.
    fn follow(&mut self, frame: &[u8]) -> Verdict {
        for (hop, is_up) in hops_in(frame) {
            let is_watched = self.liveness.as_mut().is_some_and(|all| all.note(hop, is_up));
            if is_watched && self.state.is_down(hop) == is_up {
                self.state.set_path(hop, is_up);
                self.state.reach_tunnels();
            }
        }
        reasons::drop(reasons::TOLD)
    }

    /// A packet of BFD that another worker got: for a session here, or for the host.
    fn take_over(&mut self, batch: &mut Batch, (slot, at): (Slot, u16), now: Ticks) -> Verdict {
        let own = self.state.interfaces.get(at);
        let (mac, port) = (own.mac.0, own.port);
        batch.frame_mut(slot)[..6].copy_from_slice(&mac.0);
        batch.set_port(slot, port);
        self.scratch.interface[usize::from(slot)] = at;
        if let Some(verdict) = self.hear_solicitation(batch, (slot, at), now) {
            return verdict;
        }
        let heard = self.liveness.as_mut().map(|all| all.receive(batch.frame(slot), at, now));
        if let Some(verdict) = heard.and_then(liveness::Heard::verdict) {
            return verdict;
        }
        let Pipeline { state, host, tallies, made, .. } = self;
        let (interfaces, made) = (&state.interfaces, made.as_mut());
        let around = &mut Around { interfaces, tallies, made, now };
        match host {
            Some(host) => host.receive(batch, (slot, at), around),
            None => reasons::drop(reasons::LOCAL),
        }
    }

    /// What a neighbour has said to another worker.
    fn believe(&mut self, frame: &[u8], now: Ticks) -> Verdict {
        if let Some(link) = hearsay::link_of(frame)
            && let (Some(neighbours), Some(made)) = (&mut self.neighbours, &mut self.made)
        {
            let own = self.state.interfaces.get(link);
            let address = own.ipv6.map_or(Ipv6Addr::UNSPECIFIED, |ip| ip.address);
            if let Some(heard) = Heard::in_frame(frame, (own.mac.0, address)) {
                let who = (link, heard.address);
                neighbours.heard((&mut self.state, made), who, heard.said, now);
            }
        }
        reasons::drop(reasons::TOLD)
    }

    /// Tells the other workers what a neighbour has said, which may have asked for it.
    pub(super) fn pass_on(&mut self, (port, at): (PortId, u16), frame: &[u8]) {
        if let Some(made) = self.made.as_mut().filter(|_| self.workers.others.are_there()) {
            let own = self.state.interfaces.get(at).mac.0;
            self.workers.others.tell((port, at), (frame, own), made);
        }
    }

    /// Tells the other workers which next hops are there.
    pub(super) fn tell_hops(&mut self, now: Ticks) {
        let Pipeline { workers, state, liveness, made, .. } = self;
        if let (Some(liveness), Some(made)) = (liveness, made)
            && workers.is_first()
        {
            let all = |from| liveness.watched(from).map(|hop| (hop, !state.is_down(hop)));
            workers.tell(made, all, now);
        }
    }
}
