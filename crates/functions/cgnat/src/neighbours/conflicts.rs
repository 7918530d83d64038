//! Who else says by ARP that it has an address for which the NAT answers: one of an interface's own,
//! or of the pools, while this NAT is the active one.
//!
//! Virtual addresses pass from one NAT to another, and are none. **Not supported:** addresses of
//! IPv6, of which the default ones are also those of many routers.

use std::net::IpAddr;

use function_kit::{Neighbour, station};
use machine::clock::{Clock, Ticks};
use packet::{Batch, Slot};
use stages::duplicates::{self, Duplicate, Duplicates};
use stages::hearsay::Heard;

use crate::neighbours::table::Link;
use crate::pipeline::Pipeline;
use crate::reasons::Tally;
use crate::types::sides::is_worker;

/// Those that were heard just now.
pub(crate) struct Conflicts(Duplicates);

impl Conflicts {
    /// None so far.
    pub fn new(clock: Clock) -> Conflicts {
        Conflicts(Duplicates::new(clock))
    }

    /// Forgets those that have not said so for a while.
    pub fn forget(&mut self, now: Ticks) {
        self.0.forget(now);
    }

    /// Those that are known, as operators see them.
    pub fn shown(&self) -> impl Iterator<Item = Neighbour> + '_ {
        let shown = |one: &Duplicate| {
            station(Link::of(one.link).name(), one.address, duplicates::STATE, Some(one.mac))
        };
        self.0.heard().iter().map(shown)
    }
}

impl Pipeline {
    /// Takes note of a frame without its tag by which another station says that it has an address
    /// of the NAT's (RFC 5227 section 2.4).
    pub(crate) fn hear_conflict(&mut self, batch: &Batch, (slot, realm): (Slot, u16), now: Ticks) {
        let port = batch.port(slot);
        let heard = Heard::in_arp(batch.frame(slot), self.interfaces.mac(port));
        let Some(Heard { address: IpAddr::V4(address), said, .. }) = heard else { return };
        let is_ours = !is_worker(port) && self.interfaces.has(port, address);
        let whom = (Link { port, vlan: realm }.number(), address.into());
        if is_ours
            && said.mac != self.interfaces.mac(port)
            && self.conflicts.0.hear(whom, said.mac, now)
        {
            self.state.tallies[Tally::AddressConflicts as usize] += 1;
        }
    }
}
