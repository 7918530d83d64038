//! Frames that the gateway makes, on their way out: into a user's tunnel, to their next hop, and
//! where that is asked for, to those that wait.

use machine::clock::Ticks;
use packet::{Made, Slot};
use stages::tunnel::Encapsulation;

use super::neighbours::Neighbours;
use super::pipeline::Pipeline;
use super::reasons;
use super::state::State;

/// What a frame that was made meets.
pub(super) struct Exit<'a> {
    pub state: &'a State,
    pub encapsulation: &'a Encapsulation,
    pub neighbours: &'a mut Neighbours,
    pub made: &'a mut Made,
    pub frame: &'a mut Vec<u8>,
    pub now: Ticks,
}

impl Pipeline {
    /// The way out of frames that are made; none before the worker told its room.
    pub(super) fn exit(&mut self, now: Ticks) -> Option<Exit<'_>> {
        Some(Exit {
            state: &self.state,
            encapsulation: &self.encapsulation,
            neighbours: &mut self.neighbours,
            made: self.made.as_mut()?,
            frame: &mut self.piece,
            now,
        })
    }
}

impl Exit<'_> {
    /// A packet for the user of a bearer, without padding, goes into its tunnel.
    pub fn enter_tunnel(&mut self, slot: Slot, bearer: u32, is_ipv6: bool) {
        let Some(bearer) = self.state.bearers.get(bearer as usize) else { return };
        let station = self.state.base_stations[bearer.base_station as usize];
        let batch = self.made.batch_mut();
        match self.encapsulation.push(batch, slot, station, bearer.teid, is_ipv6) {
            Some(_) => self.route(slot, station),
            None => batch.set_verdict(slot, reasons::drop(reasons::TOO_LONG)),
        }
    }

    /// A frame with a packet of IPv4 leaves to the next hop of an address, or waits for it.
    pub fn route(&mut self, slot: Slot, destination: u32) {
        let batch = self.made.batch_mut();
        let Some(entry) = self.state.routes.lookup(destination) else {
            return batch.set_verdict(slot, reasons::drop(reasons::NO_ROUTE));
        };
        let hop = &self.state.next_hops[entry as usize];
        if let Some(header) = batch.frame_mut(slot).first_chunk_mut::<12>() {
            *header = hop.macs;
        }
        batch.set_verdict(slot, hop.verdict);
        if hop.verdict == reasons::drop(reasons::UNRESOLVED)
            && let Some((port, address)) = self.state.neighbour(entry)
        {
            let came = batch.port(slot);
            self.frame.clear();
            self.frame.extend_from_slice(batch.frame(slot));
            let packet = (came, &self.frame[..]);
            let verdict = self.neighbours.wait(self.made, packet, (entry, port, address), self.now);
            self.made.batch_mut().set_verdict(slot, verdict);
        }
    }
}
