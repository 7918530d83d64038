//! Frames that leave to next hops, and those by which next hops tell their MAC addresses.

use std::net::IpAddr;

use machine::clock::Ticks;
use packet::{Batch, Slot};
use stages::hearsay::Heard;

use crate::neighbours::table::{Link, ask, shared_link, unaddressed};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::types::class::Class;
use crate::types::sides::{OUTSIDE, is_worker};

impl Pipeline {
    /// Gives frames that are ready to leave the MAC addresses of their next hops.
    #[inline(never)]
    pub(crate) fn depart(&mut self, batch: &mut Batch, now: Ticks) {
        let Some(neighbours) = &mut self.neighbours else { return };
        for slot in batch.slots() {
            let Some(port) = unaddressed(batch, slot) else { continue };
            let question = neighbours.address(batch, (slot, port), &self.interfaces, now);
            if let (Some(question), Some(made)) = (question, &mut self.made) {
                ask(&self.interfaces, made, question);
            }
        }
    }

    /// The same of frames that were made, and what is due of neighbours.
    #[inline(never)]
    pub(crate) fn meet_neighbours(&mut self, now: Ticks) {
        let (Some(neighbours), Some(made)) = (&mut self.neighbours, &mut self.made) else { return };
        for slot in made.batch_mut().slots() {
            let Some(port) = unaddressed(made.batch_mut(), slot) else { continue };
            let question =
                neighbours.address(made.batch_mut(), (slot, port), &self.interfaces, now);
            if let Some(question) = question {
                ask(&self.interfaces, made, question);
            }
        }
        neighbours.tick((&self.interfaces, made), now);
    }

    /// What a frame without its tag is that tells the MAC address of a next hop; none of all
    /// others, and of questions, which are answered as any.
    #[inline(never)]
    pub(crate) fn hear(
        &mut self,
        batch: &Batch,
        (slot, realm): (Slot, u16),
        now: Ticks,
    ) -> Option<Class> {
        let (neighbours, made) = (self.neighbours.as_mut()?, self.made.as_mut()?);
        let (frame, port) = (batch.frame(slot), batch.port(slot));
        let link = match is_worker(port) {
            false => Link { port, vlan: realm },
            true => shared_link(frame)?,
        };
        let own = (self.interfaces.mac(port), self.interfaces.ipv6(link.port));
        let Heard { address, said, is_answer } = Heard::in_frame(frame, own)?;
        neighbours.find(link, address)?;
        let is_shared = is_worker(port);
        if !is_shared {
            neighbours.share(link, (frame, self.interfaces.mac(OUTSIDE)), made);
        }
        let heard = neighbours.heard((link, address), said, (&self.interfaces, made), now);
        (is_shared || heard && is_answer).then_some(Class::Drop(reasons::NEIGHBOUR_HEARD))
    }

    /// Takes note of a frame without its tag by which another station says that it has an address
    /// of the NAT's (RFC 5227 section 2.4).
    pub(crate) fn hear_conflict(&mut self, batch: &Batch, (slot, realm): (Slot, u16), now: Ticks) {
        let port = batch.port(slot);
        let heard = Heard::in_arp(batch.frame(slot), self.interfaces.mac(port));
        let Some(Heard { address: IpAddr::V4(address), said, .. }) = heard else { return };
        let is_ours = !is_worker(port) && self.interfaces.has(port, address);
        let at = (Link { port, vlan: realm }, address);
        if is_ours
            && said.mac != self.interfaces.mac(port)
            && self.conflicts.hear(at, said.mac, now)
        {
            self.state.tallies[Tally::AddressConflicts as usize] += 1;
        }
    }
}
